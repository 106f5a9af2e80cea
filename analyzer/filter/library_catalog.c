#include "analyzer/filter/library_catalog.h"

#include "analyzer/models/dlopen.h"

#include "format/base/tcl_match.h"

#include <stdlib.h>
#include <string.h>
#include <uthash.h>

/* Readers hand out the same pointer for the same interned string, so that most lookups need no hashing. */
enum { RECENT_SLOTS = 1024 };

struct entry {
    struct tg_catalog_library library;
    UT_hash_handle hh;
    char path[];
};

struct tg_library_catalog {
    struct entry *by_path;
    struct entry **entries;
    size_t count, capacity;
    struct recent {
        const char *text; /* never followed: only compared */
        struct entry *entry;
    } recent[RECENT_SLOTS];
};

struct tg_error *tg_library_catalog_create(struct tg_library_catalog **catalog)
{
    struct tg_library_catalog *new = calloc(1, sizeof *new);
    if (new == NULL)
        return tg_error_no_memory();
    *catalog = new;
    return NULL;
}

void tg_library_catalog_destroy(struct tg_library_catalog *catalog)
{
    if (catalog == NULL)
        return;
    HASH_CLEAR(hh, catalog->by_path);
    for (size_t i = 0; i < catalog->count; i++) {
        free(catalog->entries[i]->library.goals);
        free(catalog->entries[i]);
    }
    free(catalog->entries);
    free(catalog);
}

static struct tg_error *add_entry(struct tg_library_catalog *catalog, const char *path, size_t length,
                                  struct entry **added)
{
    if (catalog->count == TG_LIBRARY_CATALOG_MAX)
        return tg_error_create(TG_ERROR_LIMIT, "more than %d distinct library paths", TG_LIBRARY_CATALOG_MAX);
    if (catalog->count == catalog->capacity) {
        size_t capacity = catalog->capacity == 0 ? 256 : catalog->capacity * 2;
        struct entry **entries = reallocarray(catalog->entries, capacity, sizeof *entries);
        if (entries == NULL)
            return tg_error_no_memory();
        catalog->entries = entries;
        catalog->capacity = capacity;
    }
    struct entry *entry = calloc(1, sizeof *entry + length + 1);
    if (entry == NULL)
        return tg_error_no_memory();
    memcpy(entry->path, path, length + 1);
    entry->library.path = entry->path;
    entry->library.id = (uint32_t)catalog->count;
    entry->library.cuda = tg_dlopen_is_cuda(path);
    HASH_ADD_KEYPTR(hh, catalog->by_path, entry->path, length, entry);
    if (entry->hh.tbl == NULL) {
        free(entry);
        return tg_error_no_memory();
    }
    catalog->entries[catalog->count++] = entry;
    *added = entry;
    return NULL;
}

struct tg_error *tg_library_catalog_intern(struct tg_library_catalog *catalog, const char *path,
                                           struct tg_catalog_library **library)
{
    uintptr_t address = (uintptr_t)path;
    struct recent *recent = &catalog->recent[(address >> 3 ^ address >> 13) % RECENT_SLOTS];
    if (recent->text == path && strcmp(recent->entry->path, path) == 0) {
        *library = &recent->entry->library;
        return NULL;
    }
    size_t length = strlen(path);
    struct entry *entry = NULL;
    HASH_FIND(hh, catalog->by_path, path, length, entry);
    if (entry == NULL) {
        struct tg_error *error = add_entry(catalog, path, length, &entry);
        if (error != NULL)
            return error;
    }
    *recent = (struct recent){path, entry};
    *library = &entry->library;
    return NULL;
}

size_t tg_library_catalog_count(const struct tg_library_catalog *catalog)
{
    return catalog->count;
}

struct tg_catalog_library *tg_library_catalog_at(const struct tg_library_catalog *catalog, size_t id)
{
    return &catalog->entries[id]->library;
}

struct tg_error *tg_catalog_library_add_goal(struct tg_catalog_library *library, uint32_t goal)
{
    uint32_t place = 0;
    while (place < library->n_goals && library->goals[place] < goal)
        place++;
    if (place < library->n_goals && library->goals[place] == goal)
        return NULL;
    uint32_t *goals = reallocarray(library->goals, library->n_goals + 1, sizeof *goals);
    if (goals == NULL)
        return tg_error_no_memory();
    memmove(goals + place + 1, goals + place, (library->n_goals - place) * sizeof *goals);
    goals[place] = goal;
    library->goals = goals;
    library->n_goals++;
    return NULL;
}
