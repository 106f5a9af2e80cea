/* The live blocks of the processes of a recording, by the events of their heaps. One thread adds events, another may ask. */
#ifndef TG_RECORDER_LEAKS_LIVE_BLOCKS_H
#define TG_RECORDER_LEAKS_LIVE_BLOCKS_H

#include "format/base/error.h"
#include "format/event/event.h"
#include "recorder/leaks/leak_search.h"
#include "recorder/leaks/live_ahead.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct tg_live_blocks;

struct tg_error *tg_live_blocks_create(struct tg_live_blocks **live);
/* NULL is accepted. */
void tg_live_blocks_destroy(struct tg_live_blocks *live);

/* In the order of the trace; others than those of heaps, forks, programs, ends and losses are ignored. A process for which
 * there is no memory is not known any more. */
void tg_live_blocks_add(struct tg_live_blocks *live, const struct tg_event *event);

/* Whether the heap of PID is observed, more than a sample of it. AHEAD, which may be NULL, is what is known of the process
 * beyond the events that were added; some of it may have been added meanwhile. Any thread. */
bool tg_live_blocks_wants_search(struct tg_live_blocks *live, pid_t pid, const struct tg_live_ahead *ahead);

/* The blocks of process PID, and AHEAD as above, with the stacks of their events; *BLOCKS is the caller's to free.
 * NOT_FOUND where its heap is not known, or not in full (a sample, a process that was attached): the text says why. Any
 * thread. */
struct tg_error *tg_live_blocks_copy(struct tg_live_blocks *live, pid_t pid,
                                     const struct tg_live_ahead *ahead, struct tg_leak_block **blocks,
                                     size_t *count);

/* What an access to a page that may not be touched was about. */
struct tg_red_zone_hit {
    uint64_t block, size_bytes;
    uint32_t allocated_stack, freed_stack; /* numbers of the trace, 0 unknown */
    int32_t allocated_tid, freed_tid;
    bool was_freed;
};

/* Whether blocks of PID have red zones. Any thread. */
bool tg_live_blocks_have_red_zones(struct tg_live_blocks *live, pid_t pid);

/* The block of PID with red zones that an access to ADDRESS touched, or came next to. False: none. Any thread. */
bool tg_live_blocks_near(struct tg_live_blocks *live, pid_t pid, uint64_t address,
                         struct tg_red_zone_hit *hit);

#endif
