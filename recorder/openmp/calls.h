/* What a thread does at the breakpoints on OpenMP calls: at the runtime's entry points, behind calls, and at the bodies of
 * regions and tasks. */
#ifndef TG_RECORDER_OPENMP_CALLS_H
#define TG_RECORDER_OPENMP_CALLS_H

#include "recorder/openmp/process.h"

/* Context of the breakpoints. */
struct tg_openmp_calls {
    struct tg_engine *engine;
    size_t slot; /* of struct tg_openmp_process in a process's data */
};

/* One stop: everything that its handling needs. */
struct tg_openmp_stop {
    struct tg_openmp_calls *calls;
    struct tg_openmp_process *process;
    struct tg_openmp_thread *state;
    struct tg_thread *thread;
    const struct user_regs_struct *registers;
    uint64_t return_address;
};

/* NULL: the process is not watched. */
struct tg_openmp_process *tg_openmp_calls_process(const struct tg_openmp_calls *calls,
                                                  const struct tg_thread *thread);

/* Plants a breakpoint at ENTRY, an entry point that is a site of the process. */
void tg_openmp_calls_plant(const struct tg_openmp_stop *stop, uint64_t entry);

/* Emits TEXT as a note of the stopped thread. */
void tg_openmp_stop_note(const struct tg_openmp_stop *stop, const char *text);

#endif
