/* Merges what several lifelines did, each by itself, into one list. */
#include "analyzer/sequence/node.h"

#include <stdlib.h>
#include <string.h>

/* How many lists still have things of a key, and how many have one next. */
struct key_use {
    uint64_t key;
    size_t lists;
    size_t heads;
    bool sent; /* a message of that key is under way */
};

struct merge {
    struct tg_sequence_list *lists;
    size_t count;
    size_t *next;   /* by list */
    uint32_t *lane; /* by list: whose it is, NO_LANE unknown */
    struct key_use *uses;
    size_t n_slots; /* a power of two */
    struct tg_sequence_list *merged;
};

static struct key_use *use_of(const struct merge *merge, uint64_t key)
{
    size_t slot = (size_t)key & (merge->n_slots - 1);
    while (merge->uses[slot].lists != 0 && merge->uses[slot].key != key)
        slot = (slot + 1) & (merge->n_slots - 1);
    merge->uses[slot].key = key;
    return &merge->uses[slot];
}

static struct tg_sequence_node *head_of(const struct merge *merge, size_t list)
{
    return merge->next[list] < merge->lists[list].count ? merge->lists[list].items[merge->next[list]] : NULL;
}

/* Whether list LIST has KEY at FROM or behind. */
static bool has_key(const struct merge *merge, size_t list, size_t from, size_t to, uint64_t key)
{
    for (size_t i = from; i < to; i++)
        if (merge->lists[list].items[i]->key == key)
            return true;
    return false;
}

/* The lifeline that did what is in LIST. */
static uint32_t lane_of(const struct tg_sequence_list *list)
{
    for (size_t i = 0; i < list->count; i++) {
        const struct tg_sequence_node *node = list->items[i];
        if (node->kind == TG_SEQUENCE_REGION && node->from != TG_SEQUENCE_NO_LANE)
            return node->from;
        if (node->n_parts == 1)
            return node->parts[0].lane;
        uint32_t inner = node->kind == TG_SEQUENCE_GROUP ? lane_of(&node->children) : TG_SEQUENCE_NO_LANE;
        if (inner != TG_SEQUENCE_NO_LANE)
            return inner;
    }
    return TG_SEQUENCE_NO_LANE;
}

static struct tg_error *prepare(struct merge *merge)
{
    size_t total = 0;
    for (size_t i = 0; i < merge->count; i++)
        total += merge->lists[i].count;
    merge->n_slots = 16;
    while (merge->n_slots < 2 * total)
        merge->n_slots *= 2;
    merge->uses = calloc(merge->n_slots, sizeof *merge->uses);
    merge->next = calloc(merge->count, sizeof *merge->next);
    merge->lane = calloc(merge->count, sizeof *merge->lane);
    if (merge->uses == NULL || merge->next == NULL || merge->lane == NULL)
        return tg_error_no_memory();
    for (size_t i = 0; i < merge->count; i++)
        merge->lane[i] = lane_of(&merge->lists[i]);
    /* `lists` is never brought back to 0 while merging: an entry stays where it was put. */
    for (size_t i = 0; i < merge->count; i++) {
        for (size_t at = 0; at < merge->lists[i].count; at++) {
            uint64_t key = merge->lists[i].items[at]->key;
            if (!has_key(merge, i, 0, at, key))
                use_of(merge, key)->lists++;
        }
        if (merge->lists[i].count > 0)
            use_of(merge, merge->lists[i].items[0]->key)->heads++;
    }
    return NULL;
}

/* Takes the next thing of list LIST out of it. */
static struct tg_sequence_node *take_head(struct merge *merge, size_t list, size_t *remaining)
{
    struct tg_sequence_list *from = &merge->lists[list];
    size_t at = merge->next[list]++;
    struct tg_sequence_node *node = from->items[at];
    from->items[at] = NULL;
    struct key_use *use = use_of(merge, node->key);
    use->heads--;
    *remaining += has_key(merge, list, at + 1, from->count, node->key);
    if (at + 1 < from->count)
        use_of(merge, from->items[at + 1]->key)->heads++;
    return node;
}

static bool is_receive_alone(const struct tg_sequence_node *node)
{
    return node->kind == TG_SEQUENCE_MESSAGE && node->n_parts == 1 &&
           node->parts[0].role == TG_SEQUENCE_RECEIVES;
}

/* A message goes out before it comes in, whatever the rest; the earlier otherwise. Messages of several
 * lifelines come in the order of these: which was first differs from iteration to iteration, and tells
 * nothing that their own orders do not. */
static bool goes_before(const struct tg_sequence_node *a, const struct tg_sequence_node *b)
{
    if (is_receive_alone(a) != is_receive_alone(b))
        return !is_receive_alone(a);
    if (a->kind == TG_SEQUENCE_MESSAGE && b->kind == TG_SEQUENCE_MESSAGE)
        return false;
    return a->begin_ns < b->begin_ns;
}

/* Whether what created a task at CREATED_NS on lifeline LANE is not in the merged list yet, nor in what HEAD
 * becomes. */
static bool is_uncaused(const struct merge *merge, const struct tg_sequence_node *head, uint32_t lane,
                        uint64_t created_ns)
{
    for (size_t i = 0; i < merge->count; i++) {
        const struct tg_sequence_node *other = merge->lane[i] == lane ? head_of(merge, i) : NULL;
        if (other != NULL && other != head && other->key != head->key && other->kind != TG_SEQUENCE_HERE &&
            other->begin_ns != 0 && other->begin_ns <= created_ns)
            return true;
    }
    return false;
}

/* Whether NODE, HEAD or in it, has a task that would be drawn above what created it. FORGET: creators of such
 * ones are not drawn. */
static bool comes_too_early(const struct merge *merge, const struct tg_sequence_node *head,
                            struct tg_sequence_node *node, bool forget)
{
    bool is_early = false;
    for (size_t i = 0; node->kind == TG_SEQUENCE_TASK && i < node->n_parts; i++) {
        struct tg_sequence_part *part = &node->parts[i];
        if (part->from == TG_SEQUENCE_NO_LANE || part->from == part->lane ||
            !is_uncaused(merge, head, part->from, part->asked_ns))
            continue;
        is_early = true;
        if (forget)
            node->from = part->from = TG_SEQUENCE_NO_LANE;
    }
    for (size_t i = 0; node->has_tasks && (forget || !is_early) && i < node->children.count; i++)
        is_early |= comes_too_early(merge, head, node->children.items[i], forget);
    return is_early;
}

enum { MAX_FLOATING = 64 }; /* messages of a lifeline that are looked at */

/* The end of what has no order of its own in list I: messages that are under way at the same time, sent first and
 * then received, from its head on. */
static size_t end_of_floating(const struct merge *merge, size_t i)
{
    const struct tg_sequence_list *list = &merge->lists[i];
    size_t at = merge->next[i];
    bool has_received = false;
    for (; at < list->count && at < merge->next[i] + MAX_FLOATING; at++) {
        const struct tg_sequence_node *node = list->items[at];
        if (node->kind != TG_SEQUENCE_MESSAGE || !node->floats || node->n_parts != 1)
            break;
        bool is_send = node->parts[0].role == TG_SEQUENCE_SENDS;
        if (is_send && has_received)
            break;
        has_received |= !is_send;
    }
    return at;
}

/* Makes what is at AT, behind the head of list I, its head. */
static void bring_forward(struct merge *merge, size_t i, size_t at)
{
    struct tg_sequence_node **items = merge->lists[i].items, *node = items[at];
    size_t next = merge->next[i];
    use_of(merge, items[next]->key)->heads--;
    memmove(&items[next + 1], &items[next], (at - next) * sizeof(struct tg_sequence_node *));
    items[next] = node;
    use_of(merge, node->key)->heads++;
}

/* Looks for a message of which both halves could come next, and brings them to the heads of their lists; SIZE_MAX:
 * there is none. */
static size_t find_message(struct merge *merge)
{
    for (size_t from = 0; from < merge->count; from++) {
        size_t end = end_of_floating(merge, from);
        for (size_t at = merge->next[from]; at < end; at++) {
            const struct tg_sequence_node *sent = merge->lists[from].items[at];
            if (sent->parts[0].role != TG_SEQUENCE_SENDS)
                break;
            for (size_t to = 0; to < merge->count; to++) {
                if (to == from || merge->lane[to] != sent->to)
                    continue;
                size_t end_to = end_of_floating(merge, to);
                for (size_t received = merge->next[to]; received < end_to; received++) {
                    if (merge->lists[to].items[received]->key != sent->key)
                        continue;
                    bring_forward(merge, from, at);
                    bring_forward(merge, to, received);
                    return from;
                }
            }
        }
    }
    return SIZE_MAX;
}

/* Chooses the list whose head comes next: a thing that others do as well when all have come to it; a task
 * below what created it. */
static size_t choose(struct merge *merge)
{
    size_t ready = SIZE_MAX, stuck = SIZE_MAX, early = SIZE_MAX;
    for (size_t i = 0; i < merge->count; i++) {
        struct tg_sequence_node *head = head_of(merge, i);
        if (head == NULL)
            continue;
        if (head->kind == TG_SEQUENCE_HERE)
            return i;
        const struct key_use *use = use_of(merge, head->key);
        size_t *best = use->heads >= use->lists || use->sent ? &ready : &stuck;
        if (head->has_tasks && comes_too_early(merge, head, head, false))
            best = &early;
        if (*best == SIZE_MAX || goes_before(head, head_of(merge, *best)))
            *best = i;
    }
    if (ready == SIZE_MAX && stuck == SIZE_MAX && early != SIZE_MAX) {
        struct tg_sequence_node *head = head_of(merge, early);
        comes_too_early(merge, head, head, true);
        return early;
    }
    size_t floating = ready == SIZE_MAX && stuck != SIZE_MAX ? find_message(merge) : SIZE_MAX;
    if (floating != SIZE_MAX)
        return floating;
    return ready != SIZE_MAX ? ready : stuck;
}

/* Puts what NODES, of one key, say into the first of them; the others are gone. */
static struct tg_error *join(struct tg_sequence_node **nodes, size_t count)
{
    struct tg_sequence_node *into = nodes[0];
    struct tg_sequence_list *children = calloc(count, sizeof *children);
    struct tg_error *error = children == NULL ? tg_error_no_memory() : NULL;
    for (size_t i = 0; i < count; i++) {
        struct tg_sequence_node *node = nodes[i];
        if (children != NULL) {
            children[i] = node->children;
            node->children = (struct tg_sequence_list){0};
        }
        if (node->n_parts == 1 && node->kind == TG_SEQUENCE_TASK)
            node->parts[0].times = node->tasks;
        if (i == 0)
            continue;
        for (size_t part = 0; error == NULL && part < node->n_parts; part++)
            error = tg_sequence_node_add_part(into, &node->parts[part]);
        if (node->begin_ns < into->begin_ns)
            into->begin_ns = node->begin_ns;
        if (into->is_open || node->is_open)
            into->end_ns = 0;
        else if (node->end_ns > into->end_ns)
            into->end_ns = node->end_ns;
        into->is_open |= node->is_open;
        into->is_cancelled |= node->is_cancelled;
        into->was_killed &= node->was_killed;
        if (into->kind == TG_SEQUENCE_HERE && into->peer != node->peer)
            into->peer = TG_SEQUENCE_VARIES;
        if (into->kind == TG_SEQUENCE_HERE && into->source != node->source)
            into->source = TG_SEQUENCE_VARIES;
        into->least = node->least < into->least ? node->least : into->least;
        into->most = node->most > into->most ? node->most : into->most;
        into->min_ns = node->min_ns < into->min_ns ? node->min_ns : into->min_ns;
        into->max_ns = node->max_ns > into->max_ns ? node->max_ns : into->max_ns;
        into->until_ns = node->until_ns > into->until_ns ? node->until_ns : into->until_ns;
        into->total_ns += node->total_ns;
        into->executions += node->executions;
        into->tasks += node->tasks;
        into->is_inner |= node->is_inner;
        into->begun_above |= node->begun_above;
        into->size = into->size == node->size ? into->size : 0;
        into->code = into->code != 0 ? into->code : node->code;
        into->from = into->from != TG_SEQUENCE_NO_LANE ? into->from : node->from;
        into->to = into->to != TG_SEQUENCE_NO_LANE ? into->to : node->to;
        tg_sequence_node_destroy(node);
    }
    if (error == NULL)
        error = tg_sequence_merge(children, count, &into->children);
    for (size_t i = 0; children != NULL && i < count; i++)
        tg_sequence_list_deinit(&children[i]);
    free(children);
    return error;
}

static void settle(struct tg_sequence_node *node)
{
    uint64_t end_ns = node->end_ns, total_ns = node->total_ns, min_ns = node->min_ns, max_ns = node->max_ns;
    bool is_open = node->is_open;
    tg_sequence_node_finish(node, end_ns);
    node->is_open = is_open;
    node->total_ns = total_ns;
    node->min_ns = min_ns;
    node->max_ns = max_ns;
}

/* Whether the head of list I is a part of the thing KEY that comes next. */
static bool can_join(const struct merge *merge, size_t i, bool is_chosen, uint64_t key)
{
    struct tg_sequence_node *head = head_of(merge, i);
    return head != NULL && head->key == key &&
           (is_chosen || !head->has_tasks || !comes_too_early(merge, head, head, false));
}

static struct tg_error *emit(struct merge *merge, size_t chosen, struct tg_sequence_node **nodes)
{
    uint64_t key = head_of(merge, chosen)->key;
    size_t count = 0, remaining = 0;
    struct key_use *use = use_of(merge, key);
    size_t heads = use->heads;
    /* In the order of lists, whichever was chosen: iterations are drawn alike. */
    for (size_t i = 0; count < heads && i < merge->count; i++)
        if (can_join(merge, i, i == chosen, key))
            nodes[count++] = take_head(merge, i, &remaining);
    use->lists -= count - remaining;
    if (use->lists == 0)
        use->lists = SIZE_MAX / 2; /* the slot stays taken; nobody asks for it again */
    if (nodes[0]->kind == TG_SEQUENCE_MESSAGE && count == 1) {
        bool receives = nodes[0]->parts[0].role == TG_SEQUENCE_RECEIVES;
        nodes[0]->is_linked = receives ? use->sent : use->lists != SIZE_MAX / 2;
        use->sent = !receives;
    }
    struct tg_error *error = count > 1 ? join(nodes, count) : NULL;
    if (error != NULL) {
        tg_sequence_node_destroy(nodes[0]);
        return error;
    }
    settle(nodes[0]);
    return tg_sequence_list_append(merge->merged, nodes[0]);
}

struct tg_error *tg_sequence_merge(struct tg_sequence_list *lists, size_t count,
                                   struct tg_sequence_list *merged)
{
    struct merge merge = {.lists = lists, .count = count, .merged = merged};
    size_t n_used = 0, used = 0;
    for (size_t i = 0; i < count; i++) {
        n_used += lists[i].count > 0;
        used = lists[i].count > 0 ? i : used;
    }
    if (n_used == 0)
        return NULL;
    if (n_used == 1) {
        *merged = lists[used];
        lists[used] = (struct tg_sequence_list){0};
        return NULL;
    }
    struct tg_sequence_node **nodes = calloc(count, sizeof(struct tg_sequence_node *));
    struct tg_error *error = nodes == NULL ? tg_error_no_memory() : prepare(&merge);
    for (size_t chosen; error == NULL && (chosen = choose(&merge)) != SIZE_MAX;)
        error = emit(&merge, chosen, nodes);
    for (size_t i = 0; i < count; i++) {
        if (merge.next != NULL && error == NULL)
            lists[i].count = 0; /* all taken */
        for (size_t at = 0; merge.next != NULL && error != NULL && at < merge.next[i]; at++)
            lists[i].items[at] = NULL;
        tg_sequence_list_deinit(&lists[i]);
    }
    free(nodes);
    free(merge.uses);
    free(merge.next);
    free(merge.lane);
    return error;
}
