/* Reasons why the kernel lets nobody attach to a process. */
#ifndef TG_RECORDER_PROCESS_ATTACH_REFUSAL_H
#define TG_RECORDER_PROCESS_ATTACH_REFUSAL_H

#include "format/base/error.h"

#include <sys/types.h>

/* Why PTRACE_SEIZE of PID failed with errno WHY, in words that say what to do. A TARGET error. */
struct tg_error *tg_attach_refusal(pid_t pid, int why);

#endif
