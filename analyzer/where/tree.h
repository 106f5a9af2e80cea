/* Calls of many threads as one tree: what is alike in them is there once. */
#ifndef TG_ANALYZER_WHERE_TREE_H
#define TG_ANALYZER_WHERE_TREE_H

#include "analyzer/where/threads.h"

#include <stdio.h>

struct tg_where_node {
    const char *text;                /* the call; NULL in the root */
    char *own_text;                  /* NULL: somebody else's */
    struct tg_where_node **children; /* children with the most threads come first */
    size_t n_children, children_capacity;
    size_t *threads; /* indices, ascending */
    size_t n_threads, threads_capacity;
    size_t *ending; /* of the threads whose stacks end here, in none of the children; ascending */
    size_t n_ending, ending_capacity;
};

/* Of the threads of THREADS that run code of the program; those of ranks where OF_RANKS, else the others. THREADS must
 * outlive it. Only error: NO_MEMORY. */
struct tg_error *tg_where_tree_make(const struct tg_where_threads *threads, bool of_ranks,
                                    struct tg_where_node **root);
/* NULL is accepted. */
void tg_where_tree_destroy(struct tg_where_node *root);

#endif
