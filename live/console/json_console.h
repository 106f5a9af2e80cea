/* The console for programs: one JSON object a line, in and out (docs/json-console.md says which). Protocol
 * version 1: members may be added to it, none is taken away or changes its meaning. */
#ifndef TG_LIVE_CONSOLE_JSON_CONSOLE_H
#define TG_LIVE_CONSOLE_JSON_CONSOLE_H

#include "live/console/console.h"

enum {
    TG_JSON_PROTOCOL = 1,
    TG_JSON_MAX_LINE = 1 << 20,    /* bytes of a command; a longer one is answered with an error */
    TG_JSON_MAX_SCRIPT = 16 << 20, /* of a file of commands */
};

struct tg_json_console;

/* Takes the process's standard input and output for the protocol: what else is written to standard output
 * from here on, by programs that are started as well, comes out of standard error; standard input is empty
 * for them. To be called before anything is started. */
struct tg_error *tg_json_console_create(struct tg_json_console **json);
void tg_json_console_destroy(struct tg_json_console *json); /* before the console; NULL is accepted */

/* Sets what a console needs that talks to programs; JSON must outlive it. */
void tg_json_console_options(struct tg_json_console *json, struct tg_console_options *options);

/* The first line. MODE: "replay" or "live"; NAME: of the trace or the command. CONSOLE was created with the
 * options. */
struct tg_error *tg_json_console_begin(struct tg_json_console *json, struct tg_console *console,
                                       const char *mode, const char *name, const char *version);

/* Runs SCRIPT that is called FROM ("-e"), or the commands in the file at PATH, and tells the result. False:
 * it failed. */
bool tg_json_console_eval(struct tg_json_console *json, const char *from, const char *script);
bool tg_json_console_file(struct tg_json_console *json, const char *path);

/* Runs commands as they come, and tells what happens meanwhile, until the input ends or `quit`. False: one
 * failed. */
bool tg_json_console_read(struct tg_json_console *json);

/* The last line. An error where it, or a line before it, could not be written. */
struct tg_error *tg_json_console_end(struct tg_json_console *json, int status);

#endif
