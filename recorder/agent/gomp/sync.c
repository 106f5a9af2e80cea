/* Barriers, waiting for tasks, cancellation. */
#include "recorder/agent/gomp/gomp.h"
#include "recorder/agent/gomp/numbers.h"

/* The barrier behind a construct that does not call for its end is told by that construct. */
static inline enum tg_omp_sync begin_barrier(tg_agent_moment *moment)
{
    const struct tg_openmp_frame *frame = &tg_openmp_frame;
    bool is_explicit = frame->single == TG_GOMP_SINGLE_NONE && frame->workshare == 0 &&
                       tg_gomp_inferred.zone != 1 + TG_OMP_ZONE_LOOP;
    enum tg_omp_sync sync = is_explicit ? TG_OMP_SYNC_BARRIER : TG_OMP_SYNC_BARRIER_IMPLICIT;
    *moment = tg_gomp_close_unseen();
    return sync;
}

void GOMP_barrier(void)
{
    const struct tg_gomp *gomp = tg_gomp_next(TG_GOMP_CALLER());
    if (!tg_gomp_records(gomp)) {
        gomp->GOMP_barrier();
        return;
    }
    const void *code = tg_gomp_code(TG_GOMP_CALLER());
    tg_agent_moment moment;
    enum tg_omp_sync sync = begin_barrier(&moment);
    uint64_t instance = tg_openmp_sync_begin(moment, code, TG_OMP_WRAPPED, sync);
    gomp->GOMP_barrier();
    moment = tg_openmp_sync_end(code, TG_OMP_WRAPPED, sync, instance, false);
    tg_gomp_numbers_after_barrier(moment, TG_GOMP_CALLER(), TG_GOMP_STACK());
}

bool GOMP_barrier_cancel(void)
{
    const struct tg_gomp *gomp = tg_gomp_next(TG_GOMP_CALLER());
    if (!tg_gomp_records(gomp))
        return gomp->GOMP_barrier_cancel();
    const void *code = tg_gomp_code(TG_GOMP_CALLER());
    tg_agent_moment moment;
    enum tg_omp_sync sync = begin_barrier(&moment);
    uint64_t instance = tg_openmp_sync_begin(moment, code, TG_OMP_WRAPPED, sync);
    bool cancelled = gomp->GOMP_barrier_cancel();
    moment = tg_openmp_sync_end(code, TG_OMP_WRAPPED, sync, instance, cancelled);
    if (!cancelled)
        tg_gomp_numbers_after_barrier(moment, TG_GOMP_CALLER(), TG_GOMP_STACK());
    return cancelled;
}

#define WAIT(name, sync, parameters, arguments)                                                              \
    void name parameters                                                                                     \
    {                                                                                                        \
        const struct tg_gomp *gomp = tg_gomp_next(TG_GOMP_CALLER());                                         \
        if (!tg_gomp_records(gomp)) {                                                                        \
            gomp->name arguments;                                                                            \
            return;                                                                                          \
        }                                                                                                    \
        const void *code = tg_gomp_code(TG_GOMP_CALLER());                                                   \
        tg_openmp_sync_begin(0, code, TG_OMP_WRAPPED, TG_OMP_SYNC_##sync);                                   \
        gomp->name arguments;                                                                                \
        tg_openmp_sync_end(code, TG_OMP_WRAPPED, TG_OMP_SYNC_##sync, 0, false);                              \
    }
WAIT(GOMP_taskwait, TASKWAIT, (void), ())
WAIT(GOMP_taskwait_depend, TASKWAIT, (void **dependences), (dependences))
WAIT(GOMP_taskyield, TASKYIELD, (void), ())

void GOMP_taskgroup_start(void)
{
    const struct tg_gomp *gomp = tg_gomp_next(TG_GOMP_CALLER());
    gomp->GOMP_taskgroup_start();
    if (tg_gomp_records(gomp))
        tg_openmp_zone_begin(0, tg_gomp_code(TG_GOMP_CALLER()), TG_OMP_WRAPPED, TG_OMP_ZONE_TASKGROUP,
                             TG_OMP_SCHEDULE_NONE, 0);
}

void GOMP_taskgroup_end(void)
{
    const struct tg_gomp *gomp = tg_gomp_next(TG_GOMP_CALLER());
    if (!tg_gomp_records(gomp)) {
        gomp->GOMP_taskgroup_end();
        return;
    }
    const void *code = tg_gomp_code(TG_GOMP_CALLER());
    tg_openmp_sync_begin(0, code, TG_OMP_WRAPPED, TG_OMP_SYNC_TASKGROUP);
    gomp->GOMP_taskgroup_end();
    tg_agent_moment moment = tg_openmp_sync_end(code, TG_OMP_WRAPPED, TG_OMP_SYNC_TASKGROUP, 0, false);
    tg_openmp_zone_end(moment, code, TG_OMP_WRAPPED, TG_OMP_ZONE_TASKGROUP);
}

/* ---- cancellation */

static enum tg_omp_cancel_construct construct_of(int which)
{
    if ((which & 2) != 0)
        return TG_OMP_CANCEL_LOOP;
    if ((which & 4) != 0)
        return TG_OMP_CANCEL_SECTIONS;
    return (which & 8) != 0 ? TG_OMP_CANCEL_TASKGROUP : TG_OMP_CANCEL_PARALLEL;
}

bool GOMP_cancel(int which, bool activates)
{
    const struct tg_gomp *gomp = tg_gomp_next(TG_GOMP_CALLER());
    bool cancelled = gomp->GOMP_cancel(which, activates);
    if (cancelled && tg_gomp_records(gomp))
        tg_openmp_cancel(tg_gomp_code(TG_GOMP_CALLER()), TG_OMP_WRAPPED, construct_of(which), activates);
    return cancelled;
}

bool GOMP_cancellation_point(int which)
{
    const struct tg_gomp *gomp = tg_gomp_next(TG_GOMP_CALLER());
    bool cancelled = gomp->GOMP_cancellation_point(which);
    if (cancelled && tg_gomp_records(gomp))
        tg_openmp_cancel(tg_gomp_code(TG_GOMP_CALLER()), TG_OMP_WRAPPED, construct_of(which), false);
    return cancelled;
}
