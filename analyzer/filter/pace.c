#include "analyzer/filter/pace.h"

/* As in recorder/engine/stop_wait.c. */
enum {
    SHORT_WAIT_NS = 300 * 1000,
    LOOK_NS = 100 * 1000,
    MANY_SHORT_WAITS = 8,
    ENOUGH_SHORT_WAITS = 2,
};

void tg_pace_add(struct tg_pace *pace, const struct tg_event *event)
{
    if (event->stop_ns == 0)
        return;
    uint64_t wait_ns = event->time_ns > pace->resumed_ns ? event->time_ns - pace->resumed_ns : 0;
    pace->sparse = pace->short_waits < ENOUGH_SHORT_WAITS || wait_ns > LOOK_NS;
    if (wait_ns > SHORT_WAIT_NS)
        pace->short_waits /= 2;
    else if (pace->short_waits < MANY_SHORT_WAITS)
        pace->short_waits++;
    if (event->time_ns + event->stop_ns > pace->resumed_ns)
        pace->resumed_ns = event->time_ns + event->stop_ns;
}
