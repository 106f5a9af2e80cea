/* OpenMP in numbers: how often and how long workers were inside of what, how long they waited at barriers and
 * for locks, and how evenly the work of regions was spread. Feeds an OpenMP model of its own, which says
 * where everybody is. */
#ifndef TG_ANALYZER_MODELS_OPENMP_STATISTICS_H
#define TG_ANALYZER_MODELS_OPENMP_STATISTICS_H

#include "analyzer/models/openmp/model.h"

/* Of one kind of place in one process's program. */
struct tg_openmp_zone_use {
    size_t process;
    enum tg_openmp_place_kind kind;
    uint64_t what;
    uint64_t code;     /* address in the program, 0 unknown */
    bool is_inferred;  /* a zone: the program's code tells of it, not a call */
    uint64_t count;    /* times that a worker left it */
    uint64_t total_ns; /* inside, all workers together; what is nested in it included */
    uint64_t max_ns;
};

/* Of one lock, critical or ordered in one process. */
struct tg_openmp_lock_use {
    size_t process;
    uint64_t mutex; /* enum tg_omp_mutex */
    uint64_t lock;  /* as in the events */
    uint64_t code;  /* address of the first wait */
    uint64_t entries;
    uint64_t contended; /* entries that found it taken, or came behind others that waited with them */
    uint64_t wait_ns, max_wait_ns;
    uint64_t hold_ns, max_hold_ns;
};

/* Of one worker, by its index in the model. */
struct tg_openmp_worker_use {
    uint64_t region_ns;  /* in the bodies of outermost regions */
    uint64_t barrier_ns; /* waiting at barriers, joins of regions that are over included; not the time of
                            tasks that it executed there */
    uint64_t lock_ns;    /* waiting for locks */
    uint64_t tasks;      /* explicit ones that it completed */
};

/* Of one parallel construct in one process. */
struct tg_openmp_region_use {
    size_t process;
    uint64_t code;
    uint64_t count;    /* regions that are over */
    uint64_t threads;  /* the most in one */
    uint64_t total_ns; /* from the construct to its end */
    uint64_t busy_ns;  /* sum over regions of the mean that a thread was not waiting at barriers in it */
    uint64_t
        max_busy_ns; /* sum over regions of the most that one thread was: the imbalance is what is above */
};

struct tg_openmp_statistics;

struct tg_error *tg_openmp_statistics_create(struct tg_openmp_statistics **statistics);
void tg_openmp_statistics_destroy(struct tg_openmp_statistics *statistics); /* NULL is accepted */

/* As tg_openmp_model_feed. */
struct tg_error *tg_openmp_statistics_feed(struct tg_openmp_statistics *statistics,
                                           const struct tg_event *event, size_t process);

/* The same of COUNT events, each of its process of PROCESSES. */
struct tg_error *tg_openmp_statistics_feed_run(struct tg_openmp_statistics *statistics,
                                               const struct tg_event *events, const size_t *processes,
                                               size_t count);

/* The model that was fed. */
const struct tg_openmp_model *tg_openmp_statistics_model(const struct tg_openmp_statistics *statistics);

/* Arrays that stay valid until the next feed: the most time first (locks: the most waiting), equals in order
 * of first appearance. NULL without memory, or where there is nothing (*COUNT 0). */
const struct tg_openmp_zone_use *tg_openmp_statistics_zones(struct tg_openmp_statistics *statistics,
                                                            size_t *count);
const struct tg_openmp_lock_use *tg_openmp_statistics_locks(struct tg_openmp_statistics *statistics,
                                                            size_t *count);
const struct tg_openmp_region_use *tg_openmp_statistics_regions(struct tg_openmp_statistics *statistics,
                                                                size_t *count);
/* By index of the model's workers; all zero where there is nothing. */
struct tg_openmp_worker_use tg_openmp_statistics_worker(const struct tg_openmp_statistics *statistics,
                                                        size_t worker);

#endif
