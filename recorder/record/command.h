/* `tollgate record` */
#ifndef TG_RECORDER_RECORD_COMMAND_H
#define TG_RECORDER_RECORD_COMMAND_H

#include "format/settings/command.h"

extern const struct tg_command tg_record_command;

#endif
