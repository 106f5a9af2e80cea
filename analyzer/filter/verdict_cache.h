/* Glob-list verdicts with every distinct library matched once: traces name the same few libraries again and
 * again. */
#ifndef TG_ANALYZER_FILTER_VERDICT_CACHE_H
#define TG_ANALYZER_FILTER_VERDICT_CACHE_H

#include "analyzer/filter/library_catalog.h"
#include "format/settings/glob_list.h"

/* Caller's storage; zero but for LIST, which must live as long. */
struct tg_verdict_cache {
    const struct tg_glob_list *list;
    uint32_t *matches; /* by library id: 0 not matched yet, 1 no match, else 2 + 2 * pattern + negated */
    size_t capacity;
    struct tg_glob_verdict otherwise; /* the list's default... */
    bool has_otherwise;               /* ...once it was asked for */
};

void tg_verdict_cache_deinit(struct tg_verdict_cache *cache);

/* tg_glob_list_decide on one event's COUNT libraries. */
struct tg_error *tg_verdict_cache_decide(struct tg_verdict_cache *cache,
                                         struct tg_catalog_library *const *libraries, size_t count,
                                         struct tg_glob_verdict *verdict);

#endif
