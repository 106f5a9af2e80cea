/* What the page of a console asks, answered. */
#ifndef TG_LIVE_COMMANDS_PAGE_PAGE_ANSWERS_H
#define TG_LIVE_COMMANDS_PAGE_PAGE_ANSWERS_H

#include "analyzer/page/timeline.h"
#include "analyzer/page/timeline_pass.h"
#include "live/console/base.h"
#include "live/source/news_queue.h"
#include "live/web/session.h"

/* Owned by the console's state; the members behind PASS are of the page's thread, all others of the console's. */
struct tg_page_answers {
    struct tg_console *console;
    struct tg_news_queue
        *news; /* what happened while a command of the page ran, for whoever looks at the console */
    struct tg_timeline *timeline;     /* of a live job, from the page's start on; NULL none */
    _Atomic uint64_t number, time_ns; /* of the console's moment */
    struct tg_timeline_pass *pass;    /* over a trace; NULL none */
    char *path;                       /* of the trace's file, NULL none */
};

struct tg_error *tg_page_answers_init(struct tg_page_answers *answers, struct tg_console *console);
void tg_page_answers_deinit(struct tg_page_answers *answers);

/* Before a page is started and after it has ended. */
struct tg_error *tg_page_answers_begin(struct tg_page_answers *answers);
void tg_page_answers_end(struct tg_page_answers *answers);

/* The console is at another moment. */
void tg_page_answers_move(struct tg_page_answers *answers);
/* A live job's event. */
void tg_page_answers_take(struct tg_page_answers *answers, const struct tg_event *event, size_t process);

/* ANSWERS must outlive what uses these. */
struct tg_web_calls tg_page_answers_calls(struct tg_page_answers *answers);
struct tg_web_documents tg_page_answers_documents(struct tg_page_answers *answers);

#endif
