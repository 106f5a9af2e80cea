/* Answers for programs: commands of a console and their results as JSON, one object a line (docs/json-console.md). */
#ifndef TG_LIVE_CONSOLE_JSON_ANSWER_H
#define TG_LIVE_CONSOLE_JSON_ANSWER_H

#include "format/base/json_writer.h"
#include "live/console/base.h"
#include "live/console/tcl_capture.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

struct tg_json_answer {
    struct tg_console *console;  /* the caller's, to be set before anything is run */
    FILE *out;                   /* the protocol's lines; the caller's */
    int write_failed;            /* errno of the first line that could not be written, 0: none (tg_flush) */
    struct tg_text_capture text; /* text that a console would have printed */
    FILE *printed;               /* writes there */
    json_t *id;                  /* of the command that runs, NULL: it has none */
    bool has_failed;             /* the command that runs; its result is told */
};

struct tg_error *tg_json_answer_init(struct tg_json_answer *answer);
void tg_json_answer_deinit(struct tg_json_answer *answer);

/* Has a console with OPTIONS tell its results and failures here. */
void tg_json_answer_options(struct tg_json_answer *answer, struct tg_console_options *options);

struct tg_json tg_json_answer_begin_line(struct tg_json_answer *answer, const char *type);
void tg_json_answer_end_line(struct tg_json_answer *answer, struct tg_json *line);

/* One `result` each. FROM is the script's origin, NULL typed; false: it failed. */
bool tg_json_answer_eval(struct tg_json_answer *answer, const char *from, const char *script);
void tg_json_answer_refuse(struct tg_json_answer *answer, const char *code, const char *message);
/* How the word at the end of TEXT can go on. */
void tg_json_answer_complete(struct tg_json_answer *answer, const char *text);

/* Runs one line of input (SIZE bytes without its end, behind which there is room for a NUL). */
bool tg_json_answer_line(struct tg_json_answer *answer, char *line, size_t size);

#endif
