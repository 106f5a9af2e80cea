/* The forms in which a heap is written. To add one: a writer here, a row in format.c, a line in tollgate-heap(1). */
#ifndef TG_ANALYZER_HEAP_FORMAT_H
#define TG_ANALYZER_HEAP_FORMAT_H

#include "analyzer/heap/profile.h"
#include "analyzer/heap/reading.h"

#include "format/base/json_writer.h"

#include <stdio.h>

/* A heap to be written: a profile of a reading. */
struct tg_heap_drawing {
    const struct tg_heap_reading *reading;
    const struct tg_selection *selection;  /* NULL: all processes */
    const struct tg_heap_profile *profile; /* by stack but for text and JSON */
    const char *path;                      /* of the trace */
    bool all;                              /* every row */
    bool shows_interior;                   /* leaks into which pointers are left, without ALL too */
    bool colour;
    size_t rows;    /* of the table, at most; 0: as usual */
    size_t columns; /* width that lines fit, 0 no limit */
};

struct tg_heap_format {
    const char *name;
    const char *suffix; /* of a file, ".svg" */
    struct tg_error *(*write)(const struct tg_heap_drawing *drawing, FILE *stream);
};

/* For I in [0, count): massif, pprof, collapsed, svg. */
size_t tg_heap_format_count(void);
const struct tg_heap_format *tg_heap_format_at(size_t i);

/* The members of an object that says all of a heap; the object around them is the caller's. Only error: NO_MEMORY. */
struct tg_error *tg_heap_json_members(const struct tg_heap_drawing *drawing, struct tg_json *json);
/* The sums, growth and groups, without a table; indented by two blanks. Only error: NO_MEMORY. */
struct tg_error *tg_heap_write_overview(const struct tg_heap_drawing *drawing, FILE *stream);
/* The table. Only error: NO_MEMORY. */
struct tg_error *tg_heap_write_table(const struct tg_heap_drawing *drawing, FILE *stream);
/* Errors, leaks, and heaps that are not seen; nothing where there are none. Only error: NO_MEMORY. */
struct tg_error *tg_heap_write_troubles(const struct tg_heap_drawing *drawing, FILE *stream);

/* Writers. Only error: NO_MEMORY; a stream that fails is the caller's to see. */
struct tg_error *tg_heap_write_text(const struct tg_heap_drawing *drawing, FILE *stream);
struct tg_error *tg_heap_write_json(const struct tg_heap_drawing *drawing, FILE *stream);
struct tg_error *tg_heap_write_svg(const struct tg_heap_drawing *drawing, FILE *stream);    /* flame graph */
struct tg_error *tg_heap_write_massif(const struct tg_heap_drawing *drawing, FILE *stream); /* valgrind's */
struct tg_error *tg_heap_write_pprof(const struct tg_heap_drawing *drawing, FILE *stream);  /* gzip */
struct tg_error *tg_heap_write_collapsed(const struct tg_heap_drawing *drawing,
                                         FILE *stream); /* a line a stack */

#endif
