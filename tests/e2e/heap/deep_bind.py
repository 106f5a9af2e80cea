#!/usr/bin/env python3
"""Libraries opened with RTLD_DEEPBIND: what the program sees is what it sees without the agent, by both ways, and the agent
sees all of their calls of malloc and new. S1 to S12 are the statements of docs/conformance.md.

usage: deep_bind.py TEST...
"""
import collections
import os
import shutil
import struct
import subprocess
import sys

from agent_rings import DLOPEN, LOADS, Directory, string
from deep_bind_libraries import BLOCKS, CASES, SIZE, build, compile_all, library
from mpi_job import ENVIRONMENT, FLAVOURS
from recording import TIME_LIMIT_S, check, events, record, run

LIBRARIES = os.environ["TG_AGENT_LIBRARIES"]
AGENT, AUDIT, HEAP = (os.path.join(LIBRARIES, f"tollgate-{name}.so") for name in ("agent", "audit", "heap"))
OBSERVE_HEAP, HEAP_SETTINGS_AT, EVERY_CALL = 32, 48, 1
WAYS = ["audit", "wrapper", "pass_through", "already_loaded", "failed"]
METHODS = {"audit": "method=audit", "wrapper": "method=wrapper", "wrapper alone": "method=wrapper"}  # alone: no auditor


def strings(words):
    """The strings that fill WORDS."""
    data = struct.pack(f"<{len(words)}Q", *words)
    found = []
    while data:
        end = data.index(b"\0")
        found.append(data[:end].decode())
        data = data[end // 8 * 8 + 8:]
    return found


class Seen:
    """A run with the agent: what the program said, and the agent."""

    def __init__(self, command, setting=None, audited=True, environment=None, before=None):
        directory = Directory(flags=DLOPEN | LOADS | OBSERVE_HEAP, ring_bytes=1 << 24)
        os.pwrite(directory.lock.fileno(), struct.pack("<IIIIQ", EVERY_CALL, 0, 0, 0, 0), HEAP_SETTINGS_AT)
        variables = {**directory.environment(AUDIT), "LD_PRELOAD": f"{AGENT}:{HEAP}", **(environment or {})}
        if setting is not None:
            variables["TVHEAP_DEEPBIND"] = setting
        if not audited:
            del variables["LD_AUDIT"]
        process = subprocess.run(command, capture_output=True, text=True, timeout=TIME_LIMIT_S, preexec_fn=before,
                                 env={**os.environ, **variables})
        self.output, self.errors, self.status = process.stdout, process.stderr, process.returncode
        records = directory.read()
        directory.remove()
        self.blocks = sum(r.kind == "HEAP_ALLOC" and r.arguments[1] & 0xffffffff == SIZE or
                          r.kind == "HEAP_ALLOC_LARGE" and r.arguments[2] == SIZE for r in records)
        self.notes = [string(r.arguments) for r in records if r.kind == "NOTE"]
        self.bound = [(WAYS[r.arguments[1]], r.arguments[3], *strings(r.arguments[4:])[:5])
                      for r in records if r.kind == "DEEP_BIND"]
        self.ways = [way for way, *_ in self.bound]


def command_of(case):
    program, commands, blocks = CASES[case]
    return ["./" + program, *commands.split()], blocks


def by_method(case, method, **more):
    command, _ = command_of(case)
    return Seen(command, METHODS[method], method != "wrapper alone", **more)


def compare(case, natively=None):
    """The same as natively by all methods, and all blocks seen; what the agent said, by method."""
    command, blocks = command_of(case)
    native = natively or run(command)
    seen = {method: by_method(case, method) for method in METHODS}
    for method, one in seen.items():
        check(one.output == native.output and one.errors == native.errors and one.status == native.status, case, method,
              "natively", native, "with the agent", one.output, one.errors, one.status)
        check(one.blocks == blocks, case, method, one.blocks, "blocks seen of", blocks, one.bound, one.notes)
    return native, seen


def s1_plain():
    """S1: dlopen without the flag is as ever."""
    native, seen = compare("plain_dlopen")
    check("0 who: program" in native.output, native.output)
    check(all(one.bound == [] for one in seen.values()), [one.bound for one in seen.values()])


def s2_flag():
    """S2: dlopen is intercepted, and acted on only with the flag; not with RTLD_NOLOAD, nor for what is there already."""
    _, seen = compare("handles")
    check([one.ways for one in seen.values()] == [["audit", "already_loaded"]] + [["wrapper", "already_loaded"]] * 2,
          [one.bound for one in seen.values()])
    _, seen = compare("loaded_before")
    check(all(one.ways == ["already_loaded"] for one in seen.values()), [one.bound for one in seen.values()])


def s3_wrapper():
    """S3: the wrapper is an ELF file that needs the library, then the agent's."""
    os.mkdir("kept", mode=0o700)
    seen = by_method("who", "wrapper")
    check(seen.ways == ["wrapper"], seen.bound)
    kept = Seen(command_of("who")[0], "method=wrapper,keep_wrapper=true,tmpdir=kept")
    (name,) = os.listdir("kept")
    check(kept.bound[0][:2] == ("wrapper", 1) and kept.bound[0][3] == "kept/" + name, kept.bound)
    status = os.stat("kept/" + name)
    check(status.st_mode & 0o777 == 0o600 and len(name) > 40, oct(status.st_mode), name)
    dynamic = run(["readelf", "-Wa", "kept/" + name])
    check(dynamic.status == 0 and not dynamic.errors, dynamic)
    needed = [line.split("[")[1].split("]")[0] for line in dynamic.output.splitlines() if "(NEEDED)" in line]
    check(needed == ["./libtarget.so", AGENT, HEAP], needed)
    lint = "/usr/bin/eu-elflint"
    if os.path.exists(lint):
        said = run([lint, "--gnu-ld", "kept/" + name])
        check(said.status == 0, said)


def s4_opened():
    """S4: the wrapper is opened in the library's place: it is the first of its scope."""
    for method in ("wrapper", "wrapper alone"):
        _, _, _, wrapper, problem, before, after = by_method("who", method).bound[0]
        before, after = before.split("\n"), after.split("\n")
        check(wrapper and problem == "" and after[0] == wrapper and after[1] == before[0] == "./libtarget.so", after)
        check([name for name in after if name not in (wrapper, AGENT, HEAP)] == before, before, after)


def s5_transparent():
    """S5: the program sees what it sees without the agent: handles, dlerror, dladdr, dlinfo, dl_iterate_phdr, the caller's
    RUNPATH and $ORIGIN, RTLD_GLOBAL, RTLD_NODELETE, RTLD_NOLOAD, the order of constructors and destructors."""
    for case in ("handles", "global", "kept", "kept_later", "kept_later_by_origin", "kept_by_nesting", "kept_refused", "self_kept", "by_others", "self", "pinned", "unique", "runpath", "search", "bare", "missing"):
        compare(case)


def s5_unseen_returns():
    """S5: the same where the caller has no place to return to by way of the agent, which then does not see what dlopen returned."""
    for case in ("blind_handles", "blind_reopened", "blind_by_others", "blind_coroutines", "blind_kept_refused", "blind_kept_by_origin", "blind_kept_by_name"):
        _, seen = compare(case)
        for one in seen.values():
            check(any(note.startswith("results of some dlopen calls are not recorded") for note in one.notes), case, one.notes)
    _, seen = compare("blind_encode")  # libc's own load is not taken for that of a dlopen that failed
    check(all(one.ways[:1] == ["already_loaded"] and "audit" not in one.ways for one in seen.values()),
          [one.bound for one in seen.values()])


def s5_processes():
    """S5: nested loads from constructors, two threads at once, a fork between, closed and opened again."""
    for case in ("nested", "threads", "fork", "reopened"):
        compare(case)


def s5_events():
    """S5: the trace has the loads and calls that the program made: none of the wrapper's own."""
    command, _ = command_of("reopened")
    for how in ("agent", "stops"):
        told = {}
        for setting in ("pass_through=true", "method=wrapper"):
            traced = record("trace", command, "--heap", "-q", "--force", f"--dlopen={how}", environment={"TVHEAP_DEEPBIND": setting})
            check(traced.status == 0, traced)
            trace = events("trace", "library_load", "library_unload", "library_call", "deep_bind")
            told[setting] = [(event["kind"], event["found"], [(of["path"], of["dependency"]) for of in event["libraries"]])
                             for event in trace if event.get("found", "startup") != "startup"] + [
                                 (event["call"], event["path"]) for event in trace if event["kind"] == "library_call"]
            ways = [event["way"] for event in trace if event["kind"] == "deep_bind"]
        check(ways == ["wrapper"] * 2 and told["pass_through=true"] == told["method=wrapper"] and len(told["method=wrapper"]) > 3, how, told)


def s6_deleted():
    """S6: nothing is left of the wrapper, nor when the program is killed while it is open."""
    os.mkdir("empty")
    seen = Seen(command_of("who")[0], "method=wrapper,tmpdir=empty")
    check(seen.ways == ["wrapper"] and os.listdir("empty") == [], seen.bound, os.listdir("empty"))
    killed = Seen(["./opener", "open", "./libkilling.so", "nd"], "method=wrapper,tmpdir=empty")
    check(killed.status == -9 and os.listdir("empty") == [], killed.status, os.listdir("empty"))


def s7_scope():
    """S7: the library and its dependencies come before the program, also for what is bound later; whoever has an allocator of
    its own keeps it."""
    native, _ = compare("who")
    check("0 who: dependency" in native.output and "libc: 4711" in native.output and "who_late: dependency" in native.output,
          native.output)
    for case in ("lazy", "silent"):
        compare(case)
    for case, own in (("own_malloc", "own_mallocs: 100"), ("dependency_malloc", "own_mallocs: 100"),
                      ("program_malloc", "program's malloc was called 0 times")):
        native, seen = compare(case)
        check(own in native.output, native.output)
    _, seen = compare("linked_malloc")
    check(all(one.ways == ["failed"] and "allocator of its own" in one.bound[0][4] for one in seen.values()), seen["audit"].bound)


def s7_loaders_word():
    """S7: the loader's own list of the scope (LD_DEBUG=scopes) is the native one, and the agent's where the event says."""
    def scope(text):
        lines = text.split("object=./libtarget.so")[1].splitlines()
        return next(line for line in lines if "scope 0:" in line).split("scope 0:")[1].split()
    command, _ = command_of("who")
    debug = {"LD_DEBUG": "scopes"}
    native = scope(run(command, debug).errors)
    for method in ("audit", "wrapper"):
        seen = by_method("who", method, environment=debug)
        found = scope(seen.errors)
        _, _, _, wrapper, _, before, after = seen.bound[0]
        check([name for name in found if name not in (AGENT, HEAP, wrapper)] == native == before.split("\n"), native, found)
        check(found == after.split("\n"), found, after)


def s8_setting():
    """S8: TVHEAP_DEEPBIND has items between commas; what is not understood is one line in the trace, none of the program's."""
    command, blocks = command_of("who")
    os.mkdir("a,b")
    seen = Seen(command, "tmpdir=a,b,keep_wrapper=Yes,METHOD=wrapper")
    check(seen.ways == ["wrapper"] and len(os.listdir("a,b")) == 1 and seen.notes == [], seen.bound, seen.notes)
    seen = Seen(command, "colour=red,,pass_through=maybe,nonsense,method=magic")
    check(seen.ways == ["audit"] and seen.blocks == blocks and seen.errors == "", seen.bound)
    check(seen.notes == ["TVHEAP_DEEPBIND: unknown setting 'colour', invalid value 'pass_through=maybe', unknown setting "
                         "'nonsense', invalid value 'method=magic'"], seen.notes)


def s9_pass_through():
    """S9: pass_through=true leaves dlopen alone, false is the default."""
    for said in ("pass_through=true", "pass_through=1,method=wrapper"):
        seen = Seen(command_of("who")[0], said)
        check(seen.ways == ["pass_through"] and seen.blocks == 0, seen.bound, seen.blocks)
    seen = Seen(command_of("who")[0], "pass_through=false")
    check(seen.ways == ["audit"] and seen.blocks == BLOCKS, seen.bound)


def s10_keep_wrapper():
    """S10: keep_wrapper=true leaves the file there, false is the default."""
    os.mkdir("here")
    for said, count in (("true", 1), ("false", 1), ("on", 2)):
        Seen(command_of("who")[0], f"method=wrapper,tmpdir=here,keep_wrapper={said}")
        check(len(os.listdir("here")) == count, said, os.listdir("here"))


def s11_tmpdir():
    """S11: the wrapper is made in tmpdir, else in $TMPDIR, else in /tmp; where it cannot be made it is the other way, and the
    trace says so."""
    for folder in ("first", "second"):
        os.mkdir(folder)
    command, blocks = command_of("who")
    keep = "method=wrapper,keep_wrapper=true"
    Seen(command, keep + ",tmpdir=first", environment={"TMPDIR": "second"})
    check(len(os.listdir("first")) == 1 and os.listdir("second") == [])
    Seen(command, keep, environment={"TMPDIR": "second"})
    check(len(os.listdir("first")) == 1 and len(os.listdir("second")) == 1)
    seen = Seen(command, keep, environment={"TMPDIR": ""})
    path = seen.bound[0][3]
    check(os.path.dirname(path) == "/tmp", seen.bound)
    os.unlink(path)
    problem = "no wrapper in /proc/none: No such file or directory"
    seen = Seen(command, "method=wrapper,tmpdir=/proc/none")
    check(seen.ways == ["audit"] and seen.bound[0][4] == problem and seen.blocks == blocks, seen.bound)
    check(seen.notes == ["dlopen with RTLD_DEEPBIND: " + problem], seen.notes)
    seen = Seen(command, "method=wrapper,tmpdir=/proc/none", audited=False)
    check(seen.ways == ["failed"] and seen.blocks == 0 and seen.output == run(command).output, seen.bound)


def s12_traffic():
    """S12: without any of it none of the traffic is seen; with it all of malloc's and all of new's, also where libstdc++ comes
    with the library; through `tollgate record --heap` as well."""
    command, blocks = command_of("cxx")
    check(Seen(command, "pass_through=true").blocks == 0)
    native, _ = compare("cxx")
    traced = record("trace", command, "--heap", "-q")
    check(traced.output == native.output and traced.status == native.status, traced)
    told = events("trace", "heap_alloc", "deep_bind")
    sizes = [event["size_bytes"] for event in told if event["kind"] == "heap_alloc"]
    check(sizes.count(SIZE) == blocks, sizes.count(SIZE))
    ways = [(event["way"], event["library"]) for event in told if event["kind"] == "deep_bind"]
    check(ways == [("audit", "./libcxx.so")], ways)
    from_new = [event["call"] for event in told if event["kind"] == "heap_alloc" and event["size_bytes"] == SIZE]
    check(set(from_new) == {"new"}, set(from_new))


OPENMP_USER = """
#include <stdio.h>
const char *team(void)
{
    static char text[64];
    int count = 0;
    #pragma omp parallel num_threads(3)
    {
        #pragma omp critical
        count++;
        #pragma omp barrier
    }
    sprintf(text, "%d threads", count);
    return text;
}
"""

MPI_USER = """
#include <mpi.h>
#include <stdio.h>
const char *job(void)
{
    static char text[64];
    int one = 1, sum = 0;
    MPI_Init(NULL, NULL);
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Finalize();
    sprintf(text, "%d ranks", sum);
    return text;
}
"""


def recorded(command, setting):
    """The kinds of events of the recorded COMMAND, and how often each; its output."""
    ran = record("trace_of_runtime", command, "-q", "--force",
                 environment={**ENVIRONMENT, "TVHEAP_DEEPBIND": setting})
    check(ran.status == 0, ran)
    return collections.Counter(event["kind"] for event in events("trace_of_runtime")), ran.output


def openmp():
    """Regions, barriers and critical sections of a deeply bound library are seen, by both ways; without either they are not."""
    compile_all([library("team", OPENMP_USER, "-fopenmp")])
    command = ["./opener", "open", "./libteam.so", "nd", "call", "0", "team"]
    for setting, seen in (("", 3), ("method=wrapper", 3), ("pass_through=true", 0)):
        kinds, output = recorded(command, setting)
        check("3 threads" in output and kinds["omp_implicit_begin"] == seen and kinds["omp_mutex_enter"] == seen, setting, kinds)


def mpi():
    """MPI calls of a deeply bound library, likewise, with whichever MPI is installed."""
    installed = [flavour for flavour in FLAVOURS.values() if shutil.which(flavour.c) and shutil.which(flavour.launcher[0])]
    for flavour in installed:
        compile_all([library("job", MPI_USER, compiler=flavour.c)])
        command = [*flavour.launcher, "-n", "2", "./opener", "open", "./libjob.so", "ndg", "call", "0", "job"]
        for setting, seen in (("", 2), ("method=wrapper", 2), ("pass_through=true", 0))[:3 if flavour is installed[0] else 1]:
            kinds, output = recorded(command, setting)
            check(output.count("2 ranks") == 2 and kinds["mpi_comm"] >= seen and (kinds["mpi_enter"] > 0) == (seen > 0),
                  flavour.name, setting, kinds)


def main():
    build()
    for name in sys.argv[1:]:
        globals()[name]()


main()
