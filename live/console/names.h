/* Finding the console's commands by name, and completing lines. */
#ifndef TG_LIVE_CONSOLE_NAMES_H
#define TG_LIVE_CONSOLE_NAMES_H

#include "live/console/command.h"

/* The command whose first word is FIRST (FIRST_SIZE bytes) and, where it has two, whose second one begins
 * with SECOND; NULL where there is none, or several and none is meant exactly. */
const struct tg_console_command *tg_console_find_command(const char *first, size_t first_size,
                                                         const char *second, size_t second_size);

#endif
