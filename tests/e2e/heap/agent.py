#!/usr/bin/env python3
"""record --heap on programs that know what they do: every call is in the trace, and they see what they see without.

usage: agent.py CASE
"""
import collections
import math
import os
import re
import subprocess
import sys

from recording import TOLLGATE, build_library, check, events, run, skip

PROGRAMS = os.path.join(os.environ["TG_SOURCE"], "tests/programs")


def build(name, *flags, compiler="cc"):
    source = os.path.join(PROGRAMS, name)
    path = os.path.abspath(name.partition(".")[0])
    made = subprocess.run([compiler, "-D_GNU_SOURCE", "-g", "-O2", "-no-pie", *flags, source, "-o", path, "-pthread"],
                          capture_output=True, text=True)
    if made.returncode != 0:
        skip("cannot build a program here: " + made.stderr)
    return path


def recorded(command, *options, environment=None, heap="--heap"):
    """COMMAND says the same natively and recorded; the trace's events."""
    native = run(command, environment)
    got = run([TOLLGATE, "record", "--quiet", "--force", "-o", "trace", heap, *options, "--", *command], environment)
    check(got == native, command, "natively", native, "recorded", got)
    return events("trace")


def counted(trace_events, kind, field, size=None):
    """{value of FIELD: events of KIND}, of SIZE only."""
    return collections.Counter(event[field] for event in trace_events
                               if event["kind"] == kind and size in (None, event.get("size_bytes")))


def blocks_left(trace_events):
    """Follows every block: {address: its heap_alloc} at the end. A child of fork has its parent's."""
    heaps = {}
    for event in trace_events:
        live = heaps.setdefault(event["pid"], {})
        if event["kind"] == "process_start" and event["origin"] == "fork":
            live.update(heaps.get(event["parent_pid"], {}))
        elif event["kind"] == "heap_alloc":
            check(event["address"] not in live, "handed out twice", event)
            live[event["address"]] = event
        elif event["kind"] == "heap_resize":
            check(event["address"] in live, "resized, but never allocated", event)
        elif event["kind"] == "heap_free":
            check(live.pop(event["address"], None) is not None, "freed, but never allocated", event)
    return heaps


def symbols(path):
    """[(first address, behind the last, name)] of the functions of the program at PATH."""
    output = subprocess.run(["nm", "-S", "--defined-only", path], capture_output=True, text=True, check=True).stdout
    return [(int(at, 16), int(at, 16) + int(size, 16), name) for at, size, name in
            re.findall(r"^([0-9a-f]+) ([0-9a-f]+) [tTwW] (\S+)$", output, re.M)]


def named(stack, path, table):
    """The functions of the program at PATH in STACK, a heap_stack, innermost first."""
    names = []
    for frame in stack["frames"]:
        if frame["module"] == path:
            address = int(frame["address"], 16)
            names += [name.partition(".")[0] for start, end, name in table if start <= address < end]
    return names


def stacks_of(trace_events):
    """{(pid, number): heap_stack}, with the frames that other stacks tell for it."""
    stacks = {}
    for event in trace_events:
        if event["kind"] == "heap_stack":
            outer = stacks[event["pid"], event["outer"]]["frames"] if event["outer"] else []
            stacks[event["pid"], event["stack"]] = {**event, "frames": event["frames"] + outer}
    return stacks


def check_no_loss(trace_events):
    check(not [event for event in trace_events if event["kind"] == "loss"], "events were lost")


def test_calls():
    program = build("heap_calls.c")
    trace = recorded([program, "calls"])
    check_no_loss(trace)
    blocks_left(trace)
    sizes = {1000: "malloc", 1010: "calloc", 1020: "malloc", 1040: "reallocarray", 1050: "posix_memalign",
             1088: "aligned_alloc", 1070: "memalign", 1080: "valloc", 1090: "pvalloc", 23: "malloc", 1100: "malloc",
             0: "malloc", 1110: "malloc"}
    for size, call in sizes.items():
        got = counted(trace, "heap_alloc", "call", size)
        check(got == {call: 100}, size, "bytes: expected 100 of", call, "got", got)
    grown = [event for event in trace if event["kind"] in ("heap_alloc", "heap_resize") and event["call"] == "realloc"]
    check(len(grown) == 200, len(grown), "reallocations")
    check(counted(trace, "heap_free", "release")["realloc"] >= 100, "realloc(block, 0) frees")
    start = [event for event in trace if event["kind"] == "heap_start"]
    check(len(start) == 1 and "libc.so" in start[0]["allocator"] and start[0]["mode"] == "events", start)
    known, table = stacks_of(trace), symbols(program)
    for event in trace:
        if event["kind"] == "heap_alloc" and event["size_bytes"] == 1000:
            stack = known[event["pid"], event["stack"]]
            check(named(stack, program, table)[:5] == ["innermost", "middle", "outermost", "do_calls", "main"], stack)
            check(stack["end"] == "whole" and named(stack, program, table)[-1] == "_start", stack)


FIFTY_BELOW = """
#include <stdlib.h>
static void *volatile kept;
#define ONE free(kept); kept = malloc(1);
#define TEN ONE ONE ONE ONE ONE ONE ONE ONE ONE ONE
static __attribute__((noinline)) void leaf(void) { TEN TEN TEN TEN TEN }
static __attribute__((noinline)) void down(int n) { if (n > 0) down(n - 1); else leaf(); __asm__ volatile(""); }
static void one(int n, int last);
static void two(int n, int last);
static __attribute__((noinline)) void further(int n, int last)
{
    if (n % 37 == 0) { free(kept); kept = malloc(10000 + n); }
    if (n < last) (n % 3 == 0 ? one : two)(n + 1, last);
    if (n % 37 == 0) { free(kept); kept = malloc(20000 + n); }
    __asm__ volatile("");
}
static __attribute__((noinline)) void one(int n, int last) { further(n, last); __asm__ volatile(""); }
static __attribute__((noinline)) void two(int n, int last) { further(n, last); __asm__ volatile(""); }
static __attribute__((noinline)) void other(int n, int last) { further(n, last); __asm__ volatile(""); }
static __attribute__((noinline)) void pick(void) { free(kept); kept = malloc(30000); }
static __attribute__((noinline)) void between(void) { pick(); __asm__ volatile(""); }
static __attribute__((noinline)) void left(void) { between(); __asm__ volatile(""); }
static __attribute__((noinline)) void right(void) { between(); __asm__ volatile(""); }
int main(void)
{
    down(20); one(0, 600); other(0, 400);
    for (int i = 0; i < 10; i++) (i % 2 == 0 ? left : right)();
    return 0;
}
"""


def test_shared():
    """50 calls of malloc below the same 21: their outer frames are told once. Deeper stacks, up and down, are cut off."""
    with open("deep.c", "w") as file:
        file.write(FIFTY_BELOW)
    made = subprocess.run(["cc", "-g", "-O1", "-fomit-frame-pointer", "-no-pie", "deep.c", "-o", "deep"], capture_output=True, text=True)
    if made.returncode != 0:
        skip("cannot build a program here: " + made.stderr)
    program = os.path.abspath("deep")
    trace = recorded([program])
    check_no_loss(trace)
    known, table = stacks_of(trace), symbols(program)
    below = [stack for stack in known.values() if named(stack, program, table)[:1] == ["leaf"]]
    check(len(below) == 50, len(below), "stacks")
    for stack in below:
        check(named(stack, program, table) == ["leaf"] + ["down"] * 21 + ["main", "_start"] and stack["end"] == "whole", stack)
    told = sum(len(event["frames"]) for event in trace if event["kind"] == "heap_stack")
    check(told < 50 * 9 + 4 * 600 // 37 * 33, told, "frames for 50 stacks of 26, and those that are cut off")
    picked = [named(known[event["pid"], event["stack"]], program, table)[:4] for event in trace
              if event["kind"] == "heap_alloc" and event["size_bytes"] == 30000]
    check(picked == [["pick", "between", side, "main"] for side in ("left", "right")] * 5, picked)
    deep = [event for event in trace if event["kind"] == "heap_alloc" and 10000 <= event["size_bytes"] < 30000]
    check(len(deep) == 2 * (600 // 37 + 1) + 2 * (400 // 37 + 1), len(deep), "allocations in the recursion")
    for i, event in enumerate(deep):
        level = event["size_bytes"] % 10000
        whole = [name for n in range(level, 0, -1) for name in ("further", "one" if (n - 1) % 3 == 0 else "two")]
        whole += ["further", "one" if i < 2 * (600 // 37 + 1) else "other", "main", "_start"]
        stack = known[event["pid"], event["stack"]]
        check(named(stack, program, table) == whole[:32], level, stack)
        check(stack["end"] == ("whole" if len(whole) <= 32 else "cut"), level, stack)


def test_depth():
    program = build("heap_calls.c")
    trace = recorded([program, "calls"], "--heap-depth=3")
    known = stacks_of(trace)
    check(known and all(len(stack["frames"]) <= 3 for stack in known.values()), "depth 3", known)
    check({"cut"} <= {stack["end"] for stack in known.values()}, "cut")
    trace = recorded([program, "calls"], "--heap-depth=0")
    check(not stacks_of(trace) and set(counted(trace, "heap_alloc", "stack")) == {0}, "depth 0")
    for wrong in (["--heap=nothing"], ["--heap=events", "--heap-depth=x"], ["--heap-depth=3"]):
        got = run([TOLLGATE, "record", *wrong, "--", "true"])
        check(got.status == 2 and "--heap" in got.errors, wrong, got)


def test_operators():
    program = build("heap_operators.cc", compiler="c++")
    trace = recorded([program])
    check_no_loss(trace)
    blocks_left(trace)
    table = {6010: "new", 6020: "new_array", 6021: "new_array", 6030: "new", 6040: "new_array", 6144: "new",
             12288: "new_array", 6060: "new", 6070: "new_array", 12568: "new_array"}
    for size, call in table.items():
        got = counted(trace, "heap_alloc", "call", size)
        check(got == {call: 50 if size in (6020, 6021) else 100}, size, "bytes: expected 100 of", call, "got", got)
    check(counted(trace, "heap_alloc", "call", 6090) == {"malloc": 3}, "malloc after an exception")
    released = counted(trace, "heap_free", "release")
    check(400 <= released["delete"] <= 401 and released["delete_array"] == 500, "deleted", released)
    failed = [event["call"] for event in trace if event["kind"] == "heap_error" and event["error"] == "alloc_null"]
    check(failed[:4] == ["operator new[]"] * 4 and len(failed) <= 5, "failed", failed)
    largest = max(event["size_bytes"] for event in trace if event["kind"] == "heap_alloc")
    check(largest < 1 << 32, "a block of", largest, "bytes")
    known, table = stacks_of(trace), symbols(program)
    for event in trace:
        if event["kind"] == "heap_alloc" and event["call"].startswith("new"):
            check(named(known[event["pid"], event["stack"]], program, table)[0] == "main", "the caller of new comes first")


def test_processes():
    """Threads to their very end, a fork, signal handlers on both stacks, a coroutine."""
    program = build("heap_calls.c")
    trace = recorded([program, "threads", "fork", "signals", "coroutine"])
    check_no_loss(trace)
    blocks_left(trace)
    for size, count in {2000: 2000, 2010: 20, 2020: 20, 3000: 1, 3010: 100, 4000: 100, 5000: 100}.items():
        got = counted(trace, "heap_alloc", "call", size)
        check(got == {"malloc": count}, size, "bytes:", got, "expected", count)
    tids = {event["tid"] for event in trace if event["kind"] == "heap_alloc" and event["size_bytes"] == 2000}
    check(len(tids) == 20, len(tids), "threads")
    known, table = stacks_of(trace), symbols(program)
    ways = {3010: ["innermost", "middle", "outermost", "do_fork", "main"], 4000: ["handle", "do_signals", "main"],
            5000: ["innermost", "middle", "outermost", "run_coroutine"]}
    for event in trace:
        if event["kind"] == "heap_alloc" and event["size_bytes"] in ways:
            way = ways[event["size_bytes"]]
            stack = known[event["pid"], event["stack"]]
            check(named(stack, program, table)[:len(way)] == way, stack)
            check(event["size_bytes"] != 4000 or "signal" in [frame["kind"] for frame in stack["frames"]], stack)


def test_failures():
    program = build("heap_calls.c")
    trace = recorded([program, "failures"])
    failed = [(event["call"], event["size_bytes"]) for event in trace if event["kind"] == "heap_error"]
    huge = 1 << 60
    check(failed[:6] == [("malloc", huge), ("calloc", 2**64 - 1), ("realloc", huge), ("reallocarray", 2**64 - 1),
                         ("aligned_alloc", huge), ("posix_memalign", huge)], failed)
    check(failed[6:] == [("malloc", 1 << 20)], failed)


OWN = """
#include <stddef.h>
#include <string.h>
#include <unistd.h>
static char room[1 << 24] __attribute__((aligned(16)));
static size_t used;
size_t own_calls;
void *malloc(size_t n) { size_t at = __atomic_fetch_add(&used, (n + 31) & ~(size_t)15, __ATOMIC_RELAXED);
    own_calls++; *(size_t *)(room + at) = n; return room + at + 16; }
void free(void *p) { (void)p; }
void *calloc(size_t a, size_t b) { return malloc(a * b); }
void *realloc(void *p, size_t n) { void *q = malloc(n); if (p != NULL) { size_t old = *((size_t *)p - 2);
    memcpy(q, p, old < n ? old : n); } return q; }
"""
MAIN = """
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
extern size_t own_calls;
int main(void) { size_t before = own_calls; void *volatile p = malloc(777); p = strdup("text"); char text[40];
    int n = snprintf(text, sizeof text, "%zu calls\\n", own_calls - before); fwrite(text, 1, n, stdout); return p == NULL; }
"""


def test_own():
    """A program with a malloc of its own keeps it, and the trace says so; a library's is observed, and is used."""
    with open("own.c", "w") as file:
        file.write(OWN)
    with open("main.c", "w") as file:
        file.write(MAIN)
    check(run(["cc", "-fno-builtin", "own.c", "main.c", "-rdynamic", "-o", "inside"]).status == 0, "cannot build")
    trace = recorded([os.path.abspath("inside")])
    unseen = [event["module"] for event in trace if event["kind"] == "heap_unseen"]
    check(unseen == [os.path.abspath("inside")], "unseen", unseen)
    check(not counted(trace, "heap_alloc", "call", 777), "not seen, and not said to be")
    library = build_library("own", source=OWN, flags=["-fno-builtin"])
    check(run(["cc", "-fno-builtin", "main.c", library, "-Wl,-rpath," + os.getcwd(), "-o", "outside"]).status == 0, "build")
    trace = recorded([os.path.abspath("outside")])
    start = [event["allocator"] for event in trace if event["kind"] == "heap_start"]
    check(start == [library], "allocator", start)
    check(counted(trace, "heap_alloc", "call", 777) == {"malloc": 1}, "seen on the way to the library's")
    # a static program has no place for a library: that there is nothing of it is not that there was nothing
    check(run(["cc", "-static", "main.c", "own.c", "-o", "static"]).status == 0, "build")
    recorded([os.path.abspath("static")])
    said = run([TOLLGATE, "heap", "trace"])
    check(re.search(r"^  no allocation was seen\nNot seen\n  process \d+: all allocations: a static program$", said.output, re.M), said)


def test_absent():
    """Without --heap nothing of it is in the process; with it, the loader finds no other library of ours needed."""
    with open("maps.sh", "w") as file:
        file.write("grep -c tollgate-heap.so /proc/self/maps\n")
    got = run([TOLLGATE, "record", "-q", "-o", "without", "--", "sh", "maps.sh"])
    check(got.output == "0\n", "loaded without being asked for", got)
    got = run([TOLLGATE, "record", "-q", "--heap", "-o", "with", "--", "sh", "maps.sh"])
    check(got.output not in ("0\n", ""), "not loaded", got)
    path = os.path.join(os.environ["TG_AGENT_LIBRARIES"], "tollgate-heap.so")
    dynamic = run(["readelf", "-d", path])
    check(dynamic.status == 0 and "NEEDED" not in dynamic.output and "RPATH" not in dynamic.output, dynamic)
    got = run(["cat", "/dev/null"], {"LD_PRELOAD": path})
    check(got.status == 0 and got.errors == "", "alone, it does nothing", got)
    trace = recorded(["sh", "-c", "exit 3"], "--no-ptrace")
    check(counted(trace, "heap_start", "mode") == {"events": 1}, "without ptrace")


DEEP = """
#include <stdlib.h>
#include <string.h>
void *volatile early;
__attribute__((constructor)) static void begin(void) { early = malloc(8888); }
void again(void) { free(early); early = malloc(8889); }
"""
OPENS = """
#include <dlfcn.h>
#include <stdio.h>
int main(int c, char **v) { for (int i = 0; i < 3; i++) { void *h = dlopen(v[1 + i % (c - 1)], RTLD_NOW);
    if (h == NULL) { puts(dlerror()); return 1; } ((void (*)(void))dlsym(h, "again"))(); dlclose(h); } puts("opened"); return 0; }
"""


ENDS = """
#include <dirent.h>
#include <dlfcn.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
static char *(*touch)(void);
static void *run(void *none) { (void)none; touch(); return NULL; }
static int threads(void) { DIR *all = opendir("/proc/self/task"); int n = -2; while (readdir(all) != NULL) n++; closedir(all); return n; }
int main(int argc, char **argv) { pthread_attr_t detached; (void)argc; touch = (char *(*)(void))dlsym(dlopen(argv[1], RTLD_NOW), "touch");
    pthread_attr_init(&detached); pthread_attr_setdetachstate(&detached, PTHREAD_CREATE_DETACHED); pthread_attr_setstacksize(&detached, 16 << 20);
    for (int i = 0; i < 60; i++) { pthread_t thread; if (pthread_create(&thread, &detached, run, NULL) != 0) abort(); }
    while (threads() > 1) sched_yield();
    return 0; }
"""


def test_libraries():
    """The very first allocation of a library that is opened has its whole stack, also where another one was before."""
    libraries = [build_library(name, source=DEEP + filler) for name, filler in
                 (("one", ""), ("two", "int filler(int x) { return x * 3; }\n"))]
    with open("opens.c", "w") as file:
        file.write(OPENS)
    check(run(["cc", "opens.c", "-o", "opens", "-ldl"]).status == 0, "cannot build")
    trace = recorded([os.path.abspath("opens"), *libraries])
    known, seen = stacks_of(trace), []
    for event in trace:
        if event["kind"] == "heap_alloc" and event["size_bytes"] in (8888, 8889):
            stack = known[event["pid"], event["stack"]]
            check(stack["end"] == "whole" and stack["frames"][-1]["module"].endswith("opens"), stack)
            own = [frame for frame in stack["frames"] if frame["module"].endswith("opens")]
            check(len(own) == 2, "main and _start, and not where the agent gets back from dlopen", own)
            seen.append(stack["frames"][0]["module"])
    check(seen == [libraries[i] for i in (0, 0, 1, 1, 0, 0)], seen)
    agents = [event for event in trace if event["kind"] == "heap_alloc"
              and any(frame["module"].endswith("/tollgate-agent.so") for frame in known[event["pid"], event["stack"]]["frames"])]
    check(not agents, "what the agent tries is the program's", agents)
    # what libc frees for a thread after its last destructor: variables of a library in threads that have ended before
    library = build_library("variables", source="__thread char own[12345]; char *touch(void) { own[0]++; return own; }\n")
    with open("ends.c", "w") as file:
        file.write(ENDS)
    check(run(["cc", "-D_GNU_SOURCE", "ends.c", "-o", "ends", "-ldl", "-pthread"]).status == 0, "cannot build")
    trace = recorded([os.path.abspath("ends"), library])
    check_no_loss(trace)
    check(counted(trace, "heap_alloc", "call", 12345) == {"malloc": 60}, counted(trace, "heap_alloc", "call", 12345))
    scans = [event["problem"] for event in trace if event["kind"] == "heap_leak_scan"]
    check(scans == [""], "searches for what is lost", scans)
    check(not [event for event in trace if event["kind"] == "heap_leak" and event["leak"] == "lost"], "what was freed is lost")


def test_sample():
    """Estimates by a sample agree with what the program did; blocks that were hit are followed to their end."""
    with open("sampled.c", "w") as file:
        file.write("""#include <stdlib.h>
static void *volatile kept;
int main(void) { for (int i = 0; i < 100000; i++) { void *p = malloc(100); kept = p; void *q = malloc(3000); kept = q;
    q = realloc(q, 20000 + i % 3 * 10000); kept = q; free(p); free(q); }
    for (int i = 0; i < 100000; i++) { void *r = malloc(50); kept = r; r = realloc(r, 5000); kept = r; free(r); } return 0; }
""")
    check(run(["cc", "-fno-builtin", "sampled.c", "-o", "sampled"]).status == 0, "cannot build")
    trace = recorded([os.path.abspath("sampled")], heap="--heap=sample:64K")
    left = blocks_left(trace)
    check(not any(event["size_bytes"] >= 3000 for live in left.values() for event in live.values()), "followed to the end")
    start = [event for event in trace if event["kind"] == "heap_start"]
    check([(event["mode"], event["sample_bytes"]) for event in start] == [("sample", 65536)], start)
    for size, count in ((100, 100000), (3000, 100000), (5000, 100000)):  # the last ones grow where they are
        hits = sum(counted(trace, kind, "call", size)[call] for kind in ("heap_alloc", "heap_resize") for call in ("malloc", "realloc"))
        chance = 1 - math.exp(-size / 65536)
        check(abs(hits - count * chance) < 6 * math.sqrt(count * chance), size, "bytes:", hits, "hits of", count * chance)


# Memory of its own, and that of the allocator: sized by what is asked for. Says how often it was asked, by libstdc++'s other operators as well.
POOL = """
#include <stdio.h>
#include <stdlib.h>
static char room[1 << 20];
static long taken, given;
void *_Znwm(size_t n) { taken++; return n == 100 ? room : malloc(n + 16); }
void _ZdlPv(void *p) { given++; if (p != room) free(p); }
void _ZdlPvm(void *p, size_t n) { (void)n; if (p != room) free(p); }
static void __attribute__((destructor)) say(void) { fprintf(stderr, "%ld %ld\\n", taken, given); }
"""


def test_sample_operators():
    """A sample of what operators give: those of libstdc++, which most calls do without, and others with memory of their own, which are called
    as often as natively, whether they are a library's or the program's."""
    with open("sampled.cc", "w") as file:
        file.write("""#include <new>
static void *volatile kept;
int main() { for (int i = 0; i < 100000; i++) { kept = operator new(100); void *a = kept; kept = operator new[](3000); void *b = kept;
    kept = operator new(0, std::nothrow); operator delete(kept); operator delete(a); operator delete[](b); }
    try { kept = operator new[](1UL << 62); } catch (const std::bad_alloc &) { return 3; } return 0; }
""")
    library = build_library("pool", source=POOL)
    with open("own.c", "w") as file:
        file.write(POOL)
    check(run(["cc", "-fno-builtin", "-c", "own.c"]).status == 0, "cannot build")
    for name, flags in (("plain", []), ("pooled", ["-Wl,--no-as-needed", library, "-Wl,-rpath," + os.getcwd()]), ("owned", ["own.o"])):
        program = os.path.abspath(name)
        check(run(["c++", "-fno-builtin", "-O1", "sampled.cc", "-o", name, *flags]).status == 0, "cannot build")
        trace = recorded([program], heap="--heap=sample:64K")
        for size, call, release in ((100, "new", "delete"), (3000, "new_array", "delete_array")):
            hits, chance = counted(trace, "heap_alloc", "call", size), 1 - math.exp(-size / 65536)
            if name == "plain":
                check(set(hits) == {call}, name, hits)
                check(abs(hits[call] - 100000 * chance) < 6 * math.sqrt(100000 * chance), size, "bytes:", hits, "hits of", 100000 * chance)
                check(counted(trace, "heap_free", "release")[release] >= hits[call], name, counted(trace, "heap_free", "release"))
            elif size == 100 and name == "pooled":
                check(set(hits) == {call}, name, hits)
                check(abs(hits[call] - 100000 * chance) < 6 * math.sqrt(100000 * chance), size, "bytes:", hits, "hits of", 100000 * chance)
        failed = [event["call"] for event in trace if event["kind"] == "heap_error"]
        check(failed == ["operator new[]"], name, failed)
        left = blocks_left(trace)
        check(not any(event["size_bytes"] in (100, 3000) for live in left.values() for event in live.values()), name, "followed to the end")
    for heap in ("--heap", "--heap=sample:64K"):  # live has breakpoints in the library's own: they are called each time
        _, got = told_by_live(os.path.abspath("plain"), heap, "dbreak _Znwm", "dbreak _ZdlPv", *["dcont -timeout 60"] * 8, "dwhere", first="main")
        stops = [stop.split()[-1] for stop in re.findall(r"stopped at action point \d+: (.*)", got.output)]
        check(stops == ["main", *["new"] * 3, *["delete"] * 3, *["new"] * 2], heap, stops, got)
        check(re.search(r"^  0 .* libstdc\+\+.*\n  1 .* main ", got.output, re.M), heap, got)


MISTAKES = {  # what is recorded, of which function, at which offset, and the status natively
    "behind": ("guard_corruption", "free", 100, None), "before": ("guard_corruption", "free", -1, None),
    "never_freed": ("guard_corruption", "", 101, 4), "twice": ("double_dealloc", "free", 0, -6),
    "inside": ("addr_not_at_start", "free", 16, -6), "realloc_inside": ("addr_not_at_start", "realloc", 32, -6),
    "inside_freed": ("addr_not_at_start", "free", 32, -6), "stack": ("free_not_allocated", "free", 0, -6),
    "program": ("free_not_allocated", "free", 0, -6), "realloc": ("realloc_not_allocated", "realloc", 0, -6),
    "freed": ("paint_corruption", "", 5, 4), "freed_at_end": ("paint_corruption", "", 5, 4),
    "in_front": ("addr_not_at_start", "free", -16, -6), "at_end": ("addr_not_at_start", "free", 64, -6),
    "realloc_in_front": ("addr_not_at_start", "realloc", -16, -6), "realloc_freed": ("double_dealloc", "realloc", 0, 4),
    "no_memory": ("free_not_allocated", "free", 0, -11), "large_twice": ("double_dealloc", "free", 0, -11),
    "forked": ("double_dealloc", "free", 0, 4), "freed_by_parent": ("double_dealloc", "free", 0, 4),
    "crashes": ("guard_corruption", "", 102, -11), "leaves": ("paint_corruption", "", 7, 5), "child_leaves": ("guard_corruption", "", 100, 4),
    "child_twice": ("double_dealloc", "free", 0, 4), "executes": ("guard_corruption", "", 100, 4),
    "right": (None, "", 0, 4),
}


def test_check():
    program = build("heap_mistakes.c", "-O1", "-w")
    table = symbols(program)
    for mistake, (error, call, offset, status) in MISTAKES.items():
        native = run([program, mistake])
        got = run([TOLLGATE, "record", "--quiet", "--force", "-o", "trace", "--heap=check", "--", program, mistake])
        check(status is None or status == native.status, mistake, "natively", native)
        check(status is None or (got.status, got.output) == (native.status, native.output), mistake, native, got)
        check(mistake not in ("inside", "realloc_inside") or got.errors == native.errors, mistake, "paint is no size of a block", native, got)
        trace = events("trace")
        check_no_loss(trace)
        found = [(event["error"], event["call"], event["offset"]) for event in trace if event["kind"] == "heap_error"]
        check(found == ([(error, call, offset)] if error is not None else []), mistake, "found", found)
        if mistake == "forked":  # its parent's numbers of stacks are not its own
            known, event = stacks_of(trace), [event for event in trace if event["kind"] == "heap_error"][0]
            report = subprocess.run([TOLLGATE, "report", "--no-pager", "trace"], capture_output=True, text=True, check=True).stdout
            check(re.search(r"freed twice: .* in drop .*; allocated in make .*; freed in drop ", report.split("Job\n")[0]), report)
            check(event["allocated_stack"] == 0 and named(known[event["pid"], event["freed_stack"]], program, table)[0] == "drop", event)
        if mistake == "freed_by_parent":
            report = subprocess.run([TOLLGATE, "report", "--no-pager", "trace"], capture_output=True, text=True, check=True).stdout
            check(re.search(r"freed twice: .* in drop .*; allocated in make .*; freed in drop ", report.split("Job\n")[0]), report)
        if mistake in ("crashes", "leaves"):  # found by the recorder, which leaves out the stacks that are known
            report = subprocess.run([TOLLGATE, "report", "--no-pager", "trace"], capture_output=True, text=True, check=True).stdout
            check(re.search(r"; allocated in make .*" + (r"; freed in drop " if mistake == "leaves" else ""), report.split("Job\n")[0]), report)
        if mistake in ("twice", "freed", "large_twice"):
            known, event = stacks_of(trace), [event for event in trace if event["kind"] == "heap_error"][0]
            for which, name in (("allocated", "make"), ("freed", "drop")):
                stack = known[event["pid"], event[which + "_stack"]]
                check(named(stack, program, table)[0] == name and event[which + "_tid"] == event["tid"], mistake, stack)
    # a library's destructor, behind the heap library's
    library = build_library("late", source="""#include <stdlib.h>
static char *kept;
void again(void) { kept = malloc(60); }
__attribute__((destructor)) static void end(void) { kept[61] = 1; }
""")
    with open("opens.c", "w") as file:
        file.write(OPENS.replace("dlclose(h)", "(void)h"))
    check(run(["cc", "opens.c", "-o", "opens", "-ldl"]).status == 0, "cannot build")
    found = [event["offset"] for event in recorded([os.path.abspath("opens"), library], heap="--heap=check") if event["kind"] == "heap_error"]
    check(found == [61], "overrun at the very end", found)
    # a process that ends looks at what it used of its table (it touched all of it: 32,768 pages)
    check_no_loss(recorded([build("child_faults.c")], heap="--heap=check"))


def test_live():
    """In live, the thread that makes a mistake stops there, and its stack begins with the program."""
    program = build("heap_mistakes.c", "-O1", "-w")
    got = run([TOLLGATE, "live", "--heap=check", "--quiet", "--no-rc", "-o", "trace", "-e", "dcont -timeout 60", "-e", "dwhere",
               "-e", "dheap", "-e", "dheap -info block", "-e", "dup", "-e", "dheap -info {block + 4}", "-e", "dheap -stats",
               "-e", "dheap -event_filter", "-e", "dheap -paint", "-e", "catch {dheap -guard on} why; puts $why", "-e", "catch {dheap -red_zones -set off} why; puts $why", "-e", "dheap -export out.massif", "-e",
               "catch {dheap -export out.massif} why; puts $why", "-e", "dheap -export out.massif -force", "-e",
               "catch {dheap -info nobody} why; puts $why", "-e", "dheap -event_filter double_dealloc", "-e",
               "catch {dheap -event_filter nobody} why; puts $why", "-e", "dheap -paint -set_alloc off", "-e", "dheap -paint", "-e",
               "dcont -timeout 60", "-e", "dcont -timeout 60", "-e", "dheap", "-e", "quit", "--", program, "twice"])
    check(re.search(r"stopped at action point 1: drop", got.output), got)
    check(re.search(r"^  0 .* drop .*\n  1 .* main ", got.output, re.M), got)
    check(re.search(r"^out.massif\n1\nout.massif exists: .*--force\nout.massif$", got.output, re.M), "-force replaces it", got)
    why = r"^process 1: a block was freed twice: (0x\w+), 100 bytes \(`dheap -info \1` shows where it was allocated\)$"
    check(len(re.findall(why, got.output, re.M)) == 1, "why it stopped", got)
    status = re.findall(r": check, allocator .*\n  live 0 B in 0 blocks\n  peak 100 B in 1 block", got.output)
    check(len(status) == 2, "stopped, and when the job has ended", got)
    check(len(re.findall(r"^double_dealloc ", got.output, re.M)) == 2 and "unknown event 'nobody'" in got.output, got)
    check(re.search(r": freed blocks are painted$", got.output, re.M), got)
    info = re.findall(r"is dangling: it was in the block 0x\w+ of 100 bytes(.*)\n  allocated at .* in make .*\n  freed at .* in drop ",
                      got.output)
    check(info == ["", ", at offset 4"], info, got)
    check(re.search(r"^double_dealloc +1$", got.output, re.M) and "blocks are painted\n" in got.output, got)
    check("unexpected 'on'" in got.output and "started without --heap=check,red_zones" in got.output, got)
    check("no variable or function 'nobody'" in got.output, got)
    with open("out.massif") as file:
        check("heap_tree=peak" in file.read(), "not a massif file")
    found = [event["error"] for event in events("trace") if event["kind"] == "heap_error"]
    check(found == ["double_dealloc"], found)
    # a child's mistake, and the focus is on its parent, which never had the block
    got = run([TOLLGATE, "live", "--heap=check", "--quiet", "--no-rc", "--force", "-o", "trace", "-e", "dfocus a {dcont -any -timeout 60}",
               "-e", "dheap -info block", "-e", "quit", "--", program, "child_twice"])
    check(re.search(r"^0x\w+ is not in a heap block .*, and never was, of the processes in focus; of others:\n"
                    r"process \d+: 0x\w+ is dangling: .* of 70 bytes\n  allocated at .* in make ", got.output, re.M), got)


def told_by_live(program, heap, *commands, first="step"):
    words = [word for command in (f"dbreak {first}", "dcont -timeout 60", *commands, "quit") for word in ("-e", command)]
    got = run([TOLLGATE, "live", heap, "--quiet", "--no-rc", "--force", "-o", "trace", *words, "--", program])
    return got.output, got


def test_live_wishes():
    """What dheap changes while the program runs: checks, at which errors it stops, tagged blocks."""
    program = build("heap_wishes.c", "-O1", "-w")
    output, got = told_by_live(
        program, "--heap=check", "dheap -guard -set off", "dheap -paint -set off", "dheap -hoard -set off", "dheap -guard", "dheap -hoard",
        "dcont -timeout 60", "dheap -guard -set on", "dheap -paint -set_alloc on", "dheap -hoard -set on -set_max_kb 64", "dheap -hoard",
        "dheap -event_filter -set off guard_corruption", "dcont -timeout 60", "dheap -event_filter", "dheap -event_filter -set on",
        "dheap -tag_alloc -notify_realloc tagged", "dheap -tag_alloc block", "dheap -tag_alloc", "dcont -timeout 60", "dwhere",
        "dcont -timeout 60", "dheap -tag_alloc -nonotify_realloc -nonotify_dealloc block", "dcont -timeout 60",
        "catch {dheap -event_filter -set off nothing} why; puts $why")
    check("guard blocks off, from now on, in all processes of the job\n" in output, got)
    check(re.findall(r"^process \d+: (.*)$", output, re.M)[:3] == ["off", "off", "freed blocks are kept, up to 64.0 KiB"], got)
    check("not painted, given out again\n" in output and "painted, kept\n" in output, got)
    check(re.search(r"^guard_corruption +1 \(does not stop\)$", output, re.M), got)
    check(len(re.findall(r"notify_dealloc notify_realloc$|: notify_realloc$", output, re.M)) == 2, got)
    check(re.findall(r"stopped at action point \d+: (\w+)", output) == ["step", "step", "step", "change", "drop", "step"], got)
    check("unknown event 'nothing'" in output, got)
    found = [(event["error"], event["call"]) for event in events("trace") if event["kind"] == "heap_error"]
    check(found == [("guard_corruption", "free"), ("realloc_notification", "realloc"), ("dealloc_notification", "free")], found)
    notes = [event["text"] for event in events("trace") if event["kind"] == "note" and event["text"].startswith("heap: ")]
    check(notes[:2] == ["heap: guard blocks off", "heap: painting of blocks off"] and len(notes) == 11, notes)
    report = subprocess.run([TOLLGATE, "report", "--no-pager", "trace"], capture_output=True, text=True, check=True).stdout
    check("tagged" not in report.split("Job\n")[0], "a notification is a mistake", report)
    # tags need no checks
    output, got = told_by_live(program, "--heap", "catch {dheap -guard -set off} why; puts $why", "catch {dheap -tag_alloc 0} why; puts $why",
                               "dheap -tag_alloc block", "dcont -timeout 60",
                               "dcont -timeout 60", "dcont -timeout 60", "dheap -info block")
    check("started without --heap=check" in output and "no block is at 0x0" in output, got)
    stops = re.findall(r"stopped at action point (\d+): (\w+)", output)
    check(stops == [("1", "step")] * 3 + [("2", "drop")] and "killed by SIGKILL" in output, "the first breakpoint is the user's", got)


RED_ZONES = {  # how, block, byte touched: what is recorded, the status
    "check,red_zones": ("x", 100, 112, "rz_overrun", 112, -11), "check,red_zones_for=64-100": ("f", 100, 8, "rz_use_after_free", 8, -11),
    "check,red_zones=before": ("x", 100, -1, "rz_underrun", -1, -11), "check,red_zones=behind": ("F", 100, 105, "guard_corruption", 105, 3),
    "check,red_zones_for=101-200": ("x", 100, 112, "guard_corruption", 112, 3), "check,red_zones,red_zones_for=0-9999": ("d", 100, 0, "double_dealloc", 0, -6),
}


def test_red_zones():
    """Accesses beside blocks and to freed ones, at the access itself; in live, its thread stops there."""
    program = build("heap_touch.c", "-O1", "-w")
    table = symbols(program)
    for how, (what, size, byte, error, offset, status) in RED_ZONES.items():
        got = run([TOLLGATE, "record", "--quiet", "--force", "-o", "trace", "--heap=" + how, "--", program, what, str(size), str(byte)])
        check(got.status == status, how, got)
        trace = events("trace")
        found = [event for event in trace if event["kind"] == "heap_error"]
        check([(event["error"], event["offset"]) for event in found] == ([(error, offset)] if error else []), how, found)
        if error is None or not error.startswith("rz_"):
            continue
        event, known = found[0], stacks_of(trace)
        stacks = {"stack": ["touch", "main"], "allocated_stack": ["make", "main"], "freed_stack": ["drop", "main"] if what == "f" else []}
        for which, way in stacks.items():
            check(not way or named(known[event["pid"], event[which]], program, table)[:2] == way, how, which, known)
            check(way or event[which] == 0, how, which, event)
    got = run([TOLLGATE, "record", "--quiet", "--no-ptrace", "--heap=check,red_zones", "--", program, "x", "1", "0"])
    check(got.status == 2 and "red zones" in got.errors, got)
    got = run([TOLLGATE, "live", "--heap=check,red_zones", "--quiet", "--no-rc", "--force", "-o", "trace", "-e", "dcont -timeout 60", "-e",
               "dwhere", "-e", "dheap -red_zones", "-e", "dheap -info block", "-e", "quit", "--", program, "f", "100", "3"])
    check(re.search(r"stopped by SIGSEGV: touch \(", got.output) and ": red zones\n" in got.output, got)
    check(re.search(r"is dangling: it was in the block 0x\w+ of 100 bytes\n  allocated .* in make .*\n  freed .* in drop ", got.output), got)
    found = [event for event in events("trace") if event["kind"] == "heap_error"]
    check([event["error"] for event in found] == ["rz_use_after_free"], found, got)


LEAKS = """
#include <stdlib.h>
static void *volatile kept, *volatile inner, *volatile lost;
__attribute__((noinline)) static void keep(void) { kept = malloc(100); inner = (char *)malloc(200) + 50; }
__attribute__((noinline)) static void leak(void) { for (int i = 0; i < 50; i++) lost = malloc(7777); lost = NULL; }
__attribute__((noinline)) static void here(void) { __asm__ volatile("" ::: "memory"); }
int main(int argc, char **argv) { volatile long rounds = argc > 1 ? 1L << 60 : 0; keep(); leak(); here(); free(kept); kept = NULL;
    here(); while (rounds > 0) rounds--; return 0; }
"""


def test_live_leaks():
    """dheap -leaks searches a stopped process, not one that runs; replay has what was found."""
    with open("leaks.c", "w") as file:
        file.write(LEAKS)
    check(run(["cc", "-g", "-O1", "-fno-builtin", "leaks.c", "-o", "leaks"]).status == 0, "cannot build")
    got = run([TOLLGATE, "live", "--heap", "--quiet", "--no-rc", "--force", "-o", "trace", "-e", "dbreak here",
               "-e", "dcont -timeout 60", "-e", "dheap -leaks", "-e", "dheap -leaks -check_interior", "-e", "dcont -timeout 60",
               "-e", "dheap -leaks", "-e", "dgo", "-e", "dheap -leaks", "-e", "quit", "--", os.path.abspath("leaks"), "on"])
    found = re.findall(r": (\d+) of (\d+) live blocks leaked", got.output)
    check([int(live) for _, live in found[:3]] == [52, 52, 51], found, got)
    check(all(48 <= int(leaked) <= 50 for leaked, _ in found), "a register may still have one or two", found, got)
    check(len(re.findall(r" blocks from leak \(leaks.c:5\), called by main .*\(lost\)", got.output)) >= 3, got)
    inside = re.findall(r"200 B in 1 block from keep \(leaks.c:4\), called by main .*\(only pointers into them are left\)", got.output)
    check(len(inside) >= 2 and "100 B in 1 block" not in got.output, got)
    check(re.search(r"is not searched: thread \d+ runs; dhalt stops it", got.output), got)
    numbers = [event["scan"] for event in events("trace") if event["kind"] == "heap_leak_scan"]
    check(numbers == [1, 2, 3], numbers)
    replayed = run([TOLLGATE, "replay", "-e", "goto end", "-e", "dheap -leaks", "trace"])
    check(": " + " of ".join(found[2]) + " live blocks leaked" in replayed.output, replayed, found)


GUARDS = """
#include <stdlib.h>
static char *volatile first, *volatile second;
__attribute__((noinline)) static char *make(size_t size) { char *volatile block = malloc(size); return block; }
__attribute__((noinline)) static void here(void) { __asm__ volatile("" ::: "memory"); }
int main(void) { volatile long rounds = 1L << 60; first = make(100); second = make(208); for (int i = 0; i < 1000; i++) make(i); here();
    first[100] = 1; first[102] = 1; second[208] = 2; second[-1] = 2; here(); while (rounds > 0) rounds--; return 0; }
"""


def test_live_guards():
    """dheap -guard -check looks at the guards of a stopped process, and changes nothing; what it found is in the trace."""
    with open("guards.c", "w") as file:
        file.write(GUARDS)
    check(run(["cc", "-g", "-O1", "-fno-builtin", "guards.c", "-o", "guards"]).status == 0, "cannot build")
    commands = ["dbreak here", "dcont -timeout 60", "dheap -guard -check", "dcont -timeout 60", "dheap -guard -check", "dgo",
                "dheap -guard -check", "catch {dheap -check} why; puts $why", "quit"]
    for heap, wrong in (("--heap=check", [100, -1, 208]), ("--heap=check,red_zones_for=100-100", [100, -1, 208])):
        got = run([TOLLGATE, "live", heap, "--quiet", "--no-rc", "--force", "-o", "trace", *(word for command in commands for word in
                   ("-e", command)), "--", os.path.abspath("guards")])
        check(len(re.findall(r": guards of 1,00\d live blocks checked: all intact$", got.output, re.M)) == 1, got)
        check(len(re.findall(r": guards of 1,00\d live blocks checked: 3 overwritten$", got.output, re.M)) == 1, got)
        check(re.search(r"100 bytes, 2 bytes from offset 100 on; allocated in make \(guards.c:4\)", got.output), got)
        check(len(re.findall(r"208 bytes, 1 byte from offset (?:-1|208) on; allocated in make \(guards.c:4\)", got.output)) == 2, got)
        check(re.search(r"is not checked: thread \d+ runs; dhalt stops it", got.output) and "-check belongs to -guard" in got.output, got)
        found = [(event["error"], event["offset"]) for event in events("trace") if event["kind"] == "heap_error"]
        check(sorted(found) == sorted(("guard_corruption", offset) for offset in wrong), found)
    got = run([TOLLGATE, "replay", "-e", "goto end", "-e", "catch {dheap -guard -check} why; puts $why", "trace"])
    check("needs a live job" in got.output, got)
    got = run([TOLLGATE, "live", "--heap", "--quiet", "--no-rc", "--force", "-o", "trace", "-e", "dbreak here", "-e", "dcont -timeout 60",
               "-e", "catch {dheap -guard -check} why; puts $why", "-e", "quit", "--", os.path.abspath("guards")])
    check("started without --heap=check" in got.output, got)


def test_check_silent():
    """Programs that are right: nothing is found, and they see what they see without."""
    programs = [[build("heap_calls.c"), "calls", "threads", "fork", "signals", "coroutine"],
                [build("heap_operators.cc", compiler="c++")]]
    for command in programs:
        trace = recorded(command, heap="--heap=check")
        check_no_loss(trace)
        blocks_left(trace)
        wrong = [event for event in trace if event["kind"] == "heap_error" and event["error"] != "alloc_null"]
        check(not wrong, command, wrong)
        check("calls" not in command or counted(trace, "heap_alloc", "call", 1090) == {"pvalloc": 100}, "as asked for, not whole pages")


def test_leaks():
    """Counted by the program's own text; check mode's tables, which know every block, hide none of them."""
    program = build("heap_leaks.c", "-pthread", "-O0")
    for heap in ("--heap", "--heap=check"):
        trace = recorded([program], heap=heap)
        scan = [event for event in trace if event["kind"] == "heap_leak_scan"]
        check(len(scan) == 1 and scan[0]["problem"] == "", heap, scan)
        check((scan[0]["leaked_blocks"], scan[0]["leaked_bytes"]) == (50, 1053803), heap, scan)
        kinds = {kind: sum(event["blocks"] for event in trace if event["kind"] == "heap_leak" and event["leak"] == kind)
                 for kind in ("lost", "indirect", "interior")}
        check(kinds == {"lost": 41, "indirect": 9, "interior": 2}, heap, kinds)
    text = subprocess.run([TOLLGATE, "heap", "trace"], capture_output=True, text=True, check=True).stdout
    check("Leaks: nothing refers to 50 of 154 live blocks, 1.00 MiB" in text, text)
    check("4.26 KiB in 37 blocks from" in text and "called by" in text, text)
    check(not [event for event in recorded([program], heap="--heap=sample:1K") if event["kind"] == "heap_leak_scan"],
          "a sample was searched")


CORNERS = {  # errors that are recorded with --heap=check, and how often
    "align": {"bad_alignment_argument": 8}, "mismatch": {"mismatched_dealloc": 16, "guard_corruption": 1}, "hoard": {"hoard_low_memory_threshold": 1},
    "grow": {"alloc_null": 1}, "jump": {"alloc_null": 1},
}
TRICKS = """
#include <stddef.h>
int trick;
char *elsewhere;
static char room[1 << 24] __attribute__((aligned(16)));
static size_t used, last;
void *malloc(size_t n) { size_t at = __atomic_fetch_add(&used, (n + 31) & ~(size_t)15, __ATOMIC_RELAXED); int now = trick; trick = 0;
    if (now == 3) return elsewhere; if (now == 2) return room + last; last = at; return room + at + (now == 1 ? 8 : 0); }
void free(void *p) { (void)p; }
void *calloc(size_t a, size_t b) { return malloc(a * b); }
void *realloc(void *p, size_t n) { (void)p; return malloc(n); }
"""
TRICKED = """
#include <stdlib.h>
extern int trick; extern char *elsewhere;
static char room[4096] __attribute__((aligned(16)));
static void *volatile kept;
static const char text[4096] __attribute__((aligned(16))) = "nobody can write here";
int main(void) { kept = malloc(50); for (int i = 1; i <= 4; i++) { trick = i < 3 ? 3 - i : 3; elsewhere = i == 3 ? room : (char *)text;
    kept = malloc(50); } return 0; }
"""


APART = """
#include <stddef.h>
#include <string.h>
static char room[1 << 22] __attribute__((aligned(16)));
static size_t used;
static void *get(size_t n) { return room + __atomic_fetch_add(&used, (n + 31) & ~(size_t)15, __ATOMIC_RELAXED); }
void *malloc(size_t n) { return get(n); }
void free(void *p) { (void)p; }
void *calloc(size_t a, size_t b) { return get(a * b); }
void *realloc(void *p, size_t n) { void *q = get(n); return p == NULL ? q : memcpy(q, p, n); }
void *_Znwm(size_t n) { return get(n); }
void _ZdlPv(void *p) { (void)p; }
"""
NEWED = """#include <new>
static char *volatile kept;
int main() { for (int i = 0; i < 100; i++) { kept = (char *)operator new(123); kept[i == 50 ? 123 : 122] = 1; operator delete(kept); } return 0; }
"""


def test_operators_apart():
    """Operators that do not call malloc and free: of known allocators their blocks are checked, of others they are followed to their end."""
    with open("newed.cc", "w") as file:
        file.write(NEWED)
    for name, errors in (("tcmalloc", {"guard_corruption": 1}), ("apart", {})):
        library = build_library(name, source=APART, flags=["-fno-builtin", "-D_GNU_SOURCE"])
        made = run(["c++", "-fno-builtin", "newed.cc", "-Wl,--no-as-needed", library, "-Wl,-rpath," + os.getcwd(), "-o", "newed"])
        check(made.status == 0, "cannot build", made)
        trace = recorded([os.path.abspath("newed")], heap="--heap=check")
        check(counted(trace, "heap_alloc", "call", 123) == {"new": 100}, name, "calls")
        left = [event for live in blocks_left(trace).values() for event in live.values() if event["size_bytes"] == 123]
        check(not left, name, "given back, and live for the trace", left)
        check(counted(trace, "heap_error", "error") == errors, name, counted(trace, "heap_error", "error"))
        notes = [event for event in trace if event["kind"] == "note" and "are recorded, but not checked" in event["text"]]
        check(len(notes) == (0 if errors else 1), name, notes)


OWN_NEW = """#include <stdlib.h>
#include <new>
void *operator new(size_t n) { return malloc(n); }
void operator delete(void *p) noexcept { free(p); }
void operator delete(void *p, size_t) noexcept { free(p); }
extern "C" void *give() { return operator new(321); }
extern "C" void take(void *p) { operator delete(p); }
"""
OTHERS_DELETE = """#include <stdlib.h>
#include <new>
extern "C" void *give(); extern "C" void take(void *p);
static void *volatile kept;
int main() { operator delete(give()); kept = operator new(322); take(kept); kept = malloc(323); operator delete(kept); return 0; }
"""


def test_operators_linked_in():
    """A library into which a C++ library was linked calls operators of its own, the program others: its blocks are no mistakes; the program's are."""
    for name, text in (("own_new.cc", OWN_NEW), ("others.cc", OTHERS_DELETE)):
        with open(name, "w") as file:
            file.write(text)
    made = run(["c++", "-w", "-O1", "-fno-builtin", "-shared", "-fPIC", "-Wl,-Bsymbolic", "own_new.cc", "-o", "libown.so"])
    check(made.status == 0, "cannot build", made)
    made = run(["c++", "-w", "-O1", "-fno-builtin", "others.cc", "./libown.so", "-o", "others"])
    check(made.status == 0, "cannot build", made)
    trace = recorded([os.path.abspath("others")], heap="--heap=check")
    wrong = [(event["error"], event["size_bytes"]) for event in trace if event["kind"] == "heap_error"]
    check(wrong == [("mismatched_dealloc", 323)], wrong)
    check(all(event["size_bytes"] not in (321, 322, 323) for live in blocks_left(trace).values() for event in live.values()), "live")


def test_corners():
    """Errors of each kind that a program can make, and what must not be one; allocators that do wrong."""
    program = build("heap_corners.cc", "-w", compiler="c++")
    for corner, errors in CORNERS.items():
        for heap in ("--heap", "--heap=check"):
            trace = recorded([program, corner], heap=heap)
            check_no_loss(trace)
            live = blocks_left(trace)
            # but for words of thread-local storage that libstdc++ asks the loader for at the end
            check(all(event["size_bytes"] > 2000 or event["size_bytes"] == 32 for blocks in live.values() for event in blocks.values()),
                  corner, heap, live)
            expected = errors if heap == "--heap=check" else {kind: n for kind, n in errors.items() if kind == "alloc_null"}
            got = counted(trace, "heap_error", "error")
            check(got == expected, corner, heap, "errors", got)
            if corner == "mismatch" and heap == "--heap=check":  # which pairs: those of operators that differ in alignments
                calls = counted(trace, "heap_error", "call")
                report = subprocess.run([TOLLGATE, "report", "--no-pager", "trace"], capture_output=True, text=True, check=True).stdout
                check(re.search(r" bytes, by operator delete, in mismatch .*; allocated by operator new\[\] in mismatch ", report), report)
                wrong = {call: n for call, n in calls.items() if "alignment" in call}
                check(wrong == {"operator delete without an alignment": 1, "operator delete[] without an alignment": 1,
                                "operator delete with an alignment": 1, "operator delete[] with another alignment": 1}, calls)
            check(corner != "jump" or counted(trace, "heap_alloc", "call", 50) == {"new": 100}, heap, "calls behind longjmp")
    with open("tricked.c", "w") as file:
        file.write(TRICKED)
    library = build_library("tricks", source=TRICKS, flags=["-fno-builtin"])
    check(run(["cc", "-fno-builtin", "tricked.c", library, "-Wl,-rpath," + os.getcwd(), "-o", "tricked"]).status == 0, "cannot build")
    trace = recorded([os.path.abspath("tricked")], heap="--heap=check")
    got = counted(trace, "heap_error", "error")
    check(got == {"alloc_not_in_heap": 1, "double_alloc": 1, "alloc_returned_bad_alignment": 1}, "the allocator's errors", got)
    notes = [event["text"] for event in trace if event["kind"] == "note" and "variables of a program or library" in event["text"]]
    check(len(notes) == 1, "a pool that the allocator was given: its own, for all that is known", notes)
    report = subprocess.run([TOLLGATE, "report", "--no-pager", "trace"], capture_output=True, text=True, check=True).stdout
    for words in ("returned a misaligned block", "gave out a block that is in use", "returned an address outside of its heap"):
        check("the allocator " + words in report.split("Job\n")[0], words, "does not lead", report)


def test_many():
    """More blocks than can be checked: each is followed to its end all the same, and the trace says what was not checked."""
    program = build("heap_corners.cc", "-w", compiler="c++")
    got = run([TOLLGATE, "record", "--quiet", "--force", "-o", "trace", "--heap=check", "--heap-depth=0", "--", program, "many"])
    check((got.status, got.output) == (6, "many\n"), got)
    text = subprocess.run([TOLLGATE, "dump", "--kind", "note", "trace"], capture_output=True, text=True, check=True).stdout
    check("heap: there are more blocks than can be checked at a time" in text, text)
    heap = subprocess.run([TOLLGATE, "heap", "trace"], capture_output=True, text=True, check=True).stdout
    # libstdc++'s, and standard output's; in newer ones also thread-local storage
    check(match := re.search(r"^  live .* in ([23]) blocks$", heap, re.M), heap)
    check(re.search(rf"^  allocated .* in 2,018,75{int(match[1]) + 1} blocks;", heap, re.M), heap)  # 1.9 million, each 16th again, their table, those


def test_real():
    """Python, and with it numpy where that is installed."""
    script = ("try:\n import numpy\n print(numpy.arange(1000.0).reshape(10, 100).sum())\nexcept ImportError:\n pass\n"
              "d = {i: str(i) for i in range(20000)}\nprint(len(d))")
    for heap in ("--heap", "--heap=check", "--heap=sample:64K"):
        trace = recorded(["/usr/bin/python3", "-c", script], heap=heap)
        check_no_loss(trace)
        check(not [event for event in trace if event["kind"] == "heap_error"], heap, "errors in Python")


def test_limits():
    """Small stacks of signal handlers; more blocks than can have red zones; a limited address space, from the beginning or
    later: as without."""
    stack = build("small_stack.c", "-Wl,-z,now")
    check(run([stack]).output.strip() == "small", "the program itself needs much of its stack")
    for heap in ("--heap", "--heap=check"):
        check_no_loss(recorded([stack], heap=heap))
    frugal = build("heap_frugal.c")
    for limit in ("-v 120000", "-d 80000"):
        for heap in ("--heap", "--heap=sample:64K", "--heap=check"):
            trace = recorded(["sh", "-c", f"ulimit {limit}; exec {frugal}"], heap=heap)
            check_no_loss(trace)
            check(not counted(trace, "heap_unseen", "reason"), limit, heap, "not observed")
            check(heap == "--heap=sample:64K" or counted(trace, "heap_alloc", "call", 1 << 20) == {"malloc": 48}, limit, heap)
    blocks = build("many_blocks.c")
    for command, note in (([blocks], "heap: there is no room for more blocks with red zones"),
                          (["sh", "-c", f"ulimit -v 2000000; exec {blocks}"], "heap: no red zones: ")):
        trace = recorded(command, "--heap-depth=4", heap="--heap=check,red_zones")
        check([event for event in trace if event["kind"] == "note" and event["text"].startswith(note)], command, note)
    refusals = build("heap_refusals.cc", "-w", compiler="c++")
    for heap in ("--heap", "--heap=sample:64K", "--heap=check", "--heap=check,red_zones"):
        check_no_loss(recorded([refusals], heap=heap)) # which compares the output
    agent = os.path.join(os.path.dirname(TOLLGATE), "agent")
    names = [set(re.findall(r" [A-Za-z] (tollgate_tg_\w+)", subprocess.run(
        ["nm", "-D", option, os.path.join(agent, library)], capture_output=True, text=True, check=True).stdout))
        for option, library in (("--undefined-only", "tollgate-heap.so"), ("--defined-only", "tollgate-agent.so"))]
    check(len(names[0]) > 5 and not names[0] - names[1], "the agent does not share", names[0] - names[1])


if __name__ == "__main__":
    globals()["test_" + sys.argv[1]]()
