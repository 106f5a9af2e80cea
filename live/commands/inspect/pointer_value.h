/* Addresses that people name by expressions. */
#ifndef TG_LIVE_COMMANDS_INSPECT_POINTER_VALUE_H
#define TG_LIVE_COMMANDS_INSPECT_POINTER_VALUE_H

#include "live/console/command.h"

#include <stdint.h>

/* The number that the expression TEXT has in the frame of the thread in focus that dup and ddown chose, else the innermost:
 * of a pointer where it points to, of an array its address. Errors of the expression; TARGET where no thread in focus is
 * stopped. */
struct tg_error *tg_pointer_value_read(struct tg_console *console, const char *text, uint64_t *address);

#endif
