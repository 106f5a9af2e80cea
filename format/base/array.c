#include "format/base/array.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { FIRST_CAPACITY = 4 };

struct tg_error *tg_array_resize(void *items, size_t count, size_t item_bytes)
{
    void *memory;
    size_t bytes;
    memcpy(&memory, items, sizeof memory); /* through the type of the caller's pointer */
    /* no allocator is asked for what cannot be: those of sanitizers end the process at such sizes */
    if (__builtin_mul_overflow(count, item_bytes, &bytes) || bytes > PTRDIFF_MAX ||
        (memory = realloc(memory, bytes)) == NULL)
        return tg_error_no_memory();
    memcpy(items, &memory, sizeof memory);
    return NULL;
}

struct tg_error *tg_array_reserve(void *items, size_t *capacity, size_t needed, size_t item_bytes)
{
    if (needed <= *capacity)
        return NULL;
    size_t larger = *capacity < FIRST_CAPACITY / 2 ? FIRST_CAPACITY : 2 * *capacity;
    if (larger < needed) /* also where doubling overflows */
        larger = needed;
    struct tg_error *error = tg_array_resize(items, larger, item_bytes);
    if (error == NULL)
        *capacity = larger;
    return error;
}

struct tg_error *tg_array_copy(void *items, size_t *count, size_t *capacity, const void *from,
                               size_t from_count, size_t item_bytes)
{
    struct tg_error *error = tg_array_reserve(items, capacity, from_count, item_bytes);
    if (error != NULL)
        return error;
    void *memory;
    memcpy(&memory, items, sizeof memory);
    if (from_count > 0)
        memcpy(memory, from, from_count * item_bytes);
    *count = from_count;
    return NULL;
}

void tg_array_open_gap(void *first, size_t count, size_t at, size_t item_bytes)
{
    char *gap = (char *)first + at * item_bytes;
    memmove(gap + item_bytes, gap, (count - at) * item_bytes);
}

void tg_array_close_gap(void *first, size_t count, size_t at, size_t item_bytes)
{
    char *gap = (char *)first + at * item_bytes;
    memmove(gap, gap + item_bytes, (count - at - 1) * item_bytes);
}
