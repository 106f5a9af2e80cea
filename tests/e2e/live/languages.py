#!/usr/bin/env python3
"""C++ and Fortran as their users write them: names of templates, modules and components, in breakpoints, prints,
conditions, assignments and steps. And names of C whose debug information is split."""
import os
import pathlib
import re
import shutil
import subprocess
import sys

TOLLGATE = os.environ["TG_TOLLGATE"]

CPLUSPLUS = r"""#include <cstdio>
#include <string>
#include <vector>
namespace physics {
int count = 40;
template <typename T> struct Cell { T value, flux; };
struct Base { virtual ~Base() = default; int id = 7; };
template <typename T> class Grid : public Base {
  public:
    Grid(int n, std::string name) : cells(n), name(std::move(name)) { count += (int)sizeof(T); }
    void step(T by)
    {
        for (auto &cell : cells)
            cell.value += by;
        steps++; /* AFTER */
    }
    std::vector<Cell<T>> cells;
    std::string name;
    int steps = 0;
    static int count;
};
template <typename T> int Grid<T>::count = 3;
}
namespace other {
int count = 50;
void spread()
{
#pragma omp parallel num_threads(1)
    count++; /* WIDE */
}
}
int main()
{
    physics::Grid<double> fine(4, "rod");
    physics::Grid<float> coarse(3, "coarse");
    fine.step(0.5);
    coarse.step(0.25f);
    other::spread();
    std::printf("end %d %d %d %g\n", physics::count, other::count, fine.steps, coarse.cells[1].value);
}
"""

FORTRAN = r"""module ocean
  implicit none
  integer, parameter :: n = 8
  type :: buoy
    integer :: id
    real(8) :: depth
    real(8) :: track(3)
  end type
  real(8), allocatable :: t(:,:)
  type(buoy) :: buoys(2)
  integer :: steps = 0
contains
  subroutine relax(field, change)
    real(8), intent(inout) :: field(:,:)
    real(8), intent(out) :: change
    real(8) :: gain
    integer :: i
    common /shared/ gain
    change = 0
    do i = 2, size(field,1) - 1
      field(i,2) = gain * field(i-1,2)
      change = change + field(i,2) ! SUM
    end do
    steps = steps + 1
  end subroutine
end module
module other
  integer :: steps = 99
  type node
    integer :: value
    type(node), pointer :: next => null()
  end type
  type, extends(node) :: leaf
    integer :: colour
  end type
contains
  subroutine bump(self)
    class(node), intent(in) :: self
    steps = steps + self%next%value
  end subroutine
end module
program main
  use ocean, only: relax, t, buoys, buoy
  use other
  implicit none
  real(8) :: change, gain
  logical :: done
  real(16) :: quad
  complex(16) :: pair
  type(node), target :: list(2)
  type(leaf) :: last
  common /shared/ gain
  list(1)%value = 4
  list(2)%value = 1
  list(1)%next => list(2)
  allocate(t(0:4, 3))
  t = 1.5d0
  gain = 0.25d0
  quad = 1.5_16
  pair = (0.5_16, -3)
  done = .false.
  buoys(1) = buoy(1, 10.5d0, [1d0, 2d0, 3d0])
  buoys(2) = buoy(2, 20.5d0, [4d0, 5d0, 6d0])
  call relax(t, change)
  call bump(list(1))
  list(1)%value = 6
  last = leaf(6, list(2), 3)
  call bump(last)
  print *, "end", change, quad, pair, done
end program
"""

COMMANDS = {
    "cplusplus": """
dbreak physics::Grid<double>::step
dbreak Grid<float>::step
c
count|= 11
physics::count|= 40
other::count|= 50
Grid<float>::count|= 7
physics::Grid<double>::count + 1|= 12
steps < 1|= 1
this->id + id|= 14
cells.size|no member 'size'
cells|= std::vector of 4 = 
cells[3].flux|= 0
name|= "rod"
-raw name|_M_string_length = 3
c
count|= 7
by|= 0.25
dbreak NAME#AFTER -if {count == 7 && steps == 0}
c
dup
fine.steps|= 1
dassign coarse.steps 5
ddown
dnext
steps|= 6
dout
dbreak NAME#WIDE
c
dwhere
""",
    "fortran": """
dbreak RELAX
c
dwhere
gain|= 0.25
GAIN|= 0.25
n|= 8
steps|= 0
ocean::steps + 1|= 1
other::steps|= 99
OTHER::Steps|= 99
buoys(1)%track(2)|= 2
buoys(2)%TRACK(2:3)|= {5, 6}
buoys%depth|= {10.5, 20.5}
buoys%track|'track' is an array itself: give an index before it
2 * (buoys(1)%track(2) + 1.5d0)|= 7
1.5D-1|= 0.14999999999999999
1.5d|invalid number
buoys(1)%id == 1 .and. .not. buoys(2)%id == 1|= 1
.true. .and. gain .lt. 0.2d0|= 0
Field(2,2)|= 1.5
dassign field(2,2) -2.5D-1
field(2,:)|= {1.5, -0.25, 1.5}
dbreak NAME#SUM -if {i .eq. 3 .and. gain > 0}
c
i|= 3
dup
dassign done .true.
done|= true
quad|= 1.5
pair|= 0.5 - 3i
dassign quad -2.75
quad|= -2.75
ddown
dbreak other::BUMP
c
steps|= 99
ocean::steps|= 1
self%value|= 4
self%next%value * 2|= 2
self%nothing|no member 'nothing'; members are value, next
self|value = 4, next = 0x
c
self|value = 6, next = 0x
self|<of type Leaf>
bump()|functions of the program cannot be called here
dout
""",
}
EXPECTED = {
    "cplusplus": (r"^thread 1\.1 stopped at action point 1: physics::Grid<double>::step",
                  r"^thread 1\.1 stopped at action point 2: physics::Grid<float>::step",
                  r"^thread 1\.1 stopped at action point 3: physics::Grid<float>::step",
                  r"^frame 1: main", r"^frame 0: physics::Grid<float>::step", r"^thread 1\.1 stopped: main",
                  r"^ +0  0x\w+  other::spread\._omp_fn\.0 +grid\.cc#\d+$",
                  r"^end 40 51 1 0\.25$"),
    "fortran": (r"^thread 1\.1 stopped at action point 1: ocean::relax",
                r"^ +0  0x\w+  ocean::relax +ocean\.f90#\d+\n +1  0x\w+  MAIN__ ", r"^thread 1\.1 stopped at action point 2: ocean::relax",
                r"^frame 1: MAIN__", r"^thread 1\.1 stopped at action point 3: other::bump", r"^thread 1\.1 stopped: MAIN__",
                r"^ end .* -2\.7500.* T$"),
}

SPLIT = {
    "main": "int first(int), second(int);\nint main(void)\n{\n    return first(0) + second(0) == 0;\n}\n",
    "first": "#ifdef LARGE\n__thread char large[65536];\n#endif\nstatic int twin = 1;\nint first(int by)\n{\n    static __thread int own = 7;\n    own += by;\n"
             "    twin += by;\n    return twin + own;\n}\n",
    "second": "static int twin = 2;\nint second(int by)\n{\n    twin += by;\n    return twin;\n}\n",
}
SPLIT_SCRIPT = """
dbreak main; c
catch {dprint twin} text; puts $text
puts [dprint {'first.c'::twin}]; puts [dprint {'second.c'::twin}]
dbreak first; c; puts "first [dprint twin]"; catch {dprint own} text; puts "first $text"
dbreak second; c; puts "second [dprint twin]"
"""
SPLIT_OUTPUT = """several files have a 'twin': write 'first.c'::twin or 'second.c'::twin
'first.c'::twin = 1
'second.c'::twin = 2
first twin = 1
first own = 7
second twin = 2
"""

REMOVED = r"""
__attribute__((noinline)) void probe(void) { __asm__ volatile("" ::: "memory"); }
static __attribute__((noinline)) int count(int kept, int gone)
{
    static int calls = 5;
    calls += kept;
    probe();
    return calls;
}
static __attribute__((noinline)) long double weigh(int kept, long double weight)
{
    probe();
    return kept * weight;
}
__attribute__((noinline, noclone)) double scale(double factor)
{
    volatile double twice = factor * 2;
    probe();
    return twice;
}
/* The second time by jumps, with other arguments than main() has passed. */
static volatile int twice;
static int around(int kept, int lost);
static __attribute__((noinline, noclone)) int again(int kept, int lost)
{
    twice++;
    return around(kept - 1, lost + 20);
}
static __attribute__((noinline)) int around(int kept, int lost)
{
    if (kept > 1)
        return again(kept, lost);
    probe();
    twice++;
    return kept;
}
static __attribute__((noinline, noclone)) int once(int kept, int held)
{
    if (held == 0)
        return again(kept, 4);
    probe();
    twice++;
    return kept;
}
int main(int argc, char **argv)
{
    volatile int start = argc;
    int base = start, n = count(base, base + 40); /* in a register that calls keep */
    n += (int)weigh(base, 3.25L) + (int)scale(1.5);
    n += around(base + 1, base + 9);
    n += once(base, base + 7);
    return n + base - 15;
}
"""
REMOVED_SCRIPT = """
dbreak probe; c; dup
puts [dprint]; catch {dprint gone} text; puts $text
ddown; c; dup
puts [dprint weight]
ddown; c; dup
catch {dprint factor} text; puts $text
ddown; c; dup
catch {dprint lost} text; puts "of a jump: $text"
ddown; c; dup
catch {dprint held} text; puts $text
"""


def script_of(language, name, source):
    marks = {mark: 1 + source[: source.index(mark)].count("\n") for mark in ("AFTER", "SUM", "WIDE") if mark in source}
    lines = ["proc want {what part} {", "    set raw {}", "    regexp {^(-raw) (.*)} $what all raw what", "    catch {dprint {*}$raw $what} text",
             "    if {[string first $part $text] < 0} {error \"$what: '$text' has not '$part'\"}", "}"]
    for line in COMMANDS[language].strip().splitlines():
        for mark, number in marks.items():
            line = line.replace(f"#{mark}", f"#{number}").replace("NAME", name)
        what, bar, part = line.partition("|")
        lines.append(f"want {{{what}}} {{{part}}}" if bar else line)
    return "\n".join(lines + ["ddelete -a", "c", ""])


def session(language, name, source, compiler):
    pathlib.Path(name).write_text(source, encoding="utf-8")
    pathlib.Path("script.tcl").write_text(script_of(language, name, source), encoding="utf-8")
    subprocess.run([compiler, "-g", "-O0", "-fopenmp", name, "-o", language], check=True)
    done = subprocess.run([TOLLGATE, "live", "-q", "-o", "trace.tgt", "--force", "-x", "script.tcl", "--", f"./{language}"],
                          capture_output=True, text=True, timeout=60, check=False)
    if done.returncode != 0:
        sys.exit(f"{language}: status {done.returncode}:\n{done.stdout}\n{done.stderr}")
    at = 0
    for pattern in EXPECTED[language]:
        match = re.compile(pattern, re.M).search(done.stdout, at)
        if match is None:
            sys.exit(f"{language}: no {pattern} behind:\n{done.stdout[:at]}\n---\n{done.stdout[at:]}")
        at = match.end()


def split(compiler):
    """Variables of one name in several units, each of which is in a file of its own; a thread-local one, whose offset is an index."""
    pathlib.Path("split.tcl").write_text(SPLIT_SCRIPT, encoding="utf-8")
    for name, text in SPLIT.items():
        pathlib.Path(f"{name}.c").write_text(text, encoding="utf-8")
        subprocess.run([compiler, "-gdwarf-4", "-gsplit-dwarf", "-O0", "-c", f"{name}.c"], check=True)
    subprocess.run([compiler, "-o", "split"] + [f"{name}.o" for name in SPLIT], check=True)
    done = subprocess.run([TOLLGATE, "live", "-q", "-o", "trace.tgt", "--force", "-x", "split.tcl", "--", "./split"],
                          capture_output=True, text=True, timeout=60, check=False)
    lines = [line for line in done.stdout.splitlines() if "twin" in line or " own = " in line]
    shown = "".join(line + "\n" for line in lines if not line.startswith("twin"))
    if shown != SPLIT_OUTPUT:
        sys.exit(f"split, {compiler}:\n{done.stdout}\n{done.stderr}")
    # with so much thread-local data what may be an address of GCC's may be an offset: that value, or none
    subprocess.run([compiler, "-gdwarf-4", "-gsplit-dwarf", "-DLARGE", "-O0", "-c", "first.c"], check=True)
    subprocess.run([compiler, "-o", "split"] + [f"{name}.o" for name in SPLIT], check=True)
    done = subprocess.run([TOLLGATE, "live", "-q", "-o", "trace.tgt", "--force", "-x", "split.tcl", "--", "./split"],
                          capture_output=True, text=True, timeout=60, check=False)
    answers = ["first own = 7\n", "either of two places"] if compiler == "gcc" else ["first own = 7\n"]
    if not any(answer in done.stdout for answer in answers):
        sys.exit(f"split, large, {compiler}:\n{done.stdout}\n{done.stderr}")


def removed(compiler):
    """What optimization has removed, and debug information still tells."""
    pathlib.Path("removed.tcl").write_text(REMOVED_SCRIPT, encoding="utf-8")
    pathlib.Path("removed.c").write_text(REMOVED, encoding="utf-8")
    options = ["-fno-ipa-ra"] if compiler == "gcc" else [] # else registers that nobody saves are the caller's after all
    subprocess.run([compiler, "-g", "-O2", "-w", *options, "removed.c", "-o", "removed"], check=True)
    done = subprocess.run([TOLLGATE, "live", "-q", "-o", "trace.tgt", "--force", "-x", "removed.tcl", "--", "./removed"],
                          capture_output=True, text=True, timeout=60, check=False)
    lines = set(map(str.strip, done.stdout.splitlines()))
    of_gcc = ["gone = 41", "factor = 1.5", "held = 8"]
    expected = ["calls = 6", "weight = 3.25"] + (of_gcc if compiler == "gcc" else [])
    wrong = {"of a jump: lost = 10", "held = 0"} & lines
    if wrong or not set(expected) <= lines:
        sys.exit(f"removed, {compiler}:\n{done.stdout}\n{done.stderr}")


def unclear():
    """Sixteen bytes under a name that tells no format, as of another compiler: none is guessed."""
    program = pathlib.Path("fortran").read_bytes()
    for kind, other in ((b"real(kind=16)", b"REAL(16), odd"), (b"complex(kind=16)", b"COMPLEX(16), odd")):
        program = program.replace(kind, other)
    pathlib.Path("fortran").write_bytes(program)
    pathlib.Path("unclear.tcl").write_text("dbreak other::BUMP; c; dup\nforeach name {quad pair} {catch {dprint $name} text; "
                                           "puts $text}\n", encoding="utf-8")
    done = subprocess.run([TOLLGATE, "live", "-q", "-o", "trace.tgt", "--force", "-x", "unclear.tcl", "--", "./fortran"],
                          capture_output=True, text=True, timeout=60, check=False)
    if done.stdout.count("the format of this type's numbers is not known") != 2:
        sys.exit(f"unclear:\n{done.stdout}\n{done.stderr}")


def main():
    for compiler in filter(shutil.which, ("gcc", "clang")):
        split(compiler)
        removed(compiler)
    session("cplusplus", "grid.cc", CPLUSPLUS, "g++")
    session("fortran", "ocean.f90", FORTRAN, "gfortran")
    unclear()


main()
