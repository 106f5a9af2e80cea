#include "analyzer/job/model.h"

#include "analyzer/job/list.h"
#include "format/base/array.h"
#include "format/base/hash.h"
#include "format/base/string_pool.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

struct thread {
    int32_t tid;
    uint32_t dtid;
    bool is_manager;
    UT_hash_handle hh; /* by tid; in the order of dtids */
    UT_hash_handle hh_dtid;
};

struct process {
    int32_t pid;
    struct tg_process_groups groups;
    const char *program; /* the pool's, "" not known */
    int64_t rank;
    int64_t ancestor; /* the rank that has started it, itself or by others; -1 none */
    bool alive;
    bool is_root;           /* nobody of the job has started it */
    struct thread *threads; /* by tid; those that live */
    struct thread *by_dtid;
    uint32_t last_dtid;
    UT_hash_handle hh; /* by pid, while it lives */
};

/* Processes of a control group that run the same program. */
struct share_key {
    uint64_t control_group;
    const char *program;
};

struct share {
    struct share_key key;
    uint32_t number;
    UT_hash_handle hh;
};

/* The control group of a job's ranks. */
struct ranks {
    uint32_t launcher; /* the control group that they were started in, 0: they were attached */
    const char *job;   /* the pool's; of those that were attached */
    uint32_t control_group, workers_group;
};

struct user_group {
    uint32_t number;
    char *name;
    struct tg_thread_id *members;
    size_t n_members, capacity;
};

struct tg_job_model {
    struct process **processes; /* by dpid, from 1: [dpid - 1] */
    size_t n_processes, capacity;
    struct process *by_pid;
    struct share *shares;
    struct tg_string_pool programs;
    struct user_group *groups; /* in the order in which they were made */
    size_t n_groups, groups_capacity;
    struct ranks *ranks;
    size_t n_ranks, ranks_capacity;
    uint32_t last_group;
};

/* ---- memory */

static void remove_thread(struct process *process, struct thread *thread)
{
    HASH_DEL(process->threads, thread);
    HASH_DELETE(hh_dtid, process->by_dtid, thread);
    free(thread);
}

/* All but KEPT, which may be NULL. */
static void remove_threads(struct process *process, const struct thread *kept)
{
    struct thread *thread, *next;
    HASH_ITER (hh, process->threads, thread, next)
        if (thread != kept)
            remove_thread(process, thread);
}

struct tg_error *tg_job_model_create(struct tg_job_model **model)
{
    struct tg_job_model *made = calloc(1, sizeof *made);
    if (made == NULL)
        return tg_error_no_memory();
    *model = made;
    return NULL;
}

void tg_job_model_destroy(struct tg_job_model *model)
{
    struct share *share, *next;
    if (model == NULL)
        return;
    HASH_CLEAR(hh, model->by_pid);
    for (size_t i = 0; i < model->n_processes; i++) {
        remove_threads(model->processes[i], NULL);
        free(model->processes[i]);
    }
    HASH_ITER (hh, model->shares, share, next) {
        HASH_DEL(model->shares, share);
        free(share);
    }
    for (size_t i = 0; i < model->n_groups; i++) {
        free(model->groups[i].name);
        free(model->groups[i].members);
    }
    free(model->groups);
    free(model->ranks);
    free(model->processes);
    tg_string_pool_deinit(&model->programs);
    free(model);
}

/* ---- processes */

static struct process *find_process(const struct tg_job_model *model, int32_t pid)
{
    struct process *process = NULL;
    HASH_FIND(hh, model->by_pid, &pid, sizeof pid, process);
    return process;
}

static struct process *process_of(const struct tg_job_model *model, uint32_t dpid)
{
    if (dpid == 0 || dpid > model->n_processes || !model->processes[dpid - 1]->alive)
        return NULL;
    return model->processes[dpid - 1];
}

static struct tg_error *find_share(struct tg_job_model *model, uint32_t control_group, const char *program,
                                   uint32_t *number)
{
    struct share_key key;
    struct share *share = NULL;
    memset(&key, 0, sizeof key);
    key.control_group = control_group;
    key.program = program;
    HASH_FIND(hh, model->shares, &key, sizeof key, share);
    if (share == NULL) {
        struct tg_error *error = TG_HASH_CREATE(hh, model->shares, key, &key, share);
        if (error != NULL)
            return error;
        share->number = ++model->last_group;
    }
    *number = share->number;
    return NULL;
}

static struct thread *find_tid(const struct process *process, int32_t tid)
{
    struct thread *thread = NULL;
    HASH_FIND(hh, process->threads, &tid, sizeof tid, thread);
    return thread;
}

static struct thread *find_dtid(const struct process *process, uint32_t dtid)
{
    struct thread *thread = NULL;
    HASH_FIND(hh_dtid, process->by_dtid, &dtid, sizeof dtid, thread);
    return thread;
}

static struct tg_error *add_thread(struct process *process, int32_t tid)
{
    if (find_tid(process, tid) != NULL)
        return NULL;
    struct thread *thread;
    struct tg_error *error = TG_HASH_CREATE(hh, process->threads, tid, &tid, thread);
    if (error != NULL)
        return error;
    thread->dtid = process->last_dtid + 1;
    error = TG_HASH_ADD(hh_dtid, process->by_dtid, dtid, thread);
    if (error != NULL) {
        HASH_DEL(process->threads, thread);
        free(thread);
        return error;
    }
    process->last_dtid++;
    return NULL;
}

static void end_process(struct tg_job_model *model, struct process *process)
{
    HASH_DEL(model->by_pid, process);
    process->alive = false;
    remove_threads(process, NULL);
}

/* The process of EVENT, made where it is new. */
static struct tg_error *need_process(struct tg_job_model *model, const struct tg_event *event,
                                     struct process **found)
{
    struct process *process = find_process(model, event->pid);
    *found = process;
    if (process != NULL)
        return NULL;
    if (TG_ARRAY_RESERVE(model->processes, model->capacity, model->n_processes + 1) != NULL)
        return tg_error_no_memory();
    const struct process *parent = NULL;
    if (event->kind == TG_EVENT_PROCESS_START && event->process_start.parent_pid > 0 &&
        event->process_start.parent_pid <= INT32_MAX)
        parent = find_process(model, (int32_t)event->process_start.parent_pid);
    process = calloc(1, sizeof *process);
    if (process == NULL)
        return tg_error_no_memory();
    *process = (struct process){.pid = event->pid,
                                .rank = -1,
                                .ancestor = -1,
                                .alive = true,
                                .is_root = parent == NULL,
                                .program = ""};
    if (parent != NULL)
        process->ancestor = parent->rank >= 0 ? parent->rank : parent->ancestor;
    process->groups.dpid = (uint32_t)model->n_processes + 1;
    struct tg_error *error = add_thread(process, event->pid);
    if (error == NULL && parent != NULL) {
        process->program = parent->program;
        process->groups = parent->groups;
        process->groups.dpid = (uint32_t)model->n_processes + 1;
    } else if (error == NULL) {
        process->groups.control_group = ++model->last_group;
        process->groups.workers_group = ++model->last_group;
        error = tg_string_pool_intern(&model->programs, "", &process->program);
    }
    if (error == NULL && parent == NULL)
        error =
            find_share(model, process->groups.control_group, process->program, &process->groups.share_group);
    if (error == NULL)
        error = TG_HASH_ADD(hh, model->by_pid, pid, process);
    if (error != NULL) {
        remove_threads(process, NULL);
        free(process);
        return error;
    }
    model->processes[model->n_processes++] = process;
    *found = process;
    return NULL;
}

/* Gives PROGRAM the share group that was made for the process when its program was not yet known. */
static struct tg_error *name_share(struct tg_job_model *model, struct process *process, const char *program)
{
    struct share_key key;
    struct share *share = NULL, *other = NULL;
    memset(&key, 0, sizeof key);
    key.control_group = process->groups.control_group;
    key.program = process->program;
    HASH_FIND(hh, model->shares, &key, sizeof key, share);
    key.program = program;
    HASH_FIND(hh, model->shares, &key, sizeof key, other);
    if (share == NULL || other != NULL || *process->program != '\0')
        return find_share(model, process->groups.control_group, program, &process->groups.share_group);
    HASH_DEL(model->shares, share);
    share->key = key;
    struct tg_error *error = TG_HASH_ADD(hh, model->shares, key, share);
    if (error != NULL)
        free(share);
    return error;
}

static struct tg_error *take_program(struct tg_job_model *model, struct process *process, const char *path)
{
    const char *program = NULL;
    struct tg_error *error = tg_string_pool_intern(&model->programs, path, &program);
    if (error != NULL || program == process->program)
        return error;
    error = name_share(model, process, program);
    if (error == NULL)
        process->program = program;
    return error;
}

/* Removes all threads but the first, as exec does. */
static struct tg_error *take_exec(struct tg_job_model *model, struct process *process, const char *path)
{
    remove_threads(process, find_tid(process, process->pid));
    struct tg_error *error = add_thread(process, process->pid);
    return error != NULL ? error : take_program(model, process, path);
}

/* ---- ranks */

/* Whether PROGRAM only starts others: a shell that runs a rank has that rank's environment, and is none. */
static bool is_wrapper(const char *program)
{
    static const char *const names[] = {"sh", "bash", "dash", "zsh", "ksh", "csh", "tcsh", "busybox", "time"};
    const char *slash = strrchr(program, '/'), *name = slash == NULL ? program : slash + 1;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (strcmp(name, names[i]) == 0)
            return true;
    return false;
}

static const struct ranks *find_ranks(const struct tg_job_model *model, uint32_t launcher, const char *job)
{
    for (size_t i = 0; i < model->n_ranks; i++)
        if (model->ranks[i].launcher == launcher && (launcher != 0 || model->ranks[i].job == job))
            return &model->ranks[i];
    return NULL;
}

bool tg_job_model_is_of_ranks(const struct tg_job_model *model, uint32_t control_group)
{
    for (size_t i = 0; i < model->n_ranks; i++)
        if (model->ranks[i].control_group == control_group)
            return true;
    return false;
}

/* A new control group for the ranks like PROCESS; of one that nobody started its own. */
static struct tg_error *begin_ranks(struct tg_job_model *model, const struct process *process,
                                    uint32_t launcher, const char *job)
{
    struct ranks made = {launcher, job, process->groups.control_group, process->groups.workers_group};
    if (launcher != 0) {
        made.control_group = model->last_group + 1;
        made.workers_group = model->last_group + 2;
    }
    struct tg_error *error = TG_ARRAY_APPEND(model->ranks, model->n_ranks, model->ranks_capacity, made);
    if (error == NULL && launcher != 0)
        model->last_group += 2;
    return error;
}

/* PROCESS is a rank: it is controlled with the other ones, apart from what has started them. */
static struct tg_error *take_identity(struct tg_job_model *model, struct process *process,
                                      const struct tg_event_identity *identity)
{
    const char *job = NULL;
    bool is_helper = is_wrapper(process->program) || process->ancestor == identity->rank;
    process->rank = is_helper ? -1 : identity->rank;
    if (process->rank < 0 || tg_job_model_is_of_ranks(model, process->groups.control_group))
        return NULL;
    uint32_t launcher = process->is_root ? 0 : process->groups.control_group;
    struct tg_error *error =
        tg_string_pool_intern(&model->programs, identity->job == NULL ? "" : identity->job, &job);
    if (error == NULL && find_ranks(model, launcher, job) == NULL)
        error = begin_ranks(model, process, launcher, job);
    if (error != NULL)
        return error;
    const struct ranks *ranks = find_ranks(model, launcher, job);
    if (ranks->control_group == process->groups.control_group)
        return NULL;
    process->groups.control_group = ranks->control_group;
    process->groups.workers_group = ranks->workers_group;
    return find_share(model, ranks->control_group, process->program, &process->groups.share_group);
}

struct tg_error *tg_job_model_feed(struct tg_job_model *model, const struct tg_event *event)
{
    struct process *process = event->pid > 0 ? find_process(model, event->pid) : NULL;
    struct tg_error *error = NULL;
    switch ((unsigned)event->kind) {
    case TG_EVENT_PROCESS_START:
        if (process != NULL) /* the number is used again, its former end was not seen */
            end_process(model, process);
        return event->pid > 0 ? need_process(model, event, &process) : NULL;
    case TG_EVENT_PROGRAM:
    case TG_EVENT_EXEC:
    case TG_EVENT_THREAD_START:
    case TG_EVENT_IDENTITY:
        if (event->pid <= 0)
            return NULL;
        error = need_process(model, event, &process);
        break;
    case TG_EVENT_THREAD_EXIT:
        if (process != NULL && find_tid(process, event->tid) != NULL)
            remove_thread(process, find_tid(process, event->tid));
        return NULL;
    case TG_EVENT_PROCESS_EXIT:
    case TG_EVENT_DETACH:
        if (process != NULL)
            end_process(model, process);
        return NULL;
    default:
        return NULL;
    }
    if (error != NULL)
        return error;
    if (event->kind == TG_EVENT_THREAD_START)
        return add_thread(process, event->tid);
    if (event->kind == TG_EVENT_EXEC)
        return take_exec(model, process, event->exec.path);
    if (event->kind == TG_EVENT_PROGRAM)
        return take_program(model, process, event->program.path);
    return take_identity(model, process, &event->identity);
}

/* ---- names */

bool tg_job_model_set_manager(struct tg_job_model *model, int32_t pid, int32_t tid, bool is_manager)
{
    const struct process *process = find_process(model, pid);
    struct thread *thread = process == NULL ? NULL : find_tid(process, tid);
    if (thread != NULL)
        thread->is_manager = is_manager;
    return thread != NULL;
}

bool tg_job_model_thread_id(const struct tg_job_model *model, int32_t pid, int32_t tid,
                            struct tg_thread_id *id)
{
    const struct process *process = find_process(model, pid);
    const struct thread *thread = process == NULL || tid == 0 ? NULL : find_tid(process, tid);
    if (process == NULL || (tid != 0 && thread == NULL))
        return false;
    *id = (struct tg_thread_id){process->groups.dpid, thread == NULL ? 0 : thread->dtid};
    return true;
}

bool tg_job_model_name(const struct tg_job_model *model, struct tg_thread_id id, int32_t *pid, int32_t *tid)
{
    const struct process *process = process_of(model, id.dpid);
    if (process == NULL)
        return false;
    const struct thread *thread = find_dtid(process, id.dtid);
    if (id.dtid != 0 && thread == NULL)
        return false;
    *pid = process->pid;
    *tid = thread == NULL ? 0 : thread->tid;
    return true;
}

bool tg_job_model_groups(const struct tg_job_model *model, uint32_t dpid, struct tg_process_groups *groups)
{
    const struct process *process = process_of(model, dpid);
    if (process != NULL)
        *groups = process->groups;
    return process != NULL;
}

bool tg_job_model_rank(const struct tg_job_model *model, uint32_t dpid, int64_t *rank)
{
    if (dpid == 0 || dpid > model->n_processes || model->processes[dpid - 1]->rank < 0)
        return false;
    *rank = model->processes[dpid - 1]->rank;
    return true;
}

/* ---- named groups */

static bool is_name(const char *name)
{
    enum { MAX_SIZE = 63 };
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_";
    size_t size = strlen(name);
    return size > 0 && size <= MAX_SIZE && strchr(letters, name[0]) != NULL &&
           strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789.:+-") == size;
}

static struct user_group *find_group(const struct tg_job_model *model, const char *name)
{
    for (size_t i = 0; i < model->n_groups; i++)
        if (strcmp(model->groups[i].name, name) == 0)
            return &model->groups[i];
    return NULL;
}

static struct tg_error *no_such_group(const char *name)
{
    return tg_error_create(TG_ERROR_NOT_FOUND, "no group '%.80s'; `dgroups -list` lists them", name);
}

struct tg_error *tg_job_model_add_group(struct tg_job_model *model, const char *name, uint32_t *number)
{
    if (!is_name(name))
        return tg_error_create(
            TG_ERROR_USAGE,
            "invalid group name '%.80s': use letters, digits and _ . : + -, and begin with a letter or '_' "
            "(63 characters at most)",
            name);
    if (find_group(model, name) != NULL)
        return tg_error_create(TG_ERROR_EXISTS, "group '%s' exists already", name);
    if (TG_ARRAY_RESERVE(model->groups, model->groups_capacity, model->n_groups + 1) != NULL)
        return tg_error_no_memory();
    char *copy = strdup(name);
    if (copy == NULL)
        return tg_error_no_memory();
    *number = ++model->last_group;
    model->groups[model->n_groups++] = (struct user_group){.number = *number, .name = copy};
    return NULL;
}

struct tg_error *tg_job_model_delete_group(struct tg_job_model *model, const char *name)
{
    struct user_group *group = find_group(model, name);
    if (group == NULL)
        return no_such_group(name);
    free(group->name);
    free(group->members);
    size_t behind = (size_t)(model->groups + model->n_groups - (group + 1));
    memmove(group, group + 1, behind * sizeof *group);
    model->n_groups--;
    return NULL;
}

static struct tg_error *not_found(struct tg_thread_id id)
{
    if (id.dtid == 0)
        return tg_error_create(TG_ERROR_NOT_FOUND, "no process %" PRIu32, id.dpid);
    return tg_error_create(TG_ERROR_NOT_FOUND, "no thread %" PRIu32 ".%" PRIu32, id.dpid, id.dtid);
}

struct tg_error *tg_job_model_join_group(struct tg_job_model *model, const char *name, struct tg_thread_id id)
{
    struct user_group *group = find_group(model, name);
    int32_t pid, tid;
    if (group == NULL)
        return no_such_group(name);
    if (!tg_job_model_name(model, id, &pid, &tid))
        return not_found(id);
    for (size_t i = 0; i < group->n_members; i++)
        if (group->members[i].dpid == id.dpid && group->members[i].dtid == id.dtid)
            return NULL;
    if (TG_ARRAY_RESERVE(group->members, group->capacity, group->n_members + 1) != NULL)
        return tg_error_no_memory();
    group->members[group->n_members++] = id;
    return NULL;
}

struct tg_error *tg_job_model_leave_group(struct tg_job_model *model, const char *name,
                                          struct tg_thread_id id)
{
    struct user_group *group = find_group(model, name);
    if (group == NULL)
        return no_such_group(name);
    for (size_t i = 0; i < group->n_members; i++) {
        if (group->members[i].dpid != id.dpid || group->members[i].dtid != id.dtid)
            continue;
        group->members[i] = group->members[--group->n_members];
        return NULL;
    }
    return not_found(id);
}

/* ---- the view */

static struct tg_error *view_process(const struct process *process, tg_job_model_state *state, void *context,
                                     struct tg_job_view *view)
{
    struct tg_job_thread answer = {.state = TG_JOB_RUNNING};
    if (state != NULL && process->alive)
        state(context, (struct tg_thread_id){process->groups.dpid, 0}, &answer);
    const struct tg_job_process_info info = {.dpid = process->groups.dpid,
                                             .rank = process->rank,
                                             .control_group = process->groups.control_group,
                                             .share_group = process->groups.share_group,
                                             .workers_group = process->groups.workers_group,
                                             .exists = process->alive,
                                             .held = answer.held,
                                             .tag = answer.tag};
    struct tg_error *error = tg_job_view_add_process(view, &info);
    for (const struct thread *at = process->threads; error == NULL && at != NULL; at = at->hh.next) {
        struct tg_job_thread thread = {
            .dtid = at->dtid, .state = TG_JOB_RUNNING, .is_manager = at->is_manager};
        if (state != NULL)
            state(context, (struct tg_thread_id){info.dpid, thread.dtid}, &thread);
        error = tg_job_view_add_thread(view, &thread);
    }
    return error;
}

struct tg_error *tg_job_model_view(const struct tg_job_model *model, tg_job_model_state *state, void *context,
                                   struct tg_job_view *view)
{
    struct tg_error *error = NULL;
    for (size_t i = 0; error == NULL && i < model->n_processes; i++)
        error = view_process(model->processes[i], state, context, view);
    for (size_t i = 0; error == NULL && i < model->n_groups; i++) {
        const struct user_group *group = &model->groups[i];
        error = tg_job_view_add_group(view, group->number, group->name);
        for (size_t j = 0; error == NULL && j < group->n_members; j++)
            error = tg_job_view_add_member(view, group->members[j].dpid, group->members[j].dtid);
    }
    return error;
}

static struct tg_error *print_group(const struct tg_job_view *view, const struct tg_job_group *group,
                                    FILE *stream)
{
    static const char *const kinds[] = {"control", "share", "workers", ""};
    TG_AUTO_JOB_SET struct tg_job_set members = {0};
    struct tg_error *error = tg_job_set_init(&members, view);
    if (error != NULL)
        return error;
    for (size_t p = 0; p < tg_job_view_count(view); p++) {
        const struct tg_job_process *process = tg_job_view_at(view, p);
        for (size_t i = 0; process->info.exists && (i < process->n_threads || i == 0); i++)
            if (tg_job_view_is_member(view, group, process, i))
                tg_job_set_add(&members, process, i);
    }
    if (group->name == NULL && tg_job_set_is_empty(&members))
        return NULL;
    fprintf(stream, "%" PRIu32 " %s: ", group->number,
            group->name != NULL ? group->name : kinds[group->kind]);
    error = tg_job_list_print(view, &members, stream);
    fputc('\n', stream);
    return error;
}

struct tg_error *tg_job_model_print_groups(const struct tg_job_model *model, FILE *stream)
{
    struct tg_job_view *view = NULL;
    struct tg_error *error = tg_job_view_create(&view);
    if (error == NULL)
        error = tg_job_model_view(model, NULL, NULL, view);
    for (uint32_t number = 1; error == NULL && number <= model->last_group; number++) {
        struct tg_job_group group;
        if (tg_job_view_group(view, number, &group))
            error = print_group(view, &group, stream);
    }
    tg_job_view_destroy(view);
    return error;
}
