#!/usr/bin/env python3
"""--dlopen=in-process: the agent decides about loads in the process, and only what is reported stops it. It is compared
with --dlopen=stops, where the recorder decides at each stop of the loader.

usage: in_process.py CASE [SEED]
"""
import os
import random
import shutil
import subprocess
import sys

from recording import LOADS, TOLLGATE, build_library, check, check_complete, events, record, run, witness_environment

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
        planted = [[(event["breakpoint"], os.path.basename(event["library"]), event["late"]) for event in trace
                    if event["kind"] == "breakpoint_planted"] for trace in (by_stops, inside)]
        check(planted[0] == planted[1], what, planted)


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
