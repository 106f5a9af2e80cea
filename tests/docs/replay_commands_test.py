"""Every command that the console's `help` lists has a paragraph in tollgate-replay(1), and nothing else has.

usage: replay_commands_test.py TOLLGATE TRACE_FROM_JSON SOURCE_DIRECTORY
"""
import re
import subprocess
import sys
import tempfile


def main():
    tollgate, trace_from_json, source = sys.argv[1:]
    with tempfile.TemporaryDirectory() as directory:
        trace = f"{directory}/empty.tgt"
        subprocess.run([trace_from_json, f"{source}/tests/golden/fixtures/empty.jsonl", trace], check=True)
        listed = subprocess.run([tollgate, "replay", "-e", "help", trace], check=True, capture_output=True,
                                text=True).stdout
    commands = {re.split(r"  +", line)[0] for line in listed.split("\n\n")[0].splitlines()}
    page = open(f"{source}/docs/man/tollgate-replay.1", encoding="utf-8").read()
    section = page.split(".SH COMMANDS")[1].split("\n.SH ")[0]
    found = set()
    for tag in re.findall(r"^\.TP\n\.BR? (.*)$", section, re.M):
        match = re.match(r'"([a-z_ ]+)"|((?:info|opm) [a-z_]+)|([a-z]+)', tag)
        found.add(next(group for group in match.groups() if group))
    problems = [f"tollgate-replay(1): {command} is missing" for command in sorted(commands - found)]
    problems += [f"tollgate-replay(1): there is no command {command}" for command in sorted(found - commands)]
    if len(commands) < 10:
        problems.append("`help` was not understood by this test")
    print("\n".join(problems))
    return 1 if problems else 0


sys.exit(main())
