#include "recorder/look/process_tree.h"

#include "format/base/array.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

static int compare(const void *a, const void *b)
{
    const struct tg_tree_process *x = a, *y = b;
    return (x->pid > y->pid) - (x->pid < y->pid);
}

/* A first thread may end before the others, which have the memory then. */
static bool is_alive(const struct tg_tree_process *process)
{
    char path[40];
    struct stat status;
    snprintf(path, sizeof path, "/proc/%d/task", (int)process->pid);
    if (tg_proc_status_is_dead(&process->status))
        return stat(path, &status) == 0 && status.st_nlink > 3;
    return process->status.has_memory;
}

struct tg_error *tg_process_tree_read(struct tg_process_tree *tree)
{
    struct tg_error *error = NULL;
    *tree = (struct tg_process_tree){0};
    DIR *directory = opendir("/proc");
    if (directory == NULL)
        return NULL;
    for (struct dirent *entry; error == NULL && (entry = readdir(directory)) != NULL;) {
        struct tg_tree_process process = {.pid = (pid_t)strtol(entry->d_name, NULL, 10)};
        if (process.pid <= 0 || !tg_proc_status_read(process.pid, &process.status) || !is_alive(&process))
            continue;
        error = TG_ARRAY_APPEND(tree->processes, tree->count, tree->capacity, process);
    }
    closedir(directory);
    if (error == NULL && tree->count > 0)
        qsort(tree->processes, tree->count, sizeof *tree->processes, compare);
    return error;
}

void tg_process_tree_deinit(struct tg_process_tree *tree)
{
    free(tree->processes);
    *tree = (struct tg_process_tree){0};
}

const struct tg_tree_process *tg_process_tree_find(const struct tg_process_tree *tree, pid_t pid)
{
    const struct tg_tree_process key = {.pid = pid};
    return tree->count == 0 ? NULL
                            : bsearch(&key, tree->processes, tree->count, sizeof *tree->processes, compare);
}

const struct tg_tree_process *tg_process_tree_parent(const struct tg_process_tree *tree,
                                                     const struct tg_tree_process *process)
{
    return process == NULL ? NULL : tg_process_tree_find(tree, process->status.parent);
}

bool tg_process_tree_descends(const struct tg_process_tree *tree, pid_t pid, pid_t ancestor)
{
    const struct tg_tree_process *process = tg_process_tree_find(tree, pid);
    /* ids are used again: what was read one after the other may have circles */
    for (size_t n = 0; process != NULL && n <= tree->count; n++) {
        if (process->pid == ancestor)
            return true;
        process = tg_process_tree_parent(tree, process);
    }
    return false;
}
