#include "format/base/string_pool.h"

#include "format/base/hash.h"

#include <stdlib.h>
#include <string.h>

struct entry {
    UT_hash_handle hh;
    char text[];
};

struct tg_string_pool_strings {
    struct entry *entries;
    size_t users; /* pools that share them */
};

void tg_string_pool_deinit(struct tg_string_pool *pool)
{
    struct tg_string_pool_strings *strings = pool->strings;
    struct entry *entry, *next;
    pool->strings = NULL;
    if (strings == NULL || --strings->users > 0)
        return;
    HASH_ITER (hh, strings->entries, entry, next) {
        HASH_DEL(strings->entries, entry);
        free(entry);
    }
    free(strings);
}

static struct tg_error *need_strings(struct tg_string_pool *pool)
{
    if (pool->strings != NULL)
        return NULL;
    pool->strings = calloc(1, sizeof *pool->strings);
    if (pool->strings == NULL)
        return tg_error_no_memory();
    pool->strings->users = 1;
    return NULL;
}

void tg_string_pool_share(const struct tg_string_pool *pool, struct tg_string_pool *other)
{
    if (pool->strings == NULL)
        return; /* nothing to share yet: each begins its own */
    pool->strings->users++;
    other->strings = pool->strings;
}

const char *tg_string_pool_find(const struct tg_string_pool *pool, const char *text)
{
    struct entry *entry = NULL;
    if (pool->strings != NULL)
        HASH_FIND(hh, pool->strings->entries, text, strlen(text), entry);
    return entry == NULL ? NULL : entry->text;
}

struct tg_error *tg_string_pool_intern(struct tg_string_pool *pool, const char *text, const char **interned)
{
    size_t length = strlen(text);
    struct entry *entry = NULL;
    struct tg_error *error = need_strings(pool);
    if (error != NULL)
        return error;
    struct tg_string_pool_strings *strings = pool->strings;
    HASH_FIND(hh, strings->entries, text, length, entry);
    if (entry == NULL) {
        entry = calloc(1, sizeof *entry + length + 1);
        if (entry == NULL)
            return tg_error_no_memory();
        memcpy(entry->text, text, length + 1);
        error = TG_HASH_ADD_KEY(hh, strings->entries, entry->text, length, entry);
        if (error != NULL) {
            free(entry);
            return error;
        }
    }
    *interned = entry->text;
    return NULL;
}
