/* The run model: which threads run, and which are held by what. What happens and what is asked for goes in,
 * what is to be done comes out: the model controls nothing itself. A live session feeds it from its engine,
 * a trace from its events, and both get the same decisions.
 *
 * A thread is held where it or its process is held: by a command (dhold), or by barriers
 * (analyzer/job/barriers.h). A thread that is held does not run: it is stopped when it is held, and go
 * leaves it out. */
#ifndef TG_ANALYZER_JOB_RUN_MODEL_H
#define TG_ANALYZER_JOB_RUN_MODEL_H

#include "analyzer/job/barriers.h"
#include "analyzer/job/run_types.h"
#include "format/base/error.h"

struct tg_run_model;

struct tg_error *tg_run_model_create(struct tg_run_model **model);
void tg_run_model_destroy(struct tg_run_model *model); /* NULL is accepted */
struct tg_error *tg_run_model_copy(const struct tg_run_model *model, struct tg_run_model **copy);

/* The decisions of the latest change, in the order in which they are to be carried out; valid until the
 * next change. Every function below that returns an error is a change. Errors: NO_MEMORY, after which the
 * model is of no use; where stated NOT_FOUND and EXISTS, which change nothing. */
const struct tg_run_decision *tg_run_model_decisions(const struct tg_run_model *model, size_t *count);

/* ---- the job. EXISTS: the number is taken; NOT_FOUND: no such process or thread. */

struct tg_error *tg_run_model_add_process(struct tg_run_model *model,
                                          const struct tg_process_groups *process);
/* The groups changed: the process executed another program. Threads that ended by it are removed one by
 * one. */
struct tg_error *tg_run_model_change_process(struct tg_run_model *model,
                                             const struct tg_process_groups *process);
/* Removes all threads too; REASON: exit or detach. */
struct tg_error *tg_run_model_remove_process(struct tg_run_model *model, uint32_t dpid,
                                             enum tg_barrier_reason reason);
/* A new thread runs; where its process is held, or all of it is stopping, the thread is told to stop. */
struct tg_error *tg_run_model_add_thread(struct tg_run_model *model, struct tg_thread_id thread,
                                         bool is_manager);
/* For a thread of which it is known only after it was added whether it is a manager. */
struct tg_error *tg_run_model_set_manager(struct tg_run_model *model, struct tg_thread_id thread,
                                          bool is_manager);
struct tg_error *tg_run_model_remove_thread(struct tg_run_model *model, struct tg_thread_id thread,
                                            enum tg_barrier_reason reason);
/* THREAD has stopped: as it was told, at a breakpoint, by a signal. */
struct tg_error *tg_run_model_stopped(struct tg_run_model *model, struct tg_thread_id thread);

/* The session ends: whoever ends from here on does so by it, and nothing more is decided about barriers. */
struct tg_error *tg_run_model_end(struct tg_run_model *model);

/* ---- commands: to a thread, or with dtid 0 to a process */

/* RESUME_THREAD for each thread that is neither running nor held. */
struct tg_error *tg_run_model_go(struct tg_run_model *model, struct tg_thread_id thread);
/* Stops without holding. */
struct tg_error *tg_run_model_halt(struct tg_run_model *model, struct tg_thread_id thread);
/* A thread's hold and its process's are two things. Running threads are told to stop first. */
struct tg_error *tg_run_model_hold(struct tg_run_model *model, struct tg_thread_id thread);
/* Removes every hold, also those of barriers; the thread still counts as arrived there. */
struct tg_error *tg_run_model_unhold(struct tg_run_model *model, struct tg_thread_id thread);

/* ---- questions */

bool tg_run_model_has_thread(const struct tg_run_model *model, struct tg_thread_id thread);
/* THREAD exists. */
enum tg_run_state tg_run_model_state(const struct tg_run_model *model, struct tg_thread_id thread);
/* Whether the thread itself is held, or with dtid 0 the process; false where there is none. */
bool tg_run_model_holds(const struct tg_run_model *model, struct tg_thread_id thread);
/* Whether somebody's command holds the thread itself, or with dtid 0 the process. */
bool tg_run_model_is_held_by_user(const struct tg_run_model *model, struct tg_thread_id thread);
/* Whether the thread or its process is held. */
bool tg_run_model_is_held(const struct tg_run_model *model, struct tg_thread_id thread);

#endif
