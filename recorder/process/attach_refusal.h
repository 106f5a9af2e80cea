/* Reasons why the kernel lets nobody attach to a process. */
#ifndef TG_RECORDER_PROCESS_ATTACH_REFUSAL_H
#define TG_RECORDER_PROCESS_ATTACH_REFUSAL_H

#include "format/base/error.h"

#include <stdbool.h>
#include <sys/types.h>

/* Why PTRACE_SEIZE of PID failed with errno WHY (ESRCH: PID is no process), in words that say what to do; names of programs
 * in it are untrusted. */
void tg_attach_refusal_reason(pid_t pid, int why, char *text, size_t size);

/* Why nobody may trace even processes that it started itself; false: Yama is not the reason. */
bool tg_attach_refusal_of_own(char *text, size_t size);

/* tg_attach_refusal_reason as a TARGET error that names the process. */
struct tg_error *tg_attach_refusal(pid_t pid, int why);

#endif
