#include "recorder/look/jobs.h"

#include "recorder/look/process_tree.h"
#include "recorder/process/identity.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Beginnings of the names of programs that start ranks, and of the daemons that do it for them. */
static const char *const launchers[] = {
    "mpirun", "mpiexec",         "orterun", "orted",      "prterun", "prted", "prte",
    "prun",   "hydra_pmi_proxy", "srun",    "slurmstepd", "aprun",   "jsrun", "flux",
};

static bool is_launcher(const struct tg_tree_process *process)
{
    for (size_t i = 0; i < sizeof launchers / sizeof *launchers; i++)
        if (strncmp(process->status.name, launchers[i], strlen(launchers[i])) == 0)
            return true;
    return false;
}

/* The uppermost launcher that PROCESS descends from, NULL none. */
static const struct tg_tree_process *launcher_of(const struct tg_process_tree *tree,
                                                 const struct tg_tree_process *process)
{
    const struct tg_tree_process *found = NULL;
    for (size_t n = 0; process != NULL && n <= tree->count; n++) {
        if (is_launcher(process))
            found = process;
        process = tg_process_tree_parent(tree, process);
    }
    return found;
}

static bool identify(const struct tg_tree_process *process, struct tg_identity *identity)
{
    struct tg_environment environment = {0};
    bool is_known = process != NULL && tg_environment_read(process->pid, &environment);
    if (is_known)
        tg_identity_find(&environment, identity);
    tg_environment_deinit(&environment);
    return is_known && identity->rank >= 0;
}

/* A rank; its children, which have its environment, are none. */
static bool is_rank(const struct tg_process_tree *tree, const struct tg_tree_process *process,
                    struct tg_identity *identity)
{
    struct tg_identity parent;
    if (is_launcher(process) || !identify(process, identity))
        return false;
    return !identify(tg_process_tree_parent(tree, process), &parent) || parent.rank != identity->rank ||
           strcmp(parent.job, identity->job) != 0;
}

bool tg_jobs_is_rank(const struct tg_process_tree *tree, pid_t pid)
{
    const struct tg_tree_process *process = tg_process_tree_find(tree, pid);
    struct tg_identity identity;
    return process != NULL && is_rank(tree, process, &identity);
}

static struct tg_running_job *find(struct tg_running_job *jobs, size_t count, pid_t launcher)
{
    for (size_t i = 0; i < count; i++)
        if (jobs[i].launcher == launcher)
            return &jobs[i];
    return NULL;
}

size_t tg_jobs_find(struct tg_running_job *jobs, size_t max)
{
    struct tg_process_tree tree;
    struct tg_identity identity;
    size_t count = 0;
    tg_error_destroy(tg_process_tree_read(&tree));
    for (size_t i = 0; i < tree.count; i++) {
        const struct tg_tree_process *process = &tree.processes[i];
        if (!is_rank(&tree, process, &identity))
            continue;
        const struct tg_tree_process *launcher = launcher_of(&tree, process);
        const struct tg_tree_process *chief = launcher != NULL ? launcher : process;
        struct tg_running_job *job = find(jobs, count, chief->pid);
        if (job == NULL && count == max)
            continue;
        if (job == NULL) {
            job = &jobs[count++];
            *job = (struct tg_running_job){.launcher = chief->pid};
            snprintf(job->program, sizeof job->program, "%s", process->status.name);
            snprintf(job->launcher_name, sizeof job->launcher_name, "%s",
                     launcher != NULL ? launcher->status.name : "");
            snprintf(job->job, sizeof job->job, "%.63s", identity.job);
        }
        job->ranks++;
    }
    tg_process_tree_deinit(&tree);
    return count;
}

size_t tg_jobs_find_ranks(int32_t launcher, struct tg_running_rank *ranks, size_t max)
{
    struct tg_process_tree tree;
    struct tg_identity identity;
    size_t count = 0;
    tg_error_destroy(tg_process_tree_read(&tree));
    for (size_t i = 0; i < tree.count && count < max; i++)
        if (tg_process_tree_descends(&tree, tree.processes[i].pid, launcher) &&
            is_rank(&tree, &tree.processes[i], &identity))
            ranks[count++] = (struct tg_running_rank){tree.processes[i].pid, (uint64_t)identity.rank};
    tg_process_tree_deinit(&tree);
    return count;
}
