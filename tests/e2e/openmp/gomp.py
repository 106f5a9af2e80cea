#!/usr/bin/env python3
"""What the agent records of programs that run on libgomp, against what the programs tell of themselves.

usage: gomp.py CASE CFLAG...

CASE is a program of tests/programs/openmp/gomp, or one of the functions below.
"""
import collections
import os
import re
import subprocess
import sys
import threading

from agent_rings import Directory, MONOTONIC, OPENMP, TSC, string
from recording import TIME_LIMIT_S, check, skip

SOURCE = os.environ["TG_SOURCE"]
PROGRAMS = os.path.join(SOURCE, "tests/programs/openmp/gomp")
AGENT = os.path.join(os.environ["TG_AGENT_LIBRARIES"], "tollgate-agent.so")
MASK_48 = (1 << 48) - 1
HIGH = 1 << 63


def enumerators(enum, prefix):
    """The names of an enum of format/event/openmp.def by value, or by bit."""
    with open(os.path.join(SOURCE, "format/event/openmp.def")) as file:
        text = re.sub(r"/\*.*?\*/", "", file.read(), flags=re.S)
    body = re.search(r"^TG_(?:ENUM|FLAGS)\(tg_omp_" + enum + r",(.*?)\)\)", text, re.S | re.M).group(1)
    return [name.lower() for name in re.findall(r"\bTG_OMP_" + prefix + r"_(\w+)", body)]


ZONES = enumerators("zone", "ZONE")
SCHEDULES = enumerators("schedule", "SCHEDULE")
SYNCS = enumerators("sync", "SYNC")
MUTEXES = enumerators("mutex", "MUTEX")
TASK_ENDS = enumerators("task_end", "TASK")
DEPENDENCES = enumerators("dependence_kind", "DEPEND")
CONSTRUCTS = enumerators("cancel_construct", "CANCEL")
TASK_FLAGS = enumerators("task_flag", "TASK")
SEEN = ["wrapped", "ompt", "breakpoint", "inferred"]


def place(record):
    """(code address, how it was seen, the enum of the kind)"""
    word = record.arguments[0]
    return word & MASK_48, SEEN[word >> 48 & 0xff], word >> 56


def in_words(record):
    """A record as programs tell it."""
    arguments, which = record.arguments, place(record)[2]
    kind = record.kind[4:]
    if kind == "PARALLEL_BEGIN":
        return f"parallel @{arguments[1]} {arguments[2]}"
    if kind == "PARALLEL_END":
        return f"end parallel @{arguments[1]}"
    if kind == "IMPLICIT_BEGIN":
        check(arguments[1] & (1 << 28) - 1 == record.team, f"implicit_begin of another team than its place: {record}")
        return (f"begin @{arguments[1]} of @{arguments[2]} {record.thread_num}/{arguments[3]} "
                f"level {arguments[4]}")
    if kind == "IMPLICIT_END":
        return "end"
    if kind == "ZONE_BEGIN":
        words = ["zone", ZONES[which]]
        if arguments[1] & 0xff:
            words.append(SCHEDULES[arguments[1] & 0xff])
        if arguments[1] >> 8:
            words.append(str(arguments[1] >> 8))
        return " ".join(words)
    if kind == "ZONE_END":
        return f"end zone {ZONES[which]}"
    if kind == "SECTION":
        return f"section {arguments[1]}"
    if kind == "SYNC_BEGIN":
        return f"arrive {SYNCS[which]} {arguments[1]}"
    if kind == "SYNC_END":
        return f"leave {SYNCS[which]} {arguments[1] % HIGH}" + (" cancelled" if arguments[1] & HIGH else "")
    if kind == "MUTEX_TEST":
        return f"test {MUTEXES[which]} &{arguments[1]} {arguments[2]}"
    if kind in ("MUTEX_WAIT", "MUTEX_ENTER", "MUTEX_LEAVE"):
        word = {"MUTEX_WAIT": "wait", "MUTEX_ENTER": "enter", "MUTEX_LEAVE": "exit"}[kind]
        return f"{word} {MUTEXES[which]} &{arguments[1]}"
    if kind == "TASK_CREATE":
        words = ["create", f"#{arguments[1]}", "of", f"#{arguments[2]}"]
        words += [name for bit, name in enumerate(TASK_FLAGS) if arguments[4] >> bit & 1]
        words += [DEPENDENCES[number] for number in arguments[7:7 + 2 * arguments[5]:2]]
        return " ".join(words)
    if kind == "TASK_BEGIN":
        return f"resume #{arguments[1] % HIGH}" if arguments[1] & HIGH else f"task #{arguments[1]}"
    if kind == "TASK_END":
        return f"end task #{arguments[1]} {TASK_ENDS[which]}"
    if kind == "CANCEL":
        return f"cancel {CONSTRUCTS[which]} {arguments[1]}"
    sys.exit(f"FAILED: unknown record {record}")


def build(name, flags):
    """Builds the program NAME with the log."""
    for ending, compiler in ((".c", "gcc"), (".f90", "gfortran"), (".cc", "g++")):
        source = os.path.join(PROGRAMS, name + ending)
        if os.path.exists(source):
            break
    command = [compiler, "-fopenmp", "-g", "-w", *flags, "-o", name, source]
    log = subprocess.run(["gcc", "-fopenmp", "-g", "-c", "-O1", "-o", "log.o", os.path.join(PROGRAMS, "log.c")])
    check(log.returncode == 0, "the log does not build")
    made = subprocess.run(command + ["log.o"], capture_output=True, text=True)
    if made.returncode != 0 and compiler != "gcc":
        skip(f"cannot build with {compiler}: {made.stderr}")
    check(made.returncode == 0, made.stderr)
    return os.path.abspath(name)


ITERATIONS = ("OMP_CHUNK", "OMP_ITERATION")
UNTOLD = ("OMP_RUNTIME", "OMP_MUTEX_TEST")  # by programs: a test of a lock that fails is not told


def check_iterations(records):
    """What is waited for in a doacross loop is an iteration that some thread of the team was given, and said to be done with; of those
    before the first, which LLVM's runtime is asked for as well, and does not wait, nothing is recorded. Programs tell nothing of that."""
    given, done = collections.defaultdict(list), collections.defaultdict(set)
    for record in records:
        if record.kind == "OMP_CHUNK":
            check(record.arguments[1] <= record.arguments[2], record)
            given[record.pid, record.team].append(record)
        elif record.kind == "OMP_ITERATION" and place(record)[2] == 1:
            at = tuple(record.arguments[2:2 + record.arguments[1]])
            mine = [chunk.arguments for chunk in given[record.pid, record.team] if chunk.tid == record.tid]
            check(any(first <= at[0] and ((at[0] - first) % stride if stride else at[0] - first) <= last - first
                      for _, first, last, stride in mine), record, "is not among", mine)
            done[record.pid, record.team].add(at)
    for record in records:
        if record.kind == "OMP_ITERATION" and place(record)[2] == 0:
            at = tuple(record.arguments[2:2 + record.arguments[1]])
            check(at in done[record.pid, record.team], record, "is not among", done[record.pid, record.team])


def run_observed(command, environment=None, flags=OPENMP, clock=MONOTONIC):
    """Runs COMMAND with the agent: (output, status, errors), the records of all rings."""
    directory = Directory(flags=flags, ring_bytes=1 << 22, clock=clock)
    records, over = [], threading.Event()
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                               env={**os.environ, "LD_PRELOAD": AGENT, "TOLLGATE_AGENT": directory.path,
                                    **(environment or {})})

    def read_on():
        while not over.wait(0.002):
            records.extend(directory.read())

    reader = threading.Thread(target=read_on)
    reader.start()
    try:
        output, errors = process.communicate(timeout=TIME_LIMIT_S)
    except subprocess.TimeoutExpired:
        process.kill()
        over.set()
        sys.exit(f"FAILED: {command}: still running")
    over.set()
    reader.join()
    records += directory.read()
    directory.remove()
    check_iterations(records)
    return ((output.decode(), process.returncode, errors.decode()),
            [record for record in records if record.kind not in ITERATIONS])


def run_native(command, environment=None):
    done = subprocess.run(command, capture_output=True, timeout=TIME_LIMIT_S,
                          env=dict(os.environ, **(environment or {})))
    return done.stdout.decode(), done.returncode, done.stderr.decode()


def read_log(path):
    """tid -> lines in order; all lines in the order in which they were told; what to leave out."""
    threads, ignored, ordered = collections.defaultdict(list), [], []
    with open(path) as file:
        for line in file:
            tid, order, text = line.rstrip("\n").split(" ", 2)
            if text.startswith("ignore "):
                ignored.append(text[len("ignore "):])
            else:
                threads[int(tid)].append(text)
                ordered.append((int(order), int(tid), text))
    return threads, sorted(ordered), tuple(ignored)


class Names:
    """Which recorded number each of the program's numbers is: one each, and the same throughout."""

    def __init__(self):
        self.recorded, self.told = {}, {}

    def same(self, told, recorded):
        told_words, recorded_words = told.split(), recorded.split()
        if len(told_words) != len(recorded_words):
            return False
        return all(self.same_word(*words) for words in zip(told_words, recorded_words))

    def same_word(self, told, recorded):
        if told[0] not in "@#&" or recorded[0] != told[0]:
            return told == recorded
        if "0" in (told[1:], recorded[1:]):
            return told == recorded
        return self.recorded.setdefault(told, recorded) == recorded and self.told.setdefault(recorded, told) == told


def compare(log_path, records):
    """Thread by thread, what was told and what was recorded is the same."""
    threads, ordered, ignored = read_log(log_path)
    recorded = collections.defaultdict(list)
    for record in records:
        if record.kind.startswith("OMP_") and record.kind not in UNTOLD:
            text = in_words(record)
            if not (text + "  ").startswith(ignored):
                recorded[record.tid].append(text)
    check(set(recorded) <= set(threads),
          f"threads that told nothing: {set(recorded) - set(threads)}")
    names, n = Names(), 0
    for tid, lines in threads.items():
        lines = [line for line in lines if not (line + "  ").startswith(ignored)]
        for i, (told, seen) in enumerate(zip(lines, recorded[tid])):
            check(names.same(told, seen), f"thread {tid}, line {i}: told {told!r}, recorded {seen!r}; before:\n  " +
                  "\n  ".join(f"{a:50}{b}" for a, b in zip(lines[max(0, i - 8):i], recorded[tid][max(0, i - 8):i])))
            n += 1
        check(len(lines) == len(recorded[tid]), f"thread {tid}: told {len(lines)} lines, recorded {len(recorded[tid])}: "
              f"{lines[len(recorded[tid]):][:3]} {recorded[tid][len(lines):][:3]}")
    check(n > 0, "nothing was compared")
    return threads, ordered, names


def check_places(program, records):
    """Every code address is the program's; only what is inferred may have none."""
    sections = subprocess.run(["readelf", "-SW", program], capture_output=True, text=True).stdout
    start, size = re.search(r"\] \.text +PROGBITS +(\w+) \w+ (\w+)", sections).groups()
    start, size = int(start, 16), int(size, 16)
    for record in records:
        if record.kind.startswith("OMP_") and record.kind != "OMP_RUNTIME":
            code, seen, _ = place(record)
            check(seen in ("wrapped", "inferred"), f"{record}: seen as {seen}")
            at_end = record.kind in ("OMP_IMPLICIT_END", "OMP_TASK_BEGIN", "OMP_TASK_END") or seen == "inferred"
            check(start <= code < start + size or code == 0 and at_end, f"code {code:#x} is not the program's: {record}")


def check_excluded(records, ordered, names):
    """Nobody enters what another is in, and the order of entering is the one that the program told."""
    holders, orders = {}, collections.defaultdict(list)
    for record in sorted(records, key=lambda record: record.ticks):
        if not record.kind.startswith("OMP_MUTEX"):
            continue
        what = MUTEXES[place(record)[2]], record.arguments[1]
        if what[0] == "ordered":
            continue
        if record.kind == "OMP_MUTEX_ENTER":
            tid, depth = holders.get(what, (None, 0))
            check(depth == 0 or tid == record.tid, f"{record.tid} enters {what}, which {tid} holds")
            holders[what] = record.tid, depth + 1
            orders[what].append(record.tid)
        elif record.kind == "OMP_MUTEX_LEAVE":
            tid, depth = holders[what]
            check(tid == record.tid and depth > 0, f"{record.tid} leaves {what}, which {tid} holds")
            holders[what] = tid, depth - 1
    told = collections.defaultdict(list)
    for _, tid, text in ordered:
        words = text.split()
        if words[0] == "enter" and words[1] not in ("ordered", "atomic"):
            told[words[1], int(names.recorded.get(words[2], "&0")[1:])].append(tid)
    for what, tids in told.items():
        check(tids == orders[what], f"{what} was entered in another order than told")


def check_barriers(records):
    """Nobody leaves the Nth barrier of a team before all have arrived at it."""
    sizes, arrived = {}, collections.defaultdict(list)
    for record in sorted(records, key=lambda record: record.ticks):
        if record.kind == "OMP_IMPLICIT_BEGIN":
            sizes[record.team] = record.arguments[3]
        elif record.kind in ("OMP_SYNC_BEGIN", "OMP_SYNC_END") and record.arguments[1] % HIGH and record.team:
            instance = record.team, record.arguments[1] % HIGH
            if record.kind == "OMP_SYNC_BEGIN":
                check(record.thread_num not in arrived[instance], f"{record} arrives twice")
                arrived[instance].append(record.thread_num)
            elif not record.arguments[1] & HIGH:
                check(len(arrived[instance]) == sizes[record.team],
                      f"{record} leaves when only {arrived[instance]} had arrived")


def program(name, flags, environment=None, arguments=(), path=None):
    """The case of one program: same output with and without agent, and what was recorded is what it told. PATH: it is
    built already."""
    path = path or build(name, [*flags, "-no-pie"])
    environment = dict(environment or {}, OPENMP_LOG=os.path.abspath("log"))
    native = run_native([path, *arguments], environment)
    observed, records = run_observed([path, *arguments], environment)
    check(native == observed, f"output natively {native}, observed {observed}")
    check(native[1] == 0, f"it failed: {native}")
    runtimes = [string(record.arguments[1:]) for record in records if record.kind == "OMP_RUNTIME"]
    check(runtimes == ["libgomp"], f"runtimes recorded: {runtimes}")
    _, ordered, names = compare("log", records)
    check_places(path, records)
    check_barriers(records)
    check_excluded(records, ordered, names)
    for kind in ("NOTE", "ASIDE", "LOST"):
        check(not [record for record in records if record.kind == kind], f"there is a record {kind}")
    return records


def joined(flags):
    """Regions joined with a loop or sections: each thread's body is one zone, of the schedule told."""
    check_joined(program("joined", flags))


def check_joined(records):
    threads, _, _ = read_log("log")
    told = [line.split()[2:] for lines in threads.values() for line in lines if line.startswith("joined")]
    teams = collections.defaultdict(lambda: collections.defaultdict(list))
    for record in records:
        if record.kind.startswith("OMP_") and record.team:
            teams[record.team][record.thread_num].append(in_words(record))
    check(len(teams) == len(told), f"{len(teams)} teams recorded, {len(told)} told")
    for words, (_, members) in zip(told, sorted(teams.items())):
        check(sorted(members) == [0, 1, 2], f"members {sorted(members)}")
        for lines in members.values():
            inside = [line for line in lines[2:-2] if not line.startswith("section ")]
            check(lines[0].startswith("begin") and lines[1] == " ".join(["zone", *words]) and not inside and
                  lines[-2] == f"end zone {words[0]}" and lines[-1] == "end", f"recorded {lines}, told {words}")


def inferred(flags):
    """Static loops and masked constructs; where GCC does not optimise, any number of them in one region."""
    records = program("inferred", flags)
    zones = [record for record in records if record.kind == "OMP_ZONE_BEGIN"]
    ways = {in_words(record): place(record)[1] for record in zones}
    check(ways == {"zone loop static": "inferred", "zone masked": "inferred", "zone loop dynamic": "wrapped"}, f"{ways}")
    path = os.path.abspath("inferred")
    check_joined(program("inferred", flags, arguments=["joined"], path=path))
    if "-O0" in flags:
        program("inferred", flags, arguments=["many"], path=path)


def inferred_hot(flags):
    """A program that asks for its thread number all the time leaves next to nothing in the trace."""
    path = build("hot", flags)
    native = run_native([path])
    observed, records = run_observed([path])
    check(native == observed and native[1] == 0, f"output natively {native}, observed {observed}")
    zones = collections.Counter(in_words(record) for record in records if record.kind.startswith("OMP_ZONE"))
    check(zones["zone masked"] == zones["end zone masked"] <= 1000, f"recorded {zones}")
    check(set(zones) <= {"zone masked", "end zone masked"}, f"recorded {zones}")
    check(len(records) < 2 * zones["zone masked"] + 40, f"{len(records)} records")


def owners(flags):
    """Who finds nobody else in a lock since it left enters when it arrives; a wait for another thread is told as long
    as it was, however the other one got the lock."""
    path = build("owners", flags)
    native = run_native([path, "6"])
    observed, records = run_observed([path, "6"], clock=TSC)
    check(native == observed and native[1] == 0, f"output natively {native}, observed {observed}")
    check_owners(records, {"critical": (1, 150), "critical_named": (1, 150), "lock": (3, 150), "nest_lock": (1, 0)})


def tested(flags):
    check_tested(build("tested", flags))


def check_tested(path):
    """A test of a lock is no wait for it; tests in a loop are told now and then."""
    native = run_native([path])
    observed, records = run_observed([path])
    check(native == observed and native[:2] == ("1001\n", 0), f"output natively {native}, observed {observed}")
    mutexes = [(record.kind[10:], MUTEXES[place(record)[2]]) for record in records
               if record.kind.startswith("OMP_MUTEX") and record.thread_num == 1]
    tests = [record.arguments[2] for record in records
             if record.kind == "OMP_MUTEX_TEST" and MUTEXES[place(record)[2]] == "lock"]
    check(("TEST", "nest_lock") in mutexes and ("WAIT", "lock") not in mutexes and ("WAIT", "nest_lock") not in mutexes,
          f"the thread that tests: {mutexes}")
    check(mutexes[-2:] == [("ENTER", "lock"), ("LEAVE", "lock")], f"the thread that tests: {mutexes}")
    check(len(tests) < 500 and tests == sorted(tests) and all(1 <= count <= 1000 for count in tests), f"tests {tests}")


def check_owners(records, expected, told_late=False):
    """TOLD_LATE: that a lock was left is told when it is free. EXPECTED: how many locks of each kind, and least number of acquisitions of each without a wait."""
    locks = collections.defaultdict(list)
    for record in sorted(records, key=lambda record: record.ticks):
        if record.kind.startswith("OMP_MUTEX") and record.kind != "OMP_MUTEX_TEST":
            locks[MUTEXES[place(record)[2]], record.arguments[1]].append(record)
    kinds = collections.Counter(kind for kind, _ in locks)
    check(kinds == {kind: n for kind, (n, _) in expected.items()}, f"locks are {kinds}")
    for (kind, _), events in locks.items():
        words = [(event.kind[10:], event.tid) for event in events]
        owner, other = words[0][1], next(tid for _, tid in words if tid != words[0][1])
        at_once = [event for before, event in zip(events, events[1:])
                   if (before.kind, event.kind) == ("OMP_MUTEX_WAIT", "OMP_MUTEX_ENTER") and before.ticks == event.ticks]
        check(len(at_once) >= expected[kind][1], f"{kind}: {len(at_once)} acquisitions of the owner at one time")
        check(expected[kind][1] or not at_once, f"{kind}: {len(at_once)} acquisitions of the owner at one time, not none")
        # in the end: the owner waits, the other one leaves, the owner enters and leaves
        check(words[-4:] == [("WAIT", owner), ("LEAVE", other), ("ENTER", owner), ("LEAVE", owner)] or told_late and
              sorted(words[-4:]) == sorted([("WAIT", owner), ("LEAVE", other), ("ENTER", owner), ("LEAVE", owner)]),
              f"{kind}: {words[-8:]}")
        wait, enter = [event for event in events if event.tid == owner][-3:-1]
        check(wait.ticks < enter.ticks and wait.ticks < events[-3].ticks, f"{kind}: {events[-4:]}")


def cancel(flags):
    program("cancel", flags, {"OMP_CANCELLATION": "true"})


def edges(flags):
    """What leaves bodies in unusual ways, and tasks' copies: nothing changes, and what was recorded is whole."""
    path = build("edges", flags)
    native = run_native([path])
    observed, records = run_observed([path])
    check(native == observed and native[1] == 0, f"output natively {native}, observed {observed}")
    began = collections.Counter(record.arguments[1] % HIGH for record in records if record.kind == "OMP_TASK_BEGIN")
    created = {record.arguments[1] for record in records if record.kind == "OMP_TASK_CREATE"}
    check(set(began) == created and len(created) >= 461, f"{len(created)} tasks created, {len(began)} begun")


def build_late(flags):
    """A program that opens libraries which bring OpenMP: the system's, and two copies of it of other names."""
    runtime = subprocess.run(["gcc", "-print-file-name=libgomp.so.1"], capture_output=True, text=True).stdout.strip()
    with open(runtime, "rb") as file:
        image = file.read()
    source = os.path.join(PROGRAMS, "late_library.c")
    libraries = []
    for letter in "1ab":
        own = f"libgomp.so.{letter}"
        with open(own, "wb") as file:
            file.write(image.replace(b"\0libgomp.so.1\0", b"\0" + own.encode() + b"\0"))
        library = os.path.abspath(f"late_{letter}.so")
        subprocess.run(["gcc", *flags, "-fopenmp", "-w", "-shared", "-fPIC", "-o", library, source, "-nodefaultlibs",
                        own, "-lc", "-Wl,-rpath," + os.getcwd()], check=True)
        libraries.append(library)
    program_path = os.path.abspath("late")
    subprocess.run(["gcc", "-w", "-o", program_path, os.path.join(PROGRAMS, "late.c"), "-ldl"], check=True)
    return program_path, libraries


def late(flags):
    """Runtimes that come by dlopen, several of them, and are unloaded: each library gets its own."""
    path, libraries = build_late(flags)
    command = [path, "3", *libraries]
    native = run_native(command)
    check(native[1] == 0 and len(set(native[0].splitlines())) == 2, f"natively wrong: {native}")
    observed, records = run_observed(command)
    check(native == observed, f"output natively {native}, observed {observed}")
    regions = [record for record in records if record.kind == "OMP_PARALLEL_BEGIN"]
    check(len(regions) == 2 * native[0].count("\n"), f"{len(regions)} regions recorded")
    bodies = collections.Counter(record.arguments[3] for record in records if record.kind == "OMP_IMPLICIT_BEGIN")
    check(set(bodies) == {1, 3}, f"team sizes {bodies}")


def beside(flags):
    """GCC's runtime and LLVM's come by dlopen, and a region of the one meets a region of the other: thread numbers are
    those of the runtime that the asking library is linked with."""
    source = os.path.join(PROGRAMS, "beside.c")
    for compiler, part in (("gcc", "OUTER"), ("clang", "INNER")):
        made = subprocess.run([compiler, *flags, "-fopenmp", "-D" + part, "-w", "-shared", "-fPIC", "-o", part + ".so", source],
                              capture_output=True, text=True)
        if made.returncode != 0 and compiler == "clang":
            skip("clang has no OpenMP (Debian: libomp-dev)")
        check(made.returncode == 0, made.stderr)
    subprocess.run(["gcc", "-w", "-o", "beside", source, "-ldl"], check=True)
    native = run_native(["./beside"])
    check(native[:2] == ("300 30004 90312\n90312 30004\n", 0), f"natively {native}")
    observed, records = run_observed(["./beside"])
    check(native == observed, f"output natively {native}, observed {observed}")
    check({place(record)[1] for record in records if record.kind == "OMP_PARALLEL_BEGIN"} == {"wrapped", "ompt"},
          "not both runtimes were seen")


def not_asked_for(flags):
    """Without the flag nothing of OpenMP is recorded, and nothing changes."""
    path = build("tasks", flags)
    native = run_native([path])
    observed, records = run_observed([path], flags=0)
    check(native == observed, f"output natively {native}, observed {observed}")
    check(not [record for record in records if record.kind.startswith("OMP_")], f"recorded {records[:3]}")


def nowhere(flags):
    """A call that no library answers ends the program as the dynamic loader ends it."""
    def make(output, text, *options):
        subprocess.run(["gcc", *flags, "-x", "c", "-", "-x", "none", "-o", output, *options], input=text.encode(), check=True)

    make("libnowhere.so", "void GOMP_critical_start(void) {}", "-shared", "-fPIC")
    make("nowhere", "void GOMP_critical_start(void); int main(void) { GOMP_critical_start(); return 0; }",
         os.path.abspath("libnowhere.so"), "-Wl,-z,lazy")
    make("libnowhere.so", "int nothing;", "-shared", "-fPIC")
    native = run_native(["./nowhere"])
    observed, _ = run_observed(["./nowhere"])
    check(native[1] == 127 and "GOMP_critical_start" in native[2], f"natively {native}")
    check(observed[1] == 127 and observed[2].startswith(native[2].strip()), f"natively {native}, observed {observed}")


def shim(flags):
    """A program for libgomp on a runtime that also speaks OMPT: recorded once, by OMPT; without OMPT by its calls."""
    found = subprocess.run(["clang", "-print-file-name=libomp.so.5"], capture_output=True, text=True).stdout.strip()
    if not os.path.exists(found):
        skip("there is no libomp")
    path = build("mutexes", flags)
    os.symlink(found, "libgomp.so.1")
    for enabled, expected in (("enabled", "ompt"), ("disabled", "wrapped")):
        environment = {"LD_LIBRARY_PATH": os.getcwd(), "OMP_TOOL": enabled, "OPENMP_LOG": os.path.abspath("log")}
        native = run_native([path], environment)
        observed, records = run_observed([path], environment)
        check(native == observed and native[1] == 0, f"output natively {native}, observed {observed}")
        seen = {SEEN[record.arguments[0]] for record in records if record.kind == "OMP_RUNTIME"}
        check(seen == {expected}, f"with OMPT {enabled} the runtime is seen as {seen}")
        ways = {place(record)[1] for record in records if record.kind.startswith("OMP_MUTEX")}
        check(ways == {expected}, f"with OMPT {enabled} events were seen as {ways}")
        enters = [record for record in records
                  if record.kind == "OMP_MUTEX_ENTER" and MUTEXES[place(record)[2]] == "critical_named"]
        unnamed = [record for record in records
                   if record.kind == "OMP_MUTEX_ENTER" and MUTEXES[place(record)[2]] == "critical"]
        check(len(enters) + len(unnamed) == 3 * 30 * 3, f"{len(enters)} and {len(unnamed)} criticals entered, not 270")


# What libgomp exports for compiled programs and the agent is not in front of, and why.
LEFT_OUT = [
    (r"GOMP_loop_(ull_)?(maybe_)?nonmonotonic_.*_next", "happens for each chunk; start and end say what there is to say"),
    (r"GOMP_taskgroup_reduction_(un)?register|GOMP_task_reduction_remap", "bookkeeping inside of a construct"),
    (r"GOMP_teams4?", "in a target region, which is a zone already"),
    (r"GOMP_taskwait_depend_nowait", "waits for nothing"),
    (r"GOMP_(alloc|add_alloc|is_alloc|free|error|warning)", "no construct"),
    (r"GOMP_target_map_indirect_ptr", "for devices"),
    (r"GOMP_offload_(un)?register(_ver)?|GOMP_PLUGIN_\w+", "libgomp's own plugins"),
    (r"omp_(?!get_thread_num$|get_num_threads$|fulfill_event|(set|unset|test)_(nest_)?lock).*", "begins and ends nothing"),
    (r"omp_get_(thread_num|num_threads)_", "Fortran's own questions: gfortran compiles no construct into them"),
]


def entries(_):
    """Every function that libgomp exports is one of the agent's, or left out for a reason; none of these is idle."""
    runtime = subprocess.run(["gcc", "-print-file-name=libgomp.so.1"], capture_output=True, text=True).stdout.strip()

    def functions(path):
        table = subprocess.run(["readelf", "-W", "--dyn-syms", path], capture_output=True, text=True, check=True).stdout
        found = re.findall(r" FUNC +GLOBAL +DEFAULT +\d+ ((?:GOMP|omp)_\w+)", table)
        return set(found)

    exported, ours = functions(runtime), functions(AGENT)
    left = {name for name in exported if any(re.fullmatch(pattern, name) for pattern, _ in LEFT_OUT)}
    check(len(exported) > 100 and not exported - ours - left, f"neither ours nor left out: {sorted(exported - ours - left)}")
    check(not left & ours, f"ours, and left out: {sorted(left & ours)}")
    if "GOMP_scope_start" in exported:  # of GCC 12 or later, which has them all
        check(not ours - exported, f"ours, but not libgomp's: {sorted(ours - exported)}")


CASES = {"beside": beside, "entries": entries, "inferred": inferred, "inferred_hot": inferred_hot, "nowhere": nowhere, "shim": shim, "joined": joined, "cancel": cancel, "edges": edges, "late": late, "not_asked_for": not_asked_for,
         "owners": owners, "tested": tested}


def main():
    case, flags = sys.argv[1], sys.argv[2:]
    if case in CASES:
        CASES[case](flags)
    else:
        program(case, flags)


if __name__ == "__main__":
    main()
