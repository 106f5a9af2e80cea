/* A page of a session: the process that serves it, the thread that speaks with that, and what browsers ask.
 *
 * Nothing of it makes the session wait: the thread sends and takes, the console's thread answers between two events or
 * commands (tg_web_session_serve), and a server that dies or stands still takes nobody along. */
#ifndef TG_LIVE_WEB_SESSION_H
#define TG_LIVE_WEB_SESSION_H

#include "format/base/error.h"
#include "live/web/listen.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct tg_web_session;

/* Documents that are made on the page's own thread, of a trace. */
struct tg_web_documents {
    void *context;
    bool (*has)(void *context, const char *name_and_query); /* whether it is one of these */
    /* Errors: NOT_FOUND, no such document; INPUT, QUERY is none of its. Both are untrusted. */
    struct tg_error *(*write)(void *context, const char *name, const char *query, FILE *out);
    bool (*work)(
        void *
            context); /* does some of what is left to do, 50 ms at most; true: there is more. NULL: never any */
};

struct tg_web_session_options {
    const char *host;                  /* to listen at, NULL: the loopback address */
    uint16_t port;                     /* 0: one that is free */
    bool view_only;                    /* browsers command nothing */
    const char *mode;                  /* "live", "replay" */
    const char *name;                  /* of the trace or command */
    struct tg_web_documents documents; /* WRITE is NULL: the console's thread makes them */
};

/* What the console's thread does for browsers. What RUN and COMPLETE return is one JSON value, the caller's; NULL: there
 * is no memory. */
struct tg_web_calls {
    void *context;
    char *(*run)(void *context, const char *line);
    char *(*complete)(void *context, const char *line);
    struct tg_error *(*write)(void *context, const char *name, const char *query, FILE *out);
};

/* Where the session is; browsers are told of each new version. */
struct tg_web_state {
    uint64_t version, event, time_ns, start_ns;
    char focus[256];
};

/* Starts the process and waits until it serves. The calling thread is the console's. Errors of tg_web_listen; OS. */
struct tg_error *tg_web_session_start(const struct tg_web_session_options *options,
                                      struct tg_web_session **session);
/* Ends it. NULL is accepted. */
void tg_web_session_end(struct tg_web_session *session);

/* The link that opens the page; whoever has it may do what the page may. */
const char *tg_web_session_link(const struct tg_web_session *session);
/* Whether browsers may give commands; changes at once. */
bool tg_web_session_takes_commands(struct tg_web_session *session);
void tg_web_session_take_commands(struct tg_web_session *session, bool takes);
/* False: its process has died. Any thread. */
bool tg_web_session_is_alive(struct tg_web_session *session);

/* Readable when a browser has asked something that is answered at any time, or a command is to be run. */
int tg_web_session_asked_fd(const struct tg_web_session *session);
int tg_web_session_command_fd(const struct tg_web_session *session);

/* Answers what was asked; TAKES_COMMANDS: runs commands, too. */
void tg_web_session_serve(struct tg_web_session *session, const struct tg_web_calls *calls,
                          bool takes_commands);

/* The console's thread runs COMMAND, NULL: it waits for the next one; whether a browser has interrupted the one before. */
bool tg_web_session_set_busy(struct tg_web_session *session, const char *command);
void tg_web_session_tell(struct tg_web_session *session, const struct tg_web_state *state);
/* A document has come that browsers wait for. Any thread. */
void tg_web_session_tell_late(struct tg_web_session *session);

#endif
