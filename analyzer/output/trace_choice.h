/* Choice of the trace that a command reads: the one named on its command line, or the newest one here. */
#ifndef TG_ANALYZER_OUTPUT_TRACE_CHOICE_H
#define TG_ANALYZER_OUTPUT_TRACE_CHOICE_H

#include "format/base/error.h"

/* Hands out the newest trace of the current directory by modification time: NAME.tgt or
 * NAME.tgt.incomplete. *PATH is the caller's to free. Errors: USAGE where there is none, OS where the
 * directory cannot be read, NO_MEMORY. */
struct tg_error *tg_trace_choice_newest(char **path);

/* Hands out GIVEN, the path on the command line of `tollgate COMMAND`, or where that is NULL the newest
 * trace, of which it tells on standard error. *PATH is the caller's to free. Errors: those above, and
 * NOT_FOUND where GIVEN does not exist but GIVEN.incomplete does. */
struct tg_error *tg_trace_choice_make(const char *command, const char *given, char **path);

/* An error where there is no file PATH, but one of its name that is incomplete: the error says what to type.
 * NULL otherwise, where PATH does not exist as well. */
struct tg_error *tg_trace_choice_check(const char *path);

#endif
