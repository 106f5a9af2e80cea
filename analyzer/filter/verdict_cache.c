#include "analyzer/filter/verdict_cache.h"

#include "format/base/array.h"

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
    size_t former = cache->capacity;
    struct tg_error *error = TG_ARRAY_RESERVE(cache->matches, cache->capacity, id + 1);
    if (error == NULL)
        memset(cache->matches + former, 0, (cache->capacity - former) * sizeof *cache->matches);
    return error;
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
