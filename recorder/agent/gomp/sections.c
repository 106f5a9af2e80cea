/* Sections, single, and scopes with reductions over tasks. */
#include "recorder/agent/gomp/gomp.h"
#include "recorder/agent/gomp/numbers.h"

static unsigned met_section(const void *code, unsigned section)
{
    if (section != 0)
        tg_openmp_section(code, TG_OMP_WRAPPED, section);
    return section;
}

unsigned GOMP_sections_start(unsigned count)
{
    const struct tg_gomp *gomp = tg_gomp_next(TG_GOMP_CALLER());
    if (!tg_gomp_records(gomp))
        return gomp->GOMP_sections_start(count);
    const void *code = tg_gomp_code(TG_GOMP_CALLER());
    tg_gomp_workshare_begin(code, TG_OMP_ZONE_SECTIONS, TG_OMP_SCHEDULE_NONE, count);
    return met_section(code, gomp->GOMP_sections_start(count));
}

unsigned GOMP_sections2_start(unsigned count, uintptr_t *reductions, void **memory)
{
    const struct tg_gomp *gomp = tg_gomp_next(TG_GOMP_CALLER());
    if (!tg_gomp_records(gomp))
        return gomp->GOMP_sections2_start(count, reductions, memory);
    const void *code = tg_gomp_code(TG_GOMP_CALLER());
    tg_gomp_workshare_begin(code, TG_OMP_ZONE_SECTIONS, TG_OMP_SCHEDULE_NONE, count);
    return met_section(code, gomp->GOMP_sections2_start(count, reductions, memory));
}

unsigned GOMP_sections_next(void)
{
    const struct tg_gomp *gomp = tg_gomp_next(TG_GOMP_CALLER());
    unsigned section = gomp->GOMP_sections_next();
    return tg_gomp_records(gomp) ? met_section(tg_gomp_code(TG_GOMP_CALLER()), section) : section;
}

void GOMP_sections_end(void)
{
    const struct tg_gomp *gomp = tg_gomp_next(TG_GOMP_CALLER());
    if (!tg_gomp_records(gomp)) {
        gomp->GOMP_sections_end();
        return;
    }
    const void *code = tg_gomp_code(TG_GOMP_CALLER());
    tg_agent_moment moment = tg_gomp_workshare_end(code);
    uint64_t instance = tg_openmp_sync_begin(moment, code, TG_OMP_WRAPPED, TG_OMP_SYNC_BARRIER_IMPLICIT);
    gomp->GOMP_sections_end();
    moment = tg_openmp_sync_end(code, TG_OMP_WRAPPED, TG_OMP_SYNC_BARRIER_IMPLICIT, instance, false);
    tg_gomp_numbers_after_barrier(moment, TG_GOMP_CALLER(), TG_GOMP_STACK());
}

void GOMP_sections_end_nowait(void)
{
    const struct tg_gomp *gomp = tg_gomp_next(TG_GOMP_CALLER());
    if (tg_gomp_records(gomp))
        tg_gomp_workshare_end(tg_gomp_code(TG_GOMP_CALLER()));
    gomp->GOMP_sections_end_nowait();
}

bool GOMP_sections_end_cancel(void)
{
    const struct tg_gomp *gomp = tg_gomp_next(TG_GOMP_CALLER());
    if (!tg_gomp_records(gomp))
        return gomp->GOMP_sections_end_cancel();
    const void *code = tg_gomp_code(TG_GOMP_CALLER());
    tg_agent_moment moment = tg_gomp_workshare_end(code);
    uint64_t instance = tg_openmp_sync_begin(moment, code, TG_OMP_WRAPPED, TG_OMP_SYNC_BARRIER_IMPLICIT);
    bool cancelled = gomp->GOMP_sections_end_cancel();
    tg_openmp_sync_end(code, TG_OMP_WRAPPED, TG_OMP_SYNC_BARRIER_IMPLICIT, instance, cancelled);
    return cancelled;
}

/* ---- single: nothing is called at its end but the barrier, and with nowait not even that */

bool GOMP_single_start(void)
{
    const struct tg_gomp *gomp = tg_gomp_next(TG_GOMP_CALLER());
    if (!tg_gomp_records(gomp))
        return gomp->GOMP_single_start();
    const void *code = tg_gomp_code(TG_GOMP_CALLER());
    tg_agent_moment moment = tg_gomp_close_unseen();
    bool executes = gomp->GOMP_single_start(); /* waits for nobody */
    if (executes) {
        tg_openmp_zone_begin(moment, code, TG_OMP_WRAPPED, TG_OMP_ZONE_SINGLE, TG_OMP_SCHEDULE_NONE, 0);
        tg_openmp_frame.single = TG_GOMP_SINGLE_EXECUTES;
        tg_gomp_numbers_in_single(TG_GOMP_CALLER(), TG_GOMP_STACK());
    } else {
        moment = tg_openmp_zone_begin(moment, code, TG_OMP_WRAPPED, TG_OMP_ZONE_SINGLE_OTHER,
                                      TG_OMP_SCHEDULE_NONE, 0);
        tg_openmp_zone_end(moment, code, TG_OMP_WRAPPED, TG_OMP_ZONE_SINGLE_OTHER);
        tg_openmp_frame.single = TG_GOMP_SINGLE_PASSED;
    }
    return executes;
}

/* With copyprivate: all but the one that executes the single wait in here, who that is shows only then. */
void *GOMP_single_copy_start(void)
{
    const struct tg_gomp *gomp = tg_gomp_next(TG_GOMP_CALLER());
    if (!tg_gomp_records(gomp))
        return gomp->GOMP_single_copy_start();
    const void *code = tg_gomp_code(TG_GOMP_CALLER());
    tg_agent_moment moment = tg_gomp_close_unseen();
    tg_openmp_sync_begin(moment, code, TG_OMP_WRAPPED, TG_OMP_SYNC_COPYPRIVATE);
    void *data = gomp->GOMP_single_copy_start();
    moment = tg_openmp_sync_end(code, TG_OMP_WRAPPED, TG_OMP_SYNC_COPYPRIVATE, 0, false);
    if (data == NULL) {
        tg_openmp_zone_begin(moment, code, TG_OMP_WRAPPED, TG_OMP_ZONE_SINGLE, TG_OMP_SCHEDULE_NONE, 0);
        tg_openmp_frame.single = TG_GOMP_SINGLE_EXECUTES;
    } else {
        moment = tg_openmp_zone_begin(moment, code, TG_OMP_WRAPPED, TG_OMP_ZONE_SINGLE_OTHER,
                                      TG_OMP_SCHEDULE_NONE, 0);
        tg_openmp_zone_end(moment, code, TG_OMP_WRAPPED, TG_OMP_ZONE_SINGLE_OTHER);
        tg_openmp_frame.single = TG_GOMP_SINGLE_PASSED;
    }
    return data;
}

void GOMP_single_copy_end(void *data)
{
    const struct tg_gomp *gomp = tg_gomp_next(TG_GOMP_CALLER());
    if (!tg_gomp_records(gomp)) {
        gomp->GOMP_single_copy_end(data);
        return;
    }
    const void *code = tg_gomp_code(TG_GOMP_CALLER());
    tg_agent_moment moment = 0;
    if (tg_openmp_frame.single == TG_GOMP_SINGLE_EXECUTES)
        moment = tg_openmp_zone_end_early(0, code, TG_OMP_WRAPPED, TG_OMP_ZONE_SINGLE);
    tg_openmp_frame.single = TG_GOMP_SINGLE_PASSED;
    tg_openmp_sync_begin(moment, code, TG_OMP_WRAPPED, TG_OMP_SYNC_COPYPRIVATE);
    gomp->GOMP_single_copy_end(data);
    tg_openmp_sync_end(code, TG_OMP_WRAPPED, TG_OMP_SYNC_COPYPRIVATE, 0, false);
    tg_gate_wait();
}

/* ---- scope: without reductions over tasks it calls nothing but a barrier */

void GOMP_scope_start(uintptr_t *reductions)
{
    const struct tg_gomp *gomp = tg_gomp_next(TG_GOMP_CALLER());
    if (tg_gomp_records(gomp))
        tg_gomp_workshare_begin(tg_gomp_code(TG_GOMP_CALLER()), TG_OMP_ZONE_SCOPE, TG_OMP_SCHEDULE_NONE, 0);
    gomp->GOMP_scope_start(reductions);
}

/* The end of a worksharing construct with reductions over tasks; it has the construct's barrier in it, unless
 * the construct was cancelled. */
void GOMP_workshare_task_reduction_unregister(bool cancelled)
{
    const struct tg_gomp *gomp = tg_gomp_next(TG_GOMP_CALLER());
    if (!tg_gomp_records(gomp)) {
        gomp->GOMP_workshare_task_reduction_unregister(cancelled);
        return;
    }
    const void *code = tg_gomp_code(TG_GOMP_CALLER());
    tg_agent_moment moment = tg_gomp_close_unseen();
    if (cancelled) {
        gomp->GOMP_workshare_task_reduction_unregister(cancelled);
        return;
    }
    uint64_t instance = tg_openmp_sync_begin(moment, code, TG_OMP_WRAPPED, TG_OMP_SYNC_BARRIER_IMPLICIT);
    gomp->GOMP_workshare_task_reduction_unregister(cancelled);
    tg_openmp_sync_end(code, TG_OMP_WRAPPED, TG_OMP_SYNC_BARRIER_IMPLICIT, instance, false);
}
