"""For end-to-end tests of `tollgate record`: libraries to load, runs, what a trace says, and an independent witness."""
import collections
import glob
import json
import os
import re
import signal
import subprocess
import sys

TOLLGATE = os.environ["TG_TOLLGATE"]
PROGRAMS = os.environ["TG_PROGRAMS"]
LOADS = os.path.join(PROGRAMS, "loads")
TIME_LIMIT_S = 100

Run = collections.namedtuple("Run", "output errors status")


def check(condition, *what):
    if not condition:
        sys.exit("FAILED: " + " ".join(str(part) for part in what))


def skip(reason):
    print("skipped: " + reason)
    sys.exit(77)


def run(command, environment=None, standard_input=None):
    """Runs COMMAND to its end; its process group is gone afterwards, or the test fails."""
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                               env=dict(os.environ, **(environment or {})), start_new_session=True)
    try:
        output, errors = process.communicate(standard_input, timeout=TIME_LIMIT_S)
    except subprocess.TimeoutExpired as late:
        os.killpg(process.pid, signal.SIGKILL)
        said = b"\n".join(part or b"" for part in (late.stdout, late.stderr)).decode(errors="replace")
        sys.exit(f"FAILED: {' '.join(command)}: still running after {TIME_LIMIT_S} s; it has said:\n{said}")
    return Run(output.decode(errors="replace"), errors.decode(errors="replace"), process.returncode)


def record(trace, command, *options, environment=None, standard_input=None):
    return run([TOLLGATE, "record", "-o", trace, *options, "--", *command], environment, standard_input)


def events(trace, *kinds):
    """The events of TRACE in order, all or of KINDS only."""
    dump = run([TOLLGATE, "dump", "--json", *(["--kind", ",".join(kinds)] if kinds else []), trace])
    check(dump.status == 0, "dump", trace, "exits with", dump.status, dump.errors)
    return [json.loads(line) for line in dump.output.splitlines()]


def meta(trace):
    """What TRACE says about itself."""
    report = run([TOLLGATE, "report", "--json", trace])
    check(report.status == 0, report)
    return json.loads(report.output)["meta"]


def build_library(name, needed=(), source="", directory=".", flags=()):
    """Makes libNAME.so with a function NAME_value, linked to NEEDED (paths of libraries made before)."""
    path = os.path.abspath(os.path.join(directory, f"lib{name}.so"))
    text = source or f"int {name}_value(void) {{ return {len(name)}; }}\n"
    command = ["cc", *flags, "-shared", "-fPIC", "-g", "-O1", "-x", "c", "-", "-o", path, "-Wl,--no-as-needed",
               f"-Wl,-soname,lib{name}.so", "-x", "none", *needed, "-Wl,-rpath," + os.path.dirname(path)]
    made = subprocess.run(command, input=text, text=True, capture_output=True)
    if made.returncode != 0:
        skip("cannot build a library here: " + made.stderr)
    return path


def build_loads(path, *flags):
    """The program `loads`, built with other FLAGS."""
    source = os.path.join(os.environ["TG_SOURCE"], "tests/programs/loads.c")
    made = subprocess.run(["cc", "-O1", "-D_GNU_SOURCE", *flags, source, "-o", path, "-ldl", "-pthread"],
                          capture_output=True, text=True)
    if made.returncode != 0:
        skip(f"cannot build a program with {' '.join(flags)} here: {made.stderr}")
    return os.path.abspath(path)


def witness_environment(directory):
    """Makes the loader itself tell what it loads: one file for each process below DIRECTORY."""
    os.makedirs(directory, exist_ok=True)
    return {"LD_DEBUG": "files", "LD_DEBUG_OUTPUT": os.path.join(os.path.abspath(directory), "ld")}


def witnessed(directory):
    """What the loader says that it mapped: {pid: Counter of (file name, base address)}."""
    loads = collections.defaultdict(collections.Counter)
    line_format = re.compile(r"\s*(\d+):\s(.*)")
    for name in glob.glob(os.path.join(directory, "ld.*")):
        begun = {}
        with open(name, errors="replace") as file:
            for line in file:
                match = line_format.match(line)
                if match is None:
                    continue
                pid, text = int(match[1]), match[2].strip()
                generating = re.match(r"file=(.*) \[\d+\];  generating link map", text)
                if generating:
                    begun[pid] = os.path.basename(generating[1])
                base = re.match(r"dynamic: \S+\s+base: (0x[0-9a-f]+)", text)
                if base and pid in begun:
                    name = begun.pop(pid)
                    if not is_unwitnessed(name):
                        loads[pid][name, int(base[1], 16)] += 1
    return loads


def is_unwitnessed(name):
    """The loader does not tell of itself, and the recorder not of its own auditor."""
    return name == "tollgate-audit.so" or name.startswith("ld-linux") or name.startswith("ld.so") or name.startswith("ld-2.")


def recorded_loads(trace_events):
    """The same from a trace."""
    loads = collections.defaultdict(collections.Counter)
    for event in trace_events:
        if event["kind"] != "library_load":
            continue
        for library in event["libraries"]:
            name = os.path.basename(library["path"])
            if not is_unwitnessed(name):
                loads[event["pid"]][name, int(library["base"], 16)] += 1
    return loads


def check_complete(trace_events, directory):
    """Every process's loads are exactly those that its loader told of. Returns how many there were."""
    said, seen = witnessed(directory), recorded_loads(trace_events)
    processes = {event["pid"] for event in trace_events if event["kind"] == "process_start"}
    said = {pid: loads for pid, loads in said.items() if pid in processes}  # the recorder has libraries too
    check(said, "the witness saw no process")
    for pid in processes:
        said.setdefault(pid, collections.Counter())
        check(said[pid] == seen[pid], f"process {pid}: only the loader told of {said[pid] - seen[pid]},",
              f"only the trace of {seen[pid] - said[pid]}")
    return sum(sum(loads.values()) for loads in said.values())
