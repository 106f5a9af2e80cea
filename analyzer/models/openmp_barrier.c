#include "analyzer/models/openmp_barrier.h"

/* The lowest barrier instance that somebody has come to and not everybody has left; 0 where there is none. A
 * member that is through with the region has been to all of its barriers. */
static uint64_t lowest_instance(const struct tg_openmp_team *team)
{
    uint64_t highest = 0, lowest_left = UINT64_MAX;
    for (size_t i = 0; i < team->n_members; i++) {
        const struct tg_openmp_member *member = &team->members[i];
        if (member->arrived > highest)
            highest = member->arrived;
        if (!member->ended && member->left < lowest_left)
            lowest_left = member->left;
    }
    if (team->size > team->n_members && highest > 0)
        lowest_left = 0; /* some have not even begun */
    return lowest_left < highest ? lowest_left + 1 : 0;
}

enum tg_openmp_standing tg_openmp_barrier_standing(const struct tg_openmp_member *member,
                                                   const struct tg_openmp_barrier *barrier)
{
    if (barrier->sync == TG_OMP_SYNC_BARRIER_JOIN)
        return member->ended ? TG_OPENMP_WAITING : TG_OPENMP_MISSING;
    if (member->ended || member->left >= barrier->instance)
        return TG_OPENMP_PASSED;
    return member->arrived >= barrier->instance ? TG_OPENMP_WAITING : TG_OPENMP_MISSING;
}

/* When MEMBER came to BARRIER and from where, if it is still known: it may have been to others since. */
static void take_arrival(const struct tg_openmp_member *member, struct tg_openmp_barrier *barrier)
{
    bool is_join = barrier->sync == TG_OMP_SYNC_BARRIER_JOIN && barrier->instance == 0;
    uint64_t came_ns = is_join ? member->ended_ns : member->arrived_ns;
    if (is_join ? !member->ended : member->arrived != barrier->instance)
        return;
    if (barrier->since_ns == 0 || came_ns < barrier->since_ns)
        barrier->since_ns = came_ns;
    if (!is_join) {
        barrier->code = member->code;
        barrier->sync = member->sync;
    }
}

static bool is_waited_at(const struct tg_openmp_team *team, uint64_t instance)
{
    for (size_t i = 0; i < team->n_members; i++) {
        const struct tg_openmp_member *member = &team->members[i];
        if (!member->ended && member->left < instance && member->arrived >= instance)
            return true;
    }
    return false;
}

bool tg_openmp_barrier_of(const struct tg_openmp_team *team, struct tg_openmp_barrier *barrier)
{
    size_t n_ended = 0;
    for (size_t i = 0; i < team->n_members; i++)
        n_ended += team->members[i].ended;
    struct tg_openmp_barrier found = {.instance = lowest_instance(team), .sync = TG_OMP_SYNC_BARRIER};
    if (team->cancelled && !is_waited_at(team, found.instance))
        found.instance = 0;
    if (found.instance == 0) {
        if (n_ended == 0)
            return false;
        found.sync = TG_OMP_SYNC_BARRIER_JOIN;
        found.code = team->code;
    }
    for (size_t i = 0; i < team->n_members; i++)
        take_arrival(&team->members[i], &found);
    for (size_t i = 0; i < team->n_members; i++) {
        enum tg_openmp_standing standing = tg_openmp_barrier_standing(&team->members[i], &found);
        found.passed += standing == TG_OPENMP_PASSED;
        found.waiting += standing == TG_OPENMP_WAITING;
        found.missing += standing == TG_OPENMP_MISSING;
    }
    if (team->size > team->n_members)
        found.missing += team->size - team->n_members;
    found.is_open = found.passed > 0;
    *barrier = found;
    return true;
}
