"""Processes that serve a test and end with it, however it ends: also where it is killed, and whatever they started and
left to itself in turn."""
import ctypes
import json
import os
import signal
import socket
import sys
import traceback

PR_SET_CHILD_SUBREAPER = 36


def children_of(pid):
    """Direct children, from /proc: those of all its threads."""
    found = []
    for name in os.listdir("/proc"):
        if not name.isdigit():
            continue
        try:
            with open(f"/proc/{name}/stat") as file:
                if int(file.read().rpartition(")")[2].split()[1]) == pid:
                    found.append(int(name))
        except (OSError, IndexError, ValueError):
            continue
    return found


def descendants_of(pid):
    found = children_of(pid)
    for child in found:
        found.extend(descendants_of(child))
    return found


def adopt_orphans():
    """What processes below this one leave behind becomes its child."""
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def _kill_all():
    """Kills what there is below this process until there is nothing: orphans become its children."""
    while True:
        for pid in descendants_of(os.getpid()):
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        try:
            os.waitpid(-1, 0)
        except ChildProcessError:
            return


def _start(request):
    pid = os.fork()
    if pid != 0:
        return pid
    try:
        os.setsid()
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        log = os.open(request["log"], os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        os.dup2(log, 1)
        os.dup2(log, 2)
        os.chdir(request["directory"])
        os.execvpe(request["command"][0], request["command"], request["environment"])
    except OSError:
        traceback.print_exc()
    os._exit(127)


def _serve(requests):
    """Until the other end of REQUESTS is closed: the test has ended."""
    adopt_orphans()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    with requests.makefile("rw") as lines:
        for line in lines:
            request = json.loads(line)
            pid = _start(request)
            status = os.waitpid(pid, 0)[1] if request["wait"] else None
            print(json.dumps([pid, status]), file=lines, flush=True)


class Servants:
    """`with Servants() as servants: servants.start([...], "log")`"""

    def __init__(self):
        ours, theirs = socket.socketpair()
        self.pid = os.fork()
        if self.pid == 0:
            try:
                ours.close()
                os.setsid()
                _serve(theirs)
            except Exception:  # the test goes on without it, and is told by an end of file
                traceback.print_exc()
            finally:
                _kill_all()
                os._exit(0)
        theirs.close()
        self.requests = ours.makefile("rw")
        self.socket = ours

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()

    def _ask(self, command, log, environment, wait):
        request = {"command": command, "log": os.path.abspath(log), "directory": os.getcwd(), "wait": wait,
                   "environment": dict(os.environ, **(environment or {}))}
        print(json.dumps(request), file=self.requests, flush=True)
        answer = self.requests.readline()
        if not answer:
            sys.exit("FAILED: the process that holds the test's servants is gone")
        return json.loads(answer)

    def start(self, command, log, environment=None):
        """Starts COMMAND; what it says goes to the file LOG. Returns its pid."""
        return self._ask(command, log, environment, False)[0]

    def call(self, command, log, environment=None):
        """Runs a COMMAND that leaves a daemon behind. Returns its wait status."""
        return self._ask(command, log, environment, True)[1]

    def stop(self):
        """Ends them all; nothing of them is left then."""
        if self.pid:
            self.requests.close()
            self.socket.close()
            os.waitpid(self.pid, 0)
            self.pid = 0
