#include "analyzer/call_tree.h"

#include "analyzer/job_list.h"
#include "analyzer/job_set.h"
#include "analyzer/string_pool.h"
#include "format/printable.h"

#include <stdlib.h>
#include <string.h>
#include <uthash.h>

struct place {
    const struct tg_job_process *process;
    size_t i;
};

struct node_key {
    const struct node *parent;
    const char *frame; /* the pool's: equal texts are one pointer */
};

struct node {
    struct node_key key;
    struct node *first, *last, *next; /* children, sibling */
    struct place *places;             /* whose stacks go through it */
    size_t n_places, capacity;
    UT_hash_handle hh;
};

struct tg_call_tree {
    const struct tg_job_view *view;
    struct tg_string_pool frames;
    struct node *nodes; /* by key */
    struct node root;
};

struct tg_error *tg_call_tree_create(const struct tg_job_view *view, struct tg_call_tree **tree)
{
    struct tg_call_tree *made = calloc(1, sizeof *made);
    if (made == NULL)
        return tg_error_no_memory();
    made->view = view;
    *tree = made;
    return NULL;
}

void tg_call_tree_destroy(struct tg_call_tree *tree)
{
    struct node *node, *next;
    if (tree == NULL)
        return;
    HASH_ITER (hh, tree->nodes, node, next) {
        HASH_DEL(tree->nodes, node);
        free(node->places);
        free(node);
    }
    free(tree->root.places);
    tg_string_pool_deinit(&tree->frames);
    free(tree);
}

static bool add_place(struct node *node, struct place place)
{
    if (node->n_places == node->capacity) {
        size_t larger = node->capacity == 0 ? 4 : node->capacity * 2;
        struct place *moved = reallocarray(node->places, larger, sizeof *moved);
        if (moved == NULL)
            return false;
        node->places = moved;
        node->capacity = larger;
    }
    node->places[node->n_places++] = place;
    return true;
}

/* PARENT's child for FRAME; NULL where memory is short. */
static struct node *child_of(struct tg_call_tree *tree, struct node *parent, const char *frame)
{
    struct node_key key;
    struct node *node = NULL;
    memset(&key, 0, sizeof key);
    key.parent = parent;
    key.frame = frame;
    HASH_FIND(hh, tree->nodes, &key, sizeof key, node);
    if (node != NULL)
        return node;
    node = calloc(1, sizeof *node);
    if (node == NULL)
        return NULL;
    node->key = key;
    HASH_ADD(hh, tree->nodes, key, sizeof key, node);
    if (node->hh.tbl == NULL) { /* memory was short */
        free(node);
        return NULL;
    }
    if (parent->last == NULL)
        parent->first = node;
    else
        parent->last->next = node;
    parent->last = node;
    return node;
}

struct tg_error *tg_call_tree_add(struct tg_call_tree *tree, const struct tg_job_process *process, size_t i,
                                  const char *const *frames, size_t n_frames)
{
    const struct place place = {process, i};
    struct node *node = &tree->root;
    if (!add_place(node, place))
        return tg_error_no_memory();
    for (size_t at = 0; at < n_frames && at <= TG_CALL_TREE_MAX_DEPTH; at++) {
        const char *frame = NULL;
        struct tg_error *error =
            tg_string_pool_intern(&tree->frames, at < TG_CALL_TREE_MAX_DEPTH ? frames[at] : "...", &frame);
        if (error != NULL)
            return error;
        node = child_of(tree, node, frame);
        if (node == NULL || !add_place(node, place))
            return tg_error_no_memory();
    }
    return NULL;
}

static struct tg_error *print_places(const struct tg_call_tree *tree, const struct node *node, FILE *stream)
{
    TG_AUTO_JOB_SET struct tg_job_set members = {0};
    struct tg_error *error = tg_job_set_init(&members, tree->view);
    if (error != NULL)
        return error;
    for (size_t i = 0; i < node->n_places; i++)
        tg_job_set_add(&members, node->places[i].process, node->places[i].i);
    return tg_job_list_print(tree->view, &members, stream);
}

/* The nodes below NODE, which is not deeper than stacks may be. */
static struct tg_error *print_below(const struct tg_call_tree *tree, const struct node *node, int depth,
                                    FILE *stream)
{
    for (const struct node *child = node->first; child != NULL; child = child->next) {
        struct tg_error *error = NULL;
        fprintf(stream, "%*s", 2 * depth, "");
        tg_printable_write(stream, child->key.frame);
        if (child->n_places != node->n_places) {
            fputs(": ", stream);
            error = print_places(tree, child, stream);
        }
        fputc('\n', stream);
        if (error == NULL)
            error = print_below(tree, child, depth + 1, stream);
        if (error != NULL)
            return error;
    }
    return NULL;
}

struct tg_error *tg_call_tree_print(const struct tg_call_tree *tree, FILE *stream)
{
    if (tree->root.n_places == 0)
        return NULL;
    struct tg_error *error = print_places(tree, &tree->root, stream);
    fputc('\n', stream);
    return error != NULL ? error : print_below(tree, &tree->root, 1, stream);
}
