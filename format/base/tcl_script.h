/* Tcl scripts cut into commands and words, without running anything (Tcl(n), rules 1 to 12). */
#ifndef TG_FORMAT_BASE_TCL_SCRIPT_H
#define TG_FORMAT_BASE_TCL_SCRIPT_H

#include "format/base/error.h"

#include <stdbool.h>
#include <stddef.h>

struct tg_tcl_script;

enum {
    TG_TCL_SCRIPT_MAX_WORDS = 8,  /* words of a command that are kept; all are counted */
    TG_TCL_SCRIPT_MAX_DEPTH = 64, /* `[` and `$name(` within each other */
};

struct tg_tcl_word {
    const char *text; /* value of the word, NUL-terminated; as written where it is substituted */
    size_t size;      /* in bytes; more than strlen(text) where the value holds a NUL */
    bool substituted; /* Tcl would put something in its place: $name, [command], {*} */
};

/* One command, which may span lines. Lives until the next call. */
struct tg_tcl_command {
    size_t line;      /* line of its first character, from 1 */
    const char *text; /* as written, [text, text + size), without what ends it; points into the script */
    size_t size;
    size_t n_words; /* 0: the script is at its end */
    struct tg_tcl_word words[TG_TCL_SCRIPT_MAX_WORDS];
};

/* TEXT [text, text + size) may hold any bytes and must live as long as SCRIPT, as must NAME, which errors
 * begin with ("NAME:LINE: ..."). */
struct tg_error *tg_tcl_script_create(const char *name, const char *text, size_t size,
                                      struct tg_tcl_script **script);
/* NULL is accepted. */
void tg_tcl_script_destroy(struct tg_tcl_script *script);

/* The next command that has words. INPUT error with the line where it began for what is not closed ("...",
 * {...}, [...], ${...}, $name(...)) or followed by further characters; LIMIT error beyond the depth. The
 * script is at its end then. Quoting and backslashes are as in Tcl 8.6, but for \U, which gives all of
 * Unicode. */
struct tg_error *tg_tcl_script_next(struct tg_tcl_script *script, struct tg_tcl_command *command);

#endif
