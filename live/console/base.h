/* Parts of a console, and what everything in it may do with it: errors, data, news. Its vocabulary is
 * handed in (struct tg_console_table, live/console/command.h): nothing here knows a command. */
#ifndef TG_LIVE_CONSOLE_BASE_H
#define TG_LIVE_CONSOLE_BASE_H

#include "format/base/error.h"
#include "format/settings/command.h"
#include "live/console/data.h"
#include "live/console/script_trace.h"
#include "live/console/settings.h"
#include "live/sets/focus.h"
#include "live/source/news.h"
#include "live/source/source.h"

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <tcl.h>

struct tg_console;
struct tg_console_table;

/* Why a command failed, for a program. */
struct tg_console_failure {
    const char *code; /* an error's name: "USAGE", "NOT_FOUND", ...; "TCL" of Tcl's own, "INTERRUPTED" */
    const char *message;
    const char *file;   /* of the script, NULL: typed */
    size_t line;        /* there, from 1; 0 not known */
    const char *text;   /* a word of the command that the message points into, NULL none */
    size_t text_offset; /* in TEXT, in bytes */
};

struct tg_console_options {
    FILE *out;                       /* for results */
    FILE *errors;                    /* for errors */
    const struct tg_news_sink *news; /* takes what happens meanwhile; NULL: words to OUT */
    /* Takes errors instead of ERRORS; NULL: nobody. */
    void (*failed)(void *context, const struct tg_console_failure *failure);
    void *failed_context;
    bool wants_data;                            /* of commands, for tg_console_take_data */
    const struct tg_command_services *services; /* name code; NULL: it stays numbers */
    struct tg_traced_job *live;                 /* the job that SOURCE is of, NULL: SOURCE is a trace */
    int listener_fd; /* a command that waits ends where its other end is closed; 0: there is none such */
    bool is_safe;    /* a safe interpreter: no command of it reaches files, programs or the network */
    const struct tg_console_table *table; /* of commands */
};

/* State of one or more commands that lives as long as the console. Rows of struct tg_console_table; hooks
 * are NULL where the state has no use for them. */
struct tg_console_state_kind {
    bool is_live; /* made for live jobs only */
    /* The interpreter and the settings are there, commands are not yet. */
    struct tg_error *(*create)(struct tg_console *console, void **state);
    void (*destroy)(void *state); /* NULL is accepted; the interpreter is gone */
    /* Something may have happened in the job. */
    void (*attend)(struct tg_console *console, void *state, const struct tg_news_sink *sink);
    /* The console is about to wait for the next command. */
    struct tg_error *(*settle)(struct tg_console *console, void *state);
};

/* Fate of a live job when its console ends. */
enum tg_console_leaving {
    TG_LEAVING_NOT_SAID, /* a job that the console started is killed, one that it attached to is detached */
    TG_LEAVING_KILL,
    TG_LEAVING_DETACH,
};

struct tg_console_state {
    const struct tg_console_state_kind *kind;
    void *state;
};

struct tg_console {
    Tcl_Interp *interp;
    struct tg_source *source;
    struct tg_console_options options;
    struct tg_focus focus;
    uint64_t focus_changes;           /* how often it was set */
    struct tg_symbolizer *symbolizer; /* NULL: code stays numbers */
    Tcl_Obj *result;                  /* set by a command that answers a value instead of text, else NULL */
    struct tg_console_data data;      /* set by a command beside its text; made of RESULT where it set that */
    const char *error_text;           /* a word that the command's error points into, NULL none */
    size_t error_offset;              /* in ERROR_TEXT, in bytes */
    struct tg_procedure_places *procedures; /* of scripts */
    struct tg_console_settings *settings;   /* of dset */
    struct tg_console_state *states;        /* of commands */
    size_t n_states;
    Tcl_AsyncHandler interrupt;
    bool is_stopped;        /* the running script is being ended */
    unsigned depth;         /* of scripts that run scripts */
    uint64_t n_hit_scripts; /* scripts of breakpoints that were run so far */
    /* Asks whoever types on the terminal QUESTION, which is a prompt; true: the answer begins with a y. NULL: nobody
     * can be asked. */
    bool (*ask)(void *context, const char *question);
    void *ask_context;
    int write_failed; /* errno of the first answer that could not be written, 0: none (tg_flush) */
    bool has_quit;
    int quit_status; /* -1: none was given */
    enum tg_console_leaving leaving;
};

/* The state of KIND, a row of the console's table; NULL where KIND is for live jobs and this is a trace. */
void *tg_console_state(const struct tg_console *console, const struct tg_console_state_kind *kind);

/* ---- errors */

/* Makes ERROR, which is destroyed, Tcl's result. Returns TCL_ERROR. */
int tg_console_fail(struct tg_console *console, struct tg_error *error);

/* Ends the running script; no `catch` of it helps. */
void tg_console_stop(struct tg_console *console);

/* ERROR with TEXT below it and a mark below the byte POSITION, which programs are told as well; SIZE_MAX: as
 * it is. Takes ERROR. */
struct tg_error *tg_console_pointed(struct tg_console *console, struct tg_error *error, const char *text,
                                    size_t position);
/* The same for a TEXT that is no word of the command: programs are told nothing of it. */
struct tg_error *tg_console_marked(struct tg_error *error, const char *text, size_t position);

/* ---- answers */

/* Makes the RESULT that a command has set its data: its text remains what it answers. */
void tg_console_result_as_data(struct tg_console *console);

/* Takes the data that the last command of the last script answered: JSON, the caller's to free; NULL
 * nothing. */
char *tg_console_take_data(struct tg_console *console);

/* The focus as a prompt shows it: "all", "r1.3"; of a live job the whole set, "d1.<", or "ranks". BUFFER has room for
 * TG_FOCUS_TEXT bytes and is returned. */
char *tg_console_focus_text(const struct tg_console *console, char *buffer);

/* FOCUS becomes the console's, which frees its former one. */
void tg_console_set_focus(struct tg_console *console, const struct tg_focus *focus);

/* Writes TEXT as a terminal may be given it: lines stay lines, what would deceive is shown by number. */
void tg_console_print_safely(FILE *stream, const char *text);

/* "(0.003300 s, all) ", of a live job "d1.<> ". Returns BUFFER. */
char *tg_console_prompt(const struct tg_console *console, char *buffer, size_t size);

/* ---- time */

/* The source's wake_fd. */
int tg_console_wake_fd(const struct tg_console *console);

/* Lets the source take what has come meanwhile, and tells its news: before each command, and while the
 * console waits for one when the source's wake_fd is readable. */
void tg_console_attend(struct tg_console *console);
/* The same while somebody types: BEFORE is called first, if there is anything to tell. Whether there was. */
bool tg_console_attend_at_prompt(struct tg_console *console, void (*before)(void *context), void *context);

/* What a visitor (live/source/visitor.h) has asked is answered where the console waits for a command: FDS has room for two
 * more, of which tg_console_visit takes what poll() said; whether the visitor was served. */
nfds_t tg_console_visit_fds(const struct tg_console *console, struct pollfd *fds);
bool tg_console_visit(struct tg_console *console, const struct pollfd *fds);

/* Attends until all events that there are by now were taken: for answers about what is so now. Waits at
 * most 2 s for events on their way; an interrupt ends the wait. */
void tg_console_catch_up(struct tg_console *console);

/* Runs the states' settle hooks; errors are told. Called when the console waits for the next command. */
void tg_console_settle(struct tg_console *console);

/* `quit` was called; *STATUS is set where it was given an exit status. */
bool tg_console_has_quit(const struct tg_console *console, int *status);

/* An error where an answer could not be written. */
struct tg_error *tg_console_written(const struct tg_console *console);

#endif
