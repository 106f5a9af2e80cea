#!/usr/bin/env python3
"""What the agent records of programs that run on LLVM's OpenMP runtime, against what the programs tell of themselves.

usage: ompt.py CASE CFLAG...

CASE is a program of tests/programs/openmp/gomp or ompt, built with clang, or one of the functions below.
"""
import collections
import os
import re
import shutil
import subprocess
import sys

import bound_library
import gomp
from agent_rings import DLOPEN, OPENMP, TSC, string
from recording import check, skip

OWN = os.path.join(gomp.SOURCE, "tests/programs/openmp/ompt")
TOOL = os.path.join(OWN, "tool.c")
COMPILE = ["clang", "-fopenmp", "-fopenmp-version=51", "-g", "-w"]


def build(name, flags, libraries=(), sources=()):
    """Builds the self-telling program NAME, and SOURCES, with clang."""
    if shutil.which("clang") is None:
        skip("there is no clang")
    program = os.path.join(gomp.PROGRAMS, name + ".c")
    if not os.path.exists(program):
        program = os.path.join(OWN, name + ".c")
    log = os.path.join(gomp.PROGRAMS, "log.c")
    made = subprocess.run([*COMPILE, *flags, "-o", name, program, log, *sources, *libraries, "-latomic"], capture_output=True,
                          text=True)
    if "omp.h' file not found" in made.stderr or "-lomp" in made.stderr:
        skip("clang has no OpenMP (Debian: libomp-dev)")
    check(made.returncode == 0, made.stderr)
    return os.path.abspath(name)


# ---- what OMPT does not tell, or tells in other words

# of both sides: whether a lock is waited for by omp_test_lock is not told; a task that is detached may be fulfilled
# before its end or after; libomp has no events for these
DROPPED = re.compile(r"(arrive|leave) (barrier_join|copyprivate|taskyield|doacross) |(wait|enter|exit) atomic "
                     r"|wait (lock|nest_lock) |section |end task #\d+ fulfilled")
REWORDED = [
    (re.compile(r"^(parallel @\d+) \d+"), r"\1"),  # where none are asked for, the runtime tells what it takes
    (re.compile(r"^zone (loop|ordered_loop|doacross_loop) \w+"), "zone loop"),
    (re.compile(r"^(end )?zone (ordered_loop|doacross_loop)"), r"\1zone loop"),
    (re.compile(r"^(\w+) critical &0"), r"\1 critical &unnamed"),
    (re.compile(r"^(\w+) critical_named"), r"\1 critical"),
    (re.compile(r"^(\w+) ordered &\d+"), r"\1 ordered"),
    (re.compile(r" (detachable|undeferred)"), ""),  # with one thread, LLVM's runtime runs every task at once
    (re.compile(r"^(end task #\d+) detached"), r"\1 completed"),
]


def reworded(line):
    for pattern, words in REWORDED:
        line = pattern.sub(words, line)
    words = line.split()
    # compilers pass dependences in an order of their own
    return " ".join(words[:4] + sorted(words[4:])) if words[0] == "create" else line


def as_told_by_ompt(lines):
    """LINES of one thread; barriers are counted anew, since a copyprivate takes one more of them."""
    instances, teams, is_copyprivate, told = collections.Counter(), [0], False, []
    for line in lines:
        if line.startswith("begin "):
            teams.append(line.split()[1])
        if "copyprivate" in line:
            is_copyprivate = True
        if DROPPED.match(line):
            continue
        words = line.split()
        if words[0] in ("arrive", "leave") and words[1].startswith("barrier"):
            if words[0] == "arrive":
                instances[teams[-1]] += 1
            told.append(f"{words[0]} {words[1]} {instances[teams[-1]]}")
            if is_copyprivate and words[0] == "leave":
                is_copyprivate = False
                instances[teams[-1]] += 1
                told += [f"{word} {words[1]} {instances[teams[-1]]}" for word in ("arrive", "leave")]
            continue
        if line == "end":
            teams.pop()
        told.append(reworded(line))
    return told


def compare(log_path, records):
    """Thread by thread, what was told and what was recorded is the same."""
    threads, _, ignored = gomp.read_log(log_path)
    recorded = collections.defaultdict(list)
    for record in records:
        if record.kind.startswith("OMP_") and record.kind not in gomp.UNTOLD:
            line = gomp.in_words(record)
            if not DROPPED.match(line):
                recorded[record.tid].append(reworded(line))
    check(set(recorded) <= set(threads), f"threads that told nothing: {set(recorded) - set(threads)}")
    names, n = gomp.Names(), 0
    for tid, lines in threads.items():
        lines, seen = ([line for line in side if not line.startswith(ignored)]
                       for side in (as_told_by_ompt(lines), recorded[tid]))
        for i, (told, line) in enumerate(zip(lines, seen)):
            before = "\n  ".join(f"{a:50}{b}" for a, b in zip(lines[max(0, i - 8):i], seen[max(0, i - 8):i]))
            check(names.same(told, line), f"thread {tid}, line {i}: told {told!r}, recorded {line!r}; before:\n  {before}")
            n += 1
        check(len(lines) == len(seen),
              f"thread {tid}: told {len(lines)} lines, recorded {len(seen)}: {lines[len(seen):][:3]} {seen[len(lines):][:3]}")
    check(n > 0, "nothing was compared")


def text_range(program):
    sections = subprocess.run(["readelf", "-SW", program], capture_output=True, text=True).stdout
    start, size = re.search(r"\] \.text +PROGBITS +(\w+) \w+ (\w+)", sections).groups()
    return int(start, 16), int(start, 16) + int(size, 16)


def check_places(program, records):
    """Every code address is the program's; it is missing only where LLVM's runtime tells none."""
    start, end = text_range(program)
    for record in records:
        if record.kind.startswith("OMP_") and record.kind != "OMP_RUNTIME":
            code, seen, _ = gomp.place(record)
            check(seen == "ompt", f"{record}: seen as {seen}")
            untold = record.kind in ("OMP_TASK_BEGIN", "OMP_TASK_END", "OMP_MUTEX_LEAVE")
            check(start <= code < end or code == 0 and untold, f"code {code:#x} is not the program's: {record}")


def check_joins(records):
    """Every thread of a team arrives at its join, and its first thread leaves it after all have arrived."""
    sizes, arrived, joins = {}, collections.Counter(), 0
    for record in sorted(records, key=lambda record: record.ticks):
        if record.kind == "OMP_IMPLICIT_BEGIN":
            sizes[record.team] = record.arguments[3]
        if record.kind == "OMP_SYNC_BEGIN" and gomp.SYNCS[gomp.place(record)[2]] == "barrier_join":
            arrived[record.team] += 1
        if record.kind == "OMP_SYNC_END" and gomp.SYNCS[gomp.place(record)[2]] == "barrier_join":
            check(record.thread_num == 0, f"{record}: a worker's end of the join is not known")
            check(arrived[record.team] == sizes[record.team], f"{record} leaves when {arrived[record.team]} had arrived")
            joins += 1
    check(joins == sum(size > 1 for size in sizes.values()), f"{joins} joins of {sizes}")


def observe(path, environment=None):
    """Runs PATH without and with the agent: the same output. The records."""
    environment = dict(environment or {}, OPENMP_LOG=os.path.abspath("log"))
    native = gomp.run_native([path], environment)
    observed, records = gomp.run_observed([path], environment)
    check(native == observed, f"output natively {native}, observed {observed}")
    check(native[1] == 0, f"it failed: {native}")
    return records


def check_runtime(records):
    runtimes = [record for record in records if record.kind == "OMP_RUNTIME"]
    check([string(record.arguments[1:]) for record in runtimes] == ["LLVM OMP"], f"runtimes recorded: {runtimes}")
    for kind in ("NOTE", "ASIDE", "LOST"):
        check(not [record for record in records if record.kind == kind], f"there is a record {kind}")


def program(name, flags):
    path = build(name, [*flags, "-no-pie"])
    records = observe(path, {"OMP_CANCELLATION": "true"})
    check_runtime(records)
    compare("log", records)
    check_places(path, records)
    check_joins(records)
    gomp.check_barriers([record for record in records if record.kind != "OMP_SYNC_END"
                         or gomp.SYNCS[gomp.place(record)[2]] != "barrier_join"])


# ---- the program's own tool

def compile_with(compiler, output, sources, *flags):
    if shutil.which(compiler[0]) is None:
        skip(f"there is no {compiler[0]}")
    made = subprocess.run([*compiler, "-g", "-w", "-o", output, *(os.path.join(OWN, source) for source in sources), *flags],
                          capture_output=True, text=True)
    if "omp.h' file not found" in made.stderr or "-lomp" in made.stderr:
        skip("clang has no OpenMP (Debian: libomp-dev)")
    check(made.returncode == 0, made.stderr)
    return os.path.abspath(output)


def steady_log(path):
    """What the tool told, thread by thread; its numbers in the order in which a thread first tells them."""
    threads = collections.defaultdict(list)
    with open(path) as file:
        for line in file:
            tid, text = line.rstrip("\n").split(" ", 1)
            threads[tid].append(re.sub(r"0x7[ef][0-9a-f]{10}", "in a library", text))
    told = []
    for lines in threads.values():
        numbers = {"#0": "#0", "#-1": "#-1"}
        told.append([re.sub(r"#-?\d+", lambda number: numbers.setdefault(number[0], f"#{len(numbers)}"), line)
                     for line in lines])
    return sorted(told)


def run_with_tool(run, path, environment):
    log = os.path.abspath("tool.log")
    if os.path.exists(log):
        os.unlink(log)
    result = run([path], dict(environment, TOOL_LOG=log, OMP_CANCELLATION="true"))
    return result, steady_log(log) if os.path.exists(log) else None


def chain(how, mode="", environment=None):
    """The tool tells the same with and without agent, which sees what it sees without the tool."""
    tool = compile_with(COMPILE, "tool.so", ["tool.c"], "-shared", "-fPIC")
    flags = {"program": [os.path.join(OWN, "tool.c")], "linked": [tool, "-Wl,-rpath," + os.getcwd()],
             "bound_now": [os.path.join(OWN, "tool.c"), "-Wl,-z,now"]}.get(how, [])
    path = compile_with(COMPILE, "steady", ["steady.c"], "-O1", "-no-pie", *flags)
    environment = dict(environment or {}, TOOL_MODE=mode)
    if how == "environment":
        environment["OMP_TOOL_LIBRARIES"] = ":/nonexistent/tool.so::" + tool + ":/nonexistent/another.so"
    if how == "bound_now":
        environment["LD_BIND_NOW"] = "1"
    native, expected = run_with_tool(gomp.run_native, path,
                                     dict(environment, **({"LD_PRELOAD": tool} if how == "preload" else {})))
    (observed, records), told = run_with_tool(
        gomp.run_observed, path,
        dict(environment, **({"LD_PRELOAD": f"{gomp.AGENT}:{tool}"} if how == "preload" else {})))
    check(native == observed and native[1] == 0, f"output natively {native}, observed {observed}")
    check(expected is not None and len(expected) >= (1 if mode else 2), f"natively the tool told {expected}")
    for natively, here in zip(expected, told):
        for i, (one, other) in enumerate(zip(natively, here)):
            check(one == other, f"line {i}: natively {one!r}, chained {other!r}; before: {natively[max(0, i - 5):i]}")
        check(len(natively) == len(here), f"natively {len(natively)} lines, chained {len(here)}")
    check(len(expected) == len(told), f"{len(expected)} threads, chained {len(told)}")
    # and the agent's records are those without a tool
    _, alone = gomp.run_observed([path], {key: value for key, value in dict(environment, OMP_CANCELLATION="true").items()
                                          if key != "OMP_TOOL_LIBRARIES"})
    check_runtime(records)
    check(steady_records(records) == steady_records(alone), "the agent sees something else beside the tool")


def bound(_):
    """No library in front of the runtime gets its call of ompt_start_tool, as with Ubuntu's: the agent is found all the same,
    and a tool that is not found without the agent is not with it."""
    path = compile_with(COMPILE, "steady", ["steady.c", "tool.c"], "-O1", "-no-pie", "-rdynamic", "-I", omp_tools_folder())
    environment = bound_library.environment(path, "libomp", "ompt_start_tool")
    native, expected = run_with_tool(gomp.run_native, path, environment)
    (observed, records), told = run_with_tool(gomp.run_observed, path, environment)
    check(native == observed and native[1] == 0, f"output natively {native}, observed {observed}")
    check(expected is None and told is None, f"the tool told {expected} natively, and {told}")
    check_runtime(records)
    chain("environment", environment=environment)


def steady_records(records):
    threads = collections.defaultdict(list)
    for record in records:
        if record.kind.startswith("OMP_") and record.kind != "OMP_RUNTIME":
            threads[record.tid].append(re.sub(r" &\d+", " &", gomp.in_words(record)))
    told = []
    for lines in threads.values():
        names = {}
        told.append([re.sub(r"[@#]\d+", lambda name: name[0] if name[0][1:] == "0" else
                            names.setdefault(name[0], f"{name[0][0]}{len(names) + 1}"), line) for line in lines])
    return sorted(told)


def told_beside_a_tool(name, flags):
    """A program that tells of itself, with many tasks and teams, beside a tool in whose words all is wrapped."""
    tool = compile_with(COMPILE, "tool.so", ["tool.c"], "-shared", "-fPIC")
    path = build(name, [*flags, "-no-pie"])
    records = observe(path, {"OMP_CANCELLATION": "true", "OMP_TOOL_LIBRARIES": tool,
                             "TOOL_LOG": os.path.abspath("tool.log")})
    check(os.path.getsize("tool.log") > 1000, "the tool told nothing")
    compare("log", records)


def disabled(_):
    path = compile_with(COMPILE, "steady", ["steady.c"])
    for setting in ("disabled", "DISABLED"):
        native = gomp.run_native([path], {"OMP_TOOL": setting})
        observed, records = gomp.run_observed([path], {"OMP_TOOL": setting})
        check(native == observed, f"output natively {native}, observed {observed}")
        notes = [string(record.arguments) for record in records if record.kind == "NOTE"]
        check(len(notes) == 1 and notes[0].startswith("OMP_TOOL disables"), f"notes: {notes}")
        check(not [record for record in records if record.kind.startswith("OMP_")], "OpenMP is seen all the same")


# ---- which runtime, and when

def regions_of(records):
    """How each region was seen, by its team: (seen, threads that began it)."""
    regions, began = {}, collections.Counter()
    for record in records:
        if record.kind == "OMP_PARALLEL_BEGIN":
            check(record.arguments[1] not in regions, f"{record}: recorded twice")
            regions[record.arguments[1]] = gomp.place(record)[1]
        elif record.kind == "OMP_IMPLICIT_BEGIN":
            began[record.arguments[1]] += 1
    return sorted((seen, began[team]) for team, seen in regions.items())


def runtimes_of(records):
    return sorted((string(record.arguments[1:]), gomp.SEEN[record.arguments[0]]) for record in records
                  if record.kind == "OMP_RUNTIME")


def late(_):
    """The runtime comes with a library that is opened for itself alone."""
    path = compile_with(["clang"], "late", ["late.c"])
    library = compile_with(COMPILE, "libwork.so", ["work.c"], "-shared", "-fPIC")
    native = gomp.run_native([path, library])
    observed, records = gomp.run_observed([path, library])
    check(native == observed and native[:2] == ("3\n", 0), f"output natively {native}, observed {observed}")
    check(runtimes_of(records) == [("LLVM OMP", "ompt")] and regions_of(records) == [("ompt", 3)], f"{regions_of(records)}")


def both(_):
    """libgomp and LLVM's runtime in one process: each construct is recorded once, by who knows it."""
    path = compile_with(["gcc", "-fopenmp"], "late", ["late.c"])
    library = compile_with(COMPILE, "libwork.so", ["work.c"], "-shared", "-fPIC")
    native = gomp.run_native([path, library])
    observed, records = gomp.run_observed([path, library])
    check(native == observed and native[1] == 0, f"output natively {native}, observed {observed}")
    check(runtimes_of(records) == [("LLVM OMP", "ompt"), ("libgomp", "wrapped")], f"{runtimes_of(records)}")
    check(regions_of(records) == [("ompt", 3)] * 2 + [("wrapped", 2)] * 3, f"{regions_of(records)}")
    mutexes = collections.Counter(record.kind for record in records if record.kind.startswith("OMP_MUTEX_"))
    check(mutexes["OMP_MUTEX_ENTER"] == mutexes["OMP_MUTEX_LEAVE"] == 3 + 2 + 2 + 3, f"{mutexes}")


def shim(_):
    """A program of GCC's on LLVM's runtime, which has libgomp's entry points: recorded once, by OMPT."""
    for name in ("regions", "sections", "mutexes"):
        program = os.path.join(gomp.PROGRAMS, name + ".c")
        made = subprocess.run(["gcc", "-fopenmp", "-g", "-w", "-O2", "-fno-pie", "-c", program,
                               os.path.join(gomp.PROGRAMS, "log.c")], capture_output=True, text=True)
        check(made.returncode == 0, made.stderr)
        path = compile_with(["clang", "-fopenmp"], name, [], os.path.abspath(name + ".o"), os.path.abspath("log.o"),
                            "-no-pie", "-latomic")
        records = observe(path)
        check_runtime(records)
        told = [line for lines in gomp.read_log("log")[0].values() for line in lines]
        regions = regions_of(records)
        check(len(regions) == sum(line.startswith("parallel ") for line in told), f"{name}: {regions}")
        check(sum(began for _, began in regions) == sum(line.startswith("begin ") for line in told), f"{name}: {regions}")
        seen = {gomp.place(record)[1] for record in records
                if record.kind.startswith("OMP_") and record.kind != "OMP_RUNTIME"}
        check(seen <= {"ompt", "inferred"}, f"{name}: seen as {seen}")
        lines = [gomp.in_words(record) for record in records if record.kind.startswith("OMP_ZONE")]
        copyprivate = sum(pair == ("leave copyprivate 0", "zone single") for pair in zip(told, told[1:]))  # not told by OMPT
        for zone in ("zone single", "end zone single"):
            expected = told.count(zone) - copyprivate
            check(lines.count(zone) == expected, f"{name}: {zone}: {expected} expected, {lines.count(zone)} recorded")
        entered = sum(record.kind == "OMP_MUTEX_ENTER" for record in records)
        check(entered == sum(line.startswith("enter ") for line in told), f"{name}: {entered} entered")


def tool_before_a_late_runtime(_):
    """The program has a tool, and the runtime comes after it."""
    path = compile_with(["clang"], "late", ["late.c", "tool.c"], "-rdynamic", "-I", omp_tools_folder())
    library = compile_with(COMPILE, "libwork.so", ["work.c"], "-shared", "-fPIC")
    environment = {"TOOL_LOG": os.path.abspath("tool.log")}
    native = gomp.run_native([path, library], environment)
    natively = steady_counts("tool.log")
    observed, records = gomp.run_observed([path, library], environment, flags=OPENMP | DLOPEN)
    check(native == observed and native[:2] == ("3\n", 0), f"output natively {native}, observed {observed}")
    chained = steady_counts("tool.log")
    check(natively == chained, f"natively {natively}, chained {chained}")
    check(regions_of(records) == [("ompt", 3)], f"{regions_of(records)}")


def steady_counts(path):
    """How often the tool told what; then the log is gone."""
    with open(path) as file:
        counts = collections.Counter(line.split()[1] for line in file)
    os.unlink(path)
    check(counts["parallel_begin"] > 0, f"the tool told {counts}")
    return counts


def omp_tools_folder():
    """Where omp-tools.h is; clang finds it by itself only with -fopenmp."""
    listed = subprocess.run(["clang", "-print-resource-dir"], capture_output=True, text=True).stdout.strip()
    return os.path.join(listed, "include")


def tested(_):
    gomp.check_tested(build("tested", ["-O1"]))


def owners(_):
    """As in gomp.py, but for a lock that another thread unsets: OMPT tells that after it."""
    path = build("owners", ["-O2"])
    native = gomp.run_native([path, "5"])
    observed, records = gomp.run_observed([path, "5"], clock=TSC)
    check(native == observed and native[1] == 0, f"output natively {native}, observed {observed}")
    gomp.check_owners(records, {"critical": (2, 150), "lock": (2, 150), "nest_lock": (1, 150)}, told_late=True)


def forks(_):
    path = compile_with(COMPILE, "forks", ["forks.c"])
    native = gomp.run_native([path])
    observed, records = gomp.run_observed([path])
    check(native == observed and native[:2] == ("2 4 2\n", 0), f"output natively {native}, observed {observed}")
    by_process = collections.defaultdict(list)
    for record in records:
        by_process[record.pid].append(record)
    regions = sorted(regions_of(of_one) for of_one in by_process.values())
    check(regions == [[("ompt", 2)] * 2] * 2, f"{regions}")
    for of_one in by_process.values():
        for record in of_one:
            check(record.kind != "OMP_PARALLEL_BEGIN" or record.team == 0, f"{record}: not outside of all regions")


def roots(_):
    """Threads that are the runtime's one after another: what they enter they leave, and nobody crashes."""
    path = compile_with(COMPILE, "roots", ["roots.c"])
    native = gomp.run_native([path])
    observed, records = gomp.run_observed([path])
    check(native == observed and native[:2] == ("15\n", 0), f"output natively {native}, observed {observed}")
    inside, entered = collections.defaultdict(list), collections.Counter()
    for record in records:
        if record.kind not in ("OMP_MUTEX_ENTER", "OMP_MUTEX_LEAVE"):
            continue
        what = (gomp.MUTEXES[gomp.place(record)[2]], record.arguments[1])
        if record.kind == "OMP_MUTEX_ENTER":
            inside[record.tid].append(what)
            entered[what] += 1
        else:
            check(inside[record.tid] and inside[record.tid].pop() == what, f"{record}: left, and was not the innermost")
    check(len(inside) == 3 and not any(inside.values()), f"never left: {dict(inside)}")
    kinds = collections.Counter(kind for kind, _ in entered)
    check(kinds["critical"] == 3 and kinds["lock"] == 1 and kinds["nest_lock"] == 1, f"{entered}")
    check(all(count == (6 if kind == "nest_lock" else 3) for (kind, _), count in entered.items() if kind != "ordered"),
          f"{entered}")


def tail(_):
    """A place in another region is not told of what the runtime was jumped to from the end of this one."""
    path = compile_with(COMPILE, "tail", ["tail.c"], "-O2")
    observed, records = gomp.run_observed([path])
    check(observed[:2] == ("6\n", 0), f"{observed}")
    regions = {record.arguments[1]: gomp.place(record)[0] for record in records if record.kind == "OMP_PARALLEL_BEGIN"}
    check(len(regions) == 2, f"{regions}")
    first, second = (regions[team] for team in sorted(regions))
    places = [gomp.place(record)[0] for record in records
              if record.kind == "OMP_SYNC_BEGIN" and gomp.SYNCS[gomp.place(record)[2]] == "barrier"]
    known = {gomp.place(record)[0] for record in records if record.kind == "OMP_MUTEX_ENTER"} | {first, *places[:3]}
    check(len(places) == 6 and not set(places[3:]) & known, f"{places}: in the first region, {known}")
    check(len(set(places[3:])) == 1, f"{places}: the second region is at {second}")


def nested(_):
    """The end of an inner region, of which LLVM's runtime tells an old address, is its end for its first thread too."""
    path = compile_with(COMPILE, "nested", ["nested.c"])
    observed, records = gomp.run_observed([path])
    check(observed[:2] == ("80\n", 0), f"{observed}")
    syncs = collections.Counter(gomp.SYNCS[gomp.place(record)[2]] for record in records if record.kind == "OMP_SYNC_BEGIN")
    check(syncs["barrier_implicit"] == 0 and syncs["barrier"] == 80, f"{syncs}")


CASES = {
    "bound": bound, "nested": nested, "tail": tail,
    "roots": roots,
    "disabled": disabled, "late": late, "both": both, "shim": shim, "forks": forks, "owners": owners, "tested": tested,
    "tool_before_a_late_runtime": tool_before_a_late_runtime,
    "tool_preloaded": lambda _: chain("preload"),
    "tool_linked": lambda _: chain("linked"),
    "tool_in_environment": lambda _: chain("environment"),
    "tool_in_program": lambda _: chain("program"),
    "tool_in_program_bound_now": lambda _: chain("bound_now"),
    "tool_refuses": lambda _: chain("environment", mode="refuse"),
    "tool_refuses_to_start": lambda _: chain("linked", mode="none"),
    "told_beside_a_tool": lambda flags: told_beside_a_tool(flags[0], flags[1:]),
}


def main():
    case, flags = sys.argv[1], sys.argv[2:]
    if case in CASES:
        CASES[case](flags)
    else:
        program(case, flags)


if __name__ == "__main__":
    main()
