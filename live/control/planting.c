#include "live/control/planting.h"

#include "analyzer/job/barrier_trace.h"
#include "analyzer/job/list.h"
#include "live/source/heap_wishes.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A barrier is over one share group, as soon as it is known which. */
bool tg_planting_is_meant(const struct tg_action_point *point, const struct tg_controlled_process *process)
{
    bool reaches_ranks = point->of_ranks && (point->kind != TG_ACTION_BARRIER || point->unbound);
    if (!point->shared)
        return point->process == process->groups.dpid;
    return tg_action_point_is_of_group(point, process->groups.share_group) ||
           (reaches_ranks && process->is_of_ranks);
}

/* Whether POINT is where the heap library stops threads: what made it has said so. */
static bool is_own(const struct tg_action_point *point)
{
    return strcmp(point->location, TG_HEAP_ERROR_FUNCTION) == 0;
}

void tg_planting_tell(const struct tg_controller *controller, enum tg_news_kind kind, uint32_t id,
                      const char *what, const struct tg_controlled_process *process)
{
    const struct tg_action_point *point = tg_action_points_get(controller->points, id);
    struct tg_news news = {.kind = kind, .point = id, .name = what};
    if (point != NULL && !point->pending) {
        news.is_own = is_own(point);
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

/* ---- barriers */

static struct tg_error *record_created(struct tg_controller *controller,
                                       const struct tg_barrier_definition *definition, const char *location)
{
    struct tg_event event = {0};
    struct tg_control_unit *units = calloc(definition->n_list + 1, sizeof *units);
    if (units == NULL)
        return tg_error_no_memory();
    tg_barrier_trace_created(definition, location, units, &event);
    controller->orders->record(controller->engine, &event);
    free(units);
    return NULL;
}

struct tg_error *tg_planting_begin_barrier(struct tg_controller *controller,
                                           const struct tg_barrier_definition *definition,
                                           const char *location)
{
    struct tg_error *error =
        tg_decisions_carry_out(controller, tg_barriers_add(controller->runs, definition));
    return error != NULL ? error : record_created(controller, definition, location);
}

/* An unbound barrier was found in PROCESS: its members are those of that program. */
static struct tg_error *bind(struct tg_controller *controller, const struct tg_controlled_process *process,
                             const struct tg_action_point *point)
{
    const struct tg_process_groups *groups = &process->groups;
    const struct tg_barrier_definition definition = {.id = point->id,
                                                     .of_threads = point->of_threads,
                                                     .stop_when_hit = point->stop_when_hit,
                                                     .stop_when_done = point->stop_when_done,
                                                     .share_group = groups->share_group,
                                                     .group = point->of_threads ? groups->workers_group
                                                                                : groups->control_group};
    char text[48];
    snprintf(text, sizeof text, "group %" PRIu32, definition.group);
    struct tg_error *error =
        tg_action_points_bind(controller->points, point->id, definition.share_group, text);
    return error != NULL ? error : tg_planting_begin_barrier(controller, &definition, point->location);
}

/* ---- several programs */

/* POINT was found already, and is at PLACE of PROCESS as well. */
static struct tg_error *note_other(struct tg_controller *controller,
                                   const struct tg_controlled_process *process,
                                   const struct tg_action_point *point, const char *place, bool is_new)
{
    const char *known = point->others;
    struct tg_error *error = tg_action_points_place_more(controller->points, point->id, place);
    if (error != NULL || is_new || point->others == known)
        return error;
    struct tg_news news = {.kind = TG_NEWS_PLANTED,
                           .point = point->id,
                           .place = place,
                           .is_own = is_own(point),
                           .thread = {process->groups.dpid, 0},
                           .pid = process->pid};
    news.has_rank = tg_job_model_rank(controller->job, news.thread.dpid, &news.rank);
    controller->orders->tell(controller->engine, &news);
    return NULL;
}

static int compare_ranks(const void *x, const void *y)
{
    const uint32_t a = *(const uint32_t *)x, b = *(const uint32_t *)y;
    return (a > b) - (a < b);
}

/* "rank 3", "ranks 0-2" of SHARE_GROUP; NULL: it has none. The caller's. Without memory none is had. */
static char *ranks_of(const struct tg_controller *controller, uint32_t share_group)
{
    const struct tg_controlled_process *process;
    uint32_t *ranks = calloc(HASH_COUNT(controller->processes) + 1, sizeof *ranks);
    size_t n = 0, size;
    char *text = NULL;
    for (process = controller->processes; ranks != NULL && process != NULL; process = process->hh.next) {
        int64_t rank;
        if (process->groups.share_group == share_group &&
            tg_job_model_rank(controller->job, process->groups.dpid, &rank) && rank >= 0 && rank <= INT32_MAX)
            ranks[n++] = (uint32_t)rank;
    }
    FILE *stream = n > 0 ? open_memstream(&text, &size) : NULL;
    if (stream != NULL) {
        qsort(ranks, n, sizeof *ranks, compare_ranks);
        fputs(n == 1 ? "rank " : "ranks ", stream);
        tg_job_list_numbers(ranks, n, stream);
        if (fclose(stream) != 0) {
            free(text);
            text = NULL;
        }
    }
    free(ranks);
    return text;
}

/* Whether ranks run another program than those of SHARE_GROUP. */
static bool has_other_program(const struct tg_controller *controller, uint32_t share_group)
{
    const struct tg_controlled_process *process;
    int64_t rank;
    for (process = controller->processes; process != NULL; process = process->hh.next)
        if (process->groups.share_group != share_group &&
            tg_job_model_rank(controller->job, process->groups.dpid, &rank))
            return true;
    return false;
}

/* Whether PROCESS is the first rank of its program. */
static bool is_first_rank(const struct tg_controller *controller, const struct tg_controlled_process *process)
{
    const struct tg_controlled_process *before;
    int64_t rank;
    if (!tg_job_model_rank(controller->job, process->groups.dpid, &rank))
        return false;
    for (before = controller->processes; before != process; before = before->hh.next)
        if (before->groups.share_group == process->groups.share_group &&
            tg_job_model_rank(controller->job, before->groups.dpid, &rank))
            return false;
    return true;
}

static struct tg_error *tell_program(const struct tg_controller *controller,
                                     const struct tg_controlled_process *process,
                                     const struct tg_action_point *point)
{
    uint64_t address = 0;
    const char *place = "";
    struct tg_error *error = controller->orders->plant(controller->engine, process->pid, point->id,
                                                       point->location, &address, &place);
    if (error != NULL || address == 0)
        return error;
    char *ranks = ranks_of(controller, process->groups.share_group);
    const struct tg_news news = {.kind = TG_NEWS_PLANTED,
                                 .point = point->id,
                                 .set = ranks,
                                 .place = *place == '\0' ? NULL : place,
                                 .is_own = is_own(point)};
    if (ranks != NULL)
        controller->orders->tell(controller->engine, &news);
    free(ranks);
    return NULL;
}

/* Barrier POINT is over another program than PROCESS runs, which has its place as well. */
static void tell_left_out(const struct tg_controller *controller, const struct tg_controlled_process *process,
                          const struct tg_action_point *point)
{
    int64_t rank = -1;
    char *text = NULL, *ranks = ranks_of(controller, process->groups.share_group);
    (void)tg_job_model_rank(controller->job, process->groups.dpid, &rank);
    if (ranks != NULL &&
        asprintf(&text,
                 "barrier %" PRIu32
                 " is over one program, and %s run%s another one that has its place as well: "
                 "`dfocus gSr%" PRId64 " dbarrier ...` makes a barrier there",
                 point->id, ranks, strncmp(ranks, "rank ", 5) == 0 ? "s" : "", rank) >= 0) {
        const struct tg_news news = {.kind = TG_NEWS_NOTE, .text = text};
        controller->orders->tell(controller->engine, &news);
        free(text);
    }
    free(ranks);
}

/* Whether PROCESS is a rank, the first of its program, that has the place of barrier POINT, which is over
 * another program. */
static bool is_left_out(const struct tg_controller *controller, const struct tg_controlled_process *process,
                        const struct tg_action_point *point)
{
    return point->kind == TG_ACTION_BARRIER && point->of_ranks && !point->unbound &&
           !tg_planting_is_meant(point, process) && is_first_rank(controller, process) &&
           controller->orders->has != NULL &&
           controller->orders->has(controller->engine, process->pid, point->location);
}

struct tg_error *tg_planting_tell_programs(const struct tg_controller *controller, uint32_t id)
{
    const struct tg_action_point *point = tg_action_points_get(controller->points, id);
    const struct tg_controlled_process *process;
    struct tg_error *error = NULL;
    if (point == NULL || (!point->of_ranks && point->n_more_groups == 0) ||
        !tg_action_points_in_force(controller->points, id) || !has_other_program(controller, point->group))
        return NULL;
    for (process = controller->processes; error == NULL && process != NULL; process = process->hh.next)
        if (tg_planting_is_meant(point, process) && is_first_rank(controller, process))
            error = tell_program(controller, process, point);
    for (process = controller->processes; error == NULL && process != NULL; process = process->hh.next)
        if (is_left_out(controller, process, point)) {
            (void)tg_action_points_tell_left_out(controller->points, id);
            tell_left_out(controller, process, point);
        }
    return error;
}

/* ---- planting */

struct tg_error *tg_planting_plant(struct tg_controller *controller,
                                   const struct tg_controlled_process *process, uint32_t id, bool is_new)
{
    const struct tg_action_point *point = NULL;
    uint64_t address = 0;
    const char *place = "";
    struct tg_error *error = tg_action_points_find(controller->points, id, &point);
    if (error != NULL || !point->enabled || tg_action_points_are_suppressed(controller->points))
        return error;
    if (!tg_planting_is_meant(point, process)) {
        if (!is_new && !point->told_left_out && is_left_out(controller, process, point) &&
            tg_action_points_tell_left_out(controller->points, id))
            tell_left_out(controller, process, point);
        return NULL;
    }
    error =
        controller->orders->plant(controller->engine, process->pid, id, point->location, &address, &place);
    if (error != NULL || address == 0)
        return error;
    if (!point->pending)
        return note_other(controller, process, point, place, is_new);
    error = tg_action_points_place(controller->points, id, address, place);
    if (error == NULL && point->unbound)
        error = bind(controller, process, point);
    else if (error == NULL && point->of_ranks && process->is_of_ranks) /* where people look for it */
        error = tg_action_points_bind(controller->points, id, process->groups.share_group, "");
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
