/* The heaps of the processes of a recording: searched for leaks and checked as processes end, and when somebody asks. */
#ifndef TG_RECORDER_RECORD_RECORDING_HEAP_H
#define TG_RECORDER_RECORD_RECORDING_HEAP_H

#include "format/base/error.h"
#include "recorder/agent/contract.h"
#include "recorder/leaks/guard_check.h"

#include <sys/types.h>

struct tg_recording;

/* Adds the observers that do so at the ends of processes, where all blocks of heaps are seen; elsewhere nothing. The engine and
 * the agent are there. Errors: NO_MEMORY. */
struct tg_error *tg_recording_heap_create(struct tg_recording *recording);
/* Before the images; NULL parts are accepted. */
void tg_recording_heap_destroy(struct tg_recording *recording);

/* Waits, five seconds at most, until everything that came before now is handed to the writer. On the tracer thread. */
void tg_recording_settle(const struct tg_recording *recording);

/* Searches process PID, all of whose threads are stopped, for leaks, which become events. On the tracer thread. Errors:
 * UNSUPPORTED, this recording has no blocks of heaps; and those of tg_exit_scan_search. */
struct tg_error *tg_recording_search_leaks(struct tg_recording *recording, pid_t pid);

/* Looks at the guards of the blocks of process PID, all of whose threads are stopped; those that were overwritten become events.
 * On the tracer thread. Errors: UNSUPPORTED, blocks are not checked; TARGET, a thread runs; and those of
 * tg_guard_check_run. */
struct tg_error *tg_recording_check_guards(struct tg_recording *recording, pid_t pid,
                                           struct tg_guard_check *check);

/* Changes what is wished of the heaps of all processes, those that start later too; the trace says TEXT. On the tracer
 * thread. Errors: UNSUPPORTED, no heap is observed; OS. */
struct tg_error *tg_recording_wish(struct tg_recording *recording, const struct tg_agent_heap_wishes *wishes,
                                   const char *text);

#endif
