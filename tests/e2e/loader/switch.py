#!/usr/bin/env python3
"""The dlopen filter changed while the job runs, and who plants breakpoints meanwhile. usage: switch.py CASE"""
import os
import shutil
import subprocess
import sys

from recording import PROGRAMS, TIME_LIMIT_S, TOLLGATE, build_library, check, events, run

HOST = f"{PROGRAMS}/break_host"
PLUGIN = f"{PROGRAMS}/libbreak_plugin.so"
SOURCES = os.path.join(os.environ["TG_SOURCE"], "tests", "programs")


def line_of(file, mark):
    with open(os.path.join(SOURCES, file), encoding="utf-8") as source:
        return next(number for number, line in enumerate(source, 1) if mark in line)


class Job:
    """break_host under the driver, in conversation with both."""

    def __init__(self, steps, mode="slow", match="", trace="trace"):
        command_end, self.commands = os.pipe()
        answers, answer_end = os.pipe()
        # the driver wants them as 3 and 4; other shells know descriptors up to 9 alone
        self.process = subprocess.Popen(
            ["bash", "-c", f'exec "$@" 3<&{command_end} 4>&{answer_end}', "bash", os.environ["TG_LOADER_DRIVER"], trace, mode,
             match, HOST, *steps], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, pass_fds=(command_end, answer_end))
        os.close(command_end)
        os.close(answer_end)
        self.answers = os.fdopen(answers, encoding="utf-8")

    def do(self, command):
        os.write(self.commands, f"{command}\n".encode())
        lines = []
        for line in self.answers:
            if line == ".\n":
                return [text.rstrip("\n").split("\t") for text in lines]
            lines.append(line)
        sys.exit(f"FAILED: no answer to {command}")

    def await_wait(self):
        check(self.process.stdout.readline() == "waiting\n", "the host did not come to its wait")

    def go_on(self):
        self.process.stdin.write("\n")
        self.process.stdin.flush()

    def libraries(self):
        """(name, whether handled) of libraries that are not the system's."""
        return [(os.path.basename(path), state == "handled") for state, _, path in self.do("libraries")
                if not path.startswith(("/lib", "/usr/lib"))]

    def finish(self, status=0):
        self.process.stdin.close()
        check(self.process.wait(TIME_LIMIT_S) == status, "exit status", self.process.returncode)
        os.close(self.commands)
        self.answers.close()
        self.process.stdout.close()


def decisions(trace="trace"):
    """(libraries, found, decision) of every dlopen event."""
    result, load = [], None
    for event in events(trace, "library_load", "filter_decision"):
        if event["kind"] == "library_load":
            load = event
        else:
            result.append(([os.path.basename(library["path"]) for library in load["libraries"]], load["found"],
                           event["decision"]))
    return result


def handlings(trace="trace"):
    return [(event["trigger"], event["events"], event["libraries"]) for event in events(trace, "deferred_handled")]


def check_model(trace="trace"):
    """The model, fed with the trace, takes the same decisions."""
    done = run([TOLLGATE, "filter", "--check", trace])
    check(done.status == 0, "filter --check:", done.output, done.errors)
    check("all " in done.output and "handlings match the model" in done.output, "not compared:", done.output)


def places():
    """A specification is found in a running process: in its program and in what was handled there."""
    job = Job(["wait", "open", PLUGIN, "wait", "wait"], "medium", "*/nothing.so")
    job.await_wait()
    static = line_of("break_plugin.c", "LINE in static")
    host = line_of("break_host.c", "return x + 1;")
    (kind, address, file, number, library), = job.do("find host_function")
    check(kind == "place" and library == HOST and file.endswith("break_host.c") and 0 < int(number) <= host, file, number)
    for text in (f"break_host.c:{host}", f"break_host.c#{host}", f"#break_host.c#{host}", f"*break_host`break_host.c:{host}"):
        (_, _, file, number, library), = job.do(f"find {text}")
        check((library, int(number)) == (HOST, host) and file.endswith("break_host.c"), text, file, number)
    check(job.do(f"find *{address}")[0][1:] == job.do("find host_function")[0][1:], "by address")
    check(job.do("find *0x10") == [] and job.do("find no_such") == [] and job.do("find plugin_run") == [], "not there")
    job.go_on()
    job.await_wait()
    check(job.libraries() == [("libbreak_plugin.so", False)], job.libraries())
    check(job.do("find plugin_run") == [], "found in a library that is deferred")
    job.do("halt")
    check(job.libraries() == [("libbreak_plugin.so", True)], job.libraries())
    for text in ("plugin_static", "libbreak*`plugin_static", f"break_plugin.c:{static}", f"*/libbreak_plugin.so`break_plugin.c#{static}"):
        (_, address, file, number, library), = job.do(f"find {text}")
        check(library == PLUGIN and file.endswith("break_plugin.c") and int(number) <= static, text, file, number)
        check(job.do(f"find *{address}")[0][4] == PLUGIN, address)
    check(job.do("find break_host`plugin_static") == [], "found in another object")
    job.do("go")
    job.go_on()
    job.await_wait()
    job.go_on()
    job.finish()
    check(handlings() == [("halt", 1, 1)], handlings())
    check_model()


def switch():
    """Every way from one mode to another; the list is read at once when stops begin."""
    libraries = {name: build_library(name) for name in "abcdefg"}
    steps = ["open", libraries["a"]]
    for name in "bcdefg":
        steps += ["wait", "open", libraries[name]]
    job = Job(steps + ["wait"], "fast")

    def after(*settings):
        job.await_wait()
        for setting in settings:
            job.do(f"set {setting}")
        state = job.libraries()
        job.go_on()
        return state

    check(after() == [], "fast mode has seen a library")
    check(after("slow") == [("liba.so", False), ("libb.so", False)], "read at the switch")
    check(after("medium */libz.so") == [("liba.so", True), ("libb.so", True), ("libc.so", True)], "a reported event")
    check(after("medium !*/liba.so") == [("liba.so", True), ("libb.so", True), ("libc.so", True), ("libd.so", False)], "medium")
    check(after("fast", "slow", "fast")[3:] == [("libd.so", True), ("libe.so", True)], "fast")
    check(after("medium */libz.so")[5:] == [("libf.so", False)], "read at the switch to medium")
    job.await_wait()
    check(job.libraries()[5:] == [("libf.so", False), ("libg.so", False)], "medium again")
    job.do("halt")
    check(job.libraries()[5:] == [("libf.so", True), ("libg.so", True)], "handled when halted")
    job.do("go")
    job.go_on()
    job.finish()
    check([event["mode"] for event in events("trace", "filter_settings")] ==
          ["fast", "slow", "medium", "medium", "fast", "slow", "fast", "medium"], events("trace", "filter_settings"))
    check(decisions() == [
        (["liba.so", "libb.so"], "catch_up", "not_stopped"), (["libc.so"], "loader", "reported"),
        (["libd.so"], "loader", "deferred"), (["libe.so"], "loader", "reported"), (["libf.so"], "catch_up", "not_stopped"),
        (["libg.so"], "loader", "deferred")], decisions())
    check(handlings() == [("reported_event", 1, 2), ("reported_event", 1, 1), ("halt", 2, 2)], handlings())
    check_model()


def replaced():
    """In fast mode an unload makes no stop: nothing is planted where a library was, for another one may be there now."""
    first, second = build_library("first"), build_library("other")
    job = Job(["open", first, "wait", "close", "open", second, "wait", "wait"], "fast")
    job.await_wait()
    job.do("halt")
    check(len(job.do("find first_value")) == 1, "not found where it is")
    job.do("go")
    job.go_on()
    job.await_wait()
    check(job.do("find first_value") == [], "found where it was")
    job.go_on()
    job.await_wait()
    job.go_on()
    job.finish()


def pending():
    """A breakpoint in a library that comes later is hit in its constructor where the library is reported."""
    for mode, match, in_time in (("slow", "", True), ("medium", "*/libbreak_plugin.so", True),
                                 ("medium", "!*/libbreak_plugin.so", False), ("fast", "", False)):
        job = Job(["wait", "open", PLUGIN, "wait", "run", "3", "close", "wait", "open", PLUGIN, "wait"], "fast", trace="trace")
        job.await_wait()
        job.do(f"set {mode} {match}")
        check(job.do("break plugin_local_constructor") == [["places 0"]] and job.do("break plugin_run") == [["places 0"]])
        job.go_on()
        job.await_wait()
        job.do("halt")
        job.go_on()
        job.do("step")
        job.do("go")
        for _ in range(2):
            job.await_wait()
            job.go_on()
        job.finish()
        hits = [event["breakpoint"] for event in events("trace", "breakpoint_hit")]
        check(hits == ([1, 2, 1] if in_time else [2]), mode, match, hits)
        late = [bool(event["late"]) for event in events("trace", "breakpoint_planted")]
        check(late[:2] == [not in_time] * 2, mode, late)
        check_model()
        os.unlink("trace")


def storm():
    """Four threads open and close libraries while the mode changes all the time: none is lost."""
    count = 200
    first = build_library("0", source="int storm(void) { return 1; }")
    for i in range(1, count):
        shutil.copy(first, f"lib{i}.so")
    job = Job(["open", PLUGIN, "wait", "storm", os.getcwd(), str(count), "wait"], "slow")
    job.await_wait()
    job.go_on()
    settings = ("fast", "slow", "medium *3*.so:*7*.so", "fast", "medium !*1*.so")
    for i in range(100):
        job.do(f"set {settings[i % len(settings)]}")
    job.await_wait()
    job.do("halt")
    found = sorted(job.libraries())
    expected = sorted([("libbreak_plugin.so", True)] + [(f"lib{i}.so", True) for i in range(count) if i % 3 != 0])
    check(found == expected, "left over", set(expected) - set(found), "not there", set(found) - set(expected))
    job.do("go")
    job.go_on()
    job.finish()
    check(events("trace", "loss") == [], events("trace", "loss"))
    check_model()


def forks():
    """A child whose memory was copied just before r_brk was planted or taken away has neither too few nor too many."""
    library = build_library("forked")
    job = Job(["wait", "forks", "150", library, "wait"], "slow")
    job.await_wait()
    job.go_on()
    for _ in range(150):
        job.do("set fast")
        job.do("set slow")
    job.await_wait()
    job.go_on()
    job.finish()
    check_model()


if __name__ == "__main__":
    globals()[sys.argv[1]]()
