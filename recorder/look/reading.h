/* What a look reads of one process: before it is stopped, and while it stands still. */
#ifndef TG_RECORDER_LOOK_READING_H
#define TG_RECORDER_LOOK_READING_H

#include "recorder/look/halt.h"
#include "recorder/look/shared.h"
#include "recorder/stacks/call_stack.h"
#include "recorder/stacks/mpi_communicators.h"
#include "recorder/stacks/mpi_requests.h"

enum { TG_READING_MAX_THREADS = 8192 }; /* of a process; others run on */

/* What the threads do. */
struct tg_reading_calls {
    struct tg_call_stack *stacks;     /* in the order of the halted threads */
    struct tg_mpi_values *values;     /* likewise */
    struct tg_mpi_requests *requests; /* likewise; of a call that waits for none: count 0 */
    struct tg_mpi_members *members;   /* likewise: of the communicator of the call */
    struct tg_look_activity *activities;
    struct tg_kmp_wait *locks; /* owner -1: waits for none */
};

struct tg_reading {
    struct tg_stack_process
        process; /* as it was before it was stopped; without modules: could not be read then */
    struct tg_mpi_variables variables;
    struct tg_mpi_members world; /* MPI_COMM_WORLD */
    struct tg_reading_calls calls;
    pid_t *tids;
    size_t count; /* of threads */
    struct tg_event_stack_snapshot snapshot;
    size_t n_runnable; /* of the threads that did not stop in time: could run, and got no processor */
    size_t n_refused;  /* as struct tg_halt says */
    pid_t refused;
};

/* Reads what is mapped in the process of thread TID, which may run, into an empty reading. BITS: 32 or 64, of its program. */
void tg_reading_prepare(const struct tg_look_shared *look, pid_t tid, unsigned bits,
                        struct tg_reading *reading);

/* Reads the threads of HALT, a process that stands still, and what they wait for; the look has that many processes now. False
 * without memory. */
bool tg_reading_take(struct tg_look_shared *look, const struct tg_halt *halt, uint64_t snapshot,
                     struct tg_reading *reading);

/* Notes for the threads of process PID who has the critical sections of OpenMP that they waited for; when it goes on again,
 * and no other process stands still. */
void tg_reading_find_criticals(struct tg_look_shared *look, pid_t pid, const struct tg_reading *reading);

/* Puts what process PID has read and written into what its threads do: read when the process goes on again. */
void tg_reading_count_bytes(const struct tg_look_shared *look, pid_t pid, struct tg_reading *reading);

/* Reads the stacks of HALT's threads as tg_reading_take() would, from where their registers say that they were, and forgets
 * them. */
void tg_reading_rehearse(const struct tg_look_shared *look, const struct tg_halt *halt,
                         const struct tg_reading *reading);

/* Forgets what was noted of the waits of process PID. */
void tg_reading_drop_waits(struct tg_look_shared *look, pid_t pid);

/* A reading of zeros is accepted. */
void tg_reading_deinit(struct tg_reading *reading);

#endif
