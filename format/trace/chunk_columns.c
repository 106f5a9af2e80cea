#include "format/trace/chunk_columns.h"

#include "format/base/byte_cursor.h"

size_t tg_chunk_column_read(const struct tg_chunk_column *column, uint64_t *values)
{
    if (column->bytes.size == 0)
        return 0;
    const uint8_t *position = column->bytes.data, *end = position + column->bytes.size;
    size_t n = 0;
    while (position < end)
        position = tg_varint_get(position, end, &values[n++]);
    return n;
}

struct tg_kind_set tg_chunk_columns_kinds(const struct tg_chunk_columns *columns)
{
    struct tg_kind_set set = {.is_known = true};
    for (uint32_t i = 0; i < columns->n_kinds_used; i++)
        tg_kind_set_add(&set, columns->kinds[columns->kinds_used[i]].number);
    for (size_t i = 0; i < columns->n_stops && !set.any_stop; i++)
        set.any_stop = columns->event_stops[i] >> columns->units.stop_shift != 0;
    return set;
}
