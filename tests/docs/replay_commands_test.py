"""Every command that the console's `help` lists has a paragraph in tollgate-replay(1), or for those of live jobs in
tollgate-live(1), and nothing else has.

usage: replay_commands_test.py TOLLGATE TRACE_FROM_JSON SOURCE_DIRECTORY
"""
import re
import subprocess
import sys
import tempfile


def commands_of_help(text):
    lines = text.split("\n\n")[0].splitlines()
    return {re.split(r"  +", line)[0] for line in lines if re.match(r"[a-z][a-z_ ]*  ", line)}


def commands_of_page(source, name):
    page = open(f"{source}/docs/man/{name}.1", encoding="utf-8").read()
    section = page.split(".SH COMMANDS")[1].split("\n.SH ")[0]
    found = set()
    for tag in re.findall(r"^\.TP\n\.BR? (.*)$", section, re.M):
        match = re.match(r'"([a-z_ ]+)"|((?:info|opm) [a-z_]+)|([a-z]+)', tag)
        found.add(next(group for group in match.groups() if group))
    return found


def run(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def main():
    tollgate, trace_from_json, source = sys.argv[1:]
    with tempfile.TemporaryDirectory() as directory:
        trace = f"{directory}/empty.tgt"
        run(trace_from_json, f"{source}/tests/golden/fixtures/empty.jsonl", trace)
        replay = commands_of_help(run(tollgate, "replay", "-e", "help", trace))
        live = commands_of_help(run(tollgate, "live", "-q", "-o", f"{directory}/live.tgt", "-e", "help", "-e",
                                    "quit 0", "--", "true"))
    of_replay, of_live = commands_of_page(source, "tollgate-replay"), commands_of_page(source, "tollgate-live")
    problems = [f"tollgate-replay(1): {command} is missing" for command in sorted(replay - of_replay)]
    problems += [f"tollgate-replay(1): there is no command {command}" for command in sorted(of_replay - replay)]
    problems += [f"tollgate-live(1): {command} is missing" for command in sorted(live - of_live - of_replay)]
    problems += [f"tollgate-live(1): there is no command {command}" for command in sorted(of_live - live)]
    if len(replay) < 10 or len(live) < 20:
        problems.append("`help` was not understood by this test")
    print("\n".join(problems))
    return 1 if problems else 0


sys.exit(main())
