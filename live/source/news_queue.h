/* News on their way from the thread where things happen to the one that listens: copies, in bounded
 * number. */
#ifndef TG_LIVE_SOURCE_NEWS_QUEUE_H
#define TG_LIVE_SOURCE_NEWS_QUEUE_H

#include "format/base/error.h"
#include "live/source/news.h"

struct tg_news_queue;

struct tg_error *tg_news_queue_create(struct tg_news_queue **queue);
void tg_news_queue_destroy(struct tg_news_queue *queue); /* NULL is accepted */

/* Any thread. What finds no room, or no memory, is counted, and told at the end of what did. */
void tg_news_queue_add(struct tg_news_queue *queue, const struct tg_news *news);

/* Tells SINK of all that is there, in its order. */
void tg_news_queue_tell(struct tg_news_queue *queue, const struct tg_news_sink *sink);

#endif
