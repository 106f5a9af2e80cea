#include "analyzer/job/call_tree.h"

#include "analyzer/job/list.h"
#include "analyzer/job/set.h"
#include "format/base/array.h"
#include "format/base/hash.h"
#include "format/base/printable.h"
#include "format/base/string_pool.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_ANSWERS = 8 /* different values of one variable that are told */ };

struct place {
    const struct tg_job_process *process;
    size_t i;
};

struct places {
    struct place *all;
    size_t count, capacity;
};

/* A value of a variable, and who has it. */
struct answer {
    const char *value; /* the pool's: equal texts are one pointer */
    struct places places;
};

struct variable {
    const char *name;    /* the pool's */
    unsigned occurrence; /* of those with its name: one of an inner block may be called as one outside */
    bool is_argument;
    struct answer *answers;
    size_t n_answers;
};

struct node_key {
    const struct node *parent;
    const char *function, *place; /* the pool's */
};

struct node {
    struct node_key key;
    struct node *first, *last, *next; /* children, sibling */
    struct places places;             /* of the stacks that go through the node */
    struct variable *variables;
    size_t n_variables;
    bool has_arguments;
    UT_hash_handle hh;
};

struct tg_call_tree {
    const struct tg_job_view *view;
    struct tg_string_pool texts;
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

static void destroy_variables(struct node *node)
{
    for (size_t i = 0; i < node->n_variables; i++) {
        for (size_t k = 0; k < node->variables[i].n_answers; k++)
            free(node->variables[i].answers[k].places.all);
        free(node->variables[i].answers);
    }
    free(node->variables);
}

void tg_call_tree_destroy(struct tg_call_tree *tree)
{
    struct node *node, *next;
    if (tree == NULL)
        return;
    HASH_ITER (hh, tree->nodes, node, next) {
        HASH_DEL(tree->nodes, node);
        destroy_variables(node);
        free(node->places.all);
        free(node);
    }
    free(tree->root.places.all);
    tg_string_pool_deinit(&tree->texts);
    free(tree);
}

/* ---- adding */

/* PARENT's child for FUNCTION at PLACE, both of the pool; NULL where memory is short. */
static struct node *child_of(struct tg_call_tree *tree, struct node *parent, const char *function,
                             const char *place)
{
    struct node_key key;
    struct node *node = NULL;
    memset(&key, 0, sizeof key);
    key.parent = parent;
    key.function = function;
    key.place = place;
    HASH_FIND(hh, tree->nodes, &key, sizeof key, node);
    if (node != NULL)
        return node;
    if (TG_HASH_CREATE(hh, tree->nodes, key, &key, node) != NULL)
        return NULL;
    if (parent->last == NULL)
        parent->first = node;
    else
        parent->last->next = node;
    parent->last = node;
    return node;
}

/* NODE's variable NAME, of the pool. NULL where memory is short. */
static struct variable *variable_of(struct node *node, const char *name, unsigned occurrence,
                                    bool is_argument)
{
    for (size_t i = 0; i < node->n_variables; i++)
        if (node->variables[i].name == name && node->variables[i].occurrence == occurrence)
            return &node->variables[i];
    const struct variable made = {.name = name, .occurrence = occurrence, .is_argument = is_argument};
    if (TG_ARRAY_APPEND_EXACT(node->variables, node->n_variables, made) != NULL)
        return NULL;
    return &node->variables[node->n_variables - 1];
}

/* The answer VALUE, of the pool. NULL where memory is short. */
static struct answer *answer_of(struct variable *variable, const char *value)
{
    for (size_t i = 0; i < variable->n_answers; i++)
        if (variable->answers[i].value == value)
            return &variable->answers[i];
    if (TG_ARRAY_APPEND_EXACT(variable->answers, variable->n_answers, (struct answer){.value = value}) !=
        NULL)
        return NULL;
    return &variable->answers[variable->n_answers - 1];
}

static struct tg_error *add_variables(struct tg_call_tree *tree, struct node *node, struct place place,
                                      const struct tg_call_tree_frame *frame)
{
    for (size_t i = 0; i < frame->n_variables; i++) {
        const struct tg_call_variable *given = &frame->variables[i];
        const char *name = NULL, *value = NULL;
        unsigned occurrence = 0;
        for (size_t k = 0; k < i; k++)
            occurrence += strcmp(frame->variables[k].name, given->name) == 0;
        struct tg_error *error = tg_string_pool_intern(&tree->texts, given->name, &name);
        if (error == NULL)
            error = tg_string_pool_intern(&tree->texts, given->value, &value);
        if (error != NULL)
            return error;
        struct variable *variable = variable_of(node, name, occurrence, given->is_argument);
        struct answer *answer = variable == NULL ? NULL : answer_of(variable, value);
        if (answer == NULL ||
            TG_ARRAY_APPEND(answer->places.all, answer->places.count, answer->places.capacity, place) != NULL)
            return tg_error_no_memory();
    }
    return NULL;
}

struct tg_error *tg_call_tree_add(struct tg_call_tree *tree, const struct tg_job_process *process, size_t i,
                                  const struct tg_call_tree_frame *frames, size_t n_frames)
{
    static const struct tg_call_tree_frame more = {.function = "...", .place = ""};
    const struct place place = {process, i};
    struct node *node = &tree->root;
    if (TG_ARRAY_APPEND(node->places.all, node->places.count, node->places.capacity, place) != NULL)
        return tg_error_no_memory();
    for (size_t at = 0; at < n_frames && at <= TG_CALL_TREE_MAX_DEPTH; at++) {
        const struct tg_call_tree_frame *frame = at < TG_CALL_TREE_MAX_DEPTH ? &frames[at] : &more;
        const char *function = NULL, *where = NULL;
        struct tg_error *error = tg_string_pool_intern(&tree->texts, frame->function, &function);
        if (error == NULL)
            error = tg_string_pool_intern(&tree->texts, frame->place, &where);
        if (error != NULL)
            return error;
        node = child_of(tree, node, function, where);
        if (node == NULL ||
            TG_ARRAY_APPEND(node->places.all, node->places.count, node->places.capacity, place) != NULL)
            return tg_error_no_memory();
        node->has_arguments |= frame->has_arguments;
        error = add_variables(tree, node, place, frame);
        if (error != NULL)
            return error;
    }
    return NULL;
}

/* ---- printing */

static struct tg_error *print_places(const struct tg_call_tree *tree, const struct places *places,
                                     FILE *stream)
{
    TG_AUTO_JOB_SET struct tg_job_set members = {0};
    struct tg_error *error = tg_job_set_init(&members, tree->view);
    if (error != NULL)
        return error;
    for (size_t i = 0; i < places->count; i++)
        tg_job_set_add(&members, places->all[i].process, places->all[i].i);
    return tg_job_list_print(tree->view, &members, stream);
}

/* All that go through NODE have the same of it. */
static bool is_one(const struct node *node, const struct variable *variable)
{
    return variable->n_answers == 1 && variable->answers[0].places.count == node->places.count;
}

static void print_call(const struct node *node, FILE *stream)
{
    unsigned n = 0;
    tg_printable_write(stream, node->key.function);
    if (node->has_arguments)
        fputc('(', stream);
    for (size_t i = 0; i < node->n_variables; i++) {
        const struct variable *variable = &node->variables[i];
        if (!variable->is_argument)
            continue;
        fputs(n++ == 0 ? "" : ", ", stream);
        tg_printable_write(stream, variable->name);
        if (is_one(node, variable)) {
            fputc('=', stream);
            tg_printable_write(stream, variable->answers[0].value);
        }
    }
    if (node->has_arguments)
        fputc(')', stream);
    fputs(*node->key.place == '\0' ? "" : " ", stream);
    tg_printable_write(stream, node->key.place);
}

static void begin_variable(const struct variable *variable, const char *value, int depth, FILE *stream)
{
    fprintf(stream, "%*s| ", 2 * depth, "");
    tg_printable_write(stream, variable->name);
    fputs(" = ", stream);
    tg_printable_write(stream, value);
}

/* The values that are not beside the function. */
static struct tg_error *print_variable(const struct tg_call_tree *tree, const struct node *node,
                                       const struct variable *variable, int depth, FILE *stream)
{
    struct tg_error *error = NULL;
    size_t told = variable->n_answers > MAX_ANSWERS + 1 ? MAX_ANSWERS : variable->n_answers;
    if (is_one(node, variable)) {
        if (!variable->is_argument) {
            begin_variable(variable, variable->answers[0].value, depth, stream);
            fputc('\n', stream);
        }
        return NULL;
    }
    for (size_t i = 0; error == NULL && i < told; i++) {
        begin_variable(variable, variable->answers[i].value, depth, stream);
        fputs(": ", stream);
        error = print_places(tree, &variable->answers[i].places, stream);
        fputc('\n', stream);
    }
    if (error == NULL && told < variable->n_answers) {
        begin_variable(variable, "", depth, stream);
        fprintf(stream, "... %zu other values\n", variable->n_answers - told);
    }
    return error;
}

/* The nodes below NODE, which is not deeper than stacks may be. */
static struct tg_error *print_below(const struct tg_call_tree *tree, const struct node *node, int depth,
                                    FILE *stream)
{
    for (const struct node *child = node->first; child != NULL; child = child->next) {
        struct tg_error *error = NULL;
        fprintf(stream, "%*s", 2 * depth, "");
        print_call(child, stream);
        if (child->places.count != node->places.count) {
            fputs(": ", stream);
            error = print_places(tree, &child->places, stream);
        }
        fputc('\n', stream);
        for (size_t i = 0; error == NULL && i < child->n_variables; i++)
            error = print_variable(tree, child, &child->variables[i], depth + 1, stream);
        if (error == NULL)
            error = print_below(tree, child, depth + 1, stream);
        if (error != NULL)
            return error;
    }
    return NULL;
}

struct tg_error *tg_call_tree_print(const struct tg_call_tree *tree, FILE *stream)
{
    if (tree->root.places.count == 0)
        return NULL;
    struct tg_error *error = print_places(tree, &tree->root.places, stream);
    fputc('\n', stream);
    return error != NULL ? error : print_below(tree, &tree->root, 1, stream);
}
