/* The search for leaks: which blocks of a heap nothing refers to any more. Reads the memory of a process, never changes
 * it; the process is stopped or ending, or the answer is of no moment. */
#ifndef TG_RECORDER_LEAKS_LEAK_SEARCH_H
#define TG_RECORDER_LEAKS_LEAK_SEARCH_H

#include "format/base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum tg_leak_state {
    TG_LEAK_UNSEEN, /* the search's own: no block is so afterwards */
    TG_LEAK_REACHED,
    TG_LEAK_INTERIOR, /* only pointers into it, or from blocks that are so, lead there */
    TG_LEAK_LOST,     /* nothing refers to it, or only blocks that it leads to itself */
    TG_LEAK_INDIRECT, /* only lost blocks refer to it */
};

/* A live block of the heap. */
struct tg_leak_block {
    uint64_t address, size_bytes;
    uint32_t stack;    /* the caller's */
    uint8_t state;     /* enum tg_leak_state, the answer */
    uint8_t marks;     /* the search's */
    bool is_inherited; /* the caller's: a forked child has it of its parent */
};

/* Memory that is searched for pointers from the beginning. */
struct tg_leak_root {
    uint64_t address, size_bytes;
    bool
        is_allocators; /* libc's data: its allocator has pointers there to what follows a block, of which a block's
                         * last bytes are part */
};

struct tg_leak_search {
    pid_t tid;                        /* a thread through which memory is read */
    struct tg_leak_block *blocks;     /* in any order; afterwards sorted, none larger than its memory */
    size_t n_blocks;                  /* less than 2^32 - 1 */
    const struct tg_leak_root *roots; /* blocks that lie in them are left out of them */
    size_t n_roots;
    const uint64_t *words; /* pointers from elsewhere: registers */
    size_t n_words;
};

struct tg_leak_found {
    uint64_t searched_bytes, unread_bytes;
};

/* Gives each block its state. Pointers are words at multiples of eight. Only error: NO_MEMORY. Memory: 9 bytes a block
 * at most, and 4 bytes for every 4 KiB that they lie in. */
struct tg_error *tg_leak_search_run(const struct tg_leak_search *search, struct tg_leak_found *found);

#endif
