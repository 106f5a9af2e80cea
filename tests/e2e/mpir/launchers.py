#!/usr/bin/env python3
"""MPIR with real launchers: which ranks the trace has, against what the ranks themselves and their launcher say.

usage: launchers.py CASE [PLACES]      at how many places the recorder is killed
"""
import collections
import contextlib
import itertools
import json
import os
import re
import shutil
import signal
import socket
import struct
import subprocess
import sys
import time

from mpi_hosts import Hosts, NoHosts
from mpi_job import ENVIRONMENT, build, flavour_named, need_open_mpi_4
from recording import TIME_LIMIT_S, TOLLGATE, check, events, record, run, skip
from servants import adopt_orphans, children_of, descendants_of
from slurm_job import NoSlurm, Slurm

HOST = socket.gethostname()
RANKS = 3
OMPI = ["mpirun.openmpi", "--oversubscribe", "--mca", "mpi_yield_when_idle", "1"]
Rank = collections.namedtuple("Rank", "rank host executable pid")


def program(flavour_name=None):
    if flavour_name is None:
        return build("cc", ["launched_rank.c"], "launched_rank")
    return build(flavour_named(flavour_name).c, ["launched_rank.c"], "launched_rank", "-DWITH_MPI")


def said_ranks(output):
    """{rank: (pid, host)}, by the ranks themselves."""
    return {int(m[1]): (int(m[2]), m[3]) for m in re.finditer(r"^rank (\d+) of \d+: pid (\d+) on (\S+)$", output, re.M)}


def without_numbers(text):
    """What a job says, without process ids and the order of its ranks."""
    return sorted(re.sub(r"pid \d+|Pid \d+|\[\d+,", "N", line) for line in text.splitlines()
                  if not line.startswith("tollgate: "))  # the recorder's own word on its trace


def report(trace):
    told = run([TOLLGATE, "report", "--json", trace])
    check(told.status == 0, told)
    return json.loads(told.output)


def starters(told):
    """Those that told of ranks."""
    return [starter for starter in told["mpir"]["starters"] if starter["ranks"]]


def acquired(told, starter):
    """[Rank] of those acquired, as their own processes have it."""
    found = []
    for rank in starter["ranks"]:
        if rank["state"] == "acquired":
            process = told["processes"][rank["process"]]
            check(process["pid"] == rank["table_pid"], rank, process)
            check(process["rank"] == rank["rank"], "the process says that it is another rank", rank, process)
            check(os.path.samefile(process["program"], rank["executable"]), rank, process)
            found.append(Rank(rank["rank"], rank["host"], rank["executable"], process["pid"]))
    return found


def steady_errors(text):
    """Without a warning of mpirun's that comes and goes natively, too: its rsh agent was executed before mpirun, which
    forked it, got to set its process group. And without what Slurm says of tasks of the one component of a debugged job that
    have ended when the call for the other one wakes them again."""
    return without_numbers("".join(line for line in text.splitlines(True) if not re.search(
        r"plm:rsh: Warning: setpgid|slurmstepd-\S+: error: kill\(\d+\): No such process", line)))


def check_same_job(native, traced):
    """The job says the same and ends in the same way with tollgate and without."""
    check((without_numbers(traced.output), steady_errors(traced.errors), traced.status) ==
          (without_numbers(native.output), steady_errors(native.errors), native.status), native, traced)


def check_whole(told, starter, launcher, way):
    check((starter["launcher"], starter["acquisition"]) == (launcher, way), starter)
    check(starter["whole"] and starter["claimed_size"] == starter["read_entries"], starter)
    check(told["mpir"]["impossible_events"] == 0, told["mpir"])
    check(told["trace"]["nothing_lost"], told["losses"])


def check_ranks(told, starter, output):
    """The trace has exactly the ranks that ran here."""
    said = said_ranks(output)
    traced = {rank.rank: (rank.pid, rank.host) for rank in acquired(told, starter)}
    check(traced == said, "the trace has", traced, "there were", said)
    check(not told["mpir"]["without_table"], told["mpir"]["without_table"])


# ---- Open MPI


def openmpi_table(output):
    """[Rank], as mpirun itself dumps its table."""
    return [Rank(int(m[1]), m[2], m[3], int(m[4]))
            for m in re.finditer(r"^(\d+): Host (\S+) Exe (\S+) Pid (\d+)$", output, re.M)]


def table_of(starter):
    return [Rank(rank["rank"], rank["host"], rank["executable"], rank["table_pid"]) for rank in starter["ranks"]]


def openmpi():
    ranks = program("openmpi")
    job = [*OMPI, "--mca", "orte_output_debugger_proctable", "1", "-n", str(RANKS), ranks]
    native = run(job, ENVIRONMENT)
    if native.status != 0:
        skip("mpirun does not work here: " + native.errors)
    traced = record("trace", job, environment=ENVIRONMENT)
    check_same_job(native, traced)
    told = report("trace")
    (starter,) = starters(told)
    check_whole(told, starter, "Open MPI", "mpir_launch")
    check_ranks(told, starter, traced.output)
    check(table_of(starter) == openmpi_table(traced.output), table_of(starter), traced.output)
    check(starter["debug_state"] == "spawned" and starter["partial_attach_ok"], starter)


def seen_by(trace):
    return [event["seen"] for event in events(trace, "mpir_state")]


def announcements(trace):
    return [event for event in events(trace, "mpir_write") if event["symbol"] == "MPIR_being_debugged"]


def openmpi_untold():
    """mpirun is not told that it is debugged, which its ranks would see and wait for; its table is read while the job runs. With
    --mpir it is told."""
    ranks = program("openmpi")
    look = 'env | grep -E "in_parallel_debugger|MPIR_DO_NOT_WARN"; exec "$@"'
    job = [*OMPI, "-n", "2", "sh", "-c", look, "sh", ranks]
    native, traced = run(job, ENVIRONMENT), record("untold", job, environment=ENVIRONMENT)
    check_same_job(native, traced)
    check(not announcements("untold") and "breakpoint" not in seen_by("untold"), seen_by("untold"))
    told = record("told", job, "--mpir", environment=ENVIRONMENT)
    check(told.status == 0 and "in_parallel_debugger" in told.output, told)
    check(announcements("told") and "breakpoint" in seen_by("told"), seen_by("told"))

    command = [TOLLGATE, "record", "-q", "-o", "waiting", "--", *OMPI, "-n", "2", ranks, "go"]
    with subprocess.Popen(command, env=dict(os.environ, **ENVIRONMENT), stdout=subprocess.DEVNULL) as recorder:
        until = time.monotonic() + TIME_LIMIT_S
        while "look" not in (run([TOLLGATE, "dump", "--kind", "mpir_state", "--json", "waiting.incomplete"]).output
                             if os.path.exists("waiting.incomplete") else ""):
            check(time.monotonic() < until and recorder.poll() is None, "the table of a job that runs is not read")
            time.sleep(0.1)
        open("go", "w").close()
        check(recorder.wait(TIME_LIMIT_S) == 0, recorder.returncode)
    check(seen_by("waiting")[0] == "look", seen_by("waiting"))
    (starter,) = starters(report("waiting"))
    check([rank["state"] for rank in starter["ranks"]] == ["acquired"] * 2, starter)


def openmpi_not_mpi():
    """mpirun of a program that is none of MPI: MPIR_Breakpoint is never called, and nobody waits for it. Its exit status."""
    flavour_named("openmpi")
    job = [*OMPI, "-n", "2", "sh", "-c", "echo $OMPI_COMM_WORLD_RANK; exit 7"]
    native, traced = run(job, ENVIRONMENT), record("trace", job, environment=ENVIRONMENT)
    # Which of its messages on exit statuses mpirun gets to differs from one time to the next, also without tollgate.
    check((sorted(traced.output.split()), traced.status) == (sorted(native.output.split()), native.status), native, traced)
    check(native.status == 7, native)
    told = report("trace")
    check([rank for group in told["mpir"]["without_table"] for rank in group["rank_numbers"]] == [0, 1] or
          len(starters(told)) == 1, told["mpir"])


def spawned():
    """Ranks that MPI_Comm_spawn starts are in no table: they are followed, and told as such."""
    corners = build(flavour_named("openmpi").c, ["mpi_corners.c"], "mpi_corners")
    job = [*OMPI, "-n", "1", corners, "spawn"]
    native = run(job, ENVIRONMENT)
    if native.status != 0:
        skip("MPI_Comm_spawn does not work here: " + native.errors)
    check_same_job(native, record("trace", job, environment=ENVIRONMENT))
    told = report("trace")
    (starter,) = starters(told)
    check([rank["state"] for rank in starter["ranks"]] == ["acquired"], starter["ranks"])
    (group,) = told["mpir"]["without_table"]
    check(group["spawned"] and group["rank_numbers"] == [0, 1] and group["found_by"] == "following forks", group)
    check(told["mpir"]["impossible_events"] == 0, told["mpir"])


def hosts():
    """Ranks of other hosts are remote; what has their process ids here is left alone."""
    ranks = program("openmpi")
    try:
        with Hosts(["left", "right"]) as others:
            environment = {**ENVIRONMENT, **others.environment}
            job = others.mpirun("--mca", "orte_output_debugger_proctable", "1", "-n", "5", ranks, here=1)
            native = run(job, environment)
            if native.status != 0:
                skip("mpirun does not get to the hosts of namespaces: " + native.errors)
            traced = record("trace", job, environment=environment)
    except NoHosts as reason:
        skip(str(reason))
    check_same_job(native, traced)
    told = report("trace")
    (starter,) = starters(told)
    check_whole(told, starter, "Open MPI", "mpir_launch")
    check(table_of(starter) == openmpi_table(traced.output), table_of(starter), traced.output)
    check([rank["state"] for rank in starter["ranks"]] == ["acquired"] + 4 * ["remote"], starter["ranks"])
    check([rank["host"] for rank in starter["ranks"]] == [HOST, "left", "left", "right", "right"], starter["ranks"])
    said = said_ranks(traced.output)
    check([(rank["table_pid"], rank["host"]) for rank in starter["ranks"]] == [said[i] for i in range(5)], said)
    strangers = {rank["table_pid"] for rank in starter["ranks"] if rank["state"] == "remote"}
    check(not strangers & {process["pid"] for process in told["processes"]}, "a process of this host was taken for a remote rank")


def daemon():
    """A recorder on another host, in front of the daemon there: the launcher of the ranks is not in its trace."""
    ranks, trace, wrapper = program("openmpi"), os.path.abspath("daemon.tgt"), os.path.abspath("agent.sh")
    with open(wrapper, "w", encoding="utf-8") as script:
        script.write(f'#!/bin/sh\nexec {TOLLGATE} record -q -o {trace} -- orted "$@"\n')
    os.chmod(wrapper, 0o755)
    try:
        with Hosts(["left"]) as others:
            environment = {**ENVIRONMENT, **others.environment}
            native = run(others.mpirun("-n", "2", ranks), environment)
            if native.status != 0:
                skip("mpirun does not get to the hosts of namespaces: " + native.errors)
            traced = run(others.mpirun("--mca", "orte_launch_agent", wrapper, "-n", "2", ranks), environment)
    except NoHosts as reason:
        skip(str(reason))
    check_same_job(native, traced)
    told = report(trace)
    daemons = [starter for starter in told["mpir"]["starters"] if starter["launcher"] == "Open MPI"]
    check([starter["acquisition"] for starter in daemons] == ["fork_following"], told["mpir"]["starters"])
    (group,) = told["mpir"]["without_table"]
    check((group["rank_numbers"], group["found_by"]) == ([0, 1], "following forks"), group)


def alone(flavour):
    """Two processes of a shell that call MPI without a launcher: each is rank 0 of a job of its own."""
    ranks = program(flavour)
    native = run(["sh", "-c", f"{ranks}; {ranks}"], ENVIRONMENT)
    traced = record("trace", ["sh", "-c", f"{ranks}; {ranks}"])
    check_same_job(native, traced)
    told = report("trace")
    found = [process for process in told["processes"] if process["rank"] is not None]
    said = re.findall(r"^rank 0 of 1: pid (\d+) on", traced.output, re.M)
    check(len(said) == 2 and sorted(process["pid"] for process in found) == sorted(int(pid) for pid in said), found, traced)
    check([(process["rank"], process["rank_source"]) for process in found] == [(0, "MPI_COMM_WORLD")] * 2, found)
    check(len({process["job"] for process in found}) == 2, found)
    daemons = [starter for starter in told["mpir"]["starters"] if starter["launcher"] == "Open MPI"]
    check([(starter["acquisition"], len(starter["ranks"])) for starter in daemons] ==
          [("fork_following", 0)] * (2 if flavour == "openmpi" else 0), daemons)


# ---- MPICH: no MPIR


def mpich():
    ranks = program("mpich")
    job = ["mpiexec.mpich", "-n", str(RANKS), ranks, "-", "7"]
    native, traced = run(job), record("trace", job)
    check(said_ranks(native.output) and native.status == 7, native)
    check_same_job(native, traced)
    told = report("trace")
    check(told["mpir"]["impossible_events"] == 0, told["mpir"])
    (group,) = told["mpir"]["without_table"]
    check((group["rank_numbers"], group["found_by"], group["rank_source"], group["host"]) ==
          (list(range(RANKS)), "following forks", "PMI_RANK", HOST), group)
    traced_ranks = {process["rank"]: (process["pid"], process["host"]) for process in told["processes"]
                    if process["rank"] is not None and os.path.samefile(process["program"], ranks)}
    check(traced_ranks == said_ranks(traced.output), traced_ranks, traced.output)
    launchers = [starter for starter in told["mpir"]["starters"] if starter["launcher"] == "MPICH hydra"]
    check([starter["acquisition"] for starter in launchers] == ["fork_following"], told["mpir"]["starters"])


# ---- Slurm


@contextlib.contextmanager
def slurm_or_skip(**options):
    try:
        with Slurm(**options) as slurm:
            yield slurm
    except NoSlurm as reason:
        skip(str(reason))


def slurm_table(slurm, ranks):
    """[Rank], as srun itself dumps its table; of a step of its own, whose tasks are then ended."""
    process = subprocess.Popen([slurm.programs["srun"], "--debugger-test", "-n", str(RANKS), ranks], stderr=subprocess.PIPE, text=True,
                               env=dict(os.environ, **slurm.environment), start_new_session=True)
    found = []
    for line in process.stderr:  # to be had without --quiet only
        match = re.search(r"task:(\d+), host:(\S+), pid:(\d+), executable:(\S+)", line)
        if match:
            found.append(Rank(int(match[1]), match[2], match[4], int(match[3])))
        if len(found) == RANKS:
            break
    running = {rank.pid for rank in found if os.path.samefile(f"/proc/{rank.pid}/exe", ranks)}
    check(len(running) == RANKS, "srun's own table is not of the step's tasks", found)
    run([slurm.programs["scancel"], "--signal=KILL", "--user=root"], slurm.environment)
    process.communicate(timeout=100)
    return found


def check_agents(trace, pids):
    """The agent is in the programs of all of PIDS."""
    watching = {event["pid"] for event in events(trace, "agent") if event["state"] == "watching"}
    check(set(pids) <= watching, "no agent in", set(pids) - watching, events(trace, "agent"))


def steady_variables(output):
    """The environment of a task, without what is another one for every step."""
    other = re.compile(r"\d+: SLURM_(JOB_?ID|STEP_?ID|TASK_PID|SRUN_COMM_PORT|STEP_LAUNCHER_PORT)=")
    return collections.Counter(line for line in output.splitlines() if not other.match(line))


def check_environment(slurm):
    """Neither a task nor what it starts sees anything; also where srun exports nothing, and ranks run different programs."""
    with open("programs", "w") as file:
        file.write("0 env\n1 sh -c 'env; true'\n")
    for options in (["--label", "--multi-prog", "programs"], ["--label", "--export=NONE", "/bin/sh", "-c", "env; true"]):
        job = slurm.srun("-n", "2", *options)
        native = run(job, slurm.environment)
        traced = record("environment", job, "--force", environment=slurm.environment)
        check(native.status == 0 and "1: SLURM_PROCID=1\n" in native.output, native)
        without, within = steady_variables(native.output), steady_variables(traced.output)
        check(without == within, without - within, within - without)
        (starter,) = starters(report("environment"))
        check_agents("environment", [rank.pid for rank in table_of(starter)])


def slurm():
    ranks = program()
    with slurm_or_skip() as slurm:
        job = slurm.srun("-n", str(RANKS), ranks, "-", "7")
        native, traced = run(job, slurm.environment), record("trace", job, environment=slurm.environment)
        check(said_ranks(native.output) and native.status == 7, native)
        check_same_job(native, traced)
        told = report("trace")
        (starter,) = starters(told)
        check_whole(told, starter, "Slurm", "mpir_launch")
        check_ranks(told, starter, traced.output)
        check(all(rank["way"] == "attached" and rank["woken"] for rank in starter["ranks"]), starter["ranks"])
        check_agents("trace", [rank["table_pid"] for rank in starter["ranks"]])
        check_environment(slurm)
        dumped = slurm_table(slurm, ranks)
        check([rank._replace(pid=0) for rank in dumped] == [rank._replace(pid=0) for rank in table_of(starter)],
              dumped, table_of(starter))


def slurm_hosts():
    """A job of two components, each on a node of its own: tasks of the other node are remote, and run as ever."""
    ranks = program()
    with slurm_or_skip(others=["other"]) as slurm:
        job = slurm.srun("-w", slurm.host, "-n", "2", ranks, ":", "-w", "other", "-n", "2", ranks)
        native, traced = run(job, slurm.environment), record("trace", job, environment=slurm.environment)
    check(said_ranks(native.output) and native.status == 0, native)
    check_same_job(native, traced)
    told = report("trace")
    (starter,) = starters(told)
    check_whole(told, starter, "Slurm", "mpir_launch")
    said = said_ranks(traced.output)
    check({rank["rank"]: (rank["table_pid"], rank["host"]) for rank in starter["ranks"]} == said, starter, said)
    check([(rank["state"], said[rank["rank"]][1]) for rank in starter["ranks"]] ==
          2 * [("acquired", HOST)] + 2 * [("remote", "other")], starter)
    check_agents("trace", [said[rank][0] for rank in (0, 1)])


# ---- attach


def lines_until(stream, count):
    """What STREAM says, up to COUNT lines that begin with "rank"."""
    said = ""
    while len(said_ranks(said)) < count:
        line = stream.readline()
        check(line, "the job ended early", said)
        said += line
    return said


def variable(trace, pid, name):
    """The value of an int of a process that runs, where the trace says that it is."""
    for event in events(trace, "mpir_symbols"):
        for symbol in event["symbols"]:
            if (event["pid"], symbol["name"]) == (pid, name):
                with open(f"/proc/{pid}/mem", "rb") as memory:
                    memory.seek(int(symbol["address"], 16))
                    return struct.unpack("i", memory.read(4))[0]
    check(False, f"there is no {name} of {pid} in", trace)


def check_told_and_untold(trace, pid):
    """The starter was told that it is debugged, and that it is not any more."""
    written = [event["value"] for event in events(trace, "mpir_write") if event["symbol"] == "MPIR_being_debugged"]
    check(written == [1, 0] and variable(trace, pid, "MPIR_being_debugged") == 0, written)


def status_field(pid, name):
    with open(f"/proc/{pid}/status") as file:
        return re.search(rf"^{name}:\s+(\S+)", file.read(), re.M)[1]


class Attached:
    """`with Attached(...)`: RANKS, which all wait for something, have been acquired by `tollgate record OPTIONS` and wait again;
    behind it they have been let go, and it has ended well."""

    def __init__(self, trace, options, environment, ranks):
        self.waits = {pid: int(status_field(pid, "voluntary_ctxt_switches")) for pid in ranks}
        self.process = subprocess.Popen([TOLLGATE, "record", "-o", trace, *options], stdin=subprocess.DEVNULL,
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                        env=dict(os.environ, **environment), start_new_session=True)

    def __enter__(self):
        for pid, waits in self.waits.items():
            while (status_field(pid, "TracerPid") == "0" or
                   int(status_field(pid, "voluntary_ctxt_switches")) <= waits):
                check(self.process.poll() is None, "the recorder ended", self.process.returncode,
                      self.process.stderr.read() if self.process.poll() is not None else "")
                os.sched_yield()
        return self

    def __exit__(self, kind, *_):
        if kind is not None:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.communicate()
            return
        self.process.send_signal(signal.SIGINT)
        try:
            _, errors = self.process.communicate(timeout=100)
        except subprocess.TimeoutExpired:
            os.killpg(self.process.pid, signal.SIGKILL)
            check(False, "the recorder does not let go")
        check(self.process.returncode == 0, self.process.returncode, errors)


@contextlib.contextmanager
def waiting_job(command, environment, count):
    """A job whose ranks wait for the file "go": its process, and {rank: (pid, host)}. Behind it, it has gone on and ended
    well."""
    job = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True,
                           env=dict(os.environ, **environment), start_new_session=True)
    try:
        yield job, said_ranks(lines_until(job.stdout, count))
        with open("go.new", "w"):
            os.rename("go.new", "go")
        rest, _ = job.communicate(timeout=100)
        check((rest, job.returncode) == ("", 0), "the job does not end as it should", rest, job.returncode)
    finally:
        if job.poll() is None:
            os.killpg(job.pid, signal.SIGKILL)
            job.communicate()
        if os.path.exists("go"):
            os.unlink("go")


def check_attached(trace, said, launcher):
    told = report(trace)
    (starter,) = starters(told)
    check_whole(told, starter, launcher, "mpir_attach")
    check({rank.rank: (rank.pid, rank.host) for rank in acquired(told, starter)} == said, starter["ranks"], said)
    check(all(process["end"] == "detached" for process in told["processes"] if process["rank"] is not None),
          told["processes"])
    return told, starter


def check_let_go(pids):
    for pid in pids:
        check(status_field(pid, "TracerPid") == "0" and status_field(pid, "State") in "SR", pid, "is not as it was")


def attach_openmpi():
    """-p of a running mpirun: its ranks as well. Let go they are as before, and the job ends as it would have."""
    ranks = program("openmpi")
    with waiting_job([*OMPI, "-n", str(RANKS), ranks, "go"], ENVIRONMENT, RANKS) as (job, said):
        with Attached("trace", ["-p", str(job.pid)], ENVIRONMENT, [pid for pid, _ in said.values()]):
            pass
        check_let_go([job.pid, *(pid for pid, _ in said.values())])
        check(variable("trace", job.pid, "MPIR_being_debugged") == 0, "MPIR_being_debugged stays set")
        with Attached("debugged", ["--mpir", "-p", str(job.pid)], ENVIRONMENT, [pid for pid, _ in said.values()]):
            pass
        check_told_and_untold("debugged", job.pid)
        told, starter = check_attached("trace", said, "Open MPI")
        check(told["processes"][starter["process"]]["pid"] == job.pid, starter)


def attach_mpich():
    """-p of a running mpiexec that has no table: its ranks as well, which are found below it."""
    ranks = program("mpich")
    with waiting_job(["mpiexec.mpich", "-n", str(RANKS), ranks, "go"], {}, RANKS) as (job, said):
        with Attached("trace", ["-p", str(job.pid)], {}, [pid for pid, _ in said.values()]):
            pass
        check_let_go([job.pid, *(pid for pid, _ in said.values())])
        told = report("trace")
        found = {process["rank"]: process["pid"] for process in told["processes"] if process["rank"] is not None}
        check(found == {rank: pid for rank, (pid, _) in said.items()}, told["processes"], said)
        with Attached("some", ["--ranks", "1", "-p", str(job.pid)], {}, [said[1][0]]):
            pass
        check([process["rank"] for process in report("some")["processes"]] in ([None, 1], [1, None]), report("some"))


def asked_for():
    """--ranks: of the others nothing is recorded, neither by stops nor by an agent; whether their launcher has a table or not."""
    for name, launcher in (("mpich", ["mpiexec.mpich"]), ("openmpi", OMPI)):
        ranks = program(name)
        job = record(f"{name}.tgt", [*launcher, "-n", str(RANKS), ranks], "--ranks=0,2", environment=ENVIRONMENT)
        check(job.status == 0 and len(said_ranks(job.output)) == RANKS, job)
        told, mpi = report(f"{name}.tgt"), collections.Counter()
        of_rank = {process["rank"]: process for process in told["processes"] if process["rank"] is not None}
        for event in events(f"{name}.tgt"):
            mpi[event["pid"]] += event["kind"].startswith(("mpi_enter", "mpi_call"))
        check(sorted(of_rank) == [0, 1, 2] and of_rank[1]["end"] == "detached", told["processes"])
        check([mpi[of_rank[rank]["pid"]] > 0 for rank in range(RANKS)] == [True, False, True], mpi, of_rank)
        check("MPI calls of 1 of 3 ranks are not in the trace, as they were not asked for (--ranks)" in
              run([TOLLGATE, "report", "--no-pager", f"{name}.tgt"]).output)
        others = [(other["rank_numbers"], other["not_selected"]) for other in told["mpir"]["without_table"]]
        check(others == ([] if name == "openmpi" else [([0, 2], False), ([1], True)]), told["mpir"])


def attach_prte():
    """The same of Open MPI 5's mpirun, which is called prte and has no table either: here a launcher of that name."""
    ranks, launcher = program("mpich"), os.path.abspath("prte")
    shutil.copy(shutil.which("mpiexec.hydra"), launcher)
    os.symlink(shutil.which("hydra_pmi_proxy"), "hydra_pmi_proxy")  # looked for beside it
    with waiting_job([launcher, "-n", str(RANKS), ranks, "go"], {}, RANKS) as (job, said):
        with Attached("trace", ["-p", str(job.pid)], {}, [pid for pid, _ in said.values()]):
            pass
        found = {process["rank"]: process["pid"] for process in report("trace")["processes"] if process["rank"] is not None}
        check(found == {rank: pid for rank, (pid, _) in said.items()}, found, said)
    record("launched", [launcher, "-n", "1", "true"])
    starters = [(starter["launcher"], starter["acquisition"]) for starter in report("launched")["mpir"]["starters"]]
    check(starters == [("PRRTE", "fork_following")], starters)


def attach_slurm():
    """-p of a running srun; --slurm-step, by an sattach of one's own. Neither puts an agent into what runs already."""
    ranks = program()
    with slurm_or_skip() as slurm:
        job = slurm.srun("-n", str(RANKS), "-J", "held", ranks, "go")
        with waiting_job(job, slurm.environment, RANKS) as (process, said):
            pids = [pid for pid, _ in said.values()]
            with open(f"/proc/{pids[0]}/environ", "rb") as file:
                variables = dict(entry.partition(b"=")[::2] for entry in file.read().split(b"\0"))
            step = (variables[b"SLURM_JOB_ID"] + b"." + variables[b"SLURM_STEP_ID"]).decode()
            path = os.path.dirname(slurm.programs["sattach"]) + ":" + os.environ["PATH"]
            with Attached("trace", ["--slurm-step", step], {**slurm.environment, "PATH": path}, pids):
                pass
            check_let_go(pids)
            told = report("trace")
            (starter,) = starters(told)
            check((starter["launcher"], starter["job"]) == ("Slurm", step), starter)
            check({rank.rank: (rank.pid, rank.host) for rank in acquired(told, starter)} == said, starter, said)
            check(any(note["text"].startswith("without the agent") for note in told["notes"]), told["notes"])
            with Attached("attached", ["--mpir", "-p", str(process.pid)], slurm.environment, pids):
                pass
            check_let_go([process.pid, *pids])
            check_told_and_untold("attached", process.pid)
            told, _ = check_attached("attached", said, "Slurm")
            check(any(note["text"].startswith("without the agent") for note in told["notes"]), told["notes"])
            check(process.poll() is None, "the job ended with the recorder")


# ---- the recorder dies


def count_calls(command, environment):
    """How many calls of ptrace the recorder's own thread makes for COMMAND, until it traces a process of its own, which prices stops as
    long as it has time for."""
    traced = run(["strace", "-qq", "-e", "trace=ptrace", "-o", "calls", *command], environment)
    if traced.status != 0:
        skip("strace cannot watch the recorder here: " + traced.errors)
    with open("calls") as file:
        return sum("ptrace(" in line for line in itertools.takewhile(lambda line: "PTRACE_SETOPTIONS" not in line, file))


def reap_all(limit_s):
    """Waits until nothing is left of what was started: orphans come here."""
    def late(*_):
        left = [open(f"/proc/{pid}/status").read().splitlines()[:3] for pid in descendants_of(os.getpid())]
        sys.exit(f"FAILED: the killed recorder left {left}")
    signal.signal(signal.SIGALRM, late)
    signal.alarm(limit_s)
    with contextlib.suppress(ChildProcessError):
        while True:
            os.waitpid(-1, 0)
    signal.alarm(0)


def killed(places="4"):
    """A recorder that is killed at any step of a launch takes the job with it: no rank is left, stopped or not."""
    ranks = program("openmpi")
    adopt_orphans()
    command = [TOLLGATE, "record", "-o", "trace", "--", *OMPI, "-n", "2", ranks]
    count, places = count_calls(command, ENVIRONMENT), int(places)
    check(count > places, "only", count, "calls of ptrace")
    for i in range(places):
        place = (2 * i + 1) * count // (2 * places)
        inject = f"inject=ptrace:signal=SIGKILL:when={place}"
        process = subprocess.Popen(["strace", "-qq", "-o", "killed", "-e", "trace=ptrace", "-e", inject, TOLLGATE, "record", "-o",
                                    f"killed{i}", "--", *OMPI, "-n", "2", ranks], env=dict(os.environ, **ENVIRONMENT),
                                   stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        check(process.wait(100) == -signal.SIGKILL, "the recorder was not killed at call", place, process.returncode)
        reap_all(100)


def await_none_of(program):
    """Until no process runs PROGRAM."""
    def late(*_):
        sys.exit(f"FAILED: the killed recorder left {running}")
    running = [0]
    signal.signal(signal.SIGALRM, late)
    signal.alarm(100)
    while running:
        running = []
        for pid in filter(str.isdigit, os.listdir("/proc")):
            with contextlib.suppress(OSError):
                if os.path.samefile(f"/proc/{pid}/exe", program):
                    running.append((pid, status_field(pid, "State"), status_field(pid, "TracerPid")))
        os.sched_yield()
    signal.alarm(0)


def await_guards():
    """Until what killed recorders have left to clean up behind them is gone, too."""
    for pid in children_of(os.getpid()):
        with open(f"/proc/{pid}/comm") as file:
            if file.read().strip() in ("tollgate-guard", "scancel"):
                os.waitpid(pid, 0)


def killed_slurm(places="3"):
    """Slurm leaves tasks stopped that the recorder is about to attach. They end as well, wherever it is killed."""
    ranks, places = program(), int(places)
    adopt_orphans()
    with slurm_or_skip() as slurm:
        command = ["record", "--force", "-o", "trace", "--", *slurm.srun("-n", "2", ranks)]
        count_calls([TOLLGATE, *command], slurm.environment)
        with open("calls") as file:
            calls = [line for line in file if "ptrace(" in line]
        attached = max(number for number, line in enumerate(calls, 1) if "SEIZE" in line) - 2
        for i in range(places):
            inject = f"inject=ptrace:signal=SIGKILL:when={attached + 2 * (i - 1)}"
            process = run(["strace", "-qq", "-o", "killed", "-e", "trace=ptrace", "-e", inject, TOLLGATE, *command], slurm.environment)
            check(process.status == -signal.SIGKILL, "the recorder was not killed", process)
            await_none_of(ranks)
        await_guards()


def killed_attached(places="3"):
    """One that had attached a job leaves it as it was. What is killed is the process that traces."""
    ranks = program("openmpi")
    places = int(places)
    for i in range(places):
        with waiting_job([*OMPI, "-n", "2", ranks, "go"], ENVIRONMENT, 2) as (job, said):
            place = 1 + 5 * i  # the cost of stops is not measured: the process that is to be traced for that is strace's
            inject = f"inject=ptrace:signal=SIGKILL:when={place}"
            recorder = subprocess.Popen(["strace", "-f", "-qq", "-o", "killed", "-e", "trace=ptrace", "-e", inject, TOLLGATE, "record",
                                         "-o", f"killed{i}", "-p", str(job.pid)], env=dict(os.environ, **ENVIRONMENT),
                                        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            check(recorder.wait(100) == -signal.SIGKILL, "the recorder was not killed at call", place, recorder.returncode)
            check_let_go([job.pid, *(pid for pid, _ in said.values())])


CASES = {case.__name__: case for case in (openmpi, openmpi_untold, openmpi_not_mpi, spawned, hosts, daemon, alone, mpich, slurm, slurm_hosts, asked_for, attach_openmpi, attach_mpich, attach_prte,
                                          attach_slurm, killed, killed_slurm, killed_attached)}

if __name__ == "__main__":
    if sys.argv[1] in ("openmpi", "openmpi_untold", "openmpi_not_mpi", "spawned", "asked_for", "attach_openmpi") or sys.argv[1:3] == ["alone", "openmpi"]:
        need_open_mpi_4()
    CASES[sys.argv[1]](*sys.argv[2:])
