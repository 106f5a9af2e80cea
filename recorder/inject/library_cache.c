#include "recorder/inject/library_cache.h"

#include "format/base/hash.h"
#include "format/image/elf_decode.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* glibc, sysdeps/generic/dl-cache.h: struct cache_file_new and file_entry_new. */
enum {
    MAGIC_BYTES = 20, /* with the version */
    HEADER_BYTES = 48,
    ENTRY_BYTES = 24,
    MAX_ENTRIES = 1 << 20,
    MAX_NAME_BYTES = 256, /* longer ones are no file's; what they cost is paid for each entry */
    MAX_PATH_BYTES = 4096,
    FLAGS_X86_64 = 0x0303, /* FLAG_X8664_LIB64 | FLAG_ELF_LIBC6 */
};
static const char magic[] = "glibc-ld.so.cache1.1";

struct entry {
    const char *name; /* into the bytes */
    const char *path;
    struct entry *next; /* next one of the same name */
    struct entry *last; /* in the first one of a name: the last one */
    UT_hash_handle hh;
};

struct tg_library_cache {
    const char *bytes;
    size_t size, count;    /* bytes; entries */
    unsigned n_scans;      /* lookups so far that went through all entries */
    struct entry *entries; /* NULL: there is no index yet */
    struct entry *by_name; /* uthash: the first of each name */
};

/* Most programs look for two or three libraries, which takes less than to make an index of all. */
enum { MAX_SCANS = 16 };

/* The string at OFFSET, NULL where it does not end within MAX_BYTES or the file. */
static const char *string_at(const struct tg_library_cache *cache, uint32_t offset, size_t max_bytes)
{
    if (offset >= cache->size)
        return NULL;
    size_t room = cache->size - offset < max_bytes ? cache->size - offset : max_bytes;
    return memchr(cache->bytes + offset, '\0', room) != NULL ? cache->bytes + offset : NULL;
}

static bool add(struct tg_library_cache *cache, struct entry *entry)
{
    struct entry *first;
    HASH_FIND_STR(cache->by_name, entry->name, first);
    if (first != NULL) {
        first->last->next = entry;
        first->last = entry;
        return true;
    }
    entry->last = entry;
    return TG_HASH_ADD_KEY(hh, cache->by_name, entry->name, strlen(entry->name), entry) == NULL;
}

struct tg_library_cache *tg_library_cache_parse(const uint8_t *bytes, size_t size)
{
    struct tg_library_cache *cache = calloc(1, sizeof *cache);
    if (cache == NULL)
        return NULL;
    if (size < HEADER_BYTES || memcmp(bytes, magic, MAGIC_BYTES) != 0)
        return cache;
    size_t count = tg_elf_u32(bytes + MAGIC_BYTES);
    if (count > (size - HEADER_BYTES) / ENTRY_BYTES || count > MAX_ENTRIES)
        return cache;
    cache->bytes = (const char *)bytes;
    cache->size = size;
    cache->count = count;
    return cache;
}

static void drop_index(struct tg_library_cache *cache)
{
    HASH_CLEAR(hh, cache->by_name);
    free(cache->entries);
    cache->entries = NULL;
}

void tg_library_cache_destroy(struct tg_library_cache *cache)
{
    if (cache == NULL)
        return;
    drop_index(cache);
    free(cache);
}

static const uint8_t *raw_entry(const struct tg_library_cache *cache, size_t i)
{
    return (const uint8_t *)cache->bytes + HEADER_BYTES + i * ENTRY_BYTES;
}

/* Without memory there is none. */
static void make_index(struct tg_library_cache *cache)
{
    cache->entries = calloc(cache->count + 1, sizeof *cache->entries);
    for (size_t i = 0; cache->entries != NULL && i < cache->count; i++) {
        const uint8_t *raw = raw_entry(cache, i);
        struct entry *entry = &cache->entries[i];
        entry->name = string_at(cache, tg_elf_u32(raw + 4), MAX_NAME_BYTES);
        entry->path = string_at(cache, tg_elf_u32(raw + 8), MAX_PATH_BYTES);
        if (tg_elf_u32(raw) != FLAGS_X86_64 || entry->name == NULL || entry->path == NULL)
            continue;
        if (!add(cache, entry)) {
            drop_index(cache);
            return;
        }
    }
}

static const char *scan(const struct tg_library_cache *cache, const char *name, size_t nth)
{
    size_t bytes = strlen(name) + 1;
    for (size_t i = 0; bytes <= MAX_NAME_BYTES && i < cache->count; i++) {
        const uint8_t *raw = raw_entry(cache, i);
        uint32_t offset = tg_elf_u32(raw + 4);
        /* of two names that differ, mostly the length or the last character does */
        if (offset > cache->size || cache->size - offset < bytes ||
            cache->bytes[offset + bytes - 1] != '\0' ||
            (bytes > 1 && cache->bytes[offset + bytes - 2] != name[bytes - 2]) ||
            memcmp(cache->bytes + offset, name, bytes) != 0 || tg_elf_u32(raw) != FLAGS_X86_64)
            continue;
        const char *path = string_at(cache, tg_elf_u32(raw + 8), MAX_PATH_BYTES);
        if (path != NULL && nth-- == 0)
            return path;
    }
    return NULL;
}

const char *tg_library_cache_path(struct tg_library_cache *cache, const char *name, size_t i)
{
    struct entry *entry;
    if (cache->entries == NULL && ++cache->n_scans > MAX_SCANS) {
        cache->n_scans = 0;
        make_index(cache);
    }
    if (cache->entries == NULL)
        return scan(cache, name, i);
    HASH_FIND_STR(cache->by_name, name, entry);
    while (entry != NULL && i-- > 0)
        entry = entry->next;
    return entry != NULL ? entry->path : NULL;
}
