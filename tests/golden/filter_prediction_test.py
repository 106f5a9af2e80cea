"""What `tollgate filter` predicts from a trace recorded in slow mode is what a recording in medium or fast mode holds,
event by event: on random scenarios, played by filter_recorder.py, a recorder that was written independently.

usage: filter_prediction_test.py TOLLGATE TRACE_FROM_JSON [FIRST_SEED COUNT]
"""
import json
import pathlib
import random
import subprocess
import sys
import tempfile

import filter_recorder

LISTS = ["*/libmine*", "!*/openmpi/*", "*/libb.so*:!*/openmpi/*", "!*/openmpi/*:*/mca_a*", "*/nothing*", "::", "!",
         "*/libmine.so:", "!*:*", "*", "*mca_b*:!*mca*:*/openmpi/*"]
PATHS = ["/opt/openmpi/mca_a.so", "/opt/openmpi/mca_b.so", "/opt/openmpi/mca_c.so", "/home/u/libmine.so",
         "/home/u/libb.so.1", "/usr/lib/libnss_x.so.2"]
BREAKS = [("mine", {"/home/u/libmine.so": 0x7000}), ("b_or_a", {"/home/u/libb.so.1": 0x8000,
                                                               "/opt/openmpi/mca_a.so": 0x9000})]
KINDS = ("filter_decision", "deferred_handled")


def random_scenario(rng):
    """Two processes at most are in play at once; the address reuse and unloads of real loaders included."""
    steps, us, alive, next_pid = [(10, 100, "start", 1), (200, 100, "startup", "/lib/libc.so.6")], 300, {100: []}, 101
    steps.append((250, 100, "entry"))
    for _ in range(rng.randrange(5, 60)):
        us += rng.randrange(50, 400)
        pid = rng.choice(list(alive))
        what = rng.choices(["dlopen", "dlclose", "signal", "group_stop", "thread", "start", "exit", "hit", "exec"],
                           [40, 12, 4, 2, 3, 3, 2, 6, 1])[0]
        loaded = alive[pid]
        if what == "dlopen":
            paths = rng.sample([p for p in PATHS if p not in loaded] or [], k=min(rng.choice([1, 1, 1, 2, 3]),
                               len([p for p in PATHS if p not in loaded])))
            if paths:
                loaded += paths
                steps.append((us, pid, "dlopen", rng.choice([0, 0, 0, 1]), *paths))
        elif what == "dlclose":
            if loaded:
                steps.append((us, pid, "dlclose", loaded.pop(rng.randrange(len(loaded)))))
        elif what == "start":
            if len(alive) < 3:
                alive[next_pid] = list(loaded)
                steps.append((us, next_pid, "start", pid))
                next_pid += 1
        elif what == "exit":
            if len(alive) > 1:
                steps.append((us, pid, "exit"))
                del alive[pid]
        elif what == "exec":
            steps += [(us, pid, "exec", "/bin/x"), (us + 20, pid, "startup", "/lib/libc.so.6"), (us + 30, pid, "entry")]
            alive[pid] = []
        elif what == "thread":
            tid = 10000 + us
            steps += [(us, pid, "thread", tid), (us + 20, pid, "thread_exit", tid)]
        elif what == "hit":
            steps.append((us, pid, "hit", rng.choice([0x7000, 0x8000, 0x9000])))
        else:
            steps.append((us, pid, what))
    for pid in list(alive):
        us += 100
        steps.append((us, pid, "exit"))
    return steps


class Tools:
    def __init__(self, tollgate, trace_from_json, directory):
        self.tollgate, self.trace_from_json, self.directory = tollgate, trace_from_json, pathlib.Path(directory)

    def trace(self, name, events):
        text, path = self.directory / f"{name}.jsonl", self.directory / f"{name}.tgt"
        text.write_text("".join(json.dumps(event) + "\n" for event in events))
        path.unlink(missing_ok=True)
        subprocess.run([self.trace_from_json, text, path], check=True)
        return path

    def filter(self, *arguments, status=0):
        run = subprocess.run([self.tollgate, "filter", *map(str, arguments)], capture_output=True, text=True)
        if run.returncode != status:
            raise SystemExit(f"filter {arguments}: exit status {run.returncode}\n{run.stdout}{run.stderr}")
        return run.stdout


def recorded(events):
    """Decisions and handlings of a recording, in the words of `filter --decisions --json`."""
    result, libraries = [], []
    for event in events:
        if event.get("kind") == "library_load":
            libraries = [library["path"] for library in event["libraries"]]
        if event.get("kind") in KINDS:
            entry = {key: value for key, value in event.items() if key not in ("tid", "stop_ns", "handle_ns")}
            if event["kind"] == "filter_decision":
                entry["libraries"] = libraries
            result.append(entry)
    return result


def predicted(text):
    return [{key: value for key, value in json.loads(line).items() if key not in ("mode", "match", "rank")}
            for line in text.splitlines()]


def compare(what, left, right):
    for entry in left + right:  # the stop before an exit is no event of its own in a slow trace
        if entry.get("trigger") == "exit" or (entry["kind"], entry.get("decision")) == ("filter_decision", "not_stopped"):
            entry["t_ns"] = None
    left, right = (sorted(side, key=lambda entry: entry["pid"]) for side in (left, right))  # stable
    for i, (a, b) in enumerate(zip(left + [None] * len(right), right + [None] * len(left))):
        if a != b:
            raise SystemExit(f"{what}: entry {i}\n  recorded:  {a}\n  predicted: {b}")


def check_modes(tools, name, scenario, match):
    slow_events = filter_recorder.record(scenario, "slow", breaks=BREAKS)
    slow = tools.trace(f"{name}-slow", slow_events)
    tools.filter(slow, "--check")
    for mode, its_match in (("slow", ""), ("medium", match), ("fast", "")):
        events = filter_recorder.record(scenario, mode, its_match, BREAKS)
        arguments = ["--match", its_match] if its_match else []
        text = tools.filter(slow, "--decisions", "--json", "--mode", mode, *arguments)
        compare(f"{name}, {mode} {its_match!r}", recorded(events), predicted(text))
        own = tools.trace(f"{name}-{mode}-run", events)
        tools.filter(own, "--check")
        column = json.loads(tools.filter(slow, "--json", "--mode", mode, *arguments))["modes"][0]
        planted = [event for event in events if event.get("kind") == "breakpoint_planted"]
        late = sum(event["late"] for event in planted)
        if column["late"] != late:
            raise SystemExit(f"{name}, {mode} {its_match!r}: {late} planted late, predicted {column['late']}")
        stops = sum(event["kind"] in ("library_load", "library_null", "library_unload") and "stop_ns" in event
                    for event in events if "kind" in event)
        if column["stops"] != stops:
            raise SystemExit(f"{name}, {mode}: {stops} loader stops, predicted {column['stops']}")


def main():
    tollgate, trace_from_json, *rest = sys.argv[1:]
    first, count = (int(rest[0]), int(rest[1])) if rest else (0, 25)
    with tempfile.TemporaryDirectory() as directory:
        tools = Tools(tollgate, trace_from_json, directory)
        for seed in range(first, first + count):
            rng = random.Random(seed)
            check_modes(tools, f"seed {seed}", random_scenario(rng), rng.choice(LISTS))


if __name__ == "__main__":
    main()
