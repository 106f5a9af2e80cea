#include "analyzer/job/run_ending.h"

#include "analyzer/job/barriers_internal.h"
#include "analyzer/job/run_state.h"
#include "analyzer/job/stuck_barriers.h"

bool tg_thread_ends_with_process(const struct tg_event *event)
{
    enum tg_thread_ending ending = event->thread_exit.ending;
    return ending != TG_THREAD_ENDING_UNKNOWN ? ending == TG_THREAD_ENDING_WITH_PROCESS
                                              : event->thread_exit.status > 0;
}

struct tg_error *tg_run_model_set_ending(struct tg_run_model *model, uint32_t dpid, bool is_ending)
{
    uint32_t slot = tg_run_find_process(model, dpid);
    if (slot == TG_NO_SLOT)
        return tg_run_not_found((struct tg_thread_id){dpid, 0});
    tg_run_begin(model);
    if (model->processes[slot].is_ending != is_ending) {
        model->processes[slot].is_ending = is_ending;
        tg_barrier_join_or_leave_with_threads(model, slot, TG_BARRIER_BY_EXIT);
        tg_barrier_check_satisfied(model);
        tg_stuck_barriers_check(model);
    }
    return tg_run_end(model);
}
