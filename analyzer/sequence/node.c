#include "analyzer/sequence/node.h"

#include "format/base/array.h"
#include "format/event/event.h"

#include <stdlib.h>
#include <string.h>

/* ---- hashes */

static uint64_t mix(uint64_t hash, uint64_t value)
{
    hash ^= value + 0x9e3779b97f4a7c15u + (hash << 6) + (hash >> 2);
    hash *= 0xff51afd7ed558ccdu;
    return hash ^ (hash >> 33);
}

static uint64_t mix_text(uint64_t hash, const char *text)
{
    for (; text != NULL && *text != '\0'; text++)
        hash = mix(hash, (unsigned char)*text);
    return hash;
}

/* The worker that executes a single and those that look on are in the same one. */
static uint64_t settled_what(const struct tg_sequence_node *node)
{
    if (node->kind == TG_SEQUENCE_ZONE && node->what == TG_OMP_ZONE_SINGLE_OTHER)
        return TG_OMP_ZONE_SINGLE;
    return node->what;
}

static uint64_t group_key(const struct tg_sequence_node *node)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < node->children.count; i++)
        if (node->children.items[i]->kind != TG_SEQUENCE_MESSAGE) /* partners differ from rank to rank */
            sum += mix(1, node->children.items[i]->key);
    return mix(TG_SEQUENCE_GROUP, sum);
}

static uint64_t key_of(const struct tg_sequence_node *node)
{
    uint64_t key = mix(node->kind + 1, settled_what(node));
    switch (node->kind) {
    case TG_SEQUENCE_GROUP:
        return group_key(node);
    case TG_SEQUENCE_MUTEX:
        return mix(mix(key, node->id), node->code);
    case TG_SEQUENCE_REGION: /* regions of two threads are two regions */
        return mix(key, node->is_across ? node->id : node->team);
    case TG_SEQUENCE_TASK:
        return mix(key, node->body != 0 ? node->body : node->code);
    case TG_SEQUENCE_SECTION:
        return mix(key, node->id);
    case TG_SEQUENCE_MESSAGE:
        return mix(mix(mix(mix(key, node->from), node->id), (uint64_t)node->peer), (uint64_t)node->tag);
    case TG_SEQUENCE_PHASE:
        return mix(key, node->id);
    case TG_SEQUENCE_ELIDED:
        return key;
    case TG_SEQUENCE_HERE:
        return mix_text(mix(mix(mix(key, node->id), node->is_across ? 0 : node->code),
                            node->to + ((uint64_t)node->is_cycle << 32)),
                        node->name);
    case TG_SEQUENCE_SYNC: /* GCC calls copyprivate from two places */
        if (node->what == TG_OMP_SYNC_COPYPRIVATE)
            return key;
        break;
    case TG_SEQUENCE_ZONE:
    case TG_SEQUENCE_CALL:
        break;
    }
    return mix_text(mix(mix(key, node->is_across ? 0 : node->code), node->id), node->name);
}

/* The key of equality for folding: not which one of its parts came first, nor how often a thing
 * inside was done in a row. */
static uint64_t shape_of(const struct tg_sequence_node *node)
{
    uint64_t shape = mix(node->kind + 1, settled_what(node));
    if (!node->is_across)
        shape = mix(shape, node->kind == TG_SEQUENCE_TASK && node->body != 0 ? node->body : node->code);
    shape = mix_text(shape, node->name);
    if (node->kind == TG_SEQUENCE_MUTEX || node->kind == TG_SEQUENCE_SECTION)
        shape = mix(shape, node->id);
    if (node->kind == TG_SEQUENCE_MESSAGE)
        shape = mix(mix(mix(shape, node->id), node->from), (uint64_t)node->peer);
    if (node->kind == TG_SEQUENCE_REGION)
        shape = mix(shape, node->is_across ? node->id : node->body);
    shape = mix(shape, node->has_barrier + 2u * node->is_open + 4u * node->differs + 8u * node->is_cancelled);
    uint64_t parts = 0;
    for (size_t i = 0; i < node->n_parts; i++)
        parts += mix(node->kind == TG_SEQUENCE_MESSAGE ? node->parts[i].role : 0, node->parts[i].lane);
    shape = mix(shape, parts);
    for (size_t i = 0; i < node->children.count; i++)
        shape = mix(shape, node->children.items[i]->shape);
    return shape;
}

/* ---- nodes */

struct tg_sequence_node *tg_sequence_node_create(enum tg_sequence_kind kind, uint32_t lane, uint64_t begin_ns)
{
    struct tg_sequence_node *node =
        malloc(sizeof *node); /* calloc does not take what the thread has just freed */
    if (node == NULL)
        return NULL;
    *node = (struct tg_sequence_node){.kind = kind,
                                      .begin_ns = begin_ns,
                                      .least = 1,
                                      .most = 1,
                                      .executions = 1,
                                      .from = TG_SEQUENCE_NO_LANE,
                                      .to = TG_SEQUENCE_NO_LANE,
                                      .weight = 1};
    node->parts = &node->one;
    if (lane != TG_SEQUENCE_NO_LANE) {
        node->one =
            (struct tg_sequence_part){.lane = lane, .begin_ns = begin_ns, .from = TG_SEQUENCE_NO_LANE};
        node->n_parts = 1;
    }
    return node;
}

void tg_sequence_node_destroy(struct tg_sequence_node *node)
{
    if (node == NULL)
        return;
    tg_sequence_list_deinit(&node->children);
    if (node->parts != &node->one)
        free(node->parts);
    free(node);
}

/* Parts weigh too: a thing that a thousand lifelines did is no small thing. */
static void weigh(struct tg_sequence_node *node)
{
    node->weight = 1 + node->n_parts / 16 + node->children.weight;
}

void tg_sequence_node_finish(struct tg_sequence_node *node, uint64_t end_ns)
{
    node->end_ns = end_ns;
    node->until_ns = end_ns > node->until_ns ? end_ns : node->until_ns;
    node->is_open = end_ns == 0;
    if (node->n_parts == 1 && node->one.end_ns == 0)
        node->parts[0].end_ns = end_ns;
    if (end_ns > node->begin_ns)
        node->total_ns = node->min_ns = node->max_ns = end_ns - node->begin_ns;
    weigh(node);
    node->has_tasks = node->kind == TG_SEQUENCE_TASK;
    for (size_t i = 0; i < node->children.count; i++)
        node->has_tasks |= node->children.items[i]->has_tasks;
    node->key = key_of(node);
    node->shape = shape_of(node);
}

struct tg_error *tg_sequence_node_add_part(struct tg_sequence_node *node, const struct tg_sequence_part *part)
{
    size_t count = node->n_parts;
    if (count == 0) {
        node->one = *part;
        node->n_parts = 1;
        return NULL;
    }
    if ((count & (count - 1)) == 0) { /* full: capacities are the powers of two */
        struct tg_sequence_part *parts =
            reallocarray(node->parts == &node->one ? NULL : node->parts, 2 * count, sizeof *parts);
        if (parts == NULL)
            return tg_error_no_memory();
        if (node->parts == &node->one)
            parts[0] = node->one;
        node->parts = parts;
    }
    node->parts[node->n_parts++] = *part;
    return NULL;
}

/* ---- folding */

void tg_sequence_list_deinit(struct tg_sequence_list *list)
{
    for (size_t i = 0; i < list->count; i++)
        tg_sequence_node_destroy(list->items[i]);
    free(list->items);
    *list = (struct tg_sequence_list){0};
}

/* Takes NODE. */
static struct tg_error *push(struct tg_sequence_list *list, struct tg_sequence_node *node)
{
    struct tg_error *error = TG_ARRAY_APPEND(list->items, list->count, list->capacity, node);
    if (error != NULL)
        tg_sequence_node_destroy(node);
    else
        list->weight += node->weight;
    return error;
}

static void pop(struct tg_sequence_list *list, size_t count)
{
    for (; count > 0; count--) {
        struct tg_sequence_node *node = list->items[--list->count];
        list->weight -= node->weight;
        tg_sequence_node_destroy(node);
    }
}

/* Equal hashes are looked at again: two things that are not alike must not become one. */
static bool same_shape(const struct tg_sequence_node *a, const struct tg_sequence_node *b)
{
    if (a->shape != b->shape || a->kind != b->kind || a->children.count != b->children.count ||
        a->n_parts != b->n_parts || settled_what(a) != settled_what(b))
        return false;
    for (size_t i = 0; i < a->children.count; i++)
        if (!same_shape(a->children.items[i], b->children.items[i]))
            return false;
    return true;
}

static bool can_fold(const struct tg_sequence_node *a, const struct tg_sequence_node *b)
{
    return !a->is_open && !b->is_open && a->kind != TG_SEQUENCE_HERE && a->kind != TG_SEQUENCE_ELIDED &&
           same_shape(a, b);
}

static void add_times(struct tg_sequence_node *into, const struct tg_sequence_node *node)
{
    if (node->executions > 0 && (node->max_ns > 0 || node->end_ns != 0)) {
        if (node->min_ns < into->min_ns)
            into->min_ns = node->min_ns;
        if (node->max_ns > into->max_ns)
            into->max_ns = node->max_ns;
    }
    if (node->until_ns > into->until_ns)
        into->until_ns = node->until_ns;
    into->total_ns += node->total_ns;
    into->executions += node->executions;
    into->tasks += node->tasks;
    into->is_inner |= node->is_inner;
    into->begun_above |= node->begun_above;
    if (into->kind == TG_SEQUENCE_MESSAGE && into->tag != node->tag) {
        into->tag = TG_SEQUENCE_VARIES;
        into->key = key_of(into);
    }
}

/* The parts of messages of one shape are the same, in either order. */
static void add_waits(struct tg_sequence_node *into, const struct tg_sequence_node *node)
{
    for (size_t i = 0; node->kind == TG_SEQUENCE_MESSAGE && i < into->n_parts; i++)
        for (size_t k = 0; k < node->n_parts; k++)
            if (into->parts[i].role == node->parts[k].role &&
                into->parts[i].waited_ns < node->parts[k].waited_ns)
                into->parts[i].waited_ns = node->parts[k].waited_ns;
}

/* NODE, of the same shape, was in its place another time. */
static void combine(struct tg_sequence_node *into, const struct tg_sequence_node *node)
{
    add_times(into, node);
    add_waits(into, node);
    if (node->least < into->least)
        into->least = node->least;
    if (node->most > into->most)
        into->most = node->most;
    for (size_t i = 0; i < into->children.count; i++)
        combine(into->children.items[i], node->children.items[i]);
}

/* NODE, of the same shape, came right behind. */
static void repeat(struct tg_sequence_node *into, const struct tg_sequence_node *node)
{
    uint64_t least = into->least + node->least, most = into->most + node->most;
    combine(into, node);
    into->least = least;
    into->most = most;
}

static bool fold_into_group(struct tg_sequence_list *list)
{
    for (size_t period = 2; period <= TG_SEQUENCE_MAX_PERIOD && period < list->count; period++) {
        struct tg_sequence_node *group = list->items[list->count - period - 1];
        if (group->kind != TG_SEQUENCE_GROUP || group->children.count != period)
            continue;
        struct tg_sequence_node **last = &list->items[list->count - period];
        size_t same = 0;
        while (same < period && can_fold(group->children.items[same], last[same]))
            same++;
        if (same < period)
            continue;
        uint64_t begin_ns = last[0]->begin_ns, end_ns = last[period - 1]->end_ns;
        for (size_t i = 0; i < period; i++)
            combine(group->children.items[i], last[i]);
        group->least++;
        group->most++;
        group->executions++;
        if (end_ns > group->until_ns)
            group->until_ns = end_ns;
        uint64_t length_ns = end_ns > begin_ns ? end_ns - begin_ns : 0;
        group->total_ns += length_ns;
        group->min_ns = length_ns < group->min_ns ? length_ns : group->min_ns;
        group->max_ns = length_ns > group->max_ns ? length_ns : group->max_ns;
        pop(list, period);
        return true;
    }
    return false;
}

/* The last PERIOD things become a group of two with the ones before. */
static struct tg_error *make_group(struct tg_sequence_list *list, size_t period)
{
    size_t at = list->count - 2 * period;
    struct tg_sequence_node *group =
        tg_sequence_node_create(TG_SEQUENCE_GROUP, TG_SEQUENCE_NO_LANE, list->items[at]->begin_ns);
    if (group == NULL)
        return tg_error_no_memory();
    uint64_t second_ns = list->items[at + period]->begin_ns;
    uint64_t end_ns = list->items[list->count - 1]->end_ns;
    for (size_t i = 0; i < period; i++)
        combine(list->items[at + i], list->items[at + period + i]);
    pop(list, period);
    struct tg_error *error = NULL;
    for (size_t i = 0; error == NULL && i < period; i++) {
        struct tg_sequence_node *node = list->items[at + i];
        list->items[at + i] = NULL;
        list->weight -= node->weight;
        error = push(&group->children, node);
    }
    list->count = at;
    if (error != NULL) {
        tg_sequence_node_destroy(group);
        return error;
    }
    uint64_t first_end_ns = group->children.items[period - 1]->end_ns;
    tg_sequence_node_finish(group, first_end_ns == 0 ? end_ns : first_end_ns);
    group->least = group->most = group->executions = 2;
    if (end_ns > group->until_ns)
        group->until_ns = end_ns;
    uint64_t length_ns = end_ns > second_ns ? end_ns - second_ns : 0;
    group->total_ns += length_ns;
    group->min_ns = length_ns < group->min_ns ? length_ns : group->min_ns;
    group->max_ns = length_ns > group->max_ns ? length_ns : group->max_ns;
    return push(list, group);
}

/* Messages of several tags, one after the other, are several: one of them may be the one that is not received. Tags
 * that differ from iteration to iteration are another thing. */
static bool same_tag(const struct tg_sequence_node *a, const struct tg_sequence_node *b)
{
    return a->kind != TG_SEQUENCE_MESSAGE || a->tag == b->tag;
}

static bool repeats(const struct tg_sequence_list *list, size_t period)
{
    if (2 * period > list->count)
        return false;
    if (period == 1 && !same_tag(list->items[list->count - 1], list->items[list->count - 2]))
        return false;
    for (size_t i = 1; i <= period; i++)
        if (!can_fold(list->items[list->count - i], list->items[list->count - period - i]))
            return false;
    return true;
}

static struct tg_error *fold(struct tg_sequence_list *list)
{
    for (;;) {
        if (repeats(list, 1)) {
            repeat(list->items[list->count - 2], list->items[list->count - 1]);
            pop(list, 1);
            return NULL; /* an earlier start was covered with the first of these */
        }
        if (fold_into_group(list))
            continue;
        size_t period = 2;
        while (period <= TG_SEQUENCE_MAX_PERIOD && !repeats(list, period))
            period++;
        if (period > TG_SEQUENCE_MAX_PERIOD)
            return NULL;
        struct tg_error *error = make_group(list, period);
        if (error != NULL)
            return error;
    }
}

/* ---- bounds */

static void leave_out(struct tg_sequence_node *elided, const struct tg_sequence_node *node)
{
    if (elided->begin_ns == 0 || (node->begin_ns != 0 && node->begin_ns < elided->begin_ns))
        elided->begin_ns = node->begin_ns;
    if (node->until_ns > elided->end_ns)
        elided->end_ns = node->until_ns;
    elided->executions += node->executions;
}

static struct tg_sequence_node *create_elided(void)
{
    struct tg_sequence_node *elided = tg_sequence_node_create(TG_SEQUENCE_ELIDED, TG_SEQUENCE_NO_LANE, 0);
    if (elided == NULL)
        return NULL;
    tg_sequence_node_finish(elided, 1);
    elided->until_ns = elided->end_ns = elided->total_ns = elided->min_ns = elided->max_ns = 0;
    elided->executions = 0;
    return elided;
}

static void take_out(struct tg_sequence_list *list, size_t at)
{
    list->weight -= list->items[at]->weight;
    tg_sequence_node_destroy(list->items[at]);
    memmove(&list->items[at], &list->items[at + 1], (--list->count - at) * sizeof(struct tg_sequence_node *));
}

/* Leaves out things of LIST until it weighs no more than WEIGHT, those in the middle first and the last one
 * never. */
static struct tg_error *shrink(struct tg_sequence_list *list, size_t weight)
{
    if (list->weight <= weight || list->count < 3)
        return NULL;
    size_t at = 0;
    while (at < list->count && list->items[at]->kind != TG_SEQUENCE_ELIDED)
        at++;
    if (at == list->count) { /* none yet: the one in the middle becomes it */
        at = list->count / 2;
        struct tg_sequence_node *elided = create_elided();
        if (elided == NULL)
            return tg_error_no_memory();
        leave_out(elided, list->items[at]);
        list->weight -= list->items[at]->weight;
        list->weight += elided->weight;
        tg_sequence_node_destroy(list->items[at]);
        list->items[at] = elided;
    }
    while (list->weight > weight && list->count > 2) {
        bool behind = at + 2 < list->count; /* the last thing stays */
        size_t victim = behind ? at + 1 : at - 1;
        if (!behind && at == 0)
            break;
        leave_out(list->items[at], list->items[victim]);
        take_out(list, victim);
        at -= victim < at;
    }
    return NULL;
}

struct tg_error *tg_sequence_list_keep_last(struct tg_sequence_list *list, size_t count)
{
    if (list->count <= count)
        return NULL;
    struct tg_sequence_node *elided = create_elided();
    if (elided == NULL)
        return tg_error_no_memory();
    size_t gone = list->count - count;
    list->weight += elided->weight;
    for (size_t i = 0; i < gone; i++) {
        leave_out(elided, list->items[i]);
        list->weight -= list->items[i]->weight;
        tg_sequence_node_destroy(list->items[i]);
    }
    list->items[0] = elided;
    memmove(&list->items[1], &list->items[gone], count * sizeof(struct tg_sequence_node *));
    list->count = count + 1;
    return NULL;
}

static struct tg_error *fold_and_cut(struct tg_sequence_list *list)
{
    struct tg_error *error = fold(list);
    /* Only what has grown by half is cut: a cut is a walk over the list. */
    if (error == NULL && list->weight > TG_SEQUENCE_MAX_WEIGHT + TG_SEQUENCE_MAX_WEIGHT / 2)
        error = shrink(list, TG_SEQUENCE_MAX_WEIGHT);
    return error;
}

struct tg_error *tg_sequence_list_append(struct tg_sequence_list *list, struct tg_sequence_node *node)
{
    struct tg_error *error = push(list, node);
    return error != NULL ? error : fold_and_cut(list);
}

static bool is_sent_before(const struct tg_sequence_node *a, const struct tg_sequence_node *b)
{
    if (a->from != b->from)
        return a->from < b->from;
    return a->id != b->id ? a->id < b->id : a->tag < b->tag;
}

struct tg_error *tg_sequence_list_gather(struct tg_sequence_list *list, struct tg_sequence_node *node)
{
    for (size_t i = 0; i < list->count; i++)
        if (same_tag(list->items[i], node) && can_fold(list->items[i], node)) {
            repeat(list->items[i], node);
            tg_sequence_node_destroy(node);
            return NULL;
        }
    struct tg_error *error = push(list, node);
    for (size_t i = list->count; error == NULL && --i > 0 && is_sent_before(node, list->items[i - 1]);) {
        list->items[i] = list->items[i - 1];
        list->items[i - 1] = node;
    }
    return error;
}

struct tg_error *tg_sequence_list_append_all(struct tg_sequence_list *list, struct tg_sequence_list *more)
{
    struct tg_error *error = NULL;
    bool is_empty = more->count == 0;
    for (size_t i = 0; i < more->count; i++) {
        if (error == NULL)
            error = push(list, more->items[i]);
        else
            tg_sequence_node_destroy(more->items[i]);
        more->items[i] = NULL;
    }
    more->count = more->weight = 0;
    return error != NULL || is_empty ? error : fold_and_cut(list);
}
