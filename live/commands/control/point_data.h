/* An action point as data (docs/json-console.md). The tracer thread's. */
#ifndef TG_LIVE_COMMANDS_CONTROL_POINT_DATA_H
#define TG_LIVE_COMMANDS_CONTROL_POINT_DATA_H

#include "live/commands/focus/focus_call.h"

/* Writes one object. */
void tg_point_data(const struct tg_request *control, const struct tg_action_point *point,
                   struct tg_json *json);

#endif
