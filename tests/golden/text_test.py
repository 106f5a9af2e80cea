"""Mermaid and PlantUML: every diagram of every fixture keeps to the grammar of its format, whatever names are in it; PlantUML
itself reads them too where it is installed.

usage: text_test.py TOLLGATE TRACE_FROM_JSON PLANTUML FIXTURE...     (PLANTUML may be "")
"""
import os
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
from diagram_texts import check_mermaid, check_plantuml  # noqa: E402

OPTIONS = ([], ["--all"], ["--by", "worker", "--all"], ["--by", "rank"])


def main():
    tollgate, trace_from_json, plantuml, *fixtures = sys.argv[1:]
    problems, seen = [], set()
    with tempfile.TemporaryDirectory() as directory:
        trace, files = os.path.join(directory, "a.tgt"), []
        for fixture in fixtures:
            subprocess.run([trace_from_json, fixture, trace], check=True)
            for options in OPTIONS:
                for name, check in (("mermaid", check_mermaid), ("plantuml", check_plantuml)):
                    drawn = subprocess.run([tollgate, "sequence", "--print", "--format", name, *options, trace],
                                           capture_output=True)
                    if drawn.returncode == 2 and b"nothing to draw" in drawn.stderr:
                        continue
                    text = drawn.stdout.decode()
                    if drawn.returncode != 0 or text in seen:
                        problems += [f"{fixture} {options}: {drawn.stderr.decode()}"] if drawn.returncode else []
                        continue
                    seen.add(text)
                    problems += [f"{fixture} {options} {name}: {problem}" for problem in check(text)]
                    if name == "plantuml":
                        files.append(os.path.join(directory, f"{len(files)}.puml"))
                        with open(files[-1], "w", encoding="utf-8") as file:
                            file.write(text)
        if plantuml:
            read = subprocess.run([plantuml, "-checkonly", "-charset", "UTF-8", *files], capture_output=True, text=True)
            if read.returncode != 0 or "rror" in read.stderr:
                problems.append(f"plantuml: {read.stdout} {read.stderr}")
    print("\n".join(problems))
    print(f"{len(seen)} diagrams" + ("" if plantuml else "; there is no plantuml here, so only the own reader looked"))
    return 1 if problems or len(seen) < 20 else 0


sys.exit(main())
