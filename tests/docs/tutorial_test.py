"""The commands of a document (docs/tutorial.md, README.md) print what the document shows.

usage: tutorial_test.py TOLLGATE SOURCE_DIRECTORY DOCUMENT
TG_GOLDEN_UPDATE=1 writes what they print now into DOCUMENT: read the difference before you commit it.

Commands are the lines behind `$ ` in the blocks ```console. They run one after the other in one empty folder (with
tests/ in it) by bash. Output is compared line by line, with numbers that vary made equal (see normalized). What else is
to be done is in comments, which a reader does not see:
    <!-- run: COMMAND -->                   runs COMMAND
    <!-- start: COMMAND; until N x TEXT --> runs COMMAND in the background, until it has printed N lines with TEXT;
                                            `pgrep mpirun` in the commands that follow gives its process id
    <!-- stop -->                           ends it
    <!-- end after N x TEXT; hung S s -->   sends SIGTERM to the next command S seconds after it has printed N lines with TEXT
    <!-- show: FILTER -->                   passes the output of the next block's last command through FILTER;
                                            `without REGEX` puts [...] in place of lines with REGEX, `part FROM TO`
                                            leaves the lines from one with FROM to one with TO
    <!-- unordered -->                      the lines of the next block come in any order
"""
import difflib
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

TIME_LIMIT_S = 120
DIRECTIVE = re.compile(r"<!-- (run|start|stop|end after|show)(?:: | )?(.*?) ?-->$")


def skip(why):
    print(why)
    sys.exit(77)


# What the commands find first on their PATH.
PROGRAMS = {
    "pgrep": """printf '%s\\n' "$TUTORIAL_JOB\"""",
    "without": """exec awk -v r="$1" '$0 ~ r { if (!cut) { match($0, / */); printf "%*s[...]\\n", RLENGTH, "" }
        cut = 1; next } { cut = 0; print }'""",
    "part": """exec awk -v from="$1" -v to="$2" '!on && $0 ~ from { on = 1; print; next } on && $0 ~ to { exit } on'""",
}
UNIT = r" ?(ns|us|ms|s|KiB|MiB|bytes|%)"


def normalized(line):
    line = re.sub(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(\.\d+)? UTC", "DATE", line)
    line = re.sub(r"0x[0-9a-f]{4,}", "0xN", line)
    line = re.sub(r"\d[\d,]*\.\d{2,}(%s\b)?|\b\d[\d,]*(\.\d+)?%s(?!\w)" % (UNIT, UNIT), "TIME", line)
    line = re.sub(r"\b\d{1,3}(,\d{3})+\b|\b\d{4,}\b", "N", line)
    line = re.sub(r"(pid|process|thread|tollgate-\w+-|[Ww]orkers?|waiting) *[\d,-]+\b", r"\1 N", line)
    line = re.sub(r"([Rr]ound trips?|in batches|handled|being deferred|Cost)\b.*", r"\1 N", line)
    line = re.sub(r"^\d+ threads \([^)]*\)", "N threads (...)", line)  # attached one after the other
    line = re.sub(r"-{3,}", "---", line)
    return re.sub(r" +", " ", line).rstrip()


# Where a machine is slow a wait says how far it is.
PROGRESS = re.compile(r"waiting for [\d.]+ \w+: |rank \d+ runs: ")
# What a machine cannot do: virtual ones may have no hardware breakpoints.
LIMITS = re.compile(r"Whether .* is unknown: this machine ")


def comparable(lines):
    """LINES normalized, without those of progress and of limits; those of a block that is declared unordered are sorted, without indentation and [...]."""
    result, is_unordered, start = [], False, None
    for line in lines:
        if PROGRESS.match(line) or LIMITS.match(line):
            continue
        result.append(normalized(line))
        if line == "<!-- unordered -->":
            is_unordered = True
        elif line == "```console":
            start = len(result)
        elif line == "```" and is_unordered:
            result[start:-1] = sorted(text.strip() for text in result[start:-1] if text.strip() != "[...]")
            is_unordered = False
    return result


class Session:
    """A folder, and what was started there."""

    def __init__(self, folder, tollgate, source):
        self.folder, self.job, self.filter, self.end = folder, None, None, None
        os.symlink(f"{source}/tests", f"{folder}/tests")
        os.mkdir(f"{folder}/bin")
        for name, script in PROGRAMS.items():
            with open(f"{folder}/bin/{name}", "w", encoding="utf-8") as file:
                file.write("#!/bin/sh\n" + script + "\n")
            os.chmod(f"{folder}/bin/{name}", 0o755)
        self.environment = dict(
            os.environ, PATH=f"{folder}/bin:{os.path.dirname(tollgate)}:{os.environ['PATH']}", HOME=folder,
            OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1", OMPI_MCA_rmaps_base_oversubscribe="1",
            OMPI_MCA_mpi_yield_when_idle="1", OMP_NUM_THREADS="2", COLUMNS="120", LC_ALL="C.UTF-8")

    def popen(self, command, **more):
        return subprocess.Popen(["bash", "-c", command], cwd=self.folder, env=self.environment, text=True,
                                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, **more)

    def read_until(self, process, condition):
        """Reads PROCESS's output until it has lines as CONDITION says, "3 x TEXT"; gives what was read."""
        count, text = condition.split(" x ", 1)
        lines = []
        while sum(text in line for line in lines) < int(count):
            lines.append(process.stdout.readline())
            if not lines[-1]:
                sys.exit(f"it ended without {condition}: {''.join(lines)}")
        return "".join(lines)

    def obey(self, directive, argument):
        if directive == "run":
            subprocess.run(["bash", "-c", argument], cwd=self.folder, env=self.environment, check=True)
        elif directive == "start":
            command, condition = argument.split("; until ")
            self.job = self.popen("exec " + command)
            self.read_until(self.job, condition)
            self.environment["TUTORIAL_JOB"] = str(self.job.pid)
        elif directive == "stop":
            self.job.terminate()
            self.job.communicate()
            self.job = None
        elif directive == "end after":
            self.end = argument
        else:
            self.filter = argument

    def output_of(self, command, is_last):
        process = self.popen("exec " + command if self.end else command)
        output = ""
        if self.end:
            condition, seconds = self.end.removesuffix(" s").split("; hung ")
            output = self.read_until(process, condition)
            time.sleep(float(seconds))  # what the verdict calls a hang has lasted
            # as from a shell: the verdict names the sender
            subprocess.run(["bash", "-c", f"kill -TERM {process.pid}; sleep 0.3; :"], check=True)
            self.end = None
        output += process.communicate(timeout=TIME_LIMIT_S)[0]
        if is_last and self.filter:
            output = subprocess.run(["bash", "-c", self.filter], env=self.environment, input=output,
                                    capture_output=True, text=True, check=True).stdout
            self.filter = None
        return output


def commands_of(block):
    """The commands of a block; one ends where its line does not end with a backslash."""
    commands, is_open = [], False
    for line in block:
        if is_open:
            commands[-1] += "\n" + line
        elif line.startswith("$ "):
            commands.append(line[2:])
        else:
            continue
        is_open = line.endswith("\\")
    return commands


def play(lines, session):
    """The document's LINES with the output that its commands have now."""
    made, at = [], 0
    while at < len(lines):
        directive = DIRECTIVE.match(lines[at])
        made.append(lines[at])
        if directive:
            session.obey(*directive.groups())
        at += 1
        if made[-1] != "```console":
            continue
        end = lines.index("```", at)
        commands = commands_of(lines[at:end])
        for command in commands:
            output = session.output_of(command, command is commands[-1])
            made += ("$ " + command).split("\n") + output.rstrip("\n").split("\n") * bool(output)
        at = end
    return made


def check_possible(tollgate):
    for program in ("mpicc", "mpirun"):
        if shutil.which(program) is None:
            skip(f"there is no {program}")
    if "Open MPI" not in subprocess.run(["mpirun", "--version"], capture_output=True, text=True).stdout:
        skip("mpirun is not Open MPI's")
    scope = "/proc/sys/kernel/yama/ptrace_scope"
    if os.geteuid() != 0 and os.path.exists(scope) and open(scope, encoding="ascii").read().strip() != "0":
        skip("attaching to running processes is not permitted (kernel.yama.ptrace_scope)")
    with tempfile.TemporaryDirectory() as folder:
        if subprocess.run([tollgate, "record", "-q", "-o", f"{folder}/t", "true"]).returncode != 0:
            skip("nothing can be traced here")


def main():
    tollgate, source, document = sys.argv[1:]
    check_possible(tollgate)
    path = f"{source}/{document}"
    with open(path, encoding="utf-8") as file:
        lines = file.read().split("\n")
    with tempfile.TemporaryDirectory() as folder:
        session = Session(folder, tollgate, source)
        try:
            made = play(lines, session)
        finally:
            if session.job:
                session.job.kill()
    if os.environ.get("TG_GOLDEN_UPDATE"):
        with open(path, "w", encoding="utf-8") as file:
            file.write("\n".join(line.rstrip() for line in made[:-1]) + "\n")
        return 0
    differences = list(difflib.unified_diff(comparable(lines), comparable(made), document, "printed now", lineterm=""))
    print("\n".join(differences))
    return 1 if differences else 0


sys.exit(main())
