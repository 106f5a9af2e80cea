#include "analyzer/where/edges.h"

#include "format/base/array.h"
#include "format/base/search.h"

#include <stdlib.h>

struct tg_error *tg_where_edges_add(struct tg_where_edges *edges, size_t from, size_t to)
{
    return TG_ARRAY_APPEND(edges->items, edges->count, edges->capacity, (struct tg_where_edge){from, to});
}

static int compare_ends(const void *a, const void *b)
{
    const struct tg_where_edge *x = a, *y = b;
    return (x->to > y->to) - (x->to < y->to);
}

void tg_where_edges_sort(struct tg_where_edges *edges)
{
    if (edges->count > 0)
        qsort(edges->items, edges->count, sizeof *edges->items, compare_ends);
}

const struct tg_where_edge *tg_where_edges_to(const struct tg_where_edges *edges, size_t to, size_t *count)
{
    size_t first = TG_LOWER_BOUND(edges->items, edges->count, to, to);
    *count = TG_UPPER_BOUND(edges->items, edges->count, to, to) - first;
    return *count > 0 ? &edges->items[first] : NULL;
}
