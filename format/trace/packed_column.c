#include "format/trace/packed_column.h"

/* One value in as many may be an exception; fewer planes are worth that (docs/performance.md). */
enum { EXCEPTION_SHARE = 32, MAX_WIDTH = 8, FORM_SHIFT = 4 };

static unsigned choose_width(const uint64_t *values, size_t n)
{
    size_t wider[MAX_WIDTH + 1] = {0}; /* by width: how many values have it */
    for (size_t i = 0; i < n; i++)
        wider[tg_packed_column_width(values[i])]++;
    unsigned width = MAX_WIDTH;
    size_t exceptions = wider[MAX_WIDTH];
    while (width > 0 && exceptions <= n / EXCEPTION_SHARE) {
        width--;
        exceptions += wider[width];
    }
    return width;
}

static bool write_exceptions(struct tg_byte_buffer *bytes, const uint64_t *values, size_t n, unsigned width)
{
    size_t next = 0; /* behind the exception before */
    for (size_t i = 0; i < n; i++) {
        if (tg_packed_column_width(values[i]) <= width)
            continue;
        if (!tg_byte_buffer_reserve(bytes, 2 * TG_VARINT_MAX_BYTES))
            return false;
        tg_byte_buffer_put_varint(bytes, i - next);
        tg_byte_buffer_put_varint(bytes, values[i]);
        next = i + 1;
    }
    return true;
}

static bool write_column(struct tg_byte_buffer *bytes, struct tg_byte_buffer *boundaries,
                         const uint64_t *values, size_t n, enum tg_column_form form)
{
    uint64_t any = 0;
    for (size_t i = 0; i < n; i++)
        any |= values[i];
    if (!tg_byte_buffer_reserve(bytes, TG_VARINT_MAX_BYTES + 1))
        return false;
    if (any == 0) {
        tg_byte_buffer_put_varint(bytes, 0);
        return true;
    }
    unsigned width = choose_width(values, n);
    struct tg_byte_buffer exceptions = {0};
    bool written = write_exceptions(&exceptions, values, n, width) &&
                   tg_byte_buffer_reserve(bytes, TG_VARINT_MAX_BYTES + 1 + exceptions.size + width * n) &&
                   tg_byte_buffer_reserve(boundaries, (width + 1) * sizeof(size_t));
    if (written) {
        tg_byte_buffer_put_varint(bytes, 1 + exceptions.size + width * n);
        bytes->data[bytes->size++] = (uint8_t)(width | (unsigned)form << FORM_SHIFT);
        tg_byte_buffer_put(bytes, exceptions.data, exceptions.size);
        for (unsigned p = 0; p < width; p++) {
            tg_byte_buffer_put(boundaries, &bytes->size, sizeof bytes->size);
            uint8_t *plane = bytes->data + bytes->size;
            for (size_t i = 0; i < n; i++)
                plane[i] = tg_packed_column_width(values[i]) > width ? 0 : (uint8_t)(values[i] >> (8 * p));
            bytes->size += n;
        }
        tg_byte_buffer_put(boundaries, &bytes->size, sizeof bytes->size);
    }
    tg_byte_buffer_deinit(&exceptions);
    return written;
}

bool tg_packed_column_write(struct tg_byte_buffer *bytes, struct tg_byte_buffer *boundaries,
                            const uint64_t *values, size_t n)
{
    return write_column(bytes, boundaries, values, n, TG_COLUMN_PLAIN);
}

bool tg_packed_column_write_smallest(struct tg_byte_buffer *bytes, struct tg_byte_buffer *boundaries,
                                     uint64_t *values, size_t n, enum tg_column_form last)
{
    uint64_t previous = 0;
    size_t bytes_of[3] = {0};
    for (size_t i = 0; i < n; i++) {
        bytes_of[TG_COLUMN_PLAIN] += tg_packed_column_width(values[i]);
        bytes_of[TG_COLUMN_ZIGZAG] += tg_packed_column_width(tg_zigzag(values[i]));
        bytes_of[TG_COLUMN_DIFFERENCES] += tg_packed_column_width(tg_zigzag(values[i] - previous));
        previous = values[i];
    }
    enum tg_column_form form = TG_COLUMN_PLAIN;
    for (enum tg_column_form other = TG_COLUMN_ZIGZAG; other <= last; other++)
        if (bytes_of[other] < bytes_of[form])
            form = other;
    previous = 0;
    for (size_t i = 0; form != TG_COLUMN_PLAIN && i < n; i++) {
        uint64_t value = values[i];
        values[i] = tg_zigzag(value - previous);
        previous = form == TG_COLUMN_DIFFERENCES ? value : 0;
    }
    return write_column(bytes, boundaries, values, n, form);
}

/* False where the bytes are malformed, or the exception lies beyond the column. */
static bool read_exception(struct tg_packed_column *column, uint64_t next)
{
    struct tg_byte_cursor *cursor = &column->exceptions;
    column->next_exception = column->count;
    if (cursor->position == cursor->end)
        return true;
    uint64_t gap = 0;
    const uint8_t *position = tg_varint_get(cursor->position, cursor->end, &gap);
    if (position != NULL)
        position = tg_varint_get(position, cursor->end, &column->exception_value);
    if (position == NULL || gap >= column->count - next)
        return false;
    cursor->position = position;
    column->next_exception = next + gap;
    return true;
}

struct tg_error *tg_packed_column_open(struct tg_byte_cursor *cursor, const char *field, uint64_t count,
                                       bool any_form, struct tg_packed_column *column)
{
    struct tg_byte_cursor bytes;
    struct tg_error *error = tg_byte_cursor_column(cursor, field, &bytes);
    if (error != NULL)
        return error;
    *column = (struct tg_packed_column){.count = count, .exceptions = bytes, .next_exception = count};
    size_t size = (size_t)(bytes.end - bytes.position);
    if (size == 0)
        return NULL;
    column->width = *bytes.position;
    if (any_form) {
        column->form = (enum tg_column_form)(column->width >> FORM_SHIFT);
        column->width &= (1 << FORM_SHIFT) - 1;
        if (column->form > TG_COLUMN_DIFFERENCES)
            return tg_byte_cursor_error(&bytes, field, "unknown form of column");
    }
    if (column->width > MAX_WIDTH)
        return tg_byte_cursor_error(&bytes, field, "column wider than 8 bytes");
    if (count > (size - 1) / (column->width == 0 ? 1 : column->width) && column->width > 0)
        return tg_byte_cursor_error(&bytes, field, "column too short for its values");
    column->planes = bytes.end - column->width * count;
    column->exceptions.position = bytes.position + 1;
    column->exceptions.end = column->planes;
    if (!read_exception(column, 0))
        return tg_byte_cursor_error(&column->exceptions, field, "malformed exceptions of the column");
    return NULL;
}

static void take_planes(const struct tg_packed_column *column, uint64_t *restrict values, size_t n)
{
    if (column->width == 0) {
        memset(values, 0, n * sizeof *values);
        return;
    }
    const uint8_t *first = column->planes + column->taken;
    if (column->width == 1) {
        for (size_t i = 0; i < n; i++)
            values[i] = first[i];
        return;
    }
    const uint8_t *second = first + column->count;
    for (size_t i = 0; i < n; i++)
        values[i] = first[i] | (uint64_t)second[i] << 8;
    for (unsigned p = 2; p < column->width; p++) {
        const uint8_t *plane = first + p * column->count;
        for (size_t i = 0; i < n; i++)
            values[i] |= (uint64_t)plane[i] << (8 * p);
    }
}

/* From what is kept to the values. */
static void undo_form(struct tg_packed_column *column, uint64_t *values, size_t n)
{
    if (column->form == TG_COLUMN_ZIGZAG) {
        for (size_t i = 0; i < n; i++)
            values[i] = tg_unzigzag(values[i]);
        return;
    }
    uint64_t value = column->previous;
    for (size_t i = 0; i < n; i++) {
        value += tg_unzigzag(values[i]);
        values[i] = value;
    }
    column->previous = value;
}

bool tg_packed_column_take(struct tg_packed_column *column, uint64_t *values, size_t n)
{
    take_planes(column, values, n);
    uint64_t start = column->taken;
    column->taken += n;
    while (column->next_exception < column->taken) {
        values[column->next_exception - start] = column->exception_value;
        if (!read_exception(column, column->next_exception + 1))
            return false;
    }
    if (column->form != TG_COLUMN_PLAIN)
        undo_form(column, values, n);
    return true;
}
