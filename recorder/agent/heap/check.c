#include "recorder/agent/heap/check.h"

#include "recorder/agent/audit/object.h"
#include "recorder/agent/audit/raw_system.h"
#include "recorder/agent/heap/block_table.h"
#include "recorder/agent/heap/guards.h"
#include "recorder/agent/heap/hoard.h"
#include "recorder/agent/heap/large_frees.h"
#include "recorder/agent/heap/linked_in.h"
#include "recorder/agent/heap/notes.h"
#include "recorder/agent/heap/real.h"
#include "recorder/agent/heap/red_zones.h"
#include "recorder/agent/heap/region.h"
#include "recorder/agent/heap/release.h"
#include "recorder/agent/heap/thread_id.h"
#include "recorder/agent/heap/wishes.h"
#include "recorder/agent/record.h"

#include <dlfcn.h>
#include <errno.h>
#include <link.h>

enum {
    FRONT_BYTES = 16, /* before a block: its guard, and what keeps it aligned; libc's own alignment */
    PAGE_BYTES = 4096,
};

/* A function with a frame of its own: handlers may have small stacks, and what others call on has no use for its variables. */
#define APART __attribute__((noinline))

static bool has_foreign_blocks; /* __atomic; some are in variables of others than the allocator */
static bool has_plain_blocks;   /* __atomic; some were given out without a place in the table */
static const struct link_map *allocators_object;
static bool is_libcs; /* the allocator */

bool tg_heap_check_prepare(void)
{
    struct dl_find_object object;
    if (_dl_find_object((void *)(uintptr_t)tg_heap_real_get()->malloc, &object) == 0)
        allocators_object = object.dlfo_link_map;
    is_libcs = _dl_find_object((void *)(uintptr_t)__errno_location, &object) == 0 &&
               object.dlfo_link_map == allocators_object;
    tg_heap_red_zones_prepare();
    if (!tg_heap_block_table_prepare())
        return false;
    tg_heap_block_table_head()->hoard = (uintptr_t)tg_heap_hoard_ring();
    return true;
}

/* ---- errors */

/* ENTRY is NULL where nothing is known of a block. */
static void tell(enum tg_heap_error error, uintptr_t address, const struct tg_heap_block_entry *entry,
                 const char *call, const void *frame)
{
    const struct tg_heap_mistake mistake =
        entry != NULL ? tg_heap_guards_mistake(error, address, entry, call)
                      : (struct tg_heap_mistake){.error = error, .address = address, .call = call};
    tg_heap_note_mistake(&mistake, frame);
}

/* ---- blocks */

static void copy(void *to, const void *from, size_t size)
{
    __asm__ volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(size) : : "memory");
}

/* *SHRANK: there was memory only when freed blocks had gone back. */
static void *get(size_t alignment, size_t bytes, bool zeroed, bool *shrank)
{
    const struct tg_heap_real *real = tg_heap_real_get();
    for (*shrank = false;; *shrank = true) {
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
    struct tg_heap_block_entry replaced;
    (void)tg_heap_block_table_add(&entry, &replaced);
}

static void say_once(bool *said, const char *text)
{
    if (!__atomic_exchange_n(said, true, __ATOMIC_RELAXED))
        tg_agent_say(TG_RECORD_NOTE, text);
}

/* Whether ADDRESS, in OBJECT, is where the program may write; true as well where that cannot be known. */
static APART bool is_in_variables(uintptr_t address, const struct dl_find_object *object)
{
    size_t count = 0, within = 0;
    uintptr_t at = address - object->dlfo_link_map->l_addr;
    const Elf64_Phdr *segments =
        tg_agent.no_calls ? NULL : tg_audit_object_segments((uintptr_t)object->dlfo_map_start, &count);
    for (size_t i = 0; i < count; i++) {
        if (at - segments[i].p_vaddr >= segments[i].p_memsz)
            continue;
        if (segments[i].p_type == PT_GNU_RELRO ||
            (segments[i].p_type == PT_LOAD && !(segments[i].p_flags & PF_W)))
            return false;
        within += segments[i].p_type == PT_LOAD;
    }
    return count == 0 || within > 0;
}

/* Whether ADDRESS, which the allocator gave, can be no block: in a program or library that is not its own, where nobody can
 * write. Variables of others may have been given to it, to make blocks of. */
static bool is_outside_heap(uintptr_t address)
{
    struct dl_find_object object;
    if (_dl_find_object((void *)address, &object) != 0 || // NOLINT: an address
        object.dlfo_link_map == allocators_object)
        return false;
    if (!is_in_variables(address, &object))
        return true;
    say_once(
        &has_foreign_blocks,
        "heap: the allocator gave out variables of a program or library that is not its own: whether they "
        "are part of its heap is not known");
    return false;
}

/* Whether what the allocator gave for ENTRY's block can be used as what was asked for; false: it is none that could be
 * written to. */
static APART bool judge_allocator(const struct tg_heap_block_entry *entry, size_t alignment,
                                  const void *frame)
{
    struct tg_heap_mistake mistake = {
        .address = entry->base, .block = entry->block, .size = entry->size, .call = ""};
    if (entry->base % (alignment > FRONT_BYTES ? alignment : FRONT_BYTES) != 0) {
        mistake.error = TG_HEAP_ALLOC_BAD_ALIGNMENT;
        tg_heap_note_mistake(&mistake, frame);
    }
    if (!is_outside_heap(entry->base))
        return true;
    mistake.error = TG_HEAP_ALLOC_NOT_IN_HEAP;
    mistake.block = entry->base;
    tg_heap_note_mistake(&mistake, frame);
    return false;
}

static APART void say_low(size_t size, const void *frame)
{
    const struct tg_heap_mistake low = {.error = TG_HEAP_HOARD_LOW_MEMORY, .size = size, .call = ""};
    tg_heap_note_mistake(&low, frame);
}

/* What the allocator gave beyond what it was asked for is guarded as well: writes beyond the end are mostly not far beyond it. */
static void measure_guard(struct tg_heap_block_entry *entry)
{
    size_t wanted = tg_heap_guard_wanted(entry->size), before = entry->block - entry->base + entry->size;
    size_t given = tg_heap_real_get()->usable_size == NULL
                       ? 0
                       : tg_heap_real_get()->usable_size((void *)entry->base); // NOLINT: an address
    size_t behind = given > before + wanted ? given - before : wanted;
    entry->behind = (unsigned char)(behind < TG_HEAP_MOST_BEHIND ? behind : TG_HEAP_MOST_BEHIND);
}

/* Makes ENTRY's block from the allocator's; false: there is no memory. */
static bool get_guarded(size_t alignment, size_t size, bool zeroed, struct tg_heap_block_entry *entry,
                        const void *frame)
{
    bool shrank;
    size_t front = alignment > FRONT_BYTES ? alignment : FRONT_BYTES, bytes;
    bool too_large = __builtin_add_overflow(size, front + tg_heap_guard_wanted(size), &bytes);
    void *base = get(alignment, too_large ? SIZE_MAX : bytes, zeroed, &shrank);
    if (base == NULL)
        return false;
    entry->base = (uintptr_t)base;
    entry->block = entry->base + front;
    if (shrank)
        say_low(size, frame);
    if (!judge_allocator(entry, alignment, frame)) {
        entry->block = entry->base;
        entry->state = TG_HEAP_BLOCK_UNGUARDED;
        return true;
    }
    measure_guard(entry);
    if (zeroed && alignment > FRONT_BYTES)
        tg_heap_guards_fill(entry->block, size, 0);
    return true;
}

/* The block at ADDRESS, freed long ago, is no more. */
static void forget(uintptr_t address)
{
    struct tg_heap_lock *lock = tg_heap_block_table_lock(address);
    if (!tg_heap_lock_take(lock))
        return;
    struct tg_heap_block_entry *entry = tg_heap_block_table_find(address);
    if (entry != NULL && entry->state == TG_HEAP_BLOCK_HOARDED)
        tg_heap_block_table_drop(entry);
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

/* A block is not in the table. */
static void say_plain(enum tg_heap_block_added why)
{
    static bool said_full, said_busy;
    __atomic_store_n(&has_plain_blocks, true, __ATOMIC_RELAXED);
    if (why == TG_HEAP_BLOCK_FULL)
        say_once(&said_full,
                 "heap: there are more blocks than can be checked at a time: the others have no guards, and "
                 "addresses inside of blocks that are freed are not found any more");
    else
        say_once(&said_busy, "heap: a signal handler allocates while the heap's own tables are in use: such "
                             "blocks have no guards, and "
                             "addresses inside of blocks that are freed are not found any more");
}

/* Puts ENTRY, which is complete, into the table; false: there is no place. */
static APART bool enter(const struct tg_heap_block_entry *entry, const void *frame)
{
    struct tg_heap_block_entry replaced;
    enum tg_heap_block_added added = tg_heap_block_table_add(entry, &replaced);
    if (replaced.block != 0)
        tell(TG_HEAP_DOUBLE_ALLOC, entry->block, &replaced, "", frame);
    if (added != TG_HEAP_BLOCK_ADDED)
        say_plain(added);
    return added == TG_HEAP_BLOCK_ADDED;
}

/* There is no place in the table for ENTRY's block, or, where it is not MADE, no memory for its guards: one as it would be
 * without the check; NULL: there is no memory for that, either. */
static APART void *make_plain(size_t alignment, bool zeroed, bool made, struct tg_heap_block_entry *entry,
                              const void *frame)
{
    static bool said_bare;
    const struct tg_heap_real *real = tg_heap_real_get();
    if (made)
        return_block(entry);
    void *plain = alignment > FRONT_BYTES ? real->memalign(alignment, entry->size)
                  : zeroed                ? real->calloc(1, entry->size)
                                          : real->malloc(entry->size);
    if (plain != NULL && zeroed && alignment > FRONT_BYTES)
        tg_heap_guards_fill((uintptr_t)plain, entry->size, 0);
    if (plain == NULL || made)
        return plain;
    entry->block = entry->base = (uintptr_t)plain;
    entry->state = TG_HEAP_BLOCK_UNGUARDED;
    say_once(&said_bare,
             "heap: too little memory is left for guards: blocks that would not fit with them have none");
    (void)enter(entry, frame);
    return plain;
}

static void write_guards(struct tg_heap_block_entry *entry, bool zeroed)
{
    entry->has_guards = !tg_heap_wishes_off(TG_AGENT_HEAP_NO_GUARDS);
    if (entry->has_guards)
        tg_heap_guards_write(entry);
    if (!zeroed && !tg_heap_wishes_off(TG_AGENT_HEAP_NO_PAINT_ALLOCATED))
        tg_heap_guards_fill(entry->block, entry->size, TG_HEAP_PAINT_ALLOCATED);
}

/* NULL: there is no memory, and no event says so. The block is in the table before its event is recorded: whether there is a
 * place for it decides which kind of block it is. */
static inline __attribute__((always_inline)) void *make(size_t alignment, size_t size, bool zeroed,
                                                        const struct tg_heap_noted *noted, const void *frame)
{
    struct tg_heap_block_entry entry = {.size = size,
                                        .allocated_tid = tg_heap_thread_id(),
                                        .state = TG_HEAP_BLOCK_LIVE,
                                        .call = (unsigned char)noted->call,
                                        .alignment = tg_heap_release_alignment_class(noted->alignment),
                                        .linked_in = noted->linked_in,
                                        .caller = ((const uintptr_t *)noted->frame)[1]};
    tg_heap_block_allocated_at(&entry, noted->stack);
    bool made =
        get_with_red_zones(alignment, size, &entry) || get_guarded(alignment, size, zeroed, &entry, frame);
    if (made && entry.state == TG_HEAP_BLOCK_LIVE)
        write_guards(&entry, zeroed);
    void *block = made && enter(&entry, frame) ? (void *)entry.block // NOLINT: an address
                                               : make_plain(alignment, zeroed, made, &entry, frame);
    if (block != NULL)
        tg_heap_note_prepared(block, noted);
    return block;
}

/* Whether the C++ library's aligned operator new asks for SIZE bytes because the allocator wants a multiple of ALIGNMENT, which
 * may be more than the program's, and gives no block of no bytes: the program has fewer, and tells operator delete so. */
static bool is_rounded_up(size_t alignment, size_t size, const struct tg_heap_noted *noted)
{
    size_t asked = noted->size != 0 ? noted->size : 1;
    return noted->alignment != 0 && !tg_heap_release_allows_mismatch() &&
           ((asked + alignment - 1) & -alignment) == size;
}

void *tg_heap_check_alloc(size_t alignment, size_t size, bool zeroed, enum tg_heap_call call,
                          const void *frame)
{
    enum tg_heap_linked_in_form linked_in =
        TG_AGENT_UNLIKELY(tg_heap_linked_in) ? tg_heap_linked_in_new(frame) : TG_HEAP_LINKED_IN_NONE;
    bool is_linked_in = linked_in != TG_HEAP_LINKED_IN_NONE;
    struct tg_heap_noted noted =
        tg_heap_note_prepare(size,
                             !is_linked_in                          ? call
                             : linked_in == TG_HEAP_LINKED_IN_ARRAY ? TG_HEAP_NEW_ARRAY
                                                                    : TG_HEAP_NEW,
                             frame);
    noted.linked_in = (unsigned char)linked_in;
    if (call == TG_HEAP_NEW ||
        call == TG_HEAP_NEW_ARRAY) /* the allocator's own operator, which this stands in for */
        noted.alignment = alignment;
    if (is_rounded_up(alignment, size, &noted))
        size = noted.size;
    void *block = make(alignment, size, zeroed, &noted, frame);
    if (block == NULL)
        tg_heap_note_prepared(NULL, &noted);
    return block;
}

void *tg_heap_check_whole_pages(size_t size, const void *frame)
{
    const struct tg_heap_noted noted = tg_heap_note_prepare(size, TG_HEAP_PVALLOC, frame);
    size_t bytes =
        size > SIZE_MAX - PAGE_BYTES ? SIZE_MAX : (size + PAGE_BYTES - 1) & ~(size_t)(PAGE_BYTES - 1);
    void *block = make(PAGE_BYTES, bytes, false, &noted, frame);
    if (block == NULL)
        tg_heap_note_prepared(NULL, &noted);
    return block;
}

void tg_heap_check_odd_alignment(size_t alignment, size_t size, const char *call, const void *frame)
{
    const struct tg_heap_mistake mistake = {
        .error = TG_HEAP_BAD_ALIGNMENT_ARGUMENT, .address = alignment, .size = size, .call = call};
    tg_heap_note_mistake(&mistake, frame);
}

void tg_heap_check_unguarded(void *block, size_t size, enum tg_heap_call call, const void *frame)
{
    const struct tg_heap_noted noted = tg_heap_note_alloc(block, size, call, frame);
    struct tg_heap_block_entry entry = {.block = (uintptr_t)block,
                                        .base = (uintptr_t)block,
                                        .size = size,
                                        .allocated_tid = tg_heap_thread_id(),
                                        .state = TG_HEAP_BLOCK_UNGUARDED,
                                        .call = (unsigned char)noted.call};
    tg_heap_block_allocated_at(&entry, noted.stack);
    if (block != NULL)
        (void)enter(&entry, frame);
}

/* ---- the end of a block */

struct around {
    uintptr_t address;
    struct tg_heap_block_entry found;
};

/* What is before and behind a block with guards is nobody else's, either. */
static bool is_around(const struct tg_heap_block_entry *entry, void *context)
{
    struct around *around = context;
    uintptr_t end = entry->block + entry->size + tg_heap_guard_behind(entry);
    if ((entry->state != TG_HEAP_BLOCK_LIVE && entry->state != TG_HEAP_BLOCK_HOARDED) ||
        around->address == entry->block || around->address < entry->base || around->address >= end)
        return false;
    around->found = *entry;
    return true;
}

/* The block, live or kept, that ADDRESS is inside of or right beside, as a copy; false: none. */
static bool find_around(uintptr_t address, struct tg_heap_block_entry *around)
{
    struct around wanted = {.address = address};
    if (!tg_heap_block_table_each(is_around, &wanted))
        return false;
    *around = wanted.found;
    return true;
}

/* Whether ADDRESS is in a program or library, and not in what the allocator may have made blocks of. */
static bool is_of_program(uintptr_t address)
{
    struct dl_find_object object;
    if (_dl_find_object((void *)address, &object) != 0) // NOLINT: an address
        return false;
    return is_libcs || /* which makes none of variables */
           (object.dlfo_link_map != allocators_object &&
            !__atomic_load_n(&has_foreign_blocks, __ATOMIC_RELAXED));
}

/* Whether nothing is mapped there; false as well where that cannot be known. */
static bool is_no_memory(uintptr_t address)
{
    unsigned char resident;
    return !tg_agent.no_calls &&
           tg_raw_is_resident(address & ~(uintptr_t)(PAGE_BYTES - 1), 1, &resident) == -ENOMEM;
}

/* Whether ADDRESS is no block of any allocator: in a program or library, on this thread's stack, misaligned, or no memory. */
static bool is_surely_none(uintptr_t address, bool all_are_known)
{
    uintptr_t here = (uintptr_t)__builtin_frame_address(0);
    return address % (is_libcs ? FRONT_BYTES : 8) != 0 || is_no_memory(address) ||
           (all_are_known && address > here && address < tg_heap_region_end(here)) || /* or its heap's */
           is_of_program(address);
}

/* What libc is to get for a block that it did not give. */
struct stranger {
    uintptr_t address;
    uint64_t *size; /* where it looks for the block's size, and there is paint; NULL: elsewhere */
    uint64_t paint;
};

/* The size that libc reads of the block at ADDRESS, inside of AROUND's, where that is nothing but paint; NULL: it is not. The paint of
 * freed blocks says to libc that the block is a mapping, which it complains of without its lock. */
static uint64_t *painted_size(uintptr_t address, const struct tg_heap_block_entry *around)
{
    const uint64_t bytes = UINT64_C(0x0101010101010101);
    uintptr_t offset = address - around->block;
    if (!is_libcs || around->state != TG_HEAP_BLOCK_LIVE || around->has_red_zones ||
        address % FRONT_BYTES != 0 || offset < sizeof bytes || offset > around->size)
        return NULL;
    uint64_t *size = (uint64_t *)(address - sizeof *size); // NOLINT: an address
    return *size == TG_HEAP_PAINT_ALLOCATED * bytes ? size : NULL;
}

/* Memory that the program has not written to has paint where it would mostly have zeros. What libc says of a block of no bytes it says
 * without its lock; a size of paint it looks into with the lock held, which a handler of SIGABRT that allocates would wait for. */
static void hide_paint(struct stranger *stranger)
{
    stranger->paint = stranger->size != NULL ? *stranger->size : 0;
    if (stranger->size != NULL)
        *stranger->size = 0;
}

static void restore_paint(const struct stranger *stranger)
{
    if (stranger->size != NULL)
        *stranger->size = stranger->paint;
}

/* STRANGER's address is in no table, or is gone. Whether somebody may have got it as a block: with those that had no place in the
 * table it is too late to look through all others each time. False: the address may be another one now, for to the allocator what
 * is before a block with guards is the block that it gave. */
static bool judge_stranger(struct stranger *stranger, enum tg_heap_release how, const void *frame)
{
    struct tg_heap_block_entry around;
    uintptr_t address = stranger->address;
    bool all_are_known = !__atomic_load_n(&has_plain_blocks, __ATOMIC_RELAXED);
    enum tg_heap_error error =
        tg_heap_release_is_realloc(how) ? TG_HEAP_REALLOC_NOT_ALLOCATED : TG_HEAP_FREE_NOT_ALLOCATED;
    if (all_are_known && find_around(address, &around)) {
        tell(TG_HEAP_ADDR_NOT_AT_START, address, &around, tg_heap_release_name(how), frame);
        stranger->size = painted_size(address, &around);
        if (address < around.block)
            stranger->address -= around.block - around.base;
        return false;
    }
    if (is_no_memory(address) && tg_heap_large_frees_find(address, &around))
        tell(TG_HEAP_DOUBLE_DEALLOC, address, &around, tg_heap_release_name(how), frame);
    else if (is_surely_none(address, all_are_known))
        tell(error, address, NULL, tg_heap_release_name(how), frame);
    else
        return true;
    return false;
}

/* ENTRY's block is freed at STACK, and will not be kept. */
static APART void remember_large(const struct tg_heap_block_entry *entry, uint32_t stack)
{
    struct tg_heap_block_entry freed = *entry;
    tg_heap_block_freed_at(&freed, stack);
    freed.freed_tid = tg_heap_thread_id();
    tg_heap_large_frees_add(&freed);
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
        bool is_hoarded = found->size <= TG_HEAP_HOARDED_BYTES && !tg_heap_wishes_off(TG_AGENT_HEAP_NO_HOARD);
        *keeps = found->state == TG_HEAP_BLOCK_LIVE && (is_hoarded || found->has_red_zones);
        found->is_painted =
            *keeps && !found->has_red_zones && !tg_heap_wishes_off(TG_AGENT_HEAP_NO_PAINT_FREED);
        entry->is_painted = found->is_painted;
        tg_heap_block_freed_at(found, stack);
        found->freed_tid = tg_heap_thread_id();
        found->is_told = false;
        found->state = TG_HEAP_BLOCK_HOARDED;
        if (!*keeps)
            tg_heap_block_table_drop(found);
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
            tg_heap_block_table_drop(found);
        tg_heap_lock_release(lock);
    }
    if (was_hoarded)
        tg_heap_real_get()->free((void *)entry->base); // NOLINT: an address
    tg_heap_real_get()->free((void *)entry->base);     // NOLINT: an address
}

void tg_heap_check_free(void *block, enum tg_heap_release how, struct tg_heap_told told, const void *frame)
{
    struct tg_heap_block_entry entry;
    bool keeps = false;
    uintptr_t address = (uintptr_t)block;
    uint32_t stack = tg_heap_note_stack(frame);
    if (!tg_heap_release_is_realloc(how))
        tg_heap_wishes_meet(block, TG_AGENT_HEAP_TAG_DEALLOC, tg_heap_release_name(how), frame);
    if (!retire(address, stack, &keeps, &entry)) {
        /* of a block that the allocator has again nothing is known: somebody who is not seen may have got it */
        if (entry.block != 0) {
            tell(TG_HEAP_DOUBLE_DEALLOC, address, &entry, tg_heap_release_name(how), frame);
            free_twice(&entry);
        } else {
            struct stranger stranger = {.address = address};
            if (judge_stranger(&stranger, how, frame))
                tg_heap_note_free_at(block, how, stack);
            hide_paint(&stranger);
            tg_heap_real_get()->free((void *)stranger.address); // NOLINT: an address
            restore_paint(&stranger);
        }
        return;
    }
    if (entry.block == 0) {
        tg_heap_note_free_at(block, how, stack);
        return;
    }
    enum tg_heap_linked_in_form form;
    how = tg_heap_release_of(how, &entry, frame, &form);
    if (!entry.is_told)
        (void)tg_heap_guards_check(&entry, tg_heap_release_name(how), frame);
    tg_heap_release_judge(&entry, how, form, &told, frame);
    tg_heap_note_free_at(block, how, stack);
    if (keeps && !entry.has_red_zones) {
        if (entry.is_painted)
            tg_heap_guards_fill(entry.block, entry.size, TG_HEAP_PAINT_FREED);
        tg_heap_hoard_keep(entry.block, entry.size);
        return;
    }
    if (entry.size > TG_HEAP_HOARDED_BYTES)
        remember_large(&entry, stack);
    return_block(&entry);
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

/* A block that has no place in the table. */
static APART void *realloc_stranger(void *old, size_t size, enum tg_heap_call call, const void *frame)
{
    const struct tg_heap_realloc begun = tg_heap_note_realloc_begin(old);
    void *block = tg_heap_real_get()->realloc(old, size);
    tg_heap_note_realloc_end(&begun, block, size, call, frame);
    return block;
}

/* OLD is not in use, as far as the table knows. */
static APART void *realloc_unknown(void *old, size_t size, enum tg_heap_call call, enum tg_heap_release how,
                                   const void *frame)
{
    const struct tg_heap_real *real = tg_heap_real_get();
    struct tg_heap_block_entry entry;
    struct tg_heap_lock *lock = tg_heap_block_table_lock((uintptr_t)old);
    uintptr_t address = (uintptr_t)old;
    entry.block = 0;
    if (tg_heap_lock_take(lock)) {
        struct tg_heap_block_entry *found = tg_heap_block_table_find(address);
        if (found != NULL && found->state == TG_HEAP_BLOCK_HOARDED) {
            entry = *found;
            if (!entry.has_red_zones)
                tg_heap_block_table_drop(found);
        }
        tg_heap_lock_release(lock);
    }
    if (entry.block == 0) {
        struct stranger stranger = {.address = address};
        if (judge_stranger(&stranger, how, frame))
            return realloc_stranger(old, size, call, frame);
        hide_paint(&stranger);
        void *moved = real->realloc((void *)stranger.address, size); // NOLINT: an address
        restore_paint(&stranger);
        return moved;
    }
    tell(TG_HEAP_DOUBLE_DEALLOC, address, &entry, tg_heap_release_name(how), frame);
    if (entry.has_red_zones) {
        free_twice(&entry);
        return NULL;
    }
    void *base = (void *)entry.base; // NOLINT: an address
    real->free(base);
    void *block = real->realloc(base, size); // NOLINT: the program's mistake
    if (block != NULL)
        tg_heap_check_unguarded(block, size, call, frame);
    return block;
}

/* Takes the block at ADDRESS out of the table; false: there is none in use. */
static bool set_aside(uintptr_t address, struct tg_heap_block_entry *entry)
{
    struct tg_heap_lock *lock = tg_heap_block_table_lock(address);
    if (!tg_heap_lock_take(lock))
        return false;
    struct tg_heap_block_entry *found = tg_heap_block_table_find(address);
    bool is_there =
        found != NULL && (found->state == TG_HEAP_BLOCK_LIVE || found->state == TG_HEAP_BLOCK_UNGUARDED);
    if (is_there) {
        *entry = *found;
        tg_heap_block_table_drop(found);
    }
    tg_heap_lock_release(lock);
    return is_there;
}

/* There is no memory for OLD and its successor at a time, which the program never asked for: the allocator resizes what it gave. */
static APART void *resize_in_place(void *old, size_t size, enum tg_heap_call call, const void *frame)
{
    struct tg_heap_block_entry entry;
    size_t bytes;
    if (!set_aside((uintptr_t)old, &entry)) {
        tg_heap_note_alloc(NULL, size, call, frame);
        return NULL;
    }
    size_t front = entry.block - entry.base;
    size_t behind = entry.state == TG_HEAP_BLOCK_LIVE ? tg_heap_guard_wanted(size) : 0;
    if (entry.state == TG_HEAP_BLOCK_LIVE && !entry.is_told)
        (void)tg_heap_guards_check(&entry, tg_heap_release_name(TG_HEAP_FREED_BY_REALLOC), frame);
    if (tg_heap_release_is_mismatched(&entry, TG_HEAP_FREED_BY_REALLOC))
        tell(TG_HEAP_MISMATCHED_DEALLOC, entry.block, &entry, tg_heap_release_name(TG_HEAP_FREED_BY_REALLOC),
             frame);
    const struct tg_heap_realloc begun = tg_heap_note_realloc_begin(old);
    void *base = NULL;
    if (!entry.has_red_zones && !__builtin_add_overflow(size, front + behind, &bytes))
        base = tg_heap_real_get()->realloc((void *)entry.base, bytes); // NOLINT: an address
    if (base == NULL) {
        (void)enter(&entry, frame);
        tg_heap_note_alloc(NULL, size, call, frame);
        return NULL;
    }
    size_t old_size = entry.size;
    entry.base = (uintptr_t)base;
    entry.block = entry.base + front;
    entry.size = size;
    tg_heap_block_allocated_at(&entry, tg_heap_note_stack(frame));
    entry.allocated_tid = tg_heap_thread_id();
    entry.call = (unsigned char)call;
    entry.is_told = false;
    if (entry.state == TG_HEAP_BLOCK_LIVE)
        measure_guard(&entry);
    if (entry.has_guards)
        tg_heap_guards_write(&entry);
    if (entry.state == TG_HEAP_BLOCK_LIVE && size > old_size &&
        !tg_heap_wishes_off(TG_AGENT_HEAP_NO_PAINT_ALLOCATED))
        tg_heap_guards_fill(entry.block + old_size, size - old_size, TG_HEAP_PAINT_ALLOCATED);
    void *block = (void *)entry.block; // NOLINT: an address
    tg_heap_note_realloc_end(&begun, block, size, call, frame);
    (void)enter(&entry, frame);
    return block;
}

void *tg_heap_check_realloc(void *old, size_t size, enum tg_heap_call call, const void *frame)
{
    enum tg_heap_release how =
        call == TG_HEAP_REALLOCARRAY ? TG_HEAP_FREED_BY_REALLOCARRAY : TG_HEAP_FREED_BY_REALLOC;
    bool is_guarded = false;
    tg_heap_wishes_meet(old, size == 0 ? TG_AGENT_HEAP_TAG_DEALLOC : TG_AGENT_HEAP_TAG_REALLOC,
                        tg_heap_release_name(how), frame);
    size_t old_size = size_at((uintptr_t)old, &is_guarded);
    if (old_size == SIZE_MAX)
        return realloc_unknown(old, size, call, how, frame);
    if (size == 0) {
        tg_heap_check_free(old, how, (struct tg_heap_told){.size = (size_t)TG_HEAP_NOT_TOLD}, frame);
        return NULL;
    }
    if (!is_guarded && tg_heap_real_get()->usable_size(old) < old_size)
        old_size = tg_heap_real_get()->usable_size(old);
    const struct tg_heap_noted noted = tg_heap_note_prepare(size, call, frame);
    void *block = make(0, size, false, &noted, frame);
    if (block == NULL)
        return resize_in_place(old, size, call, frame);
    copy(block, old, old_size < size ? old_size : size);
    tg_heap_check_free(old, how, (struct tg_heap_told){.size = (size_t)TG_HEAP_NOT_TOLD}, frame);
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
    const bool *only_own = context;
    struct tg_heap_lock *lock = tg_heap_block_table_lock_of_entry(entry);
    if (entry->state != TG_HEAP_BLOCK_LIVE || !tg_heap_lock_take(lock))
        return false;
    struct tg_heap_block_entry swept = *entry;
    bool is_wanted = swept.state == TG_HEAP_BLOCK_LIVE && !swept.is_told &&
                     (!*only_own || swept.allocated_generation == (uint32_t)*tg_agent.generation);
    if (is_wanted && tg_heap_guards_check(&swept, "", NULL)) {
        struct tg_heap_block_entry *found = tg_heap_block_table_find(swept.block);
        if (found != NULL)
            found->is_told = true;
    }
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

void tg_heap_check_sweep(bool only_own)
{
    (void)tg_heap_block_table_each(sweep, &only_own);
    tg_heap_hoard_check(only_own);
    wipe_stack();
}
