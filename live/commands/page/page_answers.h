/* What the page of a console asks, answered. */
#ifndef TG_LIVE_COMMANDS_PAGE_PAGE_ANSWERS_H
#define TG_LIVE_COMMANDS_PAGE_PAGE_ANSWERS_H

#include "analyzer/page/timeline.h"
#include "analyzer/page/timeline_pass.h"
#include "live/commands/page/late.h"
#include "live/console/base.h"
#include "live/source/news_queue.h"
#include "live/web/session.h"

#include <pthread.h>

/* Culprits of the session's verdict: written by the console's thread, read by the page's. */
struct tg_page_blame {
    pthread_mutex_t lock;
    struct tg_page_culprit *culprits;
    size_t count;
};

/* Owned by the console's state. PASS is of the page's thread, of a live job of the console's, as is all else but LATE and
 * what is atomic. */
struct tg_page_answers {
    struct tg_console *console;
    struct tg_news_queue
        *news; /* what happened while a command of the page ran, for whoever looks at the console */
    struct tg_timeline *timeline; /* of a live job, from the page's start on, where PASS is NULL; NULL none */
    _Atomic uint64_t number, time_ns,
        end_ns;                    /* of the console's moment; of the trace as far as it is known */
    struct tg_timeline_pass *pass; /* over a trace, or over all of a live job; NULL none */
    char *path;                    /* of the trace's file, NULL none */
    uint64_t seen_from_ns;         /* when TIMELINE begins */
    uint64_t start_ns;             /* of the live job that both are of */
    uint64_t synced_number;        /* of events that the file has */
    uint64_t synced_ns;            /* by the events' clock: the file has what happened until then */
    double synced_s;               /* when the trace's file had all events of a live job */
    struct tg_page_late *late;
    struct tg_source_lines *sources; /* NULL: nobody has asked for any; of the console's thread */
    struct tg_page_blame blame;
};

struct tg_error *tg_page_answers_init(struct tg_page_answers *answers, struct tg_console *console);
void tg_page_answers_deinit(struct tg_page_answers *answers);

/* Before a page is started and after it has ended. READY of CONTEXT: a document has come that a browser waits for; any
 * thread. */
struct tg_error *tg_page_answers_begin(struct tg_page_answers *answers, void (*ready)(void *context),
                                       void *context);
void tg_page_answers_end(struct tg_page_answers *answers);

/* The console is at another moment. */
void tg_page_answers_move(struct tg_page_answers *answers);
/* A live job's event. */
void tg_page_answers_take(struct tg_page_answers *answers, const struct tg_event *event, size_t process);

/* ANSWERS must outlive what uses these. */
struct tg_web_calls tg_page_answers_calls(struct tg_page_answers *answers);
struct tg_web_documents tg_page_answers_documents(struct tg_page_answers *answers);

#endif
