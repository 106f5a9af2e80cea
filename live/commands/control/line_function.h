/* Whether a source line belongs to a function. The tracer thread's. */
#ifndef TG_LIVE_COMMANDS_CONTROL_LINE_FUNCTION_H
#define TG_LIVE_COMMANDS_CONTROL_LINE_FUNCTION_H

#include "live/commands/focus/focus_call.h"

/* NOT_FOUND error where the code of SPEC, LIBRARY`FILE:LINE (format/settings/break_spec.h), is in other
 * functions of process PID than FUNCTION, inlined copies and regions of OpenMP being what they were written in. No
 * error where that cannot be told: there is no process PID, no such code (yet), its functions have no names. */
struct tg_error *tg_line_function_check(const struct tg_request *control, int32_t pid, const char *spec,
                                        const char *function);

#endif
