/* The debugger's barriers over processes or threads, in a run model. A barrier holds each member that
 * arrives until all living members have arrived: then it is satisfied, releases all, and begins anew.
 * Being released does not resume anything. */
#ifndef TG_ANALYZER_JOB_BARRIERS_H
#define TG_ANALYZER_JOB_BARRIERS_H

#include "analyzer/job/run_types.h"
#include "format/base/error.h"

struct tg_run_model;

enum {
    TG_BARRIERS_MAX = 4096,           /* at a time */
    TG_BARRIERS_MAX_PLACES = 1 << 28, /* of members in all barriers together: beyond it NO_MEMORY */
};

/* Changes, as those of analyzer/job/run_model.h. EXISTS: the id is taken; NOT_FOUND: no barrier has the
 * id; LIMIT: too many barriers. */

struct tg_error *tg_barriers_add(struct tg_run_model *model, const struct tg_barrier_definition *definition);
/* Releases all that the barrier holds. */
struct tg_error *tg_barriers_delete(struct tg_run_model *model, uint32_t id);
/* A disabled barrier releases all, and holds nobody who arrives; an enabled one begins anew. */
struct tg_error *tg_barriers_enable(struct tg_run_model *model, uint32_t id, bool enabled);
/* THREAD stopped at barrier ID. A thread that is no member, or arrives at a barrier that is disabled or
 * deleted, is resumed at once if it was running. */
struct tg_error *tg_barriers_arrive(struct tg_run_model *model, uint32_t id, struct tg_thread_id thread);
/* The same where THREAD, a member, is at another barrier of the same place as well, at which it arrives
 * next: it counts as stopping, and may be anywhere, until tg_barriers_arrive tells of the last one. */
struct tg_error *tg_barriers_arrive_on(struct tg_run_model *model, uint32_t id, struct tg_thread_id thread);

struct tg_barrier_status {
    bool of_threads, enabled;
    bool stuck;
    uint64_t n_members, n_arrived; /* living ones */
    uint64_t round;                /* how often it was satisfied */
};

/* False: no barrier has the id. */
bool tg_barriers_status(const struct tg_run_model *model, uint32_t id, struct tg_barrier_status *status);

/* Barrier I in [0, count), by ascending id; its list is sorted, and lives until the next change. */
size_t tg_barriers_count(const struct tg_run_model *model);
const struct tg_barrier_definition *tg_barriers_at(const struct tg_run_model *model, size_t i);

/* The STUCK decision as it would be taken now. False: ID can be satisfied, or nobody waits there. */
bool tg_barriers_why_stuck(const struct tg_run_model *model, uint32_t id, struct tg_run_decision *why);

/* The relation of a thread or process to a barrier. */
struct tg_barrier_membership {
    bool is_member, has_arrived, is_held; /* held by this barrier */
};

/* All return false for an unknown barrier, thread or process. */
struct tg_barrier_membership tg_barriers_membership(const struct tg_run_model *model, uint32_t id,
                                                    struct tg_thread_id thread);

#endif
