/* News to people: a line each, in their order, but one for what many do alike as long as nothing else is
 * told: threads that leave a barrier, processes that end in the same way. */
#ifndef TG_LIVE_CONSOLE_NEWS_PRINTER_H
#define TG_LIVE_CONSOLE_NEWS_PRINTER_H

#include "live/source/news.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum { TG_NEWS_PRINTER_CROWDS = 8 };

/* A crowd that does the same: processes, or threads of processes. */
struct tg_news_crowd {
    struct tg_news first;
    uint32_t *dpids, *ranks; /* of each; of those that have no rank RANKS is NULL */
    size_t count, capacity, ranks_capacity;
};

/* Zero but for the first three members. */
struct tg_news_printer {
    FILE *stream;
    void (*before)(void *context); /* the first line, NULL nothing */
    void *context;
    bool has_begun;                                      /* a line was printed */
    struct tg_news_crowd crowds[TG_NEWS_PRINTER_CROWDS]; /* not printed yet */
    size_t n_crowds;
};

/* As of a sink: CONTEXT is a struct tg_news_printer. */
void tg_news_printer_tell(void *context, const struct tg_news *news);

/* Prints what is held back. To be called at the end. */
void tg_news_printer_flush(struct tg_news_printer *printer);

#endif
