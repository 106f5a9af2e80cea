/* Every symbol of an image whose name begins in a certain way: what lookups by hash cannot tell. */
#include "format/image/image_internal.h"

#include <stdlib.h>
#include <string.h>

enum { BLOCK_SYMBOLS = 1024, MAX_NAME = 256 };
static const uint64_t MAX_SYMBOLS = 16 << 20, MAX_STRING_BYTES = UINT64_C(256) << 20;

/* One symbol table of OBJECT, its addresses moved by DELTA. */
struct table {
    const struct tg_elf_object *object;
    uint64_t delta;
    uint64_t symbols_at; /* in the file */
    uint64_t count;
    uint64_t strings_at;
    uint64_t strings_size;
};

struct search {
    const char *prefix;
    size_t prefix_length;
    void (*take)(void *context, const struct tg_image_symbol *symbol);
    void *context;
};

static bool is_definition(const struct tg_elf_symbol *symbol)
{
    return (symbol->type == STT_FUNC || symbol->type == STT_OBJECT || symbol->type == STT_NOTYPE) &&
           symbol->section != SHN_UNDEF && symbol->section != SHN_ABS && symbol->section != SHN_COMMON;
}

static void consider(const struct search *search, const struct table *table, const char *strings,
                     const struct tg_elf_symbol *symbol)
{
    char name[MAX_NAME];
    if (symbol->name >= table->strings_size || !is_definition(symbol))
        return;
    const char *text = strings + symbol->name; /* a NUL is behind all of them */
    if (strncmp(text, search->prefix, search->prefix_length) != 0)
        return;
    size_t length = strcspn(text, "@");
    if (length >= sizeof name)
        return;
    memcpy(name, text, length);
    name[length] = '\0';
    const struct tg_image_symbol found = {
        .name = name, .address = symbol->address + table->delta, .size_bytes = symbol->size};
    search->take(search->context, &found);
}

static void search_table(const struct search *search, const struct table *table)
{
    size_t entry = tg_elf_symbol_size(table->object->header.bits);
    uint64_t count = table->count < MAX_SYMBOLS ? table->count : MAX_SYMBOLS;
    uint8_t raw[BLOCK_SYMBOLS * sizeof(Elf64_Sym)];
    char *strings = (char *)tg_elf_object_read_new(table->object, table->strings_at, table->strings_size,
                                                   MAX_STRING_BYTES);
    for (uint64_t at = 0; strings != NULL && at < count; at += BLOCK_SYMBOLS) {
        size_t n = count - at < BLOCK_SYMBOLS ? (size_t)(count - at) : BLOCK_SYMBOLS;
        if (!tg_elf_object_read(table->object, table->symbols_at + at * entry, raw, n * entry))
            break;
        for (size_t i = 0; i < n; i++) {
            struct tg_elf_symbol symbol = tg_elf_symbol_decode(table->object->header.bits, raw + i * entry);
            consider(search, table, strings, &symbol);
        }
    }
    free(strings);
}

static void search_section(const struct search *search, const struct tg_image *image,
                           struct tg_elf_object *object, uint32_t type)
{
    const struct tg_elf_section *symbols = tg_elf_object_section_by_type(object, type);
    const struct tg_elf_section *strings =
        symbols == NULL ? NULL : tg_elf_object_section_at(object, symbols->link);
    if (strings == NULL)
        return;
    const struct table table = {
        .object = object,
        .delta = image->object->start - object->start,
        .symbols_at = symbols->offset,
        .count = symbols->size / tg_elf_symbol_size(object->header.bits),
        .strings_at = strings->offset,
        .strings_size = strings->size,
    };
    search_table(search, &table);
}

/* .dynsym without its section header. */
static void search_dynamic(const struct search *search, const struct tg_image *image)
{
    const struct tg_elf_object *object = image->object;
    struct table table = {.object = object,
                          .count = tg_dynamic_section_symbol_count(&image->dynamic, object)};
    uint64_t symbols = tg_elf_object_available_at(object, image->dynamic.symbols_at, &table.symbols_at);
    uint64_t strings = tg_elf_object_available_at(object, image->dynamic.strings_at, &table.strings_at);
    uint64_t n = symbols / tg_elf_symbol_size(object->header.bits);
    if (n == 0 || strings == 0)
        return;
    table.count = table.count < n ? table.count : n;
    table.strings_size = image->dynamic.strings_size < strings ? image->dynamic.strings_size : strings;
    search_table(search, &table);
}

void tg_image_each_symbol(struct tg_image *image, const char *prefix, bool with_debug_file,
                          void (*take)(void *context, const struct tg_image_symbol *symbol), void *context)
{
    const struct search search = {
        .prefix = prefix, .prefix_length = strlen(prefix), .take = take, .context = context};
    struct tg_elf_object *object = image->object;
    if (tg_elf_object_section_by_type(object, SHT_DYNSYM) != NULL)
        search_section(&search, image, object, SHT_DYNSYM);
    else
        search_dynamic(&search, image);
    if (tg_elf_object_section_by_type(object, SHT_SYMTAB) == NULL)
        object = with_debug_file ? tg_image_separate_debug(image) : NULL;
    if (object != NULL)
        search_section(&search, image, object, SHT_SYMTAB);
}
