"""seqdiag accepts every diagram: of every fixture by worker and by rank, the last state and everything, and whatever other
tests expect tollgate to print.

usage: seqdiag_test.py SEQDIAG TOLLGATE TRACE_FROM_JSON EXPECTED FIXTURE...     (EXPECTED: the directory of *.out)
"""
import glob
import os
import re
import subprocess
import sys
import tempfile

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
    seqdiag, tollgate, trace_from_json, expected, *fixtures = sys.argv[1:]
    seen, problems = set(), []
    with tempfile.TemporaryDirectory() as directory:
        trace, text_file, picture = (os.path.join(directory, name) for name in ("a.tgt", "a.diag", "a.svg"))
        texts = list(expected_texts(expected)) + list(drawn_texts(tollgate, trace_from_json, fixtures, trace, problems))
        for where, text in texts:
            what = re.sub(r"^  // [^:\n]*", "  // ", text, flags=re.M)
            if what in seen:
                continue
            seen.add(what)
            with open(text_file, "w", encoding="utf-8") as file:
                file.write(text)
            accepted = subprocess.run([seqdiag, "-T", "svg", "-o", picture, text_file], capture_output=True, text=True)
            # seqdiag says "ERROR" where it gave up, sometimes with status 0
            if accepted.returncode != 0 or "ERROR" in accepted.stderr or not os.path.exists(picture):
                problems.append(f"{where}: {accepted.stderr}")
            else:
                os.remove(picture)
    print("\n".join(problems))
    print(f"{len(seen)} diagrams")
    return 1 if problems or len(seen) < 10 else 0


sys.exit(main())
