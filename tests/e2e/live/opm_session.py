#!/usr/bin/env python3
"""The session of the OpenMP module's document, command by command: start, next, step, step out, critical next, all_out, barrier
pass, sections. With gcc and with clang, each answer compared."""
import os
import re
import subprocess

from live_console import LiveConsole, fail

PROGRAM = r"""
static volatile int counted[8];
static void stage(int which) { __atomic_fetch_add(&counted[which], 1, __ATOMIC_RELAXED); }
int main(void)
{
#pragma omp parallel num_threads(4)
    {
#pragma omp single
        stage(0);
#pragma omp critical
        stage(1);
#pragma omp barrier
        stage(2);
#pragma omp sections
        {
#pragma omp section
            stage(3);
#pragma omp section
            stage(4);
#pragma omp section
            stage(5);
        }
        stage(6);
    }
    return 0;
}
"""
ALL = r"^4 of 4 workers are out and stopped behind it$"
# a command, and what its answer has to match; then the counters that are known
SESSION = [
    ("opm start", r"^thread 1\.1 reaches a parallel region$", {}),
    ("info workers", r"^ > worker 1 \(thread \d+\) outside parallel regions$", {}),
    ("opm next single", r"^thread 1\.\d reaches a single in ", {0: 0}),
    ("opm step", r"^worker \d: in a single since ", {0: 0}),
    ("opm all_out", ALL, {0: 1, 1: 0}),
    ("opm next critical", r"^thread 1\.\d reaches a critical section in ", {1: 0}),
    ("opm critical next", r"^worker \d: inside the critical section since ", {1: 0}),
    ("opm critical next", r"^worker \d: inside the critical section since ", {1: 1}),
    ("opm critical next", r"^worker \d: inside the critical section since ", {1: 2}),
    ("opm all_out", ALL, {1: 4, 2: 0}),
    ("info barrier", r"^  barrier 2 in .*: explicit, closed.*\n  passed   none\n  waiting  \S+", {}),
    ("opm barrier pass", ALL, {1: 4, 2: 0, 3: 0}),
    ("info barrier", r"^no team is at a barrier$", {}),
    ("opm sections new", r"^`dcont` will stop at the start of each sections zone$", {}),
    ("dcont", r"^thread 1\.\d reaches a sections zone in ", {2: None, 3: 0}),
    ("opm sections step-by-step", r"^SectionJob #1 has 3 sections, 0 already completed\.\n"
                                  r"Section zone breakpoint enabled on SectionJob #1\.$", {3: 0, 4: 0, 5: 0}),
    ("info workers", r"^ > worker \d \(thread \d+\) !$", {}),
    ("dcont", r"^\[Starting execution of Section 1\.\]$", {3: 0, 4: 0, 5: 0}),
    ("dcont", r"^\[Starting execution of Section 2\.\]$", {3: 1, 4: 0, 5: 0}),
    ("dcont", r"^\[Starting execution of Section 3\.\]$", {3: 1, 4: 1, 5: 0}),
    ("opm sequence --print", r"\"section 3\"", {}),
    ("dcont", r"^\[SectionJob #1 finished\.\]$", {3: 1, 4: 1, 5: 1, 6: 0}),
]


def counters(console):
    numbers = []
    for part in re.search(r"\{(.*)\}", console.do("dprint counted"))[1].split(","):
        found = re.fullmatch(r"\s*(\d+)(?: <repeats (\d+) times>)?\s*", part)
        numbers += [int(found[1])] * int(found[2] or 1)
    return numbers


def process(compiler):
    subprocess.run([compiler, "-g", "-O1", "-fopenmp", "-o", f"doc.{compiler}", "doc.c"], check=True)
    console = LiveConsole("-o", "trace.tgt", "--force", "--", f"./doc.{compiler}", stderr=subprocess.DEVNULL)
    for command, pattern, counted in SESSION:
        answer = console.do(command)
        if not re.search(pattern, answer, re.M):
            fail(f"{compiler}: {command}: no {pattern!r} in\n{answer}")
        numbers = counters(console) if counted else []
        for which, value in counted.items():
            if value is not None and numbers[which] != value:
                fail(f"{compiler}: {command}: counted {which} is {numbers[which]}, not {value}: {numbers}")
    console.do("opm sections new off")
    answer = console.command("opm critical next")  # there is none around: refused, nobody moves
    if answer["ok"] or "is not inside a critical section" not in answer["error"]["message"]:
        fail(f"{compiler}: {answer}")
    console.do("dcont")
    console.end("quit")


def main():
    os.environ.update(OMP_WAIT_POLICY="passive", KMP_BLOCKTIME="0")
    with open("doc.c", "w", encoding="utf-8") as file:
        file.write(PROGRAM)
    process("gcc")
    process("clang")


main()
