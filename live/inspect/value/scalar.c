#include "live/inspect/value/text.h"

#include "format/base/printable.h"
#include "format/base/utf8.h"

#include <dwarf.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

enum {
    MAX_ENUMERATORS = 65536,
    MAX_SYMBOL = 256,
};

/* 128 bits in decimal. */
static void print_wide(uint64_t low, uint64_t high, bool is_unsigned, FILE *out)
{
    char digits[48];
    size_t at = sizeof digits;
    unsigned __int128 number = (unsigned __int128)high << 64 | low;
    bool negative = !is_unsigned && (int64_t)high < 0;
    if (negative)
        number = -number;
    do {
        digits[--at] = (char)('0' + (unsigned)(number % 10));
        number /= 10;
    } while (number != 0);
    fprintf(out, "%s%.*s", negative ? "-" : "", (int)(sizeof digits - at), digits + at);
}

static void print_real(const struct tg_number *number, FILE *out)
{
    int digits = number->type == TG_BASIC_FLOAT ? 9 : number->type == TG_BASIC_DOUBLE ? 17 : 21;
    if (isnan(number->real))
        fputs(signbit(number->real) ? "-nan" : "nan", out);
    else if (isinf(number->real))
        fputs(number->real < 0 ? "-inf" : "inf", out);
    else
        fprintf(out, "%.*Lg", digits, number->real);
}

/* Everything in [' ', '~'] as it is, and what a person would read; others by number, as gdb does. */
static void print_character(uint32_t code, char quote, FILE *out)
{
    static const char plain[] = "\a\b\t\n\v\f\r\x1b", names[] = "abtnvfre";
    const char *escape = code == 0 || code > 0x7f ? NULL : strchr(plain, (int)code);
    if (escape != NULL)
        fprintf(out, "\\%c", names[escape - plain]);
    else if (code == (unsigned char)quote || code == '\\')
        fprintf(out, "\\%c", (int)code);
    else if (code >= ' ' && code <= '~')
        fputc((int)code, out);
    else
        fprintf(out, "\\%03o", code & 0xff);
}

/* The bits of NUMBER, as many as its size has. */
static uint64_t bits_of(const struct tg_number *number)
{
    return number->size_bytes < 8 ? number->low & ((UINT64_C(1) << 8 * number->size_bytes) - 1) : number->low;
}

static void print_binary(uint64_t bits, FILE *out)
{
    unsigned n = bits == 0 ? 1 : 64 - (unsigned)__builtin_clzll(bits);
    while (n-- > 0)
        fputc('0' + (int)(bits >> n & 1), out);
}

static bool print_in_base(const struct tg_number *number, enum tg_number_base base, FILE *out)
{
    uint64_t bits = bits_of(number);
    uint64_t high = number->size_bytes > 8 ? number->high : 0;
    switch (base) {
    case TG_BASE_HEX:
    case TG_BASE_ADDRESS:
        if (high != 0)
            fprintf(out, "0x%" PRIx64 "%016" PRIx64, high, bits);
        else
            fprintf(out, "0x%" PRIx64, bits);
        return true;
    case TG_BASE_OCTAL:
        fprintf(out, bits == 0 ? "0" : "0%" PRIo64, bits);
        return high == 0;
    case TG_BASE_BINARY:
        print_binary(bits, out);
        return high == 0;
    case TG_BASE_CHARACTER:
        fprintf(out, "%" PRId64 " '", number->is_unsigned ? (int64_t)bits : (int64_t)number->low);
        print_character((uint32_t)(bits & 0xff), '\'', out);
        fputc('\'', out);
        return true;
    case TG_BASE_DECIMAL:
    case TG_BASE_UNSIGNED:
    case TG_BASE_NATURAL:
        break;
    }
    return false;
}

static void print_integer(const struct tg_number *number, bool is_unsigned, FILE *out)
{
    if (number->size_bytes > 8)
        print_wide(number->low, number->high, is_unsigned, out);
    else if (is_unsigned)
        fprintf(out, "%" PRIu64, bits_of(number));
    else
        fprintf(out, "%" PRId64, (int64_t)number->low);
}

static bool is_flag(uint64_t value)
{
    return value != 0 && (value & (value - 1)) == 0;
}

/* The names of the flags that NUMBER is made of. Nothing where the enum is none of flags. */
static bool print_flags(Dwarf_Die *type, uint64_t number, FILE *out)
{
    Dwarf_Die child;
    uint64_t left = number;
    unsigned seen = 0, told = 0;
    for (int pass = 0; pass < 2; pass++) {
        for (int more = dwarf_child(type, &child); more == 0 && ++seen < MAX_ENUMERATORS;
             more = dwarf_siblingof(&child, &child)) {
            Dwarf_Attribute attribute;
            Dwarf_Word value;
            const char *name = dwarf_diename(&child);
            if (dwarf_tag(&child) != DW_TAG_enumerator || name == NULL ||
                dwarf_attr(&child, DW_AT_const_value, &attribute) == NULL ||
                dwarf_formudata(&attribute, &value) != 0)
                continue;
            if (pass == 0 && !is_flag(value) && value != 0)
                return false;
            if (pass == 1 && is_flag(value) && (left & value) != 0) {
                fputs(told++ == 0 ? "(" : " | ", out);
                tg_printable_write(out, name);
                left &= ~value;
            }
        }
    }
    if (told == 0)
        return false;
    if (left != 0)
        fprintf(out, " | unknown: 0x%" PRIx64, left);
    fputc(')', out);
    return true;
}

/* "A", "A | B"; false where the number has no name. */
static bool print_enumerator(const struct tg_type *type, const struct tg_number *number, FILE *out)
{
    struct tg_type stripped = tg_type_strip(type);
    Dwarf_Die child;
    unsigned seen = 0;
    for (int more = dwarf_child(&stripped.die, &child); more == 0 && ++seen < MAX_ENUMERATORS;
         more = dwarf_siblingof(&child, &child)) {
        Dwarf_Attribute attribute;
        int64_t is;
        const char *name = dwarf_diename(&child);
        if (dwarf_tag(&child) != DW_TAG_enumerator || name == NULL ||
            dwarf_attr(&child, DW_AT_const_value, &attribute) == NULL || !tg_type_constant(&attribute, &is))
            continue;
        struct tg_number same = *number;
        same.low = (uint64_t)is;
        if (bits_of(&same) == bits_of(number)) {
            const char *type_name =
                dwarf_hasattr(&stripped.die, DW_AT_enum_class) ? dwarf_diename(&stripped.die) : NULL;
            if (type_name != NULL) {
                tg_printable_write(out, type_name);
                fputs("::", out);
            }
            tg_printable_write(out, name);
            return true;
        }
    }
    return number->low != 0 && print_flags(&stripped.die, bits_of(number), out);
}

struct tg_error *tg_value_print_number(const struct tg_number *number, const struct tg_type *type,
                                       enum tg_number_base base, FILE *out)
{
    enum tg_type_kind kind = tg_type_kind(type);
    if (number->is_real) {
        print_real(number, out);
        return NULL;
    }
    if (print_in_base(number, base, out))
        return NULL;
    if (base != TG_BASE_NATURAL) {
        print_integer(number, base == TG_BASE_UNSIGNED, out);
        return NULL;
    }
    if (kind == TG_TYPE_ENUM) {
        if (!print_enumerator(type, number, out))
            print_integer(number, number->is_unsigned, out);
    } else if (kind == TG_TYPE_BOOL && number->low <= 1) {
        fputs(number->low != 0 ? "true" : "false", out);
    } else if ((kind == TG_TYPE_CHAR || kind == TG_TYPE_UNSIGNED_CHAR) && number->size_bytes == 1) {
        (void)print_in_base(number, TG_BASE_CHARACTER, out);
    } else {
        print_integer(number, number->is_unsigned, out);
    }
    return NULL;
}

/* The length of the character at TEXT: more than 1 where it is UTF-8 that can be shown. */
static size_t character(const uint8_t *text, size_t size)
{
    char piece[5] = {0};
    uint32_t code;
    if (text[0] < 0x80)
        return 1;
    memcpy(piece, text, size < 4 ? size : 4);
    size_t n = tg_utf8_decode(piece, &code);
    return n <= 1 || tg_utf8_deceives(code) ? 1 : n;
}

static void print_piece(const uint8_t *text, size_t length, char quote, FILE *out)
{
    if (length > 1)
        fwrite(text, 1, length, out);
    else
        print_character(text[0], quote, out);
}

void tg_value_print_characters(const uint8_t *text, size_t size, uint32_t min_repeats, FILE *out)
{
    bool in_quotes = false, any = false;
    for (size_t i = 0; i < size;) {
        size_t length = character(text + i, size - i), repeats = 1;
        while (i + (repeats + 1) * length <= size &&
               memcmp(text + i, text + i + repeats * length, length) == 0)
            repeats++;
        if (min_repeats > 0 && repeats >= min_repeats) {
            fputs(in_quotes ? "\", '" : any ? ", '" : "'", out);
            print_piece(text + i, length, '\'', out);
            fprintf(out, "' <repeats %zu times>", repeats);
            in_quotes = false;
        } else {
            if (!in_quotes)
                fputs(any ? ", \"" : "\"", out);
            in_quotes = true;
            for (size_t k = 0; k < repeats; k++)
                print_piece(text + i, length, '"', out);
        }
        any = true;
        i += repeats * length;
    }
    fputs(in_quotes ? "\"" : any ? "" : "\"\"", out);
}

bool tg_value_read_string(const struct tg_scene *scene, uint64_t address, size_t max, uint8_t *text,
                          size_t *size, bool *truncated)
{
    size_t n = 0;
    *truncated = false;
    while (n < max) { /* up to a 64-byte boundary at once: a page that ends is not read across */
        size_t here = 64 - (address + n) % 64;
        if (here > max - n)
            here = max - n;
        if (!scene->memory.read(scene->memory.context, address + n, text + n, here)) {
            *truncated = n > 0;
            break;
        }
        const uint8_t *end = memchr(text + n, 0, here);
        if (end != NULL) {
            *size = (size_t)(end - text);
            return true;
        }
        n += here;
    }
    *truncated = *truncated || n == max;
    *size = n;
    return n > 0;
}

void tg_value_print_symbol(const struct tg_scene *scene, uint64_t address, FILE *out)
{
    char name[MAX_SYMBOL];
    uint64_t offset;
    if (!tg_scene_symbol_at(scene, address, name, sizeof name, &offset))
        return;
    fputs(" <", out);
    tg_printable_write(out, name);
    if (offset != 0)
        fprintf(out, "+%" PRIu64, offset);
    fputc('>', out);
}
