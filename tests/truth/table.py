"""The results of many trials, as a table and as JSON."""
import collections

from case import CORRECT
from judge import FALSE, INVALID, NO_LINE, NO_REASON, NO_THREAD, OUTCOMES, PARTIAL, RIGHT, SILENT, WRONG


def percent(part, whole):
    return "-" if whole == 0 else f"{100 * part / whole:.1f} %"


def write_correct(results, write):
    by_toolchain = collections.defaultdict(collections.Counter)
    for result in results:
        by_toolchain[result["toolchain"]][result["outcome"]] += 1
    write("| correct programs | interrupted or ended | false verdicts | invalid trials |")
    write("|---|---|---|---|")
    total = collections.Counter()
    for toolchain, counts in sorted(by_toolchain.items()):
        total += counts
        write(f"| {toolchain} | {sum(counts.values()) - counts[INVALID]} | {counts[FALSE]} | {counts[INVALID]} |")
    interrupted = sum(result["interrupted"] and result["outcome"] != INVALID for result in results)
    write(f"| all | {sum(total.values()) - total[INVALID]}, of which {interrupted} interruptions | {total[FALSE]} | {total[INVALID]} |")


def write_faults(results, write):
    by_kind = collections.defaultdict(collections.Counter)
    for result in results:
        by_kind[result["kind"]][result["outcome"]] += 1
    write("| fault | trials | right | no line | no reason | no thread | partial | wrong | silent | invalid | recall | precision |")
    write("|---|---|---|---|---|---|---|---|---|---|---|---|")
    total = collections.Counter()
    for kind, counts in by_kind.items():
        total += counts
        write(row(kind, counts))
    write(row("all", total))


def row(name, counts):
    """Recall: culprit and line, first, of all trials; precision: not somebody else, of those in which somebody is named."""
    trials = sum(counts.values()) - counts[INVALID]
    named = counts[RIGHT] + counts[NO_LINE] + counts[NO_REASON] + counts[NO_THREAD]
    cells = [name, trials, *(counts[outcome] for outcome in OUTCOMES), percent(counts[RIGHT], trials),
             percent(named + counts[PARTIAL], named + counts[PARTIAL] + counts[WRONG])]
    return "| " + " | ".join(map(str, cells)) + " |"


def write_table(results, write):
    correct = [result for result in results if result["kind"] == CORRECT]
    faults = [result for result in results if result["kind"] != CORRECT]
    if correct:
        write_correct(correct, write)
    if correct and faults:
        write("")
    if faults:
        write_faults(faults, write)


def summary(results):
    """The figures of the claims."""
    correct = [result for result in results if result["kind"] == CORRECT and result["outcome"] != INVALID]
    faults = [result for result in results if result["kind"] != CORRECT and result["outcome"] != INVALID]
    count = collections.Counter(result["outcome"] for result in faults)
    return {"interruptions": sum(result["interrupted"] for result in correct),
            "false_verdicts": sum(result["outcome"] == FALSE for result in correct),
            "faults": len(faults), "kinds": len({result["kind"] for result in faults}),
            "right": count[RIGHT], "named": count[RIGHT] + count[NO_LINE] + count[NO_REASON], "partial": count[PARTIAL], "wrong": count[WRONG],
            "silent": count[SILENT], "no_thread": count[NO_THREAD], "no_line": count[NO_LINE],
            "no_reason": count[NO_REASON],
            "invalid": sum(result["outcome"] == INVALID for result in results)}
