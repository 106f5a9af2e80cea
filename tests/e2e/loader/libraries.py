#!/usr/bin/env python3
"""What `tollgate record` says of libraries, compared with what the loader itself says (LD_DEBUG=files).

usage: libraries.py CASE [agent|stops|in-process]     how libraries are observed; default: stops
"""
import collections
import os
import signal
import subprocess
import sys
import time

import machine
from recording import (LOADS, PROGRAMS, TIME_LIMIT_S, TOLLGATE, build_library, build_loads, check,
                       check_complete, events, record, run, skip, witness_environment)


HOW = sys.argv[2] if len(sys.argv) > 2 else "stops"
LOADER = {"stops": "loader", "in-process": "loader", "agent": "agent"}[HOW]  # how a library event was found while the program runs


def recorded(commands, *options, witness=True, how=HOW):
    """Runs `loads COMMANDS` natively and recorded, which must not differ; returns the trace's events."""
    native = run([LOADS, *commands])
    environment = witness_environment("witness") if witness else None
    if how is not None:
        options = (f"--dlopen={how}", *options)
    traced = record("trace", [LOADS, *commands], "--force", *options, environment=environment)
    check(traced.output == native.output and traced.status == native.status, "native", native, "recorded", traced)
    return events("trace")


def loads_of(trace_events, found):
    return [[os.path.basename(library["path"]) for library in event["libraries"]]
            for event in trace_events if event["kind"] == "library_load" and event["found"] == found]


def unloads_of(trace_events):
    return [[os.path.basename(library["path"]) for library in event["libraries"]]
            for event in trace_events if event["kind"] == "library_unload"]


def dependencies():
    """One dlopen is one event: the library asked for first, what it needs behind it."""
    inner = build_library("inner")
    other = build_library("other", [inner])
    outer = build_library("outer", [other])
    trace = recorded(["open", outer])
    check(loads_of(trace, LOADER) == [["libouter.so", "libother.so", "libinner.so"]], loads_of(trace, LOADER))
    load = next(event for event in trace if event["kind"] == "library_load" and event["found"] == LOADER)
    check([bool(library["dependency"]) for library in load["libraries"]] == [False, True, True], load)
    check(all(len(library["build_id"]) == 40 and library["size_bytes"] > 0 for library in load["libraries"]), load)
    check(check_complete(trace, "witness") >= 4)


def reopening():
    """A library that is open already makes no event; a closed one that is opened again does."""
    library, second = build_library("again"), build_library("second")
    trace = recorded(["open", library, "open", library, "close", "0", "close", "1", "open", second, "open", library,
                      "close", "2", "close", "3", "open", library])
    check(loads_of(trace, LOADER) == [["libagain.so"], ["libsecond.so"], ["libagain.so"], ["libagain.so"]], trace)
    check(unloads_of(trace) == [["libagain.so"], ["libsecond.so"], ["libagain.so"]], unloads_of(trace))
    check_complete(trace, "witness")


def address_reuse():
    """Another library where one has just been unloaded is another library."""
    names = [build_library(f"reuse{i}") for i in range(20)]
    commands = []
    for i, name in enumerate(names):
        commands += ["open", name, "close", str(i)]
    trace = recorded(commands)
    check(loads_of(trace, LOADER) == [[os.path.basename(name)] for name in names], loads_of(trace, LOADER))
    check(unloads_of(trace) == [[os.path.basename(name)] for name in names], unloads_of(trace))
    bases = [event["libraries"][0]["base"] for event in trace if event["kind"] == "library_load"
             and event["found"] == LOADER]
    check(len(set(bases)) < len(bases), "no address was used twice: the case does not test what it says")
    check_complete(trace, "witness")


def middle():
    """Unloading from the middle of the list."""
    names = [build_library(f"list{i}") for i in range(40)]
    commands = [word for name in names for word in ("open", name)]
    commands += ["close", "20", "close", "0", "close", "39"]
    trace = recorded(commands)
    check(unloads_of(trace) == [["liblist20.so"], ["liblist0.so"], ["liblist39.so"]], unloads_of(trace))
    check_complete(trace, "witness")


def namespaces():
    """dlmopen: its libraries, libc among them, are in a namespace of their own."""
    library = build_library("apart")
    trace = recorded(["namespace", library, "open", library, "namespace", library])
    seen = [(event["namespace"], os.path.basename(event["libraries"][0]["path"])) for event in trace
            if event["kind"] == "library_load" and event["found"] == LOADER]
    check(seen == [(1, "libapart.so"), (0, "libapart.so"), (2, "libapart.so")], seen)
    check_complete(trace, "witness")
    # one that is emptied: the loader's own entry in it goes, the loader stays
    trace = recorded(["namespace", library, "close", "0", "namespace", library, "open", library], witness=False)
    seen = [(event["namespace"], os.path.basename(event["libraries"][0]["path"])) for event in trace
            if event["kind"] == "library_load" and event["found"] == LOADER]
    check(seen == [(1, "libapart.so"), (1, "libapart.so"), (0, "libapart.so")], seen)


def threads():
    """Loads in threads, one after the other and at the same time."""
    library = build_library("thread")
    for i in range(16):
        build_library(f"many{i}")
    trace = recorded(["thread", library, "threads", "16", os.path.abspath("libmany")])
    first = next(event for event in trace if event["kind"] == "library_load" and event["found"] == LOADER)
    check(first["tid"] != first["pid"], first)
    check(len(loads_of(trace, LOADER)) == 17, loads_of(trace, LOADER))
    check_complete(trace, "witness")


def constructors():
    """A constructor that opens a library: of a dlopened one, and of one that the program starts with."""
    inner = build_library("inner")
    nested = build_library("nested", source=f'#include <dlfcn.h>\n__attribute__((constructor)) static void begin(void)'
                                            f' {{ dlopen("{inner}", RTLD_NOW); }}\n')
    trace = recorded(["open", nested])
    check(loads_of(trace, LOADER) == [["libnested.so"], ["libinner.so"]], loads_of(trace, LOADER))
    check_complete(trace, "witness")
    for mode, found in (("slow", "loader"), ("fast", "catch_up")):
        traced = record(f"preloaded-{mode}", ["env", "LD_PRELOAD=" + nested, LOADS], "--mode", mode)
        check(traced.status == 0, traced)
        trace = events(f"preloaded-{mode}")
        check("libnested.so" in loads_of(trace, "startup")[-1], mode, loads_of(trace, "startup"))
        check(loads_of(trace, found) == [["libinner.so"]], mode, trace)


def missing():
    """Libraries that are not there, and one whose dependency is not: it was mapped, and it went again."""
    gone = build_library("gone")
    broken = build_library("broken", [gone])
    os.unlink(gone)
    trace = recorded(["open", "/no/such/library.so", "open", broken, "open", "libnothing.so.7"])
    check(loads_of(trace, LOADER) == [["libbroken.so"]], loads_of(trace, LOADER))
    check(unloads_of(trace) == [["libbroken.so"]], unloads_of(trace))
    check(not [event for event in trace if event["kind"] == "loss"], trace)
    check_complete(trace, "witness")


def libc_itself():
    """What libc loads by itself: character sets and name services."""
    trace = recorded(["iconv", "EUC-JP", "names"])
    check(["EUC-JP.so", "libJIS.so"] in loads_of(trace, LOADER), loads_of(trace, LOADER))
    check_complete(trace, "witness")


def children():
    """A forked child starts with its parent's libraries, an exec with none; what they load is theirs."""
    first, second = build_library("first"), build_library("second")
    trace = recorded(["open", first, "fork", second, "exec", LOADS, "open", second])
    starts = [event for event in trace if event["kind"] == "process_start"]
    check(len(starts) == 2 and starts[1]["origin"] == "fork", starts)
    child = starts[1]["pid"]
    seen = [(event["pid"] == child, [os.path.basename(library["path"]) for library in event["libraries"]])
            for event in trace if event["kind"] == "library_load" and event["found"] == LOADER]
    check(seen == [(False, ["libfirst.so"]), (True, ["libsecond.so"]), (False, ["libsecond.so"])], seen)
    check(len(loads_of(trace, "startup")) == 2, trace)
    check_complete(trace, "witness")


def loader_as_program():
    """`ld.so PROGRAM`: there is no DT_DEBUG to ask; the program is one of the objects that the loader brings."""
    library = build_library("direct")
    loader = next((path for path in ("/lib64/ld-linux-x86-64.so.2",) if os.path.exists(path)), None)
    if loader is None:
        skip("no x86-64 glibc loader here")
    for mode, found in (("slow", "loader"), ("fast", "catch_up")):
        traced = record("trace-" + mode, [loader, LOADS, "open", library, "raise"], "--mode", mode, "--break", "main")
        check(traced.status == 0 and traced.output == "loaded\n", traced)
        trace = events("trace-" + mode)
        planted = [(event["library"], event["late"]) for event in trace if event["kind"] == "breakpoint_planted"]
        check(planted == [(os.path.realpath(LOADS), False)], planted)
        check(len([event for event in trace if event["kind"] == "breakpoint_hit"]) == 1, trace)
        check(loads_of(trace, "startup")[0] == [os.path.basename(LOADS)], trace)
        everything = [name for found in ("startup", "loader", "catch_up") for event in loads_of(trace, found)
                      for name in event]
        check("libdirect.so" in everything and "libc.so.6" in everything, mode, everything)
        if mode == "slow":
            check(loads_of(trace, found) == [["libdirect.so"]], loads_of(trace, found))


def narrow():
    """A program of 32 bits."""
    program = build_loads("narrow", "-m32")
    if not machine.executes_32_bits():
        skip("this machine executes no 32-bit programs")
    inner = build_library("inner", flags=["-m32"])
    outer = build_library("outer", [inner], flags=["-m32"])
    commands = ["open", outer, "close", "0", "open", inner, "raise", "namespace", outer, "fork", outer]
    for mode in ("slow", "fast"):
        environment = witness_environment("witness") if mode == "slow" else None
        traced = record(mode, [program, *commands], "--mode", mode, environment=environment)
        native = run([program, *commands])
        check((traced.output, traced.status) == (native.output, 0), native, traced)
        trace = events(mode)
        check([event["bits"] for event in trace if event["kind"] == "program"] == [32], trace)
        check(not [event for event in trace if event["kind"] == "loss"], trace)
        if mode == "slow":
            check(loads_of(trace, LOADER)[:2] == [["libouter.so", "libinner.so"], ["libinner.so"]], trace)
            check_complete(trace, "witness")
        else:
            check(loads_of(trace, "catch_up")[0] == ["libinner.so"], trace)


def static():
    """A static program: a note, and all else as ever; a static program that is position-independent too."""
    for name, flag in (("fixed", "-static"), ("moved", "-static-pie")):
        program = build_loads(name, flag)
        traced = record("trace-" + name, [program, "raise"])
        check(traced.status == 0, traced)
        trace = events("trace-" + name)
        check([event["linkage"] for event in trace if event["kind"] == "program"] == ["static"], trace)
        check(any("static program" in event["text"] for event in trace if event["kind"] == "note"), trace)
        check([event for event in trace if event["kind"] == "signal"], trace)


def audited():
    """Under LD_AUDIT the loader begins with namespaces of its auditors."""
    auditor = build_library("auditor", source="unsigned la_version(unsigned v) { return v; }\n")
    library = build_library("plain")
    traced = record("trace", ["env", "LD_AUDIT=" + auditor, LOADS, "open", library], f"--dlopen={HOW}")
    check(traced.status == 0 and traced.output == "loaded\n", traced)
    trace = events("trace")
    started = [name for event in loads_of(trace, "startup") for name in event]
    check("libc.so.6" in started, trace)
    check(HOW != "stops" or "libauditor.so" in started, "an auditor is not told of others", trace)
    check(loads_of(trace, LOADER) == [["libplain.so"]], loads_of(trace, LOADER))


def not_watched():
    """--dlopen=none: nothing of libraries, the rest as ever."""
    library = build_library("unseen")
    trace = recorded(["open", library, "raise"], "--dlopen=none", witness=False, how=None)
    check(not [event for event in trace if event["kind"].startswith("library_")], trace)
    check([event for event in trace if event["kind"] == "signal"], trace)


def breakpoints():
    """A pending breakpoint is in time in slow mode, and late, by how long, where its library was deferred."""
    library, other = build_library("target"), build_library("other")
    commands = ["open", other, "raise", "open", library, "call", "1", "target_value", "raise", "call", "1",
                "target_value", "close", "1"]
    for options, late, hits in ((["--mode", "slow"], False, 2), (["--match", "*/libtarget*"], False, 2),
                                (["--match", "*/libother*"], True, 1), (["--mode", "fast"], True, 1)):
        trace = recorded(commands, "--break", "target_value", "-b", "libother.so`target_value", *options,
                         witness=False, how=HOW if HOW == "in-process" else None)
        specs = [event["text"] for event in trace if event["kind"] == "breakpoint_spec"]
        check(specs == ["target_value", "libother.so`target_value"], specs)
        planted = [event for event in trace if event["kind"] == "breakpoint_planted"]
        check(len(planted) == 1 and planted[0]["library"] == library and planted[0]["breakpoint"] == 1, planted)
        check(bool(planted[0]["late"]) == late and (planted[0]["window_ns"] > 0) == late, options, planted)
        check(len([event for event in trace if event["kind"] == "breakpoint_hit"]) == hits, options, trace)
        check(len([event for event in trace if event["kind"] == "breakpoint_removed"]) == 1, options, trace)


def breakpoints_with_agent():
    """The agent tells of libraries, once; breakpoints are planted late, as in fast mode."""
    library, other = build_library("target"), build_library("other")
    commands = ["open", other, "raise", "open", library, "call", "1", "target_value", "raise", "call", "1",
                "target_value", "close", "1"]
    trace = recorded(commands, "--break", "target_value", "--break", "main", "--dlopen=agent", witness=False, how=None)
    planted = {event["breakpoint"]: event for event in trace if event["kind"] == "breakpoint_planted"}
    check(planted[1]["library"] == library and planted[1]["late"] and planted[1]["window_ns"] > 0, planted)
    check(not planted[2]["late"], "start-up libraries are handled at the entry point", planted)
    hits = collections.Counter(event["breakpoint"] for event in trace if event["kind"] == "breakpoint_hit")
    check(hits == {1: 1, 2: 1}, hits)
    check({event["found"] for event in trace if event["kind"] == "library_load"} == {"startup", "agent"}, trace)
    seen = [event["libraries"][0]["path"] for event in trace if event["kind"] == "library_load" and event["found"] == "agent"]
    check(seen == [other, library], seen)


def without_agent():
    """An agent that was put into a program and cannot record there is found out, and libraries are seen by stops."""
    library = build_library("seen")
    command = ["sh", "-c", f"ulimit -f 20; exec {LOADS} open {library}"]  # files of rings are larger
    native, traced = run(command), record("trace", command)
    check((traced.output, traced.status) == (native.output, native.status) and native.status == 0, native, traced)
    trace = events("trace")
    reasons = [event["reason"] for event in trace if event["kind"] == "agent" and event["state"] == "aside"]
    check(len(reasons) == 1 and "records nothing" in reasons[0], reasons)
    check(loads_of(trace, "loader") == [["libseen.so"]], loads_of(trace, "loader"))
    started = [name for names in loads_of(trace, "startup") for name in names]
    check(started.count("libc.so.6") == 2 and started.count("tollgate-audit.so") == 1, "shell by agent, program by stops", started)


def signals():
    """Signals that come in the very moment of a loader stop: once each, as they were sent, where code is."""
    library = build_library("signalled")
    program = [os.path.join(PROGRAMS, "loader_signals"), "1000", library]
    native = run(program)
    check(native.output == "undisturbed\n" and native.status == 0, native)
    run_of = record("trace", program, f"--dlopen={HOW}")
    check(run_of.output == native.output and run_of.status == 0, run_of)
    kinds = collections.Counter(event["kind"] for event in events("trace"))
    check(kinds["library_load"] >= 1000 and kinds["signal"] > 0, kinds)


def loader_code_of(pid):
    """The bytes of the dynamic loader's executable mapping."""
    code = {}
    with open(f"/proc/{pid}/maps", encoding="ascii") as maps, open(f"/proc/{pid}/mem", "rb") as memory:
        for line in maps:
            fields = line.split()
            if "x" in fields[1] and len(fields) > 5 and os.path.basename(fields[5]).startswith("ld-linux"):
                start, end = (int(part, 16) for part in fields[0].split("-"))
                memory.seek(start)
                code[start] = memory.read(end - start)
    check(len(code) > 0, "no loader is mapped")
    return code


def let_go():
    """A recorder that detaches in the middle of a storm leaves the code as it was, and the storm goes on."""
    library = build_library("storm")
    command = [LOADS, "await", "unceasing", library]
    target = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    check(target.stdout.readline() == b"ready\n")
    before = loader_code_of(target.pid)
    recorder = subprocess.Popen([TOLLGATE, "record", "--dlopen=stops", "-o", "trace", "-p", str(target.pid)],
                                stderr=subprocess.PIPE)
    deadline = time.monotonic() + TIME_LIMIT_S
    while "TracerPid:\t0\n" in open(f"/proc/{target.pid}/status").read():
        check(recorder.poll() is None and time.monotonic() < deadline, "it is not attached")
    target.stdin.write(b"\n")
    target.stdin.flush()
    while run([TOLLGATE, "dump", "--json", "trace.incomplete"]).output.count("library_load") < 10:
        check(recorder.poll() is None and time.monotonic() < deadline, "no loads are recorded")
    recorder.send_signal(signal.SIGINT)
    recorder.communicate(timeout=TIME_LIMIT_S)
    check(loader_code_of(target.pid) == before, "the code is not what it was")
    check(target.poll() is None, target.returncode)
    output, _ = target.communicate(timeout=TIME_LIMIT_S)  # its input ends
    check(output == b"storm over\n" and target.returncode == 0, output, target.returncode)


def modes():
    """Slow reports, medium decides by the whole list of an event, fast never stops and catches up."""
    inner = build_library("wanted")
    outer, plain = build_library("outer", [inner]), build_library("plain")
    commands = ["open", plain, "raise", "open", outer, "open", plain, "close", "0"]

    def decisions(*options, how="stops"):
        trace = recorded(commands, *options, witness=False, how=None if options else how)
        return trace, [event["decision"] for event in trace if event["kind"] == "filter_decision"]

    _, slow = decisions()
    check(slow == ["reported", "reported"], slow)
    trace, medium = decisions("--mode", "medium", "--match", "*/libwanted*")
    check(medium == ["deferred", "reported"], medium)
    handled = [(event["trigger"], event["events"], event["libraries"]) for event in trace
               if event["kind"] == "deferred_handled"]
    check(handled == [("signal", 1, 1)], handled)
    _, variables = decisions("-no_dlopen_always_recalculate", "-dlopen_recalculate_on_match", "*/libwanted*")
    check(variables == medium, variables)
    trace, fast = decisions("-no_dlopen_always_recalculate", "-dlopen_recalculate_on_match", "")
    check(fast == ["not_stopped", "not_stopped"], fast)
    check(not [event for event in trace if event["kind"] == "library_null"], "fast mode stopped at the loader")
    handled = [(event["trigger"], event["events"], event["libraries"]) for event in trace
               if event["kind"] == "deferred_handled"]
    check(handled == [("signal", 1, 1), ("exit", 1, 2)], handled)
    with open(".tollgaterc", "w") as settings:
        settings.write("# mine\ndset TV::dlopen_always_recalculate false\n"
                       "dset TV::dlopen_recalculate_on_match {*/libwanted*}\nputs hello\n")
    trace, by_file = decisions(how=None)
    check(by_file == medium, by_file)
    _, slow = decisions("--mode", "slow")
    check(slow == ["reported", "reported"], "the command line wins", slow)
    told = record("trace-notes", ["true"], "--force")
    check(told.errors.count("skipped") == 1, told.errors)
    check("the dlopen filter is medium, by .tollgaterc:3" in told.errors.replace(os.getcwd() + "/", ""), told.errors)
    settings_files(decisions, medium, fast)


def settings_files(decisions, medium, fast):
    """~/.tvdrc, ~/.tollgaterc, ./.tollgaterc, in this order; the live console gets its variables; --no-rc reads none."""
    os.mkdir("home")
    os.environ["HOME"] = os.path.abspath("home")
    os.remove(".tollgaterc")
    with open("home/.tvdrc", "w") as settings:
        settings.write("dset TV::dlopen_always_recalculate false\ndset dlopen_recalculate_on_match {}\n"
                       "dset -set_as_default BARRIER_STOP_ALL none\ndset TV::BARRIER_STOP_WHEN_DONE group\n"
                       "source mine.tcl\nproc x {} {\n}\ndset TV::foo 1\nif {1} {}\ndset MAX_LIST many\n")
    _, by_file = decisions(how=None)
    check(by_file == fast, by_file)
    told = record("trace-notes", ["true"], "--force")
    for line, reason in (("5", "only dset is supported"), ("6", "only dset"), ("8", "not a variable of tollgate"), ("9", "only dset")):
        check(f".tvdrc:{line}: skipped: {reason}" in told.errors, line, told.errors)
    check("the dlopen filter is fast, by " in told.errors and ".tvdrc:2 (--no-rc " in told.errors, told.errors)
    told = record("trace-notes", ["true"], "--force", "--no-rc")
    check("skipped" not in told.errors and "filter" not in told.errors, told.errors)
    asked = run([TOLLGATE, "live", "-o", "trace-live", "--force", "-e", "puts [dset BARRIER_STOP_ALL],[dset TV::BARRIER_STOP_WHEN_DONE]",
                 "-e", "puts [dset TV::dlopen_always_recalculate]", "--", "true"])
    check("none,group\nfalse\n" in asked.output, asked)
    check(".tvdrc:10: skipped: MAX_LIST" in asked.errors, asked)
    with open("home/.tollgaterc", "w") as settings:
        settings.write("dset TV::dlopen_recalculate_on_match {*/libwanted*}\n")
    _, by_file = decisions(how=None)
    check(by_file == medium, by_file)
    with open("home/.tvdrc", "w") as settings:
        settings.write("dset BARRIER_STOP_ALL {")
    refused = record("trace-notes", ["true"], "--force")
    check(refused.status == 2 and ".tvdrc:1" in refused.errors and "--no-rc" in refused.errors, refused)


if __name__ == "__main__":
    globals()[sys.argv[1]]()
