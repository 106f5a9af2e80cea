/* Scripts of a console: the options --rc, -x, -e, -i and --json, that every command with a console
 * has. */
#ifndef TG_LIVE_CONSOLE_SCRIPT_H
#define TG_LIVE_CONSOLE_SCRIPT_H

#include "format/base/error.h"
#include "live/console/console.h"
#include "live/console/json_console.h"

#include <argp.h>
#include <stdbool.h>
#include <stddef.h>

struct tg_console_run; /* of one --rc, -x or -e */

/* Initialise to zero; the texts are ARGV's. */
struct tg_console_script {
    struct tg_console_run *runs;
    size_t n_runs, n_begins; /* so many of them are --rc */
    bool interactive;        /* standard input, too */
    bool as_json;            /* the console talks to a program */
};

/* For argp children; their input is a struct tg_console_script. */
extern const struct argp tg_console_script_argp;

void tg_console_script_deinit(struct tg_console_script *script);

/* Whether commands come from standard input. */
bool tg_console_script_reads_input(const struct tg_console_script *script);

/* Words at the start, for people and programs. */
struct tg_console_start {
    const char *mode;     /* "replay", "live": to programs */
    const char *name;     /* of the trace or the command: to programs */
    const char *greeting; /* to people, before the first prompt */
};

/* Runs what --rc says, then all else in its order; what fails, or quits, is the last. JSON is what the
 * console was created for, NULL: for people. *ALL_WELL: nothing failed. Errors are those of the terminal. */
struct tg_error *tg_console_script_run(const struct tg_console_script *script, struct tg_console *console,
                                       struct tg_json_console *json, const struct tg_console_start *start,
                                       bool *all_well);

#endif
