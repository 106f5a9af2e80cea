/* The OpenMP model: events in, what every worker is inside of, every open team, and the state of its barriers
 * out. At any moment of a trace it answers for that moment: feed it up to there.
 *
 * A sequence of events that cannot be (a lost event, a runtime's bug, a damaged trace) is counted and does no
 * harm: the model makes the least of it. */
#ifndef TG_ANALYZER_MODELS_OPENMP_MODEL_H
#define TG_ANALYZER_MODELS_OPENMP_MODEL_H

#include "analyzer/models/openmp/state.h"
#include "analyzer/models/wait_times.h"
#include "format/base/error.h"
#include "format/event/event.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tg_openmp_model;

/* OPTIONS is copied. */
struct tg_error *tg_openmp_model_create(const struct tg_openmp_model_options *options,
                                        struct tg_openmp_model **model);
void tg_openmp_model_destroy(struct tg_openmp_model *model); /* NULL is accepted */
/* A second one, without callbacks, that says the same and goes on from there on its own. */
struct tg_error *tg_openmp_model_copy(const struct tg_openmp_model *model, struct tg_openmp_model **copy);

/* Whether the model takes events of KIND; it ignores all others. */
static inline bool tg_openmp_model_needs(unsigned kind)
{
    return tg_event_has_place(kind) || kind == TG_EVENT_THREAD_EXIT || kind == TG_EVENT_PROCESS_EXIT ||
           kind == TG_EVENT_EXEC;
}

/* Takes one event of the process with index PROCESS in the process model; kinds that say nothing of OpenMP or
 * of threads are ignored. Errors: NO_MEMORY, and those of the options' callbacks. Memory follows workers and
 * open teams, not events. */
struct tg_error *tg_openmp_model_feed(struct tg_openmp_model *model, const struct tg_event *event,
                                      size_t process);

/* The same of COUNT events that all have a place (tg_event_has_place), each of its process of PROCESSES. */
struct tg_error *tg_openmp_model_feed_run(struct tg_openmp_model *model, const struct tg_event *events,
                                          const size_t *processes, size_t count);

/* How many events could not be, as far as the model knows; *FIRST_NS is when the first was, *FIRST what
 * (static; NULL where none was). */
uint64_t tg_openmp_model_impossible(const struct tg_openmp_model *model, uint64_t *first_ns,
                                    const char **first);

/* Waits at barriers, for locks and for tasks that are over; not those of threads in a pool for work. */
struct tg_wait_times tg_openmp_model_waits(const struct tg_openmp_model *model);

/* Workers, for I in [0, count), in order of first appearance. They stay where they are; what they point to
 * is valid until the next feed. */
size_t tg_openmp_model_worker_count(const struct tg_openmp_model *model);
const struct tg_openmp_worker *tg_openmp_model_worker_at(const struct tg_openmp_model *model, size_t i);
/* The live worker TID of PROCESS; NULL where there is none. */
const struct tg_openmp_worker *tg_openmp_model_worker(const struct tg_openmp_model *model, size_t process,
                                                      int32_t tid);

/* Calls VISIT for every open team, those met first first; stops at an error and returns it. */
struct tg_error *tg_openmp_model_visit_teams(const struct tg_openmp_model *model,
                                             struct tg_error *(*visit)(void *context,
                                                                       const struct tg_openmp_team *team),
                                             void *context);
/* Team ID of PROCESS if it is open; NULL otherwise. Valid until the next feed. */
const struct tg_openmp_team *tg_openmp_model_team(const struct tg_openmp_model *model, size_t process,
                                                  uint64_t id);

/* Calls VISIT for every explicit task that is not over, those created first first; stops at an error and
 * returns it. */
struct tg_error *tg_openmp_model_visit_tasks(const struct tg_openmp_model *model,
                                             struct tg_error *(*visit)(void *context,
                                                                       const struct tg_openmp_task *task),
                                             void *context);

#endif
