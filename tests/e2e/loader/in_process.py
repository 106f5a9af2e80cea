#!/usr/bin/env python3
"""The agent decides about loads in the process, and only what is reported stops it: the default in Medium, and
--dlopen=in-process. It is compared with --dlopen=stops, where the recorder decides at each stop of the loader.

usage: in_process.py CASE [SEED]
"""
import os
import random
import re
import shutil
import subprocess
import sys

from recording import LOADS, TOLLGATE, build_library, check, check_complete, events, meta, record, run, skip, witness_environment

N_LIBRARIES = 400


def loads_and_decisions(trace):
    """(pid's number, namespace, libraries, how it was found, decision, rule, pattern, deciding library), in order."""
    result, due, numbers = [], {}, {}
    for event in trace:
        number = numbers.setdefault(event["pid"], len(numbers)) if event["pid"] != 0 else None
        if event["kind"] == "library_load" and event["found"] not in ("startup", "attach"):
            check(event["pid"] not in due, "a load without a decision", due)
            due[event["pid"]] = event
        elif event["kind"] == "filter_decision":
            load = due.pop(event["pid"])
            result.append((number, load["namespace"], tuple(os.path.basename(library["path"]) for library in load["libraries"]),
                           load["found"], event["decision"], event["rule"], event["pattern"],
                           os.path.basename(event["library"])))
    check(not due, "loads without a decision", due)
    return result


def check_model(trace):
    """The model, fed with the trace, takes the same decisions, and handles what waits at the same stops."""
    done = run([TOLLGATE, "filter", "--check", trace])
    check(done.status == 0, "filter --check:", done.output, done.errors)


def in_process(trace, commands, *options, environment=None, native=None):
    native = native or run([LOADS, *commands])
    traced = record(trace, [LOADS, *commands], "--force", "--dlopen=in-process", *options, environment=environment)
    check((traced.output, traced.status) == (native.output, native.status), "native", native, "recorded", traced)
    check("aside" not in traced.errors, traced.errors)
    result = events(trace)
    check(not [event for event in result if event["kind"] == "loss"], [event for event in result if event["kind"] == "loss"])
    return result


def ways(trace):
    """How the loads of TRACE, those of start-up left out, were found."""
    return {event["found"] for event in events(trace, "library_load") if event["found"] != "startup"}


def defaults():
    """Medium is decided about in the process where nobody asks for something else; a report says which way it went."""
    red, blue = build_library("red"), build_library("blue")
    commands = ["open", red, "open", blue]
    for options, how, found in ((["--match=*/libnone*"], "in-process", {"in_process"}),
                                (["--mode=medium", "--match=*/libblue*"], "in-process", {"in_process", "loader"}),
                                (["--match=*/libnone*", "--dlopen=stops"], "stops", {"loader"}),
                                (["--match=*/libnone*", "--lossy"], "stops", {"loader"}),
                                (["--mode=slow"], "stops", {"loader"}), (["--mode=fast"], "stops", {"catch_up"})):
        traced = record("trace", [LOADS, *commands], "--force", *options)
        check(traced.status == 0, traced)
        check(meta("trace")["capture.dlopen"] == how, options, meta("trace")["capture.dlopen"])
        check(ways("trace") == found, options, ways("trace"))
        said = "decided about in the process, without a stop" in run([TOLLGATE, "report", "--all", "trace"]).output
        check(said == ("in_process" in found), options, "the report says so:", said)
        check_model("trace")
    loader = re.search(r"program interpreter: (\S+)\]", run(["readelf", "-l", LOADS]).output)
    if loader is not None:  # a program that cannot have the agent
        traced = record("trace", [loader.group(1), LOADS, *commands], "--force", "--match=*/libnone*")
        check(traced.status == 0 and ways("trace") == {"loader"}, traced, ways("trace"))
        check({event["decision"] for event in events("trace", "filter_decision")} == {"deferred"}, events("trace", "filter_decision"))
        report = run([TOLLGATE, "report", "--all", "trace"]).output
        check("started through the dynamic loader" in report, report)


def live(trace, script, command, *options):
    arguments = [word for line in script for word in ("-e", line)]
    done = run([TOLLGATE, "live", "-q", "--force", "-o", trace, *options, *arguments, "--", *command])
    check(done.status == 0, script, options, done)
    return done


def set_mode(mode, match="*/libnone*"):
    always = "true" if mode == "slow" else "false"
    return f"dset TV::dlopen_recalculate_on_match {{{'' if mode == 'fast' else match}}}; dset TV::dlopen_always_recalculate {always}"


def live_defaults():
    """Programs that begin in Medium have it decided in the process, be it set before they run; others are stopped."""
    red, blue = build_library("red"), build_library("blue")
    commands = ["open", red, "raise", "open", blue, "fork", red]
    for modes, options, found in (([], ["--match=*/libnone*"], {"in_process"}), (["medium"], [], {"in_process"}),
                                  (["slow"], ["--match=*/libnone*"], {"loader"}), (["fast"], ["--match=*/libnone*"], {"catch_up"}),
                                  (["medium", "slow", "medium"], ["--mode=fast"], {"in_process"}),
                                  (["medium", "fast"], [], {"catch_up"}), (["medium"], ["--dlopen=stops"], {"loader"}),
                                  (["medium"], ["--lossy"], {"loader"})):
        done = live("trace", [*(set_mode(mode) for mode in modes), "dgo", "dwait", "info dlopen"], [LOADS, *commands], *options)
        check(ways("trace") == found, modes, options, ways("trace"))
        check(("decided in the process" in done.output) == (found == {"in_process"}), modes, options, done.output)
        check(not events("trace", "loss"), events("trace", "loss"))
        check_model("trace")
    native = run(["sh", "-c", "env; exec cat /proc/self/environ"]).output
    for modes in (["medium"], ["medium", "slow"], ["medium", "fast", "medium"]):
        done = live("trace", [*map(set_mode, modes), "dgo", "dwait"], ["sh", "-c", "env > seen; exec cat /proc/self/environ >> seen"])
        with open("seen", encoding="utf-8", errors="replace") as seen:
            check(seen.read() == native, modes, "the program sees another environment", native)
    # a program that runs already is stopped, what it executes then is not; and the other way round
    command = [LOADS, "open", red, "raise", "open", blue, "exec", LOADS, "open", red, "raise"]
    for first, then, found in (("slow", "medium", ["loader", "loader", "in_process"]),
                               ("medium", "slow", ["in_process", "loader", "loader"]),
                               ("medium", "fast", ["in_process", "in_process", "catch_up"])):
        live("trace", [set_mode(first), "dbreak -pending raise", "dgo", "dwait", set_mode(then), "ddelete -a", "dgo", "dwait"], command)
        said = [event["found"] for event in events("trace", "library_load") if event["found"] != "startup"]
        check(said == found, first, then, said)
        check_model("trace")


def many_libraries():
    first = build_library("many0", source="static int value; __attribute__((constructor)) void begun(void) { value = 1; }\n"
                                          "int many_value(void) { return value; }\n")
    for i in range(1, N_LIBRARIES):
        shutil.copy(first, f"libmany{i}.so")
    return [os.path.abspath(f"libmany{i}.so") for i in range(N_LIBRARIES)]


def one_stop():
    """Of 400 libraries one matches: one stop, before its constructor; none matches: none."""
    libraries = many_libraries()
    commands = [word for library in libraries for word in ("open", library)]
    trace = in_process("one", commands, "--match=*/libmany123.so", "--break=libmany123.so`begun",
                       environment=witness_environment("witness"))
    decisions = loads_and_decisions(trace)
    check(len(decisions) == N_LIBRARIES, len(decisions))
    reported = [decision for decision in decisions if decision[4] == "reported"]
    check(reported == [(0, 0, ("libmany123.so",), "loader", "reported", "pattern", "*/libmany123.so", "libmany123.so")], reported)
    check({decision[3:] for decision in decisions if decision not in reported} ==
          {("in_process", "deferred", "default_last_positive", "", "")}, decisions)
    check([decision[2] for decision in decisions] == [(os.path.basename(library),) for library in libraries], "order")
    stopped = [event for event in trace if event["kind"].startswith("library_") and event.get("stop_ns", 0) > 0]
    check(len(stopped) == 1 and stopped[0]["found"] == "loader", stopped)
    planted = [event for event in trace if event["kind"] == "breakpoint_planted"]
    check([bool(event["late"]) for event in planted] == [False], planted)
    check(len([event for event in trace if event["kind"] == "breakpoint_hit"]) == 1, "the constructor was not stopped in")
    check_complete(trace, "witness")
    check_model("one")
    trace = in_process("none", commands, "--match=*/libnothing.so")
    check({decision[4] for decision in loads_and_decisions(trace)} == {"deferred"}, "reported")
    check(not [event for event in trace if event["kind"].startswith("library_") and event.get("stop_ns", 0) > 0], "a stop")
    check_model("none")


def tangle(count):
    """Libraries that need some of those before them; one cannot be loaded, because what it needs is gone."""
    made = []
    for i in range(count):
        needed = random.sample(made, min(len(made), random.choice((0, 0, 0, 1, 2))))
        made.append(build_library(f"{random.choice(('red', 'blue', 'green'))}{i}", needed))
    gone = build_library("gone")
    made.append(build_library("broken", [gone]))
    os.unlink(gone)
    # needs static thread-local storage that is not left
    made.append(build_library("static_tls", source='__thread char room[1 << 20] __attribute__((tls_model("initial-exec")));\n'
                                                   'char *static_tls_value(void) { return room; }\n'))
    return made


def some_commands(libraries, count):
    commands, n_open, closed = [], 0, set()
    failing = libraries[-2:]
    for _ in range(count):
        what = random.random()
        library = random.choice(libraries)
        left = [i for i in range(n_open) if i not in closed]
        if what < 0.55:
            commands += ["open", library]
            n_open += library not in failing
        elif what < 0.75 and left:
            number = random.choice(left)
            closed.add(number)
            commands += ["close", str(number)]
        elif what < 0.80:
            commands += ["thread", library]
            n_open += library not in failing
        elif what < 0.84 and commands.count("namespace") < 8:
            commands += ["namespace", library]
            n_open += library not in failing
        elif what < 0.88:
            commands += ["fork", random.choice(libraries[:-2])]
        elif what < 0.92:
            commands += ["raise"]
        else:
            commands += ["iconv", random.choice(("EUC-JP", "UTF-16", "KOI8-R"))]
    return commands


def some_list():
    patterns = []
    for _ in range(random.randint(1, 4)):
        patterns.append(random.choice(("", "!", "", "")) +
                        random.choice(("*/libred*", "*/libblue?.so", "*/lib*[0-4].so", "*green*", "*/libstatic_tls.so", "*broken*",
                                       "*", "", "*/libc.so*", "*JP*", "[a-]]*", "*\\", "nothing")))
    return ":".join(patterns)


def comparable(decisions):
    """Without what may differ: how it was found."""
    return [decision[:3] + decision[4:] for decision in decisions]


def handlings(trace):
    return [(event["trigger"], event["events"], event["libraries"]) for event in trace if event["kind"] == "deferred_handled"]


def plantings(trace):
    """What each handling planted. Where the last thread ends depends on when the others are known to be gone."""
    at_ends = {event["t_ns"] for event in trace if event["kind"] == "deferred_handled" and event["trigger"] == "exit"}
    by_time = {}
    for event in trace:
        if event["kind"] == "breakpoint_planted" and event["t_ns"] not in at_ends:
            by_time.setdefault(event["t_ns"], []).append((event["breakpoint"], os.path.basename(event["library"]), event["late"]))
    return [sorted(planted) for _, planted in sorted(by_time.items())]


def unloads(trace):
    """Within an event, stops have the order of the list, the agent that in which libraries went."""
    return [(event["namespace"], sorted(os.path.basename(library["path"]) for library in event["libraries"]))
            for event in trace if event["kind"] == "library_unload"]


def generated():
    """Random loads, closes, namespaces, forks and lists: what is decided and handled is what stops would have shown."""
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else 35
    random.seed(seed)
    libraries = tangle(14)
    for round_number in range(12):
        commands, text = some_commands(libraries, 60), some_list()
        options = [f"--match={text}"] if text else ["--mode=fast"]
        if round_number == 3:
            options = ["--mode=slow"]
        options += ["--break=red0_value", "--break=*/libblue*`blue1_value"] if round_number % 2 else []
        what = (seed, round_number, options, " ".join(os.path.basename(word) for word in commands))
        native = run([LOADS, *commands])
        stopped = record("stops", [LOADS, *commands], "--force", "--dlopen=stops", *options)
        check((stopped.output, stopped.status) == (native.output, native.status), what, native, stopped)
        by_stops, inside = events("stops"), in_process("inside", commands, *options, native=native)
        check_model("inside")
        if "--mode=fast" in options:
            continue  # stops see only what is left at the next one
        expected, seen = comparable(loads_and_decisions(by_stops)), comparable(loads_and_decisions(inside))
        check(sorted(set(expected)) == sorted(set(seen)), what, "only by stops:", [one for one in expected if one not in seen],
              "only in process:", [one for one in seen if one not in expected])
        for process in {decision[0] for decision in expected}:
            check([one for one in expected if one[0] == process] == [one for one in seen if one[0] == process], what, process,
                  expected, seen)
        check(unloads(by_stops) == unloads(inside), what, [pair for pair in zip(unloads(by_stops), unloads(inside))
                                                           if pair[0] != pair[1]])
        check(handlings(by_stops) == handlings(inside), what, handlings(by_stops), handlings(inside))
        check(plantings(by_stops) == plantings(inside), what, plantings(by_stops), plantings(inside))


def quotable_list():
    """Between braces a backslash must not come last."""
    text = some_list()
    return "*" if text == "" or text.endswith("\\") else text


def with_signals(commands, every):
    """COMMANDS with a signal behind each EVERY of them."""
    result, count = [], 0
    while commands:
        length = 1 if commands[0] == "raise" else 2
        result += commands[:length]
        commands = commands[length:]
        count += 1
        if count % every == 0:
            result.append("raise")
    return result


def generated_settings():
    """The same, live, and the filter is set anew wherever the program raises its signal."""
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else 37
    random.seed(seed)
    libraries = tangle(10)
    for round_number in range(6):
        commands = with_signals(some_commands(libraries, 45), 8)
        settings = [set_mode(random.choice(("slow", "medium", "medium")), quotable_list()) for _ in range(commands.count("raise"))]
        script = [set_mode("medium", quotable_list()), "dbreak -pending raise", "dgo", "dwait"]
        for setting in settings:
            script += [setting, "dgo", "dwait"]
        made = {}
        for how in ("stops", "in-process", "default"):
            live(how, script, [LOADS, *commands], *([] if how == "default" else [f"--dlopen={how}"]))
            check(not events(how, "loss"), events(how, "loss"))
            check_model(how)
            made[how] = comparable(loads_and_decisions(events(how)))
        what = (seed, round_number, " ".join(os.path.basename(word) for word in commands), script)
        for how in ("in-process", "default"):
            for process in {decision[0] for decision in made["stops"]}:
                check([one for one in made["stops"] if one[0] == process] == [one for one in made[how] if one[0] == process],
                      what, how, process, made["stops"], made[how])


SMALL_STACK = """
#include <dlfcn.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
static void *load(void *path) { return dlopen(path, RTLD_NOW); }
int main(int argc, char **argv)
{
    pthread_attr_t attributes;
    pthread_t thread;
    void *handle = NULL;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, PTHREAD_STACK_MIN);
    if (argc < 2 || pthread_create(&thread, &attributes, load, argv[1]) != 0 || pthread_join(thread, &handle) != 0)
        return 1;
    puts(handle != NULL ? "loaded" : dlerror());
    return 0;
}
"""


def small_stack():
    """A thread with the smallest stack that there is loads a library, as without tollgate."""
    made = subprocess.run(["cc", "-D_GNU_SOURCE", "-x", "c", "-", "-o", "small", "-ldl", "-pthread"], input=SMALL_STACK, text=True,
                          capture_output=True)
    check(made.returncode == 0, made.stderr)
    library = build_library("small")
    native = run(["./small", library])
    check(native.output == "loaded\n", native)
    for options in (["--match=*a[a-]]*b*c]*nothing*:!*x*"], ["--match=*small*"], ["--mode=fast"]):
        traced = record("trace", ["./small", library], "--force", "--dlopen=in-process", *options)
        check((traced.output, traced.status) == (native.output, native.status), options, native, traced)


def long_lists():
    """Lists that the agent has no room for are decided about at stops, and so is Slow mode: the decisions are the same."""
    libraries = [build_library(name) for name in ("red", "blue")]
    commands = [word for library in libraries for word in ("open", library)]
    for text in (":".join(f"*/nothing{i}*" for i in range(2000)) + ":*/libred*", "*/libred*:!" + 5000 * "y",
                 ":".join(1100 * ["*/libblue*"])):
        by_stops = record("stops", [LOADS, *commands], "--force", "--dlopen=stops", f"--match={text}")
        check(by_stops.status == 0, by_stops)
        inside = in_process("inside", commands, f"--match={text}")
        check(comparable(loads_and_decisions(events("stops"))) == comparable(loads_and_decisions(inside)), text[:100])
        check({decision[3] for decision in loads_and_decisions(inside)} == {"loader"}, "not all were asked for")
        check_model("inside")


# Loads a library, and writes to what the auditor counts: argument 2 is where that is in its library.
NONSENSE = """
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
int main(int argc, char **argv)
{
    char line[4096];
    uintptr_t base = 0;
    FILE *maps = fopen("/proc/self/maps", "r");
    while (argc > 2 && maps != NULL && base == 0 && fgets(line, sizeof line, maps) != NULL)
        if (strstr(line, "/tollgate-audit.so") != NULL)
            base = strtoull(line, NULL, 16);
    if (base == 0 || dlopen(argv[1], RTLD_NOW) == NULL)
        return 1;
    struct { uint32_t undecided, reserved; uint64_t waiting, closed, opened; } *loads = (void *)(base + strtoull(argv[2], NULL, 16));
    loads->opened += UINT64_C(1) << 60;
    return 42;
}
"""


def nonsense():
    """What a program writes where the auditor counts is no number of libraries."""
    made = subprocess.run(["cc", "-x", "c", "-", "-o", "nonsense", "-ldl"], input=NONSENSE, text=True, capture_output=True)
    check(made.returncode == 0, made.stderr)
    auditor = os.path.join(os.path.dirname(TOLLGATE), "agent", "tollgate-audit.so")
    if not os.path.exists(auditor):
        skip("the auditor is elsewhere")
    place = next(line.split()[0] for line in run(["nm", "-D", auditor]).output.splitlines() if line.split()[-1] == "tollgate_loads")
    traced = record("trace", ["./nonsense", build_library("red"), place], "--force", "--match=*/libnone*")
    check(traced.status == 42, traced)
    check(handlings(events("trace")) == [("exit", 1, 1)], handlings(events("trace")))


def let_go():
    """A recorder that lets the job go in the middle of a storm leaves nothing behind: it goes on to its end."""
    libraries = [build_library(name) for name in ("red", "blue")]
    command = [LOADS, "storm", "20000", *libraries]
    done = subprocess.Popen([TOLLGATE, "live", "-q", "-o", "trace", "--dlopen=in-process", "--match=*/libred.so", "-e", "dgo", "-e",
                             "after 300", "-e", "ddetach", "-e", "dwait", "--", *command], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
    output, _ = done.communicate(timeout=100)
    trace = events("trace", "library_load", "detach", "loss", "process_exit")
    check([event for event in trace if event["kind"] == "detach"], trace[-5:], output)
    check("storm over" in output, output, trace[-5:])


if __name__ == "__main__":
    globals()[sys.argv[1]]()
