#include "format/image/dynamic_section.h"

#include <stdlib.h>
#include <string.h>

enum {
    MAX_DYNAMIC_ENTRIES = 64 << 10,
    MAX_STRING_BYTES = 4096, /* of a soname or needed name */
    MAX_CHAIN = 64 << 10,    /* entries walked of one hash chain: hundreds of times what linkers make */
    CHAIN_BLOCK = 32,        /* words read at once */
    NAME_BLOCK = 256,
};

/* ---- the section itself */

static bool in_extent(const struct tg_elf_object *object, uint64_t address)
{
    return address >= object->start && address < object->end;
}

/* glibc adds the load bias to most addresses of the section in memory, but not where it is read-only
 * (vdso). */
static uint64_t unrelocated(const struct tg_elf_object *object, uint64_t value, uint64_t relocated_by)
{
    return !in_extent(object, value) && in_extent(object, value - relocated_by) ? value - relocated_by
                                                                                : value;
}

static void take_entry(struct tg_dynamic_section *dynamic, const struct tg_elf_object *object,
                       const struct tg_elf_dynamic *entry, uint64_t relocated_by)
{
    uint64_t address = unrelocated(object, entry->value, relocated_by);
    switch (entry->tag) {
    case DT_STRTAB:
        dynamic->strings_at = address;
        break;
    case DT_STRSZ:
        dynamic->strings_size = entry->value;
        break;
    case DT_SYMTAB:
        dynamic->symbols_at = address;
        break;
    case DT_HASH:
        dynamic->hash_at = address;
        break;
    case DT_GNU_HASH:
        dynamic->gnu_hash_at = address;
        break;
    case DT_VERSYM:
        dynamic->versions_at = address;
        break;
    case DT_VERDEF:
        dynamic->version_definitions_at = address;
        break;
    case DT_VERDEFNUM:
        dynamic->n_version_definitions = entry->value;
        break;
    default:
        break;
    }
}

/* The string at OFFSET of the string table, in new memory; NULL where there is none. */
static char *string_new(const struct tg_dynamic_section *dynamic, const struct tg_elf_object *object,
                        uint64_t offset)
{
    if (dynamic->strings_at == 0 || offset >= dynamic->strings_size)
        return NULL;
    uint64_t at = dynamic->strings_at + offset, file_offset;
    uint64_t size = dynamic->strings_size - offset;
    uint64_t available = tg_elf_object_available_at(object, at, &file_offset);
    char text[MAX_STRING_BYTES];
    size = size < available ? size : available;
    for (uint64_t n = NAME_BLOCK;; n = MAX_STRING_BYTES) {
        n = n < size ? n : size;
        if (!tg_elf_object_read(object, file_offset, text, n))
            return NULL;
        if (memchr(text, '\0', n) != NULL)
            return strdup(text);
        if (n == size || n == MAX_STRING_BYTES)
            return NULL;
    }
}

static void read_gnu_hash_header(struct tg_dynamic_section *dynamic, const struct tg_elf_object *object)
{
    uint8_t raw[16];
    if (dynamic->gnu_hash_at == 0)
        return;
    if (!tg_elf_object_read_at(object, dynamic->gnu_hash_at, raw, sizeof raw)) {
        dynamic->gnu_hash_at = 0;
        return;
    }
    dynamic->n_buckets = tg_elf_u32(raw);
    dynamic->first_symbol = tg_elf_u32(raw + 4);
    dynamic->n_bloom = tg_elf_u32(raw + 8);
    dynamic->bloom_shift = tg_elf_u32(raw + 12);
    if (dynamic->n_buckets == 0 || dynamic->bloom_shift > 31 || dynamic->n_bloom == 0 ||
        (dynamic->n_bloom & (dynamic->n_bloom - 1)) != 0)
        dynamic->gnu_hash_at = 0; /* nothing in it, or none that the loader would use */
}

static struct tg_error *read_names(struct tg_dynamic_section *dynamic, const struct tg_elf_object *object,
                                   const uint8_t *raw, size_t n_entries)
{
    unsigned bits = object->header.bits;
    size_t n_needed = 0;
    for (size_t i = 0; i < n_entries; i++)
        n_needed += tg_elf_dynamic_decode(bits, raw + i * tg_elf_dynamic_size(bits)).tag == DT_NEEDED;
    if (n_needed > TG_DYNAMIC_MAX_NEEDED)
        n_needed = TG_DYNAMIC_MAX_NEEDED;
    dynamic->needed = calloc(n_needed + 1, sizeof *dynamic->needed);
    if (dynamic->needed == NULL)
        return tg_error_no_memory();
    for (size_t i = 0; i < n_entries; i++) {
        struct tg_elf_dynamic entry = tg_elf_dynamic_decode(bits, raw + i * tg_elf_dynamic_size(bits));
        if (entry.tag == DT_SONAME && dynamic->soname == NULL) {
            dynamic->soname = string_new(dynamic, object, entry.value);
        } else if (entry.tag == DT_RPATH && dynamic->rpath == NULL) {
            dynamic->rpath = string_new(dynamic, object, entry.value);
        } else if (entry.tag == DT_RUNPATH && dynamic->runpath == NULL) {
            dynamic->runpath = string_new(dynamic, object, entry.value);
        } else if (entry.tag == DT_NEEDED && dynamic->n_needed < n_needed) {
            char *name = string_new(dynamic, object, entry.value);
            if (name != NULL)
                dynamic->needed[dynamic->n_needed++] = name;
        }
    }
    return NULL;
}

struct tg_error *tg_dynamic_section_init(struct tg_dynamic_section *dynamic,
                                         const struct tg_elf_object *object, uint64_t relocated_by)
{
    *dynamic = (struct tg_dynamic_section){0};
    const struct tg_elf_segment *segment = tg_elf_object_segment(object, PT_DYNAMIC);
    if (segment == NULL)
        return NULL;
    uint64_t offset;
    uint64_t size = tg_elf_object_available_at(object, segment->address, &offset);
    size_t entry_size = tg_elf_dynamic_size(object->header.bits);
    size = size < segment->file_size ? size : segment->file_size;
    size_t n_entries = size / entry_size < MAX_DYNAMIC_ENTRIES ? size / entry_size : MAX_DYNAMIC_ENTRIES;
    uint8_t *raw =
        n_entries == 0 ? NULL : tg_elf_object_read_new(object, offset, n_entries * entry_size, size);
    if (raw == NULL)
        return NULL;
    dynamic->address = segment->address;
    for (size_t i = 0; i < n_entries; i++) {
        struct tg_elf_dynamic entry = tg_elf_dynamic_decode(object->header.bits, raw + i * entry_size);
        if (entry.tag == DT_NULL)
            n_entries = i;
        else
            take_entry(dynamic, object, &entry, relocated_by);
    }
    read_gnu_hash_header(dynamic, object);
    struct tg_error *error = read_names(dynamic, object, raw, n_entries);
    free(raw);
    return error;
}

void tg_dynamic_section_deinit(struct tg_dynamic_section *dynamic)
{
    for (size_t i = 0; i < dynamic->n_needed; i++)
        free(dynamic->needed[i]);
    free(dynamic->needed);
    free(dynamic->soname);
    free(dynamic->rpath);
    free(dynamic->runpath);
    *dynamic = (struct tg_dynamic_section){0};
}

/* ---- lookup */

bool tg_symbol_is_function(const struct tg_elf_object *object, const struct tg_elf_symbol *symbol)
{
    /* hand-written assembly often leaves its labels without a type */
    return (symbol->type == STT_FUNC || symbol->type == STT_GNU_IFUNC || symbol->type == STT_NOTYPE) &&
           symbol->section != SHN_UNDEF && symbol->section != SHN_ABS && symbol->section != SHN_COMMON &&
           tg_elf_object_is_code(object, symbol->address);
}

static uint32_t read_u32_at(const struct tg_elf_object *object, uint64_t address, bool *ok)
{
    uint8_t raw[4];
    *ok = tg_elf_object_read_at(object, address, raw, sizeof raw);
    return *ok ? tg_elf_u32(raw) : 0;
}

static bool string_equals(const struct tg_dynamic_section *dynamic, const struct tg_elf_object *object,
                          uint64_t offset, const char *name)
{
    size_t left = strlen(name) + 1;
    if (offset >= dynamic->strings_size || left > dynamic->strings_size - offset)
        return false;
    uint64_t at = dynamic->strings_at + offset;
    char block[NAME_BLOCK];
    while (left > 0) {
        size_t n = left < sizeof block ? left : sizeof block;
        if (!tg_elf_object_read_at(object, at, block, n) || memcmp(block, name, n) != 0)
            return false;
        at += n;
        name += n;
        left -= n;
    }
    return true;
}

/* Whether symbol INDEX has the version NAME (Symbol Versioning: .gnu.version and .gnu.version_d). */
static bool version_is(const struct tg_dynamic_section *dynamic, const struct tg_elf_object *object,
                       uint64_t index, const char *name)
{
    uint8_t raw[sizeof(Elf64_Verdef)];
    if (dynamic->versions_at == 0 || !tg_elf_object_read_at(object, dynamic->versions_at + 2 * index, raw, 2))
        return false;
    unsigned wanted = tg_elf_u16(raw) & 0x7fff;
    uint64_t at = dynamic->version_definitions_at;
    for (uint64_t i = 0; i < dynamic->n_version_definitions && i < MAX_CHAIN; i++) {
        if (!tg_elf_object_read_at(object, at, raw, sizeof raw))
            return false;
        unsigned number = tg_elf_u16(raw + offsetof(Elf64_Verdef, vd_ndx));
        uint32_t auxiliary = tg_elf_u32(raw + offsetof(Elf64_Verdef, vd_aux));
        uint32_t next = tg_elf_u32(raw + offsetof(Elf64_Verdef, vd_next));
        if (number == wanted) {
            bool ok;
            uint32_t string = read_u32_at(object, at + auxiliary + offsetof(Elf64_Verdaux, vda_name), &ok);
            return ok && string_equals(dynamic, object, string, name);
        }
        if (next == 0)
            return false;
        at += next;
    }
    return false;
}

/* Symbol INDEX, whose hash fits: adds it if it is what is looked for. */
static void consider(const struct tg_dynamic_section *dynamic, const struct tg_elf_object *object,
                     uint64_t index, const char *name, const char *version, struct tg_address_set *addresses)
{
    uint8_t raw[sizeof(Elf64_Sym)];
    size_t size = tg_elf_symbol_size(object->header.bits);
    if (!tg_elf_object_read_at(object, dynamic->symbols_at + index * size, raw, size))
        return;
    struct tg_elf_symbol symbol = tg_elf_symbol_decode(object->header.bits, raw);
    if (tg_symbol_is_function(object, &symbol) && string_equals(dynamic, object, symbol.name, name) &&
        (version == NULL || version_is(dynamic, object, index, version))) {
        tg_address_set_add(addresses, symbol.address);
        addresses->resolver |= symbol.type == STT_GNU_IFUNC;
    }
}

static uint32_t gnu_hash(const char *name)
{
    uint32_t hash = 5381;
    for (const unsigned char *c = (const unsigned char *)name; *c != '\0'; c++)
        hash = hash * 33 + *c;
    return hash;
}

static uint32_t sysv_hash(const char *name)
{
    uint32_t hash = 0;
    for (const unsigned char *c = (const unsigned char *)name; *c != '\0'; c++) {
        hash = (hash << 4) + *c;
        uint32_t high = hash & 0xf0000000;
        hash = (hash ^ high >> 24) & ~high;
    }
    return hash;
}

/* Addresses of the buckets and of the chain of the GNU hash section. */
static uint64_t gnu_buckets_at(const struct tg_dynamic_section *dynamic, const struct tg_elf_object *object)
{
    return dynamic->gnu_hash_at + 16 + (uint64_t)dynamic->n_bloom * (object->header.bits / 8);
}

static uint64_t gnu_chain_at(const struct tg_dynamic_section *dynamic, const struct tg_elf_object *object,
                             uint64_t symbol)
{
    return gnu_buckets_at(dynamic, object) +
           4 * ((uint64_t)dynamic->n_buckets + symbol - dynamic->first_symbol);
}

static bool gnu_bloom_admits(const struct tg_dynamic_section *dynamic, const struct tg_elf_object *object,
                             uint32_t hash)
{
    unsigned bits = object->header.bits;
    uint8_t raw[8];
    uint64_t index = (hash / bits) & (dynamic->n_bloom - 1);
    if (!tg_elf_object_read_at(object, dynamic->gnu_hash_at + 16 + index * (bits / 8), raw, bits / 8))
        return false;
    uint64_t word = bits == 64 ? tg_elf_u64(raw) : tg_elf_u32(raw);
    return (word >> (hash % bits) & word >> ((hash >> dynamic->bloom_shift) % bits) & 1) != 0;
}

static void gnu_find(const struct tg_dynamic_section *dynamic, const struct tg_elf_object *object,
                     const char *name, const char *version, struct tg_address_set *addresses)
{
    uint32_t hash = gnu_hash(name);
    if (!gnu_bloom_admits(dynamic, object, hash))
        return;
    bool ok;
    uint64_t index =
        read_u32_at(object, gnu_buckets_at(dynamic, object) + 4 * (uint64_t)(hash % dynamic->n_buckets), &ok);
    if (!ok || index < dynamic->first_symbol)
        return;
    for (unsigned walked = 0; walked < MAX_CHAIN;) {
        uint8_t raw[4 * CHAIN_BLOCK];
        uint64_t at = gnu_chain_at(dynamic, object, index), offset;
        uint64_t available = tg_elf_object_available_at(object, at, &offset) / 4;
        size_t n = available < CHAIN_BLOCK ? available : CHAIN_BLOCK;
        if (n == 0 || !tg_elf_object_read(object, offset, raw, 4 * n))
            return;
        for (size_t i = 0; i < n; i++, index++, walked++) {
            uint32_t word = tg_elf_u32(raw + 4 * i);
            if ((word | 1) == (hash | 1))
                consider(dynamic, object, index, name, version, addresses);
            if ((word & 1) != 0)
                return;
        }
    }
}

static void sysv_find(const struct tg_dynamic_section *dynamic, const struct tg_elf_object *object,
                      const char *name, const char *version, struct tg_address_set *addresses)
{
    bool ok, chain_ok;
    uint64_t n_buckets = read_u32_at(object, dynamic->hash_at, &ok);
    uint64_t n_chain = read_u32_at(object, dynamic->hash_at + 4, &chain_ok);
    if (!ok || !chain_ok || n_buckets == 0)
        return;
    uint64_t at = dynamic->hash_at + 8;
    uint64_t index = read_u32_at(object, at + 4 * (sysv_hash(name) % n_buckets), &ok);
    /* a chain may run in a circle */
    for (unsigned walked = 0; ok && index != STN_UNDEF && index < n_chain && walked < MAX_CHAIN; walked++) {
        consider(dynamic, object, index, name, version, addresses);
        index = read_u32_at(object, at + 4 * (n_buckets + index), &ok);
    }
}

void tg_dynamic_section_find(const struct tg_dynamic_section *dynamic, const struct tg_elf_object *object,
                             const char *name, const char *version, struct tg_address_set *addresses)
{
    if (dynamic->symbols_at == 0 || dynamic->strings_at == 0)
        return;
    if (dynamic->gnu_hash_at != 0)
        gnu_find(dynamic, object, name, version, addresses);
    else if (dynamic->hash_at != 0)
        sysv_find(dynamic, object, name, version, addresses);
}

uint64_t tg_dynamic_section_symbol_count(const struct tg_dynamic_section *dynamic,
                                         const struct tg_elf_object *object)
{
    bool ok;
    if (dynamic->hash_at != 0) {
        uint64_t n_chain = read_u32_at(object, dynamic->hash_at + 4, &ok);
        if (ok && n_chain > 0)
            return n_chain;
    }
    uint64_t offset, at = gnu_buckets_at(dynamic, object);
    uint64_t size = (uint64_t)dynamic->n_buckets * 4;
    if (dynamic->gnu_hash_at == 0 || tg_elf_object_available_at(object, at, &offset) < size)
        return 0;
    uint8_t *buckets = tg_elf_object_read_new(object, offset, size, size);
    if (buckets == NULL)
        return 0;
    uint64_t last = 0;
    for (size_t i = 0; i < dynamic->n_buckets; i++) {
        uint64_t index = tg_elf_u32(buckets + 4 * i);
        last = index > last ? index : last;
    }
    free(buckets);
    if (last < dynamic->first_symbol)
        return 0;
    for (unsigned walked = 0; walked < MAX_CHAIN; walked++, last++) {
        uint32_t word = read_u32_at(object, gnu_chain_at(dynamic, object, last), &ok);
        if (!ok)
            return 0;
        if ((word & 1) != 0)
            return last + 1;
    }
    return 0;
}
