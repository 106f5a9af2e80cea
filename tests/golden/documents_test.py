"""Golden test of the JSON documents that the page gets: those in the page of a fixture are what expected/page-NAME.out says. The
diagram has goldens of its own.

usage: documents_test.py TOLLGATE TRACE_FROM_JSON EXPECTED FIXTURE...
TG_GOLDEN_UPDATE=1 rewrites the expected files: read the difference before committing it.
"""
import difflib
import json
import os
import re
import subprocess
import sys
import tempfile

WIDTH = 160


def printed(value, indent=""):
    """JSON in which what fits a line is one."""
    line = json.dumps(value, ensure_ascii=False)
    if len(indent) + len(line) <= WIDTH or not isinstance(value, (dict, list)) or not value:
        return line
    inner = indent + " "
    if isinstance(value, dict):
        items, ends = [f"{inner}{json.dumps(key)}: {printed(one, inner)}" for key, one in value.items()], "{}"
    else:
        items, ends = [inner + printed(one, inner) for one in value], "[]"
    return ends[0] + "\n" + ",\n".join(items) + "\n" + indent + ends[1]


def documents(page):
    found = re.findall(r'<script [^>]*id="data-(\w+)"[^>]*>(.*?)</script>', page, re.S)
    return "".join(f"-- {name}\n{printed(json.loads(text))}\n" for name, text in found if name != "diagram")


def main():
    tollgate, trace_from_json, expected, *fixtures = sys.argv[1:]
    differences, n_documents = [], 0
    with tempfile.TemporaryDirectory() as directory:
        for fixture in fixtures:
            name = os.path.splitext(os.path.basename(fixture))[0]
            trace, page, path = f"{directory}/{name}.tgt", f"{directory}/{name}.html", f"{expected}/page-{name}.out"
            subprocess.run([trace_from_json, fixture, trace], check=True)
            subprocess.run([tollgate, "report", "--html", page, trace], check=True)
            with open(page, encoding="utf-8") as file:
                actual = documents(file.read())
            n_documents += actual.count("-- ")
            if os.environ.get("TG_GOLDEN_UPDATE") == "1":
                with open(path, "w", encoding="utf-8") as file:
                    file.write(actual)
                continue
            with open(path, encoding="utf-8") as file:
                differences += difflib.unified_diff(file.read().splitlines(True), actual.splitlines(True), path, "actual")
    sys.stdout.writelines(differences)
    return 1 if differences or n_documents < 3 * len(fixtures) else 0


sys.exit(main())
