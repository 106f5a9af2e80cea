#include "recorder/agent/heap/block_table.h"

#include "recorder/agent/heap/hash_set.h"
#include "recorder/agent/heap/memory.h"

enum {
    SHARDS = 64,
    SHARD_SLOTS = 1 << 15, /* 64 bytes each; as much memory as is used of them */
    SLOTS = SHARDS * SHARD_SLOTS,
    PART_SLOTS = 64, /* of the table: a page */
    PARTS = SLOTS / PART_SLOTS,
    TRIES = 256,
};

static struct {
    struct tg_heap_block_entry *entries;
    uint64_t used_parts[PARTS / 64]; /* __atomic; a bit of each part that has had an entry */
    struct tg_heap_lock locks[SHARDS];
} table;

bool tg_heap_block_table_prepare(void)
{
    table.entries = tg_heap_memory_map(SLOTS * sizeof table.entries[0], true);
    return table.entries != NULL;
}

static uint64_t hash_of(uintptr_t block)
{
    return tg_heap_hash_mix(0, block >> 4);
}

struct tg_heap_lock *tg_heap_block_table_lock(uintptr_t block)
{
    return &table.locks[hash_of(block) >> 58];
}

struct tg_heap_lock *tg_heap_block_table_lock_of_entry(const struct tg_heap_block_entry *entry)
{
    return &table.locks[(entry - table.entries) / SHARD_SLOTS];
}

/* The slot I of those that BLOCK may be in. */
static struct tg_heap_block_entry *slot_of(uintptr_t block, uint32_t i)
{
    uint64_t hash = hash_of(block);
    return &table.entries[(hash >> 58) * SHARD_SLOTS + (((hash >> 20) + i) & (SHARD_SLOTS - 1))];
}

struct tg_heap_block_entry *tg_heap_block_table_find(uintptr_t block)
{
    for (uint32_t i = 0; i < TRIES; i++) {
        struct tg_heap_block_entry *entry = slot_of(block, i);
        if (entry->block == block && entry->state != TG_HEAP_BLOCK_FREE)
            return entry;
        if (entry->block == 0)
            return NULL;
    }
    return NULL;
}

/* A slot for BLOCK, with its lock held: its own, a free one, that of a block that is gone; NULL: the table is full. */
static struct tg_heap_block_entry *find_slot(uintptr_t block)
{
    struct tg_heap_block_entry *reusable = NULL;
    for (uint32_t i = 0; i < TRIES; i++) {
        struct tg_heap_block_entry *entry = slot_of(block, i);
        if (entry->block == block)
            return entry;
        if (reusable == NULL &&
            (entry->block == 0 || entry->state == TG_HEAP_BLOCK_GONE || entry->state == TG_HEAP_BLOCK_FREE))
            reusable = entry;
        if (entry->block == 0)
            break;
    }
    return reusable;
}

/* So that only what was used is read: to touch all 128 MiB takes longer than most processes live. */
static void mark_used(const struct tg_heap_block_entry *entry)
{
    size_t part = (size_t)(entry - table.entries) / PART_SLOTS;
    uint64_t *word = &table.used_parts[part / 64], bit = UINT64_C(1) << part % 64;
    if ((__atomic_load_n(word, __ATOMIC_RELAXED) & bit) == 0)
        (void)__atomic_fetch_or(word, bit, __ATOMIC_RELAXED);
}

bool tg_heap_block_table_add(const struct tg_heap_block_entry *new_entry,
                             struct tg_heap_block_entry *replaced)
{
    *replaced = (struct tg_heap_block_entry){0};
    struct tg_heap_lock *lock = tg_heap_block_table_lock(new_entry->block);
    if (!tg_heap_lock_take(lock))
        return false;
    struct tg_heap_block_entry *entry = find_slot(new_entry->block);
    if (entry != NULL) {
        if (entry->block == new_entry->block &&
            (entry->state == TG_HEAP_BLOCK_LIVE || entry->state == TG_HEAP_BLOCK_HOARDED))
            *replaced = *entry;
        mark_used(entry);
        *entry = *new_entry;
    }
    tg_heap_lock_release(lock);
    return entry != NULL;
}

bool tg_heap_block_table_each(bool (*visit)(const struct tg_heap_block_entry *entry, void *context),
                              void *context)
{
    for (size_t word = 0; table.entries != NULL && word < PARTS / 64; word++)
        for (uint64_t bits = __atomic_load_n(&table.used_parts[word], __ATOMIC_RELAXED); bits != 0;
             bits &= bits - 1) {
            size_t first = (word * 64 + (size_t)__builtin_ctzll(bits)) * PART_SLOTS;
            for (size_t slot = first; slot < first + PART_SLOTS; slot++)
                if (visit(&table.entries[slot], context))
                    return true;
        }
    return false;
}
