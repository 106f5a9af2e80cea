/* Births of processes and threads (fork, vfork, clone), and exec. */
#ifndef TG_RECORDER_ENGINE_LINEAGE_H
#define TG_RECORDER_ENGINE_LINEAGE_H

#include "recorder/engine/engine_internal.h"
#include "recorder/engine/tracee.h"

/* PARENT is in the ptrace event of a fork, vfork or clone; it is resumed here. */
void tg_lineage_forked(struct tg_tracee *parent, int ptrace_event);
/* The first stop of a new thread. */
void tg_lineage_thread_started(struct tg_tracee *tracee);
/* PID is in PTRACE_EVENT_EXEC: the process's other threads and its old memory are gone. Returns the one
 * thread that is left, NULL for a process not known; FORMER_TID is the tid that it had. */
struct tg_tracee *tg_lineage_executed(struct tg_engine *engine, pid_t pid, pid_t *former_tid);
/* Follows CHILD, created by CREATOR (NULL: not known any more) of a process like MODEL whose memory SPACE
 * describes. Its first stop is parked or on its way. */
void tg_lineage_add_child(struct tg_tracee *creator, const struct tg_process *model,
                          struct tg_address_space *space, pid_t child, enum tg_process_origin origin);
/* Makes a process known to observers; TRACEE, of it, is stopped. */
void tg_lineage_announce(struct tg_tracee *tracee, struct tg_process *parent);

#endif
