/* `tollgate sequence` */
#ifndef TG_ANALYZER_SEQUENCE_COMMAND_H
#define TG_ANALYZER_SEQUENCE_COMMAND_H

#include "format/command.h"

extern const struct tg_command tg_sequence_command;

#endif
