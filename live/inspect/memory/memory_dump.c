#include "live/inspect/memory/memory_dump.h"

#include "format/base/printable.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { PAGE = 4096, LINE_BYTES = 16, CELL = 40 };

/* ---- formats */

static const struct {
    const char *name;
    enum tg_memory_format_kind kind;
    unsigned size; /* 0: any */
} kinds[] = {
    {"hex", TG_MEMORY_HEX, 0},           {"decimal", TG_MEMORY_SIGNED, 0},
    {"unsigned", TG_MEMORY_UNSIGNED, 0}, {"octal", TG_MEMORY_OCTAL, 0},
    {"float", TG_MEMORY_FLOAT, 4},       {"double", TG_MEMORY_FLOAT, 8},
    {"char", TG_MEMORY_CHARACTER, 1},    {"string", TG_MEMORY_STRING, 1},
    {"address", TG_MEMORY_ADDRESS, 8},   {"instruction", TG_MEMORY_INSTRUCTION, 1},
};
enum { N_KINDS = sizeof kinds / sizeof kinds[0] };

const char *const tg_memory_format_names[] = {"hex",  "decimal", "unsigned", "octal",       "float", "double",
                                              "char", "string",  "address",  "instruction", NULL};

bool tg_memory_format_find(const char *name, struct tg_memory_format *format)
{
    for (size_t i = 0; i < N_KINDS; i++) {
        if (strcmp(kinds[i].name, name) != 0)
            continue;
        format->kind = kinds[i].kind;
        if (kinds[i].size != 0)
            format->size = kinds[i].size;
        return true;
    }
    return false;
}

static unsigned size_of(char letter)
{
    static const char letters[] = "bhwg";
    const char *at = strchr(letters, letter);
    return at == NULL || letter == '\0' ? 0 : 1u << (at - letters);
}

static bool kind_of(char letter, struct tg_memory_format *format)
{
    for (size_t i = 0; i < N_KINDS; i++) {
        if ((char)kinds[i].kind != letter)
            continue;
        format->kind = kinds[i].kind;
        if (letter == 'c' || letter == 'a')
            format->size = kinds[i].size;
        else if (letter == 'f')
            format->size = 8;
        return true;
    }
    return false;
}

struct tg_error *tg_memory_format_parse(const char *text, struct tg_memory_format *format)
{
    const char *at = text;
    struct tg_memory_format parsed = *format;
    if (*at >= '0' && *at <= '9') {
        for (parsed.count = 0; *at >= '0' && *at <= '9' && parsed.count <= TG_MEMORY_DUMP_MAX; at++)
            parsed.count = parsed.count * 10 + (uint64_t)(*at - '0');
        if (parsed.count > TG_MEMORY_DUMP_MAX || parsed.count == 0)
            return tg_error_create(TG_ERROR_USAGE, "'%s': a count is 1 to %d", text, TG_MEMORY_DUMP_MAX);
    }
    unsigned size = 0;
    bool has_kind = false;
    for (; *at != '\0'; at++) {
        unsigned found = size_of(*at);
        if (found != 0 && size == 0) {
            size = found;
        } else if (found == 0 && !has_kind && kind_of(*at, &parsed)) {
            has_kind = true;
        } else {
            char shown[16], letter[2] = {*at, '\0'};
            return tg_error_create(TG_ERROR_USAGE,
                                   "invalid format letters '%s': x d u o f c s a i, sizes b h w g, each once",
                                   tg_printable(letter, shown, sizeof shown));
        }
    }
    if (size != 0)
        parsed.size = size;
    if (parsed.kind == TG_MEMORY_FLOAT && parsed.size < 4)
        return tg_error_create(TG_ERROR_USAGE, "a floating-point number has 4 or 8 bytes (w, g)");
    *format = parsed;
    return NULL;
}

static struct tg_error *check(const struct tg_memory_format *format)
{
    if (format->kind == TG_MEMORY_INSTRUCTION)
        return tg_error_create(TG_ERROR_USAGE, "instructions have no fixed size");
    if (format->count == 0 || format->count > TG_MEMORY_DUMP_MAX)
        return tg_error_create(TG_ERROR_USAGE, "a count is 1 to %d, not %" PRIu64, TG_MEMORY_DUMP_MAX,
                               format->count);
    if (format->size != 1 && format->size != 2 && format->size != 4 && format->size != 8)
        return tg_error_create(TG_ERROR_USAGE, "-size takes 1, 2, 4 or 8, not %u", format->size);
    if (format->kind == TG_MEMORY_FLOAT && format->size < 4)
        return tg_error_create(TG_ERROR_USAGE, "a floating-point number has 4 or 8 bytes, not %u",
                               format->size);
    return NULL;
}

/* ---- reading */

/* Bytes of a process as far as they can be read. */
struct block {
    uint64_t address;
    size_t size;
    uint8_t *bytes;
    bool *readable; /* by byte */
};

static void free_block(struct block *block)
{
    free(block->bytes);
    free(block->readable);
}

static struct tg_error *read_block(const struct tg_inspect_memory *memory, uint64_t address, size_t size,
                                   struct block *block)
{
    if (address > UINT64_MAX - size)
        return tg_error_create(TG_ERROR_USAGE, "0x%" PRIx64 " plus %zu bytes is beyond the last address",
                               address, size);
    *block = (struct block){address, size, calloc(1, size), calloc(size, sizeof(bool))};
    if (block->bytes == NULL || block->readable == NULL) {
        free_block(block);
        return tg_error_no_memory();
    }
    bool any = false;
    for (size_t at = 0; at < size;) {
        size_t in_page = (size_t)(PAGE - (address + at) % PAGE),
               part = size - at < in_page ? size - at : in_page;
        bool got = memory->read(memory->context, address + at, block->bytes + at, part);
        memset(block->readable + at, got, part);
        any |= got;
        at += part;
    }
    if (any)
        return NULL;
    free_block(block);
    return tg_error_create(TG_ERROR_NOT_FOUND, "cannot read memory at 0x%" PRIx64, address);
}

static bool is_readable(const struct block *block, size_t at, size_t size)
{
    return block->readable[at] && block->readable[at + size - 1]; /* at most two pages */
}

static uint64_t value_at(const struct block *block, size_t at, unsigned size)
{
    uint64_t value = 0;
    memcpy(&value, block->bytes + at, size);
    return value;
}

static int64_t signed_of(uint64_t value, unsigned size)
{
    unsigned unused = 64 - 8 * size;
    return (int64_t)(value << unused) >> unused;
}

static double float_of(uint64_t value, unsigned size)
{
    double wide;
    float narrow;
    uint32_t low = (uint32_t)value;
    memcpy(&wide, &value, sizeof wide);
    memcpy(&narrow, &low, sizeof narrow);
    return size == 4 ? (double)narrow : wide;
}

/* ---- cells */

static void write_character(uint64_t value, char cell[CELL])
{
    char one[2] = {(char)value, '\0'}, shown[12];
    const char *text = value == 0      ? "\\0"
                       : value >= 0x80 ? (snprintf(shown, sizeof shown, "\\x%02x", (unsigned)value), shown)
                                       : tg_printable(one, shown, sizeof shown);
    snprintf(cell, CELL, "'%s'", value == '\'' ? "\\'" : text);
}

/* With as many digits as it takes to have the very number back. */
static void write_float(double value, unsigned size, char cell[CELL])
{
    int most = size == 4 ? 9 : 17;
    for (int digits = size == 4 ? 6 : 15; digits <= most; digits++) {
        snprintf(cell, CELL, "%.*g", digits, value);
        double read = strtod(cell, NULL);
        if (size == 4 ? (float)read == (float)value : read == value)
            return;
    }
}

static void write_cell(const struct tg_memory_format *format, uint64_t value, char cell[CELL])
{
    switch (format->kind) {
    case TG_MEMORY_SIGNED:
        snprintf(cell, CELL, "%" PRId64, signed_of(value, format->size));
        break;
    case TG_MEMORY_UNSIGNED:
        snprintf(cell, CELL, "%" PRIu64, value);
        break;
    case TG_MEMORY_OCTAL:
        snprintf(cell, CELL, "0%0*" PRIo64, (int)(format->size * 8 + 2) / 3, value);
        break;
    case TG_MEMORY_FLOAT:
        write_float(float_of(value, format->size), format->size, cell);
        break;
    case TG_MEMORY_CHARACTER:
        if (format->size == 1)
            write_character(value, cell);
        else
            snprintf(cell, CELL, "%" PRIu64, value);
        break;
    case TG_MEMORY_HEX:
    case TG_MEMORY_ADDRESS:
    case TG_MEMORY_STRING:
    case TG_MEMORY_INSTRUCTION:
        snprintf(cell, CELL, "0x%0*" PRIx64, (int)format->size * 2, value);
        break;
    }
}

/* ---- lines */

struct dump {
    const struct tg_inspect_namer *namer;
    const struct tg_memory_format *format;
    struct block block;
    size_t per_line;
    FILE *stream;
    size_t label_width, cell_width;
};

static char *label_at(const struct dump *dump, uint64_t address, char *label, size_t size)
{
    label[0] = '<';
    tg_inspect_label(dump->namer, address, label + 1, size - 2);
    size_t length = strlen(label);
    label[length] = '>';
    label[length + 1] = '\0';
    if (length == 1)
        label[0] = '\0';
    return label;
}

static bool line_is_lost(const struct dump *dump, size_t first, size_t n)
{
    unsigned size = dump->format->size;
    for (size_t i = first; i < first + n; i++)
        if (is_readable(&dump->block, i * size, size))
            return false;
    return true;
}

static size_t items_in_line(const struct dump *dump, size_t first)
{
    size_t left = (size_t)dump->format->count - first;
    return left < dump->per_line ? left : dump->per_line;
}

static void measure(struct dump *dump)
{
    char cell[CELL], label[256];
    unsigned size = dump->format->size;
    for (size_t i = 0; i < dump->format->count; i++) {
        if (i % dump->per_line == 0) {
            size_t width = strlen(label_at(dump, dump->block.address + i * size, label, sizeof label));
            dump->label_width = width > dump->label_width ? width : dump->label_width;
        }
        if (!is_readable(&dump->block, i * size, size))
            continue;
        write_cell(dump->format, value_at(&dump->block, i * size, size), cell);
        size_t width = strlen(cell);
        dump->cell_width = width > dump->cell_width ? width : dump->cell_width;
    }
}

static void print_start(const struct dump *dump, uint64_t address)
{
    char label[256];
    fprintf(dump->stream, "0x%012" PRIx64, address);
    if (dump->label_width > 0)
        fprintf(dump->stream, " %-*s", (int)dump->label_width, label_at(dump, address, label, sizeof label));
    fputc(':', dump->stream);
}

static void print_items(const struct dump *dump, size_t first, size_t n)
{
    unsigned size = dump->format->size;
    print_start(dump, dump->block.address + first * size);
    for (size_t i = first; i < first + n; i++) {
        char cell[CELL] = "??", label[256];
        bool is_there = is_readable(&dump->block, i * size, size);
        uint64_t value = is_there ? value_at(&dump->block, i * size, size) : 0;
        if (is_there)
            write_cell(dump->format, value, cell);
        fprintf(dump->stream, "  %*s", (int)dump->cell_width, cell);
        if (dump->format->kind == TG_MEMORY_ADDRESS && is_there &&
            *label_at(dump, value, label, sizeof label))
            fprintf(dump->stream, " %s", label);
    }
    fputc('\n', dump->stream);
}

static struct tg_error *print_numbers(struct dump *dump, const struct tg_inspect_memory *memory,
                                      uint64_t address, uint64_t *end)
{
    size_t size = dump->format->size, count = (size_t)dump->format->count;
    struct tg_error *error = read_block(memory, address, size * count, &dump->block);
    if (error != NULL)
        return error;
    dump->per_line = dump->format->kind == TG_MEMORY_ADDRESS            ? 1
                     : size == 1 && dump->format->kind != TG_MEMORY_HEX ? LINE_BYTES / 2
                                                                        : LINE_BYTES / size;
    measure(dump);
    for (size_t first = 0; first < count;) {
        size_t n = items_in_line(dump, first), lost = first;
        while (lost < count && line_is_lost(dump, lost, items_in_line(dump, lost)))
            lost += items_in_line(dump, lost);
        if (lost > first)
            fprintf(dump->stream, "0x%012" PRIx64 " to 0x%012" PRIx64 ": cannot be read\n",
                    address + first * size, address + lost * size - 1);
        else
            print_items(dump, first, n);
        first = lost > first ? lost : first + n;
    }
    *end = address + size * count;
    free_block(&dump->block);
    return NULL;
}

/* ---- strings */

/* Reads the string at ADDRESS up to a NUL into TEXT; *SIZE is the memory it takes, NUL included where it
 * was found. False where nothing can be read. */
static bool read_string(const struct tg_inspect_memory *memory, uint64_t address,
                        char text[TG_MEMORY_DUMP_MAX_STRING + 1], size_t *size, bool *is_whole)
{
    size_t length = 0;
    *is_whole = false;
    while (length < TG_MEMORY_DUMP_MAX_STRING && address <= UINT64_MAX - length) {
        uint64_t at = address + length;
        size_t in_page = (size_t)(PAGE - at % PAGE), left = TG_MEMORY_DUMP_MAX_STRING - length;
        size_t part = in_page < left ? in_page : left;
        if (!memory->read(memory->context, at, text + length, part))
            break;
        const char *found = memchr(text + length, '\0', part);
        length = found == NULL ? length + part : (size_t)(found - text);
        if (found != NULL) {
            *is_whole = true;
            break;
        }
    }
    text[length] = '\0';
    *size = length + *is_whole;
    return *size > 0;
}

/* Each string from ADDRESS on, behind the other. */
static struct tg_error *each_string(const struct tg_inspect_memory *memory, uint64_t address, uint64_t count,
                                    void (*take)(void *context, uint64_t at, const char *text, bool is_whole),
                                    void *context, uint64_t *end)
{
    char *text = malloc(TG_MEMORY_DUMP_MAX_STRING + 1);
    uint64_t at = address;
    if (text == NULL)
        return tg_error_no_memory();
    for (uint64_t i = 0; i < count; i++) {
        size_t size;
        bool is_whole, is_there = read_string(memory, at, text, &size, &is_whole);
        if (!is_there && i == 0) {
            free(text);
            return tg_error_create(TG_ERROR_NOT_FOUND, "cannot read memory at 0x%" PRIx64, at);
        }
        take(context, at, is_there ? text : NULL, is_whole);
        if (!is_there)
            break;
        at += size;
    }
    free(text);
    *end = at;
    return NULL;
}

static void print_string(void *context, uint64_t at, const char *text, bool is_whole)
{
    const struct dump *dump = context;
    print_start(dump, at);
    if (text == NULL)
        fputs("  cannot be read", dump->stream);
    else
        fputs("  ", dump->stream);
    if (text != NULL)
        tg_printable_write_quoted(dump->stream, text);
    fputs(text == NULL || is_whole ? "\n" : "...\n", dump->stream);
}

static void measure_string(void *context, uint64_t at, const char *text, bool is_whole)
{
    struct dump *dump = context;
    char label[256];
    (void)text;
    (void)is_whole;
    size_t width = strlen(label_at(dump, at, label, sizeof label));
    dump->label_width = width > dump->label_width ? width : dump->label_width;
}

struct tg_error *tg_memory_dump_print(const struct tg_inspect_memory *memory,
                                      const struct tg_inspect_namer *namer, uint64_t address,
                                      const struct tg_memory_format *format, FILE *stream, uint64_t *end)
{
    struct dump dump = {.namer = namer, .format = format, .stream = stream};
    struct tg_error *error = check(format);
    if (error != NULL)
        return error;
    if (format->kind != TG_MEMORY_STRING)
        return print_numbers(&dump, memory, address, end);
    error = each_string(memory, address, format->count, measure_string, &dump, end);
    return error != NULL ? error : each_string(memory, address, format->count, print_string, &dump, end);
}

/* ---- JSON */

static void put_string(void *context, uint64_t at, const char *text, bool is_whole)
{
    (void)at;
    (void)is_whole;
    if (text == NULL)
        tg_json_null(context);
    else
        tg_json_string(context, text);
}

static void put_value(struct tg_json *json, const struct tg_memory_format *format, uint64_t value)
{
    char cell[CELL];
    switch (format->kind) {
    case TG_MEMORY_SIGNED:
        tg_json_signed(json, signed_of(value, format->size));
        break;
    case TG_MEMORY_UNSIGNED:
    case TG_MEMORY_CHARACTER:
        tg_json_unsigned(json, value);
        break;
    case TG_MEMORY_FLOAT: /* as text: JSON has no exact one, nor NaN */
    case TG_MEMORY_OCTAL:
    case TG_MEMORY_HEX:
    case TG_MEMORY_ADDRESS:
    case TG_MEMORY_STRING:
    case TG_MEMORY_INSTRUCTION:
        write_cell(format, value, cell);
        tg_json_string(json, cell);
        break;
    }
}

static struct tg_error *put_numbers(const struct tg_inspect_memory *memory, uint64_t address,
                                    const struct tg_memory_format *format, struct tg_json *json,
                                    uint64_t *end)
{
    struct block block;
    struct tg_error *error = read_block(memory, address, format->size * (size_t)format->count, &block);
    if (error != NULL)
        return error;
    for (size_t i = 0; i < format->count; i++) {
        if (is_readable(&block, i * format->size, format->size))
            put_value(json, format, value_at(&block, i * format->size, format->size));
        else
            tg_json_null(json);
    }
    *end = address + block.size;
    free_block(&block);
    return NULL;
}

struct tg_error *tg_memory_dump_json(const struct tg_inspect_memory *memory, uint64_t address,
                                     const struct tg_memory_format *format, struct tg_json *json,
                                     uint64_t *end)
{
    char kind[2] = {(char)format->kind, '\0'};
    struct tg_error *error = check(format);
    if (error != NULL)
        return error;
    tg_json_begin_object(json);
    tg_json_key(json, "address");
    tg_json_address(json, address);
    tg_json_member_string(json, "format", kind);
    tg_json_member_unsigned(json, "size", format->size);
    tg_json_key(json, "values");
    tg_json_begin_array(json);
    error = format->kind == TG_MEMORY_STRING
                ? each_string(memory, address, format->count, put_string, json, end)
                : put_numbers(memory, address, format, json, end);
    tg_json_end_array(json);
    tg_json_end_object(json);
    return error;
}
