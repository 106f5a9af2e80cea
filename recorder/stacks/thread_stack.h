/* The stack of one stopped thread as an event. */
#ifndef TG_RECORDER_STACKS_THREAD_STACK_H
#define TG_RECORDER_STACKS_THREAD_STACK_H

#include "recorder/engine/engine.h"
#include "recorder/stacks/mpi_values.h"

/* What stacks of threads of one process are read with. */
struct tg_thread_stack_reading {
    const struct tg_stack_process *process;
    struct tg_code_table *table;
    uint64_t until_ns;
    struct tg_kept_arguments *kept; /* NULL: no arguments of calls are looked for */
    struct tg_mpi_variables variables;
};

/* Reads the stack of THREAD, which is stopped, as tg_call_stack_read does, and emits it with what LIKE, a stack event
 * without frames, says; then the arguments of the call of MPI that it is in, as far as they are known. False where the
 * thread was killed meanwhile. */
bool tg_thread_stack_emit(const struct tg_thread_stack_reading *reading, struct tg_thread *thread,
                          const struct tg_event_stack *like);

#endif
