#!/usr/bin/env python3
"""dprint and conditions of breakpoints on a live job of OpenMP threads."""
import os
import pathlib
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
check syntax "powers are not computed" [catch {{dbreak {LINE} -if {{$round ** 2}}}} message; set message]
check place {{\\n +\\^}} $message
check expression "here is the end" [catch {{dbreak {LINE} -if {{${{round +}} == 1}}}} message; set message]
check unknown "there is no variable or function 'ronds'.*rounds" [catch {{dprint 1 + ronds}} message; set message]
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
check shared {{(?n): shared = \d+$}} [dprint -frame 1 shared]
check hexadecimal {{(?n): round = 0x2$}} [dprint /x round]
check locals {{number = 2\n +round = 2\n +mine = \(struct pair \*\) 0x}} [dprint]
check slice {{^1:4\[p1\.1-4\]: pairs\[2:2\] = \{{\{{left = 8, right = 6\}}\}}$}} [dprint {{pairs[2:2]}}]
check fold {{^1:4\[p1\.1-4\]: rounds = 3$}} [dprint rounds]
ddelete -a
puts "all checked"
dkill
"""


def main():
    with open("script.tcl", "w", encoding="utf-8") as script:
        script.write(SCRIPT)
    done = subprocess.run([TOLLGATE, "live", "-q", "-o", "t.tgt", "-x", "script.tcl", "--", PROGRAM], capture_output=True,
                          text=True, timeout=100, check=False, env={**os.environ, "OMP_NUM_THREADS": "4"})
    if "all checked" not in done.stdout:
        sys.exit(f"{done.returncode}\n{done.stdout}\n{done.stderr}")
    endless = subprocess.run([TOLLGATE, "live", "-q", "-o", "u.tgt", "-e", f"dbreak variables_threads.c#{LINE} -if {{[while 1 {{}}]}}",
                              "--", PROGRAM], capture_output=True, text=True, timeout=100, check=False)
    said = endless.stdout + endless.stderr
    if endless.returncode != 1 or "the commands that a condition can have are string " not in said:
        sys.exit(f"an endless condition is not refused: {endless.returncode}\n{said}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
