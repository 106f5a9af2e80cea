/* A request to the tracer thread of a live job: whom it is about, and what is to be done. The one way by
 * which other threads ask for anything (traced_job.h). */
#ifndef TG_LIVE_CONTROL_REQUEST_H
#define TG_LIVE_CONTROL_REQUEST_H

#include "analyzer/job/set.h"
#include "analyzer/job/view.h"
#include "format/base/error.h"
#include "live/control/engine_adapter.h"
#include "live/sets/ptset.h"

#include <stdbool.h>
#include <stdio.h>

enum tg_request_about {
    TG_REQUEST_NOBODY, /* neither a view nor a set is made */
    TG_REQUEST_FOCUS,
    TG_REQUEST_EVERYBODY,
};

struct tg_request;

/* Done on the tracer thread, outside of stops, without waiting for anything. */
typedef struct tg_error *tg_request_work(const struct tg_request *request);

struct tg_request {
    /* from the thread that asks, in whose storage the request is until it is answered */
    enum tg_request_about about;
    const struct tg_ptset *focus;             /* complete */
    const struct tg_ptset_defaults *defaults; /* for the parts that FOCUS leaves to the command */
    bool
        follows_hits; /* where FOCUS is one thread that has not come to anything, one that has is meant instead, if any */
    tg_request_work *work;
    void *context; /* WORK's */
    FILE *out;

    /* for WORK, as long as it takes */
    struct tg_engine_adapter *engine;
    struct tg_controller *controller;
    const struct tg_job_view *view; /* tags: pid of processes, tid of threads */
    const struct tg_job_set *set;   /* the threads that the request is about */
    bool has_followed;              /* FOLLOWS_HITS, and it is another thread than that of FOCUS */

    /* the answer */
    struct tg_error *error; /* the asker's; of the focus, or WORK's */
    size_t position;        /* of an error: the byte of the focus, SIZE_MAX: not of the focus */

    /* the queue's */
    struct tg_request *next;
    bool is_answered;
};

/* Has REQUEST's work done, on the tracer thread: the set is evaluated, and nothing changes before WORK has
 * it. */
void tg_request_serve(struct tg_request *request, struct tg_engine_adapter *engine);

#endif
