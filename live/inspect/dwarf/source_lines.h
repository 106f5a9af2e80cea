/* Text of source files, found by the names that debug information has for them, remembered, and read again
 * where they have changed. */
#ifndef TG_LIVE_INSPECT_DWARF_SOURCE_LINES_H
#define TG_LIVE_INSPECT_DWARF_SOURCE_LINES_H

#include "format/base/error.h"
#include "format/base/json_writer.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum {
    TG_SOURCE_MAX_FILES = 16,         /* remembered; the one least asked for goes first */
    TG_SOURCE_MAX_BYTES = 16 << 20,   /* of one file */
    TG_SOURCE_MAX_DIRECTORIES = 1024, /* of a search path */
    TG_SOURCE_MAX_COLUMNS = 1000,     /* of a line that is shown */
};

struct tg_source_lines; /* not thread-safe */

struct tg_error *tg_source_lines_create(struct tg_source_lines **lines);
void tg_source_lines_destroy(struct tg_source_lines *lines); /* NULL is accepted */

/* Directories with a ':' between them; "" or NULL none. LIMIT error. */
struct tg_error *tg_source_lines_search(struct tg_source_lines *lines, const char *directories);

/* One file. Lives until the next question to its tg_source_lines. */
struct tg_source_text {
    const char *path; /* as found */
    size_t n_lines;
    bool is_newer; /* than the program that it is asked for: its lines may be others than those compiled */
};

/* The file that debug information calls PATH, in the order: where PATH says (a relative one from the working
 * directory); in each directory of the search path, and in that of PROGRAM (the object that has it, NULL not
 * known), under PATH's last components, as many as there are first. Only regular files count. NOT_FOUND says
 * where it was looked for; LIMIT and OS errors. */
struct tg_error *tg_source_lines_find(struct tg_source_lines *lines, const char *path, const char *program,
                                      const struct tg_source_text **text);

/* Line NUMBER, [1, n_lines], without its end: SIZE bytes, any. */
const char *tg_source_text_line(const struct tg_source_text *text, uint64_t number, size_t *size);

/* An action point at a line: 'b', or 'B' for a barrier; in a line that has both the barrier is shown, and one
 * that is enabled before one that is not, which is 'd'. */
struct tg_source_mark {
    uint64_t line;
    char letter;
};

/* Lines [FIRST, FIRST + COUNT), as far as the file has them. */
struct tg_source_range {
    uint64_t first, count;
    uint64_t current; /* of the thread, 0 elsewhere */
    const struct tg_source_mark *marks;
    size_t n_marks;
};

/* A line each: '>' where the thread is, the mark, the number, the text. */
void tg_source_text_print(const struct tg_source_text *text, const struct tg_source_range *range,
                          FILE *stream);
/* An object: file, is_newer, current (where it is in the range), lines: number, text, mark. */
void tg_source_text_json(const struct tg_source_text *text, const struct tg_source_range *range,
                         struct tg_json *json);

#endif
