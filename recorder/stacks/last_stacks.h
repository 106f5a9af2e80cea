/* Where the threads of a job were when something ended it: observes signals and ends, and has stacks recorded.
 *
 * - a signal that is about to end a process: of all its threads; where somebody asked for the end (SIGTERM and the
 *   like), of all threads of the job
 * - a request to end that a process handles itself, from outside of the job or to a process that others descend
 *   from (mpirun): of all threads of the job, before the handler runs
 * - a fault that a handler is about to take: of the thread, the first times
 * - a thread that ends with a status other than 0, of the command, or of a process with MPI or OpenMP, or that ends a
 *   process with status 0 before it has called MPI_Finalize: its own
 * - a process that is attached, and the end of its recording: of all threads
 *
 * Of all threads of a process: also what they wait for in the kernel, with its owner; of one that was attached also the
 * arguments of calls of MPI.
 *
 * All of it together takes a second at most; what is left out then is said in a note. */
#ifndef TG_RECORDER_STACKS_LAST_STACKS_H
#define TG_RECORDER_STACKS_LAST_STACKS_H

#include "recorder/engine/engine.h"
#include "recorder/process/image_cache.h"

struct tg_last_stacks;

/* Observes ENGINE from now on; IMAGES must outlive the result. */
struct tg_error *tg_last_stacks_create(struct tg_engine *engine, struct tg_image_cache *images,
                                       struct tg_last_stacks **stacks);
/* How it is known whether a process, which is about to end, has called MPI_Init and not MPI_Finalize; not at all without. */
void tg_last_stacks_ask_of_mpi(struct tg_last_stacks *stacks,
                               bool (*is_in_mpi)(void *context, const struct tg_process *process),
                               void *context);
/* After the engine. NULL is accepted. */
void tg_last_stacks_destroy(struct tg_last_stacks *stacks);

/* Reads what the first look at process PID, of BITS (64, 32; 0 unknown), needs of its files, before it is attached: it does
 * not wait for that then. NULL is accepted. */
void tg_last_stacks_prepare(struct tg_last_stacks *stacks, pid_t pid, unsigned bits);

/* Emits, where processes were attached, what the code in their stacks is called: as much of it as takes 50 ms. Wakes the
 * engine where there is more. NULL is accepted. */
void tg_last_stacks_serve(struct tg_last_stacks *stacks);

/* Takes the stacks of all threads of the job, for somebody who asks where it is, and emits what the code in them is
 * called. Three seconds at most; threads that run are stopped for the first second at most. */
void tg_last_stacks_look(struct tg_last_stacks *stacks);

/* Emits what the code in the stacks is called; the job has ended, or been detached. Two seconds at most. NULL is
 * accepted. */
void tg_last_stacks_tell_names(struct tg_last_stacks *stacks);

#endif
