/* A starter's memory made of the input: 12 bytes say what table it claims to have, the rest is memory, which
 * is at two places, and some pages of which cannot be read. Whatever it is, reading ends, tells every
 * entry once and in order, with strings that are strings of that memory. */
#include "recorder/mpir/table.h"
#include "tests/fuzz/fuzz.h"

#include <assert.h>
#include <stdbool.h>

enum { HEAD = 12, PAGE = 4096, MAX_CALLS = 4096 };

static const uint64_t low = 0x10000, high = 0x7ffff0000000;

struct memory {
    const uint8_t *bytes;
    size_t size;
    uint8_t holes; /* page I cannot be read where bit I % 8 is set */
    size_t calls;
};

struct told {
    const struct memory *memory;
    uint64_t next;
};

static bool read_one(const struct memory *memory, const struct tg_memory_range *range)
{
    uint64_t offset = range->address - (range->address >= high ? high : low);
    if (range->address < low || offset > memory->size || range->size > memory->size - offset)
        return false;
    for (uint64_t page = offset / PAGE; page * PAGE < offset + range->size; page++)
        if (memory->holes >> page % 8 & 1)
            return false;
    memcpy(range->buffer, memory->bytes + offset, range->size);
    return true;
}

static size_t read_memory(void *context, const struct tg_memory_range *ranges, size_t count)
{
    struct memory *memory = context;
    assert(count > 0 && count <= TG_MPIR_TABLE_BLOCK);
    assert(++memory->calls <= MAX_CALLS);
    for (size_t i = 0; i < count; i++)
        if (!read_one(memory, &ranges[i]))
            return i;
    return count;
}

static void check_string(const struct memory *memory, const char *text)
{
    size_t length = strnlen(text, TG_MPIR_TABLE_MAX_STRING);
    assert(length < TG_MPIR_TABLE_MAX_STRING);
    assert(length == 0 || memmem(memory->bytes, memory->size, text, length + 1) != NULL);
}

static void take(void *context, uint64_t first, const struct tg_mpir_entry *entries, size_t count)
{
    struct told *told = context;
    assert(first == told->next && count > 0 && count <= TG_MPIR_TABLE_BLOCK);
    for (size_t i = 0; i < count; i++) {
        assert(entries[i].rank == first + i);
        assert(entries[i].pid >= INT32_MIN && entries[i].pid <= INT32_MAX);
        check_string(told->memory, entries[i].host);
        check_string(told->memory, entries[i].executable);
        assert(strnlen(entries[i].problem, 128) < 128);
    }
    told->next += count;
}

static uint64_t word(const uint8_t *data, size_t size)
{
    uint64_t value = 0;
    memcpy(&value, data, size);
    return value;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < HEAD || size > HEAD + 64 * PAGE)
        return 0;
    struct memory memory = {.bytes = data + HEAD, .size = size - HEAD, .holes = data[0]};
    struct tg_mpir_table_place place = {.size = (int32_t)word(data + 1, 4),
                                        .address = (data[5] & 1 ? high : low) + word(data + 6, 2),
                                        .layout = tg_mpir_layout_of_class(data[5] & 2 ? 32 : 64)};
    if (data[5] & 4)
        place.layout = (struct tg_mpir_layout){
            TG_MPIR_LAYOUT_DWARF, data[5] & 2 ? 4 : 8, data[8], data[9], data[10], data[11]};
    if (data[5] & 8)
        place.address = word(data + 4, 8);
    struct told told = {.memory = &memory};
    char reason[TG_MPIR_TABLE_REASON_BYTES];
    const struct tg_mpir_memory reader = {.context = &memory, .read = read_memory};
    const struct tg_mpir_table_sink sink = {.context = &told, .block = take};
    struct tg_error *error = tg_mpir_table_read(&reader, &place, &sink, reason);
    assert(error == NULL);
    assert(place.size < 0 || told.next <= (uint64_t)place.size);
    assert(reason[0] != '\0' || place.size == (int64_t)told.next);
    return 0;
}
