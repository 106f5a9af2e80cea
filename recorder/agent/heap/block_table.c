#include "recorder/agent/heap/block_table.h"

#include "recorder/agent/heap/hash_set.h"
#include "recorder/agent/heap/memory.h"

#include <emmintrin.h>

enum {
    SHARDS = 64,
    FIRST_SLOTS = 1 << 9, /* of a shard in the first level, 64 bytes each */
    LEVELS = 6,           /* each twice as large as the one before: 2 to 64 MiB */
    GROUP_SLOTS = 16,     /* whose tags are compared at once */
    TRIES = 4,            /* groups of a level that a block may be in */
};

/* Each slot has a tag, a byte of its block's hash that is not 0; 0: free. A search reads a cache line or two of tags a level, and
 * of entries hardly any but the one that it finds. */
static struct {
    /* __atomic; behind a level's entries are its tags; NULL: not needed yet, and all levels behind are not, either */
    struct tg_heap_block_entry *levels[LEVELS];
    struct tg_heap_lock locks[SHARDS];
} table;

static size_t slots_of(unsigned level)
{
    return (size_t)FIRST_SLOTS << level;
}

static struct tg_heap_block_entry *entries_of(unsigned level)
{
    return __atomic_load_n(&table.levels[level], __ATOMIC_ACQUIRE);
}

static unsigned char *tags_of(unsigned level)
{
    return (unsigned char *)(entries_of(level) + SHARDS * slots_of(level));
}

static unsigned count_levels(void)
{
    unsigned count = 0;
    while (count < LEVELS && entries_of(count) != NULL)
        count++;
    return count;
}

/* The memory of LEVEL, if nobody has got it meanwhile; false: there is none. */
static bool add_level(unsigned level)
{
    size_t size = SHARDS * slots_of(level) * (sizeof(struct tg_heap_block_entry) + 1);
    struct tg_heap_block_entry *entries = tg_agent.no_calls ? NULL : tg_heap_memory_map(size, true);
    struct tg_heap_block_entry *expected = NULL;
    if (entries == NULL)
        return entries_of(level) != NULL;
    tg_heap_memory_head(entries)->generation = (uintptr_t)tg_agent.generation;
    tg_heap_memory_head(entries)->n_blocks = SHARDS * slots_of(level);
    if (!__atomic_compare_exchange_n(&table.levels[level], &expected, entries, false, __ATOMIC_ACQ_REL,
                                     __ATOMIC_ACQUIRE))
        tg_heap_memory_unmap(entries, size);
    return true;
}

bool tg_heap_block_table_prepare(void)
{
    return add_level(0);
}

struct tg_agent_heap_table *tg_heap_block_table_head(void)
{
    return tg_heap_memory_head(entries_of(0));
}

/* ---- places */

static uint64_t hash_of(uintptr_t block)
{
    return tg_heap_hash_mix(0, block >> 4);
}

static unsigned char tag_of(uint64_t hash)
{
    unsigned char tag = (unsigned char)(hash >> 8);
    return tag != 0 ? tag : 1;
}

struct tg_heap_lock *tg_heap_block_table_lock(uintptr_t block)
{
    return &table.locks[hash_of(block) >> 58];
}

/* The level that ENTRY is in. */
static unsigned level_of(const struct tg_heap_block_entry *entry)
{
    unsigned level = 0;
    while (entry < entries_of(level) || entry >= entries_of(level) + SHARDS * slots_of(level))
        level++;
    return level;
}

struct tg_heap_lock *tg_heap_block_table_lock_of_entry(const struct tg_heap_block_entry *entry)
{
    unsigned level = level_of(entry);
    return &table.locks[(size_t)(entry - entries_of(level)) / slots_of(level)];
}

/* The first slot of group I of those of LEVEL that a block of HASH may be in. */
static size_t group_of(uint64_t hash, unsigned level, unsigned i)
{
    size_t slots = slots_of(level);
    size_t group = ((hash >> 20) + i) & (slots / GROUP_SLOTS - 1);
    return (hash >> 58) * slots + group * GROUP_SLOTS;
}

/* A bit of each slot from FIRST on that has TAG. */
static unsigned match(const unsigned char *tags, size_t first, unsigned char tag)
{
    __m128i group = _mm_load_si128((const __m128i *)(const void *)(tags + first));
    return (unsigned)_mm_movemask_epi8(_mm_cmpeq_epi8(group, _mm_set1_epi8((char)tag)));
}

static struct tg_heap_block_entry *find_in_level(uintptr_t block, uint64_t hash, unsigned level)
{
    struct tg_heap_block_entry *entries = entries_of(level);
    const unsigned char *tags = tags_of(level);
    for (unsigned i = 0; i < TRIES; i++) {
        size_t first = group_of(hash, level, i);
        for (unsigned found = match(tags, first, tag_of(hash)); found != 0; found &= found - 1) {
            struct tg_heap_block_entry *entry = &entries[first + (unsigned)__builtin_ctz(found)];
            if (entry->block == block)
                return entry;
        }
    }
    return NULL;
}

struct tg_heap_block_entry *tg_heap_block_table_find(uintptr_t block)
{
    uint64_t hash = hash_of(block);
    struct tg_heap_block_entry *entry = NULL;
    for (unsigned level = count_levels(); entry == NULL && level-- > 0;)
        entry = find_in_level(block, hash, level);
    return entry;
}

/* A free slot of LEVEL, which is not free any more; NULL: there is none. */
static struct tg_heap_block_entry *take_slot(uint64_t hash, unsigned level)
{
    unsigned char *tags = tags_of(level);
    for (unsigned i = 0; i < TRIES; i++) {
        size_t first = group_of(hash, level, i);
        unsigned found = match(tags, first, 0);
        if (found == 0)
            continue;
        size_t slot = first + (unsigned)__builtin_ctz(found);
        tags[slot] = tag_of(hash);
        return &entries_of(level)[slot];
    }
    return NULL;
}

/* In the first level that has one. */
static struct tg_heap_block_entry *take_any_slot(uint64_t hash)
{
    struct tg_heap_block_entry *entry = NULL;
    for (unsigned level = 0; entry == NULL && level < LEVELS; level++) {
        if (entries_of(level) == NULL && !add_level(level))
            return NULL;
        entry = take_slot(hash, level);
    }
    return entry;
}

/* ---- what goes in and out */

enum tg_heap_block_added tg_heap_block_table_add(const struct tg_heap_block_entry *new_entry,
                                                 struct tg_heap_block_entry *replaced)
{
    *replaced = (struct tg_heap_block_entry){0};
    struct tg_heap_lock *lock = tg_heap_block_table_lock(new_entry->block);
    if (!tg_heap_lock_take(lock))
        return TG_HEAP_BLOCK_BUSY;
    struct tg_heap_block_entry *entry = tg_heap_block_table_find(new_entry->block);
    if (entry == NULL)
        entry = take_any_slot(hash_of(new_entry->block));
    else if (entry->state != TG_HEAP_BLOCK_UNGUARDED)
        *replaced = *entry;
    if (entry != NULL)
        *entry = *new_entry;
    tg_heap_lock_release(lock);
    return entry != NULL ? TG_HEAP_BLOCK_ADDED : TG_HEAP_BLOCK_FULL;
}

void tg_heap_block_table_drop(struct tg_heap_block_entry *entry)
{
    unsigned level = level_of(entry);
    entry->block = 0;
    entry->state = TG_HEAP_BLOCK_FREE;
    tags_of(level)[entry - entries_of(level)] = 0;
}

/* The entries of one LEVEL. */
static bool each_of_level(unsigned level,
                          bool (*visit)(const struct tg_heap_block_entry *entry, void *context),
                          void *context)
{
    const struct tg_heap_block_entry *entries = entries_of(level);
    const unsigned char *tags = tags_of(level);
    for (size_t first = 0; first < SHARDS * slots_of(level); first += GROUP_SLOTS)
        for (unsigned used = ~match(tags, first, 0) & 0xffff; used != 0; used &= used - 1)
            if (visit(&entries[first + (unsigned)__builtin_ctz(used)], context))
                return true;
    return false;
}

bool tg_heap_block_table_each(bool (*visit)(const struct tg_heap_block_entry *entry, void *context),
                              void *context)
{
    for (unsigned level = 0, count = count_levels(); level < count; level++)
        if (each_of_level(level, visit, context))
            return true;
    return false;
}
