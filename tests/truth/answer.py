"""What a report says went wrong: its findings (`post_mortem` of `report --json`), as blamed ranks and threads and lines."""
import re

# Findings about the interruption itself: that the launcher ended, who sent which signal, where everybody was then.
ABOUT_THE_INTERRUPTION = {"starter", "interruption", "interrupted"}
PLACE = re.compile(r"\bprogram\.c:(\d+)")
LAUNCHER = re.compile(r"Process \d+ \((orterun|mpirun|mpiexec|hydra_\w+)")  # mpirun of Open MPI crashes now and then: docs/mpir.md
THREAD = re.compile(r"\bthread (\d+)\b")


class Finding:
    """RANKS and THREADS (their kernel's numbers) that are blamed; LINES of the program that it names."""

    def __init__(self, report, fields):
        processes = report["processes"]
        rank_of = [process["rank"] if process["rank"] is not None else None for process in processes]
        self.kind, self.text = fields["kind"], fields["text"]
        self.is_warning = fields.get("severity") == "warning"
        culprits = fields.get("culprits")
        if culprits is None:
            culprits = [{"process": fields["process"], "tid": None}] if fields["process"] is not None else []
            self.threads = set(map(int, THREAD.findall(self.text)))
        else:
            self.threads = {culprit["tid"] for culprit in culprits if culprit.get("tid") is not None}
        indices = [culprit["process"] for culprit in culprits if culprit.get("process") is not None]
        self.processes = {processes[index]["pid"] for index in indices}
        self.ranks = {rank_of[index] for index in indices} | {
            culprit["rank"] for culprit in culprits if culprit.get("process") is None and culprit.get("rank") is not None}
        self.blames_somebody = bool(self.ranks)
        self.lines = set(map(int, PLACE.findall(f"{self.text} {fields['where']}")))
        for culprit in culprits:
            if culprit.get("line") and str(culprit.get("file", "")).endswith("program.c"):
                self.lines.add(culprit["line"])

    @property
    def is_about_the_interruption(self):
        """Also the end of the launcher or of another process that is no rank, which is what was asked for."""
        return (self.kind in ABOUT_THE_INTERRUPTION or (self.kind == "killed" and self.ranks == {None}) or
                (self.kind == "crash" and self.ranks == {None} and LAUNCHER.match(self.text) is not None))


def findings_of(report):
    return [Finding(report, fields) for fields in report.get("post_mortem") or []]
