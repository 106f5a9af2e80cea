/* Barriers of dbarrier in words: who has arrived, who is missing and why. */
#ifndef TG_LIVE_COMMANDS_INFO_BARRIER_WORDS_H
#define TG_LIVE_COMMANDS_INFO_BARRIER_WORDS_H

#include "format/base/error.h"
#include "live/commands/info/barrier_states.h"

#include <stddef.h>
#include <stdio.h>
#include <tcl.h>

/* Writes all barriers of STATES, some lines each; *SHOWN: how many. */
struct tg_error *tg_barrier_words_write(const struct tg_barrier_states *states, FILE *out, size_t *shown);

/* The same as a list of dictionaries, with no reference of its own. */
struct tg_error *tg_barrier_words_list(const struct tg_barrier_states *states, Tcl_Obj **list);

#endif
