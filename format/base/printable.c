#include "format/base/printable.h"

#include "format/base/utf8.h"

#include <assert.h>
#include <stdbool.h>
#include <string.h>

enum { LONGEST_PIECE = 16 }; /* "\u{10ffff}" and its NUL fit */

/* One character of TEXT as it is shown, in PIECE; its length in *SHOWN. Returns the bytes of TEXT it stands
 * for. */
static size_t show_character(const char *text, char piece[LONGEST_PIECE], size_t *shown)
{
    static const char short_names[] = {
        ['\a'] = 'a', ['\b'] = 'b', ['\t'] = 't', ['\n'] = 'n', ['\v'] = 'v', ['\f'] = 'f', ['\r'] = 'r'};
    uint32_t code_point;
    size_t length = tg_utf8_decode(text, &code_point);
    int written;
    if (length == 0) {
        written = snprintf(piece, LONGEST_PIECE, "\\x%02x", (unsigned char)*text);
        length = 1;
    } else if (code_point < sizeof short_names && short_names[code_point] != 0) {
        written = snprintf(piece, LONGEST_PIECE, "\\%c", short_names[code_point]);
    } else if (code_point == '\\') {
        written = snprintf(piece, LONGEST_PIECE, "\\\\");
    } else if (!tg_utf8_deceives(code_point)) {
        memcpy(piece, text, length);
        written = (int)length;
    } else if (code_point < 0x80) {
        written = snprintf(piece, LONGEST_PIECE, "\\x%02x", (unsigned)code_point);
    } else {
        written = snprintf(piece, LONGEST_PIECE, "\\u{%04x}", (unsigned)code_point);
    }
    *shown = (size_t)written;
    return length;
}

char *tg_printable(const char *text, char *buffer, size_t size)
{
    static const char ellipsis[] = "...";
    assert(size >= 8);
    size_t used = 0, cut = 0;
    while (*text != '\0') {
        char piece[LONGEST_PIECE];
        size_t shown, consumed = show_character(text, piece, &shown);
        if (used + shown >= size) {
            memcpy(buffer + cut, ellipsis, sizeof ellipsis);
            return buffer;
        }
        memcpy(buffer + used, piece, shown);
        used += shown;
        text += consumed;
        if (used + sizeof ellipsis <= size)
            cut = used;
    }
    buffer[used] = '\0';
    return buffer;
}

static void write_shown(FILE *stream, const char *text, bool quoted)
{
    while (*text != '\0') {
        /* Most text is plain: write runs of it whole. */
        size_t plain = 0;
        while (text[plain] >= 0x20 && text[plain] < 0x7f && text[plain] != '\\' &&
               !(quoted && text[plain] == '"'))
            plain++;
        if (plain > 0) {
            fwrite(text, 1, plain, stream);
            text += plain;
            continue;
        }
        if (*text == '"')
            fputc('\\', stream);
        char piece[LONGEST_PIECE];
        size_t shown;
        text += show_character(text, piece, &shown);
        fwrite(piece, 1, shown, stream);
    }
}

void tg_printable_write(FILE *stream, const char *text)
{
    write_shown(stream, text, false);
}

void tg_printable_write_quoted(FILE *stream, const char *text)
{
    fputc('"', stream);
    write_shown(stream, text, true);
    fputc('"', stream);
}

void tg_printable_message(const char *text)
{
    fputs("tollgate: ", stderr);
    tg_printable_write(stderr, text);
    fputc('\n', stderr);
}

void tg_printable_error(const struct tg_error *error)
{
    tg_printable_message(tg_error_message(error));
}
