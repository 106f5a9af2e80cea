/* A process beside the recorder that is there when the recorder was killed: in a session of its own, so that
 * it outlives signals to the recorder's group, and nobody's child that the engine would wait for. */
#ifndef TG_RECORDER_PROCESS_GUARD_PROCESS_H
#define TG_RECORDER_PROCESS_GUARD_PROCESS_H

#include "format/base/error.h"

#include <sys/types.h>

#define TG_GUARD_NAME "tollgate-guard" /* of such a process, as /proc/PID/status has it */

/* Starts one that runs KEEP with CONTEXT and its end of a socket of packets (AF_UNIX, SOCK_SEQPACKET), the
 * only file that it has open but for /dev/null as its first three, and ends when KEEP returns. *LINE becomes
 * the other end, close-on-exec, the caller's to close: reading from it, KEEP learns of the caller's end. From
 * a program with threads; glibc keeps its allocator usable in the new process. All signals are blocked in it. Error: OS. */
struct tg_error *tg_guard_process_start(void (*keep)(int line, void *context), void *context, int *line);

/* The same in the caller's process group, a child of the calling thread that it waits for; KEEP may call async-signal-safe
 * functions alone. Neither its name nor its command line is the caller's, so that who looks for tollgate by one of them (pkill)
 * does not find it. */
struct tg_error *tg_guard_process_start_in_group(void (*keep)(int line, void *context), void *context,
                                                 pid_t *pid, int *line);

#endif
