#include "live/control/planting.h"

bool tg_planting_is_meant(const struct tg_action_point *point, const struct tg_controlled_process *process)
{
    return point->shared ? point->group == process->groups.share_group
                         : point->process == process->groups.dpid;
}

void tg_planting_tell(const struct tg_controller *controller, enum tg_news_kind kind, uint32_t id,
                      const char *what, const struct tg_controlled_process *process)
{
    const struct tg_action_point *point = tg_action_points_get(controller->points, id);
    struct tg_news news = {.kind = kind, .point = id, .name = what};
    if (point != NULL && !point->pending) {
        news.pc = point->address;
        news.place = *point->place == '\0' ? NULL : point->place;
    }
    if (process != NULL) {
        news.thread.dpid = process->groups.dpid;
        news.pid = process->pid;
        news.has_rank = tg_job_model_rank(controller->job, news.thread.dpid, &news.rank);
    }
    controller->orders->tell(controller->engine, &news);
}

struct tg_error *tg_planting_plant(struct tg_controller *controller,
                                   const struct tg_controlled_process *process, uint32_t id, bool is_new)
{
    const struct tg_action_point *point = NULL;
    uint64_t address = 0;
    const char *place = "";
    struct tg_error *error = tg_action_points_find(controller->points, id, &point);
    if (error != NULL || !point->enabled || tg_action_points_are_suppressed(controller->points) ||
        !tg_planting_is_meant(point, process))
        return error;
    error =
        controller->orders->plant(controller->engine, process->pid, id, point->location, &address, &place);
    if (error != NULL || address == 0 || !point->pending)
        return error;
    error = tg_action_points_place(controller->points, id, address, place);
    if (error == NULL && !is_new)
        tg_planting_tell(controller, TG_NEWS_PLANTED, id, NULL, process);
    return error;
}

struct tg_error *tg_planting_plant_everywhere(struct tg_controller *controller, uint32_t id, bool is_new)
{
    const struct tg_controlled_process *process;
    struct tg_error *error = NULL;
    for (process = controller->processes; error == NULL && process != NULL; process = process->hh.next)
        error = tg_planting_plant(controller, process, id, is_new);
    return error;
}

void tg_planting_unplant_everywhere(struct tg_controller *controller, uint32_t id)
{
    const struct tg_controlled_process *process;
    for (process = controller->processes; process != NULL; process = process->hh.next)
        controller->orders->unplant(controller->engine, process->pid, id);
}
