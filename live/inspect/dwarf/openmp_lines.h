/* Where a program has static loops and master constructs of OpenMP that GCC has optimised: its code then calls the runtime for
 * the first of a function at most, and whoever watches those calls may not see the others. Found by the program's line table
 * and by its source, where that is there. */
#ifndef TG_LIVE_INSPECT_DWARF_OPENMP_LINES_H
#define TG_LIVE_INSPECT_DWARF_OPENMP_LINES_H

#include "live/inspect/dwarf/openmp_statement.h"
#include "recorder/dwarf/modules.h"

struct tg_openmp_line {
    enum tg_openmp_construct construct;
    char *file; /* as debug information has it */
    uint64_t line;
    char *function; /* symbol of the function that has the line */
    bool is_body;   /* body of a parallel region or a task; else the callers are not known */
    struct tg_openmp_directive directive;
    struct tg_openmp_statement statement;
    enum tg_openmp_rounds rounds;
    struct tg_debug_info *info; /* of the object, as long as that is mapped */
    uint64_t function_at;       /* offset of the function's DIE */
};

struct tg_openmp_lines {
    struct tg_openmp_line *lines;
    size_t count, max;
    const struct tg_debug_info **infos; /* looked into */
    size_t n_infos, max_infos;
    char *
        unknown; /* why nothing is known of a part of the program, "solve has no debug information"; NULL: there is none */
};

/* Adds the lines of all objects of MODULES that were not looked into before. LINES was all zero before the first call, and
 * is to be deinitialised also after an error: NO_MEMORY. ALL: also of code that GCC has not optimised. Libraries without
 * debug information are not looked into. */
struct tg_error *tg_openmp_lines_find(struct tg_modules *modules, struct tg_source_lines *sources, bool all,
                                      struct tg_openmp_lines *lines);

/* Whether the process calls LLVM's runtime, and not GCC's: its calls say nothing of GCC's static loops and masters. */
bool tg_openmp_lines_is_llvm(const struct tg_modules *modules);
void tg_openmp_lines_deinit(struct tg_openmp_lines *lines);

#endif
