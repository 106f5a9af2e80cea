#include "analyzer/filter/library_catalog.h"

#include "analyzer/models/dlopen.h"
#include "format/base/array.h"
#include "format/base/hash.h"
#include "format/base/search.h"

#include <stdlib.h>
#include <string.h>

/* Readers return the same pointer for the same interned string, so most lookups need no hashing. */
enum { RECENT_SLOTS = 1024 };

struct entry {
    struct tg_catalog_library library;
    char *build_id; /* owned; NULL: none was noted */
    UT_hash_handle hh;
    char path[];
};

struct tg_library_catalog {
    struct entry *by_path;
    struct entry **entries;
    size_t count, capacity;
    struct recent {
        const char *text; /* compared, never dereferenced */
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
        free(catalog->entries[i]->build_id);
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
    struct entry *entry = calloc(1, sizeof *entry + length + 1);
    if (entry == NULL)
        return tg_error_no_memory();
    memcpy(entry->path, path, length + 1);
    entry->library.path = entry->path;
    entry->library.build_id = "";
    entry->library.id = (uint32_t)catalog->count;
    entry->library.cuda = tg_dlopen_is_cuda(path);
    struct tg_error *error = TG_ARRAY_RESERVE(catalog->entries, catalog->capacity, catalog->count + 1);
    if (error == NULL)
        error = TG_HASH_ADD_KEY(hh, catalog->by_path, entry->path, length, entry);
    if (error != NULL) {
        free(entry);
        return error;
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

struct tg_error *tg_library_catalog_note_build_id(struct tg_catalog_library *library, const char *build_id)
{
    struct entry *entry = (struct entry *)library; /* first member of the entry */
    if (entry->build_id != NULL) {
        if (strcmp(entry->build_id, build_id) != 0)
            library->build_id = ""; /* the file was another one later */
        return NULL;
    }
    entry->build_id = strdup(build_id);
    if (entry->build_id == NULL)
        return tg_error_no_memory();
    library->build_id = entry->build_id;
    return NULL;
}

static size_t place_of(const struct tg_catalog_library *library, uint32_t goal)
{
    return TG_PARTITION_POINT(library->n_goals, i, library->goals[i].goal < goal);
}

struct tg_error *tg_catalog_library_add_goal(struct tg_catalog_library *library, uint32_t goal, bool certain)
{
    size_t place = place_of(library, goal);
    if (place < library->n_goals && library->goals[place].goal == goal) {
        library->goals[place].certain |= certain;
        return NULL;
    }
    struct tg_library_goal added = {.goal = goal, .certain = certain};
    return TG_ARRAY_INSERT(library->goals, library->n_goals, library->goals_capacity, place, added);
}

bool tg_catalog_library_has_goal(const struct tg_catalog_library *library, uint32_t goal)
{
    size_t place = place_of(library, goal);
    return place < library->n_goals && library->goals[place].goal == goal && library->goals[place].certain;
}
