#include "analyzer/filter/process.h"

#include "format/base/hash.h"

#include <stdlib.h>

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
    struct tg_newest *newest, *following;
    HASH_ITER (hh, process->newest, newest, following) {
        HASH_DEL(process->newest, newest);
        free(newest);
    }
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

enum tg_process_role tg_filter_process_role(const struct tg_filter_process *process)
{
    return process->made_mpi_calls ? TG_ROLE_MPI : process->rank >= 0 ? TG_ROLE_RANKED : TG_ROLE_OTHER;
}

static struct tg_newest *find_newest(struct tg_filter_process *process, uint32_t library)
{
    struct tg_newest *newest = NULL;
    HASH_FIND(hh, process->newest, &library, sizeof library, newest);
    return newest;
}

struct tg_error *tg_filter_process_note_load(struct tg_filter_process *process, uint32_t library, size_t item)
{
    struct tg_newest *newest = find_newest(process, library);
    if (newest == NULL && item == SIZE_MAX)
        return NULL;
    struct tg_error *error =
        newest == NULL ? TG_HASH_CREATE(hh, process->newest, library, &library, newest) : NULL;
    if (error != NULL)
        return error;
    newest->epoch = process->log.epoch;
    newest->item = item;
    return NULL;
}

/* The breakpoint at ADDRESS, made where it is new. */
static struct tg_error *make_planted(struct tg_filter_process *process, uint64_t address,
                                     struct tg_planted **planted)
{
    *planted = find_planted(process, address);
    return *planted != NULL ? NULL : TG_HASH_CREATE(hh, process->planted, address, &address, *planted);
}

struct tg_error *tg_filter_process_plant(struct tg_filter_process *process, uint64_t address,
                                         uint32_t library)
{
    const struct tg_newest *newest = find_newest(process, library);
    struct tg_planted *planted = NULL;
    if (newest == NULL || newest->item == SIZE_MAX || newest->epoch != process->log.epoch) {
        tg_filter_process_unplant(process, address);
        return NULL;
    }
    struct tg_error *error = make_planted(process, address, &planted);
    if (error != NULL)
        return error;
    planted->epoch = newest->epoch;
    planted->item = newest->item;
    planted->blind = process->log.items[newest->item].blind;
    return NULL;
}

struct tg_error *tg_filter_process_inherit(struct tg_filter_process *child,
                                           const struct tg_filter_process *parent)
{
    const struct tg_planted *of_parent, *next;
    HASH_ITER (hh, parent->planted, of_parent, next) {
        struct tg_planted *planted = NULL;
        struct tg_error *error =
            of_parent->blind != 0 ? make_planted(child, of_parent->address, &planted) : NULL;
        if (error != NULL)
            return error;
        if (planted != NULL) {
            planted->epoch = UINT64_MAX; /* nothing waits any more: a fork is a stop */
            planted->blind = of_parent->blind;
        }
    }
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
    if (planted == NULL)
        return 0;
    bool waits = planted->epoch == process->log.epoch;
    return planted->blind | (waits ? process->log.items[planted->item].lanes : 0U);
}
