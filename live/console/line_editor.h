/* Lines typed on a terminal: editing, history, completion. */
#ifndef TG_LIVE_CONSOLE_LINE_EDITOR_H
#define TG_LIVE_CONSOLE_LINE_EDITOR_H

#include "format/base/error.h"
#include "live/console/console.h"

/* Reads commands from standard input and evaluates them until the end of the input or `quit`; the prompt shows
 * the time and the focus. History is kept in the file that TOLLGATE_HISTORY names (empty: in none), else in
 * $XDG_STATE_HOME/tollgate/history or ~/.local/state/tollgate/history; a history file that cannot be used is no
 * error. Errors are those of the terminal. */
struct tg_error *tg_line_editor_run(struct tg_console *console);

#endif
