"""Compares what a report says with the truth of a case."""
import collections
import re

from answer import findings_of
from case import CORRECT

RIGHT = "right"  # culprit (rank and thread) and line, first
NO_LINE = "no line"  # the culprit, first, without its line
NO_REASON = "no reason"  # the culprit and its line, first, but not what happened to it
NO_THREAD = "no thread"  # the rank, first, but not which thread
PARTIAL = "partial"  # the other half of the mistake, or the culprit among innocents
WRONG = "wrong"  # somebody else, first
SILENT = "silent"  # nobody
INVALID = "invalid"  # the trial itself did not work: the fault was not reached, no trace, a report that fails
FALSE = "false verdict"
OUTCOMES = (RIGHT, NO_LINE, NO_REASON, NO_THREAD, PARTIAL, WRONG, SILENT, INVALID)

Judgement = collections.namedtuple("Judgement", "outcome why")


def judge_correct(trial, findings):
    """Any finding that blames somebody in a correct program is false; only what is about the interruption itself is not."""
    accusing = [finding for finding in findings if not finding.is_about_the_interruption]
    if accusing:
        return Judgement(FALSE, f"{accusing[0].kind}: {accusing[0].text}")
    untrue = [finding for finding in findings if finding.kind == "interruption" and trial.signal not in finding.text]
    if untrue:
        return Judgement(FALSE, f"it was {trial.signal}: {untrue[0].text}")
    if trial.case.ends and trial.status != 0:
        return Judgement(INVALID, f"the program ended with {trial.status}")
    return Judgement(RIGHT, "")


def right_lines(trial):
    truth = trial.case.truth
    lines = {line.number for line in truth.lines}
    tids = {culprit.tid for culprit in trial.culprits}
    if truth.here or truth.waiters:
        lines |= {place.line for place in trial.places if place.tid in tids and place.is_inside}
    if truth.last_line:
        lines |= {culprit.last_line for culprit in trial.culprits}
    if truth.waiters:
        lines |= {place.line for place in trial.places if place.is_inside}
    return lines - {0}


def judge_fault(trial, findings):
    truth, has_mpi = trial.case.truth, trial.case.has_mpi
    telling = [finding for finding in findings if not finding.is_about_the_interruption]
    if not telling:
        return Judgement(SILENT, "nothing is said" if not findings else findings[0].text)
    first = telling[0]
    ranks = {rank for rank in first.ranks if rank is not None} if has_mpi else ({0} if first.blames_somebody else set())
    if not ranks:
        return Judgement(SILENT, f"{first.kind}: nobody is named: {first.text}")
    if not ranks & truth.ranks:
        outcome = PARTIAL if ranks & truth.also else WRONG
        return Judgement(outcome, f"{first.kind} names rank {sorted(ranks)}, not {sorted(truth.ranks)}: {first.text}")
    innocent = ranks - truth.ranks - truth.also
    if innocent and first.kind != "deadlock":  # all in a cycle are in it
        return Judgement(PARTIAL, f"{first.kind} names rank {sorted(innocent)} as well: {first.text}")
    if truth.threads:
        tids = {culprit.tid for culprit in trial.culprits}
        if first.threads and not first.threads & tids:
            return Judgement(WRONG, f"{first.kind} names thread {sorted(first.threads)}, not {sorted(tids)}: {first.text}")
        if not first.threads:
            return Judgement(NO_THREAD, f"{first.kind}: {first.text}")
    lines = right_lines(trial)
    if truth.line_matters and not first.lines & lines:
        return Judgement(NO_LINE, f"{first.kind} has line {sorted(first.lines)}, not one of {sorted(lines)}: {first.text}")
    if not re.search(truth.reason, first.text):
        return Judgement(NO_REASON, f"{first.kind} does not say {truth.reason}: {first.text}")
    return Judgement(RIGHT, "")


def judge(trial):
    if trial.problem is not None:
        return Judgement(INVALID, trial.problem)
    findings = findings_of(trial.report)
    if trial.case.kind == CORRECT:
        return judge_correct(trial, findings)
    if not trial.culprits:
        return Judgement(INVALID, "the fault was not reached")
    return judge_fault(trial, findings)
