#!/usr/bin/env python3
"""Places of action points: one in each overload, addresses that mean something elsewhere or not, other programs; methods in stacks."""
import os
import pathlib
import re
import subprocess
import sys

TOLLGATE = os.environ["TG_TOLLGATE"]

PROGRAM = r"""#include <sys/wait.h>
#include <unistd.h>
namespace heat {
struct Solver {
    int cells;
    virtual ~Solver() = default;
    __attribute__((noinline)) int step(int by) { return cells += by; }
    __attribute__((noinline)) double step(double by) { return cells += (int)by; }
};
}
int main(int argc, char **)
{
    heat::Solver solver;
    solver.cells = argc;
    pid_t child = fork();
    solver.step(1);
    solver.step(2.0);
    if (child == 0)
        execlp("./other", "other", nullptr);
    waitpid(child, nullptr, 0);
    return 0;
}
"""

OTHER = """int only_here(int i) { return i + 1; }
__attribute__((always_inline)) static inline int within(int i) { return i - 1; }
int main(void) { return only_here(within(0)); }
"""

SCRIPT = r"""
proc refused {what pattern} {
    if {![catch {uplevel 1 $what} message]} {error "$what: no error"}
    if {![regexp -- $pattern $message]} {error "$what: '$message' has not '$pattern'"}
}
refused {dbreak nowhere} {^'nowhere' not found in any process; use -pending}
dbreak heat::Solver::step -g
dcont
puts [ac 1]
dfocus a dwait -timeout 20
if {![regexp step [dfocus 1 dwhere]]} {dfocus p1 dcont} ;# the child was first, and stopped the parent in fork
puts "stack: [dfocus 1 dwhere]"
# memory that no file lies in means nothing in the other process
set sp [lindex [dfocus 1 dprint \$sp] 2]
regexp {0x[0-9a-f]+} [dfocus 1 dprint \$sp] sp
refused "dbreak -address $sp" {is in no file's code in process 1, and means nothing in other processes: `dfocus p1`}
refused "dbarrier -address $sp" {means nothing in other processes}
refused "dfocus p1 dbreak -address $sp" {}
refused {dbreak -address 0x10} {no process has code at 0x10}
ddelete 1
dfocus p2 {dbreak only_here -pending}
dfocus 2 dcont
puts "other: [dfocus 2 dwhere -level 1]"
# of a function that is in its callers alone: where its copies begin
set copies [dfocus 2 {dbreak within}]
if {![regexp {other.c#2\]} [dfocus 2 dactions]]} {error [dfocus 2 dactions]}
ddelete $copies
refused {dfocus 1 {dbreak only_here}} {'only_here' is not in the program of the process in focus, but in that of process 2: set it with `dfocus gS2`}
dfocus a dcont
"""


def inlined():
    """A function that is in its callers alone: a pending breakpoint of it, and one of `record`."""
    output = subprocess.run([TOLLGATE, "live", "-q", "-o", "i.tgt", "-e", "dbreak within -pending; dcont; quit -kill 0", "--", "./other"],
                            capture_output=True, text=True, timeout=60, check=True).stdout
    if not re.search(r"^thread 1\.1 stopped at action point 1: within \(other\.c#2\)$", output, re.M):
        sys.exit(f"not stopped in the inlined function:\n{output}")
    done = subprocess.run([TOLLGATE, "record", "-o", "j.tgt", "--break", "within", "--", "./other"], capture_output=True, text=True,
                          timeout=60, check=False)
    dump = subprocess.run([TOLLGATE, "dump", "--kind", "breakpoint_hit", "j.tgt"], capture_output=True, text=True, check=True).stdout
    if "never planted" in done.stderr or "breakpoint_hit" not in dump:
        sys.exit(f"record: {done.stderr}{dump}")


OPTIMIZED = """namespace heat {
static volatile int sink;
extern "C" __attribute__((noinline)) void use(int i) { sink = i; }
struct Solver { int cells; void step(int by) { use(by); cells += by; } };
template <class T> struct Grid { T first; void set(T to) { use(1); first = to; } };
}
using heat::use;
extern "C" void both(int i) { use(i * 3); }
int main(int argc, char **)
{
    heat::Solver solver{argc};
    heat::Grid<double> grid{};
    solver.step(3);
    use(solver.cells);
    grid.set(solver.cells);
    use((int)grid.first);
    both(1);
    use(4);
    both(2);
    return 0;
}
"""


def optimized(compiler):
    """Functions with code of their own that is never called, and methods: as often hit as they were called. `*both` is its own code alone."""
    binary = f"./optimized_{compiler}"
    subprocess.run([compiler, "-g", "-O2", "optimized.cc", "-o", binary], check=True)
    subprocess.run([TOLLGATE, "record", "-q", "--force", "-o", "k.tgt", "-b", "both", "-b", "use", "-b", "Solver::step", "-b", "Grid<double>::set", "--", binary], check=True, timeout=60)
    dump = subprocess.run([TOLLGATE, "dump", "--kind", "breakpoint_hit", "k.tgt"], capture_output=True, text=True, check=True).stdout
    hits = re.findall(r"breakpoint=(\d+)", dump)
    if hits != ["3", "2", "2", "4", "2", "2", "1", "2", "2", "1", "2"]:
        sys.exit(f"{compiler}: {hits}\n{dump}")
    output = subprocess.run([TOLLGATE, "live", "-q", "--force", "-o", "k.tgt", "-e",
                             "dbreak *both; dbreak both; dbreak heat::Solver::step; puts [ac 1]; puts [ac 2]; dcont; dcont; quit -kill 0", "--", binary],
                            capture_output=True, text=True, timeout=60, check=True).stdout
    for pattern in (r"^1 addr=0x\w+ \[.*\n(?!.*places:)", r"^3 places:\n(  0x\w+ both \(optimized.cc#8\) in .*\n){3}",
                    r"stopped at action point 3: heat::Solver::step \(optimized.cc#4\)\n(.*\n)*.*stopped at action point 2: both \(optimized.cc#8\)"):
        if not re.search(pattern, output, re.M):
            sys.exit(f"{compiler}: no {pattern} in:\n{output}")


def runtimes():
    """A function of a runtime that the agent stands in front of: hit as often as it is called, in the runtime."""
    subprocess.run(["gcc", "-g", "-O0", "-fopenmp", "-x", "c", "-", "-o", "regions"], text=True, check=True,
                   input="int main(void) { int n = 0;\n#pragma omp parallel\n{ n |= 1; }\n#pragma omp parallel\n{ n |= 1; }\nreturn n - 1; }\n")
    subprocess.run([TOLLGATE, "record", "-q", "--force", "-o", "l.tgt", "-b", "GOMP_parallel", "--", "./regions"], check=True, timeout=60)
    dump = subprocess.run([TOLLGATE, "dump", "--kind", "breakpoint_*", "l.tgt"], capture_output=True, text=True, check=True).stdout
    if dump.count("breakpoint_hit") != 2 or dump.count("breakpoint_planted") != 1 or "libgomp.so" not in dump:
        sys.exit(f"GOMP_parallel:\n{dump}")


def main():
    runtimes()
    pathlib.Path("optimized.cc").write_text(OPTIMIZED, encoding="utf-8")
    for compiler in ("g++", "clang++"):
        optimized(compiler)
    pathlib.Path("places.cc").write_text(PROGRAM, encoding="utf-8")
    pathlib.Path("other.c").write_text(OTHER, encoding="utf-8")
    pathlib.Path("script.tcl").write_text(SCRIPT, encoding="utf-8")
    subprocess.run(["g++", "-g", "-O0", "places.cc", "-o", "places"], check=True)
    subprocess.run(["gcc", "-g", "-O0", "other.c", "-o", "other"], check=True)
    done = subprocess.run([TOLLGATE, "live", "-q", "-o", "trace.tgt", "--force", "-x", "script.tcl", "--", "./places"],
                          capture_output=True, text=True, timeout=100, check=False)
    text = done.stdout + done.stderr
    at = 0
    for pattern in (r"^2 places:\n  0x\w+ heat::Solver::step\S* \(places\.cc#\d+\) in .*\n  0x\w+ heat::Solver::step\S* \(places\.cc#\d+\) in ",
                    r"^stack:   0  0x\w+  heat::Solver::step\S* +places\.cc#\d+\n +1  0x\w+  main +places\.cc#\d+",
                    r"^other: +1  0x\w+  main +other\.c#3"):
        match = re.compile(pattern, re.M).search(text, at)
        if match is None:
            sys.exit(f"no {pattern} in:\n{text[at:]}")
        at = match.end()
    if text.count("action point 2 is planted") != 1:
        sys.exit(f"not told once:\n{text}")
    if done.returncode != 0:
        sys.exit(f"status {done.returncode}:\n{text}")
    inlined()


main()
