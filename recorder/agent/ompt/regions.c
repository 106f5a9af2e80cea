/* - LLVM's runtime tells a worker's end of the join barrier and of its implicit task when the next region begins, or
 *   never. The worker's end is therefore its arrival at the join; no end of the join is recorded for workers.
 * - Inside of teams it forks regions of its own, which have no code address. */
#include "recorder/agent/ompt/regions.h"

#include "recorder/agent/ompt/chain.h"
#include "recorder/agent/ompt/position.h"

static void drop_place(void)
{
    struct tg_ompt_place *place = tg_ompt_thread.top;
    tg_ompt_thread.top = place->outer;
    tg_openmp_return(&place->around);
    tg_ompt_give(place);
}

void tg_ompt_on_thread_end(union tg_ompt_data *thread_data)
{
    TG_OMPT_HAND_ON(THREAD_END, (thread_data));
    tg_ompt_enter();
    while (tg_ompt_thread.top != NULL)
        drop_place();
    if (tg_ompt_thread.held != NULL)
        tg_ompt_give(tg_ompt_thread.held);
    tg_ompt_thread.held = NULL;
    while (tg_ompt_leave_loop())
        continue;
    tg_ompt_give_all();
}

static struct tg_ompt_region *make_region(const struct tg_ompt_place *place, int flags, const void *code)
{
    struct tg_ompt_region *region = tg_ompt_take();
    if (region == NULL)
        return NULL;
    region->kind = TG_OMPT_REGION_PARALLEL;
    if ((flags & TG_OMPT_PARALLEL_LEAGUE) != 0)
        region->kind = TG_OMPT_REGION_LEAGUE;
    else if (code == NULL && place != NULL && place->kind == TG_OMPT_REGION_LEAGUE)
        region->kind = TG_OMPT_REGION_HIDDEN;
    region->parent_team = tg_openmp_frame.team;
    region->team = region->parent_team;
    region->level = tg_openmp_frame.level;
    region->code = code;
    if (region->kind == TG_OMPT_REGION_PARALLEL) {
        region->team = tg_openmp_new_team();
        region->level++;
    }
    return region;
}

void tg_ompt_on_parallel_begin(union tg_ompt_data *encountering_task, const struct tg_ompt_frame *frame,
                               union tg_ompt_data *parallel, unsigned requested, int flags, const void *code)
{
    const struct tg_ompt_place *place = tg_ompt_enter();
    struct tg_ompt_region *region = make_region(place, flags, tg_ompt_code_in_program(code));
    parallel->ptr = region;
    if (region != NULL && region->kind == TG_OMPT_REGION_PARALLEL)
        tg_openmp_parallel_begin(region->code, TG_OMP_OMPT, region->team, requested, NULL);
    TG_OMPT_HAND_ON(PARALLEL_BEGIN, (tg_ompt_their_task(encountering_task), frame,
                                     tg_ompt_their_region(parallel), requested, flags, code));
}

void tg_ompt_on_parallel_end(union tg_ompt_data *parallel, union tg_ompt_data *encountering_task, int flags,
                             const void *code)
{
    TG_OMPT_HAND_ON(PARALLEL_END,
                    (tg_ompt_their_region(parallel), tg_ompt_their_task(encountering_task), flags, code));
    tg_ompt_enter();
    struct tg_ompt_region *region = tg_ompt_region_of(parallel);
    if (region == NULL)
        return;
    if (region->kind == TG_OMPT_REGION_PARALLEL)
        tg_openmp_parallel_end(region->code, TG_OMP_OMPT, region->team);
    parallel->ptr = NULL;
    tg_ompt_give(region);
}

static void begin_implicit(const struct tg_ompt_region *region, unsigned team_size, unsigned index)
{
    /* A thread that is not a region's first one was waiting in the pool: what it was in is over. */
    while (index != 0 && tg_ompt_thread.top != NULL)
        drop_place();
    struct tg_ompt_place *place = tg_ompt_take();
    if (place == NULL)
        return;
    place->outer = tg_ompt_thread.top;
    place->around = tg_openmp_frame;
    place->kind = (uint16_t)region->kind;
    tg_ompt_thread.top = place;
    if (region->code != NULL) /* what the thread called in another region is no place in this one */
        tg_ompt_thread.code = region->code;
    if (region->kind == TG_OMPT_REGION_PARALLEL) {
        tg_openmp_enter(region->code, TG_OMP_OMPT, region->team, region->parent_team, index, team_size,
                        region->level);
        return;
    }
    tg_openmp_return(
        &(struct tg_openmp_frame){.team = region->team, .level = region->level, .code = region->code});
    if (region->kind == TG_OMPT_REGION_LEAGUE)
        tg_openmp_zone_begin(0, region->code, TG_OMP_OMPT, TG_OMP_ZONE_TEAMS, TG_OMP_SCHEDULE_NONE, 0);
}

tg_agent_moment tg_ompt_end_single(void)
{
    if (tg_openmp_frame.workshare != 1 + TG_OMP_ZONE_SINGLE)
        return 0;
    tg_openmp_frame.workshare = 0;
    return tg_openmp_zone_end(0, NULL, TG_OMP_INFERRED, TG_OMP_ZONE_SINGLE);
}

tg_agent_moment tg_ompt_end_body(struct tg_ompt_place *place)
{
    if (place->ended)
        return 0;
    tg_agent_moment moment = tg_ompt_end_single();
    place->ended = true;
    if (place->kind == TG_OMPT_REGION_LEAGUE)
        moment = tg_openmp_zone_end(moment, tg_openmp_frame.code, TG_OMP_OMPT, TG_OMP_ZONE_TEAMS);
    else if (place->kind == TG_OMPT_REGION_PARALLEL)
        moment = tg_openmp_implicit_end(moment, tg_openmp_frame.code, TG_OMP_OMPT);
    return moment;
}

static void end_implicit(struct tg_ompt_place *place, int flags)
{
    /* An initial task that is not of a league is no region of the program. */
    bool initial = (flags & TG_OMPT_TASK_INITIAL) != 0;
    if (place == NULL || initial != (place->kind == TG_OMPT_REGION_LEAGUE))
        return;
    tg_ompt_end_body(place);
    drop_place();
}

void tg_ompt_on_implicit_task(int endpoint, union tg_ompt_data *parallel, union tg_ompt_data *task,
                              unsigned team_size, unsigned index, int flags)
{
    struct tg_ompt_place *place = tg_ompt_enter();
    struct tg_ompt_region *region = tg_ompt_region_of(parallel);
    if (endpoint == TG_OMPT_END) {
        end_implicit(place, flags);
    } else {
        tg_ompt_task_made(task, NULL, 0);
        if (region != NULL && (flags & TG_OMPT_TASK_INITIAL) == (region->kind == TG_OMPT_REGION_LEAGUE))
            begin_implicit(region, team_size, index);
    }
    TG_OMPT_HAND_ON(IMPLICIT_TASK, (endpoint, tg_ompt_their_region(parallel), tg_ompt_their_task(task),
                                    team_size, index, flags));
    if (endpoint == TG_OMPT_END)
        tg_ompt_task_done(task);
}
