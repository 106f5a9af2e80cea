/* What the location of a new action point means in the programs in focus. */
#ifndef TG_LIVE_COMMANDS_CONTROL_POINT_SPEC_H
#define TG_LIVE_COMMANDS_CONTROL_POINT_SPEC_H

#include "live/commands/focus/focus_call.h"

/* SPEC, the caller's, is what LOCATION means in the first program in focus where it means anything; where it
 * names a function with a line, the line has to be in that. */
struct tg_error *tg_point_spec_find(const struct tg_request *control, const char *location, char **spec);

#endif
