/* The rows of the time strip: threads below their processes, and where there are many processes these below classes of those
 * that did the same at the end. A row that is not opened stands for all below it. */
#ifndef TG_ANALYZER_PAGE_STRIP_ROWS_H
#define TG_ANALYZER_PAGE_STRIP_ROWS_H

#include "analyzer/page/page.h"

enum {
    TG_STRIP_TOP = 20,      /* rows on top where nothing is opened, about */
    TG_STRIP_CHILDREN = 24, /* of a row; more are put below rows in between */
    TG_STRIP_ROWS = 240,    /* rows that are shown at most */
};

struct tg_strip_row {
    char *id;      /* "c0", "p3", "t17": stays the same as long as the job does not change */
    char *label;   /* "ranks 0-41,43-9999", "worker 2"; not printable: JSON escapes it */
    char *detail;  /* "in MPI_Barrier"; "" nothing */
    size_t parent; /* SIZE_MAX none; smaller than its own index */
    unsigned depth;
    size_t *lines; /* rows of the time line */
    size_t n_lines;
    size_t n_shown; /* of those, some event has shown what they do */
    size_t process; /* index in the process model; SIZE_MAX: of several */
    int64_t rank;   /* -1 none, or several */
    int32_t tid;    /* 0: a process, or several */
    size_t n_processes;
    bool is_culprit; /* the verdict names one of them */
    bool can_open, is_open;
};

struct tg_strip_rows {
    struct tg_strip_row *rows;
    size_t count, capacity;
    size_t left_out; /* rows that found no room */
};

/* The rows that are seen where those that OPEN lists in QUERY are opened. Caller's storage. Only error: NO_MEMORY. */
struct tg_error *tg_strip_rows_make(const struct tg_page *page, const char *query,
                                    struct tg_strip_rows *rows);
void tg_strip_rows_deinit(struct tg_strip_rows *rows);

#endif
