"""Slurm of a test's own: munged, slurmctld and slurmd in the test's directory, with a key, ports and a configuration that
nobody else has, and gone when the test ends. Installed programs are used where there are any, else what
cmake/unpack-packages unpacked.

As a program it starts Slurm, runs a command with it, and stops it again: slurm_job.py COMMAND...
"""
import glob
import os
import shutil
import socket
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from servants import Servants  # noqa: E402

CPUS = 64  # that the node is said to have, so that steps need not wait for each other

CONFIGURATION = """\
ClusterName=tollgate
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={controller_port}
AuthType=auth/munge
AuthInfo=socket={directory}/munge.socket
CredType=cred/munge
SlurmUser=root
SlurmdUser=root
StateSaveLocation={directory}/state
SlurmdSpoolDir={directory}/spool.%n
SlurmctldPidFile={directory}/slurmctld.pid
SlurmdPidFile={directory}/slurmd.%n.pid
PluginDir={plugins}
PlugStackConfig=/dev/null
MailProg=/bin/true
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SwitchType=switch/none
MpiDefault=none
ReturnToService=2
KillWait=1
SlurmdParameters=config_overrides
SchedulerParameters=bf_interval=1
{nodes}
PartitionName=all Nodes=ALL Default=YES MaxTime=10 State=UP
"""

NODE = "NodeName={name} NodeHostname={name} NodeAddr=127.0.0.1 Port={port} CPUs={cpus} RealMemory=100 State=UNKNOWN"

# Nothing here uses control groups. But slurmd loads a plug-in for them all the same, and the one that it finds by itself does
# not start where none are mounted.
CGROUP_CONFIGURATION = "CgroupPlugin=cgroup/v1\n"


class NoSlurm(Exception):
    """Why Slurm cannot be had here."""


def _unpacked():
    source = os.environ.get("TG_SOURCE") or os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../..")
    return os.path.join(os.path.abspath(source), "build/packages")


def _program(*names):
    """The path of an installed or unpacked program, by the first of NAMES that is there."""
    path = os.environ.get("PATH", "") + ":/usr/sbin:/sbin"
    for name in names:
        found = shutil.which(name, path=path)
        if found:
            return found
    for name in names:
        for folder in ("usr/bin", "usr/sbin"):
            candidate = os.path.join(_unpacked(), folder, name)
            if os.access(candidate, os.X_OK):
                return candidate
    raise NoSlurm(f"no {names[0]} here: neither installed nor unpacked (cmake/unpack-packages)")


def _plugins(srun):
    """Where Slurm's plugins are, by where its programs are."""
    root = _unpacked() if srun.startswith(_unpacked()) else "/"
    found = glob.glob(os.path.join(root, "usr/lib/*/slurm*/auth_munge.so"))
    if not found:
        raise NoSlurm(f"no plugins of Slurm below {root}")
    return os.path.dirname(found[0])


def _free_ports(count):
    sockets = [socket.socket() for _ in range(count)]
    try:
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in sockets]
    finally:
        for one in sockets:
            one.close()


class Slurm:
    """`with Slurm() as slurm: run(slurm.srun("-n", "2", "hostname"), slurm.environment)`. The NoSlurm that it may raise says
    why there is none. OTHERS are further nodes, hosts in UTS and PID namespaces of their own."""

    def __init__(self, directory="slurm", others=()):
        if os.geteuid() != 0:
            raise NoSlurm("Slurm's daemons run as root only")
        self.directory = os.path.abspath(directory)
        self.host = socket.gethostname().partition(".")[0]
        self.others = others
        self.programs = {name: _program(*names) for name, names in {
            "munged": ["munged"], "slurmctld": ["slurmctld", "slurmctld-wlm"], "slurmd": ["slurmd", "slurmd-wlm"],
            "slurmstepd": ["slurmstepd", "slurmstepd-wlm"], "srun": ["srun"], "sattach": ["sattach"],
            "scancel": ["scancel"]}.items()}
        plugins = _plugins(self.programs["srun"])
        self.environment = {"SLURM_CONF": os.path.join(self.directory, "slurm.conf")}
        if plugins.startswith(_unpacked()):
            self.environment["LD_LIBRARY_PATH"] = plugins
        os.makedirs(os.path.join(self.directory, "state"))
        nodes = [self.host, *others]
        for node in nodes:
            os.makedirs(os.path.join(self.directory, "spool." + node))
        controller_port, *ports = _free_ports(1 + len(nodes))
        with open(self.environment["SLURM_CONF"], "w") as file:
            lines = [NODE.format(name=name, port=port, cpus=CPUS) for name, port in zip(nodes, ports)]
            file.write(CONFIGURATION.format(host=self.host, directory=self.directory, plugins=plugins, nodes="\n".join(lines),
                                            controller_port=controller_port))
        with open(self._path("cgroup.conf"), "w") as file:
            file.write(CGROUP_CONFIGURATION)
        with open(os.open(self._path("munge.key"), os.O_WRONLY | os.O_CREAT, 0o400), "wb") as file:
            file.write(os.urandom(1024))

    def _path(self, name):
        return os.path.join(self.directory, name)

    def __enter__(self):
        self.servants = Servants()
        try:
            self._start()
        except BaseException:
            self.servants.stop()
            raise
        return self

    def __exit__(self, *_):
        self.servants.stop()

    def _start(self):
        munged = [self.programs["munged"], "--force", "--num-threads=1"]
        for option, name in (("socket", "munge.socket"), ("key-file", "munge.key"), ("pid-file", "munged.pid"),
                             ("log-file", "munged.log"), ("seed-file", "munged.seed")):
            munged += [f"--{option}", self._path(name)]
        if self.servants.call(munged, self._path("munged.out")) != 0:  # in the background it is ready
            raise NoSlurm("munged does not start: " + self.said("munged.out"))
        self.servants.start([self.programs["slurmctld"], "-D", "-c"], self._path("slurmctld.log"), self.environment)
        self.servants.start([self.programs["slurmd"], "-D", "-c", "-N", self.host, "-d", self.programs["slurmstepd"]],
                            self._path("slurmd.log"), self.environment)
        for name in self.others:
            self.servants.start(["unshare", "--uts", "--pid", "--mount-proc", "--fork", "--kill-child", "sh", "-c",
                                 'hostname "$0" && exec "$@"', name, self.programs["slurmd"], "-D", "-c", "-N", name, "-d",
                                 self.programs["slurmstepd"]], self._path(f"slurmd.{name}.log"), self.environment)
        # It waits for the controller, and for the nodes.
        try:
            first = subprocess.run(self.srun("-N", str(1 + len(self.others)), "true"), env=dict(os.environ, **self.environment),
                                   capture_output=True, text=True, timeout=100)
            problem = first.stderr if first.returncode != 0 else None
        except subprocess.TimeoutExpired:
            problem = "srun waits for ever"
        if problem is not None:
            raise NoSlurm(f"no step can be run: {problem}\n{self.said('slurmctld.log')}\n{self.said('slurmd.log')}")

    def said(self, name):
        """The last that one of the daemons said."""
        with open(self._path(name), errors="replace") as file:
            return file.read()[-2000:]

    def srun(self, *arguments):
        """The command of a step, which says nothing of its own."""
        return [self.programs["srun"], "--quiet", *arguments]

    def sattach(self, step, *arguments):
        return [self.programs["sattach"], *arguments, step]


def main(*command):
    import tempfile
    with tempfile.TemporaryDirectory() as directory:
        with Slurm(os.path.join(directory, "slurm")) as slurm:
            path = os.path.dirname(slurm.programs["srun"]) + ":" + os.environ.get("PATH", "")
            return subprocess.run(command, env=dict(os.environ, **slurm.environment, PATH=path)).returncode


if __name__ == "__main__":
    try:
        sys.exit(main(*sys.argv[1:]))
    except NoSlurm as reason:
        sys.exit(f"slurm_job.py: {reason}")
