/*
 * News to people: a line each, in their order, but one for what many do alike and one after the other:
 * threads of a process that leave a barrier, processes that end in the same way.
 */
#ifndef TG_LIVE_NEWS_PRINTER_H
#define TG_LIVE_NEWS_PRINTER_H

#include "live/news.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum { TG_NEWS_PRINTER_ENDS = 4 };

/* Processes that have ended in one way. */
struct tg_news_ends {
    struct tg_news first;
    uint32_t *dpids, *ranks; /* of processes that are ranks; else RANKS is NULL */
    size_t count, capacity;
};

/* Zero but for the first three members. */
struct tg_news_printer {
    FILE *stream;
    void (*before)(void *context); /* the first line, NULL nothing */
    void *context;
    bool has_begun;                                 /* a line was printed */
    struct tg_news left;                            /* not printed yet; as many as its `other` says, 0 none */
    struct tg_news_ends ends[TG_NEWS_PRINTER_ENDS]; /* not printed yet */
    size_t n_ends;
};

/* As of a sink: CONTEXT is a struct tg_news_printer. */
void tg_news_printer_tell(void *context, const struct tg_news *news);

/* What is not printed yet. To be called at the end: nothing is held then. */
void tg_news_printer_flush(struct tg_news_printer *printer);

#endif
