/* Processes whose zones nobody records: they were attached while they ran, and have no agent. */
#ifndef TG_LIVE_COMMANDS_MOTION_UNRECORDED_H
#define TG_LIVE_COMMANDS_MOTION_UNRECORDED_H

#include "live/console/command.h"

/* An error that says why it is unknown what workers are inside of, where that is so in all processes in focus: no answer about
 * their zones would be right. NULL: something was recorded, or the console has no live job. */
struct tg_error *tg_unrecorded_refuse(const struct tg_console *console);

#endif
