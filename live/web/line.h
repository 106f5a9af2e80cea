/* The line between a session and the process that serves its page: frames over a stream socket, of which neither end ever
 * waits for the other. A frame is "ID WORD SIZE\n" and SIZE bytes. */
#ifndef TG_LIVE_WEB_LINE_H
#define TG_LIVE_WEB_LINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { TG_WEB_WORD_SIZE = 16, TG_WEB_MAX_BODY = 64 << 20 };

/* BODY is its taker's to free; a NUL follows it. */
struct tg_web_frame {
    uint64_t id;                 /* of a request and its answer; 0: there is no answer */
    char word[TG_WEB_WORD_SIZE]; /* what is asked; of an answer its HTTP status */
    char *body;
    size_t size;
};

struct tg_web_line {
    int fd; /* owned */
    char *in, *out;
    size_t in_size, in_used, in_capacity;
    size_t out_size, out_sent, out_capacity;
    bool
        is_broken; /* the other end is gone, speaks nonsense, or does not read: nothing is sent or taken any more */
};

/* FD becomes non-blocking and the line's. */
void tg_web_line_init(struct tg_web_line *line, int fd);
void tg_web_line_deinit(struct tg_web_line *line);

/* Puts a frame behind what is on its way, and sends what goes now. */
void tg_web_line_send(struct tg_web_line *line, uint64_t id, const char *word, const char *body, size_t size);

/* Whether the largest frame can be sent: so little is on its way. */
bool tg_web_line_has_room(const struct tg_web_line *line);

/* Events to poll for, and what to do when there are some. */
short tg_web_line_events(const struct tg_web_line *line);
void tg_web_line_attend(struct tg_web_line *line);

/* The next whole frame; false: there is none yet. */
bool tg_web_line_take(struct tg_web_line *line, struct tg_web_frame *frame);

#endif
