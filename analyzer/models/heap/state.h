/* What the heap model knows of one process: what it tells, and what it needs to follow its events. */
#ifndef TG_ANALYZER_MODELS_HEAP_STATE_H
#define TG_ANALYZER_MODELS_HEAP_STATE_H

#include "analyzer/models/heap/frees.h"
#include "analyzer/models/heap/process.h"
#include "format/base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tg_heap_early_free;

struct tg_heap_state {
    struct tg_heap_process is;
    uint32_t *site_of_stack; /* by number of a stack: its site + 1; 0: not told */
    size_t stack_capacity, n_stacks;
    uint32_t *site_of_path; /* site + 1; 0: none yet */
    size_t path_capacity, n_paths, site_capacity, leak_capacity;
    struct tg_heap_scan coming;       /* leaks whose search is not told yet */
    struct tg_heap_early_free *early; /* NULL: none yet */
    struct tg_heap_frees *frees;      /* of this process and its parents, where blocks are checked */
    uint64_t peak;                    /* how many peaks there were */
};

/* Only error, here and below: NO_MEMORY. */
struct tg_error *tg_heap_state_create(size_t process, int32_t pid, struct tg_heap_state **state);
/* NULL is accepted. */
void tg_heap_state_destroy(struct tg_heap_state *state);

/* STACK, the number in events, is the call path PATH. */
struct tg_error *tg_heap_state_tell_stack(struct tg_heap_state *state, uint64_t stack, uint32_t path);
/* Stacks are numbered anew. */
void tg_heap_state_forget_stacks(struct tg_heap_state *state);
/* The site of STACK; 0, that of unknown ones, where it was not told. */
uint32_t tg_heap_state_site_of_stack(const struct tg_heap_state *state, uint64_t stack);
uint32_t tg_heap_state_path_of_stack(const struct tg_heap_state *state, uint64_t stack);

/* A free of ADDRESS at TIME_NS, by the call path PATH, where no block is: it may have overtaken its allocation. Without memory, or where another
 * one comes whose address falls on its place, it is forgotten. */
void tg_heap_state_free_early(struct tg_heap_state *state, uint64_t address, uint64_t time_ns, uint32_t path);
/* Whether the block that is got at TIME_NS has been freed by an event that came before, by the call path *PATH; says so once. */
bool tg_heap_state_was_freed(struct tg_heap_state *state, uint64_t address, uint64_t time_ns, uint32_t *path);
void tg_heap_state_forget_frees(struct tg_heap_state *state);

/* STATE, just created, is that of a process that FROM's forked: it has its parent's settings, numbers of stacks and, if it
 * HAS_BLOCKS, its blocks; not where these are more than a fork may cost here: then it has blocks from before. */
struct tg_error *tg_heap_state_inherit(struct tg_heap_state *state, const struct tg_heap_state *from,
                                       bool has_blocks);

/* The latest search is what has been added since the search before, at most 1,048,576 leaks. */
struct tg_error *tg_heap_state_add_leak(struct tg_heap_state *state, const struct tg_event_heap_leak *leak);
/* SCAN's string lives as long as STATE. */
void tg_heap_state_end_scan(struct tg_heap_state *state, const struct tg_event_heap_leak_scan *scan,
                            uint64_t time_ns);

#endif
