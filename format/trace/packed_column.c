#include "format/trace/packed_column.h"

#include <stdlib.h>

/* One value in as many may be an exception; fewer planes are worth that (docs/performance.md). */
enum { EXCEPTION_SHARE = 32, MAX_WIDTH = 8, FORM_SHIFT = 4 };

/* How many of VALUES need more than WIDTH bytes; more than FEW: so many at least. */
static size_t count_wider(const uint64_t *values, size_t n, unsigned width, size_t few)
{
    enum { RUN = 256 };
    uint64_t most = (UINT64_C(1) << 8 * width) - 1; /* WIDTH is less than MAX_WIDTH */
    size_t wider = 0;
    for (size_t start = 0; start < n && wider <= few; start += RUN) {
        size_t end = start + RUN < n ? start + RUN : n;
        uint64_t any = 0;
        for (size_t i = start; i < end; i++)
            any |= values[i];
        for (size_t i = start; any > most && i < end; i++)
            wider += values[i] > most;
    }
    return wider;
}

/* The smallest width that leaves few exceptions, whose number becomes *EXCEPTIONS; WIDEST is that of the widest value. */
static unsigned choose_width(const uint64_t *values, size_t n, unsigned widest, size_t *exceptions)
{
    unsigned width = widest;
    *exceptions = 0;
    while (width > 0) {
        size_t wider = count_wider(values, n, width - 1, n / EXCEPTION_SHARE);
        if (wider > n / EXCEPTION_SHARE)
            break;
        *exceptions = wider;
        width--;
    }
    return width;
}

/* PLACES becomes where the values are that need more than WIDTH bytes; their number. */
static size_t find_exceptions(const uint64_t *values, size_t n, unsigned width, size_t *places)
{
    enum { RUN = 8 };
    size_t found = 0;
    for (size_t start = 0; start < n; start += RUN) {
        size_t end = start + RUN < n ? start + RUN : n;
        uint64_t any = 0;
        for (size_t i = start; i < end; i++)
            any |= values[i];
        for (size_t i = start; any >> 8 * width != 0 && i < end; i++)
            if (values[i] >> 8 * width != 0)
                places[found++] = i;
    }
    return found;
}

/* Room is reserved. */
static void put_exceptions(struct tg_byte_buffer *bytes, const uint64_t *values, const size_t *places,
                           size_t n)
{
    size_t next = 0; /* behind the exception before */
    for (size_t i = 0; i < n; i++) {
        tg_byte_buffer_put_varint(bytes, places[i] - next);
        tg_byte_buffer_put_varint(bytes, values[places[i]]);
        next = places[i] + 1;
    }
}

static void write_plane(uint8_t *restrict plane, const uint64_t *restrict values, size_t n, unsigned shift)
{
    for (size_t i = 0; i < n; i++)
        plane[i] = (uint8_t)(values[i] >> shift);
}

/* N values in WIDTH planes, in which exceptions, at the PLACES, are 0. */
static void put_planes(struct tg_byte_buffer *bytes, struct tg_byte_buffer *boundaries,
                       const uint64_t *values, size_t n, unsigned width, const size_t *places,
                       size_t n_exceptions)
{
    for (unsigned p = 0; p < width; p++) {
        uint8_t *plane = bytes->data + bytes->size;
        tg_byte_buffer_put(boundaries, &bytes->size, sizeof bytes->size);
        write_plane(plane, values, n, 8 * p);
        for (size_t i = 0; i < n_exceptions; i++)
            plane[places[i]] = 0;
        bytes->size += n;
    }
    tg_byte_buffer_put(boundaries, &bytes->size, sizeof bytes->size);
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
    size_t n_exceptions, *places = NULL;
    unsigned width = choose_width(values, n, tg_packed_column_width(any), &n_exceptions);
    struct tg_byte_buffer exceptions = {0};
    bool written =
        n_exceptions == 0 || ((places = malloc(n_exceptions * sizeof *places)) != NULL &&
                              tg_byte_buffer_reserve(&exceptions, n_exceptions * 2 * TG_VARINT_MAX_BYTES));
    if (written && n_exceptions > 0)
        put_exceptions(&exceptions, values, places, find_exceptions(values, n, width, places));
    written = written &&
              tg_byte_buffer_reserve(bytes, TG_VARINT_MAX_BYTES + 1 + exceptions.size + width * n) &&
              tg_byte_buffer_reserve(boundaries, (width + 1) * sizeof(size_t));
    if (written) {
        tg_byte_buffer_put_varint(bytes, 1 + exceptions.size + width * n);
        bytes->data[bytes->size++] = (uint8_t)(width | (unsigned)form << FORM_SHIFT);
        tg_byte_buffer_put(bytes, exceptions.data, exceptions.size);
        put_planes(bytes, boundaries, values, n, width, places, n_exceptions);
    }
    tg_byte_buffer_deinit(&exceptions);
    free(places);
    return written;
}

bool tg_packed_column_write(struct tg_byte_buffer *bytes, struct tg_byte_buffer *boundaries,
                            const uint64_t *values, size_t n)
{
    return write_column(bytes, boundaries, values, n, TG_COLUMN_PLAIN);
}

static size_t count_others_than_0(const uint8_t *values, size_t n)
{
    size_t others = 0;
    for (size_t i = 0; i < n; i++)
        others += values[i] != 0;
    return others;
}

/* Of less than so many bytes that are not 0 each is an exception. */
static bool write_few(struct tg_byte_buffer *bytes, struct tg_byte_buffer *boundaries, const uint8_t *values,
                      size_t n, size_t n_others)
{
    enum { VALUE_BYTES = 2, GAP_BYTES = 5 }; /* at most, of a chunk's */
    struct tg_byte_buffer exceptions = {0};
    bool written = tg_byte_buffer_reserve(&exceptions, n_others * (VALUE_BYTES + GAP_BYTES));
    size_t next = 0;
    for (size_t i = 0; written && i < n; i++) {
        if (values[i] == 0)
            continue;
        tg_byte_buffer_put_varint(&exceptions, i - next);
        tg_byte_buffer_put_varint(&exceptions, values[i]);
        next = i + 1;
    }
    written = written && tg_byte_buffer_reserve(bytes, TG_VARINT_MAX_BYTES + 1 + exceptions.size) &&
              tg_byte_buffer_reserve(boundaries, sizeof(size_t));
    if (written) {
        tg_byte_buffer_put_varint(bytes, 1 + exceptions.size);
        bytes->data[bytes->size++] = TG_COLUMN_PLAIN << FORM_SHIFT;
        tg_byte_buffer_put(bytes, exceptions.data, exceptions.size);
        tg_byte_buffer_put(boundaries, &bytes->size, sizeof bytes->size);
    }
    tg_byte_buffer_deinit(&exceptions);
    return written;
}

bool tg_packed_column_write_bytes(struct tg_byte_buffer *bytes, struct tg_byte_buffer *boundaries,
                                  const uint8_t *values, size_t n)
{
    size_t n_others = count_others_than_0(values, n);
    if (n_others > 0 && n_others <= n / EXCEPTION_SHARE)
        return write_few(bytes, boundaries, values, n, n_others);
    if (!tg_byte_buffer_reserve(bytes, TG_VARINT_MAX_BYTES + 1 + n) ||
        !tg_byte_buffer_reserve(boundaries, 2 * sizeof(size_t)))
        return false;
    if (n_others == 0) {
        tg_byte_buffer_put_varint(bytes, 0);
        return true;
    }
    tg_byte_buffer_put_varint(bytes, 1 + n);
    bytes->data[bytes->size++] = 1 | TG_COLUMN_PLAIN << FORM_SHIFT;
    tg_byte_buffer_put(boundaries, &bytes->size, sizeof bytes->size);
    tg_byte_buffer_put(bytes, values, n);
    tg_byte_buffer_put(boundaries, &bytes->size, sizeof bytes->size);
    return true;
}

/* The form up to LAST with the fewest bytes. Of many values, an eighth is looked at, in runs. */
static enum tg_column_form choose_form(const uint64_t *values, size_t n, enum tg_column_form last)
{
    enum { ALL = 4096, RUN = 64, EVERY = 8 * RUN };
    size_t bytes_of[3] = {0};
    for (size_t start = 0, end; start<n; start = n> ALL ? start + EVERY : end) {
        end = n <= ALL ? n : start + RUN < n ? start + RUN : n;
        uint64_t previous = start == 0 ? 0 : values[start - 1];
        for (size_t i = start; i < end; i++) {
            bytes_of[TG_COLUMN_PLAIN] += tg_packed_column_width(values[i]);
            bytes_of[TG_COLUMN_ZIGZAG] += tg_packed_column_width(tg_zigzag(values[i]));
            bytes_of[TG_COLUMN_DIFFERENCES] += tg_packed_column_width(tg_zigzag(values[i] - previous));
            previous = values[i];
        }
    }
    enum tg_column_form form = TG_COLUMN_PLAIN;
    for (enum tg_column_form other = TG_COLUMN_ZIGZAG; other <= last; other++)
        if (bytes_of[other] < bytes_of[form])
            form = other;
    return form;
}

bool tg_packed_column_write_same(struct tg_byte_buffer *bytes, struct tg_byte_buffer *boundaries,
                                 uint64_t value, size_t n)
{
    uint64_t first = tg_zigzag(value);
    if (n == 0 || value == 0)
        return write_column(bytes, boundaries, NULL, 0, TG_COLUMN_PLAIN);
    if (!tg_byte_buffer_reserve(bytes, 4 * TG_VARINT_MAX_BYTES) ||
        !tg_byte_buffer_reserve(boundaries, sizeof(size_t)))
        return false;
    tg_byte_buffer_put_varint(bytes, 2 + tg_varint_bytes(first));
    bytes->data[bytes->size++] = (uint8_t)(TG_COLUMN_DIFFERENCES << FORM_SHIFT);
    tg_byte_buffer_put_varint(bytes, 0);
    tg_byte_buffer_put_varint(bytes, first);
    tg_byte_buffer_put(boundaries, &bytes->size, sizeof bytes->size);
    return true;
}

static bool is_constant(const uint64_t *values, size_t n)
{
    size_t i = 1;
    while (i < n && values[i] == values[0])
        i++;
    return i == n;
}

bool tg_packed_column_write_smallest(struct tg_byte_buffer *bytes, struct tg_byte_buffer *boundaries,
                                     uint64_t *values, size_t n, enum tg_column_form last)
{
    enum { MANY = 64 }; /* what follows makes the same of them */
    if (n >= MANY && last == TG_COLUMN_DIFFERENCES && values[0] != 0 && is_constant(values, n))
        return tg_packed_column_write_same(bytes, boundaries, values[0], n);
    enum tg_column_form form = choose_form(values, n, last);
    uint64_t previous = 0;
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
