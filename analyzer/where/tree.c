#include "analyzer/where/tree.h"

#include "analyzer/where/calls.h"
#include "format/base/array.h"

#include <stdlib.h>
#include <string.h>

static struct tg_error *child_of(struct tg_where_node *node, const char *text, struct tg_where_node **child)
{
    for (size_t i = 0; i < node->n_children; i++)
        if (strcmp(node->children[i]->text, text) == 0) {
            *child = node->children[i];
            return NULL;
        }
    *child = calloc(1, sizeof **child);
    if (*child == NULL)
        return tg_error_no_memory();
    (*child)->text = text;
    struct tg_error *error =
        TG_ARRAY_APPEND(node->children, node->n_children, node->children_capacity, *child);
    if (error != NULL)
        free(*child);
    return error;
}

static struct tg_error *add(struct tg_where_node *root, const struct tg_call_path *path, size_t thread)
{
    struct tg_where_node *node = root;
    struct tg_error *error = TG_ARRAY_APPEND(node->threads, node->n_threads, node->threads_capacity, thread);
    for (size_t i = 0; error == NULL && i < path->count; i++) {
        error = child_of(node, path->steps[i], &node);
        if (error == NULL)
            error = TG_ARRAY_APPEND(node->threads, node->n_threads, node->threads_capacity, thread);
    }
    if (error == NULL)
        error = TG_ARRAY_APPEND(node->ending, node->n_ending, node->ending_capacity, thread);
    return error;
}

static int compare(const void *a, const void *b)
{
    const struct tg_where_node *x = *(struct tg_where_node *const *)a, *y = *(struct tg_where_node *const *)b;
    if (x->n_threads != y->n_threads)
        return x->n_threads > y->n_threads ? -1 : 1;
    return (x->threads[0] > y->threads[0]) - (x->threads[0] < y->threads[0]);
}

/* Whether NODE is the call of MPI that THREAD is in. */
static bool is_call_of(const struct tg_where_node *node, const struct tg_where_thread *thread)
{
    return thread->values != NULL && thread->path.place.is_known && thread->path.count > 0 &&
           strcmp(thread->path.steps[thread->path.count - 1], node->text) == 0;
}

/* "MPI_Barrier(MPI_COMM_WORLD)" where all who are in the call have these arguments. */
static struct tg_error *add_arguments(const struct tg_where_threads *threads, struct tg_where_node *node)
{
    char words[240], others[240];
    for (size_t i = 0; i < node->n_threads; i++) {
        const struct tg_where_thread *thread = &threads->threads[node->threads[i]];
        if (!is_call_of(node, thread))
            return NULL;
        tg_where_call_words(thread, i == 0 ? words : others, sizeof words);
        if (i > 0 && strcmp(words, others) != 0)
            return NULL;
    }
    node->own_text = strdup(words);
    if (node->own_text == NULL)
        return tg_error_no_memory();
    node->text = node->own_text;
    return NULL;
}

static struct tg_error *finish(const struct tg_where_threads *threads, struct tg_where_node *node)
{
    struct tg_error *error = NULL;
    if (node->n_children == 0 && node->n_threads > 0 && node->text != NULL)
        return add_arguments(threads, node);
    for (size_t i = 0; error == NULL && i < node->n_children; i++)
        error = finish(threads, node->children[i]);
    return error;
}

/* Trees are at most as deep as recorded stacks, inlined calls included. */
static void sort(struct tg_where_node *node)
{
    if (node->n_children > 1)
        qsort(node->children, node->n_children, sizeof(struct tg_where_node *), compare);
    for (size_t i = 0; i < node->n_children; i++)
        sort(node->children[i]);
}

struct tg_error *tg_where_tree_make(const struct tg_where_threads *threads, bool of_ranks,
                                    struct tg_where_node **root)
{
    struct tg_error *error = NULL;
    *root = calloc(1, sizeof **root);
    if (*root == NULL)
        return tg_error_no_memory();
    for (size_t i = 0; error == NULL && i < threads->count; i++) {
        const struct tg_where_thread *thread = &threads->threads[i];
        if (thread->is_rank == of_ranks && thread->path.task == TG_THREAD_OF_PROGRAM)
            error = add(*root, &thread->path, i);
    }
    if (error == NULL)
        error = finish(threads, *root);
    if (error == NULL) {
        sort(*root);
        return NULL;
    }
    tg_where_tree_destroy(*root);
    *root = NULL;
    return error;
}

void tg_where_tree_destroy(struct tg_where_node *root)
{
    if (root == NULL)
        return;
    for (size_t i = 0; i < root->n_children; i++)
        tg_where_tree_destroy(root->children[i]);
    free(root->own_text);
    free(root->children);
    free(root->threads);
    free(root->ending);
    free(root);
}
