/* What the page of a console asks, answered. */
#ifndef TG_LIVE_COMMANDS_PAGE_PAGE_ANSWERS_H
#define TG_LIVE_COMMANDS_PAGE_PAGE_ANSWERS_H

#include "live/console/base.h"
#include "live/source/news_queue.h"
#include "live/web/session.h"

/* NEWS: what happened while a command of the page ran, for whoever looks at the console. */
struct tg_page_answers {
    struct tg_console *console;
    struct tg_news_queue *news;
};

struct tg_error *tg_page_answers_init(struct tg_page_answers *answers, struct tg_console *console);
void tg_page_answers_deinit(struct tg_page_answers *answers);

/* ANSWERS must outlive what uses these. */
struct tg_web_calls tg_page_answers_calls(struct tg_page_answers *answers);
struct tg_web_documents tg_page_answers_documents(struct tg_page_answers *answers);

#endif
