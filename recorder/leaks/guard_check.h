/* Looks at the guards of all live blocks of a process that --heap=check observes, from outside, now: memory is read, never
 * changed. */
#ifndef TG_RECORDER_LEAKS_GUARD_CHECK_H
#define TG_RECORDER_LEAKS_GUARD_CHECK_H

#include "format/base/error.h"
#include "format/event/event.h"
#include "recorder/engine/engine.h"
#include "recorder/leaks/live_blocks.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { TG_GUARD_CHECK_FAULTS = 100 };

struct tg_guard_check {
    uint64_t n_blocks; /* live ones with guards */
    uint64_t n_wrong;  /* of these: guards that were overwritten */
    uint64_t n_unread; /* of these: guards that could not be read */
    /* the first n_faults of n_wrong */
    struct tg_event_heap_error faults[TG_GUARD_CHECK_FAULTS];
    size_t n_faults;
};

/* Looks at the process of THREAD, whose threads all are stopped; faults become heap_error events, with stacks that LIVE knows. On
 * the tracer thread. Errors: NOT_FOUND, it has no table of checked blocks; TARGET, a thread runs, or its mappings cannot be read;
 * NO_MEMORY. */
struct tg_error *tg_guard_check_run(struct tg_engine *engine, struct tg_live_blocks *live,
                                    struct tg_thread *thread, struct tg_guard_check *check);

/* Looks at the guards of the process of THREAD, which runs no more, and at the freed blocks that it keeps, but for what its heap library
 * has told at the end of the program: what was written after that. Faults become heap_error events without stacks: those of the block are known from its own
 * events. IS_OWN: only blocks that this process itself allocated, or freed, not those of a parent that forked it. Errors as above. */
struct tg_error *tg_guard_check_at_end(struct tg_engine *engine, struct tg_thread *thread, bool is_own);

#endif
