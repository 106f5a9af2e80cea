/* Owners of libgomp's nest locks (omp_nest_lock_t): a lock holds the address of its owner's settings, which are in the task that
 * the owner runs. Where a thread has its task, and a task its settings, is nowhere written down but in the code of
 * omp_set_nest_lock. */
#ifndef TG_RECORDER_STACKS_NEST_LOCKS_H
#define TG_RECORDER_STACKS_NEST_LOCKS_H

#include "recorder/unwind/frames.h"

struct tg_nest_locks {
    bool is_known;            /* else there is no libgomp, or its code is not what it was */
    uint64_t task_offset;     /* of the address of a thread's task, from the thread's fs_base */
    uint64_t settings_offset; /* in the task */
};

/* Reads the code of libgomp in MEMORY, if it is one of MODULES. */
struct tg_nest_locks tg_nest_locks_find(struct tg_modules *modules, const struct tg_inspect_memory *memory);

/* The same of SIZE bytes CODE, which are at ADDRESS. */
struct tg_nest_locks tg_nest_locks_read(const uint8_t *code, size_t size, uint64_t address,
                                        const struct tg_inspect_memory *memory);

#endif
