"""`tollgate live --json` for tests: commands and their results, the kernel's view of the job beside it."""
import json
import math
import os
import select
import signal
import subprocess
import sys
import time

TOLLGATE = os.environ["TG_TOLLGATE"]
TIME_LIMIT_S = 100


def fail(text):
    sys.exit(f"FAILED: {text}")


class LiveConsole:
    """One line of JSON a time; every answer has to come within the time limit."""

    def __init__(self, *arguments, **options):
        self.process = subprocess.Popen([TOLLGATE, "live", "--json", "-q", *arguments], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, **options)
        self.events = []
        self.pending = b""
        self.log = []
        self.interrupt_at = math.inf
        self.interrupt_when = None
        self.hello = self.read_line()

    def read_line(self, limit_s=TIME_LIMIT_S):
        # where the interrupt key is to be pressed later than that, the limit is for what comes behind it
        until = limit_s + (time.monotonic() if self.interrupt_at == math.inf else max(time.monotonic(), self.interrupt_at))
        while b"\n" not in self.pending:
            left = min(until, self.interrupt_at) - time.monotonic()
            if self.interrupt_when is not None:
                if self.interrupt_when():
                    self.interrupt_when = None
                    self.process.send_signal(signal.SIGINT)
                elif not select.select([self.process.stdout], [], [], 0.002)[0] and left > 0:
                    continue
            if left <= 0 or not select.select([self.process.stdout], [], [], left)[0]:
                if self.interrupt_at > until:
                    fail(f"no answer to: {self.log[-3:]}")
                self.interrupt_at = math.inf
                self.process.send_signal(signal.SIGINT)
                continue
            more = os.read(self.process.stdout.fileno(), 1 << 16)
            if not more:
                fail(f"the console ended at: {self.log[-3:]}, status {self.process.wait()}")
            self.pending += more
        line, self.pending = self.pending.split(b"\n", 1)
        return json.loads(line)

    def command(self, text, interrupt_s=None, interrupt_when=None):
        """The result of TEXT; events on the way are kept. After INTERRUPT_S, or when INTERRUPT_WHEN() says so, the interrupt
        key is pressed: a step may never end."""
        self.interrupt_at = math.inf if interrupt_s is None else time.monotonic() + interrupt_s
        self.interrupt_when = interrupt_when
        self.log.append(text)
        self.process.stdin.write(json.dumps({"id": len(self.log), "command": text}).encode() + b"\n")
        self.process.stdin.flush()
        while (answer := self.read_line())["type"] != "result":
            self.events.append(answer)
        if answer["id"] != len(self.log):
            fail(f"an answer to {answer['id']} and not to {len(self.log)}: {answer}")
        self.interrupt_at = math.inf
        self.interrupt_when = None
        return answer

    def do(self, text):
        """The text of a command that must succeed."""
        answer = self.command(text)
        if not answer["ok"]:
            fail(f"{text}: {answer['error']}")
        return answer["text"]

    def end(self, text):
        """Sends the command TEXT, which ends the console; its exit status."""
        self.log.append(text)
        self.process.stdin.write(text.encode() + b"\n")
        self.process.stdin.close()
        while (answer := self.read_line())["type"] != "bye":
            self.events.append(answer)
        return self.process.wait()


# ---- the kernel's view


def status_of(pid, tid):
    """The lines of the status of a thread as a dictionary, None where it has ended."""
    try:
        with open(f"/proc/{pid}/task/{tid}/status", encoding="utf-8", errors="replace") as lines:
            return dict(line.rstrip("\n").split(":\t", 1) for line in lines if ":\t" in line)
    except (FileNotFoundError, ProcessLookupError):
        return None


def threads_of(pid):
    """State and tracer of each thread of PID that lives, by tid."""
    threads = {}
    try:
        names = os.listdir(f"/proc/{pid}/task")
    except (FileNotFoundError, ProcessLookupError):
        return threads
    for name in names:
        status = status_of(pid, int(name))
        if status is not None and status["State"][0] not in "ZX":
            threads[int(name)] = (status["State"][0], int(status["TracerPid"]))
    return threads


def group_of(pgid):
    """The processes of a process group that live."""
    members = []
    for name in os.listdir("/proc"):
        if not name.isdigit():
            continue
        try:
            with open(f"/proc/{name}/stat", encoding="utf-8", errors="replace") as file:
                fields = file.read().rsplit(")", 1)[1].split()
        except (FileNotFoundError, ProcessLookupError):
            continue
        if int(fields[2]) == pgid and fields[0] not in "ZX":
            members.append(int(name))
    return members


def code_of(pid):
    """The bytes of all executable mappings that come from files."""
    code = {}
    with open(f"/proc/{pid}/maps", encoding="utf-8", errors="replace") as maps, open(f"/proc/{pid}/mem", "rb") as memory:
        for line in maps:
            fields = line.split()
            if "x" in fields[1] and len(fields) > 5 and fields[5].startswith("/"):
                start, end = (int(part, 16) for part in fields[0].split("-"))
                memory.seek(start)
                code[fields[5], int(fields[2], 16)] = memory.read(end - start)
    return code


def code_of_file(name, offset, size):
    with open(name, "rb") as file:
        file.seek(offset)
        return file.read(size)


def check_code(pid):
    """Nothing of ours is in the code of PID."""
    for (name, offset), found in code_of(pid).items():
        wanted = code_of_file(name, offset, len(found))
        different = [i for i in range(len(wanted)) if found[i] != wanted[i]]
        if different:
            fail(f"{name}: {len(different)} bytes differ, the first at {offset + different[0]:#x}: "
                 f"{found[different[0]]:#x} for {wanted[different[0]]:#x}")


def await_true(condition, what, limit_s=TIME_LIMIT_S):
    until = time.monotonic() + limit_s
    while not condition():
        if time.monotonic() > until:
            fail(what)
        time.sleep(0.002)
