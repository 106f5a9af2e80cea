#!/usr/bin/env python3
"""What `tollgate filter` predicts from a slow recording is what recording under the other modes gives, event by event.

usage: prediction.py CASE
"""
import json
import sys

from recording import LOADS, TOLLGATE, build_library, check, events, record, run

FIELDS = ("kind", "decision", "rule", "pattern", "library", "libraries", "trigger", "events")


def normalised(happenings):
    """Processes by order of appearance, without times, libraries by path."""
    numbers, lines = {}, []
    for event in happenings:
        number = numbers.setdefault(event["pid"], len(numbers))
        lines.append((number, *(json.dumps(event.get(field)) for field in FIELDS)))
    return lines


def recorded(trace):
    """Decisions with the libraries that they were about, and handlings."""
    happenings, load = [], {}
    for event in events(trace):
        if event["kind"] == "library_load":
            load[event["pid"]] = [library["path"] for library in event["libraries"]]
        elif event["kind"] == "filter_decision":
            happenings.append({**event, "libraries": load[event["pid"]]})
        elif event["kind"] == "deferred_handled":
            happenings.append(event)
    return happenings


def predicted(trace, *options):
    result = run([TOLLGATE, "filter", "--decisions", "--json", *options, trace])
    check(result.status == 0, result)
    return [json.loads(line) for line in result.output.splitlines()]


def compare(commands, match, *, before=()):
    """Runs `loads COMMANDS` under all modes; returns how many events were compared."""
    settings = {"slow": (["--mode", "slow"], ["--mode", "slow"]),
                "medium": (["--match", match], ["--mode", "medium", "--match", match]),
                "fast": (["--mode", "fast"], ["--mode", "fast"])}
    compared = 0
    for name, (options, _) in settings.items():
        traced = record(name, [*before, LOADS, *commands], "--force", *options)
        check(traced.status == 0, traced)
        checked = run([TOLLGATE, "filter", "--check", name])
        check(checked.status == 0, name, "is not what the model makes of it:", checked.output, checked.errors)
    for name, (_, options) in settings.items():
        said, happened = normalised(predicted("slow", *options)), normalised(recorded(name))
        for i, (one, other) in enumerate(zip(said, happened)):
            check(one == other, name, "event", i, "predicted", one, "recorded", other)
        check(len(said) == len(happened), name, "predicted", len(said), "events, recorded", len(happened))
        compared += len(said)
    return compared


def mixture():
    """Dependencies, unloads, threads, forks, signals, exec, what libc loads by itself."""
    inner = build_library("inner")
    outer, plain, again = build_library("outer", [inner]), build_library("plain"), build_library("again")
    nested = build_library("nested", source=f'#include <dlfcn.h>\n__attribute__((constructor)) static void begin(void)'
                                            f' {{ dlopen("{plain}", RTLD_NOW); }}\n')
    commands = ["open", again, "raise", "open", outer, "close", "0", "open", again, "thread", plain, "raise", "close",
                "1", "open", nested, "fork", inner, "raise", "iconv", "EUC-JP", "open", outer, "exec", LOADS, "open",
                plain, "raise", "open", inner, "close", "0", "open", "/not/there.so"]
    for match in ("*/libinner*", "!*/libplain*:!*/libagain*", "*/libnested*:!*gconv*", "!", ":", "*"):
        check(compare(commands, match) > 20)


def startup():
    """What constructors open before the program begins."""
    inner = build_library("inner")
    nested = build_library("nested", source=f'#include <dlfcn.h>\n__attribute__((constructor)) static void begin(void)'
                                            f' {{ dlopen("{inner}", RTLD_NOW); }}\n')
    check(compare(["open", nested, "raise"], "*/nothing*", before=["env", "LD_PRELOAD=" + nested]) >= 4)


def namespaces():
    """dlmopen."""
    inner = build_library("inner")
    outer = build_library("outer", [inner])
    check(compare(["namespace", outer, "raise", "open", outer, "namespace", inner, "open", inner], "*/libinner*") >= 8)


def storm():
    """Many loads and unloads."""
    names = [build_library(f"storm{i}") for i in range(10)]
    check(compare(["raise", "storm", "20", *names], "*/libstorm3*") >= 400)


def evaluation(trace, *options):
    result = run([TOLLGATE, "filter", "--json", *options, trace])
    check(result.status == 0, result)
    return json.loads(result.output)


def breakpoints():
    """Fast and medium recordings do not know what they could not see; files of this machine may. A breakpoint that a mode
    never plants is no stop of that mode."""
    plug, other = build_library("plug"), build_library("other")
    closed = ["open", plug, "call", "0", "plug_value", "close", "0"]
    for mode in (["--mode=fast"], ["--match=*/libnone*"], []):
        traced = record("closed", [LOADS, *closed], "--force", *mode, "--break", "libplug.so`plug_value")
        check(traced.status == 0, traced)
        found = evaluation("closed", "--suggest")
        point = found["breakpoints"][0]
        check(point["state"] == ("unknown" if mode == ["--mode=fast"] else "resolved"), mode, point)
        suggested = found["suggestion"]
        check(suggested["mode"] == "slow" or plug in suggested["match"] or "*/libplug.so*" == suggested["match"], mode, suggested)
        check(suggested["late"] + suggested["never"] + suggested["unknown"] == 0, mode, suggested)
    named = evaluation("closed", "--break", "libplug.so`no_such", "--break", "libother.so`other_value", "--break", "main")
    states = {point["spec"]: point["state"] for point in named["breakpoints"]}
    check(states == {"libplug.so`plug_value": "resolved", "libplug.so`no_such": "nowhere", "main": "resolved",
                     "libother.so`other_value": "nowhere"}, states)
    again = ["open", plug, "raise", "call", "0", "plug_value", "close", "0"]
    again += ["open", plug, "call", "1", "plug_value", "close", "1", "open", other, "raise"]
    fields = ("round_trips", "hits", "late")
    for name, options in (("slow", ["--mode=slow"]), ("fast", ["--mode=fast"])):
        traced = record(name, [LOADS, *again], "--force", *options, "--break", "plug_value")
        check(traced.status == 0, traced)
    said, happened = (evaluation(name, "--mode", "fast")["modes"][0] for name in ("slow", "fast"))
    check([said[field] for field in fields] == [happened[field] for field in fields], "predicted", said, "recorded", happened)
    check(said["hits_missed"] == 1, said)


def in_process():
    """What Medium decided in the process does is predicted from a slow recording and from one of stops; its price is not."""
    inner, plain = build_library("inner"), build_library("plain")
    outer = build_library("outer", [inner])
    commands = ["open", plain, "raise", "open", outer, "close", "0", "open", plain, "open", "/not/there.so"]
    counted = ("stops", "startup_stops", "null_stops", "unload_stops", "reported", "deferred", "round_trips", "libraries_handled",
               "late", "never")
    for match in ("*/libnone*", "*/libinner*", "!*/libplain*"):
        for name, options in (("slow", ["--mode=slow"]), ("stops", [f"--match={match}", "--dlopen=stops"]), ("inside", [f"--match={match}"])):
            traced = record(name, [LOADS, *commands], "--force", *options)
            check(traced.status == 0, traced)
        wanted = ["--mode=in-process", "--match", match]
        happened = evaluation("inside", *wanted)["modes"][0]
        for name in ("slow", "stops"):
            said = evaluation(name, *wanted)["modes"][0]
            check([said[field] for field in counted] == [happened[field] for field in counted], match, name, said, happened)
            check(said["mode"] == "in-process" and said["cost_ms"] is None and said["cost_low_ms"] is None, said)
    everything = evaluation("slow", "--mode=in-process", "--match", "*")["modes"][0]
    check(everything["reported"] == 3 and everything["deferred"] == 0, everything)  # whether its price is claimed, the load decides


def unplanted():
    """record says which breakpoints were never planted, and why; of those that were it says nothing."""
    plug = build_library("plug")
    closed, kept = ["open", plug, "close", "0"], ["open", plug]
    last_of_many = [word for i in range(6) for word in ("open", build_library(f"other{i}"))] + kept
    cases = [([], closed, "nofunc", "no program or library that was searched has such a function"),
             ([], closed, "libplug.so`nofunc", "libplug.so has no such function"),
             ([], closed, "libother.so`f", "nothing that was loaded matches libother.so"),
             ([], closed, "none.c:12", "no program or library that was searched has such a line"),
             ([], closed, "plug_value", None),
             (["--mode=fast"], closed, "libplug.so`plug_value", "libraries that are closed before the process stops are not seen"),
             (["--match=*/libnone*"], closed, "plug_value", "libraries that are closed before the process stops are not seen"),
             (["--match=*/libnone*", "--dlopen=stops"], closed, "plug_value", f"{plug} has it, but was closed before it was handled"),
             (["--match=*/libnone*"], kept, "plug_value", f"{plug} has it, but its program ended before it was handled"),
             (["--mode=fast"], kept, "libplug.so`nofunc", "libplug.so has no such function"),
             (["--mode=fast"], kept, "libother.so`nofunc", "nothing that was loaded matches libother.so"),
             (["--mode=fast"], last_of_many, "plug_value", f"{plug} has it, but its program ended before it was handled")]
    for options, commands, spec, reason in cases:
        traced = record("trace", [LOADS, *commands], "--force", *options, "-b", spec)
        check(traced.status == 0, traced)
        lines = [line for line in traced.errors.splitlines() if "never planted" in line]
        check(len(lines) == (reason is not None), spec, traced.errors)
        check(reason is None or (f"breakpoint {spec} was never planted: " in lines[0] and reason in lines[0]), spec, lines)
        notes = [event["text"] for event in events("trace", "note") if "never planted" in event["text"]]
        check(["tollgate: " + text for text in notes] == lines, notes, lines)


if __name__ == "__main__":
    globals()[sys.argv[1]]()
