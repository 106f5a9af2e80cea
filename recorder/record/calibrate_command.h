/* `tollgate calibrate`: see docs/man/tollgate-calibrate.1. */
#ifndef TG_RECORDER_RECORD_CALIBRATE_COMMAND_H
#define TG_RECORDER_RECORD_CALIBRATE_COMMAND_H

#include "format/settings/command.h"

extern const struct tg_command tg_calibrate_command;

#endif
