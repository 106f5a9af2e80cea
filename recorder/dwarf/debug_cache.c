#include "recorder/dwarf/debug_cache.h"

#include "format/base/hash.h"
#include "format/image/elf_object.h"

#include <stdlib.h>
#include <utlist.h>

enum { DEFAULT_MAX_UNUSED = 32 };
static const uint64_t MAX_UNUSED_BYTES = UINT64_C(256) << 20;

struct entry {
    struct tg_image *image; /* the key; INFO holds it */
    struct tg_debug_info *info;
    size_t users;
    uint64_t size_bytes;
    UT_hash_handle hh;
    struct entry *next, *prev; /* in the list of unused ones */
};

struct tg_debug_cache {
    size_t max_unused;
    struct entry *entries;
    struct entry *unused; /* least recently used first */
    size_t n_unused;
    uint64_t unused_bytes;
};

struct tg_error *tg_debug_cache_create(size_t max_unused, struct tg_debug_cache **result)
{
    struct tg_debug_cache *cache = calloc(1, sizeof *cache);
    if (cache == NULL)
        return tg_error_no_memory();
    cache->max_unused = max_unused != 0 ? max_unused : DEFAULT_MAX_UNUSED;
    *result = cache;
    return NULL;
}

static void leave_unused(struct tg_debug_cache *cache, struct entry *entry)
{
    DL_DELETE(cache->unused, entry);
    cache->n_unused--;
    cache->unused_bytes -= entry->size_bytes;
}

static void forget(struct tg_debug_cache *cache, struct entry *entry)
{
    HASH_DEL(cache->entries, entry);
    if (entry->users == 0)
        leave_unused(cache, entry);
    tg_debug_info_unref(entry->info);
    free(entry);
}

void tg_debug_cache_destroy(struct tg_debug_cache *cache)
{
    if (cache == NULL)
        return;
    while (cache->entries != NULL)
        forget(cache, cache->entries);
    free(cache);
}

struct tg_error *tg_debug_cache_get(struct tg_debug_cache *cache, struct tg_image *image,
                                    struct tg_debug_info **info)
{
    struct entry *entry = NULL;
    HASH_FIND_PTR(cache->entries, &image, entry);
    if (entry != NULL) {
        if (entry->users++ == 0)
            leave_unused(cache, entry);
        *info = tg_debug_info_ref(entry->info);
        return NULL;
    }
    entry = calloc(1, sizeof *entry);
    if (entry == NULL)
        return tg_error_no_memory();
    struct tg_error *error = tg_debug_info_create(image, &entry->info);
    if (error != NULL) {
        free(entry);
        return error;
    }
    entry->image = image;
    entry->users = 1;
    entry->size_bytes = tg_image_object(image)->size;
    *info = entry->info;
    if (TG_HASH_ADD(hh, cache->entries, image, entry) != NULL) /* no memory to keep it */
        free(entry);
    else
        tg_debug_info_ref(entry->info);
    return NULL;
}

void tg_debug_cache_put(struct tg_debug_cache *cache, struct tg_debug_info *info)
{
    if (info == NULL)
        return;
    struct tg_image *image = tg_debug_info_image(info);
    struct entry *entry = NULL;
    HASH_FIND_PTR(cache->entries, &image, entry);
    tg_debug_info_unref(info);
    if (entry == NULL || entry->info != info || --entry->users > 0)
        return;
    DL_APPEND(cache->unused, entry);
    cache->n_unused++;
    cache->unused_bytes += entry->size_bytes;
    while (cache->unused != NULL &&
           (cache->n_unused > cache->max_unused || cache->unused_bytes > MAX_UNUSED_BYTES))
        forget(cache, cache->unused);
}
