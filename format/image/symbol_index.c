#include "format/image/symbol_index.h"

#include "format/base/array.h"
#include "format/base/search.h"
#include "format/image/dynamic_section.h"
#include "format/image/mangled_name.h"

#include <stdlib.h>
#include <string.h>

static const uint64_t MAX_SYMBOLS = UINT64_C(64) << 20;
static const uint64_t MAX_STRING_BYTES = UINT64_C(1) << 30;
enum {
    READ_SYMBOLS = 1024, /* decoded at a time */
    HASHED_BYTES =
        128, /* of a name: a file whose symbols all share one endless name costs no more than others */
};

struct function {
    uint64_t address;
    uint32_t size;
    uint32_t name; /* offset in strings */
    uint32_t next; /* in its bucket: index + 1 */
    bool resolver; /* STT_GNU_IFUNC */
};

struct tg_symbol_index {
    char *strings; /* NUL-terminated whatever the file says */
    struct function *functions;
    size_t count;
    size_t capacity;
    uint32_t *buckets; /* index + 1 of the first function, 0: empty */
    size_t mask;
    uint32_t *by_address; /* NULL until somebody asks */
};

/* The length of ".isra.12" or the like at TEXT, 0 for anything else: what compilers append to the name of a
 * function that they changed a copy of, or that is inside of another one (".0"; of Fortran's CONTAINS). Not
 * ".cold": nobody calls it, it is jumped into. */
static size_t clone_suffix(const char *text)
{
    static const char *const suffixes[] = {".", ".isra.", ".constprop.", ".part.", ".lto_priv."};
    for (size_t i = 0; i < sizeof suffixes / sizeof *suffixes; i++) {
        size_t length = strlen(suffixes[i]);
        size_t digits = strncmp(text, suffixes[i], length) == 0 ? strspn(text + length, "0123456789") : 0;
        if (digits > 0)
            return length + digits;
    }
    return 0;
}

static uint32_t hash_bytes(const char *bytes, size_t length)
{
    uint32_t hash = 2166136261u;
    for (size_t i = 0; i < length && i < HASHED_BYTES; i++)
        hash = (hash ^ (unsigned char)bytes[i]) * 16777619u;
    return hash ^ hash >> 15;
}

/* Of the start of a name, without the version and the clone suffixes that it may have; of a C++ function's
 * name without what is around it, so that it is in one bucket with its namesakes. */
static uint32_t hash_name(const char *name)
{
    struct tg_mangled_name mangled;
    if (tg_mangled_name_parse(name, &mangled)) {
        const struct tg_mangled_part *own = &mangled.parts[mangled.count - 1];
        return hash_bytes(own->text, own->length);
    }
    size_t length = 0;
    while (length < HASHED_BYTES && name[length] != '\0' && (name[length] != '@' || length == 0) &&
           (name[length] != '.' || length == 0 || clone_suffix(name + length) == 0))
        length++;
    return hash_bytes(name, length);
}

static struct tg_error *add_function(struct tg_symbol_index *index, const struct tg_elf_symbol *symbol)
{
    const struct function function = {
        .address = symbol->address,
        .size = symbol->size < UINT32_MAX ? (uint32_t)symbol->size : UINT32_MAX,
        .name = symbol->name,
        .resolver = symbol->type == STT_GNU_IFUNC,
    };
    return TG_ARRAY_APPEND(index->functions, index->count, index->capacity, function);
}

static struct tg_error *read_functions(struct tg_symbol_index *index, const struct tg_elf_object *object,
                                       const struct tg_elf_object *code, uint64_t delta, uint64_t symbols_at,
                                       uint64_t count, uint64_t strings_size)
{
    unsigned bits = object->header.bits;
    size_t entry_size = tg_elf_symbol_size(bits);
    uint8_t raw[READ_SYMBOLS * sizeof(Elf64_Sym)];
    for (uint64_t done = 0; done < count;) {
        size_t n = count - done < READ_SYMBOLS ? (size_t)(count - done) : READ_SYMBOLS;
        if (!tg_elf_object_read(object, symbols_at + done * entry_size, raw, n * entry_size))
            return tg_error_create(TG_ERROR_INPUT, "symbol table outside of the file");
        for (size_t i = 0; i < n; i++) {
            struct tg_elf_symbol symbol = tg_elf_symbol_decode(bits, raw + i * entry_size);
            symbol.address += delta;
            if (symbol.name >= strings_size || index->strings[symbol.name] == '\0' ||
                !tg_symbol_is_function(code, &symbol))
                continue;
            struct tg_error *error = add_function(index, &symbol);
            if (error != NULL)
                return error;
        }
        done += n;
    }
    return NULL;
}

static struct tg_error *fill_buckets(struct tg_symbol_index *index)
{
    size_t n_buckets = 16;
    while (n_buckets < index->count)
        n_buckets *= 2;
    index->buckets = calloc(n_buckets, sizeof *index->buckets);
    if (index->buckets == NULL)
        return tg_error_no_memory();
    index->mask = n_buckets - 1;
    for (size_t i = index->count; i-- > 0;) { /* so that a bucket lists them in the table's order */
        struct function *function = &index->functions[i];
        const char *name = index->strings + function->name;
        uint32_t *bucket = &index->buckets[hash_name(name) & index->mask];
        function->next = *bucket;
        *bucket = (uint32_t)i + 1;
    }
    return NULL;
}

struct tg_error *tg_symbol_index_create(const struct tg_elf_object *object, const struct tg_elf_object *code,
                                        uint64_t delta, uint64_t symbols_at, uint64_t count,
                                        uint64_t strings_at, uint64_t strings_size,
                                        struct tg_symbol_index **result)
{
    if (count > MAX_SYMBOLS || strings_size > MAX_STRING_BYTES)
        return tg_error_create(TG_ERROR_LIMIT, "symbol table with %llu entries and %llu bytes of names",
                               (unsigned long long)count, (unsigned long long)strings_size);
    struct tg_symbol_index *index = calloc(1, sizeof *index);
    if (index == NULL)
        return tg_error_no_memory();
    struct tg_error *error = NULL;
    index->strings = (char *)tg_elf_object_read_new(object, strings_at, strings_size, MAX_STRING_BYTES);
    if (index->strings == NULL)
        error = tg_error_create(TG_ERROR_INPUT, "symbol names outside of the file");
    if (error == NULL)
        error = read_functions(index, object, code, delta, symbols_at, count, strings_size);
    if (error == NULL)
        error = fill_buckets(index);
    if (error != NULL) {
        tg_symbol_index_destroy(index);
        return error;
    }
    *result = index;
    return NULL;
}

void tg_symbol_index_destroy(struct tg_symbol_index *index)
{
    if (index == NULL)
        return;
    free(index->strings);
    free(index->functions);
    free(index->buckets);
    free(index->by_address);
    free(index);
}

static bool name_is(const char *symbol, const char *name, size_t length, const char *version)
{
    if (strncmp(symbol, name, length) != 0)
        return false;
    const char *own = symbol + length;
    for (size_t n; (n = clone_suffix(own)) > 0;)
        own += n;
    if (*own != '\0' && *own != '@')
        return false;
    if (version == NULL)
        return true;
    own += strspn(own, "@");
    return strcmp(own, version) == 0;
}

static void add_found(struct tg_address_set *addresses, const struct function *function)
{
    tg_address_set_add(addresses, function->address);
    addresses->resolver |= function->resolver;
}

void tg_symbol_index_find(const struct tg_symbol_index *index, const char *name, const char *version,
                          struct tg_address_set *addresses)
{
    size_t length = strlen(name);
    uint32_t i = index->buckets[hash_name(name) & index->mask];
    for (; i != 0; i = index->functions[i - 1].next) {
        const struct function *function = &index->functions[i - 1];
        if (name_is(index->strings + function->name, name, length, version))
            add_found(addresses, function);
    }
}

/* A parallel region's body, which threads of the runtime call: it goes by a name of its own. */
static bool is_outlined(const char *symbol)
{
    return strstr(symbol, "._omp_") != NULL || strstr(symbol, ".omp_outlined") != NULL;
}

void tg_symbol_index_find_mangled(const struct tg_symbol_index *index, const char *name, bool only_fortran,
                                  struct tg_address_set *addresses)
{
    struct tg_mangled_name mangled;
    const char *own = tg_mangled_name_last(name);
    uint32_t i = index->buckets[hash_bytes(own, strlen(own)) & index->mask];
    for (; i != 0; i = index->functions[i - 1].next) {
        const struct function *function = &index->functions[i - 1];
        const char *symbol = index->strings + function->name;
        if (!(only_fortran && strncmp(symbol, "_Z", 2) == 0) && tg_mangled_name_parse(symbol, &mangled) &&
            tg_mangled_name_ends_with(&mangled, name) && !is_outlined(symbol))
            add_found(addresses, function);
    }
}

/* By address; of several at one address the one with the larger size last, so that it is preferred. */
static int compare_by_address(const void *a, const void *b, void *context)
{
    const struct function *functions = context;
    const struct function *x = &functions[*(const uint32_t *)a], *y = &functions[*(const uint32_t *)b];
    if (x->address != y->address)
        return x->address < y->address ? -1 : 1;
    if (x->size != y->size)
        return x->size < y->size ? -1 : 1;
    return *(const uint32_t *)a < *(const uint32_t *)b ? 1 : -1; /* the table's first last */
}

static bool order_by_address(struct tg_symbol_index *index)
{
    if (index->by_address != NULL)
        return true;
    uint32_t *order = calloc(index->count + 1, sizeof *order);
    if (order == NULL)
        return false;
    for (size_t i = 0; i < index->count; i++)
        order[i] = (uint32_t)i;
    qsort_r(order, index->count, sizeof *order, compare_by_address, index->functions);
    index->by_address = order;
    return true;
}

bool tg_symbol_index_at(struct tg_symbol_index *index, uint64_t address, const char **name, uint64_t *offset)
{
    if (!order_by_address(index))
        return false;
    size_t behind =
        TG_PARTITION_POINT(index->count, i, index->functions[index->by_address[i]].address <= address);
    if (behind == 0)
        return false;
    const struct function *function = &index->functions[index->by_address[behind - 1]];
    uint64_t inside = address - function->address;
    if (function->size != 0 && inside >= function->size)
        return false;
    *name = index->strings + function->name;
    *offset = inside;
    return true;
}
