#!/usr/bin/env python3
"""Libraries seen by the agent, without stops: the same ones in the same order as loader stops show, and what
`tollgate filter` makes of them is the same.

usage: loads.py CASE
"""
import json
import os
import platform
import sys

from recording import (LOADS, TOLLGATE, build_library, check, events, record, recorded_loads, run,
                       witness_environment, witnessed)

OURS = ("tollgate-agent.so", "tollgate-audit.so")
MATCHES = ("*/libinner*", "!*/libplain*:!*/libagain*", "*/libnested*:!*gconv*", "!", ":", "*")
FIELDS = ("decision", "rule", "pattern", "library", "libraries", "trigger", "events")
COUNTS = ("stops", "null_stops", "unload_stops", "startup_stops", "reported", "deferred", "round_trips",
          "libraries_handled", "batch_max", "deferred_batches", "deferred_libraries", "dropped_libraries", "cuda_missed")


def name_of(path):
    """Loaders list what was opened by a name with a slash as it was given, and resolve it differently."""
    return os.path.basename(path)


def story(trace_events):
    """What the loader did in each process, processes by order of appearance; how it was found out is left away."""
    numbers, lines = {}, []
    for event in trace_events:
        number = numbers.setdefault(event["pid"], len(numbers))
        if event["kind"] == "library_null":
            lines.append((number, "null", event["state"]))
        elif event["kind"] in ("library_load", "library_unload"):
            libraries = [(name_of(library["path"]), library["build_id"], library["size_bytes"], bool(library["dependency"]))
                         for library in event["libraries"] if name_of(library["path"]) not in OURS]
            startup = event.get("found") == "startup"
            lines.append((number, event["kind"], startup, event["namespace"], event["state"], libraries))
        elif event["kind"] in ("exec", "entry"):
            lines.append((number, event["kind"]))
    by_process = {}
    for line in lines:
        by_process.setdefault(line[0], []).append(line[1:])
    return by_process


def decisions(trace, *options):
    """What `filter` predicts, per process."""
    result = run([TOLLGATE, "filter", "--decisions", "--json", *options, trace])
    check(result.status == 0, result)
    numbers, by_process = {}, {}
    for event in map(json.loads, result.output.splitlines()):
        number = numbers.setdefault(event["pid"], len(numbers))
        by_process.setdefault(number, []).append([event.get(field) for field in FIELDS])
    return by_process


def evaluation(trace, *options):
    result = run([TOLLGATE, "filter", "--json", *options, trace])
    check(result.status == 0, result)
    return json.loads(result.output)


def without_triggers(decided):
    return {process: [[*line[:5], None, line[6]] for line in lines] for process, lines in decided.items()}


def compare_predictions(one, other, triggers=True):
    for mode in (["--mode", "slow"], ["--mode", "fast"], *(["--mode", "medium", "--match", match] for match in MATCHES)):
        first, second = decisions(one, *mode), decisions(other, *mode)
        if not triggers:
            first, second = without_triggers(first), without_triggers(second)
        check(first == second, mode, "by stops", first, "by the agent", second)
    options = [word for match in MATCHES[:3] for word in ("--match", match)]
    first, second = evaluation(one, *options), evaluation(other, *options)
    for field in ("dlopen_events", "null_events", "unload_events", "libraries", "cuda"):
        check(first[field] == second[field], field, first[field], second[field])
    check(len(first["modes"]) == len(second["modes"]) == 5, first["modes"])
    for column, twin in zip(first["modes"], second["modes"]):
        check({field: column[field] for field in COUNTS} == {field: twin[field] for field in COUNTS}, column, twin)
    check(second["agent_events"] == second["dlopen_events"] and first["agent_events"] == 0, second)
    for trace in (one, other):
        checked = run([TOLLGATE, "filter", "--check", trace])
        check(checked.status == 0, trace, checked)


def check_witness(trace_events, directory):
    """The loads are those that the loader itself tells of."""
    said, seen = witnessed(directory), recorded_loads(trace_events)
    for pid, loads in seen.items():
        for name, base in list(loads):
            if name in OURS:
                del loads[name, base]
        for name, base in list(said.get(pid, ())):
            if name in OURS:
                del said[pid][name, base]
        check(said.get(pid) == loads, "the loader", said.get(pid), "the trace", loads)


def compare(commands, *, before=(), in_order=True, triggers=True):
    """Runs `loads COMMANDS` alone, with the agent and with stops; returns the events of the agent's trace."""
    command = [*before, LOADS, *commands]
    native = run(command)
    traces = {}
    for how in ("stops", "agent"):
        environment = witness_environment("witness") if how == "agent" else None
        traced = record(how, command, "--force", "--dlopen=" + how, environment=environment)
        check((traced.output, traced.status) == (native.output, native.status), how, native, traced)
        traces[how] = events(how)
        check(not [event for event in traces[how] if event["kind"] == "loss"], how, "lost something")
    aside = [event for event in traces["agent"] if event["kind"] == "agent" and event["state"] != "watching"]
    check(not aside, aside)
    found = {event["found"] for event in traces["agent"] if event["kind"] == "library_load"}
    check(found <= {"startup", "agent"}, found)
    check_witness(traces["agent"], "witness")
    if in_order:
        stops, agent = story(traces["stops"]), story(traces["agent"])
        for process, lines in stops.items():
            for i, (one, other) in enumerate(zip(lines, agent.get(process, []))):
                check(one == other, "process", process, "line", i, "by stops", one, "by the agent", other)
            check(len(lines) == len(agent.get(process, [])), lines, agent.get(process))
        check(len(stops) == len(agent), len(stops), len(agent))
        compare_predictions("stops", "agent", triggers)
    return traces["agent"]


def loads_of(trace_events):
    return [name_of(library["path"]) for event in trace_events
            if event["kind"] == "library_load" and event["found"] == "agent" for library in event["libraries"]]


def mixture():
    """Dependencies, unloads, threads, forks, signals, exec, what libc loads by itself."""
    inner = build_library("inner")
    outer, plain, again = build_library("outer", [inner]), build_library("plain"), build_library("again")
    nested = build_library("nested", source=f'#include <dlfcn.h>\n__attribute__((constructor)) static void begin(void)'
                                            f' {{ dlopen("{plain}", RTLD_NOW); }}\n')
    compare(["open", again, "raise", "open", outer, "close", "0", "open", again, "thread", plain, "raise", "close",
             "1", "open", nested, "fork", inner, "raise", "iconv", "EUC-JP", "open", outer, "exec", LOADS, "open",
             plain, "raise", "open", inner, "close", "0", "open", "/not/there.so"])


def startup():
    """What constructors open before the program begins."""
    inner = build_library("inner")
    nested = build_library("nested", source=f'#include <dlfcn.h>\n__attribute__((constructor)) static void begin(void)'
                                            f' {{ dlopen("{inner}", RTLD_NOW); }}\n')
    compare(["open", nested, "raise"], before=["env", "LD_PRELOAD=" + nested])


def namespaces():
    """dlmopen, also into a namespace that was emptied."""
    inner = build_library("inner")
    outer = build_library("outer", [inner])
    # glibc 2.41 tells an auditor of an emptied namespace with its next words alone, behind what the next call begins with
    tells_late = tuple(map(int, platform.libc_ver()[1].split("."))) >= (2, 41)
    trace = compare(["namespace", outer, "raise", "open", outer, "namespace", inner, "open", inner, "close", "0",
                     "namespace", inner, "close", "4"], in_order=not tells_late)
    indices = [event["namespace"] for event in trace if event["kind"] == "library_load" and event["found"] == "agent"]
    check(indices == [1, 0, 2, 1], indices)


def storm():
    """Many loads and unloads."""
    names = [build_library(f"storm{i}") for i in range(10)]
    check(len(loads_of(compare(["raise", "storm", "20", *names]))) == 200)


def threads():
    """Many threads at once: which one is first is not the same in two runs."""
    for i in range(16):
        build_library(f"many{i}")
    trace = compare(["threads", "16", os.path.abspath("libmany")], in_order=False)
    check(sorted(set(loads_of(trace))) == sorted(f"libmany{i}.so" for i in range(16)), loads_of(trace))
    tids = {event["tid"] for event in trace if event["kind"] == "library_load" and event["found"] == "agent"}
    check(len(tids) > 1, tids)


def libc_itself():
    """Character sets, name services and the unwinder: nobody calls dlopen for them."""
    # a cancelled thread stops for its signal, and ends: which stop finds the unwinder is a race
    trace = compare(["iconv", "EUC-JP", "names", "cancel"], triggers=False)
    loads = loads_of(trace)
    check("EUC-JP.so" in loads and "libJIS.so" in loads and "libgcc_s.so.1" in loads, loads)
    check(not [event for event in trace if event["kind"] == "library_call"], "libc does not call by its symbols")


def failures():
    """Calls that fail, and why: in the trace and in the report."""
    gone = build_library("gone")
    broken = build_library("broken", [gone])
    os.unlink(gone)
    with open("text.so", "w") as file:
        file.write("no library\n" * 1000)
    text = os.path.abspath("text.so")
    trace = compare(["open", "/no/such.so", "open", text, "open", broken, "open", "/no/such.so", "namespace", broken])
    said = [event["error"] for event in trace if event["kind"] == "library_return"]
    missing = ": cannot open shared object file: No such file or directory"
    expected = ["/no/such.so" + missing, text + ": invalid ELF header", gone + missing, "/no/such.so" + missing,
                gone + missing]
    check([error.split("/")[-1] for error in said] == [error.split("/")[-1] for error in expected] or said == expected,
          said)
    report = run([TOLLGATE, "report", "--json", "agent"])
    calls = json.loads(report.output)["load_calls"]
    check(calls["dlopen"] == 4 and calls["dlmopen"] == 1 and calls["failed"] == calls["returned"] == 5, calls)
    twice = [failure for failure in calls["failures"] if failure["path"] == "/no/such.so"]
    check([failure["times"] for failure in twice] == [2] and twice[0]["caller_object"] == LOADS, twice)
    shown = run([TOLLGATE, "report", "agent"]).output
    check("/no/such.so" in shown and "invalid ELF header" in shown and "5 failed" in shown, shown)


def calls():
    """Who called, how, and what came of it."""
    library = build_library("called")
    trace = compare(["open", library, "open", library, "close", "0", "close", "1", "thread", library])
    made = [event for event in trace if event["kind"] == "library_call"]
    came = [event for event in trace if event["kind"] == "library_return"]
    check([event["call"] for event in made] == ["dlopen", "dlopen", "dlclose", "dlclose", "dlopen"], made)
    check([event["path"] for event in made] == [library, library, "", "", library], made)
    check(all(event["flags"] == os.RTLD_NOW for event in made if event["call"] == "dlopen"), made)
    check(len(came) == 5 and len({event["handle"] for event in came[:4]}) == 1, came)
    check(made[2]["handle"] == came[0]["handle"] and all(event["error"] == "" for event in came), came)
    program = next(event for event in trace if event["kind"] == "program")
    check(all(0 < int(event["caller"], 16) - int(program["base"], 16) < 1 << 20 for event in made), made, program)
    check([event["tid"] == event["pid"] for event in made] == [True, True, True, True, False], made)


def unloaded_by_child():
    """A child unloads what its parent had loaded."""
    library = build_library("shared")
    program = build_library("forker", source="""
        #include <dlfcn.h>
        #include <sys/wait.h>
        #include <unistd.h>
        __attribute__((destructor)) static void end(void) {}
        int forker_value(void)
        {
            void *kept = dlopen("%s", RTLD_NOW);
            pid_t child = fork();
            if (child == 0)
                _exit(dlclose(kept));
            int status = 1;
            waitpid(child, &status, 0);
            return status;
        }
        """ % library)
    trace = compare(["open", program, "call", "0", "forker_value"])
    gone = [(event["pid"], name_of(event["libraries"][0]["path"])) for event in trace if event["kind"] == "library_unload"]
    starts = [event["pid"] for event in trace if event["kind"] == "process_start"]
    check(gone == [(starts[1], "libshared.so")], gone, starts)


if __name__ == "__main__":
    globals()[sys.argv[1]]()
