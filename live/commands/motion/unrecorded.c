#include "live/commands/motion/unrecorded.h"

#include "analyzer/finding/attachment.h"
#include "analyzer/output/quantity.h"
#include "live/commands/info/place.h"
#include "live/console/options.h"
#include "live/source/moment.h"

static bool has_workers(const struct tg_openmp_model *openmp, size_t process)
{
    for (size_t i = 0; i < tg_openmp_model_worker_count(openmp); i++)
        if (tg_openmp_model_worker_at(openmp, i)->process == process)
            return true;
    return false;
}

struct tg_error *tg_unrecorded_refuse(const struct tg_console *console)
{
    const struct tg_moment *moment = console->source->moment;
    const struct tg_verdict_input input = tg_console_words(console);
    uint64_t attached_ns = UINT64_MAX;
    char attached[TG_QUANTITY_SIZE];
    if (console->options.live == NULL)
        return NULL;
    for (size_t i = 0; i < tg_process_model_count(moment->processes); i++) {
        const struct tg_process_entry *entry = tg_process_model_at(moment->processes, i);
        if (entry->end != TG_PROCESS_RUNNING || !tg_focus_has(&console->focus, i))
            continue;
        if (!tg_attachment_is_late(&input, i) || has_workers(moment->openmp, i))
            return NULL;
        if (entry->start_ns < attached_ns)
            attached_ns = entry->start_ns;
    }
    if (attached_ns == UINT64_MAX)
        return NULL;
    return tg_error_create(
        TG_ERROR_NOT_FOUND,
        "unknown: attached at %s s; a process that is attached has no agent, and its teams and zones are not "
        "recorded. `opm start` and `opm next` stop at breakpoints, `info workers` has the stacks",
        tg_quantity_moment(attached_ns, console->source->start_ns, 6, attached));
}
