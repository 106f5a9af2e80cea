#include "recorder/look/look.h"

#include "format/base/array.h"
#include "recorder/look/jobs.h"
#include "recorder/look/launcher_table.h"
#include "recorder/look/process_tree.h"
#include "recorder/look/shared.h"
#include "recorder/look/visits.h"
#include "recorder/process/attach_refusal.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

static const uint64_t NAMES_NS = 20000000000;

/* Roots of what is looked at: those asked for, and ranks that their tables name. */
struct roots {
    pid_t *pids;
    size_t count, capacity;
};

static bool has_ranks(const struct tg_process_tree *tree, pid_t pid)
{
    for (size_t i = 0; i < tree->count; i++)
        if (tg_process_tree_descends(tree, tree->processes[i].pid, pid) &&
            tg_jobs_is_rank(tree, tree->processes[i].pid))
            return true;
    return false;
}

static struct tg_error *find_roots(const struct tg_look_shared *look, const struct tg_look_request *request,
                                   const struct tg_process_tree *tree, struct roots *roots)
{
    pid_t *ranks = calloc(tree->count + 1, sizeof *ranks);
    struct tg_error *error = ranks == NULL ? tg_error_no_memory() : NULL;
    for (size_t i = 0; error == NULL && i < request->count; i++) {
        pid_t pid = request->pids[i];
        bool may_have_table =
            request->with_descendants && tg_process_tree_find(tree, pid) != NULL && !has_ranks(tree, pid);
        size_t count = may_have_table
                           ? tg_launcher_table_ranks(tree, pid, look->images, look->debug, ranks, tree->count)
                           : 0;
        error = TG_ARRAY_APPEND(roots->pids, roots->count, roots->capacity, pid);
        for (size_t k = 0; error == NULL && k < count; k++)
            error = TG_ARRAY_APPEND(roots->pids, roots->count, roots->capacity, ranks[k]);
    }
    free(ranks);
    return error;
}

static bool is_wanted(const struct tg_look_request *request, const struct roots *roots,
                      const struct tg_process_tree *tree, pid_t pid)
{
    for (size_t i = 0; i < roots->count; i++)
        if (request->with_descendants ? tg_process_tree_descends(tree, pid, roots->pids[i])
                                      : pid == roots->pids[i])
            return true;
    return false;
}

/* Whether PID traces tollgate, or what traces it, and so on: it cannot be stopped, as tollgate waits for it at its own next
 * system call. */
static bool traces_tollgate(pid_t pid)
{
    enum { MAX_TRACERS = 16 };
    struct tg_proc_status status;
    pid_t traced = getpid();
    for (int i = 0; i < MAX_TRACERS && tg_proc_status_read(traced, &status) && status.tracer != 0; i++) {
        traced = status.tracer;
        if (traced == pid || (tg_proc_status_read(traced, &status) && status.tgid == pid))
            return true;
    }
    return false;
}

static void refuse_missing(const struct tg_look_shared *look, const struct tg_look_request *request,
                           const struct tg_process_tree *tree)
{
    char reason[300];
    for (size_t i = 0; i < request->count; i++) {
        pid_t pid = request->pids[i];
        if (tg_process_tree_find(tree, pid) != NULL && pid != getpid())
            continue;
        tg_attach_refusal_reason(pid, ESRCH, reason, sizeof reason);
        look->sink->refuse(look->sink->context, pid, reason);
    }
}

static struct tg_error *look_at_all(struct tg_look_shared *look, const struct tg_look_request *request,
                                    const struct tg_process_tree *tree)
{
    struct roots roots = {0};
    pid_t *pids = calloc(tree->count + 1, sizeof *pids);
    size_t count = 0;
    refuse_missing(look, request, tree);
    struct tg_error *error = pids == NULL ? tg_error_no_memory() : find_roots(look, request, tree, &roots);
    for (size_t i = 0; error == NULL && i < tree->count; i++) {
        pid_t pid = tree->processes[i].pid;
        if (pid == getpid() || !is_wanted(request, &roots, tree, pid))
            continue;
        if (traces_tollgate(pid)) {
            look->sink->refuse(look->sink->context, pid,
                               "it traces tollgate itself; run tollgate without it");
            continue;
        }
        pids[count++] = pid;
    }
    if (error == NULL)
        error = tg_visits_make(look, pids, count);
    free(pids);
    free(roots.pids);
    return error;
}

static struct tg_error *look_now(const struct tg_look_request *request, const struct tg_look_sink *sink,
                                 bool is_first)
{
    struct tg_look_shared look;
    struct tg_process_tree tree = {0};
    struct tg_error *error = tg_look_shared_init(sink, request->with_values, &look);
    look.is_first = is_first;
    look.watch = request->watch;
    if (error == NULL)
        error = tg_process_tree_read(&tree);
    if (error == NULL)
        error = look_at_all(&look, request, &tree);
    if (error == NULL)
        tg_look_shared_tell(&look, NAMES_NS);
    tg_process_tree_deinit(&tree);
    tg_look_shared_deinit(&look);
    return error;
}

/* Processes that are stopped wait for tollgate, and tollgate for a processor beside ranks that poll: where it may it goes
 * first. */
struct tg_error *tg_look(const struct tg_look_request *request, const struct tg_look_sink *sink)
{
    struct tg_error *error = tg_proc_status_check();
    if (error != NULL)
        return error;
    int before = getpriority(PRIO_PROCESS, 0);
    bool is_first = setpriority(PRIO_PROCESS, 0, -20) == 0;
    error = look_now(request, sink, is_first);
    if (is_first)
        setpriority(PRIO_PROCESS, 0, before);
    return error;
}
