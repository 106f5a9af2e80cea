/* Commands of the console. "How to add" in docs/architecture.md says what belongs to one. */
#ifndef TG_LIVE_CONSOLE_COMMAND_H
#define TG_LIVE_CONSOLE_COMMAND_H

#include "live/console/base.h"

struct tg_console_option;

/* The kind of source that a command has something to say about. */
enum tg_console_needs {
    TG_CONSOLE_NEEDS_NOTHING,
    TG_CONSOLE_NEEDS_LIVE,  /* a job under control */
    TG_CONSOLE_NEEDS_TRACE, /* a trace, which goes back and forth */
};

struct tg_console_command {
    const char *name;                        /* one word, or two: a subcommand */
    const char *arguments;                   /* "?N?", "" none */
    const char *summary;                     /* one line */
    const char *example;                     /* one that works: tests/e2e/live/help.py runs it */
    const char *more;                        /* further lines for `help COMMAND`, NULL none */
    const struct tg_console_option *options; /* live/console/options.h; ends with a NULL name; NULL none */
    const char *const *words;                /* further arguments to complete, NULL-terminated; NULL none */
    /* Further arguments to complete, NULL none: calls ADD for each. */
    void (*offer)(const struct tg_console *console, void (*add)(void *context, const char *word),
                  void *context);
    enum tg_console_needs needs;
    const char *instead;   /* the command that does this where NEEDS is not met, NULL none */
    bool runs_instead;     /* INSTEAD is run there with the same arguments; else the error names it */
    bool is_of_now;        /* of a live job: about everything that has happened up to this moment */
    bool begins_job;       /* of a live job: may be what it begins with, and is then not about everybody */
    bool takes_expression; /* of the program's language, in which brackets are indexes */
    bool passes_on;        /* the answer is that of the command that the arguments are */
    /* ARGC arguments behind the command's name. What is written to OUT becomes the command's result
     * (without the last line end), unless it sets console->result. An error becomes Tcl's. Data
     * (console->data) comes from the same look at the job as the text: whoever asks the job twice gets two
     * moments. */
    struct tg_error *(*run)(struct tg_console *console, int argc, Tcl_Obj *const *argv, FILE *out);
};

/* Whether Tcl has a command of an alias's name. */
enum tg_alias_tcl {
    TG_TCL_HAS_NONE,
    TG_TCL_LOOPS,           /* for loops: without arguments in scripts it stays Tcl's */
    TG_TCL_TAKES_ARGUMENTS, /* all is Tcl's but a line that is the name alone */
};

/* A short or foreign name of a command. */
struct tg_console_alias {
    const char *name; /* one word, or two: a subcommand */
    const char
        *words; /* separated by blanks; what is written behind the name follows them; NULL: only ADVICE */
    const char *advice; /* words on what to type instead; NULL where WORDS do it */
    enum tg_alias_tcl tcl;
};

/* All that a console speaks; the lists end with NULL. */
struct tg_console_table {
    const struct tg_console_command *const *commands; /* in the order of `help` */
    const struct tg_console_alias *aliases;           /* short names; ends with a NULL name */
    const struct tg_console_alias *foreign;           /* other debuggers' words; ends with a NULL name */
    const struct tg_console_state_kind *const *states;
    struct tg_error *(*interrupt)(
        struct tg_console *console); /* the interrupt key at the prompt of a live job */
    /* a command has waited for SECONDS for whom the focus means by DEFAULTS (NULL: for all) */
    void (*wait_lasts)(struct tg_console *console, const struct tg_ptset_defaults *defaults, double seconds);
};

/* The USAGE error of a command that was called with other arguments than it has. */
struct tg_error *tg_console_usage(const struct tg_console_command *command);

/* The USAGE error of FIRST, the first word of several commands, alone: names the second ones. */
struct tg_error *tg_console_needs_subcommand(const struct tg_console *console, const char *first);

/* Whether COMMAND has something to go on here. */
bool tg_console_is_of_use(const struct tg_console *console, const struct tg_console_command *command);

/* The command whose first word is FIRST (FIRST_SIZE bytes) and, where it has two, whose second one begins
 * with SECOND; NULL where there is none, or several and none is meant exactly. */
const struct tg_console_command *tg_console_find_command(const struct tg_console *console, const char *first,
                                                         size_t first_size, const char *second,
                                                         size_t second_size);

/* The alias or foreign word of one word, FIRST, or of two, FIRST SECOND; NULL none. *COMMAND: the command
 * that it runs in the end, behind a dfocus; NULL where it only gives advice. */
const struct tg_console_alias *tg_console_find_alias(const struct tg_console *console, const char *first,
                                                     size_t first_size, const char *second,
                                                     size_t second_size,
                                                     const struct tg_console_command **command);

/* Words before ADVICE, of an alias that has no words: where the first command that it names in `...` has something to go on;
 * "" here. */
const char *tg_console_advice_where(const struct tg_console *console, const char *advice);

/* What LINE, the name of an alias that is Tcl's otherwise and blanks around it, runs where it is all there is; NULL: it is
 * something else. */
const char *tg_console_line_words(const struct tg_console *console, const char *line);

/* Offers to ADD all names that begin with FIRST (a whole word): those behind it, or with FIRST NULL all
 * first words. */
void tg_console_each_name(const struct tg_console *console, const char *first, size_t first_size,
                          void (*add)(void *context, const char *name), void *context);

/* "; did you mean 'dstatus'?" for WORD, which is no command, or, with FIRST not NULL, no subcommand of
 * FIRST; "" where nothing is near. Returns BUFFER, of TG_NEAR_NAME_HINT bytes. */
const char *tg_console_near_name(const struct tg_console *console, const char *first, const char *word,
                                 char *buffer);

#endif
