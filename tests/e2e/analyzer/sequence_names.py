#!/usr/bin/env python3
"""A recorded program whose source file and functions have hostile names: every format of its sequence diagram stays what it
is. Locks are called by their names.

usage: sequence_names.py
"""
import json
import os
import re
import shutil
import subprocess
import sys
import xml.etree.ElementTree as tree

from recording import TOLLGATE, check, record, run, skip

sys.path.insert(0, os.path.join(os.environ["TG_SOURCE"], "tests/golden"))
from diagram_texts import DECEIVING, check_mermaid, check_plantuml, check_seqdiag  # noqa: E402

HOSTILE = "]]></g></svg><script>alert(1)</script> end ; # %% === x === @enduml {y} ' ` --> \u202e"
PROGRAM = r"""
#include <omp.h>
static volatile int sum;
static omp_lock_t sum_lock;
#line 12 "/src/\"%s%s.c"
int main(void)
{
    omp_init_lock(&sum_lock);
    #pragma omp parallel num_threads(3)
    {
        #pragma omp critical
        sum++;
        #pragma omp barrier
        #pragma omp single
        sum++;
        #pragma omp critical (update_sum)
        sum++;
        omp_set_lock(&sum_lock);
        omp_unset_lock(&sum_lock);
    }
    return 0;
}
"""


def main():
    if shutil.which("gcc") is None:
        skip("there is no gcc")
    made = subprocess.run(["gcc", "-g", "-O1", "-fopenmp", "-x", "c", "-", "-o", "end \"<b>;'$(x)"],
                          input=PROGRAM % (HOSTILE, "long" * 200), text=True, capture_output=True)
    check(made.returncode == 0, made.stderr)
    recorded = record("trace.tgt", ["./end \"<b>;'$(x)"])
    check(recorded.status == 0, recorded)
    drawn = {}
    for name in ("svg", "html", "seqdiag", "mermaid", "plantuml"):
        result = run([TOLLGATE, "sequence", "--all", "--print", "--format", name, "trace.tgt"])
        check(result.status == 0, name, result)
        drawn[name] = result.output
        check(not DECEIVING.search(result.output), name, "has a character that deceives")
    check("enduml" in drawn["svg"], "the name is not there, so that nothing was tried:", drawn["svg"][:2000])
    root = tree.fromstring(drawn["svg"].encode())
    check(not list(root.iter("{http://www.w3.org/2000/svg}script")), "a script in the picture")
    documents = len(re.findall('<script type="application/json" id="data-[a-z]+">', drawn["html"]))
    check(len(re.findall("<script", drawn["html"])) == documents + 1 == len(re.findall("</script>", drawn["html"])),
          "another script in the page than its own, or one that a name has ended")
    check(not check_mermaid(drawn["mermaid"]), check_mermaid(drawn["mermaid"]))
    check(not check_plantuml(drawn["plantuml"]), check_plantuml(drawn["plantuml"]))
    problems = check_seqdiag(drawn["seqdiag"])
    check(not problems, problems)
    # locks and critical sections have the names of the program, here as in the document for trace viewers
    shown = run([TOLLGATE, "dump", "--chrome", "trace.tgt"])
    check(shown.status == 0, shown)
    slices = {event["name"] for event in json.loads(shown.output)["traceEvents"] if event["ph"] == "X"}
    for name in ("lock sum_lock", "critical section update_sum"):
        check(name in drawn["svg"], name, "is not in the picture")
        check(name in slices and "wait: " + name in slices, name, "is not among", sorted(slices))


main()
