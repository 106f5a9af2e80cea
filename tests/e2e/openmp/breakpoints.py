#!/usr/bin/env python3
"""OpenMP in programs that the agent cannot be in (static, LeakSanitizer's), seen by breakpoints: the events against
what the program tells of itself.

usage: breakpoints.py CFLAG...
"""
import collections
import os
import subprocess
import sys

from recording import check, events, record, run, skip

PROGRAMS = os.path.join(os.environ["TG_SOURCE"], "tests/programs/openmp")


def build(name, flags):
    made = subprocess.run(["gcc", "-fopenmp", "-w", *flags, os.path.join(PROGRAMS, name + ".c"), "-o", name],
                          capture_output=True, text=True)
    if made.returncode != 0:
        skip("cannot build such an OpenMP program here: " + made.stderr)
    return os.path.abspath(name)


def told(output):
    """What the program told: construct -> list of (level, outer thread, thread, value) in order."""
    lines = collections.defaultdict(list)
    for line in output.splitlines():
        what, *numbers = line.split()
        lines[what].append(tuple(int(number) for number in numbers))
    return lines


def check_pairs(trace):
    """Every begin has its end, innermost first, in each thread."""
    pairs = {"omp_implicit_begin": "omp_implicit_end", "omp_zone_begin": "omp_zone_end",
             "omp_sync_begin": "omp_sync_end", "omp_mutex_enter": "omp_mutex_leave",
             "omp_task_begin": "omp_task_end", "omp_parallel_begin": "omp_parallel_end"}
    stacks = collections.defaultdict(list)
    for event in trace:
        stack = stacks[event["tid"]]
        if event["kind"] in pairs:
            stack.append(event)
        elif event["kind"] in pairs.values():
            check(stack, "an end without a begin", event)
            begin = stack.pop()
            check(pairs[begin["kind"]] == event["kind"], begin, "ends with", event)
            for field in ("team", "zone", "sync", "mutex", "task", "instance"):
                check(field not in begin or field not in event or begin[field] == event[field], begin, event)
    left = {tid: stack for tid, stack in stacks.items() if stack}
    check(not left, "never ended:", left)


def threads_of(trace, kind, **fields):
    """(level, thread number) of the events of KIND with FIELDS, in order."""
    return [(event["level"], event["thread_num"]) for event in trace
            if event["kind"] == kind and all(event[name] == value for name, value in fields.items())]


def check_worksharing(trace, lines):
    expected = [(level, thread) for level, _, thread, _ in lines["critical"]]
    check(threads_of(trace, "omp_mutex_enter", mutex="critical") == expected, "critical", expected)
    expected = [(level, thread) for level, _, thread, _ in lines["critical_named"]]
    check(threads_of(trace, "omp_mutex_enter", mutex="critical_named") == expected, "named critical", expected)
    expected = [(level, thread) for level, _, thread, _ in lines["ordered"]]
    check(threads_of(trace, "omp_mutex_enter", mutex="ordered") == expected, "ordered", expected)
    sections = sorted((event["section"], event["thread_num"]) for event in trace if event["kind"] == "omp_section")
    check(sections == sorted((value, thread) for _, _, thread, value in lines["section"]), sections)
    executor = lines["single"][0][2]
    single = threads_of(trace, "omp_zone_begin", zone="single")[:1]
    check(single == [(1, executor)], "single", single, "told", executor)
    schedules = collections.Counter((event["zone"], event["schedule"]) for event in trace
                                    if event["kind"] == "omp_zone_begin" and "loop" in event["zone"])
    check(schedules[("loop", "dynamic")] == 3 + 2, schedules)
    check(schedules[("loop", "guided")] == 3, schedules)
    check(schedules[("ordered_loop", "dynamic")] == 3, schedules)


def check_nesting(trace, lines):
    inner = [event for event in trace if event["kind"] == "omp_implicit_begin" and event["level"] == 2]
    check(len(inner) == 4 == len(lines["nested"]), inner)
    parents = {event["team"]: event["parent_team"] for event in inner}
    check(len(parents) == 2 and len(set(parents.values())) == 1, "two inner teams of one outer one", parents)
    for team in parents:
        numbers = sorted(event["thread_num"] for event in inner if event["team"] == team)
        check(numbers == [0, 1], team, numbers)


def check_tasks(trace, lines):
    created = [event["task"] for event in trace if event["kind"] == "omp_task_create"]
    begun = [event["task"] for event in trace if event["kind"] == "omp_task_begin"]
    check(sorted(created) == sorted(begun) and len(set(created)) == len(created), created, begun)
    # two with dependences, 24 of the recursion (each call of n > 1 makes two), 3 of the taskloop
    check(len(created) == 2 + 24 + 3, len(created))
    depends = [event for event in trace if event["kind"] == "omp_task_create"][:2]
    check(depends[0]["body"] != depends[1]["body"], depends)
    group = [event for event in trace if event.get("zone") == "taskgroup"]
    check([event["kind"] for event in group] == ["omp_zone_begin", "omp_zone_end"] * (len(group) // 2), group)
    check(len(lines["task"]) == 2 and len(lines["taskloop"]) == 3, lines)


def check_codes(trace):
    """Code is behind the call in the program: that of a region's body and a task is behind the call that made them."""
    regions = {event["new_team"]: event["code"] for event in trace if event["kind"] == "omp_parallel_begin"}
    tasks = {event["task"]: event["code"] for event in trace if event["kind"] == "omp_task_create"}
    for event in trace:
        if event["kind"] == "omp_implicit_begin":
            check(event["code"] == regions[event["team"]], event, regions)
        elif event["kind"] == "omp_task_begin":
            check(event["code"] == tasks[event["task"]] and int(event["code"], 16) != 0, event, tasks)


def check_combined(flags):
    """A loop that begins with its region is where that is."""
    source = ("int main(void)\n{ int sum = 0;\n#pragma omp parallel for num_threads(2) schedule(runtime)\n"
              "for (int i = 0; i < 8; i++)\n{\n#pragma omp atomic\nsum += i;\n}\nreturn sum != 28; }\n")
    made = subprocess.run(["gcc", "-fopenmp", *flags, "-x", "c", "-", "-o", "combined"], input=source, text=True,
                          capture_output=True)
    check(made.returncode == 0, made.stderr)
    traced = record("combined_trace", [os.path.abspath("combined")])
    check(traced.status == 0, traced)
    trace = events("combined_trace", "omp_parallel_begin", "omp_implicit_begin", "omp_zone_begin")
    check(len(trace) == 5 and len({event["code"] for event in trace}) == 1, trace)


def check_locks(flags):
    traced = record("locks_trace", [build("locks", flags)])
    check(traced.status == 0, traced)
    trace = [event for event in events("locks_trace") if event["kind"].startswith("omp_")]
    check_pairs(trace)
    count = collections.Counter((event["kind"], event["mutex"]) for event in trace if "mutex" in event)
    check(count["omp_mutex_wait", "lock"] == 3 and count["omp_mutex_enter", "lock"] == 4, count)
    check(count["omp_mutex_wait", "nest_lock"] == 3 and count["omp_mutex_enter", "nest_lock"] == 6, count)
    check(all(count["omp_mutex_leave", of] == count["omp_mutex_enter", of] for of in ("lock", "nest_lock")), count)
    tests = [event for event in trace if event["kind"] == "omp_mutex_test" and event["mutex"] == "lock"]
    check(tests and tests[0]["tests"] == 1, tests)
    locks = {event["lock"] for event in trace if event.get("mutex") == "lock"}
    check(len(locks) == 1, locks)


def main():
    program = build("constructs", sys.argv[1:])
    os.environ["LSAN_OPTIONS"] = "detect_leaks=0"  # of libgomp's threads
    native = run([program])
    traced = record("trace", [program])
    check(traced.status == native.status == 0, native, traced)
    lines = told(traced.output)
    check({what: len(of) for what, of in lines.items()} == {what: len(of) for what, of in told(native.output).items()},
          native.output, traced.output)
    check(lines["sum"] == told(native.output)["sum"] and lines["fibonacci"] == [(8,)], traced.output)
    trace = [event for event in events("trace") if event["kind"].startswith("omp_")]
    check(all(event["seen"] in ("breakpoint", "inferred") for event in trace), trace)
    check_pairs(trace)
    check_nesting(trace, lines)
    check_worksharing(trace, lines)
    check_tasks(trace, lines)
    check_codes(trace)
    check_locks(sys.argv[1:])
    check_combined(sys.argv[1:])


main()
