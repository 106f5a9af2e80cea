#include "analyzer/finding/end_tally.h"

#include <inttypes.h>
#include <stdio.h>

bool tg_end_tally_is_bad(const struct tg_end_tally *tally, const struct tg_process_entry *entry)
{
    switch (entry->end) {
    case TG_PROCESS_RUNNING:
        return tally->is_over;
    case TG_PROCESS_LOST:
        return !tally->is_untraced;
    case TG_PROCESS_KILLED:
        return true;
    case TG_PROCESS_EXITED:
        return entry->status != 0 && (entry->rank >= 0 || entry->parent == NULL);
    case TG_PROCESS_DETACHED:
        break;
    }
    return false;
}

void tg_end_tally_add(struct tg_end_tally *tally, const struct tg_process_entry *entry)
{
    bool is_bad = tg_end_tally_is_bad(tally, entry);
    tally->n_bad += is_bad;
    tally->n_running += is_bad && entry->end == TG_PROCESS_RUNNING;
    tally->n_not_seen += !is_bad && entry->end == TG_PROCESS_LOST;
}

void tg_end_tally_print(const struct tg_end_tally *tally, char *text, size_t size)
{
    const char *plural = tally->n_bad == 1 ? "" : "es";
    if (tally->n_bad == 0 && tally->n_not_seen == 0)
        snprintf(text, size, "Nothing wrong found: no crash, no deadlock, no abnormal exit.");
    else if (tally->n_bad == 0)
        snprintf(text, size,
                 "Nothing wrong found: no crash, no deadlock, no abnormal exit; how %" PRIu64
                 " process%s ended is not seen without ptrace.",
                 tally->n_not_seen, tally->n_not_seen == 1 ? "" : "es");
    else if (tally->n_running == tally->n_bad)
        snprintf(text, size, "%" PRIu64 " process%s %s still running when the trace ended.", tally->n_bad,
                 plural, tally->n_bad == 1 ? "was" : "were");
    else
        snprintf(text, size,
                 "%" PRIu64 " process%s exited abnormally or did not exit; the trace does not show why.",
                 tally->n_bad, plural);
}
