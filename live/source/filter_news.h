/* News of the dlopen filter: what a setting costs who debugs CUDA. */
#ifndef TG_LIVE_SOURCE_FILTER_NEWS_H
#define TG_LIVE_SOURCE_FILTER_NEWS_H

#include "live/source/moment.h"
#include "live/source/news.h"

/* Tells SINK what people should know of EVENT, which was fed to MOMENT last: a CUDA driver library was not
 * reported, so that kernel launches are missed; or the setting is now one under which it would not be, and
 * something of CUDA's is loaded. */
void tg_filter_news(const struct tg_moment *moment, const struct tg_event *event,
                    const struct tg_news_sink *sink);

#endif
