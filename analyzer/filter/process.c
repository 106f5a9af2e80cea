#include "analyzer/filter/process.h"

#include "format/base/hash.h"

#include <stdlib.h>

/* A breakpoint is looked for among this many libraries of its load event; time stays linear in the trace. */
enum { MAX_PLANT_SEARCH = 256 };

struct tg_filter_process *tg_filter_process_create(int32_t pid, size_t n_lanes, uint64_t time_ns)
{
    struct tg_filter_process *process = calloc(1, sizeof *process + n_lanes * sizeof *process->waits);
    if (process == NULL)
        return NULL;
    process->pid = pid;
    process->rank = -1;
    process->threads = 1;
    process->start_ns = process->last_ns = time_ns;
    return process;
}

static void clear_planted(struct tg_filter_process *process)
{
    struct tg_planted *planted, *next;
    HASH_ITER (hh, process->planted, planted, next) {
        HASH_DEL(process->planted, planted);
        free(planted);
    }
}

void tg_filter_process_destroy(struct tg_filter_process *process, size_t n_lanes)
{
    if (process == NULL)
        return;
    clear_planted(process);
    tg_pending_log_deinit(&process->log);
    tg_pending_log_deinit(&process->unloaded);
    for (size_t lane = 0; lane < n_lanes; lane++)
        tg_timeline_deinit(&process->waits[lane].timeline);
    free(process);
}

void tg_filter_process_forget_image(struct tg_filter_process *process)
{
    clear_planted(process);
    tg_pending_log_clear(&process->log);
    tg_pending_log_clear(&process->unloaded);
}

uint64_t tg_filter_process_run_ns(const struct tg_filter_process *process, uint64_t time_ns)
{
    uint64_t lived_ns = time_ns > process->start_ns ? time_ns - process->start_ns : 0;
    return lived_ns > process->stopped_ns ? lived_ns - process->stopped_ns : 0;
}

void tg_filter_process_note_stop(struct tg_filter_process *process, uint64_t time_ns, int32_t tid)
{
    if (process->stop_ns == time_ns && process->stop_tid == tid)
        return;
    process->before_ns = process->stop_ns;
    process->stop_ns = time_ns;
    process->stop_tid = tid;
    process->other_stop = false;
}

uint64_t tg_filter_process_unseen_since(const struct tg_filter_process *process, uint64_t time_ns)
{
    uint64_t since_ns = process->stop_ns == time_ns ? process->before_ns : process->stop_ns;
    if (since_ns == 0)
        since_ns = process->start_ns;
    return since_ns < time_ns ? since_ns : time_ns;
}

static struct tg_planted *find_planted(struct tg_filter_process *process, uint64_t address)
{
    struct tg_planted *planted = NULL;
    HASH_FIND(hh, process->planted, &address, sizeof address, planted);
    return planted;
}

struct tg_error *tg_filter_process_plant(struct tg_filter_process *process, uint64_t address,
                                         uint32_t library)
{
    const struct tg_pending_log *log = &process->log;
    if (process->load_epoch != log->epoch)
        return NULL;
    size_t item = process->load_first;
    size_t end = log->count - item > MAX_PLANT_SEARCH ? item + MAX_PLANT_SEARCH : log->count;
    while (item < end && log->items[item].library != library)
        item++;
    if (item >= end)
        return NULL;
    struct tg_planted *planted = find_planted(process, address);
    if (planted == NULL) {
        struct tg_error *error = TG_HASH_CREATE(hh, process->planted, address, &address, planted);
        if (error != NULL)
            return error;
    }
    planted->epoch = log->epoch;
    planted->item = item;
    return NULL;
}

void tg_filter_process_unplant(struct tg_filter_process *process, uint64_t address)
{
    struct tg_planted *planted = find_planted(process, address);
    if (planted == NULL)
        return;
    HASH_DEL(process->planted, planted);
    free(planted);
}

unsigned tg_filter_process_lanes_without(struct tg_filter_process *process, uint64_t address)
{
    const struct tg_planted *planted = find_planted(process, address);
    if (planted == NULL || planted->epoch != process->log.epoch)
        return 0;
    return process->log.items[planted->item].lanes;
}
