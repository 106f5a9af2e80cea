/* The console: a Tcl interpreter with commands that ask a source of events, and move it. What traces and
 * programs call things is data to it and never evaluated. */
#ifndef TG_LIVE_CONSOLE_CONSOLE_H
#define TG_LIVE_CONSOLE_CONSOLE_H

#include "format/base/error.h"
#include "format/settings/command.h"
#include "live/source/news.h"
#include "live/source/source.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

struct tg_console;

/* Why a command failed, for a program. */
struct tg_console_failure {
    const char *code; /* an error's name: "USAGE", "NOT_FOUND", ...; "TCL" of Tcl's own, "INTERRUPTED" */
    const char *message;
    const char *file;   /* of the script, NULL: typed */
    size_t line;        /* there, from 1; 0 not known */
    const char *text;   /* a word of the command that the message points into, NULL none */
    size_t text_offset; /* where in it, in bytes */
};

struct tg_console_options {
    FILE *out;                       /* where results are printed */
    FILE *errors;                    /* where errors are */
    const struct tg_news_sink *news; /* who is told what happens meanwhile; NULL: words to OUT */
    /* Who is told of errors instead of ERRORS; NULL: nobody. */
    void (*failed)(void *context, const struct tg_console_failure *failure);
    void *failed_context;
    bool wants_data;                            /* of commands, for tg_console_take_data */
    const struct tg_command_services *services; /* that name code; NULL: it stays numbers */
    struct tg_live_job *live;                   /* that SOURCE is of, NULL: it is of a trace */
    int listener_fd; /* a command that waits ends where its other end is closed; 0: there is none such */
    bool is_safe;    /* a safe interpreter: no command of it reaches files, programs or the network */
};

/* SOURCE and OPTIONS->services must outlive it. One thread. */
struct tg_error *tg_console_create(struct tg_source *source, const struct tg_console_options *options,
                                   struct tg_console **console);
void tg_console_destroy(struct tg_console *console); /* NULL is accepted */

enum tg_console_print {
    TG_PRINT_ALL, /* every result that is not empty, as at a prompt */
    TG_PRINT_OWN, /* those of the console's own commands, not Tcl's: in a script */
};

/* Where a script comes from, for errors. */
struct tg_console_place {
    const char *name; /* of the file or option; NULL: typed, errors do not tell a place */
    size_t line;      /* of its first line, from 1 */
};

/* Evaluates the commands of SCRIPT one after the other and prints their results. False: one failed, which
 * was told on ERRORS ("NAME:LINE: message"), and those behind it were not run. */
bool tg_console_eval(struct tg_console *console, const char *script, enum tg_console_print print,
                     const struct tg_console_place *place);

/* Evaluates the lines of STREAM, commands over several lines included. STOPS: at the first command that
 * fails, else goes on. False: one failed. */
bool tg_console_read(struct tg_console *console, FILE *stream, enum tg_console_print print, const char *name,
                     bool stops);

/* Whether SCRIPT is whole: no brace, bracket or quote is open. */
bool tg_console_is_complete(const char *script);

/* What the last command of the last script answered as data, JSON; the caller's to free. NULL: nothing. */
char *tg_console_take_data(struct tg_console *console);

/* The source's wake_fd. */
int tg_console_wake_fd(const struct tg_console *console);

/* Lets the source take what has come meanwhile, and tells its news: before each command, and while the
 * console waits for one when the source's wake_fd is readable. */
void tg_console_attend(struct tg_console *console);
/* The same while somebody types: BEFORE is called first, if there is anything to tell. Whether there was. */
bool tg_console_attend_at_prompt(struct tg_console *console, void (*before)(void *context), void *context);

/* The same, until all events that there are by now were taken: for answers about what is so now. Waits for
 * those on their way, not long; an interrupt ends it. */
void tg_console_catch_up(struct tg_console *console);

/* The interrupt key was pressed while the console waited for a command: a live job's threads in focus
 * stop. */
void tg_console_interrupt(struct tg_console *console);

/* What is to be done when the console waits for the next command: `set opm opm-auto-sequence on` draws then.
 * Errors are told. */
void tg_console_settle(struct tg_console *console);

/* `quit` was called; *STATUS is set where it was given an exit status. */
bool tg_console_has_quit(const struct tg_console *console, int *status);

/* What becomes of a live job when its console ends. */
enum tg_console_leaving {
    TG_LEAVING_NOT_SAID, /* it is killed where the console started it, else let go */
    TG_LEAVING_KILL,
    TG_LEAVING_DETACH,
};

/* What `quit` was told of it. */
enum tg_console_leaving tg_console_leaving(const struct tg_console *console);

/* How the word that ends at LINE[LENGTH] can go on: calls ADD for each way, in the order of the alphabet per
 * group, with the whole word. *START is where that word begins. */
void tg_console_complete(struct tg_console *console, const char *line, size_t length, size_t *start,
                         void (*add)(void *context, const char *word), void *context);

/* "0.003300 s" behind "tollgate ": what a prompt shows. Returns BUFFER. */
char *tg_console_prompt(const struct tg_console *console, char *buffer, size_t size);

#endif
