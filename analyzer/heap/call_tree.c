#include "analyzer/heap/call_tree.h"

#include "analyzer/heap/path_names.h"
#include "analyzer/output/stack_words.h"
#include "format/base/array.h"

#include <stdlib.h>
#include <string.h>

struct label {
    const char *label;
    uint64_t address;
};

/* The calls of one path, innermost first. */
struct labels {
    struct tg_heap_call_tree *tree;
    struct label *items;
    size_t count, capacity;
    struct tg_error *error;
};

static bool take_call(void *context, const struct tg_stack_call *call)
{
    struct labels *labels = context;
    char text[400];
    const char *label;
    labels->error =
        tg_string_pool_intern(&labels->tree->strings, tg_stack_words_call(call, text, sizeof text), &label);
    if (labels->error == NULL)
        labels->error = TG_ARRAY_APPEND(labels->items, labels->count, labels->capacity,
                                        (struct label){label, call->address});
    return labels->error == NULL;
}

static struct tg_heap_node *find_child(struct tg_heap_node *node, const char *label)
{
    for (struct tg_heap_node *child = node->first_child; child != NULL; child = child->next_sibling)
        if (child->label == label)
            return child;
    struct tg_heap_node *child = calloc(1, sizeof *child);
    if (child == NULL)
        return NULL;
    child->label = label;
    child->next_sibling = node->first_child;
    node->first_child = child;
    return child;
}

static struct tg_error *add_path(struct tg_heap_call_tree *tree, const struct labels *labels, bool inverted,
                                 uint64_t cost)
{
    struct tg_heap_node *node = tree->root;
    node->total += cost;
    for (size_t i = 0; i < labels->count; i++) {
        size_t at = inverted ? i : labels->count - 1 - i;
        node = find_child(node, labels->items[at].label);
        if (node == NULL)
            return tg_error_no_memory();
        node->address = labels->items[at].address;
        node->total += cost;
    }
    node->self += cost;
    if (labels->count > tree->depth)
        tree->depth = labels->count;
    return NULL;
}

static int compare_nodes(const void *a, const void *b)
{
    const struct tg_heap_node *x = *(const struct tg_heap_node *const *)a;
    const struct tg_heap_node *y = *(const struct tg_heap_node *const *)b;
    if (x->total != y->total)
        return x->total > y->total ? -1 : 1;
    return strcmp(x->label, y->label);
}

/* Puts the children of NODE and of all below it in order. Depth is that of stacks, which is bounded. */
static struct tg_error *sort(struct tg_heap_node *node)
{
    size_t count = 0, i = 0;
    for (struct tg_heap_node *child = node->first_child; child != NULL; child = child->next_sibling)
        count++;
    if (count == 0)
        return NULL;
    struct tg_heap_node **children = calloc(count, sizeof(*children));
    if (children == NULL)
        return tg_error_no_memory();
    for (struct tg_heap_node *child = node->first_child; child != NULL; child = child->next_sibling)
        children[i++] = child;
    qsort(children, count, sizeof(*children), compare_nodes);
    struct tg_error *error = NULL;
    for (i = 0; i < count; i++) {
        children[i]->next_sibling = i + 1 < count ? children[i + 1] : NULL;
        if (error == NULL)
            error = sort(children[i]);
    }
    node->first_child = children[0];
    free(children);
    return error;
}

struct tg_error *tg_heap_call_tree_make(const struct tg_heap_drawing *drawing, bool inverted,
                                        struct tg_heap_call_tree *result)
{
    const struct tg_heap_profile *profile = drawing->profile;
    const struct tg_heap_call_paths *paths = tg_heap_model_paths(drawing->reading->heap);
    const struct tg_heap_path_names names = {drawing->reading->stacks, drawing->reading->names};
    struct tg_heap_call_tree tree = {.root = calloc(1, sizeof *tree.root)};
    if (tree.root == NULL)
        return tg_error_no_memory();
    struct tg_error *error = tg_string_pool_intern(&tree.strings, "", &tree.root->label);
    struct labels labels = {.tree = &tree};
    for (size_t i = 0; error == NULL && i < profile->count; i++) {
        uint64_t cost = tg_heap_cost_of(&profile->rows[i].use, profile->cost);
        const struct tg_heap_path *path = tg_heap_call_paths_at(paths, profile->rows[i].path);
        static const struct tg_stack_call unknown = {.function = "(unknown)", .file = "", .module = ""};
        labels.count = 0;
        if (cost == 0)
            continue;
        if (path->count == 0)
            take_call(&labels, &unknown);
        else
            error = tg_heap_path_each_call(&names, path, take_call, &labels);
        if (error == NULL)
            error = labels.error;
        if (error == NULL)
            error = add_path(&tree, &labels, inverted, cost);
    }
    free(labels.items);
    if (error == NULL)
        error = sort(tree.root);
    if (error != NULL) {
        tg_heap_call_tree_deinit(&tree);
        return error;
    }
    *result = tree;
    return NULL;
}

static void destroy_node(struct tg_heap_node *node)
{
    for (struct tg_heap_node *child = node->first_child, *next; child != NULL; child = next) {
        next = child->next_sibling;
        destroy_node(child);
    }
    free(node);
}

void tg_heap_call_tree_deinit(struct tg_heap_call_tree *tree)
{
    if (tree->root != NULL)
        destroy_node(tree->root);
    tg_string_pool_deinit(&tree->strings);
    *tree = (struct tg_heap_call_tree){0};
}
