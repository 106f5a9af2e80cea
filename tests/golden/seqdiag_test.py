"""seqdiag accepts every diagram: of every fixture by worker and by rank, the last state and everything, and draws whatever
other tests expect tollgate to print.

usage: seqdiag_test.py TOLLGATE TRACE_FROM_JSON EXPECTED FIXTURE...     (EXPECTED: the directory of *.out)
"""
import glob
import os
import re
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
from diagram_texts import check_seqdiag, laid_out_by_seqdiag  # noqa: E402 (beside this file)

OPTIONS = ([], ["--all"], ["--by", "worker"], ["--by", "worker", "--all"], ["--by", "rank"])


def expected_texts(directory):
    """(where, text) of every diagram in expected output."""
    for path in sorted(glob.glob(f"{directory}/*.out")):
        with open(path, encoding="utf-8") as file:
            for match in re.finditer(r"^seqdiag \{$.*?^\}$", file.read(), re.M | re.S):
                yield path, match.group(0) + "\n"


def drawn_texts(tollgate, trace_from_json, fixtures, trace, problems):
    for fixture in fixtures:
        subprocess.run([trace_from_json, fixture, trace], check=True)
        for options in OPTIONS:
            result = subprocess.run([tollgate, "sequence", "--print", *options, trace], capture_output=True)
            if result.returncode == 2 and b"nothing to draw" in result.stderr:
                continue
            if result.returncode != 0:
                problems.append(f"{fixture} {options}: {result.stderr.decode()}")
                continue
            # the trace's name is the only thing that tells it from what another test expects
            yield f"{fixture} {options}", result.stdout.decode()


def main():
    tollgate, trace_from_json, expected, *fixtures = sys.argv[1:]
    seen, problems = set(), []
    with tempfile.TemporaryDirectory() as directory:
        trace = os.path.join(directory, "a.tgt")
        texts = [(check_seqdiag, *text) for text in expected_texts(expected)]
        texts += [(laid_out_by_seqdiag, *text) for text in drawn_texts(tollgate, trace_from_json, fixtures, trace, problems)]
        for check, where, text in texts:
            what = re.sub(r"^  // [^:\n]*", "  // ", text, flags=re.M)
            if what in seen:
                continue
            seen.add(what)
            problems += [f"{where}: {problem}" for problem in check(text)]
    print("\n".join(problems))
    print(f"{len(seen)} diagrams")
    return 1 if problems or len(seen) < 10 else 0


sys.exit(main())
