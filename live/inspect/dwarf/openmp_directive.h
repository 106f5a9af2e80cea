/* Directives of OpenMP in source text, as far as it takes to know static loops and master constructs: for these, GCC's code does
 * not call the runtime. */
#ifndef TG_LIVE_INSPECT_DWARF_OPENMP_DIRECTIVE_H
#define TG_LIVE_INSPECT_DWARF_OPENMP_DIRECTIVE_H

#include "live/inspect/dwarf/source_lines.h"

enum tg_openmp_construct {
    TG_OPENMP_CONSTRUCT_NONE,
    TG_OPENMP_CONSTRUCT_STATIC_LOOP, /* or workshare; also joined with parallel */
    TG_OPENMP_CONSTRUCT_MASTER,      /* or masked */
};

struct tg_openmp_directive {
    enum tg_openmp_construct construct;
    uint64_t first, last; /* lines, with continuations */
    bool is_fortran;
    unsigned n_loops; /* made one by the construct: collapse, [1, ...]; 0: workshare, a block */
    int filter;       /* thread number that a masked construct is for; -1: no constant */
    bool has_barrier; /* all wait for each other in it, or at its end */
};

/* The directive that begins in line NUMBER of TEXT, C, C++ or Fortran in free form. False: there is none. LAST is set in any
 * case. */
bool tg_openmp_directive_read(const struct tg_source_text *text, uint64_t number,
                              struct tg_openmp_directive *directive);

#endif
