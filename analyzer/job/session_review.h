/* A session of live control, from its trace: barriers, who arrived at them, who never did, and whether
 * the barrier model decides again as it did then. */
#ifndef TG_ANALYZER_JOB_SESSION_REVIEW_H
#define TG_ANALYZER_JOB_SESSION_REVIEW_H

#include "analyzer/job/barrier_trace.h"
#include "format/base/error.h"
#include "format/event/event.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tg_session_review_threads {
    struct tg_thread_id *items;
    size_t count, capacity;
};

struct tg_session_review_barrier {
    uint32_t id;
    const char *location; /* as it was asked for */
    bool of_threads, deleted, enabled;
    uint64_t created_ns;
    uint64_t rounds; /* how often it was satisfied */
    bool stuck;      /* in the present round: STUCK_UNIT, and BLOCKED members with it, are held by HOLDER */
    struct tg_thread_id stuck_unit;
    uint32_t holder;
    uint64_t blocked;
    /* Of a round that somebody waits in, or waited in when its members began to end. */
    struct tg_session_review_threads arrived, missing;
};

struct tg_session_review;

struct tg_error *tg_session_review_create(struct tg_session_review **model);
void tg_session_review_destroy(struct tg_session_review *model); /* NULL is accepted */

/* All events in order. Only error: NO_MEMORY. */
struct tg_error *tg_session_review_feed(struct tg_session_review *model, const struct tg_event *event);
/* After the last one: says of each barrier who is there. Only error: NO_MEMORY. */
struct tg_error *tg_session_review_finish(struct tg_session_review *model);

/* Whether there was any live control in the trace. */
bool tg_session_review_is_called_for(const struct tg_session_review *model);
/* By ascending id; I in [0, count). */
size_t tg_session_review_count(const struct tg_session_review *model);
const struct tg_session_review_barrier *tg_session_review_at(const struct tg_session_review *model, size_t i);
void tg_session_review_verdict(const struct tg_session_review *model,
                               struct tg_barrier_trace_verdict *verdict);

/* The name of a thread or process: "2", "2.1", "rank 0", "rank 0.1". BUFFER of SIZE, at least 48. Returns
 * BUFFER. */
char *tg_session_review_name(const struct tg_session_review *model, struct tg_thread_id id, char *buffer,
                             size_t size);
/* The rank of process DPID, -1 none. */
int64_t tg_session_review_rank(const struct tg_session_review *model, uint32_t dpid);

#endif
