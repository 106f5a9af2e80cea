/* Before OpenMP 5.1's kinds of barriers, the join and the barriers of worksharing look alike: at the join the implicit
 * task has left the program's code (its exit frame is gone). Chunks of loops and single sections are not told. */
#include "recorder/agent/ompt/waits.h"

#include "recorder/agent/ompt/chain.h"
#include "recorder/agent/ompt/position.h"
#include "recorder/agent/ompt/regions.h"

/* ---- barriers and other waits */

/* Whether the implicit barrier behind CODE, of a kind that does not tell, is the join of the thread's region:
 * then the thread has left the region's body. LLVM's runtime may hand out an old CODE there, of a barrier before,
 * in regions within regions. Without a frame to see: the join is reached behind the construct itself, or from
 * nowhere. */
static bool is_join(const void *code)
{
    int flags, thread_num;
    union tg_ompt_data *task, *parallel;
    struct tg_ompt_frame *frame = NULL;
    if (tg_ompt_runtime.get_task_info == NULL ||
        tg_ompt_runtime.get_task_info(0, &flags, &task, &frame, &parallel, &thread_num) == 0 || frame == NULL)
        return code == NULL || code == tg_openmp_frame.code;
    return frame->exit_frame.ptr == NULL;
}

static void record_join(struct tg_ompt_place *place, int endpoint)
{
    if (endpoint == TG_OMPT_BEGIN) {
        tg_agent_moment moment = tg_ompt_end_body(place);
        if (place->kind == TG_OMPT_REGION_PARALLEL)
            tg_openmp_sync_begin(moment, tg_openmp_frame.code, TG_OMP_OMPT, TG_OMP_SYNC_BARRIER_JOIN);
    } else if (place->kind == TG_OMPT_REGION_PARALLEL && tg_openmp_frame.thread_num == 0) {
        tg_openmp_sync_end(tg_openmp_frame.code, TG_OMP_OMPT, TG_OMP_SYNC_BARRIER_JOIN,
                           tg_openmp_frame.barriers, false);
    }
}

void tg_ompt_sync(enum tg_omp_sync sync, int endpoint, const void *code)
{
    const void *known = tg_ompt_code_in_program(code);
    tg_agent_moment moment = tg_openmp_is_barrier(sync) ? tg_ompt_end_single() : 0;
    if ((endpoint & TG_OMPT_BEGIN) != 0)
        tg_openmp_sync_begin(moment, known, TG_OMP_OMPT, sync);
    if ((endpoint & TG_OMPT_END) != 0)
        tg_openmp_sync_end(known, TG_OMP_OMPT, sync,
                           tg_openmp_is_barrier(sync) ? tg_openmp_frame.barriers : 0, false);
}

/* ENDPOINT of a zone, from CODE, which may be the runtime's own. */
static void tell_zone(enum tg_omp_zone zone, enum tg_omp_schedule schedule, uint64_t count, int endpoint,
                      const void *code)
{
    const void *known = tg_ompt_code_in_program(code);
    tg_agent_moment moment = 0;
    if ((endpoint & TG_OMPT_BEGIN) != 0)
        moment = tg_openmp_zone_begin(0, known, TG_OMP_OMPT, zone, schedule, count);
    if ((endpoint & TG_OMPT_END) != 0)
        tg_openmp_zone_end(moment, known, TG_OMP_OMPT, zone);
}

static void record_sync_region(int kind, int endpoint, const void *code)
{
    struct tg_ompt_place *place = tg_ompt_enter();
    switch (kind) {
    case TG_OMPT_SYNC_BARRIER:
    case TG_OMPT_SYNC_BARRIER_EXPLICIT:
        tg_ompt_sync(TG_OMP_SYNC_BARRIER, endpoint, code);
        break;
    case TG_OMPT_SYNC_BARRIER_IMPLEMENTATION:
    case TG_OMPT_SYNC_BARRIER_IMPLICIT_WORKSHARE:
        tg_ompt_sync(TG_OMP_SYNC_BARRIER_IMPLICIT, endpoint, code);
        break;
    case TG_OMPT_SYNC_BARRIER_IMPLICIT:
        if (place != NULL && (place->ended || (endpoint == TG_OMPT_BEGIN && is_join(code))))
            record_join(place, endpoint);
        else
            tg_ompt_sync(TG_OMP_SYNC_BARRIER_IMPLICIT, endpoint, code);
        break;
    case TG_OMPT_SYNC_BARRIER_IMPLICIT_PARALLEL:
    case TG_OMPT_SYNC_BARRIER_TEAMS:
        if (place != NULL)
            record_join(place, endpoint);
        break;
    case TG_OMPT_SYNC_TASKWAIT:
        tg_ompt_sync(TG_OMP_SYNC_TASKWAIT, endpoint, code);
        break;
    case TG_OMPT_SYNC_TASKGROUP: /* all of it; the wait at its end is told by sync_region_wait */
        tell_zone(TG_OMP_ZONE_TASKGROUP, TG_OMP_SCHEDULE_NONE, 0, endpoint, code);
        break;
    case TG_OMPT_SYNC_REDUCTION:
        tg_ompt_sync(TG_OMP_SYNC_REDUCTION, endpoint, code);
        break;
    default: /* not known yet */
        break;
    }
}

void tg_ompt_on_sync_region(int kind, int endpoint, union tg_ompt_data *parallel, union tg_ompt_data *task,
                            const void *code)
{
    record_sync_region(kind, endpoint, code);
    TG_OMPT_HAND_ON(SYNC_REGION,
                    (kind, endpoint, tg_ompt_their_region(parallel), tg_ompt_their_task(task), code));
}

void tg_ompt_on_sync_region_wait(int kind, int endpoint, union tg_ompt_data *parallel,
                                 union tg_ompt_data *task, const void *code)
{
    if (kind == TG_OMPT_SYNC_TASKGROUP) {
        tg_ompt_enter();
        tg_ompt_sync(TG_OMP_SYNC_TASKGROUP, endpoint, code);
    }
    TG_OMPT_HAND_ON(SYNC_REGION_WAIT,
                    (kind, endpoint, tg_ompt_their_region(parallel), tg_ompt_their_task(task), code));
}

void tg_ompt_on_reduction(int kind, int endpoint, union tg_ompt_data *parallel, union tg_ompt_data *task,
                          const void *code)
{
    tg_ompt_enter();
    tg_ompt_sync(TG_OMP_SYNC_REDUCTION, endpoint, code);
    TG_OMPT_HAND_ON(REDUCTION,
                    (kind, endpoint, tg_ompt_their_region(parallel), tg_ompt_their_task(task), code));
}

/* ---- worksharing */

static void record_work(int kind, int endpoint, uint64_t count, const void *code)
{
    static const struct {
        bool known;
        unsigned char zone, schedule;
    } works[] = {
        [TG_OMPT_WORK_LOOP] = {true, TG_OMP_ZONE_LOOP, TG_OMP_SCHEDULE_NONE},
        [TG_OMPT_WORK_SECTIONS] = {true, TG_OMP_ZONE_SECTIONS, TG_OMP_SCHEDULE_NONE},
        [TG_OMPT_WORK_SINGLE_EXECUTOR] = {true, TG_OMP_ZONE_SINGLE, TG_OMP_SCHEDULE_NONE},
        [TG_OMPT_WORK_SINGLE_OTHER] = {true, TG_OMP_ZONE_SINGLE_OTHER, TG_OMP_SCHEDULE_NONE},
        [TG_OMPT_WORK_WORKSHARE] = {true, TG_OMP_ZONE_WORKSHARE, TG_OMP_SCHEDULE_NONE},
        [TG_OMPT_WORK_DISTRIBUTE] = {true, TG_OMP_ZONE_DISTRIBUTE, TG_OMP_SCHEDULE_NONE},
        [TG_OMPT_WORK_TASKLOOP] = {true, TG_OMP_ZONE_TASKLOOP, TG_OMP_SCHEDULE_NONE},
        [TG_OMPT_WORK_SCOPE] = {true, TG_OMP_ZONE_SCOPE, TG_OMP_SCHEDULE_NONE},
        [TG_OMPT_WORK_LOOP_STATIC] = {true, TG_OMP_ZONE_LOOP, TG_OMP_SCHEDULE_STATIC},
        [TG_OMPT_WORK_LOOP_DYNAMIC] = {true, TG_OMP_ZONE_LOOP, TG_OMP_SCHEDULE_DYNAMIC},
        [TG_OMPT_WORK_LOOP_GUIDED] = {true, TG_OMP_ZONE_LOOP, TG_OMP_SCHEDULE_GUIDED},
        [TG_OMPT_WORK_LOOP_OTHER] = {true, TG_OMP_ZONE_LOOP, TG_OMP_SCHEDULE_NONE},
    };
    if (kind < 0 || (size_t)kind >= sizeof works / sizeof *works || !works[kind].known)
        return;
    if (kind == TG_OMPT_WORK_TASKLOOP && (endpoint & TG_OMPT_BEGIN) != 0)
        tg_ompt_thread.taskloops++;
    if (kind == TG_OMPT_WORK_TASKLOOP && (endpoint & TG_OMPT_END) != 0 && tg_ompt_thread.taskloops > 0)
        tg_ompt_thread.taskloops--;
    if ((endpoint & TG_OMPT_BEGIN) != 0 && kind != TG_OMPT_WORK_TASKLOOP)
        tg_ompt_end_single();
    if (kind == TG_OMPT_WORK_SINGLE_EXECUTOR)
        tg_openmp_frame.workshare = (endpoint & TG_OMPT_END) != 0 ? 0 : 1 + TG_OMP_ZONE_SINGLE;
    tell_zone(works[kind].zone, works[kind].schedule, kind == TG_OMPT_WORK_SECTIONS ? count : 0, endpoint,
              code);
}

void tg_ompt_on_work(int kind, int endpoint, union tg_ompt_data *parallel, union tg_ompt_data *task,
                     uint64_t count, const void *code)
{
    tg_ompt_enter();
    record_work(kind, endpoint, count, code);
    TG_OMPT_HAND_ON(WORK,
                    (kind, endpoint, tg_ompt_their_region(parallel), tg_ompt_their_task(task), count, code));
}

void tg_ompt_on_masked(int endpoint, union tg_ompt_data *parallel, union tg_ompt_data *task, const void *code)
{
    tg_ompt_enter();
    tell_zone(TG_OMP_ZONE_MASKED, TG_OMP_SCHEDULE_NONE, 0, endpoint, code);
    TG_OMPT_HAND_ON(MASKED, (endpoint, tg_ompt_their_region(parallel), tg_ompt_their_task(task), code));
}
