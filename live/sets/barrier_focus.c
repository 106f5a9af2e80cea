#include "live/sets/barrier_focus.h"

#include "analyzer/job/list.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct tg_ptset_defaults defaults = {.width = TG_WIDTH_GROUP, .group = TG_GROUP_CONTROL};

void tg_barrier_focus_deinit(struct tg_barrier_focus *barrier)
{
    free(barrier->list);
    free(barrier->satisfaction);
    *barrier = (struct tg_barrier_focus){0};
}

static struct tg_error *at(struct tg_error *error, const struct tg_ptset_arena *arena, size_t *position)
{
    if (position != NULL)
        *position = arena->position;
    return error;
}

static enum tg_ptset_width width_of(const struct tg_ptset_arena *arena)
{
    return arena->width == TG_WIDTH_DEFAULT ? defaults.width : arena->width;
}

static enum tg_ptset_group group_of(const struct tg_ptset_arena *arena)
{
    return arena->group == TG_GROUP_DEFAULT || arena->group == TG_GROUP_MISSING ? defaults.group
                                                                                : arena->group;
}

/* The group that ARENA gives by number or name; kind control where it gives none, or one that there is
 * not. */
static struct tg_job_group given_group(const struct tg_ptset_arena *arena, const struct tg_job_view *view)
{
    struct tg_job_group group = {.kind = TG_JOB_GROUP_CONTROL};
    if (arena->group == TG_GROUP_NUMBER)
        tg_job_view_group(view, arena->group_number, &group);
    else if (arena->group == TG_GROUP_NAME)
        tg_job_view_named_group(view, arena->group_name, &group);
    return group;
}

/* Whether some process is in a user group in part: it is a group of threads then. */
static bool has_parts(const struct tg_job_view *view, const struct tg_job_group *group)
{
    for (size_t p = 0; p < tg_job_view_count(view); p++) {
        const struct tg_job_process *process = tg_job_view_at(view, p);
        size_t members = 0;
        for (size_t i = 0; i < process->n_threads; i++)
            members += tg_job_view_is_member(view, group, process, i);
        if (members > 0 && members < process->n_threads)
            return true;
    }
    return false;
}

static bool is_of_threads(const struct tg_ptset_arena *arena, const struct tg_job_view *view)
{
    enum tg_ptset_group group = group_of(arena);
    if (width_of(arena) == TG_WIDTH_THREAD || group == TG_GROUP_WORKERS || group == TG_GROUP_LOCKSTEP)
        return true;
    const struct tg_job_group given = given_group(arena, view);
    return given.kind == TG_JOB_GROUP_WORKERS || (given.kind == TG_JOB_GROUP_USER && has_parts(view, &given));
}

/* Whether all arenas of FOCUS are of threads, or all are not. */
static struct tg_error *find_kind(const struct tg_ptset *focus, const struct tg_job_view *view,
                                  bool *of_threads, size_t *position)
{
    size_t cursor = 0;
    const struct tg_ptset_arena *arena = tg_ptset_next_arena(focus, &cursor);
    *of_threads = is_of_threads(arena, view);
    while ((arena = tg_ptset_next_arena(focus, &cursor)) != NULL)
        if (is_of_threads(arena, view) != *of_threads)
            return at(tg_error_create(TG_ERROR_USAGE,
                                      "inconsistent focus: a barrier is over processes or over threads, but "
                                      "character %zu begins the %s among %s",
                                      arena->position + 1, *of_threads ? "processes" : "threads",
                                      *of_threads ? "threads" : "processes"),
                      arena, position);
    return NULL;
}

/* The share group of the first arena's process, which lists may not leave. */
static struct tg_error *find_share_group(const struct tg_ptset *focus, const struct tg_job_view *view,
                                         uint32_t *share_group, size_t *position)
{
    size_t cursor = 0, thread;
    uint32_t first = 0;
    const struct tg_ptset_arena *arena;
    for (bool is_first = true; (arena = tg_ptset_next_arena(focus, &cursor)) != NULL; is_first = false) {
        const struct tg_job_process *process = NULL;
        struct tg_error *error = tg_ptset_interest(arena, view, &process, &thread, position);
        if (error != NULL)
            return error;
        if (is_first) {
            first = process->info.dpid;
            *share_group = process->info.share_group;
        } else if (process->info.share_group != *share_group) {
            return at(tg_error_create(TG_ERROR_USAGE,
                                      "inconsistent focus: processes %" PRIu32 " and %" PRIu32
                                      " belong to share groups %" PRIu32 " and %" PRIu32
                                      ", and a barrier cannot span two (character %zu of the set)",
                                      first, process->info.dpid, *share_group, process->info.share_group,
                                      arena->position + 1),
                      arena, position);
        }
    }
    return NULL;
}

/* The members of the share group as a list; none: USAGE error. */
static struct tg_error *list_members(const struct tg_job_view *view, const struct tg_job_set *members,
                                     struct tg_barrier_focus *barrier)
{
    barrier->list = calloc(tg_job_view_slots(view) + 1, sizeof *barrier->list);
    if (barrier->list == NULL)
        return tg_error_no_memory();
    for (size_t p = 0; p < tg_job_view_count(view); p++) {
        const struct tg_job_process *process = tg_job_view_at(view, p);
        if (process->info.share_group != barrier->share_group || !tg_job_set_has_any(members, process))
            continue;
        if (!barrier->of_threads)
            barrier->list[barrier->n_list++] = (struct tg_thread_id){process->info.dpid, 0};
        for (size_t i = 0; barrier->of_threads && i < process->n_threads; i++)
            if (tg_job_set_has(members, process, i))
                barrier->list[barrier->n_list++] =
                    (struct tg_thread_id){process->info.dpid, tg_job_view_thread(view, process, i)->dtid};
    }
    if (barrier->n_list == 0)
        return tg_error_create(TG_ERROR_USAGE,
                               "no thread in focus belongs to share group %" PRIu32
                               ", the one that the barrier is limited to",
                               barrier->share_group);
    return NULL;
}

/* Whether the list is of one process. */
static bool is_of_one_process(const struct tg_barrier_focus *barrier)
{
    return barrier->list[0].dpid == barrier->list[barrier->n_list - 1].dpid;
}

/* The number of the group that can be followed; 0: what the list says. */
static uint32_t followed_group(const struct tg_ptset_arena *arena, const struct tg_job_process *interest)
{
    switch (group_of(arena)) {
    case TG_GROUP_CONTROL:
        return interest->info.control_group;
    case TG_GROUP_SHARE:
        return interest->info.share_group;
    case TG_GROUP_WORKERS:
        return interest->info.workers_group;
    case TG_GROUP_NUMBER:
        return arena->group_number;
    case TG_GROUP_LOCKSTEP:
    case TG_GROUP_NAME:
    case TG_GROUP_DEFAULT:
    case TG_GROUP_MISSING:
        break;
    }
    return 0;
}

/* Whether the control group has processes of other programs than that of PROCESS. */
static bool has_more_programs(const struct tg_job_view *view, const struct tg_job_process *process)
{
    for (size_t p = 0; p < tg_job_view_count(view); p++) {
        const struct tg_job_process_info *info = &tg_job_view_at(view, p)->info;
        if (info->exists && info->control_group == process->info.control_group &&
            info->share_group != process->info.share_group)
            return true;
    }
    return false;
}

/* The meaning of a single arena beyond a list: groups that change, and a process. */
static struct tg_error *follow_arena(const struct tg_ptset_arena *arena, const struct tg_job_view *view,
                                     struct tg_barrier_focus *barrier)
{
    const struct tg_job_process *interest = NULL;
    size_t thread;
    char text[48];
    enum tg_ptset_width width = width_of(arena);
    struct tg_error *error = tg_ptset_interest(arena, view, &interest, &thread, NULL);
    if (error != NULL)
        return error;
    uint32_t group = followed_group(arena, interest);
    if (given_group(arena, view).kind == TG_JOB_GROUP_USER)
        group = 0;
    barrier->shared = width == TG_WIDTH_GROUP || width == TG_WIDTH_ALL;
    barrier->process = barrier->shared ? 0 : interest->info.dpid;
    if (width == TG_WIDTH_THREAD || group == 0)
        return NULL;
    barrier->group = group;
    free(barrier->list);
    barrier->list = NULL;
    barrier->n_list = 0;
    if (width == TG_WIDTH_PROCESS && !barrier->of_threads)
        snprintf(text, sizeof text, "process %" PRIu32, interest->info.dpid);
    else if (group == interest->info.control_group && has_more_programs(view, interest))
        snprintf(text, sizeof text, "group %" PRIu32 " in group %" PRIu32, group, barrier->share_group);
    else
        snprintf(text, sizeof text, "group %" PRIu32, group);
    barrier->satisfaction = strdup(text);
    return barrier->satisfaction == NULL ? tg_error_no_memory() : NULL;
}

/* The list as `info barrier` shows it. */
static struct tg_error *write_list(const struct tg_job_view *view, struct tg_barrier_focus *barrier)
{
    TG_AUTO_JOB_SET struct tg_job_set set = {0};
    size_t size;
    struct tg_error *error = tg_job_set_init(&set, view);
    if (error != NULL)
        return error;
    for (size_t i = 0; i < barrier->n_list; i++) {
        const struct tg_job_process *process = tg_job_view_process(view, barrier->list[i].dpid);
        for (size_t k = 0; process != NULL && (k < process->n_threads || k == 0); k++)
            if (barrier->list[i].dtid == 0 ||
                (k < process->n_threads &&
                 tg_job_view_thread(view, process, k)->dtid == barrier->list[i].dtid))
                tg_job_set_add(&set, process, k);
    }
    FILE *stream = open_memstream(&barrier->satisfaction, &size);
    if (stream == NULL)
        return tg_error_no_memory();
    error = tg_job_list_print(view, &set, stream);
    return fclose(stream) != 0 && error == NULL ? tg_error_no_memory() : error;
}

static struct tg_error *make(const struct tg_ptset *focus, const struct tg_job_view *view,
                             struct tg_barrier_focus *barrier, size_t *position)
{
    TG_AUTO_JOB_SET struct tg_job_set members = {0};
    const struct tg_ptset_arena *only = tg_ptset_count(focus) == 1 ? tg_ptset_arena(focus, 0) : NULL;
    struct tg_error *error = tg_ptset_members(focus, view, &defaults, &members, position);
    if (error == NULL)
        error = find_kind(focus, view, &barrier->of_threads, position);
    if (error == NULL)
        error = find_share_group(focus, view, &barrier->share_group, position);
    if (error == NULL)
        error = list_members(view, &members, barrier);
    if (error != NULL)
        return error;
    barrier->shared = !is_of_one_process(barrier);
    if (!barrier->shared)
        barrier->process = barrier->list[0].dpid;
    if (only != NULL)
        error = follow_arena(only, view, barrier);
    if (error == NULL && barrier->satisfaction == NULL)
        error = write_list(view, barrier);
    return error;
}

struct tg_error *tg_barrier_focus_make(const struct tg_ptset *focus, const struct tg_job_view *view,
                                       struct tg_barrier_focus *barrier, size_t *position)
{
    struct tg_barrier_focus made = {0};
    struct tg_error *error = make(focus, view, &made, position);
    if (error == NULL)
        *barrier = made;
    else
        tg_barrier_focus_deinit(&made);
    return error;
}

struct tg_barrier_definition tg_barrier_focus_definition(const struct tg_barrier_focus *barrier, uint32_t id,
                                                         enum tg_barrier_stop stop_when_hit,
                                                         enum tg_barrier_stop stop_when_done)
{
    return (struct tg_barrier_definition){.id = id,
                                          .of_threads = barrier->of_threads,
                                          .stop_when_hit = stop_when_hit,
                                          .stop_when_done = stop_when_done,
                                          .share_group = barrier->share_group,
                                          .group = barrier->group,
                                          .process = barrier->process,
                                          .list = barrier->list,
                                          .n_list = barrier->n_list};
}
