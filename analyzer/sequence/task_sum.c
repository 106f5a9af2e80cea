#include "analyzer/sequence/task_sum.h"

#include "format/base/array.h"

#include <stdlib.h>

/* The sums of a phase. */
struct sums {
    struct tg_sequence_node **items; /* by place */
    size_t count, capacity;
    bool left_out; /* some of them are not in the diagram any more */
};

/* ---- whether a phase has too many */

/* Whether NODE is over and nothing but tasks and waits for tasks. */
static bool is_plain(const struct tg_sequence_node *node)
{
    if (node->kind == TG_SEQUENCE_ELIDED)
        return true;
    if (node->is_open ||
        (node->kind != TG_SEQUENCE_TASK && node->kind != TG_SEQUENCE_SYNC && node->kind != TG_SEQUENCE_GROUP))
        return false;
    for (size_t i = 0; i < node->children.count; i++)
        if (!is_plain(node->children.items[i]))
            return false;
    return true;
}

static void count(const struct tg_sequence_list *list, size_t *n_tasks, bool *nest)
{
    for (size_t i = 0; i < list->count; i++) {
        const struct tg_sequence_node *node = list->items[i];
        bool is_task = node->kind == TG_SEQUENCE_TASK && is_plain(node);
        *n_tasks += is_task;
        *nest |= is_task && node->is_inner;
        if (node->kind != TG_SEQUENCE_REGION) /* one inside has phases of its own */
            count(&node->children, n_tasks, nest);
    }
}

/* ---- taking them out */

static struct tg_error *get_sum(struct sums *sums, const struct tg_sequence_node *task,
                                struct tg_sequence_node **sum)
{
    for (size_t i = 0; i < sums->count; i++)
        if (sums->items[i]->code == task->code && sums->items[i]->body == task->body) {
            *sum = sums->items[i];
            return NULL;
        }
    struct tg_sequence_node *made =
        tg_sequence_node_create(TG_SEQUENCE_TASK, TG_SEQUENCE_NO_LANE, task->begin_ns);
    if (made == NULL)
        return tg_error_no_memory();
    made->is_sum = true;
    made->code = task->code;
    made->body = task->body;
    struct tg_error *error = TG_ARRAY_APPEND(sums->items, sums->count, sums->capacity, made);
    if (error != NULL)
        tg_sequence_node_destroy(made);
    *sum = made;
    return error;
}

static struct tg_error *add_lanes(struct tg_sequence_node *sum, const struct tg_sequence_node *task)
{
    struct tg_error *error = NULL;
    for (size_t i = 0; error == NULL && i < task->n_parts; i++) {
        bool is_there = false;
        for (size_t at = 0; at < sum->n_parts; at++)
            is_there |= sum->parts[at].lane == task->parts[i].lane;
        if (!is_there)
            error = tg_sequence_node_add_part(sum, &task->parts[i]);
    }
    return error;
}

static struct tg_error *add_task(struct sums *sums, const struct tg_sequence_node *task)
{
    struct tg_sequence_node *sum = NULL;
    struct tg_error *error = get_sum(sums, task, &sum);
    if (error != NULL)
        return error;
    if (task->begin_ns < sum->begin_ns)
        sum->begin_ns = task->begin_ns;
    if (task->until_ns > sum->until_ns)
        sum->until_ns = task->until_ns;
    sum->tasks += task->tasks;
    return add_lanes(sum, task);
}

/* Adds what is in NODE, which is plain. */
static struct tg_error *add_all(struct sums *sums, const struct tg_sequence_node *node)
{
    struct tg_error *error = node->kind == TG_SEQUENCE_TASK ? add_task(sums, node) : NULL;
    sums->left_out |= node->kind == TG_SEQUENCE_ELIDED;
    for (size_t i = 0; error == NULL && i < node->children.count; i++)
        error = add_all(sums, node->children.items[i]);
    return error;
}

static bool has_task(const struct tg_sequence_node *node)
{
    bool has = node->kind == TG_SEQUENCE_TASK;
    for (size_t i = 0; !has && i < node->children.count; i++)
        has = has_task(node->children.items[i]);
    return has;
}

/* Takes plain tasks out of LIST and of what is in it. */
static struct tg_error *take_out(struct sums *sums, struct tg_sequence_list *list)
{
    struct tg_error *error = NULL;
    size_t n_left = 0;
    for (size_t i = 0; i < list->count; i++) {
        struct tg_sequence_node *node = list->items[i];
        bool is_taken = error == NULL && node->kind != TG_SEQUENCE_SYNC && node->kind != TG_SEQUENCE_ELIDED &&
                        is_plain(node) && has_task(node);
        if (is_taken) {
            error = add_all(sums, node);
            list->weight -= node->weight;
            tg_sequence_node_destroy(node);
            continue;
        }
        if (error == NULL && node->kind != TG_SEQUENCE_REGION)
            error = take_out(sums, &node->children);
        /* what was left out among tasks was tasks */
        if (error == NULL && node->kind == TG_SEQUENCE_SYNC)
            for (size_t at = 0; at < node->children.count; at++)
                sums->left_out |= node->children.items[at]->kind == TG_SEQUENCE_ELIDED;
        list->items[n_left++] = node;
    }
    list->count = n_left;
    return error;
}

/* ---- phases */

static struct tg_error *sum_phase(struct tg_sequence_node *phase)
{
    size_t n_tasks = 0;
    bool nest = false;
    struct sums sums = {0};
    count(&phase->children, &n_tasks, &nest);
    if (n_tasks <= (nest ? TG_SEQUENCE_FEW_INNER_TASKS : TG_SEQUENCE_FEW_TASKS))
        return NULL;
    struct tg_error *error = take_out(&sums, &phase->children);
    struct tg_sequence_list *list = &phase->children;
    for (size_t i = 0; i < sums.count; i++) {
        struct tg_sequence_node *sum = sums.items[i];
        sum->is_at_least = sums.left_out;
        tg_sequence_node_finish(sum, sum->until_ns);
        if (error == NULL)
            error = TG_ARRAY_APPEND(list->items, list->count, list->capacity, sum);
        if (error != NULL)
            tg_sequence_node_destroy(sum);
    }
    free(sums.items);
    return error;
}

struct tg_error *tg_sequence_sum_tasks(struct tg_sequence_list *list)
{
    struct tg_error *error = NULL;
    for (size_t i = 0; error == NULL && i < list->count; i++) {
        if (list->items[i]->kind == TG_SEQUENCE_PHASE)
            error = sum_phase(list->items[i]);
        if (error == NULL)
            error = tg_sequence_sum_tasks(&list->items[i]->children);
    }
    return error;
}
