/* `set opm opm-auto-sequence on`: the sequence diagram is drawn anew whenever the console has moved. */
#ifndef TG_LIVE_CONSOLE_AUTO_SEQUENCE_H
#define TG_LIVE_CONSOLE_AUTO_SEQUENCE_H

#include "format/base/error.h"
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct tg_console;

struct tg_auto_sequence {
    bool is_on;
    bool is_ours;           /* the file was written by this console, and may be replaced */
    uint64_t number;        /* of the event that it shows */
    uint64_t focus_changes; /* of the console, at that time */
};

/* Makes Tcl's `set` of CONSOLE's interpreter understand `set opm NAME VALUE`; with one or two words it stays
 * Tcl's. */
struct tg_error *tg_auto_sequence_add(struct tg_console *console);

/* Draws the diagram if that is switched on and the console shows another moment than the last one; where it
 * cannot be drawn that is switched off and the error returned. */
struct tg_error *tg_auto_sequence_refresh(struct tg_console *console);

/* The diagram of this moment into a file named after the trace, whose name is written to OUT. REPLACE: an
 * existing one is overwritten. */
struct tg_error *tg_opm_sequence_draw(struct tg_console *console, bool replace, FILE *out);

#endif
