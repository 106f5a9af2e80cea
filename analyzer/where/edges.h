/* Edges between threads, by their indices: from who waits to who is waited for. */
#ifndef TG_ANALYZER_WHERE_EDGES_H
#define TG_ANALYZER_WHERE_EDGES_H

#include "format/base/error.h"

#include <stddef.h>

struct tg_where_edge {
    size_t from, to;
};

/* Zeroed: none. Owner: who has it, by free(items). */
struct tg_where_edges {
    struct tg_where_edge *items;
    size_t count, capacity;
};

/* Only error: NO_MEMORY. */
struct tg_error *tg_where_edges_add(struct tg_where_edges *edges, size_t from, size_t to);

/* Sorts EDGES for tg_where_edges_to(). */
void tg_where_edges_sort(struct tg_where_edges *edges);

/* The first of the COUNT edges that end at TO, of EDGES that are sorted; NULL: there is none. */
const struct tg_where_edge *tg_where_edges_to(const struct tg_where_edges *edges, size_t to, size_t *count);

#endif
