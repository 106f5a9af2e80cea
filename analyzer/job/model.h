/* The job model: who is called what. Processes get numbers (dpid) in the order in which they appear, threads
 * (dtid) in that of their process, programs with what they start become groups. The same events give the same
 * numbers, live and from a trace. */
#ifndef TG_ANALYZER_JOB_MODEL_H
#define TG_ANALYZER_JOB_MODEL_H

#include "analyzer/job/run_model.h"
#include "analyzer/job/view.h"
#include "format/base/error.h"
#include "format/event/event.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct tg_job_model;

struct tg_error *tg_job_model_create(struct tg_job_model **model);
void tg_job_model_destroy(struct tg_job_model *model); /* NULL is accepted */

/* Takes the starts and ends of processes and threads, exec, program and identity. A process that was started
 * by one of the job is in its control group, any other begins one; where a control group is number N, its
 * workers are N + 1 and the first program's share group is N + 2. Ranks of an MPI job leave their launcher's
 * control group for one of their own; those that were attached, and nobody of the job has started, share one a
 * job. What a rank starts is none itself, though it has its environment, and no more is a shell that
 * starts one. Who executes another program changes the share group; a thread that does so leaves its process with
 * thread 1 alone. Only error: NO_MEMORY. Memory follows the number of processes, and of threads that live. */
struct tg_error *tg_job_model_feed(struct tg_job_model *model, const struct tg_event *event);

/* Whether the control group of that number is one of ranks. */
bool tg_job_model_is_of_ranks(const struct tg_job_model *model, uint32_t control_group);

/* A thread that a library has for itself is no worker. False: there is no such thread. */
bool tg_job_model_set_manager(struct tg_job_model *model, int32_t pid, int32_t tid, bool is_manager);

/* Numbers of a living process (tid 0) or thread by pid and tid, and the other way round; false: there is
 * none. */
bool tg_job_model_thread_id(const struct tg_job_model *model, int32_t pid, int32_t tid,
                            struct tg_thread_id *id);
bool tg_job_model_name(const struct tg_job_model *model, struct tg_thread_id id, int32_t *pid, int32_t *tid);
/* Groups of process DPID; false: no process that lives is called so. */
bool tg_job_model_groups(const struct tg_job_model *model, uint32_t dpid, struct tg_process_groups *process);

/* Rank of process DPID in MPI_COMM_WORLD, also where it has ended; false: no process was called so, or it is no rank. */
bool tg_job_model_rank(const struct tg_job_model *model, uint32_t dpid, int64_t *rank);

/* ---- named groups: dgroups */

/* A new one without members; its number goes on from the others'. USAGE error for what is no name of a group
 * (a letter or '_', then these, digits, . : + -, 63 in all), EXISTS. */
struct tg_error *tg_job_model_add_group(struct tg_job_model *model, const char *name, uint32_t *number);
/* NOT_FOUND errors. DTID 0: the process with all threads, also those to come. */
struct tg_error *tg_job_model_delete_group(struct tg_job_model *model, const char *name);
struct tg_error *tg_job_model_join_group(struct tg_job_model *model, const char *name,
                                         struct tg_thread_id id);
struct tg_error *tg_job_model_leave_group(struct tg_job_model *model, const char *name,
                                          struct tg_thread_id id);

/* ---- the view */

/* Fills state, held, pc and tag of THREAD, whose number and kind are set. */
typedef void tg_job_model_state(void *context, struct tg_thread_id id, struct tg_job_thread *thread);

/* Fills VIEW, which is empty: processes that live, and those that have ended as nonexistent. STATE is asked
 * for each thread (NULL: they run), and with dtid 0 for each process: held and tag count there. */
struct tg_error *tg_job_model_view(const struct tg_job_model *model, tg_job_model_state *state, void *context,
                                   struct tg_job_view *view);

/* "3 share: 1-2" a line each: number, kind (name), members. As dgroups -list shows it. */
struct tg_error *tg_job_model_print_groups(const struct tg_job_model *model, FILE *stream);

#endif
