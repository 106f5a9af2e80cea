/* Scripts of the console: evaluated command by command, their results and errors told. */
#ifndef TG_LIVE_CONSOLE_EVAL_H
#define TG_LIVE_CONSOLE_EVAL_H

#include "live/console/base.h"

enum tg_console_print {
    TG_PRINT_ALL, /* every result that is not empty, as at a prompt */
    TG_PRINT_OWN, /* results of the console's own commands, not Tcl's: in a script */
};

/* Origin of a script, for errors. */
struct tg_console_place {
    const char *name; /* of the file or option; NULL: typed, errors do not tell a place */
    size_t line;      /* of its first line, from 1 */
};

/* Evaluates the commands of SCRIPT one after the other and prints their results. False: one failed, which
 * was told on ERRORS ("NAME:LINE: message"), and the commands behind it were not run. */
bool tg_console_eval(struct tg_console *console, const char *script, enum tg_console_print print,
                     const struct tg_console_place *place);

/* Evaluates the lines of STREAM, commands over several lines included. STOPS: at the first command that
 * fails, else goes on. False: one failed. */
bool tg_console_read(struct tg_console *console, FILE *stream, enum tg_console_print print, const char *name,
                     bool stops);

/* Whether SCRIPT is whole: no brace, bracket or quote is open. */
bool tg_console_is_complete(const char *script);

#endif
