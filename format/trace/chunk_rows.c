#include "format/trace/chunk_rows.h"

#include "format/base/array.h"
#include "format/base/byte_buffer.h"

#include <stdlib.h>

enum {
    FIRST_SLOTS = 64,
    MAX_ROWS = 4096,  /* more of them are not worth an index */
    TRIED_ROWS = 1024 /* so many are looked for before it counts how many came again */
};

void tg_chunk_rows_deinit(struct tg_chunk_rows *rows)
{
    free(rows->numbers);
    free(rows->slots);
    *rows = (struct tg_chunk_rows){.n_numbers = rows->n_numbers};
}

void tg_chunk_rows_clear(struct tg_chunk_rows *rows)
{
    if (rows->n_slots > 0)
        memset(rows->slots, 0, rows->n_slots * sizeof *rows->slots);
    rows->n_rows = 0;
    rows->gave_up = false;
}

size_t tg_chunk_rows_memory(const struct tg_chunk_rows *rows)
{
    return rows->capacity * sizeof *rows->numbers + rows->n_slots * sizeof *rows->slots;
}

static bool grow_slots(struct tg_chunk_rows *rows)
{
    uint32_t n = rows->n_slots == 0 ? FIRST_SLOTS : rows->n_slots * 2;
    uint32_t *slots = calloc(n, sizeof *slots);
    if (slots == NULL)
        return false;
    for (uint32_t row = 0; row < rows->n_rows; row++) {
        uint32_t slot = (uint32_t)tg_chunk_rows_hash(tg_chunk_rows_at(rows, row), rows->n_numbers) & (n - 1);
        while (slots[slot] != 0)
            slot = (slot + 1) & (n - 1);
        slots[slot] = row + 1;
    }
    free(rows->slots);
    rows->slots = slots;
    rows->n_slots = n;
    return true;
}

bool tg_chunk_rows_reserve(struct tg_chunk_rows *rows)
{
    if (!rows->gave_up && 2 * rows->n_rows >= rows->n_slots && !grow_slots(rows))
        return false;
    return TG_ARRAY_RESERVE(rows->numbers, rows->capacity, (rows->n_rows + 1) * (rows->n_numbers + 1)) ==
           NULL;
}

static uint32_t add_row(struct tg_chunk_rows *rows, const uint64_t *numbers)
{
    uint64_t *row = rows->numbers + rows->n_rows * (rows->n_numbers + 1), n_bytes = 0;
    for (size_t i = 0; i < rows->n_numbers; i++) {
        row[i] = numbers[i];
        n_bytes += tg_varint_bytes(numbers[i]);
    }
    row[rows->n_numbers] = n_bytes;
    return rows->n_rows++;
}

/* Of few words: a call would take longer. */
static inline bool is_equal(const uint64_t *a, const uint64_t *b, size_t n)
{
    uint64_t differs = 0;
    for (size_t i = 0; i < n; i++)
        differs |= a[i] ^ b[i];
    return differs == 0;
}

uint32_t tg_chunk_rows_put(struct tg_chunk_rows *rows, const uint64_t *numbers, uint32_t n_events)
{
    if (rows->gave_up)
        return add_row(rows, numbers);
    uint32_t mask = rows->n_slots - 1;
    uint32_t slot = (uint32_t)tg_chunk_rows_hash(numbers, rows->n_numbers) & mask;
    for (; rows->slots[slot] != 0; slot = (slot + 1) & mask)
        if (is_equal(tg_chunk_rows_at(rows, rows->slots[slot] - 1), numbers, rows->n_numbers))
            return rows->slots[slot] - 1;
    rows->slots[slot] = rows->n_rows + 1;
    if (rows->n_rows == MAX_ROWS || (rows->n_rows >= TRIED_ROWS && rows->n_rows > n_events / 2))
        rows->gave_up = true;
    return add_row(rows, numbers);
}
