"""Every field name in the JSON of `tollgate filter` is in tollgate-filter(1), and every name there is in the output.

usage: filter_fields_test.py TOLLGATE TRACE_FROM_JSON SOURCE_DIRECTORY
"""
import json
import os
import re
import subprocess
import sys
import tempfile


def names_in(value, found):
    if isinstance(value, dict):
        for key, member in value.items():
            found.add(key)
            names_in(member, found)
    elif isinstance(value, list):
        for member in value:
            names_in(member, found)
    return found


def documented(section):
    """Bold words of a subsection: options and values are set in italics there."""
    names = set()
    for line in re.findall(r"^\.BR? (.+)$", section, re.M):
        names |= set(re.findall(r"(?<![\w\\-])([a-z][a-z0-9_]+)", line))
    return names


def compare(title, page, found):
    names = documented(page.split(f".SS {title}\n")[1].split("\n.S", 1)[0])
    return [f"{title}: not documented: {name}" for name in sorted(found - names)] + [
        f"{title}: never written: {name}" for name in sorted(names - found)]


def main():
    tollgate, trace_from_json, source = sys.argv[1:]
    evaluation, decisions, explanation = set(), set(), set()

    def run(*arguments, statuses=(0,)):
        result = subprocess.run([tollgate, "filter", *arguments], capture_output=True, text=True)
        if result.returncode not in statuses:
            raise SystemExit(f"filter {arguments}: exit status {result.returncode}: {result.stderr}")
        return result.stdout

    with tempfile.TemporaryDirectory() as directory:
        for name in ("filter-slow", "filter-cuda"):
            trace = os.path.join(directory, name)
            subprocess.run([trace_from_json, f"{source}/tests/golden/fixtures/{name}.jsonl", trace], check=True)
            options = ["--suggest", "--processes", "4", "--round-trip-us", "100"]
            names_in(json.loads(run("--json", "--match", "*/libphysics*", *options, trace)), evaluation)
            for line in run("--json", "--decisions", trace).splitlines():
                names_in(json.loads(line), decisions)
    names_in(json.loads(run("--json", "--match", "*a*", "--explain", "/a", "/b", statuses=(0, 1))), explanation)
    page = open(f"{source}/docs/man/tollgate-filter.1", encoding="utf-8").read()
    problems = (compare("Evaluation", page, evaluation) + compare("Decisions", page, decisions) +
                compare("Explanation", page, explanation))
    print("\n".join(problems))
    return 1 if problems else 0


sys.exit(main())
