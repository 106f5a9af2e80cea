/* The table of threads that OpenMP knows, and what each is inside of. Internal to
 * the OpenMP model. */
#ifndef TG_ANALYZER_MODELS_OPENMP_WORKERS_H
#define TG_ANALYZER_MODELS_OPENMP_WORKERS_H

#include "analyzer/models/openmp/state.h"
#include "format/base/error.h"
#include "format/base/hash.h"

struct tg_openmp_worker_key {
    size_t process;
    int64_t tid;
};

struct tg_openmp_worker_entry {
    struct tg_openmp_worker_key key; /* beside what each event of the worker touches */
    struct tg_openmp_place *places;
    size_t capacity;
    size_t nth_member;  /* of a team: where it was found last */
    size_t late_leaves; /* locks that another one is inside of already, whose leaving may be told yet */
    struct tg_openmp_worker public;
    UT_hash_handle hh; /* among the live ones */
};

struct tg_openmp_numbering;

/* All zero is an empty one. */
struct tg_openmp_workers {
    struct tg_openmp_worker_entry **items; /* by index */
    size_t count, capacity;
    struct tg_openmp_worker_entry *live;
    struct tg_openmp_worker_entry *recent[256]; /* live ones got lately, by process and thread id */
    struct tg_openmp_numbering *numberings;
};

void tg_openmp_workers_deinit(struct tg_openmp_workers *workers);
/* Adds those of FROM, with what they are inside of, to TO, which is empty. Only error: NO_MEMORY. */
struct tg_error *tg_openmp_workers_copy(const struct tg_openmp_workers *from, struct tg_openmp_workers *to);

static inline size_t tg_openmp_workers_recent_place(size_t process, int64_t tid)
{
    return ((uint64_t)tid + process * 61) % (sizeof((struct tg_openmp_workers *)0)->recent / sizeof(void *));
}

/* The live worker TID of PROCESS if it was got lately; else NULL. */
static inline struct tg_openmp_worker_entry *
tg_openmp_workers_find_recent(const struct tg_openmp_workers *workers, size_t process, int32_t tid)
{
    struct tg_openmp_worker_entry *worker = workers->recent[tg_openmp_workers_recent_place(process, tid)];
    return worker != NULL && worker->key.tid == tid && worker->key.process == process ? worker : NULL;
}

/* The live worker TID of PROCESS; NULL where there is none. */
struct tg_openmp_worker_entry *tg_openmp_workers_find(const struct tg_openmp_workers *workers, size_t process,
                                                      int32_t tid);
/* The same, made where there is none: then NOW_NS is when it was first seen. Only error: NO_MEMORY. */
struct tg_error *tg_openmp_workers_get(struct tg_openmp_workers *workers, size_t process, int32_t tid,
                                       uint64_t now_ns, struct tg_openmp_worker_entry **worker);
/* A dead worker keeps its places: they say where it ended. */
void tg_openmp_workers_kill(struct tg_openmp_workers *workers, struct tg_openmp_worker_entry *worker,
                            uint64_t time_ns);
void tg_openmp_workers_kill_process(struct tg_openmp_workers *workers, size_t process, uint64_t time_ns);
/* Another program runs in PROCESS: its workers are numbered from 1. */
void tg_openmp_workers_number_anew(struct tg_openmp_workers *workers, size_t process);

/* Room for one more place. Only error: NO_MEMORY. */
struct tg_error *tg_openmp_worker_make_room(struct tg_openmp_worker_entry *worker);

#endif
