/* What `tollgate where` prints. */
#ifndef TG_ANALYZER_WHERE_PAGE_H
#define TG_ANALYZER_WHERE_PAGE_H

#include "analyzer/where/tree.h"
#include "analyzer/where/verdict.h"

struct tg_where_page {
    const struct tg_where_look *look;
    const struct tg_where_threads *threads;
    const struct tg_where_verdict *verdict;
    const struct tg_where_node *ranks, *others; /* trees */
    bool with_others;                           /* launchers and what else is no rank, too */
    bool with_threads;                          /* every call of each thread */
    bool is_past;                               /* of a trace or core files, not of running processes */
};

void tg_where_write_text(FILE *stream, const struct tg_where_page *page);
/* The answer, and what was looked at: what the text begins with. */
void tg_where_write_head(FILE *stream, const struct tg_where_page *page);
/* What is not in the trees, and what one should know of the look: what the text ends with. */
void tg_where_write_rest(FILE *stream, const struct tg_where_page *page);
void tg_where_write_html(FILE *stream, const struct tg_where_page *page);
void tg_where_write_dot(FILE *stream, const struct tg_where_page *page);
void tg_where_write_json(FILE *stream, const struct tg_where_page *page);

#endif
