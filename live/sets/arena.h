/* An arena, the unit of process/thread sets, and the limits of sets. */
#ifndef TG_LIVE_SETS_ARENA_H
#define TG_LIVE_SETS_ARENA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    TG_PTSET_MAX_BYTES = 1 << 16,
    TG_PTSET_MAX_NODES = 4096, /* arenas, functions and operators */
    TG_PTSET_MAX_DEPTH = 64,   /* lists, parentheses, functions and operators within each other */
    TG_PTSET_NAME_SIZE =
        64, /* of a group's name with its NUL: a letter or '_', then these, digits, . : + - */
};

enum tg_ptset_width {
    TG_WIDTH_MISSING,
    TG_WIDTH_THREAD,
    TG_WIDTH_PROCESS,
    TG_WIDTH_GROUP,
    TG_WIDTH_ALL,
    TG_WIDTH_DEFAULT, /* the command's own */
};

enum tg_ptset_group {
    TG_GROUP_MISSING,
    TG_GROUP_DEFAULT, /* the command's own */
    TG_GROUP_CONTROL,
    TG_GROUP_SHARE,
    TG_GROUP_WORKERS,
    TG_GROUP_LOCKSTEP,
    TG_GROUP_NUMBER,
    TG_GROUP_NAME,
};

/* One arena. In a complete set only the group may be missing: the default one. */
struct tg_ptset_arena {
    enum tg_ptset_width width;
    enum tg_ptset_group group;
    uint32_t group_number; /* TG_GROUP_NUMBER */
    char group_name[TG_PTSET_NAME_SIZE];
    bool has_process, has_thread;
    bool by_rank;                           /* the process is named by its rank */
    uint32_t process;                       /* dpid or rank */
    uint32_t thread;                        /* dtid; 0: '<' */
    size_t position;                        /* in the text, for errors */
    size_t group_at, process_at, thread_at; /* of these parts, POSITION where they are not given */
};

#endif
