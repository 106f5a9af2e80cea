/* The moment that the console is at, in words. */
#ifndef TG_LIVE_COMMANDS_INFO_PLACE_H
#define TG_LIVE_COMMANDS_INFO_PLACE_H

#include "analyzer/verdict/verdict.h"
#include "live/console/base.h"

/* Input for the words of analyzer/: the moment's models and names of code. */
struct tg_verdict_input tg_console_words(const struct tg_console *console);

/* Says where the source is: "event 34 of 51, 0.003300 s: rank 1, worker 1: ...", and gives that as data. Only
 * error: NO_MEMORY. */
struct tg_error *tg_console_print_place(struct tg_console *console, FILE *out);

/* The value of FIELD of RECORD as data: numbers, names of enum values, addresses in hex, printable texts; of
 * a list how long it is. */
Tcl_Obj *tg_console_field(const struct tg_field *field, const void *record);

#endif
