#include "analyzer/job/view.h"

#include "format/base/array.h"
#include "format/base/search.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

struct user_group {
    uint32_t number;
    char *name;
    struct member {
        uint32_t dpid, dtid; /* dtid 0: the whole process */
    } * members;             /* ascending */
    size_t n_members, members_capacity;
};

struct rank_place {
    int64_t rank;
    size_t process;
};

struct tg_job_view {
    tg_job_view_same_code *same_code; /* NULL: equal addresses are */
    void *same_code_context;
    struct tg_job_process *processes;
    size_t n_processes, processes_capacity;
    struct tg_job_thread *threads;
    size_t n_threads, threads_capacity;
    struct rank_place *ranks; /* ascending; of each rank the first process */
    size_t n_ranks, ranks_capacity;
    struct user_group *groups;
    size_t n_groups, groups_capacity;
    size_t n_slots;
};

struct tg_error *tg_job_view_create(struct tg_job_view **view)
{
    struct tg_job_view *made = calloc(1, sizeof *made);
    if (made == NULL)
        return tg_error_no_memory();
    *view = made;
    return NULL;
}

void tg_job_view_retag(struct tg_job_view *view, const struct tg_job_view_tags *tags)
{
    for (size_t p = 0; p < view->n_processes; p++) {
        struct tg_job_process *process = &view->processes[p];
        for (size_t i = 0; i < process->n_threads; i++) {
            struct tg_job_thread *thread = &view->threads[process->first_thread + i];
            thread->tag = tags->of_thread(tags->context, process->info.tag, thread->tag);
        }
        process->info.tag = tags->of_process(tags->context, process->info.tag);
    }
}

void tg_job_view_destroy(struct tg_job_view *view)
{
    if (view == NULL)
        return;
    for (size_t i = 0; i < view->n_groups; i++) {
        free(view->groups[i].name);
        free(view->groups[i].members);
    }
    free(view->groups);
    free(view->ranks);
    free(view->threads);
    free(view->processes);
    free(view);
}

/* The index of RANK in the ranks, or where it would be. */
static size_t place_of_rank(const struct tg_job_view *view, int64_t rank)
{
    return TG_LOWER_BOUND(view->ranks, view->n_ranks, rank, rank);
}

struct tg_error *tg_job_view_add_process(struct tg_job_view *view, const struct tg_job_process_info *info)
{
    assert(info->dpid != 0);
    assert(view->n_processes == 0 || view->processes[view->n_processes - 1].info.dpid < info->dpid);
    if (TG_ARRAY_RESERVE(view->processes, view->processes_capacity, view->n_processes + 1) != NULL)
        return tg_error_no_memory();
    size_t at = place_of_rank(view, info->rank);
    if (info->rank >= 0 && (at == view->n_ranks || view->ranks[at].rank != info->rank)) {
        struct tg_error *error = TG_ARRAY_INSERT(view->ranks, view->n_ranks, view->ranks_capacity, at,
                                                 (struct rank_place){info->rank, view->n_processes});
        if (error != NULL)
            return error;
    } else if (info->rank >= 0 && info->exists && !view->processes[view->ranks[at].process].info.exists) {
        view->ranks[at].process = view->n_processes; /* the former process of the rank has ended */
    }
    view->processes[view->n_processes++] =
        (struct tg_job_process){.info = *info, .first_thread = view->n_threads, .first_slot = view->n_slots};
    view->n_slots++;
    return NULL;
}

struct tg_error *tg_job_view_add_thread(struct tg_job_view *view, const struct tg_job_thread *thread)
{
    assert(view->n_processes > 0 && thread->dtid != 0);
    struct tg_job_process *process = &view->processes[view->n_processes - 1];
    assert(process->n_threads == 0 || view->threads[view->n_threads - 1].dtid < thread->dtid);
    if (TG_ARRAY_RESERVE(view->threads, view->threads_capacity, view->n_threads + 1) != NULL)
        return tg_error_no_memory();
    view->threads[view->n_threads++] = *thread;
    if (process->n_threads++ > 0) /* the first one has the process's slot */
        view->n_slots++;
    return NULL;
}

struct tg_error *tg_job_view_add_group(struct tg_job_view *view, uint32_t number, const char *name)
{
    struct tg_job_group other;
    if (tg_job_view_group(view, number, &other) || tg_job_view_named_group(view, name, &other))
        return tg_error_create(TG_ERROR_EXISTS, "group %u or /%s/ exists already", number, name);
    if (TG_ARRAY_RESERVE(view->groups, view->groups_capacity, view->n_groups + 1) != NULL)
        return tg_error_no_memory();
    char *copy = strdup(name);
    if (copy == NULL)
        return tg_error_no_memory();
    view->groups[view->n_groups++] = (struct user_group){.number = number, .name = copy};
    return NULL;
}

/* The place of the first member that is not before (DPID, DTID). */
static size_t place_of_member(const struct user_group *group, uint32_t dpid, uint32_t dtid)
{
    const struct member *members = group->members;
    return TG_PARTITION_POINT(group->n_members, i,
                              members[i].dpid < dpid || (members[i].dpid == dpid && members[i].dtid < dtid));
}

static bool has_member(const struct user_group *group, uint32_t dpid, uint32_t dtid)
{
    size_t at = place_of_member(group, dpid, dtid);
    return at < group->n_members && group->members[at].dpid == dpid && group->members[at].dtid == dtid;
}

struct tg_error *tg_job_view_add_member(struct tg_job_view *view, uint32_t dpid, uint32_t dtid)
{
    assert(view->n_groups > 0);
    struct user_group *group = &view->groups[view->n_groups - 1];
    if (has_member(group, dpid, dtid))
        return NULL;
    return TG_ARRAY_INSERT(group->members, group->n_members, group->members_capacity,
                           place_of_member(group, dpid, dtid), (struct member){dpid, dtid});
}

size_t tg_job_view_count(const struct tg_job_view *view)
{
    return view->n_processes;
}

const struct tg_job_process *tg_job_view_at(const struct tg_job_view *view, size_t i)
{
    return &view->processes[i];
}

const struct tg_job_thread *tg_job_view_thread(const struct tg_job_view *view,
                                               const struct tg_job_process *process, size_t i)
{
    return &view->threads[process->first_thread + i];
}

size_t tg_job_view_slots(const struct tg_job_view *view)
{
    return view->n_slots;
}

const struct tg_job_process *tg_job_view_process(const struct tg_job_view *view, uint32_t dpid)
{
    size_t at = TG_LOWER_BOUND(view->processes, view->n_processes, info.dpid, dpid);
    return at < view->n_processes && view->processes[at].info.dpid == dpid ? &view->processes[at] : NULL;
}

const struct tg_job_process *tg_job_view_rank(const struct tg_job_view *view, int64_t rank)
{
    size_t at = place_of_rank(view, rank);
    return at < view->n_ranks && view->ranks[at].rank == rank ? &view->processes[view->ranks[at].process]
                                                              : NULL;
}

size_t tg_job_view_find_thread(const struct tg_job_view *view, const struct tg_job_process *process,
                               uint32_t dtid)
{
    if (process->n_threads == 0)
        return SIZE_MAX;
    const struct tg_job_thread *threads = view->threads + process->first_thread;
    size_t at = TG_LOWER_BOUND(threads, process->n_threads, dtid, dtid);
    return at < process->n_threads && threads[at].dtid == dtid ? at : SIZE_MAX;
}

size_t tg_job_view_lowest_worker(const struct tg_job_view *view, const struct tg_job_process *process)
{
    for (size_t i = 0; i < process->n_threads; i++)
        if (!tg_job_view_thread(view, process, i)->is_manager)
            return i;
    return SIZE_MAX;
}

static struct tg_job_group user_group_at(const struct tg_job_view *view, size_t i)
{
    return (struct tg_job_group){
        .kind = TG_JOB_GROUP_USER, .number = view->groups[i].number, .name = view->groups[i].name, .user = i};
}

bool tg_job_view_group(const struct tg_job_view *view, uint32_t number, struct tg_job_group *group)
{
    struct tg_job_group found = {.number = number};
    if (number == 0)
        return false;
    for (size_t i = 0; i < view->n_groups; i++) {
        if (view->groups[i].number == number) {
            *group = user_group_at(view, i);
            return true;
        }
    }
    for (size_t i = 0; i < view->n_processes; i++) {
        const struct tg_job_process_info *info = &view->processes[i].info;
        if (info->control_group == number)
            found.kind = TG_JOB_GROUP_CONTROL;
        else if (info->share_group == number)
            found.kind = TG_JOB_GROUP_SHARE;
        else if (info->workers_group == number)
            found.kind = TG_JOB_GROUP_WORKERS;
        else
            continue;
        *group = found;
        return true;
    }
    return false;
}

bool tg_job_view_named_group(const struct tg_job_view *view, const char *name, struct tg_job_group *group)
{
    for (size_t i = 0; i < view->n_groups; i++) {
        if (strcmp(view->groups[i].name, name) == 0) {
            *group = user_group_at(view, i);
            return true;
        }
    }
    return false;
}

bool tg_job_view_is_member(const struct tg_job_view *view, const struct tg_job_group *group,
                           const struct tg_job_process *process, size_t i)
{
    const struct tg_job_process_info *info = &process->info;
    const struct tg_job_thread *thread = i < process->n_threads ? tg_job_view_thread(view, process, i) : NULL;
    switch (group->kind) {
    case TG_JOB_GROUP_CONTROL:
        return info->control_group == group->number;
    case TG_JOB_GROUP_SHARE:
        return info->share_group == group->number;
    case TG_JOB_GROUP_WORKERS:
        return info->workers_group == group->number && thread != NULL && !thread->is_manager;
    case TG_JOB_GROUP_USER:
        break;
    }
    const struct user_group *user = &view->groups[group->user];
    return has_member(user, info->dpid, 0) || (thread != NULL && has_member(user, info->dpid, thread->dtid));
}

void tg_job_view_tell_code(struct tg_job_view *view, tg_job_view_same_code *same_code, void *context)
{
    view->same_code = same_code;
    view->same_code_context = context;
}

bool tg_job_view_is_same_code(const struct tg_job_view *view, const struct tg_job_process *a, uint64_t a_pc,
                              const struct tg_job_process *b, uint64_t b_pc)
{
    if (a == b || view->same_code == NULL)
        return a_pc == b_pc;
    return view->same_code(view->same_code_context, a, a_pc, b, b_pc);
}
