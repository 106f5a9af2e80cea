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
