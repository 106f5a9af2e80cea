"""Every option that `tollgate COMMAND --help` tells is in the command's manual page and in the completions, and
nothing else is.

usage: options_test.py TOLLGATE SOURCE_DIRECTORY BASH
"""
import glob
import os
import re
import subprocess
import sys

# Options of all commands: explained once, in tollgate(1); a command's own page may repeat them.
COMMON = {"--help", "--usage", "--version"}


def run(*arguments):
    return subprocess.run(arguments, capture_output=True, text=True, check=True).stdout


def commands_of(tollgate):
    listed = run(tollgate, "--help").split("Commands:\n", 1)[1].split("\n\n", 1)[0]
    return [line.split()[0] for line in listed.splitlines()]


def options_of_help(tollgate, command):
    """Long options, also those that begin with one dash: the lines of argp's option list begin with them."""
    found = set()
    for line in run(tollgate, command, "--help").splitlines():
        match = re.match(r"^ {1,8}(-.+?)(?:  |$)", line)
        if match:
            found |= set(re.findall(r"(?:^|[ ,])(--?[a-z][a-z0-9_-]{2,})", match.group(1)))
    return found


def options_of_page(path):
    """Options in the tags of .TP paragraphs under SH OPTIONS."""
    with open(path, encoding="utf-8") as page:
        lines = page.read().splitlines()
    found, inside = set(), False
    for i, line in enumerate(lines):
        if line.startswith(".SH"):
            inside = line == ".SH OPTIONS"
        is_tag = i > 0 and (lines[i - 1] in (".TP", ".TQ") or lines[i - 1].rstrip("\"").endswith("\\c"))
        if inside and is_tag:
            tag = re.sub(r"\\f.", " ", line.replace("\\-", "-"))
            found |= set(re.findall(r"(?:^|[\s,\"])(--?[a-z][a-z0-9_-]{2,})", tag))
    return found


def options_of_bash(bash, source, tollgate, command):
    script = f"""
        source {source}/completions/tollgate.bash
        COMP_WORDS=({tollgate} {command} -) COMP_CWORD=2
        _tollgate
        printf '%s\\n' "${{COMPREPLY[@]}}"
    """
    return {word.rstrip("=") for word in run(bash, "-c", script).split()}


def check_values(bash, source, tollgate):
    """Values are completed too, and the kinds of events are all of them."""
    families = [open(path, encoding="utf-8").read() for path in glob.glob(f"{source}/format/event/*.def")]
    kinds = set(re.findall(r"^TG_EVENT\([A-Z_]+, 0x[0-9a-f]+, ([a-z_]+),$", "".join(families), re.M))
    script = f"""
        source {source}/completions/tollgate.bash
        COMP_WORDS=({tollgate} dump --kind '') COMP_CWORD=3
        _tollgate
        printf '%s\\n' "${{COMPREPLY[@]}}"
    """
    problems = []
    if set(run(bash, "-c", script).split()) != kinds:
        problems.append("tollgate.bash completes other kinds than format/event has")
    zsh = open(f"{source}/completions/_tollgate", encoding="utf-8").read()
    listed = re.search(r"_sequence compadd - ([a-z_ ]+)", zsh).group(1).split()
    if set(listed) != kinds:
        problems.append("_tollgate completes other kinds than format/event has")
    page = open(f"{source}/docs/man/tollgate-dump.1", encoding="utf-8").read()
    listed = re.findall(r"^\.BR ([a-z_]+) [,.]$", page.split(".SH KINDS")[1].split(".SH")[0], re.M)
    if set(listed) != kinds:
        problems.append("tollgate-dump(1) lists other kinds than format/event has")
    return problems


def differences(where, found, expected):
    problems = [f"{where}: {option} is missing" for option in sorted(expected - found)]
    return problems + [f"{where}: there is no {option}" for option in sorted(found - expected)]


def main():
    tollgate, source, bash = sys.argv[1:]
    problems = check_values(bash, source, tollgate)
    zsh = open(f"{source}/completions/_tollgate", encoding="utf-8").read()
    overview = open(f"{source}/docs/man/tollgate.1", encoding="utf-8").read()
    commands = commands_of(tollgate)
    if not commands:
        problems.append("`tollgate --help` lists no commands")
    for command in commands:
        expected = options_of_help(tollgate, command)
        if not COMMON <= expected:
            problems.append(f"{command}: --help was not understood by this test")
        page = f"{source}/docs/man/tollgate-{command}.1"
        if os.path.exists(page):
            found = options_of_page(page) | COMMON
            problems += differences(os.path.basename(page), found, expected)
        else:
            problems.append(f"docs/man/tollgate-{command}.1 is missing")
        problems += differences(f"tollgate.bash, {command}", options_of_bash(bash, source, tollgate, command),
                                expected)
        if f"'{command}:" not in zsh:
            problems.append(f"_tollgate: command {command} is missing")
        if f".BR tollgate\\-{command} (1)" not in overview:
            problems.append(f"tollgate.1: command {command} is missing")
    print("\n".join(problems))
    return 1 if problems else 0


sys.exit(main())
