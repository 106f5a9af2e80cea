#include "live/web/streams.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCK = 4096 };

struct stream {
    struct tg_web_streams *all;
    struct MHD_Connection *connection;
    bool is_suspended, wants_sign;
    uint64_t told; /* the news that it was sent last */
    char *text;    /* being sent, NULL nothing */
    size_t size, sent;
};

struct tg_web_streams {
    struct stream *streams[TG_WEB_MAX_STREAMS];
    size_t count;
    char *latest;
    uint64_t number; /* of the latest, 0 none yet */
    bool has_ended;
};

struct tg_web_streams *tg_web_streams_create(void)
{
    return calloc(1, sizeof(struct tg_web_streams));
}

/* What STREAM is to be sent next; false: nothing. */
static bool load(struct stream *stream)
{
    struct tg_web_streams *all = stream->all;
    int length = -1;
    free(stream->text);
    stream->text = NULL;
    stream->sent = 0;
    if (all->number != stream->told)
        length = asprintf(&stream->text, "event: changed\ndata: %s\n\n", all->latest);
    else if (stream->wants_sign)
        length = asprintf(&stream->text, ":\n\n");
    stream->told = all->number;
    stream->wants_sign = false;
    stream->size = length > 0 ? (size_t)length : 0;
    if (length < 0)
        stream->text = NULL;
    return length > 0;
}

static ssize_t read_stream(void *context, uint64_t position, char *buffer, size_t most)
{
    struct stream *stream = context;
    (void)position;
    if (stream->text == NULL || stream->sent == stream->size) {
        if (stream->all->has_ended)
            return MHD_CONTENT_READER_END_OF_STREAM;
        if (!load(stream)) {
            stream->is_suspended = true;
            MHD_suspend_connection(stream->connection); /* returning 0 alone would be asked again at once */
            return 0;
        }
    }
    size_t left = stream->size - stream->sent, size = left < most ? left : most;
    memcpy(buffer, stream->text + stream->sent, size);
    stream->sent += size;
    return (ssize_t)size;
}

static void free_stream(void *context)
{
    struct stream *stream = context;
    struct tg_web_streams *all = stream->all;
    for (size_t i = 0; i < all->count; i++)
        if (all->streams[i] == stream)
            all->streams[i] = all->streams[--all->count];
    free(stream->text);
    free(stream);
}

struct MHD_Response *tg_web_streams_open(struct tg_web_streams *streams, struct MHD_Connection *connection)
{
    struct stream *stream =
        streams->count == TG_WEB_MAX_STREAMS || streams->has_ended ? NULL : calloc(1, sizeof *stream);
    if (stream == NULL)
        return NULL;
    *stream = (struct stream){.all = streams, .connection = connection, .wants_sign = true};
    streams->streams[streams->count++] = stream;
    struct MHD_Response *response =
        MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, BLOCK, read_stream, stream, free_stream);
    if (response == NULL)
        free_stream(stream);
    return response;
}

static void wake(struct stream *stream)
{
    if (!stream->is_suspended)
        return;
    stream->is_suspended = false;
    MHD_resume_connection(stream->connection);
}

void tg_web_streams_tell(struct tg_web_streams *streams, const char *text, size_t size)
{
    char *copy = strndup(text, size);
    if (copy == NULL)
        return;
    free(streams->latest);
    streams->latest = copy;
    streams->number++;
    for (size_t i = 0; i < streams->count; i++)
        wake(streams->streams[i]);
}

void tg_web_streams_sign(struct tg_web_streams *streams)
{
    for (size_t i = 0; i < streams->count; i++) {
        streams->streams[i]->wants_sign = true;
        wake(streams->streams[i]);
    }
}

void tg_web_streams_end(struct tg_web_streams *streams)
{
    streams->has_ended = true;
    for (size_t i = 0; i < streams->count; i++)
        wake(streams->streams[i]);
}

size_t tg_web_streams_count(const struct tg_web_streams *streams)
{
    return streams->count;
}
