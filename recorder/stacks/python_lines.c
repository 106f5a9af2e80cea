#include "recorder/stacks/python_lines.h"

#include <stdbool.h>

static unsigned as_line(int64_t line)
{
    return line > 0 && line <= INT32_MAX ? (unsigned)line : 0;
}

static unsigned by_lnotab(const uint8_t *table, size_t size, int64_t line, int64_t offset)
{
    int64_t address = 0;
    for (size_t i = 0; i + 1 < size; i += 2) {
        address += table[i];
        if (address > offset)
            break;
        line += (int8_t)table[i + 1];
    }
    return as_line(line);
}

static unsigned by_lines_310(const uint8_t *table, size_t size, int64_t line, int64_t offset)
{
    enum { NO_LINE = -128 };
    int64_t address = 0;
    for (size_t i = 0; i + 1 < size; i += 2) {
        int delta = (int8_t)table[i + 1];
        address += table[i];
        if (delta != NO_LINE)
            line += delta;
        if (offset < address)
            return delta == NO_LINE ? 0 : as_line(line);
    }
    return 0;
}

/* ---- from 3.11 on */

struct cursor {
    const uint8_t *table;
    size_t at, size;
};

static bool take_byte(struct cursor *cursor, unsigned *byte)
{
    if (cursor->at == cursor->size)
        return false;
    *byte = cursor->table[cursor->at++];
    return true;
}

/* Six bits a byte, least significant first; the seventh says that there are more. */
static bool take_number(struct cursor *cursor, uint64_t *number)
{
    unsigned byte = 0x40;
    *number = 0;
    for (unsigned shift = 0; (byte & 0x40) != 0; shift += 6) {
        if (shift > 30 || !take_byte(cursor, &byte))
            return false;
        *number |= (uint64_t)(byte & 0x3f) << shift;
    }
    return true;
}

static bool skip_numbers(struct cursor *cursor, unsigned count)
{
    uint64_t ignored;
    while (count-- > 0)
        if (!take_number(cursor, &ignored))
            return false;
    return true;
}

/* The change of the line that an entry of kind KIND makes; HAS_LINE: false where its code is of no line. */
static bool take_line_delta(struct cursor *cursor, unsigned kind, int64_t *delta, bool *has_line)
{
    enum { LINE_0 = 10, LINE_2 = 12, NO_COLUMNS = 13, LONG = 14, NONE = 15 };
    unsigned byte;
    uint64_t number;
    *delta = 0;
    *has_line = kind != NONE;
    if (kind == NONE)
        return true;
    if (kind < LINE_0) /* a byte of columns */
        return take_byte(cursor, &byte);
    if (kind <= LINE_2) {
        *delta = kind - LINE_0;
        return take_byte(cursor, &byte) && take_byte(cursor, &byte);
    }
    if (!take_number(cursor, &number))
        return false;
    *delta = (number & 1) != 0 ? -(int64_t)(number >> 1) : (int64_t)(number >> 1);
    return kind == NO_COLUMNS || skip_numbers(cursor, 3);
}

static unsigned by_locations(const uint8_t *table, size_t size, int64_t line, int64_t offset)
{
    struct cursor cursor = {.table = table, .size = size};
    int64_t address = 0;
    unsigned byte;
    while (take_byte(&cursor, &byte) && (byte & 0x80) != 0) {
        int64_t delta;
        bool has_line;
        if (!take_line_delta(&cursor, byte >> 3 & 15, &delta, &has_line))
            return 0;
        line += delta;
        address += 2 * ((byte & 7) + 1);
        if (offset < address)
            return has_line ? as_line(line) : 0;
    }
    return 0;
}

unsigned tg_python_line(enum tg_python_line_code code, const uint8_t *table, size_t size, unsigned first,
                        int64_t offset)
{
    if (offset < 0) /* nothing of it has run yet */
        return first;
    switch (code) {
    case TG_PYTHON_LNOTAB:
        return by_lnotab(table, size, first, offset);
    case TG_PYTHON_LINES_310:
        return by_lines_310(table, size, first, offset);
    case TG_PYTHON_LOCATIONS:
        return by_locations(table, size, first, offset);
    }
    return 0;
}
