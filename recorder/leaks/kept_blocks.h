/* The freed blocks that a process of --heap=check keeps: whether somebody has written to them since. Its memory is read, never
 * changed. */
#ifndef TG_RECORDER_LEAKS_KEPT_BLOCKS_H
#define TG_RECORDER_LEAKS_KEPT_BLOCKS_H

#include "format/event/event.h"
#include "recorder/agent/heap_block.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Zero at first. */
struct tg_kept_blocks {
    pid_t tid;
    struct tg_heap_hoarded *blocks; /* by address */
    size_t count;
};

/* Reads which blocks the process of TID keeps, by the ring at ADDRESS there; false: that cannot be read, or there is no memory. */
bool tg_kept_blocks_read(struct tg_kept_blocks *kept, pid_t tid, uint64_t address);
void tg_kept_blocks_deinit(struct tg_kept_blocks *kept);

/* Whether ENTRY's block is one of them, and has changed: *FAULT is how. The program may have written to ENTRY and to the ring: a block
 * of another size than is kept, or that is in both but cannot be read, is none. */
bool tg_kept_blocks_have_changed(const struct tg_kept_blocks *kept, const struct tg_heap_block_entry *entry,
                                 struct tg_event_heap_error *fault);

#endif
