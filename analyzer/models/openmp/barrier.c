#include "analyzer/models/openmp/barrier.h"

static bool is_at_barrier(const struct tg_openmp_member *member)
{
    return !member->ended && member->arrived > member->left;
}

/* The lowest barrier instance that somebody waits at; 0 where there is none. In a region that is cancelled
 * nobody need come to one. */
static uint64_t lowest_instance(const struct tg_openmp_team *team)
{
    uint64_t lowest = 0;
    for (size_t i = 0; !team->cancelled && i < team->n_members; i++) {
        const struct tg_openmp_member *member = &team->members[i];
        if (is_at_barrier(member) && (lowest == 0 || member->arrived < lowest))
            lowest = member->arrived;
    }
    return lowest;
}

/* Says what MEMBER did: one that is through with the region has passed the barriers that it came to, and no
 * others. */
enum tg_openmp_standing tg_openmp_barrier_standing(const struct tg_openmp_member *member,
                                                   const struct tg_openmp_barrier *barrier)
{
    if (barrier->sync == TG_OMP_SYNC_BARRIER_JOIN && barrier->instance == 0)
        return member->ended ? TG_OPENMP_WAITING : TG_OPENMP_MISSING;
    if (member->arrived < barrier->instance)
        return TG_OPENMP_MISSING;
    return member->ended || member->left >= barrier->instance ? TG_OPENMP_PASSED : TG_OPENMP_WAITING;
}

bool tg_openmp_barrier_is_skipped(const struct tg_openmp_member *member,
                                  const struct tg_openmp_barrier *barrier)
{
    return member->ended && tg_openmp_barrier_standing(member, barrier) == TG_OPENMP_MISSING;
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

static size_t count_ended(const struct tg_openmp_team *team)
{
    size_t n_ended = 0;
    for (size_t i = 0; i < team->n_members; i++)
        n_ended += team->members[i].ended;
    return n_ended;
}

/* All of the barrier with that number; 0: of the end of the region. */
static struct tg_openmp_barrier describe(const struct tg_openmp_team *team, uint64_t instance)
{
    struct tg_openmp_barrier found = {.instance = instance, .sync = TG_OMP_SYNC_BARRIER};
    if (instance == 0) {
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
    return found;
}

bool tg_openmp_barrier_of(const struct tg_openmp_team *team, struct tg_openmp_barrier *barrier)
{
    uint64_t instance = lowest_instance(team);
    if (instance == 0 && count_ended(team) == 0)
        return false;
    *barrier = describe(team, instance);
    return true;
}

/* The number of the newest barrier that somebody waits at; 0 where all who do not run are at the end. */
static uint64_t newest_instance(const struct tg_openmp_team *team)
{
    uint64_t newest = 0;
    for (size_t i = 0; !team->cancelled && i < team->n_members; i++)
        if (is_at_barrier(&team->members[i]) && team->members[i].arrived > newest)
            newest = team->members[i].arrived;
    for (size_t i = 0; i < team->n_members; i++)
        if (team->members[i].ended && team->members[i].left >= newest)
            return 0;
    return newest;
}

bool tg_openmp_barrier_to_pass(const struct tg_openmp_team *team, size_t worker,
                               struct tg_openmp_barrier *barrier)
{
    uint64_t instance = newest_instance(team);
    if (instance == 0 && count_ended(team) == 0)
        return false;
    for (size_t i = 0; !team->cancelled && i < team->n_members; i++)
        if (team->members[i].worker == worker && is_at_barrier(&team->members[i]))
            instance = team->members[i].arrived;
    *barrier = describe(team, instance);
    return true;
}
