#!/usr/bin/env python3
"""dprint and conditions of breakpoints on a live job of OpenMP threads."""
import os
import pathlib
import re
import subprocess
import sys

TOLLGATE = os.environ["TG_TOLLGATE"]
PROGRAM = os.path.join(os.environ["TG_PROGRAMS"], "variables_threads")
SOURCE = pathlib.Path(os.environ["TG_SOURCE"], "tests/programs/variables_threads.c").read_text(encoding="utf-8")
LINE = 1 + SOURCE[: SOURCE.index("line of the breakpoint: work")].count("\n")

SCRIPT = f"""
proc check {{what pattern text}} {{
    if {{![regexp $pattern $text]}} {{ error "$what: '$text' does not match $pattern" }}
}}
check syntax "is not supported in conditions" [catch {{dbreak {LINE} -if {{$round ** 2}}}} message; set message]
check place {{\\n +\\^}} $message
check expression "found the end" [catch {{dbreak {LINE} -if {{${{round +}} == 1}}}} message; set message]
check unknown "no variable or function 'ronds'.*rounds" [catch {{dprint 1 + ronds}} message; set message]
check mark {{\\n +\\^}} $message
check global {{^rounds = 3$}} [dprint rounds]

# in the last round alone, and of its four threads the one with number 2
dbreak variables_threads.c#{LINE} -if {{$round == 2 && $number == 2 && ${{pairs[2].left}} > 6 && $rip != 0}}
dcont
dfocus a
check condition {{(?n)^1:1\[p1\.\d\]: number = 2$}} [dprint number]
check struct {{(?n): \*mine = \{{left = 8, right = 6\}}$}} [dprint *mine]
check argument {{(?n)^1:\d\[.*\]: round = 2$}} [dprint round]
check outer {{(?n)^1:1\[.*\]: given = 9$}} [dprint -frame 1 given]
check shared {{(?n): shared = (\(int &\) @0x[0-9a-f]+: )?\d+$}} [dprint -frame 1 shared]
check hexadecimal {{(?n): round = 0x2$}} [dprint /x round]
check locals {{number = 2\n +round = 2\n +mine = \(struct pair \*\) 0x}} [dprint]
check slice {{^1:4\[p1\.1-4\]: pairs\[2:2\] = \{{\{{left = 8, right = 6\}}\}}$}} [dprint {{pairs[2:2]}}]
check fold {{^1:4\[p1\.1-4\]: rounds = 3$}} [dprint rounds]
# brackets as the user types them: indexes, where Tcl would call commands ('n' is dnext)
check typed {{= 8$}} [dprint pairs[2].left]
proc left i {{dprint pairs[$i].left}}
check procedure {{= 8$}} [left 2]
dprint pairs[number].left
catch {{dprint pairs[nosuch]}} message
check name {{invalid command name "nosuch"}} $message
ddelete -a
puts "all checked"
dkill
"""


HEADER = """static const int limit = 7; static const double table[2] = {1, 2}; static int calls;
static int twice(int x) { return 2 * x; }
"""
UNIT = """#include "common.h"
static int own = %d; int %s(void) { calls += %d; return twice(limit + calls + own + (int)table[calls & 1]); }
"""


def check_ambiguous():
    """Copies of a header's constant or function are one; other names say whose they are by files that differ. Lines that there are not."""
    files = {"common.h": HEADER, "one.c": UNIT % (1, "one", 1), "two.c": UNIT % (2, "two", 2),
             "names.c": "int one(void); int two(void); int main(void) { int all = one() + two();\nreturn all == 0; }\n"}
    for name, text in files.items():
        pathlib.Path(name).write_text(text, encoding="utf-8")
    subprocess.run(["gcc", "-g", "-O0", "one.c", "two.c", "names.c", "-o", "names"], check=True)
    asked = ["limit", "table", "calls", "'two.c'::calls", "'one.c'::calls", "own", "tg_agent_moment", "begin_body"]
    script = ["catch {dbreak names.c#9999} text; puts $text", "catch {dbarrier names.c#3} text; puts $text", "catch {dbreak nowhere.c#1} text; puts $text",
              "puts [dset]", "puts number-[dbreak common.h#1]", "puts [dactions 1]", "ddelete 1", "dbreak names.c#2", "dcont", *(f"catch {{dprint {{{name}}}}} text; puts $text" for name in asked)]
    done = subprocess.run([TOLLGATE, "live", "-q", "-o", "n.tgt", *(word for line in script for word in ("-e", line)), "-e",
                           "quit -kill 0", "--", "./names"], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=100,
                          check=False)
    table = re.search(r"^NAME +VALUE +MEANING\n(?:.+\n)+?ASSEMBLER_SYNTAX .*\n", done.stdout, re.MULTILINE)
    if table is None or max(map(len, table[0].splitlines())) > 100 or \
            not re.search(r"^STOP_ALL +process +what dbreak stops when .*\n +-p, -g or -t is given$", table[0], re.MULTILINE):
        sys.exit(f"the table of dset: {done.stdout}{done.stderr}")
    for wanted in ("'names.c' has no code at or after line 9999: its last line with code is 2\n",
                   "'names.c' has no code at or after line 3: its last line with code is 2\n", "'nowhere.c#1' not found in any process;",
                   "number-1\n", "/common.h#2]\n", "limit = 7\n", "table = {1, 2}\n", "several files have a 'calls': write 'one.c'::calls or 'two.c'::calls\n",
                   "'two.c'::calls = 2\n", "'one.c'::calls = 1\n", "several files have a 'own': write 'one.c'::own or 'two.c'::own\n",
                   "no variable or function 'tg_agent_moment' here", "no variable or function 'begin_body' here"):
        if wanted not in done.stdout:
            sys.exit(f"{wanted} is not there: {done.stdout}{done.stderr}")


def main():
    check_ambiguous()
    with open("script.tcl", "w", encoding="utf-8") as script:
        script.write(SCRIPT)
    done = subprocess.run([TOLLGATE, "live", "-q", "-o", "t.tgt", "-x", "script.tcl", "--", PROGRAM], capture_output=True,
                          text=True, timeout=100, check=False, env={**os.environ, "OMP_NUM_THREADS": "4"})
    if "all checked" not in done.stdout or not re.search(r"^1:1\[p1\.\d\]: pairs\[number\]\.left = 8$", done.stdout, re.M):
        sys.exit(f"{done.returncode}\n{done.stdout}\n{done.stderr}")
    endless = subprocess.run([TOLLGATE, "live", "-q", "-o", "u.tgt", "-e", f"dbreak variables_threads.c#{LINE} -if {{[while 1 {{}}]}}",
                              "--", PROGRAM], capture_output=True, text=True, timeout=100, check=False)
    said = endless.stdout + endless.stderr
    if endless.returncode != 1 or "a condition can only use the commands string " not in said:
        sys.exit(f"an endless condition is not refused: {endless.returncode}\n{said}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
