#include "live/inspect/dwarf/naming.h"

#include "format/base/printable.h"
#include "format/base/utf8.h"

#include <inttypes.h>
#include <string.h>

static bool name_in_modules(void *context, uint64_t address, struct tg_symbol *symbol)
{
    struct tg_debug_row row;
    bool has_name = tg_modules_symbol_at(context, address, &symbol->function, &symbol->offset);
    bool has_line = tg_modules_row_at(context, address, &row);
    if (!has_name)
        symbol->function = NULL;
    if (has_line) {
        symbol->file = row.file;
        symbol->line = row.line > 0 ? (uint64_t)row.line : 0;
    }
    return has_name || has_line;
}

struct tg_inspect_namer tg_inspect_namer_of(struct tg_modules *modules)
{
    return (struct tg_inspect_namer){.context = modules, .name = name_in_modules};
}

bool tg_inspect_name(const struct tg_inspect_namer *namer, uint64_t address, struct tg_symbol *symbol)
{
    *symbol = (struct tg_symbol){0};
    return namer != NULL && namer->name(namer->context, address, symbol);
}

char *tg_inspect_label(const struct tg_inspect_namer *namer, uint64_t address, char *buffer, size_t size)
{
    enum { OFFSET_SIZE = 24 };
    struct tg_symbol symbol;
    buffer[0] = '\0';
    if (!tg_inspect_name(namer, address, &symbol) || symbol.function == NULL)
        return buffer;
    tg_printable(symbol.function, buffer, size > 2 * OFFSET_SIZE ? size - OFFSET_SIZE : size);
    size_t used = strlen(buffer);
    if (symbol.offset != 0)
        snprintf(buffer + used, size - used, "+%" PRIu64, symbol.offset);
    return buffer;
}

/* One character at TEXT, SIZE bytes from its end, as it is shown: in SHOWN, its columns in *COLUMNS. Returns
 * how many bytes it stands for. */
static size_t show(const char *text, size_t size, char shown[16], size_t *columns)
{
    char piece[5] = "";
    uint32_t code_point = 0;
    memcpy(piece, text, size < 4 ? size : 4);
    size_t length = piece[0] == '\0' ? 0 : tg_utf8_decode(piece, &code_point);
    if (length == 0 || (length == 1 && tg_utf8_deceives(code_point))) {
        *columns = (size_t)snprintf(shown, 16, "\\x%02x", (unsigned char)*text);
        return 1;
    }
    if (tg_utf8_deceives(code_point)) {
        *columns = (size_t)snprintf(shown, 16, "\\u{%04" PRIx32 "}", code_point);
        return length;
    }
    memcpy(shown, piece, length);
    shown[length] = '\0';
    *columns = 1;
    return length;
}

void tg_inspect_write_text(const char *text, size_t size, size_t max, FILE *stream)
{
    enum { TAB = 8 };
    for (size_t column = 0, columns; size > 0; column += columns) {
        char shown[16] = "";
        size_t length = 1;
        if (column >= max) {
            fprintf(stream, "... (%zu bytes more)", size);
            return;
        }
        if (*text == '\t') {
            columns = TAB - column % TAB;
            fprintf(stream, "%*s", (int)columns, "");
        } else {
            length = show(text, size, shown, &columns);
            fputs(shown, stream);
        }
        text += length;
        size -= length;
    }
}
