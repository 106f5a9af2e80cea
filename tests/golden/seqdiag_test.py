"""seqdiag accepts every diagram: of every fixture by worker and by rank, the last state and everything.

usage: seqdiag_test.py SEQDIAG TOLLGATE TRACE_FROM_JSON FIXTURE...
"""
import os
import subprocess
import sys
import tempfile


def main():
    seqdiag, tollgate, trace_from_json, *fixtures = sys.argv[1:]
    drawn, problems = 0, []
    with tempfile.TemporaryDirectory() as directory:
        trace, text, picture = (os.path.join(directory, name) for name in ("a.tgt", "a.diag", "a.svg"))
        for fixture in fixtures:
            subprocess.run([trace_from_json, fixture, trace], check=True)
            seen = set()
            for options in ([], ["--all"], ["--by", "worker"], ["--by", "worker", "--all"], ["--by", "rank"]):
                result = subprocess.run([tollgate, "sequence", "--print", *options, trace], capture_output=True)
                if result.returncode == 2 and b"nothing to draw" in result.stderr:
                    continue
                if result.returncode != 0:
                    problems.append(f"{fixture} {options}: {result.stderr.decode()}")
                    continue
                if result.stdout in seen:
                    continue
                seen.add(result.stdout)
                with open(text, "wb") as file:
                    file.write(result.stdout)
                accepted = subprocess.run([seqdiag, "-T", "svg", "-o", picture, text], capture_output=True, text=True)
                drawn += 1
                # seqdiag says "ERROR" where it gave up, sometimes with status 0
                if accepted.returncode != 0 or "ERROR" in accepted.stderr or not os.path.exists(picture):
                    problems.append(f"{fixture} {options}: {accepted.stderr}")
                else:
                    os.remove(picture)
    print("\n".join(problems))
    print(f"{drawn} diagrams")
    return 1 if problems or drawn < 10 else 0


sys.exit(main())
