/* Evaluation of process/thread sets in a job. */
#include "live/sets/ptset.h"
#include "live/sets/tree.h"

#include <inttypes.h>
#include <string.h>

struct evaluation {
    const struct tg_ptset *set;
    const struct tg_job_view *view;
    const struct tg_ptset_defaults *defaults;
    size_t *position;
};

/* An arena with everything looked up. */
struct resolved {
    enum tg_ptset_width width;
    enum tg_ptset_group group; /* control, share, workers, lockstep, or NUMBER for what GIVEN is */
    struct tg_job_group given; /* by number or name */
    const struct tg_job_process *interest; /* NULL where the width is all */
    size_t thread;                         /* SIZE_MAX: '<' where there is no worker */
};

/* AT: where in the text. */
__attribute__((format(printf, 3, 4))) static struct tg_error *not_found(size_t at, size_t *position,
                                                                        const char *format, ...)
{
    char message[160];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    struct tg_error *error =
        tg_error_create(TG_ERROR_NOT_FOUND, "%s (character %zu of the set)", message, at + 1);
    return tg_ptset_at(error, at, position);
}

struct tg_error *tg_ptset_interest(const struct tg_ptset_arena *arena, const struct tg_job_view *view,
                                   const struct tg_job_process **process, size_t *thread, size_t *position)
{
    const struct tg_job_process *found =
        arena->by_rank ? tg_job_view_rank(view, arena->process) : tg_job_view_process(view, arena->process);
    if (found == NULL && arena->by_rank)
        return not_found(arena->process_at, position, "no rank %" PRIu32, arena->process);
    if (found == NULL)
        return not_found(arena->process_at, position, "no process %" PRIu32, arena->process);
    size_t at = arena->thread == 0 ? tg_job_view_lowest_worker(view, found)
                                   : tg_job_view_find_thread(view, found, arena->thread);
    if (arena->thread != 0 && at == SIZE_MAX && !found->info.exists)
        return not_found(arena->process_at, position, "process %" PRIu32 " has ended, or has not begun",
                         found->info.dpid);
    if (arena->thread != 0 && at == SIZE_MAX)
        return not_found(arena->thread_at, position, "process %" PRIu32 " has no thread %" PRIu32,
                         found->info.dpid, arena->thread);
    *process = found;
    *thread = at;
    return NULL;
}

static struct tg_error *find_group(const struct evaluation *evaluation, const struct tg_ptset_arena *arena,
                                   struct resolved *resolved)
{
    enum tg_ptset_group group = arena->group;
    if (group == TG_GROUP_MISSING || group == TG_GROUP_DEFAULT)
        group = evaluation->defaults->group;
    resolved->group = group;
    if (group == TG_GROUP_NUMBER) {
        if (!tg_job_view_group(evaluation->view, arena->group_number, &resolved->given))
            return not_found(arena->group_at, evaluation->position, "no group %" PRIu32, arena->group_number);
    } else if (group == TG_GROUP_NAME) {
        if (!tg_job_view_named_group(evaluation->view, arena->group_name, &resolved->given))
            return not_found(arena->group_at, evaluation->position, "no group /%s/", arena->group_name);
        resolved->group = TG_GROUP_NUMBER;
    }
    return NULL;
}

/* Whether thread I of PROCESS is a worker. */
static bool is_worker(const struct tg_job_view *view, const struct tg_job_process *process, size_t i)
{
    return i < process->n_threads && !tg_job_view_thread(view, process, i)->is_manager;
}

/* Whether thread I of PROCESS is stopped where the thread of interest is. */
static bool is_in_lockstep(const struct tg_job_view *view, const struct resolved *resolved,
                           const struct tg_job_process *process, size_t i)
{
    if (resolved->thread == SIZE_MAX || i >= process->n_threads ||
        process->info.share_group != resolved->interest->info.share_group)
        return false;
    const struct tg_job_thread *leader = tg_job_view_thread(view, resolved->interest, resolved->thread);
    const struct tg_job_thread *thread = tg_job_view_thread(view, process, i);
    return tg_job_state_is_stopped(leader->state) && tg_job_state_is_stopped(thread->state) &&
           leader->pc != 0 && thread->pc != 0 &&
           tg_job_view_is_same_code(view, resolved->interest, leader->pc, process, thread->pc);
}

/* Whether thread I of PROCESS is in the group of interest, which reaches beyond the control group for the
 * width all. */
static bool is_in_group(const struct tg_job_view *view, const struct resolved *resolved,
                        const struct tg_job_process *process, size_t i)
{
    bool all = resolved->width == TG_WIDTH_ALL;
    const struct tg_job_process_info *interest = all ? NULL : &resolved->interest->info;
    switch (resolved->group) {
    case TG_GROUP_NUMBER:
        return tg_job_view_is_member(view, &resolved->given, process, i);
    case TG_GROUP_WORKERS:
        return is_worker(view, process, i) && (all || process->info.control_group == interest->control_group);
    case TG_GROUP_SHARE:
        return all || process->info.share_group == interest->share_group;
    case TG_GROUP_LOCKSTEP:
        return all || is_in_lockstep(view, resolved, process, i);
    case TG_GROUP_CONTROL:
    case TG_GROUP_DEFAULT:
    case TG_GROUP_MISSING:
    case TG_GROUP_NAME:
        break;
    }
    return all || process->info.control_group == interest->control_group;
}

static void add_process(const struct tg_job_view *view, const struct resolved *resolved,
                        const struct tg_job_process *process, struct tg_job_set *members)
{
    size_t n = process->n_threads == 0 ? 1 : process->n_threads;
    for (size_t i = 0; i < n; i++)
        if (is_in_group(view, resolved, process, i))
            tg_job_set_add(members, process, i);
}

/* A process and thread that are given with a group must be of it. */
static struct tg_error *not_in_group(const struct evaluation *evaluation, const struct tg_ptset_arena *arena,
                                     const struct resolved *resolved)
{
    char group[TG_PTSET_NAME_SIZE + 8], thread[24] = "";
    if (arena->group == TG_GROUP_NAME)
        snprintf(group, sizeof group, "/%s/", arena->group_name);
    else
        snprintf(group, sizeof group, "%" PRIu32, arena->group_number);
    if (resolved->width == TG_WIDTH_THREAD && resolved->thread != SIZE_MAX)
        snprintf(thread, sizeof thread, "thread %" PRIu32 " of ",
                 tg_job_view_thread(evaluation->view, resolved->interest, resolved->thread)->dtid);
    return not_found(arena->group_at, evaluation->position, "%sprocess %" PRIu32 " is not in group %s",
                     thread, resolved->interest->info.dpid, group);
}

static struct tg_error *add_thread(const struct evaluation *evaluation, const struct tg_ptset_arena *arena,
                                   const struct resolved *resolved, struct tg_job_set *members)
{
    const struct tg_job_process *process = resolved->interest;
    if (resolved->thread == SIZE_MAX && process->n_threads > 0)
        return not_found(arena->thread_at, evaluation->position, "process %" PRIu32 " has no worker",
                         process->info.dpid);
    size_t thread = resolved->thread == SIZE_MAX ? 0 : resolved->thread;
    if (resolved->group == TG_GROUP_NUMBER &&
        !tg_job_view_is_member(evaluation->view, &resolved->given, process, thread))
        return not_in_group(evaluation, arena, resolved);
    tg_job_set_add(members, process, thread);
    return NULL;
}

static struct tg_error *add_arena(const struct evaluation *evaluation, const struct tg_ptset_arena *arena,
                                  struct tg_job_set *members)
{
    const struct tg_job_view *view = evaluation->view;
    struct resolved resolved = {.width = arena->width, .thread = SIZE_MAX};
    if (resolved.width == TG_WIDTH_DEFAULT || resolved.width == TG_WIDTH_MISSING)
        resolved.width = evaluation->defaults->width;
    struct tg_error *error = find_group(evaluation, arena, &resolved);
    if (error == NULL && resolved.width != TG_WIDTH_ALL)
        error = tg_ptset_interest(arena, view, &resolved.interest, &resolved.thread, evaluation->position);
    if (error != NULL)
        return error;
    if (resolved.width == TG_WIDTH_THREAD)
        return add_thread(evaluation, arena, &resolved, members);
    if (resolved.width == TG_WIDTH_PROCESS) {
        add_process(view, &resolved, resolved.interest, members);
        if (resolved.group == TG_GROUP_NUMBER && !tg_job_set_has_any(members, resolved.interest))
            return not_in_group(evaluation, arena, &resolved);
        return NULL;
    }
    for (size_t i = 0; i < tg_job_view_count(view); i++)
        add_process(view, &resolved, tg_job_view_at(view, i), members);
    return NULL;
}

static bool function_holds(enum tg_ptset_function function, const struct tg_job_process *process,
                           const struct tg_job_thread *thread)
{
    bool exists = process->info.exists && thread != NULL && thread->state != TG_JOB_NONEXISTENT;
    /* a process of which no thread is known exists all the same */
    bool known = process->info.exists && (thread == NULL || exists);
    enum tg_job_state state = exists ? thread->state : TG_JOB_NONEXISTENT;
    bool held = process->info.held || (thread != NULL && thread->held);
    switch (function) {
    case TG_FUNCTION_BREAKPOINT:
        return state == TG_JOB_BREAKPOINT;
    case TG_FUNCTION_ERROR:
        return state == TG_JOB_ERROR;
    case TG_FUNCTION_WATCHPOINT:
        return state == TG_JOB_WATCHPOINT;
    case TG_FUNCTION_RUNNING:
        return state == TG_JOB_RUNNING || state == TG_JOB_KERNEL;
    case TG_FUNCTION_STOPPED:
        return tg_job_state_is_stopped(state);
    case TG_FUNCTION_EXISTENT:
        return known;
    case TG_FUNCTION_NONEXISTENT:
        return !known;
    case TG_FUNCTION_HELD:
        return known && held;
    case TG_FUNCTION_UNHELD:
        return known && !held;
    case TG_FUNCTION_COUNT:
        break;
    }
    return false;
}

/* Takes out of MEMBERS whom FUNCTION is not true of. */
static void apply_function(const struct tg_job_view *view, enum tg_ptset_function function,
                           struct tg_job_set *members)
{
    for (size_t i = 0; i < tg_job_view_count(view); i++) {
        const struct tg_job_process *process = tg_job_view_at(view, i);
        size_t n = process->n_threads == 0 ? 1 : process->n_threads;
        for (size_t j = 0; j < n; j++) {
            const struct tg_job_thread *thread =
                process->n_threads == 0 ? NULL : tg_job_view_thread(view, process, j);
            if (!function_holds(function, process, thread))
                tg_job_set_remove(members, process, j);
        }
    }
}

/* MEMBERS is initialised and empty. The depth is bounded when sets are made. */
static struct tg_error *evaluate(const struct evaluation *evaluation, uint32_t at, struct tg_job_set *members)
{
    const struct tg_ptset_node *node = &evaluation->set->nodes[at];
    if (node->kind == TG_NODE_ARENA || node->kind == TG_NODE_CURRENT)
        return add_arena(evaluation, &node->arena, members);
    for (uint32_t child = node->first; child != TG_NO_NODE; child = evaluation->set->nodes[child].next) {
        const struct tg_ptset_node *operand = &evaluation->set->nodes[child];
        TG_AUTO_JOB_SET struct tg_job_set more = {0};
        struct tg_error *error = tg_job_set_init(&more, evaluation->view);
        if (error == NULL)
            error = evaluate(evaluation, child, &more);
        if (error != NULL)
            return error;
        if (child == node->first || node->kind == TG_NODE_LIST || operand->joined == '|')
            tg_job_set_unite(members, &more);
        else if (operand->joined == '-')
            tg_job_set_subtract(members, &more);
        else
            tg_job_set_intersect(members, &more);
    }
    if (node->kind == TG_NODE_FUNCTION)
        apply_function(evaluation->view, node->function, members);
    return NULL;
}

static struct tg_error *evaluate_at(const struct evaluation *evaluation, uint32_t at,
                                    struct tg_job_set *members)
{
    TG_AUTO_JOB_SET struct tg_job_set made = {0};
    struct tg_error *error = tg_job_set_init(&made, evaluation->view);
    if (error == NULL)
        error = evaluate(evaluation, at, &made);
    if (error != NULL)
        return error;
    *members = made;
    made = (struct tg_job_set){0};
    return NULL;
}

struct tg_error *tg_ptset_members(const struct tg_ptset *set, const struct tg_job_view *view,
                                  const struct tg_ptset_defaults *defaults, struct tg_job_set *members,
                                  size_t *position)
{
    const struct evaluation evaluation = {set, view, defaults, position};
    return evaluate_at(&evaluation, set->root, members);
}

struct tg_error *tg_ptset_present_members(const struct tg_ptset *set, const struct tg_job_view *view,
                                          const struct tg_ptset_defaults *defaults,
                                          struct tg_job_set *members)
{
    struct tg_error *error = tg_ptset_members(set, view, defaults, members, NULL);
    if (error == NULL || tg_error_code(error) != TG_ERROR_NOT_FOUND)
        return error;
    tg_error_destroy(error);
    return tg_job_set_init(members, view);
}

struct tg_error *tg_ptset_item_members(const struct tg_ptset *set, size_t i, const struct tg_job_view *view,
                                       const struct tg_ptset_defaults *defaults, struct tg_job_set *members,
                                       size_t *position)
{
    const struct evaluation evaluation = {set, view, defaults, position};
    uint32_t at = set->root;
    if (set->nodes[at].kind == TG_NODE_LIST)
        for (at = set->nodes[at].first; i > 0 && set->nodes[at].next != TG_NO_NODE; i--)
            at = set->nodes[at].next;
    return evaluate_at(&evaluation, at, members);
}

char *tg_ptset_lasting_string(const struct tg_ptset *set, const struct tg_job_view *view)
{
    struct tg_ptset_node node = set->nodes[set->root];
    struct tg_ptset alone = {.nodes = &node, .n_nodes = 1};
    if (node.kind != TG_NODE_ARENA || !node.arena.has_process || node.arena.by_rank)
        return tg_ptset_string(set);
    const struct tg_job_process *process = tg_job_view_process(view, node.arena.process);
    int64_t rank = process == NULL ? -1 : process->info.rank;
    if (rank < 0 || rank > UINT32_MAX || tg_job_view_rank(view, (uint32_t)rank) != process)
        return tg_ptset_string(set);
    node.arena.by_rank = true;
    node.arena.process = (uint32_t)rank;
    return tg_ptset_string(&alone);
}

char *tg_ptset_unplaced_string(const struct tg_ptset *set)
{
    struct tg_ptset_node node = set->nodes[set->root];
    struct tg_ptset alone = {.nodes = &node, .n_nodes = 1};
    if (node.kind != TG_NODE_ARENA ||
        (node.arena.width == TG_WIDTH_DEFAULT && node.arena.group == TG_GROUP_MISSING))
        return strdup("");
    node.arena.has_process = node.arena.has_thread = false;
    return tg_ptset_string(&alone);
}

struct tg_error *tg_ptset_without_thread(const struct tg_ptset *set, struct tg_ptset **made)
{
    struct tg_ptset_node node = set->nodes[set->root];
    struct tg_ptset alone = {.nodes = &node, .n_nodes = 1};
    size_t position;
    *made = NULL;
    if (node.kind != TG_NODE_ARENA || node.arena.width == TG_WIDTH_THREAD || node.arena.thread == 0)
        return NULL;
    node.arena.thread = 0;
    return tg_ptset_complete(&alone, set, made, &position);
}
