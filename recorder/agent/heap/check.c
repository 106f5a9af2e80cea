#include "recorder/agent/heap/check.h"

#include "recorder/agent/heap/hash_set.h"
#include "recorder/agent/heap/lock.h"
#include "recorder/agent/heap/memory.h"
#include "recorder/agent/heap/notes.h"
#include "recorder/agent/heap/real.h"
#include "recorder/agent/heap/red_zones.h"
#include "recorder/agent/heap/region.h"
#include "recorder/agent/record.h"

#include <dlfcn.h>

enum {
    SHARDS = 64,
    SHARD_SLOTS = 1 << 15, /* 64 bytes each; as much memory as is used of them */
    SLOTS = SHARDS * SHARD_SLOTS,
    PART_SLOTS = 64, /* of the table: a page */
    PARTS = SLOTS / PART_SLOTS,
    TRIES = 256,
    GUARD_BYTES = TG_AGENT_HEAP_GUARD_BYTES,
    FRONT_BYTES = 16, /* before a block: its guard, and what keeps it aligned */
    GUARD_BEFORE = 0x77,
    GUARD_BEHIND = 0x99,
    PAINT_ALLOCATED = 0xa1,
    PAINT_FREED = 0xde,
    HOARD_BLOCKS = 1 << 14,
    MAX_HOARDED_BYTES = 1 << 20, /* of one block */
};

enum state {
    STATE_FREE, /* slot */
    STATE_LIVE,
    STATE_UNGUARDED, /* live, from before blocks were checked */
    STATE_HOARDED,
    STATE_GONE, /* freed, and the allocator has it again */
};

struct entry {
    uintptr_t block;
    uintptr_t base; /* what the allocator gave */
    size_t size;
    uint32_t allocated_stack, freed_stack;
    int32_t allocated_tid, freed_tid;
    unsigned char state; /* enum state */
    unsigned char call;  /* enum tg_heap_call */
    bool has_red_zones;  /* BASE is the block: none of the allocator's */
    unsigned char unused[21];
};
_Static_assert(sizeof(struct entry) == 64, "slots do not straddle cache lines");

static struct {
    struct entry *entries;
    uint64_t used_parts[PARTS / 64]; /* __atomic; a bit of each part that has had an entry */
    struct tg_heap_lock locks[SHARDS];
    struct tg_heap_lock hoard_lock;
    uintptr_t hoard[HOARD_BLOCKS]; /* a ring */
    uint32_t hoard_first, hoard_count;
    size_t hoard_bytes;
    bool allows_mismatch;
} check;

bool tg_heap_check_prepare(void)
{
    tg_heap_red_zones_prepare();
    check.entries = tg_heap_memory_map(SLOTS * sizeof check.entries[0], true);
    return check.entries != NULL;
}

void tg_heap_check_allow_mismatch(void)
{
    check.allows_mismatch = true;
}

/* ---- the table */

static uint64_t hash_of(uintptr_t block)
{
    return tg_heap_hash_mix(0, block >> 4);
}

static struct tg_heap_lock *lock_of(uintptr_t block)
{
    return &check.locks[hash_of(block) >> 58];
}

/* The slot I of those that BLOCK may be in. */
static struct entry *slot_of(uintptr_t block, uint32_t i)
{
    uint64_t hash = hash_of(block);
    return &check.entries[(hash >> 58) * SHARD_SLOTS + (((hash >> 20) + i) & (SHARD_SLOTS - 1))];
}

/* With its lock held; NULL: there is none. */
static struct entry *find(uintptr_t block)
{
    for (uint32_t i = 0; i < TRIES; i++) {
        struct entry *entry = slot_of(block, i);
        if (entry->block == block && entry->state != STATE_FREE)
            return entry;
        if (entry->block == 0)
            return NULL;
    }
    return NULL;
}

/* A slot for BLOCK, with its lock held: its own, a free one, that of a block that is gone; NULL: the table is full. */
static struct entry *find_slot(uintptr_t block)
{
    struct entry *reusable = NULL;
    for (uint32_t i = 0; i < TRIES; i++) {
        struct entry *entry = slot_of(block, i);
        if (entry->block == block)
            return entry;
        if (reusable == NULL &&
            (entry->block == 0 || entry->state == STATE_GONE || entry->state == STATE_FREE))
            reusable = entry;
        if (entry->block == 0)
            break;
    }
    return reusable;
}

/* So that only what was used is read: to touch all 128 MiB takes longer than most processes live. */
static void mark_used(const struct entry *entry)
{
    size_t part = (size_t)(entry - check.entries) / PART_SLOTS;
    uint64_t *word = &check.used_parts[part / 64], bit = UINT64_C(1) << part % 64;
    if ((__atomic_load_n(word, __ATOMIC_RELAXED) & bit) == 0)
        (void)__atomic_fetch_or(word, bit, __ATOMIC_RELAXED);
}

static bool add(const struct entry *new_entry)
{
    struct tg_heap_lock *lock = lock_of(new_entry->block);
    if (!tg_heap_lock_take(lock))
        return false;
    struct entry *entry = find_slot(new_entry->block);
    if (entry != NULL) {
        mark_used(entry);
        *entry = *new_entry;
    }
    tg_heap_lock_release(lock);
    return entry != NULL;
}

/* ---- errors */

static const char *name_of_release(enum tg_heap_release how)
{
    static const char names[][20] = {
        [TG_HEAP_FREE] = "free",
        [TG_HEAP_FREED_BY_REALLOC] = "realloc",
        [TG_HEAP_DELETE] = "operator delete",
        [TG_HEAP_DELETE_ARRAY] = "operator delete[]",
        [TG_HEAP_CFREE] = "cfree",
        [TG_HEAP_FREED_BY_REALLOCARRAY] = "reallocarray",
    };
    return (size_t)how < sizeof names / sizeof names[0] ? names[how] : "";
}

static bool is_realloc(enum tg_heap_release how)
{
    return how == TG_HEAP_FREED_BY_REALLOC || how == TG_HEAP_FREED_BY_REALLOCARRAY;
}

static void tell(enum tg_heap_error error, uintptr_t address, const struct entry *entry, const char *call,
                 const void *frame)
{
    struct tg_heap_mistake mistake = {.error = error, .address = address, .call = call};
    if (entry != NULL) {
        mistake.block = entry->block;
        mistake.size = entry->size;
        mistake.allocated_stack = entry->allocated_stack;
        mistake.freed_stack = entry->freed_stack;
        mistake.allocated_tid = entry->allocated_tid;
        mistake.freed_tid = entry->freed_tid;
        mistake.offset = (int64_t)(address - entry->block);
    }
    tg_heap_note_mistake(&mistake, frame);
}

/* Looks whether N bytes at START all are WANTED. */
static bool is_intact(uintptr_t start, size_t n, unsigned char wanted, uintptr_t *first_wrong,
                      size_t *n_wrong)
{
    const unsigned char *bytes = (const unsigned char *)start; // NOLINT: an address
    *n_wrong = 0;
    for (size_t i = 0; i < n; i++) {
        if (bytes[i] == wanted)
            continue;
        if ((*n_wrong)++ == 0)
            *first_wrong = start + i;
    }
    return *n_wrong == 0;
}

static void check_bytes(const struct entry *entry, uintptr_t start, size_t n, unsigned char wanted,
                        enum tg_heap_error error, const char *call, const void *frame)
{
    uintptr_t first = start;
    size_t n_wrong;
    if (is_intact(start, n, wanted, &first, &n_wrong))
        return;
    const struct tg_heap_mistake mistake = {
        .error = error,
        .address = first,
        .block = entry->block,
        .size = entry->size,
        .allocated_stack = entry->allocated_stack,
        .freed_stack = entry->freed_stack,
        .allocated_tid = entry->allocated_tid,
        .freed_tid = entry->freed_tid,
        .offset = (int64_t)(first - entry->block),
        .wrong_bytes = n_wrong,
        .call = call,
    };
    tg_heap_note_mistake(&mistake, frame);
}

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Bytes of ENTRY's guards; next to red zones there may be fewer, or none. */
static size_t bytes_before(const struct entry *entry)
{
    return entry->has_red_zones ? least(tg_heap_red_zones_before(entry->block), GUARD_BYTES) : GUARD_BYTES;
}

static size_t bytes_behind(const struct entry *entry)
{
    /* up to the next multiple of a block's alignment the zone cannot begin */
    return entry->has_red_zones ? least(tg_heap_red_zones_behind(entry->block, entry->size), 2 * GUARD_BYTES)
                                : GUARD_BYTES;
}

static void check_guards(const struct entry *entry, const char *call, const void *frame)
{
    if (entry->state == STATE_UNGUARDED)
        return;
    size_t before = bytes_before(entry);
    check_bytes(entry, entry->block - before, before, GUARD_BEFORE, TG_HEAP_GUARD_CORRUPTION, call, frame);
    check_bytes(entry, entry->block + entry->size, bytes_behind(entry), GUARD_BEHIND,
                TG_HEAP_GUARD_CORRUPTION, call, frame);
}

/* ---- the hoard */

/* Gives the oldest block back to the allocator. With the hoard's lock held. */
static void give_back_one(void)
{
    uintptr_t block = check.hoard[check.hoard_first];
    check.hoard_first = (check.hoard_first + 1) % HOARD_BLOCKS;
    check.hoard_count--;
    struct entry gone = {0};
    struct tg_heap_lock *lock = lock_of(block);
    if (tg_heap_lock_take(lock)) {
        struct entry *entry = find(block);
        if (entry != NULL && entry->state == STATE_HOARDED) {
            gone = *entry;
            entry->state = STATE_GONE;
        }
        tg_heap_lock_release(lock);
    }
    if (gone.block == 0)
        return;
    check.hoard_bytes -= gone.size;
    check_bytes(&gone, gone.block, gone.size, PAINT_FREED, TG_HEAP_PAINT_CORRUPTION, "", NULL);
    tg_heap_real_get()->free((void *)gone.base); // NOLINT: an address
}

/* Keeps BLOCK, whose entry says that it is hoarded. */
static void hoard(uintptr_t block, size_t size)
{
    if (!tg_heap_lock_take(&check.hoard_lock))
        return; /* kept for ever: a handler within the hoard */
    while (check.hoard_count > 0 &&
           (check.hoard_count == HOARD_BLOCKS || check.hoard_bytes + size > TG_AGENT_HEAP_HOARD_BYTES))
        give_back_one();
    check.hoard[(check.hoard_first + check.hoard_count++) % HOARD_BLOCKS] = block;
    check.hoard_bytes += size;
    tg_heap_lock_release(&check.hoard_lock);
}

/* There is no memory: whether some of the hoard's went back. */
static bool shrink_hoard(void)
{
    if (!tg_heap_lock_take(&check.hoard_lock))
        return false;
    bool any = check.hoard_count > 0;
    while (check.hoard_count > 0)
        give_back_one();
    tg_heap_lock_release(&check.hoard_lock);
    return any;
}

/* ---- blocks */

static void fill(uintptr_t start, size_t size, unsigned char byte)
{
    size_t words = size / 8;
    unsigned char *at = (unsigned char *)start; // NOLINT: an address
    __asm__ volatile("rep stosq"
                     : "+D"(at), "+c"(words)
                     : "a"(byte * UINT64_C(0x0101010101010101))
                     : "memory");
    for (size_t i = 0; i < size % 8; i++)
        at[i] = byte;
}

static void copy(void *to, const void *from, size_t size)
{
    __asm__ volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(size) : : "memory");
}

static void *get(size_t alignment, size_t bytes, bool zeroed)
{
    const struct tg_heap_real *real = tg_heap_real_get();
    for (;;) {
        void *base = alignment > FRONT_BYTES ? real->memalign(alignment, bytes)
                     : zeroed                ? real->calloc(1, bytes)
                                             : real->malloc(bytes);
        if (base != NULL || !shrink_hoard())
            return base;
    }
}

void tg_heap_check_adopt(const void *block, size_t size, enum tg_heap_call call)
{
    const struct entry entry = {.block = (uintptr_t)block,
                                .base = (uintptr_t)block,
                                .size = size,
                                .state = STATE_UNGUARDED,
                                .call = (unsigned char)call};
    (void)add(&entry);
}

/* Makes ENTRY's block from the allocator's; false: there is no memory. */
static bool get_guarded(size_t alignment, size_t size, bool zeroed, struct entry *entry)
{
    size_t front = alignment > FRONT_BYTES ? alignment : FRONT_BYTES, bytes;
    bool too_large = __builtin_add_overflow(size, front + GUARD_BYTES, &bytes);
    void *base = get(alignment, too_large ? SIZE_MAX : bytes, zeroed);
    entry->base = (uintptr_t)base;
    entry->block = entry->base + front;
    if (base != NULL && zeroed && alignment > FRONT_BYTES)
        fill(entry->block, size, 0);
    return base != NULL;
}

/* The block at ADDRESS, freed long ago, is no more. */
static void forget(uintptr_t address)
{
    struct tg_heap_lock *lock = lock_of(address);
    if (!tg_heap_lock_take(lock))
        return;
    struct entry *entry = find(address);
    if (entry != NULL && entry->state == STATE_HOARDED)
        entry->state = STATE_GONE;
    tg_heap_lock_release(lock);
}

static bool get_with_red_zones(size_t alignment, size_t size, struct entry *entry)
{
    uintptr_t forgotten = 0;
    entry->has_red_zones = tg_heap_red_zones_take(alignment > FRONT_BYTES ? alignment : FRONT_BYTES, size,
                                                  &entry->block, &forgotten);
    if (forgotten != 0)
        forget(forgotten);
    entry->base = entry->block;
    return entry->has_red_zones;
}

/* The allocator's part of the end of ENTRY's block. */
static void return_block(const struct entry *entry)
{
    if (entry->has_red_zones)
        tg_heap_red_zones_drop(entry->block, entry->size);
    else
        tg_heap_real_get()->free((void *)entry->base); // NOLINT: an address
}

/* There is no place in the table for ENTRY: it becomes a block as it would be without the check. */
static void *make_plain(size_t alignment, bool zeroed, const struct entry *entry, const void *frame)
{
    enum tg_heap_call call = (enum tg_heap_call)entry->call;
    tg_heap_note_free((const void *)entry->block, TG_HEAP_FREE, NULL); // NOLINT: an address
    return_block(entry);
    void *plain =
        tg_heap_real_get()->memalign(alignment > FRONT_BYTES ? alignment : FRONT_BYTES, entry->size);
    if (plain != NULL && zeroed)
        fill((uintptr_t)plain, entry->size, 0);
    tg_heap_note_alloc(plain, entry->size, call, frame);
    return plain;
}

void *tg_heap_check_alloc(size_t alignment, size_t size, bool zeroed, enum tg_heap_call call,
                          const void *frame)
{
    struct entry entry = {.size = size, .state = STATE_LIVE};
    if (!get_with_red_zones(alignment, size, &entry) && !get_guarded(alignment, size, zeroed, &entry)) {
        tg_heap_note_alloc(NULL, size, call, frame);
        return NULL;
    }
    size_t before = bytes_before(&entry);
    fill(entry.block - before, before, GUARD_BEFORE);
    fill(entry.block + size, bytes_behind(&entry), GUARD_BEHIND);
    if (!zeroed)
        fill(entry.block, size, PAINT_ALLOCATED);
    void *block = (void *)entry.block; // NOLINT: an address
    const struct tg_heap_noted noted = tg_heap_note_alloc(block, size, call, frame);
    entry.allocated_stack = noted.stack;
    entry.allocated_tid = tg_raw_thread_id();
    entry.call = (unsigned char)noted.call;
    return add(&entry) ? block : make_plain(alignment, zeroed, &entry, frame);
}

/* ---- the end of a block */

/* Calls VISIT for each entry of parts that have had one, until it returns true; whether it did. Slow. */
static bool each_entry(bool (*visit)(size_t slot, void *context), void *context)
{
    for (size_t word = 0; check.entries != NULL && word < PARTS / 64; word++)
        for (uint64_t bits = __atomic_load_n(&check.used_parts[word], __ATOMIC_RELAXED); bits != 0;
             bits &= bits - 1) {
            size_t first = (word * 64 + (size_t)__builtin_ctzll(bits)) * PART_SLOTS;
            for (size_t slot = first; slot < first + PART_SLOTS; slot++)
                if (visit(slot, context))
                    return true;
        }
    return false;
}

struct around {
    uintptr_t address;
    struct entry found;
};

static bool is_around(size_t slot, void *context)
{
    const struct entry *entry = &check.entries[slot];
    struct around *around = context;
    if ((entry->state != STATE_LIVE && entry->state != STATE_HOARDED) || around->address <= entry->block ||
        around->address >= entry->block + (entry->size > 0 ? entry->size : 1))
        return false;
    around->found = *entry;
    return true;
}

/* The live block that ADDRESS is inside of, as a copy; false: none. */
static bool find_around(uintptr_t address, struct entry *around)
{
    struct around wanted = {.address = address};
    if (!each_entry(is_around, &wanted))
        return false;
    *around = wanted.found;
    return true;
}

/* Whether ADDRESS is no block of any allocator: in a program or library, on this thread's stack, or misaligned. */
static bool is_surely_none(uintptr_t address)
{
    struct dl_find_object object;
    uintptr_t here = (uintptr_t)__builtin_frame_address(0);
    return address % 8 != 0 || (address > here && address < tg_heap_region_end(here)) ||
           _dl_find_object((void *)address, &object) == 0; // NOLINT: an address
}

/* An address that is in no table, or is gone. */
static void judge_stranger(uintptr_t address, enum tg_heap_release how, const void *frame)
{
    struct entry around;
    enum tg_heap_error error = is_realloc(how) ? TG_HEAP_REALLOC_NOT_ALLOCATED : TG_HEAP_FREE_NOT_ALLOCATED;
    if (find_around(address, &around))
        tell(TG_HEAP_ADDR_NOT_AT_START, address, &around, name_of_release(how), frame);
    else if (is_surely_none(address))
        tell(error, address, NULL, name_of_release(how), frame);
}

static bool is_mismatched(const struct entry *entry, enum tg_heap_release how)
{
    bool is_new = entry->call == TG_HEAP_NEW, is_array = entry->call == TG_HEAP_NEW_ARRAY;
    if (check.allows_mismatch || entry->state == STATE_UNGUARDED)
        return false;
    return is_new != (how == TG_HEAP_DELETE) || is_array != (how == TG_HEAP_DELETE_ARRAY);
}

/* Takes the block at ADDRESS out of use; *ENTRY is a copy of what it was. KEEPS: it is to be hoarded. False: there is
 * none in use; then ENTRY's block is 0 where there never was one. */
static bool retire(uintptr_t address, uint32_t stack, bool *keeps, struct entry *entry)
{
    struct tg_heap_lock *lock = lock_of(address);
    *entry = (struct entry){0};
    if (!tg_heap_lock_take(lock)) {
        *keeps = true; /* a handler that interrupted this table: the block stays where it is */
        return true;
    }
    struct entry *found = find(address);
    bool live = found != NULL && (found->state == STATE_LIVE || found->state == STATE_UNGUARDED);
    if (found != NULL)
        *entry = *found;
    if (live) {
        *keeps = found->state == STATE_LIVE && (found->size <= MAX_HOARDED_BYTES || found->has_red_zones);
        found->freed_stack = stack;
        found->freed_tid = tg_raw_thread_id();
        found->state = *keeps ? STATE_HOARDED : STATE_GONE;
    }
    tg_heap_lock_release(lock);
    return live;
}

/* A block that was freed before is freed again: the allocator sees both, as it would have. Of one with red zones it knows
 * nothing: it sees that of another one of that size. */
static void free_twice(const struct entry *entry)
{
    if (entry->has_red_zones) {
        void *volatile other = tg_heap_real_get()->malloc(entry->size);
        tg_heap_real_get()->free(other);
        tg_heap_real_get()->free(other); // NOLINT: the program's mistake
        return;
    }
    struct tg_heap_lock *lock = lock_of(entry->block);
    bool was_hoarded = false;
    if (tg_heap_lock_take(lock)) {
        struct entry *found = find(entry->block);
        was_hoarded = found != NULL && found->state == STATE_HOARDED;
        if (was_hoarded)
            found->state = STATE_GONE;
        tg_heap_lock_release(lock);
    }
    if (was_hoarded)
        tg_heap_real_get()->free((void *)entry->base); // NOLINT: an address
    tg_heap_real_get()->free((void *)entry->base);     // NOLINT: an address
}

void tg_heap_check_free(void *block, enum tg_heap_release how, const void *frame)
{
    struct entry entry;
    bool keeps = false;
    uintptr_t address = (uintptr_t)block;
    uint32_t stack = tg_heap_note_stack(frame);
    if (!retire(address, stack, &keeps, &entry)) {
        /* where a block is gone, the allocator may have given its address to somebody who is not seen */
        if (entry.block != 0 && entry.state == STATE_HOARDED) {
            tell(TG_HEAP_DOUBLE_DEALLOC, address, &entry, name_of_release(how), frame);
            free_twice(&entry);
        } else {
            judge_stranger(address, how, frame);
            tg_heap_real_get()->free(block);
        }
        return;
    }
    if (entry.block == 0)
        return;
    check_guards(&entry, name_of_release(how), frame);
    if (!is_realloc(how) && is_mismatched(&entry, how))
        tell(TG_HEAP_MISMATCHED_DEALLOC, address, &entry, name_of_release(how), frame);
    tg_heap_note_free_at(block, how, stack);
    if (keeps && !entry.has_red_zones) {
        fill(entry.block, entry.size, PAINT_FREED);
        hoard(entry.block, entry.size);
    } else {
        return_block(&entry);
    }
}

/* The size of the block in use at ADDRESS; SIZE_MAX: there is none. */
static size_t size_at(uintptr_t address, bool *is_guarded)
{
    struct tg_heap_lock *lock = lock_of(address);
    size_t size = SIZE_MAX;
    if (!tg_heap_lock_take(lock))
        return size;
    const struct entry *entry = find(address);
    if (entry != NULL && (entry->state == STATE_LIVE || entry->state == STATE_UNGUARDED)) {
        size = entry->size;
        *is_guarded = entry->state == STATE_LIVE;
    }
    tg_heap_lock_release(lock);
    return size;
}

void *tg_heap_check_realloc(void *old, size_t size, enum tg_heap_call call, const void *frame)
{
    enum tg_heap_release how =
        call == TG_HEAP_REALLOCARRAY ? TG_HEAP_FREED_BY_REALLOCARRAY : TG_HEAP_FREED_BY_REALLOC;
    bool is_guarded = false;
    size_t old_size = size_at((uintptr_t)old, &is_guarded);
    if (old_size == SIZE_MAX) {
        struct entry entry;
        struct tg_heap_lock *lock = lock_of((uintptr_t)old);
        entry.block = 0;
        if (tg_heap_lock_take(lock)) {
            const struct entry *found = find((uintptr_t)old);
            if (found != NULL && found->state == STATE_HOARDED)
                entry = *found;
            tg_heap_lock_release(lock);
        }
        if (entry.block != 0)
            tell(TG_HEAP_DOUBLE_DEALLOC, (uintptr_t)old, &entry, name_of_release(how), frame);
        else
            judge_stranger((uintptr_t)old, how, frame);
        if (entry.block != 0 && entry.has_red_zones) {
            free_twice(&entry);
            return NULL;
        }
        return tg_heap_real_get()->realloc(entry.block != 0 ? (void *)entry.base : old, size); // NOLINT
    }
    if (size == 0) {
        tg_heap_check_free(old, how, frame);
        return NULL;
    }
    if (!is_guarded && tg_heap_real_get()->usable_size(old) < old_size)
        old_size = tg_heap_real_get()->usable_size(old);
    void *block = tg_heap_check_alloc(0, size, false, call, frame);
    if (block == NULL)
        return NULL;
    copy(block, old, old_size < size ? old_size : size);
    tg_heap_check_free(old, how, frame);
    return block;
}

size_t tg_heap_check_usable_size(void *block)
{
    bool is_guarded;
    size_t size = size_at((uintptr_t)block, &is_guarded);
    return size != SIZE_MAX ? size : tg_heap_real_get()->usable_size(block);
}

static bool sweep_slot(size_t slot, void *context)
{
    (void)context;
    struct tg_heap_lock *lock = &check.locks[slot / SHARD_SLOTS];
    if (check.entries[slot].state != STATE_LIVE || !tg_heap_lock_take(lock))
        return false;
    struct entry entry = check.entries[slot];
    if (entry.state == STATE_LIVE)
        check_guards(&entry, "", NULL);
    tg_heap_lock_release(lock);
    return false;
}

void tg_heap_check_sweep(void)
{
    (void)each_entry(sweep_slot, NULL);
}
