/* Breakpoint specifications: what `--break` takes. */
#ifndef TG_FORMAT_SETTINGS_BREAK_SPEC_H
#define TG_FORMAT_SETTINGS_BREAK_SPEC_H

#include "format/base/error.h"

#include <stdbool.h>
#include <stdint.h>

enum tg_break_spec_kind {
    TG_BREAK_FUNCTION, /* FUNCTION */
    TG_BREAK_LINE,     /* FILE:LINE, FILE#LINE, #FILE#LINE */
    TG_BREAK_ADDRESS,  /* *ADDRESS: absolute, or relative to the library's load bias where one is named */
};

enum { TG_BREAK_SPEC_MAX_BYTES = 1 << 16 };

/* FUNCTION | FILE:LINE | *ADDRESS, each optionally behind LIBRARY` (a Tcl glob for the object's path, matched
 * against the whole path and against its last component). What follows the last ':' makes FILE:LINE of
 * it if it begins with a digit; so C++ names keep their "::". FILE#LINE and #FILE#LINE are the same. Names
 * may hold any byte but '`' and have no blank at either end; C++ names are matched as the symbol table has
 * them (mangled). ADDRESS is 0xHEX or decimal, LINE decimal in [1, 2^32). */
struct tg_break_spec {
    enum tg_break_spec_kind kind;
    char *text;       /* as given */
    char *library;    /* NULL: every object */
    char *name;       /* function or file, never ""; NULL for an address */
    uint64_t line;    /* TG_BREAK_LINE, from 1; otherwise 0 */
    uint64_t address; /* TG_BREAK_ADDRESS; otherwise 0 */
    bool is_entry;    /* a FUNCTION's own first instruction alone; false as it is parsed */
};

/* INPUT error that names the text, the position (in bytes, from 1) and what was expected; LIMIT for a text
 * beyond TG_BREAK_SPEC_MAX_BYTES or a library pattern beyond tg_tcl_match_accepts. Copies TEXT. */
struct tg_error *tg_break_spec_parse(const char *text, struct tg_break_spec **spec);
/* NULL is accepted. */
void tg_break_spec_destroy(struct tg_break_spec *spec);

/* Whether the object at PATH is one the spec may be planted in: tollgate's agent, which has MPI_Send and others of its own,
 * only where its library is named, or a function that nobody else has: tollgate_... Async-signal-safe. */
bool tg_break_spec_admits(const struct tg_break_spec *spec, const char *path);

#endif
