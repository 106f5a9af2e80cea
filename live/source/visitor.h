/* Somebody else who asks the console's thread: the page of a session. Whoever makes that thread wait lets the visitor in
 * meanwhile. */
#ifndef TG_LIVE_SOURCE_VISITOR_H
#define TG_LIVE_SOURCE_VISITOR_H

#include "format/event/event.h"

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>

struct tg_visitor {
    int asked_fd;   /* readable: there are questions, which change nothing */
    int command_fd; /* readable: there are commands, which run where the console waits for the next one */
    /* Answers what there is; WITH_COMMANDS: runs commands as well. Called within waits: takes no events. */
    void (*serve)(void *context, bool with_commands);
    /* EVENT was taken, of the process with that index (SIZE_MAX none); NULL: not interested. */
    void (*take)(void *context, const struct tg_event *event, size_t process);
    /* COMMAND begins to run; NULL: it has ended. */
    void (*run)(void *context, const char *command);
    void *context;
};

/* poll() with at most 4 FDS, which answers questions of VISITOR (NULL: none) meanwhile and returns 0 then. */
int tg_visitor_poll(const struct tg_visitor *visitor, struct pollfd *fds, nfds_t count, int timeout_ms);

#endif
