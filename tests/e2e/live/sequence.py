#!/usr/bin/env python3
"""`opm sequence` of a job that runs: drawn from the trace while that is written, and by itself when something changed.
sequence.py gcc | clang"""
import os
import pathlib
import re
import subprocess
import sys
import xml.etree.ElementTree

from json_driver import Console, check

PROGRAM = """
int counter;
int main(void)
{
#pragma omp parallel num_threads(4)
    {
#pragma omp single
        counter++;
#pragma omp critical(tally)
        counter++;
    }
    return counter != 5;
}
"""
PICTURE = pathlib.Path("job.svg")


def drawn(what, *patterns):
    """Which picture it is; a new one replaces the file."""
    check(PICTURE.exists(), f"{what}: nothing was drawn")
    text = PICTURE.read_text(encoding="utf-8")
    xml.etree.ElementTree.fromstring(text)
    for pattern in patterns:
        check(re.search(pattern, text), f"{what}: no {pattern} in {text}")
    return PICTURE.stat().st_mtime_ns, PICTURE.stat().st_ino


def main():
    pathlib.Path("job.c").write_text(PROGRAM, encoding="utf-8")
    subprocess.run([sys.argv[1], "-g", "-fopenmp", "-o", "job", "job.c"], check=True)
    # a former trace of that name is not what is drawn, and neither is anything opened where nobody sees it
    pathlib.Path("job.tgt").write_text("not a trace", encoding="utf-8")
    PICTURE.unlink(missing_ok=True)
    blind = {name: value for name, value in os.environ.items() if name not in ("DISPLAY", "WAYLAND_DISPLAY")}
    job = Console("live", "-q", "--force", "-o", "job.tgt", "--", "./job", env=blind)
    error = job.fails("opm sequence --print", "NOT_FOUND")
    check("nothing to draw" in error["message"], f"before the first region: {error}")
    job.ask("set opm opm-auto-sequence on")
    job.ask("opm start")
    job.ask("opm next critical")
    at_critical = drawn("at the critical section", "parallel", "single", "critical section tally")
    job.ask("opm all_out")
    behind = drawn("behind it", "critical section tally")
    check(behind != at_critical, "not drawn again behind the critical section")
    job.ask("set nothing 1")
    check(drawn("nothing has changed") == behind, "drawn again though nothing has changed")
    job.ask("dfocus 1.2")
    focused = drawn("another focus")
    check(focused != behind, "not drawn again for another focus")
    job.ask("dhold")
    check(drawn("held") != focused, "not drawn again when a thread was held")
    job.ask("dunhold")
    job.ask("set opm-auto-sequence off")  # the same
    latest = drawn("off")
    job.ask("dfocus 1.1")
    check(drawn("off") == latest, "drawn though it is off")
    text = job.ask("opm sequence --print")["text"]
    check(re.search(r'critical section tally.*w\d -> w\d', text, re.S), text)
    for option in ("--open", "--gui"):
        answer = job.ask(f"opm sequence --force --all {option}")["text"]
        check(answer.startswith("job.svg\nnot opened: there is no display"), answer)
    job.ask("opm sequence --no-gen --async")
    check("critical section tally" in pathlib.Path("job.diag").read_text(encoding="utf-8"), "the description")
    # once more into what this console has drawn; another's file stays
    job.ask("opm sequence --sync")
    pathlib.Path("other.svg").write_text("another's", encoding="utf-8")
    job.fails("opm sequence --output other.svg", "EXISTS")
    check(pathlib.Path("other.svg").read_text(encoding="utf-8") == "another's", "another's file")
    job.fails("opm sequence --force --output job.tgt.incomplete", "USAGE")
    job.ask("dcont")
    job.end(1)  # commands have failed


main()
