/* The processes of this machine, as /proc has them now. */
#ifndef TG_RECORDER_LOOK_PROCESS_TREE_H
#define TG_RECORDER_LOOK_PROCESS_TREE_H

#include "format/base/error.h"
#include "recorder/process/proc_status.h"

#include <stddef.h>

struct tg_tree_process {
    pid_t pid;
    struct tg_proc_status status;
};

/* In the order of their ids. Kernel threads and processes that have ended are not in it. */
struct tg_process_tree {
    struct tg_tree_process *processes;
    size_t count, capacity;
};

/* Fails only for want of memory. */
struct tg_error *tg_process_tree_read(struct tg_process_tree *tree);
void tg_process_tree_deinit(struct tg_process_tree *tree);

/* NULL: there is none. */
const struct tg_tree_process *tg_process_tree_find(const struct tg_process_tree *tree, pid_t pid);
const struct tg_tree_process *tg_process_tree_parent(const struct tg_process_tree *tree,
                                                     const struct tg_tree_process *process);

/* Whether PID is ANCESTOR, or descends from it. */
bool tg_process_tree_descends(const struct tg_process_tree *tree, pid_t pid, pid_t ancestor);

#endif
