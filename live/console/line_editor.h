/* Lines typed on a terminal: editing, history, completion. */
#ifndef TG_LIVE_CONSOLE_LINE_EDITOR_H
#define TG_LIVE_CONSOLE_LINE_EDITOR_H

#include "format/base/error.h"
#include "live/console/console.h"

struct tg_line_editor;

/* Reads standard input and writes to standard output. History is kept in the file that TOLLGATE_HISTORY names
 * (empty: in none), else in $XDG_STATE_HOME/tollgate/history or ~/.local/state/tollgate/history; a file that
 * cannot be had is no error. CONSOLE completes, and must outlive it. */
struct tg_error *tg_line_editor_create(struct tg_console *console, struct tg_line_editor **editor);
/* Saves the history. NULL is accepted. */
void tg_line_editor_destroy(struct tg_line_editor *editor);

enum tg_line_end {
    TG_LINE_READ,
    TG_LINE_INTERRUPTED, /* the interrupt key: what was typed is dropped */
    TG_LINE_AT_END,      /* of the input */
};

/* The next line with its line end in *LINE, valid until the next call. PROMPT stands before it. */
enum tg_line_end tg_line_editor_read(struct tg_line_editor *editor, const char *prompt, const char **line);

/* Adds TEXT, one or more lines that belong together, to the history. */
void tg_line_editor_remember(struct tg_line_editor *editor, const char *text);

/* Reads and evaluates commands until the end of the input or `quit`; the prompt shows the time and the focus.
 * Errors: those of create. */
struct tg_error *tg_line_editor_run(struct tg_console *console);

#endif
