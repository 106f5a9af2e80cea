/* The statement that an OpenMP directive is about, in source text: where it ends, and whether it is done again and again. */
#ifndef TG_LIVE_INSPECT_DWARF_OPENMP_STATEMENT_H
#define TG_LIVE_INSPECT_DWARF_OPENMP_STATEMENT_H

#include "format/base/error.h"
#include "live/inspect/dwarf/openmp_directive.h"

/* A place in a file: line and column from 1. */
struct tg_source_position {
    uint64_t line;
    uint32_t column;
};

enum { TG_SOURCE_LAST_COLUMN = UINT32_MAX };

static inline bool tg_source_position_is_behind(struct tg_source_position a, struct tg_source_position b)
{
    return a.line != b.line ? a.line > b.line : a.column > b.column;
}

/* How a loop of the program's own is around a line. */
enum tg_openmp_rounds {
    TG_OPENMP_ONCE,         /* none is */
    TG_OPENMP_WITH_BARRIER, /* all threads wait for each other in each round, as far as the text says */
    TG_OPENMP_AGAIN,        /* one that has no barrier, or it is not known */
};

struct tg_openmp_statement {
    struct tg_source_position
        header; /* last place before the body: of a loop its heads' end, else the directive's */
    struct tg_source_position end; /* last place of the statement */
};

/* The text of one file, taken apart. */
struct tg_openmp_text;

/* Of TEXT, which it does not need later. Only error: NO_MEMORY. */
struct tg_error *tg_openmp_text_create(const struct tg_source_text *text, bool is_fortran,
                                       struct tg_openmp_text **parts);
void tg_openmp_text_destroy(struct tg_openmp_text *parts); /* NULL is accepted */

/* False: it cannot be made out. */
bool tg_openmp_text_statement(const struct tg_openmp_text *parts, const struct tg_openmp_directive *directive,
                              struct tg_openmp_statement *statement);

/* Loops around line NUMBER, which begins none itself. */
enum tg_openmp_rounds tg_openmp_text_rounds(const struct tg_openmp_text *parts, uint64_t number);

#endif
