/* Whether a thread that would be resumed is kept stopped instead (tg_thread_keep, tg_thread_halt). Resuming
 * asks here first. A kept thread's registers are in place, so that it could go on from there if the tracer
 * died; the rest, a step over the breakpoint at which it stopped or a signal to be delivered, is done when it
 * is let go (thread_control.c). */
#ifndef TG_RECORDER_ENGINE_KEEP_H
#define TG_RECORDER_ENGINE_KEEP_H

#include "recorder/engine/tracee.h"

/* Whether TRACEE is to be kept when the stop in progress, or the next one, ends. Not before it has executed
 * its program, in a child of vfork. */
bool tg_keep_is_due(struct tg_tracee *tracee);
/* Whether TRACEE's parent waits in vfork for TRACEE's process. Such a child uses that parent's memory and
 * stack, and while it is stopped the parent can neither run nor stop: it is kept when it has executed its
 * program. */
bool tg_keep_has_waiting_parent(struct tg_tracee *tracee);
/* TRACEE, stopped, is to go on with SIGNAL: true where it is kept instead. */
bool tg_keep_instead(struct tg_tracee *tracee, int signal, bool listening);
/* Tells observers that TRACEE comes to rest, if it is to be kept. */
void tg_keep_tell_halted(struct tg_tracee *tracee);
/* TRACEE executed an instruction: true where that was a step of the controller's; TRACEE is to be kept then,
 * and observers were told. */
bool tg_keep_step_ended(struct tg_tracee *tracee);
/* TRACEE, still stopped, has executed an instruction by emulation: true where that was a step of the
 * controller's, and TRACEE is to go on to be kept at once, in a stop of its own: a caller of tg_thread_step
 * is not called back before that returns. */
bool tg_keep_step_emulated(struct tg_tracee *tracee);

#endif
