/* The live blocks of one heap, by address: one look, whatever their number. */
#ifndef TG_ANALYZER_MODELS_HEAP_BLOCKS_H
#define TG_ANALYZER_MODELS_HEAP_BLOCKS_H

#include "format/base/error.h"

#include <stddef.h>
#include <stdint.h>

enum { TG_HEAP_BLOCK_LAST_SITE = (1 << 27) - 1, TG_HEAP_BLOCK_LAST_CALL = 14 };

struct tg_heap_block {
    uint64_t address; /* 0: no block */
    uint64_t size_bytes;
    uint64_t time_ns;          /* of the call that gave it, or its latest size */
    uint32_t site : 27;        /* the owner's number for the place of that call */
    uint32_t call : 4;         /* one more than its enum tg_heap_call; 0: unknown */
    uint32_t is_inherited : 1; /* a forked process has it of its parent */
    int32_t tid;
};

/* Caller's storage; zero-initialised is empty. Memory follows the number of blocks. */
struct tg_heap_blocks {
    struct tg_heap_block *slots; /* a power of two of them */
    size_t n_slots, count;
};

void tg_heap_blocks_deinit(struct tg_heap_blocks *blocks);

/* The block that starts at ADDRESS, NULL none; valid until the next put or remove. */
struct tg_heap_block *tg_heap_blocks_find(const struct tg_heap_blocks *blocks, uint64_t address);

/* Adds *BLOCK, whose address is not 0 and not there yet. Only error: NO_MEMORY, which leaves all as it was. */
struct tg_error *tg_heap_blocks_put(struct tg_heap_blocks *blocks, const struct tg_heap_block *block);

/* Removes BLOCK, which a find handed out. */
void tg_heap_blocks_remove(struct tg_heap_blocks *blocks, struct tg_heap_block *block);

/* Each of them once, in no order: NULL starts and ends it. */
struct tg_heap_block *tg_heap_blocks_next(const struct tg_heap_blocks *blocks,
                                          const struct tg_heap_block *block);

#endif
