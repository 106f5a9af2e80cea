#include "analyzer/output/openmp_words.h"

#include "format/event/event.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const struct tg_openmp_words zones[] = {
    [TG_OMP_ZONE_LOOP] = {"a loop", "loop"},
    [TG_OMP_ZONE_SECTIONS] = {"sections", "sections"},
    [TG_OMP_ZONE_SINGLE] = {"a single", "single"},
    [TG_OMP_ZONE_SINGLE_OTHER] = {"a single (executed by another thread)", "single"},
    [TG_OMP_ZONE_MASKED] = {"a masked section", "masked"},
    [TG_OMP_ZONE_WORKSHARE] = {"a workshare", "workshare"},
    [TG_OMP_ZONE_DISTRIBUTE] = {"a distribute", "distribute"},
    [TG_OMP_ZONE_SCOPE] = {"a scope", "scope"},
    [TG_OMP_ZONE_TASKGROUP] = {"a taskgroup", "taskgroup"},
    [TG_OMP_ZONE_TASKLOOP] = {"a taskloop", "taskloop"},
    [TG_OMP_ZONE_TEAMS] = {"a teams region", "teams"},
    [TG_OMP_ZONE_TARGET] = {"a target region", "target"},
    [TG_OMP_ZONE_ORDERED_LOOP] = {"an ordered loop", "ordered loop"},
    [TG_OMP_ZONE_DOACROSS_LOOP] = {"a doacross loop", "doacross loop"},
};

static const struct tg_openmp_words syncs[] = {
    [TG_OMP_SYNC_BARRIER] = {"barrier", "barrier"},
    [TG_OMP_SYNC_BARRIER_IMPLICIT] = {"implicit barrier", "implicit barrier"},
    [TG_OMP_SYNC_BARRIER_JOIN] = {"end of the parallel region", "end of the region"},
    [TG_OMP_SYNC_TASKWAIT] = {"taskwait", "taskwait"},
    [TG_OMP_SYNC_TASKGROUP] = {"end of a taskgroup", "end of the taskgroup"},
    [TG_OMP_SYNC_TASKYIELD] = {"taskyield", "taskyield"},
    [TG_OMP_SYNC_REDUCTION] = {"reduction", "reduction"},
    [TG_OMP_SYNC_COPYPRIVATE] = {"copyprivate values of a single", "copyprivate"},
    [TG_OMP_SYNC_DOACROSS] = {"depend(sink)", "doacross wait"},
};

static const struct tg_openmp_words mutexes[] = {
    [TG_OMP_MUTEX_CRITICAL] = {"critical section", "critical"},
    [TG_OMP_MUTEX_CRITICAL_NAMED] = {"named critical section", "critical"},
    [TG_OMP_MUTEX_ORDERED] = {"ordered section", "ordered"},
    [TG_OMP_MUTEX_ATOMIC] = {"atomic section", "atomic"},
    [TG_OMP_MUTEX_LOCK] = {"lock", "lock"},
    [TG_OMP_MUTEX_NEST_LOCK] = {"nestable lock", "nest lock"},
};

const struct tg_openmp_words *tg_openmp_words_zone(uint64_t zone, uint64_t seen)
{
    static const struct tg_openmp_words alone = {"a part that thread 0 alone executes", "thread 0 alone"};
    if (zone == TG_OMP_ZONE_MASKED && seen == TG_OMP_INFERRED)
        return &alone;
    static const struct tg_openmp_words unknown = {"a zone", "?"};
    return zone < sizeof zones / sizeof zones[0] ? &zones[zone] : &unknown;
}

const struct tg_openmp_words *tg_openmp_words_sync(uint64_t sync)
{
    static const struct tg_openmp_words unknown = {"synchronisation", "?"};
    return sync < sizeof syncs / sizeof syncs[0] ? &syncs[sync] : &unknown;
}

const struct tg_openmp_words *tg_openmp_words_mutex(uint64_t mutex)
{
    static const struct tg_openmp_words unknown = {"mutex", "?"};
    return mutex < sizeof mutexes / sizeof mutexes[0] ? &mutexes[mutex] : &unknown;
}

/* The name in the program of the critical section whose variable GCC or clang call VARIABLE; *LENGTH of it, 0:
 * it has none. */
static const char *critical_name(const char *variable, size_t *length)
{
    static const char prefix[] = ".gomp_critical_user_", suffix[] = ".var";
    const char *name = variable;
    if (strncmp(name, prefix, sizeof prefix - 1) == 0)
        name += sizeof prefix - 1;
    *length = strlen(name);
    if (*length >= sizeof suffix - 1 && strcmp(name + *length - (sizeof suffix - 1), suffix) == 0)
        *length -= sizeof suffix - 1;
    return name;
}

char *tg_openmp_words_lock(uint64_t mutex, uint64_t lock, const char *variable, char *buffer, size_t size)
{
    size_t length = 0;
    const char *name = variable, *phrase = tg_openmp_words_mutex(mutex)->phrase;
    bool is_critical = mutex == TG_OMP_MUTEX_CRITICAL || mutex == TG_OMP_MUTEX_CRITICAL_NAMED;
    bool is_lock = mutex == TG_OMP_MUTEX_LOCK || mutex == TG_OMP_MUTEX_NEST_LOCK;
    if (is_critical && variable != NULL)
        name = critical_name(variable, &length);
    else if (is_lock && variable != NULL)
        length = strlen(variable);
    if (length > 0)
        snprintf(buffer, size, "%s %.*s", is_critical ? "critical section" : phrase, (int)length, name);
    else if (lock != 0 && (is_lock || (is_critical && variable == NULL)))
        snprintf(buffer, size, "%s 0x%" PRIx64, phrase, lock);
    else
        snprintf(buffer, size, "%s", phrase);
    return buffer;
}

const char *tg_openmp_words_inferred(uint64_t seen)
{
    return seen == TG_OMP_INFERRED ? " (inferred)" : "";
}

static const char *zone_row(uint64_t zone)
{
    if (zone == TG_OMP_ZONE_SINGLE_OTHER)
        return "single (other thread)";
    return zone < sizeof zones / sizeof zones[0] ? zones[zone].label : "zone";
}

void tg_openmp_words_place(enum tg_openmp_place_kind kind, uint64_t what, char *buffer, size_t size)
{
    switch (kind) {
    case TG_OPENMP_IN_REGION:
        snprintf(buffer, size, "parallel");
        return;
    case TG_OPENMP_IN_ZONE:
        snprintf(buffer, size, "%s", zone_row(what));
        return;
    case TG_OPENMP_IN_MUTEX_WAIT:
        snprintf(buffer, size, "wait for %s", tg_openmp_words_mutex(what)->phrase);
        return;
    case TG_OPENMP_IN_MUTEX:
        snprintf(buffer, size, "%s", tg_openmp_words_mutex(what)->phrase);
        return;
    case TG_OPENMP_IN_SYNC:
        snprintf(buffer, size, "wait at %s", tg_openmp_words_sync(what)->phrase);
        return;
    case TG_OPENMP_IN_TASK:
        snprintf(buffer, size, "task");
        return;
    }
}
