"""The conventions of the command line: -h, --help, --version and `help` for every command, and a hint for what was
mistyped.

usage: command_line_test.py TOLLGATE
"""
import subprocess
import sys

tollgate = sys.argv[1]
problems = []


def run(*arguments):
    return subprocess.run([tollgate, *arguments], capture_output=True, text=True, stdin=subprocess.DEVNULL)


def expect(arguments, status, out=None, first_error=None):
    """OUT is all of standard output; FIRST_ERROR the first line of standard error."""
    result = run(*arguments)
    shown = "tollgate " + " ".join(arguments)
    if result.returncode != status:
        problems.append(f"{shown}: exit status {result.returncode}, not {status}: {result.stderr}")
    if out is not None and result.stdout != out:
        problems.append(f"{shown}: {result.stdout!r}, not {out!r}")
    if first_error is not None and result.stderr.split("\n")[0] != first_error:
        problems.append(f"{shown}: {result.stderr!r}, not {first_error!r}")


overview = run("--help").stdout
version = run("--version").stdout
commands = [line.split()[0] for line in overview.split("Commands:\n")[1].split("\n\n")[0].splitlines()]
if len(commands) < 8 or not version.startswith("tollgate "):
    problems.append(f"--help or --version was not understood: {overview!r} {version!r}")
for spelling in (["-h"], ["help"]):
    expect(spelling, 0, out=overview)
expect(["-V"], 0, out=version)
for command in commands:
    explained = run(command, "--help").stdout
    if not explained.startswith(f"Usage: tollgate {command} "):
        problems.append(f"{command} --help begins with {explained.splitlines()[:1]}")
    for spelling in ([command, "-h"], ["help", command], [command, "-?"]):
        expect(spelling, 0, out=explained)
    for spelling in ("--version", "-V"):
        expect([command, spelling], 0, out=version)
    expect([command, "--versoin"], 2,
           first_error=f"tollgate {command}: unknown option '--versoin'; did you mean '--version'?")
    expect([command, "--xyzzy=3"], 2, first_error=f"tollgate {command}: unknown option '--xyzzy'")
expect([], 2, out="")

# words that are almost right
expect(["reprot"], 2, first_error="tollgate: unknown command 'reprot'; did you mean 'report'?")
expect(["help", "help"], 0, out=overview)
expect(["help", "liev"], 2, first_error="tollgate: unknown command 'liev'; did you mean 'live'?")
expect(["HELP"], 2, first_error="tollgate: unknown command 'HELP'; did you mean 'help'?")
expect(["xyzzy"], 2, first_error="tollgate: unknown command 'xyzzy'")
expect(["--verbose"], 2, first_error="tollgate: unknown option '--verbose'; options of a command come after it")
expect(["--hepl"], 2, first_error="tollgate: unknown option '--hepl'; did you mean '--help'?")
expect(["dump", "--kind", "librry_load", "T"], 2,
       first_error="tollgate: --kind: unknown kind 'librry_load'; did you mean 'library_load'?")
expect(["filter", "--mode", "fats", "T"], 2, first_error="tollgate: unknown mode 'fats'; did you mean 'fast'?")
expect(["filter", "--mode", "quick", "T"], 2,
       first_error="tollgate: unknown mode 'quick'; use slow, medium or fast")
expect(["record", "--mode", "mediun", "true"], 2,
       first_error="tollgate: unknown mode 'mediun'; did you mean 'medium'?")
expect(["sequence", "--format", "sgv", "T"], 2,
       first_error="tollgate sequence: --format: unknown format 'sgv'; did you mean 'svg'?")

# what only looks like an option: values, operands behind --, and the arguments of a recorded program
if "--jsno" not in run("report", "--", "--jsno").stderr or "option" in run("report", "--", "--jsno").stderr:
    problems.append("report -- --jsno: an operand is taken for an option")
expect(["report", "-o", "--jsno"], 2, first_error="tollgate: no TRACE given, and no trace (*.tgt) in the current directory; `tollgate record PROGRAM` makes one")
expect(["record", "-q", "-o", "/dev/null/no", "echo", "--versoin"], 2)
expect(["report", "--output", "--jsno"], 2, first_error="tollgate: no TRACE given, and no trace (*.tgt) in the current directory; `tollgate record PROGRAM` makes one")

print("\n".join(problems))
sys.exit(1 if problems else 0)
