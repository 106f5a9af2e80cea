#!/usr/bin/env python3
"""drun makes action points again whose ranks come long after the job's starter, in the run after that as well."""
import os
import re
import subprocess
import sys

SOURCE = """
int count;
void meet(void)
{
    count++;
}
int main(void)
{
    meet();
    return 0;
}
"""

# by what their launchers give them, these are two ranks
JOB = "PMI_RANK=0 PMI_SIZE=2 ./rank & PMI_RANK=1 PMI_SIZE=2 ./rank; wait"

SCRIPT = """
proc ranks {} {dgo; dwait -ranks 2}
if 1 ranks
# what happened is told of everybody where no focus was set, and of those in a focus
puts "EVERYBODY [llength [split [info processes] \\n]] [llength [split [dfocus r1 {info processes}] \\n]]"
dfocus gSr0 {dbreak meet -t -if {$count == 0}}
dfocus gSr0 {dbreak main}
ddisable 2
# once more before they have come, and then in a run of their own
drun
drun
dwait -ranks 2
puts [dactions]
dfocus gSr0 dcont
puts "STAND [dptsets breakpoint(a)]"
drun
dwait -ranks 2
dfocus gSr0 dcont
puts "STAND [dptsets breakpoint(a)]"
quit -kill 0
"""


def main():
    subprocess.run(["gcc", "-g", "-x", "c", "-", "-o", "rank"], input=SOURCE, text=True, check=True)
    with open("script.tcl", "w", encoding="utf-8") as script:
        script.write(SCRIPT)
    done = subprocess.run([os.environ["TG_TOLLGATE"], "live", "-o", "trace.tgt", "-x", "script.tcl", "--", "sh", "-c", JOB],
                          stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60, check=False)
    for pattern, times in ((r"^2 action points are set again as soon as their processes exist", 3), (r"^set again: dfocus \{gSr0\.<\} dbreak \{meet\} -t -if ", 2),
                           (r"^  \d \[<?.*#9\] Disabled$", 1), (r"^STAND breakpoint\(a\): 2:2\[0-1\.1\]$", 2), (r"^not set again", 0), (r"^EVERYBODY 4 2$", 1)):
        if len(re.findall(pattern, done.stdout, re.MULTILINE)) < times or (times == 0 and re.search(pattern, done.stdout, re.MULTILINE)):
            sys.exit(f"FAILED: {pattern} is not there {times} times, status {done.returncode}:\n{done.stdout}{done.stderr}")
    if done.returncode != 0:
        sys.exit(f"FAILED: status {done.returncode}:\n{done.stdout}{done.stderr}")


main()
