/* What commands say of the barriers of dbarrier: who has arrived, who is missing and why. */
#ifndef TG_LIVE_COMMANDS_BARRIER_WORDS_H
#define TG_LIVE_COMMANDS_BARRIER_WORDS_H

#include "format/base/error.h"
#include "live/console/command.h"

#include <stddef.h>
#include <stdio.h>
#include <tcl.h>

/* Writes all that there are now, some lines each; *SHOWN: how many. */
struct tg_error *tg_barrier_words_write(struct tg_console *console, FILE *out, size_t *shown);

/* The same as a list of dictionaries, with no reference of its own. */
struct tg_error *tg_barrier_words_list(struct tg_console *console, Tcl_Obj **list);

#endif
