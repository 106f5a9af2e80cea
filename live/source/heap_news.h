/* News of mistakes in the use of the heap, which stop a thread at a place that does not say why. */
#ifndef TG_LIVE_SOURCE_HEAP_NEWS_H
#define TG_LIVE_SOURCE_HEAP_NEWS_H

#include "live/source/moment.h"
#include "live/source/news.h"

/* Tells SINK what EVENT, a heap_error that was fed to MOMENT last, is. */
void tg_heap_news(const struct tg_moment *moment, const struct tg_event *event,
                  const struct tg_news_sink *sink);

#endif
