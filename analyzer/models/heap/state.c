#include "analyzer/models/heap/state.h"

#include "format/base/array.h"

#include <stdlib.h>

enum {
    MAX_LEAKS = 1 << 20,
    EARLY_SLOTS = 1 << 10,   /* frees that may have overtaken their allocations */
    MAX_INHERITED = 1 << 22, /* blocks that a forked process is given */
};

/* A free without a block, in the slot of its address. */
struct tg_heap_early_free {
    uint64_t address, time_ns;
    uint32_t path; /* of the free */
};

/* ---- sites */

/* The index of the site with call path PATH, which is made where there is none. */
static struct tg_error *site_of(struct tg_heap_state *state, uint32_t path, uint32_t *site)
{
    struct tg_error *error = TG_ARRAY_RESERVE(state->site_of_path, state->path_capacity, (size_t)path + 1);
    if (error != NULL)
        return error;
    while (state->n_paths <= path)
        state->site_of_path[state->n_paths++] = 0;
    if (state->site_of_path[path] == 0) {
        error = TG_ARRAY_APPEND(state->is.sites, state->is.n_sites, state->site_capacity,
                                (struct tg_heap_site){.path = path});
        if (error != NULL)
            return error;
        state->site_of_path[path] = (uint32_t)state->is.n_sites;
    }
    *site = state->site_of_path[path] - 1;
    return NULL;
}

/* ---- lifetime */

struct tg_error *tg_heap_state_create(size_t process, int32_t pid, struct tg_heap_state **state)
{
    struct tg_heap_state *made = calloc(1, sizeof *made);
    if (made == NULL)
        return tg_error_no_memory();
    made->is.process = process;
    made->is.pid = pid;
    made->is.allocator = "";
    uint32_t unknown;
    struct tg_error *error = site_of(made, 0, &unknown);
    if (error != NULL) {
        tg_heap_state_destroy(made);
        return error;
    }
    *state = made;
    return NULL;
}

void tg_heap_state_destroy(struct tg_heap_state *state)
{
    if (state == NULL)
        return;
    free(state->site_of_stack);
    free(state->site_of_path);
    free(state->coming.leaks);
    free(state->early);
    free(state->is.scan.leaks);
    free(state->is.growth);
    free(state->is.by_size);
    free(state->is.sites);
    tg_heap_blocks_deinit(&state->is.blocks);
    tg_heap_frees_destroy(state->frees);
    free(state);
}

/* ---- stacks */

struct tg_error *tg_heap_state_tell_stack(struct tg_heap_state *state, uint64_t stack, uint32_t path)
{
    uint32_t site;
    struct tg_error *error = site_of(state, path, &site);
    if (error == NULL)
        error = TG_ARRAY_RESERVE(state->site_of_stack, state->stack_capacity, stack + 1);
    if (error != NULL)
        return error;
    while (state->n_stacks <= stack)
        state->site_of_stack[state->n_stacks++] = 0;
    state->site_of_stack[stack] = site + 1;
    return NULL;
}

void tg_heap_state_forget_stacks(struct tg_heap_state *state)
{
    state->n_stacks = 0;
}

uint32_t tg_heap_state_site_of_stack(const struct tg_heap_state *state, uint64_t stack)
{
    if (stack >= state->n_stacks || state->site_of_stack[stack] == 0)
        return 0;
    return state->site_of_stack[stack] - 1;
}

uint32_t tg_heap_state_path_of_stack(const struct tg_heap_state *state, uint64_t stack)
{
    return state->is.sites[tg_heap_state_site_of_stack(state, stack)].path;
}

/* ---- frees that came early */

/* The slot of ADDRESS; NULL without memory. */
static struct tg_heap_early_free *early_slot(struct tg_heap_state *state, uint64_t address)
{
    if (state->early == NULL)
        state->early = calloc(EARLY_SLOTS, sizeof *state->early);
    return state->early == NULL ? NULL
                                : &state->early[(address * UINT64_C(0x9e3779b97f4a7c15) >> 32) % EARLY_SLOTS];
}

void tg_heap_state_free_early(struct tg_heap_state *state, uint64_t address, uint64_t time_ns, uint32_t path)
{
    struct tg_heap_early_free *slot = early_slot(state, address);
    if (slot != NULL)
        *slot = (struct tg_heap_early_free){address, time_ns, path};
}

bool tg_heap_state_was_freed(struct tg_heap_state *state, uint64_t address, uint64_t time_ns, uint32_t *path)
{
    struct tg_heap_early_free *slot = state->early == NULL ? NULL : early_slot(state, address);
    if (slot == NULL || slot->address != address || slot->time_ns <= time_ns)
        return false;
    slot->address = 0;
    *path = slot->path;
    return true;
}

void tg_heap_state_forget_frees(struct tg_heap_state *state)
{
    free(state->early);
    state->early = NULL;
}

/* ---- forks */

static struct tg_error *inherit_blocks(struct tg_heap_state *state, const struct tg_heap_state *from)
{
    struct tg_error *error = NULL;
    if (from->is.blocks.count > MAX_INHERITED) {
        state->is.is_late = true;
        return NULL;
    }
    for (const struct tg_heap_block *block = NULL;
         error == NULL && (block = tg_heap_blocks_next(&from->is.blocks, block)) != NULL;) {
        struct tg_heap_block copy = *block;
        struct tg_heap_amount amount = tg_heap_amount_of_block(block->size_bytes, state->is.sample_bytes);
        uint32_t site = 0;
        error = site_of(state, from->is.sites[block->site].path, &site);
        copy.site = site & TG_HEAP_BLOCK_LAST_SITE;
        copy.is_inherited = 1;
        if (error == NULL)
            error = tg_heap_blocks_put(&state->is.blocks, &copy);
        if (error == NULL)
            tg_heap_amount_add(&state->is.inherited, &amount);
    }
    state->is.inherited_live = state->is.inherited;
    return error;
}

struct tg_error *tg_heap_state_inherit(struct tg_heap_state *state, const struct tg_heap_state *from,
                                       bool has_blocks)
{
    struct tg_error *error = NULL;
    if (from->n_stacks > 0)
        error = TG_ARRAY_RESERVE(state->site_of_stack, state->stack_capacity, from->n_stacks);
    for (size_t stack = 0; error == NULL && stack < from->n_stacks; stack++) {
        uint32_t site = 0;
        bool is_told = from->site_of_stack[stack] != 0;
        if (is_told)
            error = site_of(state, tg_heap_state_path_of_stack(from, stack), &site);
        state->site_of_stack[stack] = is_told ? site + 1 : 0;
        state->n_stacks = stack + 1;
    }
    if (error != NULL)
        return error;
    state->is.is_started = from->is.is_started;
    state->is.is_late = from->is.is_late;
    state->is.mode = from->is.mode;
    state->is.sample_bytes = from->is.sample_bytes;
    state->is.depth = from->is.depth;
    state->is.allocator = from->is.allocator;
    state->is.guard_bytes = from->is.guard_bytes;
    state->is.hoard_bytes = from->is.hoard_bytes;
    state->is.paints = from->is.paints;
    state->is.red_zones = from->is.red_zones;
    error = has_blocks ? inherit_blocks(state, from) : NULL;
    return error != NULL || !has_blocks ? error : tg_heap_frees_copy(from->frees, &state->frees);
}

/* ---- leaks */

struct tg_error *tg_heap_state_add_leak(struct tg_heap_state *state, const struct tg_event_heap_leak *leak)
{
    if (state->coming.n_leaks == MAX_LEAKS)
        return NULL;
    return TG_ARRAY_APPEND(state->coming.leaks, state->coming.n_leaks, state->leak_capacity,
                           (struct tg_heap_leak){.kind = leak->leak,
                                                 .path = tg_heap_state_path_of_stack(state, leak->stack),
                                                 .blocks = leak->blocks,
                                                 .bytes = leak->size_bytes,
                                                 .address = leak->address});
}

void tg_heap_state_end_scan(struct tg_heap_state *state, const struct tg_event_heap_leak_scan *scan,
                            uint64_t time_ns)
{
    free(state->is.scan.leaks);
    state->is.scan = state->coming;
    state->is.scan.time_ns = time_ns;
    state->is.scan.is = *scan;
    state->coming = (struct tg_heap_scan){0};
    state->leak_capacity = 0;
}
