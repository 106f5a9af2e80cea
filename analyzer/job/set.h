/* A set of threads (and of processes that have none) of one struct tg_job_view. */
#ifndef TG_ANALYZER_JOB_SET_H
#define TG_ANALYZER_JOB_SET_H

#include "analyzer/job/view.h"

/* Caller's storage; all zero is a set over nothing. Belongs to the view that it was initialised with. */
struct tg_job_set {
    uint64_t *bits; /* one a slot of the view */
    size_t n_slots;
};

/* Empty. */
struct tg_error *tg_job_set_init(struct tg_job_set *set, const struct tg_job_view *view);
void tg_job_set_deinit(struct tg_job_set *set);

/* Thread I of PROCESS; of a process without threads: I is 0. */
void tg_job_set_add(struct tg_job_set *set, const struct tg_job_process *process, size_t i);
void tg_job_set_remove(struct tg_job_set *set, const struct tg_job_process *process, size_t i);
bool tg_job_set_has(const struct tg_job_set *set, const struct tg_job_process *process, size_t i);
/* Any of PROCESS's. */
bool tg_job_set_has_any(const struct tg_job_set *set, const struct tg_job_process *process);

/* SET becomes the union, difference, intersection of both, which are over the same view. */
void tg_job_set_unite(struct tg_job_set *set, const struct tg_job_set *other);
void tg_job_set_subtract(struct tg_job_set *set, const struct tg_job_set *other);
void tg_job_set_intersect(struct tg_job_set *set, const struct tg_job_set *other);

bool tg_job_set_is_empty(const struct tg_job_set *set);

/* How many processes have anything in it, and how many threads are. */
void tg_job_set_count(const struct tg_job_set *set, const struct tg_job_view *view, size_t *n_processes,
                      size_t *n_threads);

void tg_job_set_cleanup(struct tg_job_set *set);
#define TG_AUTO_JOB_SET __attribute__((cleanup(tg_job_set_cleanup)))

#endif
