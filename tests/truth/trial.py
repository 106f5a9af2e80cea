"""One run of a case under `tollgate record`, interrupted as a person, a batch system or a launcher would, and what the
report says of it."""
import json
import os
import random
import re
import shutil
import signal
import subprocess
import tempfile
import time

from board import Board
from case import CORRECT, Case
from toolchain import ENVIRONMENT

TOLLGATE = os.environ.get("TG_TOLLGATE", "tollgate")
if "/" in TOLLGATE:  # trials run in folders of their own
    TOLLGATE = os.path.abspath(TOLLGATE)
# Ways to interrupt: Ctrl-C in the terminal, a batch system's SIGTERM to the launcher, `timeout` around the recorder, a
# SIGINT to the launcher alone, SIGTERM to the recorder.
WAYS = ("ctrl-c", "sigterm-launcher", "timeout", "sigint-launcher", "sigterm-recorder")
BEGIN_S, FAULT_S, END_S, REPORT_S = 40, 40, 30, 60
# A job hangs where nobody has made a call for so long, and for so many times as long as anybody had waited before: people
# wait until they are sure, and on a machine under load healthy waits are long too.
QUIET_S, QUIET_TIMES, QUIET_MOST_S = 2.2, 3.5, 10
LATEST_S = 14  # and if somebody goes on making calls (a loop of tests), after so long


class Trial:
    """Runs CASE in a new folder of DIRECTORY. After run(): REPORT (the JSON, or None and PROBLEM), BOARD's culprits and
    places at the moment of the interruption, WAY and MOMENT_S (after the start of the loop)."""

    def __init__(self, case, directory, programs):
        self.case, self.programs = case, programs
        self.folder = os.path.join(directory, case.name)
        self.report = self.problem = self.status = None
        self.culprits, self.places = [], []
        dice = random.Random(f"interruption of {case.name}")
        self.way = dice.choice(WAYS) if case.kind == CORRECT else dice.choice(("ctrl-c", "sigterm-recorder", "sigterm-launcher"))
        if case.ends:
            self.way = "none"
        self.moment_s = round(dice.uniform(*case.span_s), 3)
        # the moment counts from the start of the launcher
        self.is_early = dice.random() < 0.04 or not isinstance(case, Case)
        self.interrupted = False

    @property
    def signal(self):
        """The signal of the interruption, or an empty string."""
        return {"none": "", "ctrl-c": "SIGINT", "sigint-launcher": "SIGINT"}.get(self.way, "SIGTERM")

    # ---- processes

    def record_command(self):
        record = [TOLLGATE, "record", "-q", "--force", "-o", "trace", "--", *self.case.prepare(self.programs, self.folder)]
        if self.way == "timeout":
            return ["timeout", "-k", "20", str(round(self.moment_s + 1.5, 2)), *record]
        return record

    def launcher(self):
        """The process that the recorder started."""
        recorder = self.process.pid
        for name in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open(f"/proc/{name}/stat") as file:
                    parent = int(file.read().rpartition(")")[2].split()[1])
                with open(f"/proc/{name}/cmdline") as file:
                    words = file.read().split("\0")
            except (OSError, ValueError):
                continue
            # others are the recorder's own: itself before exec, and tg-witness
            if parent == recorder and not re.match(r"tollgate$|tg-", os.path.basename(words[0])):
                return int(name)
        return recorder

    def interrupt(self):
        self.interrupted = True
        if self.way == "timeout":
            return  # comes by itself
        self.wait_for(lambda: self.launcher() != self.process.pid, BEGIN_S)  # else there is nothing to record yet
        try:
            if self.way == "ctrl-c":
                os.killpg(self.process.pid, signal.SIGINT)
            elif self.way == "sigterm-recorder":
                self.process.send_signal(signal.SIGTERM)
            else:
                os.kill(self.launcher(), signal.SIGTERM if self.way == "sigterm-launcher" else signal.SIGINT)
        except ProcessLookupError:
            pass

    def wait_for(self, is_there, limit_s):
        end = time.monotonic() + limit_s
        while not is_there():
            if self.process.poll() is not None or time.monotonic() > end:
                return False
            time.sleep(0.01)
        return True

    def wait_for_fault(self, board):
        """Returns the longest time that the main thread of a process had been at one place before."""
        since, longest_s, end = {}, 0, time.monotonic() + FAULT_S
        while not board.culprits():
            now = time.monotonic()
            if self.process.poll() is not None or now > end:
                self.problem = "the program did not come to its fault"
                break
            for place in board.places():
                if place.tid == place.pid:
                    calls, begun = since.setdefault(place.pid, (place.calls, now))
                    longest_s = max(longest_s, now - begun)
                    if calls != place.calls:
                        since[place.pid] = place.calls, now
            time.sleep(0.01)
        return longest_s

    def wait_for_quiet(self, board, quiet_s):
        """Until nobody makes calls any more."""
        latest = time.monotonic() + LATEST_S
        activity, since = board.activity(), time.monotonic()
        while self.process.poll() is None and time.monotonic() < latest:
            time.sleep(0.05)
            now = board.activity()
            if now != activity:
                activity, since = now, time.monotonic()
            if time.monotonic() - since > quiet_s:
                return

    # ---- the run

    def act(self, board):
        """Lets the job run to the moment of the interruption, and interrupts it."""
        if self.case.ends:
            return
        if self.case.kind == CORRECT:
            if self.way != "timeout" and not self.is_early and not self.wait_for(lambda: board.has_begun, BEGIN_S):
                self.problem = "the program did not begin"
            time.sleep(self.moment_s)
            self.interrupt()
            return
        usual_s = self.wait_for_fault(board)
        outside = self.case.truth.signal_from_outside
        if outside and board.culprits():
            os.kill(board.culprits()[0].pid, getattr(signal, outside))
        self.wait_for_quiet(board, max(QUIET_S, min(QUIET_TIMES * usual_s, QUIET_MOST_S)))
        self.culprits, self.places = board.culprits(), board.places()
        if self.process.poll() is None:
            self.interrupt()

    def run(self):
        shutil.rmtree(self.folder, ignore_errors=True)
        os.makedirs(self.folder)
        command = self.record_command()
        board = Board(os.path.join(self.folder, "board"))
        # one of its own, since launchers remove each other's; short, since the paths of sockets are made from it
        session = tempfile.mkdtemp(prefix="tb", dir="/tmp")
        environment = dict(os.environ, **ENVIRONMENT, TRUTH_BOARD=board.path, OMPI_MCA_orte_tmpdir_base=session)
        with open(os.path.join(self.folder, "output"), "wb") as output:
            self.process = subprocess.Popen(command, cwd=self.folder, env=environment, stdout=output,
                                            stdin=subprocess.DEVNULL, stderr=subprocess.STDOUT, start_new_session=True)
            try:
                self.act(board)
                self.status = self.process.wait(END_S)
            except subprocess.TimeoutExpired:
                self.problem = f"the recorder did not end within {END_S} s of the interruption ({self.way})"
            finally:
                self.end_all(board)
        self.culprits, self.places = self.culprits or board.culprits(), self.places or board.places()
        board.close()
        shutil.rmtree(session, ignore_errors=True)
        self.read_report()
        return self

    def end_all(self, board):
        """Ends what is left of this trial: the recorder and the processes that are on the board, all its own."""
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
        for pid in {place.pid for place in board.places()}:
            try:
                with open(f"/proc/{pid}/environ", "rb") as file:
                    if board.path.encode() in file.read():
                        os.kill(pid, signal.SIGKILL)
            except (OSError, ProcessLookupError):
                continue

    def read_report(self):
        trace = next((name for name in ("trace", "trace.incomplete") if os.path.exists(os.path.join(self.folder, name))), None)
        if trace is None:
            self.problem = self.problem or "no trace was written"
            return
        try:
            report = subprocess.run([TOLLGATE, "report", "--json", trace], cwd=self.folder, capture_output=True, timeout=REPORT_S)
        except subprocess.TimeoutExpired:
            self.problem = self.problem or f"the report takes more than {REPORT_S} s"
            return
        if report.returncode != 0:
            self.problem = self.problem or f"report exits with {report.returncode}: {report.stderr.decode(errors='replace')[-300:]}"
        with open(os.path.join(self.folder, "report.json"), "wb") as file:
            file.write(report.stdout)
        try:
            self.report = json.loads(report.stdout)
        except ValueError:
            self.problem = self.problem or "the report is not JSON"
