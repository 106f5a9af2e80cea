/* What the code of a function does with static loops and master constructs that GCC has optimised: which calls of the runtime the
 * agent takes for the beginning of one (recorder/agent/gomp/site.h), and whether a thread may come to one without such a call. */
#ifndef TG_LIVE_INSPECT_DWARF_OPENMP_CODE_H
#define TG_LIVE_INSPECT_DWARF_OPENMP_CODE_H

#include "live/inspect/dwarf/openmp_lines.h"

/* One function, and constructs of one kind. */
struct tg_openmp_code;

/* The function and the kind of LINES[FIRST], with all lines that it has of that kind; they must outlive the result, and the
 * modules must. IS_WATCHED: the agent sees the calls. Only error: NO_MEMORY. */
struct tg_error *tg_openmp_code_create(const struct tg_openmp_lines *lines, size_t first,
                                       struct tg_source_lines *sources, bool is_watched,
                                       struct tg_openmp_code **code);
void tg_openmp_code_destroy(struct tg_openmp_code *code); /* NULL is accepted */

/* The object whose function it is: addresses are those of its image. */
struct tg_debug_info *tg_openmp_code_info(const struct tg_openmp_code *code);

/* Whether ADDRESS is in the function. */
bool tg_openmp_code_has(const struct tg_openmp_code *code, uint64_t address);

/* Where a thread is. */
struct tg_openmp_start {
    uint64_t address; /* of the next instruction; 0: it comes to the function */
    bool is_call;     /* the thread is in a call that returns there */
    bool is_inside;   /* the construct that this call begins has begun for the thread */
    uint64_t number;  /* the thread's in its team */
    void *context;
    /* Whether the loop whose beginning is the call that returns to ADDRESS will be a new one, when the thread comes there next,
     * or others of its team were there before. NULL: it will. */
    bool (*is_new)(void *context, uint64_t address);
};

/* The constructs that it is about. */
size_t tg_openmp_code_line_count(const struct tg_openmp_code *code);
const struct tg_openmp_line *tg_openmp_code_line(const struct tg_openmp_code *code, size_t i);

/* FOUND, one a construct: whether the thread may come to it before it comes to any that is seen. Only error: NO_MEMORY. */
struct tg_error *tg_openmp_code_unseen(const struct tg_openmp_code *code, const struct tg_openmp_start *start,
                                       bool *found);

#endif
