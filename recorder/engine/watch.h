/* Watchpoints: an address space says what is watched, and each of its threads has that in its debug registers
 * when it runs. The kernel gives new threads, forked processes and new programs empty ones; it leaves them as
 * they are where a tracer lets a thread go, or dies: the next write would then end the program. */
#ifndef TG_RECORDER_ENGINE_WATCH_H
#define TG_RECORDER_ENGINE_WATCH_H

#include "recorder/engine/address_space.h"
#include "recorder/engine/tracee.h"

/* TRACEE, stopped, is about to run: its debug registers become what its address space says. */
void tg_watch_arm(struct tg_tracee *tracee);
/* TRACEE, stopped, will not run as ours, or stays: its debug registers are emptied. */
void tg_watch_disarm(struct tg_tracee *tracee);

/* The reason of a SIGTRAP. */
struct tg_watch_trap {
    uint32_t numbers[TG_WATCH_REGISTERS]; /* of the watches that were written to, or were when armed */
    unsigned count;
    bool stepped; /* the instruction was also a single step */
};

/* Whether TRACEE, in the stop of a SIGTRAP, wrote to what is watched, or was: *TRAP. Once for each. */
bool tg_watch_take_trap(struct tg_tracee *tracee, struct tg_watch_trap *trap);

/* Tells the handlers of TRAP; true if one of them wants it to be a stop. */
bool tg_watch_run_handlers(struct tg_tracee *tracee, const struct tg_watch_trap *trap);

#endif
