#include "live/sets/tree.h"

#include "format/base/array.h"

#include <stdlib.h>

const char *const tg_ptset_function_names[TG_FUNCTION_COUNT] = {
    "breakpoint", "error", "existent", "held", "nonexistent", "running", "stopped", "unheld", "watchpoint"};

struct tg_error *tg_ptset_put_node(struct tg_ptset *set, const struct tg_ptset_node *node, uint32_t *at,
                                   size_t *position)
{
    if (set->n_nodes == TG_PTSET_MAX_NODES)
        return tg_ptset_at(
            tg_error_create(TG_ERROR_LIMIT, "the set has more than %d parts", TG_PTSET_MAX_NODES),
            node->position, position);
    struct tg_error *error = TG_ARRAY_RESERVE(set->nodes, set->capacity, set->n_nodes + 1);
    if (error != NULL)
        return error;
    set->nodes[set->n_nodes] = *node;
    set->nodes[set->n_nodes].first = set->nodes[set->n_nodes].next = TG_NO_NODE;
    *at = set->n_nodes++;
    return NULL;
}

/* How many levels are below the node at AT; not more than MOST are looked at. */
static unsigned depth_of(const struct tg_ptset *set, uint32_t at, unsigned most)
{
    unsigned deepest = 0;
    if (set->nodes[at].first == TG_NO_NODE || most == 0)
        return 0;
    for (uint32_t child = set->nodes[at].first; child != TG_NO_NODE; child = set->nodes[child].next) {
        unsigned depth = depth_of(set, child, most - 1);
        if (depth > deepest)
            deepest = depth;
    }
    return deepest + 1;
}

struct tg_error *tg_ptset_check_depth(const struct tg_ptset *set, size_t *position)
{
    if (depth_of(set, set->root, TG_PTSET_MAX_DEPTH + 1) <= TG_PTSET_MAX_DEPTH)
        return NULL;
    return tg_ptset_at(
        tg_error_create(TG_ERROR_LIMIT, "the set is nested more than %d deep", TG_PTSET_MAX_DEPTH),
        set->nodes[set->root].position, position);
}
