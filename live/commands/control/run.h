/* Resuming the threads in focus, for commands that do more than that. */
#ifndef TG_LIVE_COMMANDS_CONTROL_RUN_H
#define TG_LIVE_COMMANDS_CONTROL_RUN_H

#include "live/console/base.h"
#include "live/control/request.h"

/* dgo. */
struct tg_error *tg_run_go(struct tg_console *console, FILE *out);

/* When a wait ends. */
struct tg_run_limits {
    bool any;       /* once one thread has stopped, instead of all */
    double seconds; /* negative: without end */
    bool (*is_over)(const struct tg_request *request,
                    void *context); /* also where this says so; NULL: nothing does */
    /* once every LOOK_S seconds, between two requests: whether nobody can come any more; NULL: never */
    struct tg_error *(*look)(struct tg_console *console, void *context, bool *is_over);
    double look_s;
    void *context;
};

/* dgo, then dwait: dcont of a live job. */
struct tg_error *tg_run_continue(struct tg_console *console, const struct tg_run_limits *limits, FILE *out);

#endif
