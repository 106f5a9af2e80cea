#include "analyzer/models/openmp/workers.h"

#include "format/base/array.h"
#include "format/base/hash.h"

#include <stdlib.h>
#include <string.h>

/* How many workers each program has had: numbers begin anew with a program. */
struct tg_openmp_numbering {
    size_t process;
    uint64_t last;
    UT_hash_handle hh;
};

void tg_openmp_workers_deinit(struct tg_openmp_workers *workers)
{
    HASH_CLEAR(hh, workers->live);
    for (size_t i = 0; i < workers->count; i++) {
        free(workers->items[i]->places);
        free(workers->items[i]);
    }
    free(workers->items);
    struct tg_openmp_numbering *numbering, *next;
    HASH_ITER (hh, workers->numberings, numbering, next) {
        HASH_DEL(workers->numberings, numbering);
        free(numbering);
    }
    *workers = (struct tg_openmp_workers){0};
}

/* ---- numbers */

static struct tg_openmp_numbering *find_numbering(const struct tg_openmp_workers *workers, size_t process)
{
    struct tg_openmp_numbering *numbering;
    HASH_FIND(hh, workers->numberings, &process, sizeof process, numbering);
    return numbering;
}

static struct tg_error *next_number(struct tg_openmp_workers *workers, size_t process, uint64_t *number)
{
    struct tg_openmp_numbering *numbering = find_numbering(workers, process);
    if (numbering == NULL) {
        struct tg_error *error = TG_HASH_CREATE(hh, workers->numberings, process, &process, numbering);
        if (error != NULL)
            return error;
    }
    *number = ++numbering->last;
    return NULL;
}

void tg_openmp_workers_number_anew(struct tg_openmp_workers *workers, size_t process)
{
    struct tg_openmp_numbering *numbering = find_numbering(workers, process);
    if (numbering != NULL)
        numbering->last = 0;
}

/* ---- workers */

struct tg_openmp_worker_entry *tg_openmp_workers_find(const struct tg_openmp_workers *workers, size_t process,
                                                      int32_t tid)
{
    struct tg_openmp_worker_key key;
    struct tg_openmp_worker_entry *worker = tg_openmp_workers_find_recent(workers, process, tid);
    if (worker != NULL)
        return worker;
    memset(&key, 0, sizeof key);
    key.process = process;
    key.tid = tid;
    HASH_FIND(hh, workers->live, &key, sizeof key, worker);
    return worker;
}

static struct tg_error *add_worker(struct tg_openmp_workers *workers, struct tg_openmp_worker_entry *worker)
{
    struct tg_error *error = TG_ARRAY_RESERVE(workers->items, workers->capacity, workers->count + 1);
    if (error == NULL)
        error = TG_HASH_ADD(hh, workers->live, key, worker);
    if (error != NULL)
        return error;
    worker->public.index = workers->count;
    workers->items[workers->count++] = worker;
    return NULL;
}

struct tg_error *tg_openmp_workers_get(struct tg_openmp_workers *workers, size_t process, int32_t tid,
                                       uint64_t now_ns, struct tg_openmp_worker_entry **worker)
{
    struct tg_openmp_worker_entry *found = tg_openmp_workers_find(workers, process, tid);
    if (found == NULL) {
        found = calloc(1, sizeof *found);
        if (found == NULL)
            return tg_error_no_memory();
        found->key.process = process;
        found->key.tid = tid;
        found->public =
            (struct tg_openmp_worker){.process = process, .tid = tid, .alive = true, .first_ns = now_ns};
        struct tg_error *error = next_number(workers, process, &found->public.number);
        if (error == NULL)
            error = add_worker(workers, found);
        if (error != NULL) {
            free(found);
            return error;
        }
    }
    workers->recent[tg_openmp_workers_recent_place(process, tid)] = found;
    *worker = found;
    return NULL;
}

void tg_openmp_workers_kill(struct tg_openmp_workers *workers, struct tg_openmp_worker_entry *worker,
                            uint64_t time_ns)
{
    HASH_DEL(workers->live, worker);
    struct tg_openmp_worker_entry **recent =
        &workers->recent[tg_openmp_workers_recent_place(worker->key.process, worker->key.tid)];
    if (*recent == worker)
        *recent = NULL;
    worker->public.alive = false;
    worker->public.ended_ns = time_ns;
    worker->public.exit_status = -1;
}

void tg_openmp_workers_kill_process(struct tg_openmp_workers *workers, size_t process, uint64_t time_ns)
{
    struct tg_openmp_worker_entry *worker, *next;
    HASH_ITER (hh, workers->live, worker, next)
        if (worker->key.process == process)
            tg_openmp_workers_kill(workers, worker, time_ns);
}

struct tg_error *tg_openmp_worker_make_room(struct tg_openmp_worker_entry *worker)
{
    struct tg_error *error = TG_ARRAY_RESERVE(worker->places, worker->capacity, worker->public.n_places + 1);
    worker->public.places = worker->places;
    return error;
}

/* ---- copies */

static struct tg_error *copy_worker(const struct tg_openmp_worker_entry *from, struct tg_openmp_workers *to)
{
    struct tg_openmp_worker_entry *worker = calloc(1, sizeof *worker);
    if (worker == NULL)
        return tg_error_no_memory();
    to->items[to->count++] = worker;
    worker->public = from->public;
    worker->public.n_places = 0;
    worker->key = from->key;
    worker->late_leaves = from->late_leaves;
    struct tg_error *error = TG_ARRAY_COPY(worker->places, worker->public.n_places, worker->capacity,
                                           from->places, from->public.n_places);
    worker->public.places = worker->places;
    return error;
}

static struct tg_error *copy_numberings(const struct tg_openmp_workers *from, struct tg_openmp_workers *to)
{
    struct tg_error *error = NULL;
    const struct tg_openmp_numbering *numbering = from->numberings;
    for (; error == NULL && numbering != NULL; numbering = numbering->hh.next) {
        uint64_t number;
        error = next_number(to, numbering->process, &number);
        if (error == NULL)
            find_numbering(to, numbering->process)->last = numbering->last;
    }
    return error;
}

struct tg_error *tg_openmp_workers_copy(const struct tg_openmp_workers *from, struct tg_openmp_workers *to)
{
    struct tg_error *error = TG_ARRAY_RESERVE(to->items, to->capacity, from->count);
    for (size_t i = 0; error == NULL && i < from->count; i++)
        error = copy_worker(from->items[i], to);
    const struct tg_openmp_worker_entry *live = from->live;
    for (; error == NULL && live != NULL; live = live->hh.next) {
        struct tg_openmp_worker_entry *worker = to->items[live->public.index];
        error = TG_HASH_ADD(hh, to->live, key, worker);
    }
    return error != NULL ? error : copy_numberings(from, to);
}
