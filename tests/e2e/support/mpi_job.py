"""For end-to-end tests of MPI capture: builds and runs jobs under Open MPI and MPICH with the agent loaded, and
tells their MPI events as the trace has them: as fields by name, in the order of each thread."""
import atexit
import collections
import os
import re
import signal
import shutil
import struct
import subprocess
import sys
import threading

from agent_rings import MPI, Directory, string
from recording import Run, check, record, skip
from recording import events as trace_events

RANKS = 4
TIME_LIMIT_S = 100
Flavour = collections.namedtuple("Flavour", "name c fortran launcher")
FLAVOURS = {
    "openmpi": Flavour("openmpi", "mpicc.openmpi", "mpif90.openmpi",
                       ["mpirun.openmpi", "--oversubscribe", "--mca", "mpi_yield_when_idle", "1"]),
    "mpich": Flavour("mpich", "mpicc.mpich", "mpif90.mpich", ["mpiexec.mpich"]),
}
# what UCX says of a sparse /sys holds times and pids
ENVIRONMENT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "UCX_LOG_LEVEL": "fatal"}
AGENT = os.path.join(os.environ["TG_AGENT_LIBRARIES"], "tollgate-agent.so")

FIELDS = {
    "MPI_COMM": ["comm", "parent", "handle", "origin", "rank", "size", "remote_size", "link"],
    "MPI_ENTER": ["call", "comm", "instance", "peer", "tag", "root", "bytes", "code"],
    "MPI_LEAVE": ["call", "request", "peer", "tag", "bytes", "result"],
    "MPI_POLL": ["call", "comm", "peer", "tag", "code", "request", "polls", "permille", "various"],
    "MPI_POLL_SUM": ["call", "code", "polls", "inside", "longest", "first_ago", "last_ago"],
    "MPI_ERROR": ["code", "request"],
    "MPI_COMPLETE": ["request", "peer", "tag", "bytes", "cancelled"],
}
SIGNED = {"peer", "tag", "root", "rank", "size", "remote_size", "result", "world_rank"}
ORIGINS = ["world", "self", "dup", "split", "create", "spawn", "intercomm", "merge", "freed", "window", "file"]


def _calls():
    with open(os.path.join(os.environ["TG_SOURCE"], "recorder/agent/mpi/calls.h")) as file:
        return ["MPI_" + name for name in re.findall(r"X\(([A-Z]\w*[a-z]\w*)\)", file.read())]


CALLS = _calls()


def flavour_named(name):
    flavour = FLAVOURS[name]
    for program in (flavour.c, flavour.launcher[0]):
        if shutil.which(program) is None:
            skip(program + " is not installed")
    return flavour


def build(compiler, sources, output, *options):
    """Compiles SOURCES, names below tests/programs or paths, as a user would."""
    programs = os.path.join(os.environ["TG_SOURCE"], "tests/programs")
    command = [compiler, "-O0", "-g", *[os.path.join(programs, source) for source in sources], "-o", output, *options]
    made = subprocess.run(command, capture_output=True, text=True)
    check(made.returncode == 0, " ".join(command), made.stderr)
    return os.path.abspath(output)


def job(flavour, program, *arguments, ranks=RANKS):
    return [*flavour.launcher, "-n", str(ranks), program, *arguments]


def _signed(value):
    return value - (1 << 64) if value >> 63 else value


def _event(record):
    if record.kind in ("NOTE", "ASIDE"):
        return {"kind": record.kind.lower(), "text": string(record.arguments)}
    if record.kind == "THREAD":
        return {"kind": "thread", "tid": record.arguments[0]}
    if record.kind == "MPI_REQUESTS":
        return {"kind": "mpi_requests", "requests": [{"request": hex(one)} for one in record.arguments[1:1 + record.arguments[0]]]}
    if record.kind == "MPI_GROUP":
        return {"kind": "mpi_group", "members": record.arguments[1:1 + record.arguments[0]]}
    if record.kind == "MPI_PARTITIONS":
        ends = record.arguments[1:1 + 2 * record.arguments[0]]
        return {"kind": "mpi_partitions", "ranges": [{"first": first, "last": last} for first, last in zip(ends[::2], ends[1::2])]}
    kind = "MPI_ENTER" if record.kind.startswith("MPI_ENTER") else record.kind  # with its request, or both halves
    if kind not in FIELDS:
        return {"kind": kind.lower()}
    event = {"kind": kind.lower(), "ticks": record.ticks}
    if record.kind == "MPI_ERROR":
        words = struct.pack(f"<{len(record.arguments) - 2}Q", *record.arguments[2:])
        texts = [text for text in words.decode(errors="replace").split("\0") if text]
        return dict(event, code=_signed(record.arguments[0]), request=record.arguments[1], call=texts[0],
                    error_class=texts[1])
    for name, value in zip(FIELDS[kind], record.arguments):
        event[name] = _signed(value) if name in SIGNED else value
    if record.kind == "MPI_ENTER_REQUEST":
        event["request"] = record.arguments[len(FIELDS[kind])]
    if "call" in event:
        event["call"] = CALLS[event["call"] & 0xffff]  # types and operator are behind (recorder/agent/mpi/types.h)
    if record.kind == "MPI_COMM":
        count = record.arguments[8]
        event["origin"] = ORIGINS[event["origin"]]
        event["members"] = [_signed(rank) for rank in record.arguments[9:9 + count]]
    return event


class Job:
    """A job that runs with the agent, whose rings are read as it goes. EVENTS is, for each pid, a list for each
    ring."""

    def __init__(self, command, environment=None, preload="", is_first=True, ring_bytes=1 << 16):
        """PRELOAD is the program's own LD_PRELOAD, which the agent comes before, or behind."""
        self.directory = Directory(flags=MPI, ring_bytes=ring_bytes)
        atexit.register(shutil.rmtree, self.directory.path, ignore_errors=True)  # however the test ends
        order = [AGENT, preload] if is_first else [preload, AGENT]
        self.events = collections.defaultdict(lambda: collections.defaultdict(list))
        self.process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True,
            env=dict(os.environ, **ENVIRONMENT, **(environment or {}), TOLLGATE_AGENT=self.directory.path,
                     LD_PRELOAD=":".join(library for library in order if library)))

    def drain(self):
        self.directory.read_rings(self.take)

    def take(self, name, records):
        for record in records:
            self.events[record.pid][name].append(_event(record))

    def run(self):
        """To its end. Returns what it said and its status; its rings are read by then."""
        said = []
        talker = threading.Thread(target=lambda: said.append(self.process.communicate(timeout=TIME_LIMIT_S)))
        talker.start()
        while talker.is_alive():
            self.drain()
            talker.join(0.01)
        if not said:
            self.kill()
            sys.exit(f"FAILED: {self.process.args}: still running after {TIME_LIMIT_S} s")
        self.drain()
        output, errors = said[0]
        return Run(output.decode(errors="replace"), errors.decode(errors="replace"), self.process.returncode)

    def kill(self):
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.communicate()
        self.drain()

    def threads(self, pid):
        """The events of each of PID's rings that has any of MPI, the main thread's first."""
        rings = [[event for event in events if event["kind"].startswith("mpi_")] for events in self.events[pid].values()]
        return [events for events in rings if events]

    def pids(self):
        """Those that used MPI."""
        return [pid for pid in list(self.events) if self.threads(pid)]

    def said(self, kind):
        return [event["text"] for rings in self.events.values() for ring in rings.values() for event in ring
                if event["kind"] == kind]


class RecordedJob:
    """The same by `tollgate record`, and `dump` of the trace."""

    def __init__(self, command, environment=None):
        self.command, self.environment = command, environment
        self.events = collections.defaultdict(lambda: collections.defaultdict(list))

    def run(self):
        made = record("trace", self.command, environment={**ENVIRONMENT, **(self.environment or {})})
        for event in trace_events("trace"):
            for name in ("comm", "parent", "handle", "code", "request"):
                if isinstance(event.get(name), str):
                    event[name] = int(event[name], 16)
            if event["kind"] == "mpi_comm":
                event["members"] = [member["world_rank"] for member in event["members"]]
            self.events[event["pid"]][event["tid"]].append(event)
        return made

    threads, pids = Job.threads, Job.pids

    def said(self, kind):
        """Notes, and why agents stepped aside."""
        kinds = {"note": ("note", "loss"), "aside": ("agent",)}[kind]
        return [event.get("text", event.get("reason")) for threads in self.events.values()
                for events in threads.values() for event in events
                if event["kind"] in kinds and event.get("state") != "watching"]


def run_natively(command, environment=None):
    try:
        made = subprocess.run(command, capture_output=True, env=dict(os.environ, **ENVIRONMENT, **(environment or {})),
                              timeout=TIME_LIMIT_S)
    except subprocess.TimeoutExpired:
        skip("the job hangs here, without tollgate: " + " ".join(command))
    return Run(made.stdout.decode(errors="replace"), made.stderr.decode(errors="replace"), made.returncode)


def ranks_of(events_of_job):
    """{rank: pid}, by each process's record of MPI_COMM_WORLD."""
    return {event["rank"]: pid for pid in events_of_job.pids() for event in events_of_job.threads(pid)[0]
            if event["kind"] == "mpi_comm" and event["origin"] == "world"}


def functions_at(program, addresses):
    """The function of PROGRAM at each of ADDRESSES (in the file)."""
    told = subprocess.run(["addr2line", "-f", "-e", program], input="\n".join(hex(a) for a in addresses), text=True,
                          capture_output=True, check=True).stdout.splitlines()
    return told[::2]


def need_open_mpi_4():
    """Skips what Open MPI's mpirun cannot from release 5 on: it has no MPIR, and Debian 13's crashes with several programs."""
    made = subprocess.run(["mpirun.openmpi", "--version"], capture_output=True, text=True, check=False)
    if re.search(r"\) ([5-9]|\d\d)\.", made.stdout):
        skip(made.stdout.split("\n", 1)[0] + " is not of release 4")
