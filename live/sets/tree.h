/* The tree of a process/thread set: parse.c makes it, ptset.c completes and prints it, members.c evaluates
 * it. */
#ifndef TG_LIVE_SETS_TREE_H
#define TG_LIVE_SETS_TREE_H

#include "format/base/error.h"
#include "live/sets/arena.h"

enum tg_ptset_node_kind {
    TG_NODE_ARENA,
    TG_NODE_CURRENT,  /* '.' */
    TG_NODE_LIST,     /* two children or more, none of them a list */
    TG_NODE_FUNCTION, /* one child */
    TG_NODE_SUM,      /* children joined by '|' and '-', from left to right */
    TG_NODE_PRODUCT,  /* children joined by '&' */
};

enum tg_ptset_function {
    TG_FUNCTION_BREAKPOINT,
    TG_FUNCTION_ERROR,
    TG_FUNCTION_EXISTENT,
    TG_FUNCTION_HELD,
    TG_FUNCTION_NONEXISTENT,
    TG_FUNCTION_RUNNING,
    TG_FUNCTION_STOPPED,
    TG_FUNCTION_UNHELD,
    TG_FUNCTION_WATCHPOINT,
    TG_FUNCTION_COUNT,
};

enum { TG_NO_NODE = UINT32_MAX };

/* Children are linked in order, so that depth is that of the text's parentheses, not of its operators. */
struct tg_ptset_node {
    enum tg_ptset_node_kind kind;
    enum tg_ptset_function function;
    char joined;          /* by which operator to the sibling before it */
    uint32_t first, next; /* child, sibling; TG_NO_NODE: none */
    size_t position;
    struct tg_ptset_arena arena;
};

struct tg_ptset {
    struct tg_ptset_node *nodes;
    uint32_t n_nodes;
    size_t capacity;
    uint32_t root;
};

extern const char *const tg_ptset_function_names[TG_FUNCTION_COUNT];

/* Appends a copy of NODE without links; *AT is its place. LIMIT and NO_MEMORY errors. */
struct tg_error *tg_ptset_put_node(struct tg_ptset *set, const struct tg_ptset_node *node, uint32_t *at,
                                   size_t *position);

/* LIMIT error where the tree has more levels than TG_PTSET_MAX_DEPTH: whoever walks it may recurse. */
struct tg_error *tg_ptset_check_depth(const struct tg_ptset *set, size_t *position);

/* A USAGE, LIMIT or NOT_FOUND error's way to say where. */
static inline struct tg_error *tg_ptset_at(struct tg_error *error, size_t at, size_t *position)
{
    if (position != NULL)
        *position = at;
    return error;
}

#endif
