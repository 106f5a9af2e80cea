/* Brackets in a command line that are the program's, as in "dprint a[n]", and that Tcl would take for a call of `n`. */
#ifndef TG_LIVE_CONSOLE_BRACKETS_H
#define TG_LIVE_CONSOLE_BRACKETS_H

#include "live/console/command.h"

/* The command of SIZE bytes that PARSE begins with, with a backslash before each bracket that follows a name (or another
 * index) without a blank and holds one word, unless a procedure of the user's is called so; NULL: there is none such, or no
 * memory. For the caller to free. Only of commands that take expressions. */
char *tg_brackets_escape(const struct tg_console *console, const Tcl_Parse *parse, int size);

#endif
