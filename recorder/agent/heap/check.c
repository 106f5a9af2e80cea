#include "recorder/agent/heap/check.h"

#include "recorder/agent/heap/block_table.h"
#include "recorder/agent/heap/guards.h"
#include "recorder/agent/heap/hoard.h"
#include "recorder/agent/heap/notes.h"
#include "recorder/agent/heap/real.h"
#include "recorder/agent/heap/red_zones.h"
#include "recorder/agent/heap/region.h"
#include "recorder/agent/heap/wishes.h"
#include "recorder/agent/record.h"

#include <dlfcn.h>

enum {
    FRONT_BYTES = 16,            /* before a block: its guard, and what keeps it aligned */
    MAX_HOARDED_BYTES = 1 << 20, /* of one block */
};

static bool allows_mismatch;

bool tg_heap_check_prepare(void)
{
    tg_heap_red_zones_prepare();
    return tg_heap_block_table_prepare();
}

void tg_heap_check_allow_mismatch(void)
{
    allows_mismatch = true;
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

static void tell(enum tg_heap_error error, uintptr_t address, const struct tg_heap_block_entry *entry,
                 const char *call, const void *frame)
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

/* ---- blocks */

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
        if (base != NULL || !tg_heap_hoard_shrink())
            return base;
    }
}

void tg_heap_check_adopt(const void *block, size_t size, enum tg_heap_call call)
{
    const struct tg_heap_block_entry entry = {.block = (uintptr_t)block,
                                              .base = (uintptr_t)block,
                                              .size = size,
                                              .state = TG_HEAP_BLOCK_UNGUARDED,
                                              .call = (unsigned char)call};
    (void)tg_heap_block_table_add(&entry);
}

/* Makes ENTRY's block from the allocator's; false: there is no memory. */
static bool get_guarded(size_t alignment, size_t size, bool zeroed, struct tg_heap_block_entry *entry)
{
    size_t front = alignment > FRONT_BYTES ? alignment : FRONT_BYTES, bytes;
    bool too_large = __builtin_add_overflow(size, front + TG_AGENT_HEAP_GUARD_BYTES, &bytes);
    void *base = get(alignment, too_large ? SIZE_MAX : bytes, zeroed);
    entry->base = (uintptr_t)base;
    entry->block = entry->base + front;
    if (base != NULL && zeroed && alignment > FRONT_BYTES)
        tg_heap_guards_fill(entry->block, size, 0);
    return base != NULL;
}

/* The block at ADDRESS, freed long ago, is no more. */
static void forget(uintptr_t address)
{
    struct tg_heap_lock *lock = tg_heap_block_table_lock(address);
    if (!tg_heap_lock_take(lock))
        return;
    struct tg_heap_block_entry *entry = tg_heap_block_table_find(address);
    if (entry != NULL && entry->state == TG_HEAP_BLOCK_HOARDED)
        entry->state = TG_HEAP_BLOCK_GONE;
    tg_heap_lock_release(lock);
}

static bool get_with_red_zones(size_t alignment, size_t size, struct tg_heap_block_entry *entry)
{
    uintptr_t forgotten = 0;
    if (tg_heap_wishes_off(TG_AGENT_HEAP_NO_RED_ZONES))
        return false;
    entry->has_red_zones = tg_heap_red_zones_take(alignment > FRONT_BYTES ? alignment : FRONT_BYTES, size,
                                                  &entry->block, &forgotten);
    if (forgotten != 0)
        forget(forgotten);
    entry->base = entry->block;
    return entry->has_red_zones;
}

/* The allocator's part of the end of ENTRY's block. */
static void return_block(const struct tg_heap_block_entry *entry)
{
    if (entry->has_red_zones)
        tg_heap_red_zones_drop(entry->block, entry->size);
    else
        tg_heap_real_get()->free((void *)entry->base); // NOLINT: an address
}

/* There is no place in the table for ENTRY: it becomes a block as it would be without the check. */
static void *make_plain(size_t alignment, bool zeroed, const struct tg_heap_block_entry *entry,
                        const void *frame)
{
    enum tg_heap_call call = (enum tg_heap_call)entry->call;
    tg_heap_note_free((const void *)entry->block, TG_HEAP_FREE, NULL); // NOLINT: an address
    return_block(entry);
    void *plain =
        tg_heap_real_get()->memalign(alignment > FRONT_BYTES ? alignment : FRONT_BYTES, entry->size);
    if (plain != NULL && zeroed)
        tg_heap_guards_fill((uintptr_t)plain, entry->size, 0);
    tg_heap_note_alloc(plain, entry->size, call, frame);
    return plain;
}

void *tg_heap_check_alloc(size_t alignment, size_t size, bool zeroed, enum tg_heap_call call,
                          const void *frame)
{
    struct tg_heap_block_entry entry = {.size = size, .state = TG_HEAP_BLOCK_LIVE};
    if (!get_with_red_zones(alignment, size, &entry) && !get_guarded(alignment, size, zeroed, &entry)) {
        tg_heap_note_alloc(NULL, size, call, frame);
        return NULL;
    }
    entry.has_guards = !tg_heap_wishes_off(TG_AGENT_HEAP_NO_GUARDS);
    if (entry.has_guards)
        tg_heap_guards_write(&entry);
    if (!zeroed && !tg_heap_wishes_off(TG_AGENT_HEAP_NO_PAINT_ALLOCATED))
        tg_heap_guards_fill(entry.block, size, TG_HEAP_PAINT_ALLOCATED);
    void *block = (void *)entry.block; // NOLINT: an address
    const struct tg_heap_noted noted = tg_heap_note_alloc(block, size, call, frame);
    entry.allocated_stack = noted.stack;
    entry.allocated_tid = tg_raw_thread_id();
    entry.call = (unsigned char)noted.call;
    return tg_heap_block_table_add(&entry) ? block : make_plain(alignment, zeroed, &entry, frame);
}

/* ---- the end of a block */

struct around {
    uintptr_t address;
    struct tg_heap_block_entry found;
};

static bool is_around(const struct tg_heap_block_entry *entry, void *context)
{
    struct around *around = context;
    if ((entry->state != TG_HEAP_BLOCK_LIVE && entry->state != TG_HEAP_BLOCK_HOARDED) ||
        around->address <= entry->block ||
        around->address >= entry->block + (entry->size > 0 ? entry->size : 1))
        return false;
    around->found = *entry;
    return true;
}

/* The live block that ADDRESS is inside of, as a copy; false: none. */
static bool find_around(uintptr_t address, struct tg_heap_block_entry *around)
{
    struct around wanted = {.address = address};
    if (!tg_heap_block_table_each(is_around, &wanted))
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
    struct tg_heap_block_entry around;
    enum tg_heap_error error = is_realloc(how) ? TG_HEAP_REALLOC_NOT_ALLOCATED : TG_HEAP_FREE_NOT_ALLOCATED;
    if (find_around(address, &around))
        tell(TG_HEAP_ADDR_NOT_AT_START, address, &around, name_of_release(how), frame);
    else if (is_surely_none(address))
        tell(error, address, NULL, name_of_release(how), frame);
}

static bool is_mismatched(const struct tg_heap_block_entry *entry, enum tg_heap_release how)
{
    bool is_new = entry->call == TG_HEAP_NEW, is_array = entry->call == TG_HEAP_NEW_ARRAY;
    if (allows_mismatch || entry->state == TG_HEAP_BLOCK_UNGUARDED)
        return false;
    return is_new != (how == TG_HEAP_DELETE) || is_array != (how == TG_HEAP_DELETE_ARRAY);
}

/* Takes the block at ADDRESS out of use; *ENTRY is a copy of what it was. KEEPS: it is to be hoarded. False: there is
 * none in use; then ENTRY's block is 0 where there never was one. */
static bool retire(uintptr_t address, uint32_t stack, bool *keeps, struct tg_heap_block_entry *entry)
{
    struct tg_heap_lock *lock = tg_heap_block_table_lock(address);
    *entry = (struct tg_heap_block_entry){0};
    if (!tg_heap_lock_take(lock)) {
        *keeps = true; /* a handler that interrupted this table: the block stays where it is */
        return true;
    }
    struct tg_heap_block_entry *found = tg_heap_block_table_find(address);
    bool live =
        found != NULL && (found->state == TG_HEAP_BLOCK_LIVE || found->state == TG_HEAP_BLOCK_UNGUARDED);
    if (found != NULL)
        *entry = *found;
    if (live) {
        bool is_hoarded = found->size <= MAX_HOARDED_BYTES && !tg_heap_wishes_off(TG_AGENT_HEAP_NO_HOARD);
        *keeps = found->state == TG_HEAP_BLOCK_LIVE && (is_hoarded || found->has_red_zones);
        found->is_painted =
            *keeps && !found->has_red_zones && !tg_heap_wishes_off(TG_AGENT_HEAP_NO_PAINT_FREED);
        entry->is_painted = found->is_painted;
        found->freed_stack = stack;
        found->freed_tid = tg_raw_thread_id();
        found->state = *keeps ? TG_HEAP_BLOCK_HOARDED : TG_HEAP_BLOCK_GONE;
    }
    tg_heap_lock_release(lock);
    return live;
}

/* A block that was freed before is freed again: the allocator sees both, as it would have. Of one with red zones it knows
 * nothing: it sees that of another one of that size. */
static void free_twice(const struct tg_heap_block_entry *entry)
{
    if (entry->has_red_zones) {
        void *volatile other = tg_heap_real_get()->malloc(entry->size);
        tg_heap_real_get()->free(other);
        tg_heap_real_get()->free(other); // NOLINT: the program's mistake
        return;
    }
    struct tg_heap_lock *lock = tg_heap_block_table_lock(entry->block);
    bool was_hoarded = false;
    if (tg_heap_lock_take(lock)) {
        struct tg_heap_block_entry *found = tg_heap_block_table_find(entry->block);
        was_hoarded = found != NULL && found->state == TG_HEAP_BLOCK_HOARDED;
        if (was_hoarded)
            found->state = TG_HEAP_BLOCK_GONE;
        tg_heap_lock_release(lock);
    }
    if (was_hoarded)
        tg_heap_real_get()->free((void *)entry->base); // NOLINT: an address
    tg_heap_real_get()->free((void *)entry->base);     // NOLINT: an address
}

void tg_heap_check_free(void *block, enum tg_heap_release how, const void *frame)
{
    struct tg_heap_block_entry entry;
    bool keeps = false;
    uintptr_t address = (uintptr_t)block;
    uint32_t stack = tg_heap_note_stack(frame);
    if (!is_realloc(how))
        tg_heap_wishes_meet(block, TG_AGENT_HEAP_TAG_DEALLOC, name_of_release(how), frame);
    if (!retire(address, stack, &keeps, &entry)) {
        /* where a block is gone, the allocator may have given its address to somebody who is not seen */
        if (entry.block != 0 && entry.state == TG_HEAP_BLOCK_HOARDED) {
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
    tg_heap_guards_check(&entry, name_of_release(how), frame);
    if (!is_realloc(how) && is_mismatched(&entry, how))
        tell(TG_HEAP_MISMATCHED_DEALLOC, address, &entry, name_of_release(how), frame);
    tg_heap_note_free_at(block, how, stack);
    if (keeps && !entry.has_red_zones) {
        if (entry.is_painted)
            tg_heap_guards_fill(entry.block, entry.size, TG_HEAP_PAINT_FREED);
        tg_heap_hoard_keep(entry.block, entry.size);
    } else {
        return_block(&entry);
    }
}

/* The size of the block in use at ADDRESS; SIZE_MAX: there is none. */
static size_t size_at(uintptr_t address, bool *is_guarded)
{
    struct tg_heap_lock *lock = tg_heap_block_table_lock(address);
    size_t size = SIZE_MAX;
    if (!tg_heap_lock_take(lock))
        return size;
    const struct tg_heap_block_entry *entry = tg_heap_block_table_find(address);
    if (entry != NULL && (entry->state == TG_HEAP_BLOCK_LIVE || entry->state == TG_HEAP_BLOCK_UNGUARDED)) {
        size = entry->size;
        *is_guarded = entry->state == TG_HEAP_BLOCK_LIVE;
    }
    tg_heap_lock_release(lock);
    return size;
}

void *tg_heap_check_realloc(void *old, size_t size, enum tg_heap_call call, const void *frame)
{
    enum tg_heap_release how =
        call == TG_HEAP_REALLOCARRAY ? TG_HEAP_FREED_BY_REALLOCARRAY : TG_HEAP_FREED_BY_REALLOC;
    bool is_guarded = false;
    tg_heap_wishes_meet(old, size == 0 ? TG_AGENT_HEAP_TAG_DEALLOC : TG_AGENT_HEAP_TAG_REALLOC,
                        name_of_release(how), frame);
    size_t old_size = size_at((uintptr_t)old, &is_guarded);
    if (old_size == SIZE_MAX) {
        struct tg_heap_block_entry entry;
        struct tg_heap_lock *lock = tg_heap_block_table_lock((uintptr_t)old);
        entry.block = 0;
        if (tg_heap_lock_take(lock)) {
            const struct tg_heap_block_entry *found = tg_heap_block_table_find((uintptr_t)old);
            if (found != NULL && found->state == TG_HEAP_BLOCK_HOARDED)
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

static bool sweep(const struct tg_heap_block_entry *entry, void *context)
{
    (void)context;
    struct tg_heap_lock *lock = tg_heap_block_table_lock_of_entry(entry);
    if (entry->state != TG_HEAP_BLOCK_LIVE || !tg_heap_lock_take(lock))
        return false;
    struct tg_heap_block_entry swept = *entry;
    if (swept.state == TG_HEAP_BLOCK_LIVE)
        tg_heap_guards_check(&swept, "", NULL);
    tg_heap_lock_release(lock);
    return false;
}

/* What the calls before have left on the stack: the last block's address there would hide that block's leak, which is
 * looked for next. */
static __attribute__((noinline)) void wipe_stack(void)
{
    char room[2048];
    for (size_t i = 0; i < sizeof room; i++)
        ((volatile char *)room)[i] = 0;
}

void tg_heap_check_sweep(void)
{
    (void)tg_heap_block_table_each(sweep, NULL);
    wipe_stack();
}
