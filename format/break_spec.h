/* Breakpoint specifications: what `--break` takes. */
#ifndef TG_FORMAT_BREAK_SPEC_H
#define TG_FORMAT_BREAK_SPEC_H

#include "format/error.h"

#include <stdbool.h>
#include <stdint.h>

enum tg_break_spec_kind {
    TG_BREAK_FUNCTION, /* FUNCTION */
    TG_BREAK_LINE,     /* FILE:LINE */
    TG_BREAK_ADDRESS,  /* *ADDRESS: absolute, or relative to the library's load bias where one is named */
};

/*
 * FUNCTION | FILE:LINE | *ADDRESS, each optionally behind LIBRARY` (a Tcl glob for the object's path, matched
 * against the whole path and against its last component). Function names may hold any byte but '`'; C++ names
 * are matched as the symbol table has them (mangled) .
 */
struct tg_break_spec {
    enum tg_break_spec_kind kind;
    char *text;    /* as given */
    char *library; /* NULL: every object */
    char *name;    /* function or file; NULL for an address */
    uint64_t line; /* TG_BREAK_LINE, from 1 */
    uint64_t address;
};

/* INPUT error that names the text, the position and what was expected. Copies TEXT. */
struct tg_error *tg_break_spec_parse(const char *text, struct tg_break_spec **spec);
void tg_break_spec_destroy(struct tg_break_spec *spec);

/* Whether the object at PATH is one the spec may be planted in. */
bool tg_break_spec_admits(const struct tg_break_spec *spec, const char *path);

#endif
