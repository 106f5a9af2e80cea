/* `tollgate heap` */
#ifndef TG_ANALYZER_HEAP_COMMAND_H
#define TG_ANALYZER_HEAP_COMMAND_H

#include "format/settings/command.h"

extern const struct tg_command tg_heap_command;

#endif
