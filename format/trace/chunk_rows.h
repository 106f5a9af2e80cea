/* The payloads of the events of one kind in a chunk that is being made, each a row of numbers. As long as they come
 * again and again, each is kept once. One that is another but for a number or two, such as that of a barrier or a task, may be
 * kept as its variant: these numbers alone. */
#ifndef TG_FORMAT_TRACE_CHUNK_ROWS_H
#define TG_FORMAT_TRACE_CHUNK_ROWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { TG_CHUNK_MOVING = 2 };
#define TG_CHUNK_VARIANT (UINT32_C(1) << 31) /* bit of a row's number */
#define TG_CHUNK_NO_ROW  UINT32_MAX

/* Caller's storage; all zero but N_NUMBERS has no rows. */
struct tg_chunk_rows {
    size_t n_numbers;  /* of a row */
    uint64_t *numbers; /* of each row in turn its numbers, then the bytes that they take as varints */
    size_t capacity;   /* of NUMBERS */
    uint32_t n_rows;
    uint32_t *slots; /* hash of the rows: row + 1; 0: free */
    uint32_t n_slots;
    bool gave_up;                               /* rows may be equal: too many were not */
    uint32_t moving[TG_CHUNK_MOVING], n_moving; /* the fields in which variants differ from their bases */
    uint64_t *moved[TG_CHUNK_MOVING];           /* of each variant the number of that field, ... */
    uint32_t *bases;                            /* ... and the row that all others are of */
    size_t max_variants;                        /* of these */
    uint32_t n_variants;
};

void tg_chunk_rows_deinit(struct tg_chunk_rows *rows);
/* Forgets the rows, keeps the memory. */
void tg_chunk_rows_clear(struct tg_chunk_rows *rows);
size_t tg_chunk_rows_memory(const struct tg_chunk_rows *rows);

/* Room for one more row; false where memory is short. */
bool tg_chunk_rows_reserve(struct tg_chunk_rows *rows);

static inline bool tg_chunk_rows_have_room(const struct tg_chunk_rows *rows)
{
    return (rows->gave_up || 2 * rows->n_rows < rows->n_slots) &&
           (rows->n_rows + 1) * (rows->n_numbers + 1) <= rows->capacity;
}

/* The row with NUMBERS, a new one where there is none. N_EVENTS of the kind came before. Room is reserved. */
uint32_t tg_chunk_rows_put(struct tg_chunk_rows *rows, const uint64_t *numbers, uint32_t n_events);

/* Room for one more variant; false where memory is short. */
bool tg_chunk_rows_reserve_variant(struct tg_chunk_rows *rows);

/* The row that is ROW but for NUMBERS in the fields that have a bit in FIELDS, in their order; TG_CHUNK_NO_ROW where that would
 * be one more moving field than variants have. Room for a variant is reserved. */
uint32_t tg_chunk_rows_vary(struct tg_chunk_rows *rows, uint32_t row, uint32_t fields,
                            const uint64_t *numbers);

/* The same for one FIELD, where ROW is a variant that has its number, which becomes *BEFORE, and where there is room; otherwise
 * TG_CHUNK_NO_ROW. Number by number: what was written just before is read again. */
static inline uint32_t tg_chunk_rows_move(struct tg_chunk_rows *rows, uint32_t row, uint32_t field,
                                          uint64_t number, uint64_t *before)
{
    uint32_t m = rows->moving[0] == field ? 0 : 1, from = row & ~TG_CHUNK_VARIANT, made = rows->n_variants;
    if ((row & TG_CHUNK_VARIANT) == 0 || m >= rows->n_moving || rows->moving[m] != field ||
        made >= rows->max_variants)
        return TG_CHUNK_NO_ROW;
    *before = rows->moved[m][from];
    rows->moved[m][made] = number;
    if (rows->n_moving == TG_CHUNK_MOVING)
        rows->moved[1 - m][made] = rows->moved[1 - m][from];
    rows->bases[made] = rows->bases[from];
    rows->n_variants = made + 1;
    return made | TG_CHUNK_VARIANT;
}

/* Of a row that is no variant. */
static inline const uint64_t *tg_chunk_rows_at(const struct tg_chunk_rows *rows, uint32_t row)
{
    return rows->numbers + row * (rows->n_numbers + 1);
}

/* The row itself, or that of which it is a variant. */
static inline uint32_t tg_chunk_rows_base(const struct tg_chunk_rows *rows, uint32_t row)
{
    return (row & TG_CHUNK_VARIANT) == 0 ? row : rows->bases[row & ~TG_CHUNK_VARIANT];
}

/* The place of FIELD among those that move; where it is none of them, their number. */
static inline uint32_t tg_chunk_rows_moving(const struct tg_chunk_rows *rows, uint32_t field)
{
    uint32_t m = 0;
    while (m < rows->n_moving && rows->moving[m] != field)
        m++;
    return m;
}

/* The number of FIELD. */
static inline uint64_t tg_chunk_rows_number(const struct tg_chunk_rows *rows, uint32_t row, uint32_t field)
{
    uint32_t m = (row & TG_CHUNK_VARIANT) == 0 ? rows->n_moving : tg_chunk_rows_moving(rows, field);
    return m < rows->n_moving ? rows->moved[m][row & ~TG_CHUNK_VARIANT]
                              : tg_chunk_rows_at(rows, tg_chunk_rows_base(rows, row))[field];
}

static inline uint64_t tg_chunk_rows_bytes(const struct tg_chunk_rows *rows, uint32_t row)
{
    return tg_chunk_rows_at(rows, row)[rows->n_numbers];
}

/* For tables of rows. */
static inline uint64_t tg_chunk_rows_hash(const uint64_t *numbers, size_t n)
{
    uint64_t hash = n, factor = UINT64_C(0x9e3779b97f4a7c15);
    for (size_t i = 0; i < n; i++) { /* the products do not wait for each other */
        hash += (numbers[i] ^ numbers[i] >> 32) * factor;
        factor += UINT64_C(0x3c6ef372fe94f82a);
    }
    return hash ^ hash >> 32; /* the lowest bits are a slot */
}

#endif
