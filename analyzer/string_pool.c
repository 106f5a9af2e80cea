#include "analyzer/string_pool.h"

#include <stdlib.h>
#include <string.h>

#include <uthash.h>

struct tg_string_pool_entry {
    UT_hash_handle hh;
    char text[];
};

void tg_string_pool_deinit(struct tg_string_pool *pool)
{
    struct tg_string_pool_entry *entry, *next;
    HASH_ITER (hh, pool->entries, entry, next) {
        HASH_DEL(pool->entries, entry);
        free(entry);
    }
}

struct tg_error *tg_string_pool_intern(struct tg_string_pool *pool, const char *text, const char **interned)
{
    size_t length = strlen(text);
    struct tg_string_pool_entry *entry = NULL;
    HASH_FIND(hh, pool->entries, text, length, entry);
    if (entry == NULL) {
        entry = calloc(1, sizeof *entry + length + 1);
        if (entry == NULL)
            return tg_error_no_memory();
        memcpy(entry->text, text, length + 1);
        HASH_ADD_KEYPTR(hh, pool->entries, entry->text, length, entry);
        if (entry->hh.tbl == NULL) {
            free(entry);
            return tg_error_no_memory();
        }
    }
    *interned = entry->text;
    return NULL;
}
