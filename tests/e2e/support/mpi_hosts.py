"""Other hosts on this one, for mpirun: a server in namespaces of its own (UTS: another name; PID: processes that nobody else
sees) for each, that runs what the agent of a test's own (`plm_rsh_agent`) hands it, as sshd would. The network is this
machine's.

    mpi_hosts.py serve NAME SOCKET      the server
    mpi_hosts.py rsh HOST COMMAND...    the agent; $TG_HOSTS is where the sockets are
"""
import array
import json
import os
import signal
import socket
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from servants import Servants  # noqa: E402


class NoHosts(Exception):
    """Why there can be none here."""


def _receive(connection):
    """A request with the three standard descriptors of who sent it."""
    data, control, _, _ = connection.recvmsg(1 << 20, socket.CMSG_SPACE(3 * 4))
    descriptors = array.array("i")
    for level, kind, content in control:
        if (level, kind) == (socket.SOL_SOCKET, socket.SCM_RIGHTS):
            descriptors.frombytes(content[:len(content) - len(content) % descriptors.itemsize])
    return json.loads(data), list(descriptors)


def _answer(connection):
    request, descriptors = _receive(connection)
    os.setsid()
    for number, descriptor in enumerate(descriptors):
        os.dup2(descriptor, number)
    for descriptor in descriptors:
        if descriptor > 2:
            os.close(descriptor)
    os.chdir(request["directory"])
    environment = {"HOME": os.environ.get("HOME", "/"), "PATH": os.environ.get("PATH", "/usr/bin:/bin"),
                   **request["environment"]}
    status = subprocess.run(["sh", "-c", request["command"]], env=environment).returncode
    connection.sendall(bytes([status & 0xff if status >= 0 else 128 - status]))


def serve(name, path):
    """The first process of its PID namespace: whatever is left there goes with it."""
    socket.sethostname(name)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # orphans of others come here; nobody waits for them
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listener:
        listener.bind(path + ".new")
        listener.listen(16)
        os.rename(path + ".new", path)
        print("ready", flush=True)
        while True:
            connection, _ = listener.accept()
            if os.fork() == 0:
                signal.signal(signal.SIGCHLD, signal.SIG_DFL)
                listener.close()
                _answer(connection)
                os._exit(0)
            connection.close()


# What sshd would pass on of the environment: what such a job needs here.
PASSED_ON = ["OMPI_ALLOW_RUN_AS_ROOT", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "UCX_LOG_LEVEL"]


def rsh(host, *command):
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as connection:
        try:
            connection.connect(os.path.join(os.environ["TG_HOSTS"], host))
        except OSError as error:
            sys.exit(f"rsh: {host}: {error}")
        request = {"command": " ".join(command), "directory": os.getcwd(),
                   "environment": {name: os.environ[name] for name in PASSED_ON if name in os.environ}}
        connection.sendmsg([json.dumps(request).encode()],
                           [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [0, 1, 2]))])
        status = connection.recv(1)
        sys.exit(status[0] if status else 255)


class Hosts:
    """`with Hosts(["left", "right"]) as hosts: run(hosts.mpirun("-n", "4", ...), hosts.environment)`"""

    def __init__(self, names, directory="hosts"):
        if os.geteuid() != 0:
            raise NoHosts("namespaces of hosts' own need root")
        if subprocess.run(["unshare", "--uts", "--pid", "--mount-proc", "--fork", "true"], capture_output=True).returncode:
            raise NoHosts("unshare cannot make UTS and PID namespaces here")
        self.names = names
        self.directory = os.path.abspath(directory)
        self.environment = {"TG_HOSTS": self.directory}

    def __enter__(self):
        os.makedirs(self.directory)
        self.servants = Servants()
        try:
            for name in self.names:
                self._start(name)
        except BaseException:
            self.servants.stop()
            raise
        return self

    def _start(self, name):
        log = os.path.join(self.directory, name + ".log")
        path = os.path.join(self.directory, name)
        os.mkfifo(log)
        self.servants.start(["unshare", "--uts", "--pid", "--mount-proc", "--fork", "--kill-child", sys.executable,
                             os.path.abspath(__file__), "serve", name, path], log)
        with open(log) as lines:
            if lines.readline().strip() != "ready":
                raise NoHosts(f"the server of the host {name} does not start")
        os.unlink(log)

    def __exit__(self, *_):
        self.servants.stop()

    def mpirun(self, *arguments, here=0, slots=2):
        """HERE ranks on this host, SLOTS on each of the others."""
        local = [f"{socket.gethostname()}:{here}"] if here else []
        agent = f"{sys.executable} {os.path.abspath(__file__)} rsh"
        return ["mpirun.openmpi", "--mca", "plm_rsh_agent", agent, "--mca", "plm", "rsh", "--mca", "pml", "ob1",
                "--mca", "btl", "tcp,vader,self", "--mca", "mpi_yield_when_idle", "1",
                "--host", ",".join(local + [f"{name}:{slots}" for name in self.names]), *arguments]


if __name__ == "__main__":
    {"serve": serve, "rsh": rsh}[sys.argv[1]](*sys.argv[2:])
