/* The call paths of a profile as a tree of calls, outermost first, each node with what its calls cost. */
#ifndef TG_ANALYZER_HEAP_CALL_TREE_H
#define TG_ANALYZER_HEAP_CALL_TREE_H

#include "analyzer/heap/format.h"
#include "format/base/string_pool.h"

struct tg_heap_node {
    const char *label;                               /* "solve (solve.c:211)", printable; the tree's */
    uint64_t total;                                  /* of the node and all below it */
    uint64_t self;                                   /* of paths that end here */
    uint64_t address;                                /* of one of the calls, in its module */
    struct tg_heap_node *first_child, *next_sibling; /* largest first */
};

/* Caller's storage. The root has no label; its TOTAL is that of all rows. */
struct tg_heap_call_tree {
    struct tg_heap_node *root;
    struct tg_string_pool strings;
    size_t depth; /* of nodes below the root */
};

/* The tree of DRAWING, whose profile is by stack; nodes have its cost. INVERTED: the calls of the heap are outermost, as
 * massif has it. Only error: NO_MEMORY. */
struct tg_error *tg_heap_call_tree_make(const struct tg_heap_drawing *drawing, bool inverted,
                                        struct tg_heap_call_tree *tree);
void tg_heap_call_tree_deinit(struct tg_heap_call_tree *tree);

#endif
