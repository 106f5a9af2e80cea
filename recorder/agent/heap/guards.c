#include "recorder/agent/heap/guards.h"

void tg_heap_guards_fill(uintptr_t start, size_t size, unsigned char byte)
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

struct tg_heap_mistake tg_heap_guards_mistake(enum tg_heap_error error, uintptr_t address,
                                              const struct tg_heap_block_entry *entry, const char *call)
{
    return (struct tg_heap_mistake){.error = error,
                                    .address = address,
                                    .block = entry->block,
                                    .size = entry->size,
                                    .allocated_stack = tg_heap_block_allocated_stack(entry),
                                    .freed_stack = tg_heap_block_freed_stack(entry),
                                    .allocated_tid = entry->allocated_tid,
                                    .freed_tid = entry->freed_tid,
                                    .offset = (int64_t)(address - entry->block),
                                    .call = call};
}

bool tg_heap_guards_check_bytes(const struct tg_heap_block_entry *entry, uintptr_t start, size_t n,
                                unsigned char wanted, enum tg_heap_error error, const char *call,
                                const void *frame)
{
    uintptr_t first = start;
    size_t n_wrong;
    if (is_intact(start, n, wanted, &first, &n_wrong))
        return false;
    struct tg_heap_mistake mistake = tg_heap_guards_mistake(error, first, entry, call);
    mistake.wrong_bytes = n_wrong;
    tg_heap_note_mistake(&mistake, frame);
    return true;
}

void tg_heap_guards_write(const struct tg_heap_block_entry *entry)
{
    size_t before = tg_heap_guard_before(entry);
    tg_heap_guards_fill(entry->block - before, before, TG_HEAP_GUARD_BEFORE);
    tg_heap_guards_fill(entry->block + entry->size, tg_heap_guard_behind(entry), TG_HEAP_GUARD_BEHIND);
}

bool tg_heap_guards_check(const struct tg_heap_block_entry *entry, const char *call, const void *frame)
{
    if (!entry->has_guards)
        return false;
    size_t before = tg_heap_guard_before(entry);
    bool wrong_before = tg_heap_guards_check_bytes(entry, entry->block - before, before, TG_HEAP_GUARD_BEFORE,
                                                   TG_HEAP_GUARD_CORRUPTION, call, frame);
    bool wrong_behind =
        tg_heap_guards_check_bytes(entry, entry->block + entry->size, tg_heap_guard_behind(entry),
                                   TG_HEAP_GUARD_BEHIND, TG_HEAP_GUARD_CORRUPTION, call, frame);
    return wrong_before || wrong_behind;
}
