#include "format/base/json_writer.h"

#include "format/base/utf8.h"

#include <assert.h>
#include <math.h>

enum { MAX_DEPTH = 32 };

void tg_json_init(struct tg_json *json, FILE *stream, bool pretty)
{
    *json = (struct tg_json){.stream = stream, .pretty = pretty};
}

void tg_json_init_inside(struct tg_json *json, FILE *stream)
{
    *json = (struct tg_json){.stream = stream, .depth = 1, .not_first = 1};
}

static uint32_t depth_bit(const struct tg_json *json)
{
    return (uint32_t)1 << (json->depth - 1);
}

static void new_line(struct tg_json *json)
{
    if (!json->pretty)
        return;
    putc_unlocked('\n', json->stream);
    for (unsigned i = 0; i < json->depth; i++)
        fwrite_unlocked("  ", 1, 2, json->stream);
}

/* Writes the separator between the previous member and this one. */
static void separate(struct tg_json *json)
{
    if (json->after_key) {
        json->after_key = false;
        return;
    }
    if (json->depth == 0)
        return;
    if (json->not_first & depth_bit(json)) {
        putc_unlocked(',', json->stream);
        if (!json->pretty)
            putc_unlocked(' ', json->stream);
    }
    json->not_first |= depth_bit(json);
    new_line(json);
}

static void begin(struct tg_json *json, char bracket)
{
    assert(json->depth < MAX_DEPTH);
    separate(json);
    putc_unlocked(bracket, json->stream);
    json->depth++;
    json->not_first &= ~depth_bit(json);
}

static void end(struct tg_json *json, char bracket)
{
    assert(json->depth > 0 && !json->after_key);
    bool empty = !(json->not_first & depth_bit(json));
    json->depth--;
    if (!empty)
        new_line(json);
    putc_unlocked(bracket, json->stream);
}

void tg_json_begin_object(struct tg_json *json)
{
    begin(json, '{');
}

void tg_json_end_object(struct tg_json *json)
{
    end(json, '}');
}

void tg_json_begin_array(struct tg_json *json)
{
    begin(json, '[');
}

void tg_json_end_array(struct tg_json *json)
{
    end(json, ']');
}

static void write_escape(FILE *stream, uint32_t unit)
{
    static const char digits[] = "0123456789abcdef";
    char text[6] = {'\\',
                    'u',
                    digits[unit >> 12 & 15],
                    digits[unit >> 8 & 15],
                    digits[unit >> 4 & 15],
                    digits[unit & 15]};
    fwrite_unlocked(text, 1, sizeof text, stream);
}

/* Writes one character that is not plain ASCII. Returns the bytes of TEXT that it used. */
static size_t write_special(FILE *stream, const char *text)
{
    static const char short_names[] = {
        ['\b'] = 'b', ['\t'] = 't', ['\n'] = 'n', ['\f'] = 'f', ['\r'] = 'r', ['"'] = '"', ['\\'] = '\\'};
    uint32_t code_point;
    size_t length = tg_utf8_decode(text, &code_point);
    if (length == 0) {
        write_escape(stream, 0xdc00u | (unsigned char)*text);
        return 1;
    }
    if (code_point < sizeof short_names && short_names[code_point] != 0) {
        putc_unlocked('\\', stream);
        putc_unlocked(short_names[code_point], stream);
    } else if (!tg_utf8_deceives(code_point)) {
        fwrite_unlocked(text, 1, length, stream);
    } else if (code_point < 0x10000) {
        write_escape(stream, code_point);
    } else {
        write_escape(stream, 0xd800 + ((code_point - 0x10000) >> 10));
        write_escape(stream, 0xdc00 + ((code_point - 0x10000) & 0x3ff));
    }
    return length;
}

static void write_text(FILE *stream, const char *text)
{
    putc_unlocked('"', stream);
    while (*text != '\0') {
        size_t plain = 0;
        while (text[plain] >= 0x20 && text[plain] < 0x7f && text[plain] != '"' && text[plain] != '\\')
            plain++;
        if (plain > 0) {
            fwrite_unlocked(text, 1, plain, stream);
            text += plain;
        } else {
            text += write_special(stream, text);
        }
    }
    putc_unlocked('"', stream);
}

void tg_json_key(struct tg_json *json, const char *key)
{
    assert(json->depth > 0 && !json->after_key);
    separate(json);
    write_text(json->stream, key);
    fwrite_unlocked(": ", 1, 2, json->stream);
    json->after_key = true;
}

void tg_json_string(struct tg_json *json, const char *text)
{
    separate(json);
    write_text(json->stream, text);
}

static void write_decimal(FILE *stream, uint64_t value)
{
    char digits[20];
    size_t first = sizeof digits;
    do {
        digits[--first] = (char)('0' + value % 10);
        value /= 10;
    } while (value != 0);
    fwrite_unlocked(digits + first, 1, sizeof digits - first, stream);
}

void tg_json_unsigned(struct tg_json *json, uint64_t value)
{
    separate(json);
    write_decimal(json->stream, value);
}

void tg_json_signed(struct tg_json *json, int64_t value)
{
    separate(json);
    if (value < 0)
        putc_unlocked('-', json->stream);
    write_decimal(json->stream, value < 0 ? -(uint64_t)value : (uint64_t)value);
}

void tg_json_bool(struct tg_json *json, bool value)
{
    separate(json);
    fputs_unlocked(value ? "true" : "false", json->stream);
}

void tg_json_null(struct tg_json *json)
{
    separate(json);
    fputs_unlocked("null", json->stream);
}

void tg_json_double(struct tg_json *json, double value, int decimals)
{
    if (!isfinite(value)) {
        tg_json_null(json);
        return;
    }
    separate(json);
    fprintf(json->stream, "%.*f", decimals, value);
}

void tg_json_decimal(struct tg_json *json, uint64_t value, unsigned decimals)
{
    char digits[20];
    size_t first = sizeof digits;
    for (unsigned i = 0; i < decimals; i++) {
        digits[--first] = (char)('0' + value % 10);
        value /= 10;
    }
    separate(json);
    write_decimal(json->stream, value);
    if (decimals > 0)
        putc_unlocked('.', json->stream);
    fwrite_unlocked(digits + first, 1, sizeof digits - first, json->stream);
}

void tg_json_address(struct tg_json *json, uint64_t address)
{
    static const char hex[] = "0123456789abcdef";
    char digits[20];
    size_t first = sizeof digits;
    digits[--first] = '"';
    do {
        digits[--first] = hex[address & 15];
        address >>= 4;
    } while (address != 0);
    digits[--first] = 'x';
    digits[--first] = '0';
    separate(json);
    putc_unlocked('"', json->stream);
    fwrite_unlocked(digits + first, 1, sizeof digits - first, json->stream);
}

void tg_json_member_string(struct tg_json *json, const char *key, const char *text)
{
    tg_json_key(json, key);
    tg_json_string(json, text);
}

void tg_json_member_unsigned(struct tg_json *json, const char *key, uint64_t value)
{
    tg_json_key(json, key);
    tg_json_unsigned(json, value);
}

void tg_json_member_signed(struct tg_json *json, const char *key, int64_t value)
{
    tg_json_key(json, key);
    tg_json_signed(json, value);
}

void tg_json_member_bool(struct tg_json *json, const char *key, bool value)
{
    tg_json_key(json, key);
    tg_json_bool(json, value);
}

void tg_json_member_double(struct tg_json *json, const char *key, double value, int decimals)
{
    tg_json_key(json, key);
    tg_json_double(json, value, decimals);
}

void tg_json_end_line(struct tg_json *json)
{
    assert(json->depth == 0 && !json->after_key);
    putc_unlocked('\n', json->stream);
}
