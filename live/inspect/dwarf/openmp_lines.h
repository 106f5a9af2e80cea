/* Where a program has static loops and master constructs of OpenMP that GCC has optimised: its code then calls the runtime for
 * the first of a function at most, and whoever watches those calls may not see the others. Found by the program's line table
 * and by its source, where that is there. */
#ifndef TG_LIVE_INSPECT_DWARF_OPENMP_LINES_H
#define TG_LIVE_INSPECT_DWARF_OPENMP_LINES_H

#include "live/inspect/dwarf/source_lines.h"
#include "recorder/dwarf/modules.h"

enum tg_openmp_construct {
    TG_OPENMP_CONSTRUCT_NONE,
    TG_OPENMP_CONSTRUCT_STATIC_LOOP, /* of its own, not joined with parallel */
    TG_OPENMP_CONSTRUCT_MASTER,      /* or masked */
};

/* The construct whose directive begins in line NUMBER of TEXT, C, C++ or Fortran in free form; *LAST: its last line, behind
 * continuations. */
enum tg_openmp_construct tg_openmp_directive(const struct tg_source_text *text, uint64_t number,
                                             uint64_t *last);

struct tg_openmp_line {
    enum tg_openmp_construct construct;
    char *file; /* as debug information has it */
    uint64_t line;
    char *function; /* symbol of the function that has the line */
    bool is_body;   /* body of a parallel region or a task; else the callers are not known */
};

struct tg_openmp_lines {
    struct tg_openmp_line *lines;
    size_t count, max;
};

/* Lines of all objects of MODULES. LINES was all zero, and is to be deinitialised also after an error: NO_MEMORY. */
struct tg_error *tg_openmp_lines_find(struct tg_modules *modules, struct tg_source_lines *sources,
                                      struct tg_openmp_lines *lines);
void tg_openmp_lines_deinit(struct tg_openmp_lines *lines);

#endif
