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
    for (size_t m = 0; m < TG_CHUNK_MOVING; m++)
        free(rows->moved[m]);
    free(rows->bases);
    *rows = (struct tg_chunk_rows){.n_numbers = rows->n_numbers};
}

void tg_chunk_rows_clear(struct tg_chunk_rows *rows)
{
    if (rows->n_slots > 0)
        memset(rows->slots, 0, rows->n_slots * sizeof *rows->slots);
    rows->n_rows = rows->n_variants = rows->n_moving = 0;
    rows->gave_up = false;
}

size_t tg_chunk_rows_memory(const struct tg_chunk_rows *rows)
{
    return rows->capacity * sizeof *rows->numbers + rows->n_slots * sizeof *rows->slots +
           rows->max_variants * (TG_CHUNK_MOVING * sizeof *rows->moved[0] + sizeof *rows->bases);
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

bool tg_chunk_rows_reserve_variant(struct tg_chunk_rows *rows)
{
    size_t capacity = rows->max_variants, needed = (size_t)rows->n_variants + 1;
    if (needed <= capacity)
        return true;
    if (needed >= TG_CHUNK_VARIANT)
        return false;
    for (size_t m = 0; m < TG_CHUNK_MOVING; m++, capacity = rows->max_variants)
        if (TG_ARRAY_RESERVE(rows->moved[m], capacity, needed) != NULL)
            return false;
    return TG_ARRAY_RESERVE(rows->bases, rows->max_variants, needed) == NULL;
}

/* FIELD moves from now on: the variants that there are have their bases' numbers. */
static void add_moving(struct tg_chunk_rows *rows, uint32_t field)
{
    uint32_t m = rows->n_moving++;
    rows->moving[m] = field;
    for (uint32_t v = 0; v < rows->n_variants; v++)
        rows->moved[m][v] = tg_chunk_rows_at(rows, rows->bases[v])[field];
}

uint32_t tg_chunk_rows_vary(struct tg_chunk_rows *rows, uint32_t row, uint32_t fields,
                            const uint64_t *numbers)
{
    uint32_t made = rows->n_variants, base_row = tg_chunk_rows_base(rows, row);
    rows->bases[made] = base_row;
    const uint64_t *base = tg_chunk_rows_at(rows, base_row);
    for (uint32_t m = 0; m < rows->n_moving; m++)
        rows->moved[m][made] =
            base_row == row ? base[rows->moving[m]] : rows->moved[m][row & ~TG_CHUNK_VARIANT];
    for (uint32_t left = fields; left != 0; left &= left - 1, numbers++) {
        uint32_t field = (uint32_t)__builtin_ctz(left), m = tg_chunk_rows_moving(rows, field);
        if (m == rows->n_moving && *numbers == base[field])
            continue;
        if (m == TG_CHUNK_MOVING)
            return TG_CHUNK_NO_ROW;
        if (m == rows->n_moving)
            add_moving(rows, field);
        rows->moved[m][made] = *numbers;
    }
    return rows->n_variants++ | TG_CHUNK_VARIANT;
}
