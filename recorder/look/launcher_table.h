/* Ranks of a job launcher that are no descendants of it (Slurm's): its MPIR table names them. */
#ifndef TG_RECORDER_LOOK_LAUNCHER_TABLE_H
#define TG_RECORDER_LOOK_LAUNCHER_TABLE_H

#include "recorder/look/process_tree.h"
#include "recorder/stacks/call_stack.h"

/* Processes of TREE that the table of LAUNCHER, which may be any process, names as ranks on this machine, and whose environment
 * says that they are some: at most MAX. Returns how many. */
size_t tg_launcher_table_ranks(const struct tg_process_tree *tree, pid_t launcher,
                               struct tg_image_cache *images, struct tg_debug_cache *debug, pid_t *ranks,
                               size_t max);

#endif
