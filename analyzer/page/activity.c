#include "analyzer/page/activity.h"

/* A state: from bit 0 on the activities that the thread is inside of, four bits each, the outermost first; their number;
 * flags. */
enum { DEEPEST = 13, DEPTH_SHIFT = 52 };
#define DEPTH_MASK ((tg_activity_state)15 << DEPTH_SHIFT)
#define IS_JOINING                                                                                           \
    ((tg_activity_state)1 << 59) /* a worker that is through with a region which has not ended yet */
#define IS_HELD    ((tg_activity_state)1 << 60)
#define IS_STOPPED ((tg_activity_state)1 << 61)
#define IS_WORKER  ((tg_activity_state)1 << 62) /* outside of all regions it does nothing */

static const char *const names[TG_ACTIVITY_COUNT] = {"none",     "computing", "mpi",     "barrier", "lock",
                                                     "critical", "loading",   "stopped", "held"};

const char *tg_activity_name(enum tg_activity activity)
{
    return names[activity];
}

static unsigned depth_of(tg_activity_state state)
{
    return (unsigned)((state & DEPTH_MASK) >> DEPTH_SHIFT);
}

static tg_activity_state with_depth(tg_activity_state state, unsigned depth)
{
    return (state & ~DEPTH_MASK) | (tg_activity_state)depth << DEPTH_SHIFT;
}

static enum tg_activity at(tg_activity_state state, unsigned i)
{
    return (enum tg_activity)(state >> (4 * i) & 15);
}

enum tg_activity tg_activity_of(tg_activity_state state)
{
    unsigned depth = depth_of(state);
    if ((state & TG_ACTIVITY_STARTED) == 0)
        return TG_ACTIVITY_NONE;
    if ((state & IS_HELD) != 0)
        return TG_ACTIVITY_HELD;
    if ((state & IS_STOPPED) != 0)
        return TG_ACTIVITY_STOPPED;
    if (depth > 0)
        return at(state, depth - 1);
    if ((state & IS_JOINING) != 0)
        return TG_ACTIVITY_BARRIER;
    return (state & IS_WORKER) != 0 ? TG_ACTIVITY_NONE : TG_ACTIVITY_COMPUTING;
}

static tg_activity_state push(tg_activity_state state, enum tg_activity activity)
{
    unsigned depth = depth_of(state);
    if (depth >= DEEPEST)
        return state;
    state &= ~((tg_activity_state)15 << (4 * depth));
    return with_depth(state | (tg_activity_state)activity << (4 * depth), depth + 1);
}

/* Without the innermost ACTIVITY; what is around it and inside of it stays: locks need not be nested. */
static tg_activity_state drop(tg_activity_state state, enum tg_activity activity)
{
    unsigned depth = depth_of(state), i = depth;
    while (i > 0 && at(state, i - 1) != activity)
        i--;
    if (i == 0)
        return state;
    tg_activity_state all = state & (((tg_activity_state)1 << DEPTH_SHIFT) - 1);
    tg_activity_state below = all & (((tg_activity_state)1 << (4 * (i - 1))) - 1);
    tg_activity_state above = all >> (4 * i) << (4 * (i - 1));
    return with_depth((state & ~(((tg_activity_state)1 << DEPTH_SHIFT) - 1)) | below | above, depth - 1);
}

/* A worker begins its part of a region. What it was in is over: the wait at the last join is told to end by this alone. */
static tg_activity_state begin_region(tg_activity_state state, const struct tg_event *event)
{
    if (event->omp_implicit_begin.thread_num > 0 && event->tid != event->pid && depth_of(state) <= 1) {
        state |= IS_WORKER;
        state = with_depth(state, 0) & ~IS_JOINING;
    }
    return push(state, TG_ACTIVITY_COMPUTING);
}

/* A worker has come to the end of a region, where it waits until all have. */
static tg_activity_state end_region(tg_activity_state state)
{
    state = drop(state, TG_ACTIVITY_COMPUTING);
    return (state & IS_WORKER) != 0 && depth_of(state) == 0 ? state | IS_JOINING : state;
}

/* A region has ended: workers that waited for that do nothing now. Those of other teams of the process are taken for such, too:
 * whose workers they are is not kept. */
static tg_activity_state end_join(tg_activity_state state)
{
    bool is_outside = (state & IS_WORKER) != 0 && depth_of(state) == 1 && at(state, 0) == TG_ACTIVITY_BARRIER;
    return (is_outside ? with_depth(state, 0) : state) & ~IS_JOINING;
}

static tg_activity_state set_flag(tg_activity_state state, tg_activity_state flag, bool is_set)
{
    return is_set ? state | flag : state & ~flag;
}

tg_activity_state tg_activity_after(tg_activity_state state, const struct tg_event *event)
{
    state |= TG_ACTIVITY_STARTED;
    switch ((unsigned)event->kind) {
    case TG_EVENT_MPI_ENTER:
        return push(state, TG_ACTIVITY_MPI);
    case TG_EVENT_MPI_LEAVE:
        return drop(state, TG_ACTIVITY_MPI);
    case TG_EVENT_OMP_IMPLICIT_BEGIN:
        return begin_region(state, event);
    case TG_EVENT_OMP_IMPLICIT_END:
        return end_region(state);
    case TG_EVENT_OMP_SYNC_BEGIN:
        return push(state, TG_ACTIVITY_BARRIER);
    case TG_EVENT_OMP_SYNC_END:
        return drop(state, TG_ACTIVITY_BARRIER);
    case TG_EVENT_OMP_MUTEX_WAIT:
        return push(state, TG_ACTIVITY_LOCK);
    case TG_EVENT_OMP_MUTEX_ENTER:
        return push(drop(state, TG_ACTIVITY_LOCK), TG_ACTIVITY_CRITICAL);
    case TG_EVENT_OMP_MUTEX_LEAVE:
        return drop(state, TG_ACTIVITY_CRITICAL);
    case TG_EVENT_OMP_TASK_BEGIN:
        return push(state, TG_ACTIVITY_COMPUTING);
    case TG_EVENT_OMP_TASK_END:
        return drop(state, TG_ACTIVITY_COMPUTING);
    case TG_EVENT_LIBRARY_CALL:
        return push(state, TG_ACTIVITY_LOADING);
    case TG_EVENT_LIBRARY_RETURN:
        return drop(state, TG_ACTIVITY_LOADING);
    case TG_EVENT_CONTROL_STOPPED:
        return set_flag(state, IS_STOPPED, true);
    case TG_EVENT_CONTROL_RESUMED:
        return set_flag(state, IS_STOPPED, false);
    case TG_EVENT_BARRIER_HELD:
        return set_flag(state, IS_HELD, true);
    case TG_EVENT_BARRIER_RELEASED:
    case TG_EVENT_CONTROL_UNHOLD:
        return set_flag(state, IS_HELD, false);
    case TG_EVENT_THREAD_EXIT:
        return 0;
    default:
        return state;
    }
}

tg_activity_state tg_activity_after_process(tg_activity_state state, const struct tg_event *event)
{
    if (state == 0)
        return 0;
    switch ((unsigned)event->kind) {
    case TG_EVENT_GROUP_STOP:
        return set_flag(state, IS_STOPPED, event->group_stop.signal != 0);
    case TG_EVENT_OMP_PARALLEL_END:
        return end_join(state);
    case TG_EVENT_EXEC:
        return event->tid == event->pid ? TG_ACTIVITY_STARTED : state;
    case TG_EVENT_PROCESS_EXIT:
    case TG_EVENT_DETACH:
        return 0;
    default:
        return tg_activity_after(state, event);
    }
}

bool tg_activity_is_of_process(const struct tg_event *event)
{
    switch ((unsigned)event->kind) {
    case TG_EVENT_PROCESS_EXIT:
    case TG_EVENT_DETACH:
    case TG_EVENT_GROUP_STOP:
    case TG_EVENT_EXEC:
    case TG_EVENT_OMP_PARALLEL_END:
        return true;
    case TG_EVENT_CONTROL_STOPPED:
        return event->control_stopped.dtid == 0;
    case TG_EVENT_CONTROL_RESUMED:
        return event->control_resumed.dtid == 0;
    case TG_EVENT_BARRIER_HELD:
        return event->barrier_held.dtid == 0;
    case TG_EVENT_BARRIER_RELEASED:
        return event->barrier_released.dtid == 0;
    case TG_EVENT_CONTROL_UNHOLD:
        return event->control_unhold.dtid == 0;
    default:
        return false;
    }
}

bool tg_activity_is_shown_by(const struct tg_event *event)
{
    switch ((unsigned)event->kind) {
    case TG_EVENT_MPI_ENTER:
    case TG_EVENT_OMP_IMPLICIT_BEGIN:
    case TG_EVENT_OMP_SYNC_BEGIN:
    case TG_EVENT_OMP_MUTEX_WAIT:
    case TG_EVENT_OMP_MUTEX_ENTER:
    case TG_EVENT_OMP_TASK_BEGIN:
    case TG_EVENT_CONTROL_STOPPED:
    case TG_EVENT_BARRIER_HELD:
        return true;
    default:
        return false;
    }
}
