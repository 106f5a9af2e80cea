/* The name of a trace for which none was given. */
#ifndef TG_RECORDER_RECORD_TRACE_NAME_H
#define TG_RECORDER_RECORD_TRACE_NAME_H

#include "format/base/error.h"

#include <stdbool.h>
#include <sys/types.h>

/* "tollgate-PROGRAM-PID.tgt", of COMMAND (a path) and this process, or with NULL of ATTACHED; "-2" and so on before the dot where
 * there is such a trace, or one that is being recorded, unless FORCE. *TRACE is the caller's. Only error: NO_MEMORY. */
struct tg_error *tg_trace_name_choose(const char *command, pid_t attached, bool force, char **trace);

#endif
