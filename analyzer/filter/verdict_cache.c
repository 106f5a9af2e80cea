#include "analyzer/filter/verdict_cache.h"

#include <stdlib.h>
#include <string.h>

void tg_verdict_cache_deinit(struct tg_verdict_cache *cache)
{
    free(cache->matches);
    *cache = (struct tg_verdict_cache){0};
}

static struct tg_error *reserve(struct tg_verdict_cache *cache, size_t id)
{
    if (id < cache->capacity)
        return NULL;
    size_t capacity = cache->capacity == 0 ? 1024 : cache->capacity;
    while (capacity <= id)
        capacity *= 2;
    uint32_t *matches = reallocarray(cache->matches, capacity, sizeof *matches);
    if (matches == NULL)
        return tg_error_no_memory();
    memset(matches + cache->capacity, 0, (capacity - cache->capacity) * sizeof *matches);
    cache->matches = matches;
    cache->capacity = capacity;
    return NULL;
}

static struct tg_glob_match match_of(struct tg_verdict_cache *cache, const struct tg_catalog_library *library)
{
    uint32_t *known = &cache->matches[library->id];
    if (*known == 0) {
        struct tg_glob_match match = tg_glob_list_match(cache->list, library->path);
        *known = match.matched ? 2 + 2 * (uint32_t)match.pattern + match.negated : 1;
    }
    if (*known == 1)
        return (struct tg_glob_match){.matched = false};
    return (struct tg_glob_match){.matched = true, .negated = *known & 1, .pattern = (*known - 2) / 2};
}

struct tg_error *tg_verdict_cache_decide(struct tg_verdict_cache *cache,
                                         struct tg_catalog_library *const *libraries, size_t count,
                                         struct tg_glob_verdict *verdict)
{
    if (!cache->has_otherwise) {
        cache->otherwise = tg_glob_list_default(cache->list);
        cache->has_otherwise = true;
    }
    struct tg_glob_verdict found = cache->otherwise;
    for (size_t i = 0; i < count; i++) {
        struct tg_error *error = reserve(cache, libraries[i]->id);
        if (error != NULL)
            return error;
        if (!tg_glob_verdict_take(match_of(cache, libraries[i]), i, &found))
            break;
    }
    *verdict = found;
    return NULL;
}
