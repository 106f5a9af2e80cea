"""Every field name in `report --json` is in tollgate-report(1), and every name there is in the output.

usage: json_fields_test.py TOLLGATE TRACE_FROM_JSON SOURCE_DIRECTORY
"""
import json
import os
import re
import subprocess
import sys
import tempfile


def names_in(value, found, skip=()):
    if isinstance(value, dict):
        for key, member in value.items():
            found.add(key)
            if key not in skip:
                names_in(member, found, skip)
    elif isinstance(value, list):
        for member in value:
            names_in(member, found, skip)
    return found


def main():
    tollgate, trace_from_json, source = sys.argv[1:]
    fixtures = f"{source}/tests/golden/fixtures"
    found = set()
    with tempfile.TemporaryDirectory() as directory:
        for fixture in sorted(os.listdir(fixtures)):
            trace = os.path.join(directory, fixture)
            subprocess.run([trace_from_json, os.path.join(fixtures, fixture), trace], check=True)
            report = subprocess.run([tollgate, "report", "--json", trace], capture_output=True, check=True).stdout
            names_in(json.loads(report), found, skip=("meta",))
    page = open(f"{source}/docs/man/tollgate-report.1", encoding="utf-8").read()
    section = page.split(".SH JSON\n")[1].split("\n.SH")[0].split("\n.TP\n", 1)[1]
    documented = set(re.findall(r"^\.BR? ([a-z_]+)(?: [,.)]+)?$", section, re.M))
    problems = [f"not in tollgate-report(1): {name}" for name in sorted(found - documented)]
    problems += [f"in tollgate-report(1), never written: {name}" for name in sorted(documented - found)]
    print("\n".join(problems))
    return 1 if problems else 0


sys.exit(main())
