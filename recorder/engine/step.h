/* A hit of a breakpoint, and the way past the instruction under an int3. */
#ifndef TG_RECORDER_ENGINE_STEP_H
#define TG_RECORDER_ENGINE_STEP_H

#include "recorder/engine/address_space.h"
#include "recorder/engine/engine_internal.h"
#include "recorder/engine/tracee.h"

#include <signal.h>

/* The thread ran an int3: true if it was ours, and TRACEE was resumed (or waits for a slot). */
bool tg_step_trap(struct tg_tracee *tracee);
/* The same for a doubled site, without a look at more than two registers: true if it was one, and TRACEE was
 * resumed (or waits). Only asked for a SIGTRAP. */
bool tg_step_trap_doubled(struct tg_tracee *tracee);
/* At any stop that is no hit: a thread that was resumed behind the int3 of a doubled site and has not got
 * further has returned from it. */
void tg_step_end_pass(struct tg_tracee *tracee);
/* TRACEE waited at its site's address for a reason that is no more: lets it go on. */
void tg_step_go_on(struct tg_tracee *tracee);
/* Whether the SIGTRAP of TRACEE comes from an int3 of ours beyond doubt, whatever its siginfo says. Only
 * asked to save a system call at loader stops. */
bool tg_step_trap_is_certain(struct tg_tracee *tracee);
/* Ends the displaced step of TRACEE, if it is in one, at whatever stop follows it. INFO is that of a
 * signal-delivery-stop, NULL elsewhere. True if the stop is the step's own SIGTRAP and nothing else. */
bool tg_step_finish(struct tg_tracee *tracee, siginfo_t *info);
/* TRACEE's memory or TRACEE itself is gone: gives its slot back. */
void tg_step_drop(struct tg_tracee *tracee);
/* CHILD was created by the displaced instruction of PARENT, which ended at the stop in progress: CHILD is
 * stopped behind the copy as its parent was, and finishes the step likewise at its first stop. */
void tg_step_inherit(const struct tg_tracee *parent, struct tg_tracee *child);
/* PID is no longer traced: threads that waited for that go on. */
void tg_step_process_gone(struct tg_engine *engine, pid_t pid);
/* The kernel forces the SIGTRAP of an int3 or a debug register through a mask that blocks it by unblocking it.
 * Where everything else is blocked, SIGTRAP was too (sigfillset): that is put back. Other masks with SIGTRAP in
 * them cannot be told from masks without. */
void tg_step_restore_mask(const struct tg_tracee *tracee);
/* Whether a SIGTRAP is waiting to be reported by the stopped TRACEE. */
bool tg_step_trap_is_pending(const struct tg_tracee *tracee);

#endif
