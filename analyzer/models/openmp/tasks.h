/* The table of explicit tasks that are not over: who made them and where, what they wait for, who runs them,
 * and what suspended ones are inside of. Internal to the OpenMP model. */
#ifndef TG_ANALYZER_MODELS_OPENMP_TASKS_H
#define TG_ANALYZER_MODELS_OPENMP_TASKS_H

#include "analyzer/models/openmp/state.h"
#include "format/base/error.h"
#include "format/base/hash.h"

enum { TG_OPENMP_MAX_TASKS = 1 << 16 }; /* kept at a time; nothing is known of others */

struct tg_openmp_task_key {
    size_t process;
    uint64_t id;
};

struct tg_openmp_task_entry {
    struct tg_openmp_task public;
    struct tg_openmp_task_key key;
    struct tg_openmp_place *places; /* of a suspended one, the outermost first */
    size_t n_places;
    struct tg_omp_dependence *dependences;
    UT_hash_handle hh;
};

/* All zero is an empty one. */
struct tg_openmp_tasks {
    struct tg_openmp_task_entry *entries; /* in order of addition along hh.next */
};

void tg_openmp_tasks_deinit(struct tg_openmp_tasks *tasks);
/* Adds those of FROM to TO, which is empty. Only error: NO_MEMORY. */
struct tg_error *tg_openmp_tasks_copy(const struct tg_openmp_tasks *from, struct tg_openmp_tasks *to);

/* Task ID of PROCESS; NULL where it is not known. */
struct tg_openmp_task_entry *tg_openmp_tasks_find(const struct tg_openmp_tasks *tasks, size_t process,
                                                  uint64_t id);
/* The same, made where it is not known: *TASK is NULL where there are too many. Only error: NO_MEMORY. */
struct tg_error *tg_openmp_tasks_get(struct tg_openmp_tasks *tasks, size_t process, uint64_t id,
                                     struct tg_openmp_task_entry **task);
/* Keeps the first TG_OPENMP_MAX_DEPENDENCES of a list of struct tg_omp_dependence. Only error: NO_MEMORY. */
struct tg_error *tg_openmp_task_depend(struct tg_openmp_task_entry *task, const struct tg_list *dependences);
/* The task is inside of COUNT places, which replace those that it was inside of. Only error: NO_MEMORY. */
struct tg_error *tg_openmp_task_put(struct tg_openmp_task_entry *task, const struct tg_openmp_place *places,
                                    size_t count);
/* NULL is accepted. */
void tg_openmp_tasks_drop(struct tg_openmp_tasks *tasks, struct tg_openmp_task_entry *task);
void tg_openmp_tasks_drop_process(struct tg_openmp_tasks *tasks, size_t process);

#endif
