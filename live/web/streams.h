/* Streams of server-sent events: whoever opened one is sent the latest news, never a queue of older ones. */
#ifndef TG_LIVE_WEB_STREAMS_H
#define TG_LIVE_WEB_STREAMS_H

#include <microhttpd.h>
#include <stdbool.h>
#include <stddef.h>

enum { TG_WEB_MAX_STREAMS = 32 };

struct tg_web_streams;

struct tg_web_streams *tg_web_streams_create(void); /* NULL: no memory */

/* The response of a new stream on CONNECTION, which is suspended while there is nothing to tell; NULL: there are too many,
 * or there is no memory. */
struct MHD_Response *tg_web_streams_open(struct tg_web_streams *streams, struct MHD_Connection *connection);

/* TEXT (SIZE bytes, one line of JSON) is the latest news. */
void tg_web_streams_tell(struct tg_web_streams *streams, const char *text, size_t size);

/* To be called every few seconds: streams on which nothing was told are sent a sign of life, which finds out who is gone. */
void tg_web_streams_sign(struct tg_web_streams *streams);

/* All streams are told of the end, and end. */
void tg_web_streams_end(struct tg_web_streams *streams);

size_t tg_web_streams_count(const struct tg_web_streams *streams);

#endif
