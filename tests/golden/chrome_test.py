"""`dump --chrome` gives a document that viewers can read, whatever the trace: valid JSON, known phases, numbers where
numbers belong, every slice with a duration and slices of a thread nested, every process and thread named, every flow with
two ends, each inside of a call.

usage: chrome_test.py TOLLGATE TRACE_FROM_JSON FIXTURE...
"""
import json
import os
import subprocess
import sys
import tempfile
from decimal import Decimal


SELECTIONS = ([], ["--rank", "1"], ["--from", "21ms", "--to", "61ms"], ["--kind", "library_*"])


def check_event(event):
    assert event["ph"] in ("M", "X", "i", "s", "f"), event
    assert isinstance(event["pid"], int) and isinstance(event["tid"], int), event
    assert event["pid"] > 0, event
    assert isinstance(event["name"], str) and event["name"], event
    assert isinstance(event["ts"], Decimal) and event["ts"] >= 0, event
    assert event["ts"].as_tuple().exponent == -3, event
    if event["ph"] == "X":
        assert isinstance(event["dur"], Decimal) and event["dur"] >= 0, event
    if event["ph"] == "i":
        assert event["s"] == "t", event


def check_nesting(slices):
    """Sorted as a viewer sorts them, a slice ends within the one that is open."""
    open_ends = []
    for start, end, name in sorted(slices, key=lambda s: (s[0], -s[1])):
        while open_ends and open_ends[-1] <= start:
            open_ends.pop()
        assert not open_ends or end <= open_ends[-1], f"{name}: [{start}, {end}] is cut by {open_ends}"
        if end > start:
            open_ends.append(end)


def check_flows(events, calls):
    """A viewer binds an end to the slice that is open at its time."""
    ends = {}
    for event in events:
        if event["ph"] in ("s", "f"):
            ends.setdefault(event["id"], []).append(event["ph"])
            around = calls.get((event["pid"], event["tid"]), [])
            assert any(start <= event["ts"] <= end for start, end in around), event
    assert all(phases == ["s", "f"] for phases in ends.values()), ends
    return len(ends)


def check(text):
    document = json.loads(text, parse_float=Decimal)
    assert set(document) == {"displayTimeUnit", "otherData", "traceEvents"}, document.keys()
    named, seen, tracks, threads, calls = set(), set(), {}, set(), {}
    for event in document["traceEvents"]:
        check_event(event)
        if event["ph"] == "M":
            if event["name"] == "process_name":
                named.add(event["pid"])
            elif event["name"] == "thread_name":
                threads.add((event["pid"], event["tid"]))
            continue
        seen.add(event["pid"])
        if event["ph"] == "X":
            track = tracks.setdefault((event["pid"], event["tid"]), [])
            track.append((event["ts"], event["ts"] + event["dur"], event["name"]))
            if event.get("cat") == "mpi":
                calls.setdefault((event["pid"], event["tid"]), []).append((event["ts"], event["ts"] + event["dur"]))
            if event.get("cat") == "lifetime":
                assert (event["pid"], event["tid"]) in threads, f"a thread without a name: {event}"
    assert seen <= named, f"processes without a name: {seen - named}"
    for slices in tracks.values():
        check_nesting(slices)
    return len(document["traceEvents"]), check_flows(document["traceEvents"], calls)


def main():
    tollgate, trace_from_json, fixtures = sys.argv[1], sys.argv[2], sys.argv[3:]
    total, flows = 0, 0
    with tempfile.TemporaryDirectory() as directory:
        trace = os.path.join(directory, "trace.tgt")
        for number, fixture in enumerate(fixtures):
            subprocess.run([trace_from_json, fixture, trace], check=True)
            whole = open(trace, "rb").read()
            os.unlink(trace)
            cuts = [len(whole) - 1, len(whole) * 3 // 4, len(whole) // 2]
            for at, size in enumerate([len(whole), *cuts]):
                with open(trace, "wb") as cut:
                    cut.write(whole[:size])
                # of the whole all selections, of each cut one, another one for each fixture
                for selection in SELECTIONS if size == len(whole) else [SELECTIONS[(at + number) % len(SELECTIONS)]]:
                    done = subprocess.run([tollgate, "dump", "--chrome", *selection, trace], capture_output=True)
                    if size < len(whole) and done.returncode == 2 and not done.stdout:
                        continue  # nothing of it can be read: said, and nothing written
                    if done.returncode == 2 and b"no process in the trace" in done.stderr:
                        continue  # cut off before there is a rank
                    if done.returncode == 2 and b"nothing of it is selected" in done.stderr:
                        continue  # cut off before the window
                    assert done.returncode == 0, (fixture, size, selection, done.stderr)
                    events, arrows = check(done.stdout)
                    total, flows = total + events, flows + arrows
                os.unlink(trace)
    assert total > 1000 and flows > 10, (total, flows)


main()
