"""docs/conformance.md: every test that it names exists, as does the function or script behind its colon; every line of a
table has a test or is open, with the issue.

usage: conformance_test.py SOURCE_DIRECTORY BUILD_DIRECTORY CTEST
"""
import glob
import os
import re
import subprocess
import sys

FOLDER = {"unit": "tests/unit", "golden": "tests/golden", "e2e": "tests/e2e", "docs": "tests/docs", "truth": "tests/truth"}


def known_tests(build, ctest):
    listing = subprocess.run([ctest, "-N"], cwd=build, stdout=subprocess.PIPE, text=True, check=True).stdout
    return set(re.findall(r"Test +#\d+: (\S+)", listing))


def sources_of(source, test):
    """Files in which a detail of TEST may be."""
    kind, rest = test.split("/", 1)
    if kind == "unit":
        return [f"{source}/tests/unit/{rest}_test.c"]
    folder = os.path.join(source, FOLDER[kind], os.path.dirname(rest) if kind == "e2e" else "")
    return [path for path in glob.glob(os.path.join(folder, "**"), recursive=True) if os.path.isfile(path)]


def has_detail(source, test, detail):
    for path in sources_of(source, test):
        if os.path.basename(path) == detail:
            return True
        with open(path, encoding="utf-8", errors="replace") as file:
            if re.search(rf"\b{re.escape(detail)}\b", file.read()):
                return True
    return False


def rows(text):
    """(line number, cells) of every row of a table, headings left out."""
    for number, line in enumerate(text.splitlines(), 1):
        if line.startswith("|") and not line.startswith(("| requirement", "|---")):
            yield number, [cell.strip() for cell in line.strip().strip("|").split("|")]


def wrong_with(source, tests, cells):
    if len(cells) != 3:
        return [f"{len(cells)} columns in place of 3"]
    requirement, how, named = cells
    wrong = []
    if not requirement:
        wrong.append("no requirement")
    if not named:
        if not re.search(r"\*Open\* \(issue \d+\)", how):
            wrong.append("neither a test nor '*Open* (issue N)'")
        return wrong
    for part in named.split("; "):
        match = re.fullmatch(r"`([^`]+)`(?:: `([^`]+)`)?", part)
        if not match:
            wrong.append(f"'{part}' is neither `TEST` nor `TEST`: `DETAIL`")
        elif match.group(1) not in tests:
            wrong.append(f"no test {match.group(1)}")
        elif match.group(2) and not has_detail(source, match.group(1), match.group(2)):
            wrong.append(f"{match.group(1)} has no {match.group(2)}")
    return wrong


def check_itself(source, tests):
    """What must be found wrong."""
    some = sorted(test for test in tests if test.startswith("golden/"))[0]
    for cells in (["a", "b", "`golden/no-such-test`"], ["a", "b", f"`{some}`: `no_such_detail`"], ["a", "b", ""],
                  ["a", "*Open*", ""], ["a", "b", some], ["", "b", f"`{some}`"], ["a", f"`{some}`"]):
        if not wrong_with(source, tests, cells):
            sys.exit(f"conformance_test.py: {cells} passes")


def main():
    source, build, ctest = sys.argv[1:]
    tests = known_tests(build, ctest)
    check_itself(source, tests)
    with open(os.path.join(source, "docs/conformance.md"), encoding="utf-8") as file:
        table = list(rows(file.read()))
    if len(table) < 80:
        sys.exit(f"docs/conformance.md: only {len(table)} lines")
    wrong = [f"docs/conformance.md:{number}: {what}" for number, cells in table for what in wrong_with(source, tests, cells)]
    print("\n".join(wrong) or f"{len(table)} statements")
    sys.exit(1 if wrong else 0)


main()
