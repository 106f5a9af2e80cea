#include "analyzer/filter/pace.h"

/* As in recorder/engine/stop_wait.c. */
enum {
    SHORT_WAIT_NS = 300 * 1000,
    LOOK_NS = 100 * 1000,
    MANY_SHORT_WAITS = 8,
    ENOUGH_SHORT_WAITS = 2,
};

/* Whether the loader would have stopped at EVENT, which an agent saw. */
static bool is_seen_by_agent(const struct tg_event *event)
{
    switch ((int)event->kind) {
    case TG_EVENT_LIBRARY_NULL:
        return true;
    case TG_EVENT_LIBRARY_LOAD:
        return event->library_load.found != TG_FOUND_CATCH_UP && event->library_load.found != TG_FOUND_ATTACH;
    case TG_EVENT_LIBRARY_UNLOAD:
        return event->library_unload.found != TG_FOUND_CATCH_UP;
    default:
        return false;
    }
}

/* How long the thread of EVENT, which stops it, ran before that; what is remembered of the thread is renewed. */
static uint64_t take_gap(struct tg_pace *pace, const struct tg_event *event)
{
    struct tg_pace_resumed *thread = &pace->threads[(uint32_t)event->tid % TG_PACE_THREADS];
    uint64_t gap_ns = UINT64_MAX, end_ns = event->time_ns + event->stop_ns;
    if (event->tid == 0)
        return gap_ns;
    if (thread->tid != event->tid)
        *thread = (struct tg_pace_resumed){.tid = event->tid};
    else
        gap_ns = event->time_ns > thread->ns ? event->time_ns - thread->ns : 0;
    if (end_ns > thread->ns)
        thread->ns = end_ns;
    return gap_ns;
}

void tg_pace_add(struct tg_pace *pace, const struct tg_event *event)
{
    bool is_further = event->stop_ns == 0 && event->time_ns <= pace->resumed_ns; /* of the same stop */
    if (is_further || (event->stop_ns == 0 && !is_seen_by_agent(event)))
        return;
    uint64_t wait_ns = event->time_ns > pace->resumed_ns ? event->time_ns - pace->resumed_ns : 0;
    pace->gap_ns = take_gap(pace, event);
    if (event->stop_ns > 0 && pace->short_waits >= ENOUGH_SHORT_WAITS)
        pace->looked_ns += wait_ns < LOOK_NS ? wait_ns : LOOK_NS;
    pace->sparse = pace->short_waits < ENOUGH_SHORT_WAITS || wait_ns > LOOK_NS;
    if (wait_ns > SHORT_WAIT_NS)
        pace->short_waits /= 2;
    else if (pace->short_waits < MANY_SHORT_WAITS)
        pace->short_waits++;
    if (event->time_ns + event->stop_ns > pace->resumed_ns)
        pace->resumed_ns = event->time_ns + event->stop_ns;
}
