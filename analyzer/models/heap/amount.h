/* How much memory blocks are, by a recording of all of them or of a sample. */
#ifndef TG_ANALYZER_MODELS_HEAP_AMOUNT_H
#define TG_ANALYZER_MODELS_HEAP_AMOUNT_H

#include <stdint.h>

/* Blocks. Where a sample was recorded: an estimate of all by the sampled ones. */
struct tg_heap_amount {
    uint64_t parts;  /* number of blocks, in 1 / TG_HEAP_PARTS: see tg_heap_amount_blocks */
    uint64_t bytes;  /* as asked for */
    double variance; /* of BYTES as an estimate; 0 where all blocks were recorded */
};
enum { TG_HEAP_PARTS = 1 << 12 };

static inline uint64_t tg_heap_amount_blocks(const struct tg_heap_amount *amount)
{
    return (amount->parts + TG_HEAP_PARTS / 2) / TG_HEAP_PARTS;
}
/* The standard error of the bytes. */
uint64_t tg_heap_amount_error(const struct tg_heap_amount *amount);
void tg_heap_amount_add(struct tg_heap_amount *sum, const struct tg_heap_amount *more);
/* LESS is a part of FROM. */
void tg_heap_amount_subtract(struct tg_heap_amount *from, const struct tg_heap_amount *less);

/* What one recorded block of SIZE_BYTES stands for, where one byte of SAMPLE_BYTES is sampled; 0: all blocks are recorded. */
struct tg_heap_amount tg_heap_amount_of_block(uint64_t size_bytes, uint64_t sample_bytes);

#endif
