#include "live/web/line.h"

#include "format/base/array.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { BLOCK = 1 << 16, MAX_HEADER = 64, MAX_WAITING = 2 * TG_WEB_MAX_BODY };

void tg_web_line_init(struct tg_web_line *line, int fd)
{
    *line = (struct tg_web_line){.fd = fd};
    fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
}

void tg_web_line_deinit(struct tg_web_line *line)
{
    if (line->fd >= 0)
        close(line->fd);
    free(line->in);
    free(line->out);
    *line = (struct tg_web_line){.fd = -1};
}

static void send_some(struct tg_web_line *line)
{
    while (!line->is_broken && line->out_sent < line->out_size) {
        ssize_t sent =
            send(line->fd, line->out + line->out_sent, line->out_size - line->out_sent, MSG_NOSIGNAL);
        if (sent < 0 && errno == EINTR)
            continue;
        if (sent < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
            return;
        if (sent <= 0)
            line->is_broken = true;
        else
            line->out_sent += (size_t)sent;
    }
    line->out_size = line->out_sent = 0;
}

void tg_web_line_send(struct tg_web_line *line, uint64_t id, const char *word, const char *body, size_t size)
{
    char header[MAX_HEADER];
    int length = snprintf(header, sizeof header, "%" PRIu64 " %s %zu\n", id, word, size);
    if (line->is_broken)
        return;
    if (line->out_sent > 0) {
        memmove(line->out, line->out + line->out_sent, line->out_size - line->out_sent);
        line->out_size -= line->out_sent;
        line->out_sent = 0;
    }
    size_t needed = line->out_size + (size_t)length + size;
    if (size > TG_WEB_MAX_BODY || needed > MAX_WAITING ||
        TG_ARRAY_RESERVE(line->out, line->out_capacity, needed) != NULL) {
        line->is_broken = true;
        return;
    }
    memcpy(line->out + line->out_size, header, (size_t)length);
    if (size > 0)
        memcpy(line->out + line->out_size + length, body, size);
    line->out_size = needed;
    send_some(line);
}

bool tg_web_line_has_room(const struct tg_web_line *line)
{
    enum { SMALL_FRAMES = 1 << 20 }; /* also fit */
    return line->out_size - line->out_sent <= MAX_WAITING - TG_WEB_MAX_BODY - SMALL_FRAMES;
}

short tg_web_line_events(const struct tg_web_line *line)
{
    return line->out_sent < line->out_size ? POLLIN | POLLOUT : POLLIN;
}

void tg_web_line_attend(struct tg_web_line *line)
{
    send_some(line);
    if (line->in_used > 0) {
        memmove(line->in, line->in + line->in_used, line->in_size - line->in_used);
        line->in_size -= line->in_used;
        line->in_used = 0;
    }
    while (!line->is_broken && line->in_size <= TG_WEB_MAX_BODY + MAX_HEADER) {
        if (TG_ARRAY_RESERVE(line->in, line->in_capacity, line->in_size + BLOCK + 1) != NULL) {
            line->is_broken = true;
            return;
        }
        ssize_t got = recv(line->fd, line->in + line->in_size, BLOCK, 0);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
            return;
        if (got <= 0)
            line->is_broken = true;
        else
            line->in_size += (size_t)got;
    }
}

bool tg_web_line_take(struct tg_web_line *line, struct tg_web_frame *frame)
{
    size_t there = line->in_size - line->in_used;
    if (there == 0)
        return false;
    char *header = line->in + line->in_used;
    char *end = memchr(header, '\n', there < MAX_HEADER ? there : MAX_HEADER);
    if (end == NULL) {
        line->is_broken |= there >= MAX_HEADER;
        return false;
    }
    *end = '\0';
    int length = 0;
    bool is_well = sscanf(header, "%" SCNu64 " %15[a-z0-9] %zu%n", &frame->id, frame->word, &frame->size,
                          &length) == 3 &&
                   header + length == end && frame->size <= TG_WEB_MAX_BODY;
    *end = '\n';
    size_t whole = (size_t)(end + 1 - header) + frame->size;
    if (!is_well) {
        line->is_broken = true;
        return false;
    }
    if (there < whole)
        return false;
    frame->body = malloc(frame->size + 1);
    if (frame->body == NULL) {
        line->is_broken = true;
        return false;
    }
    memcpy(frame->body, end + 1, frame->size);
    frame->body[frame->size] = '\0';
    line->in_used += whole;
    return true;
}
