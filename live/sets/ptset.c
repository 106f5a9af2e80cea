/* Process/thread sets: completion from the focus, canonical text. */
#include "live/sets/ptset.h"

#include "live/sets/tree.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

void tg_ptset_destroy(struct tg_ptset *set)
{
    if (set == NULL)
        return;
    free(set->nodes);
    free(set);
}

static void destroy_set(struct tg_ptset **set)
{
    tg_ptset_destroy(*set);
}
#define AUTO_SET __attribute__((cleanup(destroy_set)))

/* ---- completion */

struct completion {
    const struct tg_ptset *set, *focus;
    const struct tg_ptset_arena *from; /* the focus where it is one arena, NULL otherwise */
    struct tg_ptset *to;
    size_t *position;
    struct tg_error *error;
};

/* The focus before there is one: d1.< */
static const struct tg_ptset_node first_focus = {
    .kind = TG_NODE_ARENA,
    .arena = {.width = TG_WIDTH_DEFAULT, .has_process = true, .process = 1, .has_thread = true}};

/* Meaning of '.' where everything is in focus. */
static const struct tg_ptset_node everything = {
    .kind = TG_NODE_ARENA,
    .arena = {.width = TG_WIDTH_ALL, .has_process = true, .process = 1, .has_thread = true}};

/* An uncompleted copy of NODE without its links; TG_NO_NODE where there is no room. IS_PUT_IN: for what
 * is at POSITION. */
static uint32_t put_node(struct completion *completion, const struct tg_ptset_node *node, size_t position,
                         bool is_put_in)
{
    struct tg_ptset_node copy = *node;
    uint32_t at = TG_NO_NODE;
    copy.position = position;
    if (is_put_in)
        copy.arena.position = copy.arena.group_at = copy.arena.process_at = copy.arena.thread_at = position;
    completion->error = tg_ptset_put_node(completion->to, &copy, &at, completion->position);
    return at;
}

static struct tg_error *must_be_given(const struct tg_ptset_arena *arena, const char *what, size_t *position)
{
    return tg_ptset_at(tg_error_create(TG_ERROR_USAGE,
                                       "character %zu: give the %s here: the focus has more than one "
                                       "arena",
                                       arena->position + 1, what),
                       arena->position, position);
}

static struct tg_error *complete_arena(const struct tg_ptset_arena *from, struct tg_ptset_arena *arena,
                                       size_t *position)
{
    if (from == NULL && arena->width == TG_WIDTH_MISSING)
        return must_be_given(arena, "width (t, p, g, a or d)", position);
    if (from == NULL && !arena->has_process && arena->width != TG_WIDTH_ALL)
        return must_be_given(arena, "process", position);
    if (arena->width == TG_WIDTH_MISSING)
        arena->width = from->width;
    if (arena->group == TG_GROUP_MISSING && from != NULL) {
        arena->group = from->group;
        arena->group_number = from->group_number;
        memcpy(arena->group_name, from->group_name, sizeof arena->group_name);
    }
    if (!arena->has_process) {
        arena->by_rank = from != NULL && from->by_rank;
        arena->process = from != NULL ? from->process : 1;
        arena->has_process = true;
    }
    if (!arena->has_thread) {
        arena->thread = 0;
        arena->has_thread = true;
    }
    return NULL;
}

static uint32_t copy_tree(struct completion *completion, const struct tg_ptset *set, uint32_t at,
                          const size_t *position);

/* Appends copies of FROM's children, of which a list in a list gives its own, to node TO. */
static void copy_children(struct completion *completion, const struct tg_ptset *set, uint32_t from,
                          uint32_t to, const size_t *position)
{
    uint32_t last = TG_NO_NODE;
    for (uint32_t child = set->nodes[from].first; child != TG_NO_NODE; child = set->nodes[child].next) {
        uint32_t copy = copy_tree(completion, set, child, position);
        if (copy == TG_NO_NODE)
            return;
        struct tg_ptset_node *nodes = completion->to->nodes;
        nodes[copy].joined = set->nodes[child].joined;
        if (set->nodes[from].kind == TG_NODE_LIST && nodes[copy].kind == TG_NODE_LIST)
            copy = nodes[copy].first;
        if (last == TG_NO_NODE)
            nodes[to].first = copy;
        else
            nodes[last].next = copy;
        for (last = copy; nodes[last].next != TG_NO_NODE;)
            last = nodes[last].next;
    }
}

/* A completed copy of the tree at AT; POSITION: of what it is put in for, NULL: its own. The depth is bounded
 * by the parser, and by the focus, which is not completed again. */
static uint32_t copy_tree(struct completion *completion, const struct tg_ptset *set, uint32_t at,
                          const size_t *position)
{
    const struct tg_ptset_node *node = &set->nodes[at];
    if (node->kind == TG_NODE_CURRENT) {
        if (completion->focus == NULL)
            return put_node(completion, &everything, node->position, true);
        return copy_tree(completion, completion->focus, completion->focus->root, &node->position);
    }
    uint32_t copy =
        put_node(completion, node, position != NULL ? *position : node->position, position != NULL);
    if (copy == TG_NO_NODE)
        return TG_NO_NODE;
    if (node->kind == TG_NODE_ARENA && position == NULL)
        completion->error =
            complete_arena(completion->from, &completion->to->nodes[copy].arena, completion->position);
    else
        copy_children(completion, set, at, copy, position);
    return completion->error == NULL ? copy : TG_NO_NODE;
}

struct tg_error *tg_ptset_complete(const struct tg_ptset *set, const struct tg_ptset *focus,
                                   struct tg_ptset **complete, size_t *position)
{
    AUTO_SET struct tg_ptset *made = calloc(1, sizeof *made);
    if (made == NULL)
        return tg_error_no_memory();
    struct completion completion = {.set = set,
                                    .focus = focus,
                                    .from = focus == NULL ? &first_focus.arena : tg_ptset_arena(focus, 0),
                                    .to = made,
                                    .position = position};
    if (focus != NULL && tg_ptset_count(focus) != 1)
        completion.from = NULL;
    made->root = copy_tree(&completion, set, set->root, NULL);
    if (completion.error != NULL)
        return completion.error;
    struct tg_error *error = tg_ptset_check_depth(made, position);
    if (error != NULL)
        return error;
    *complete = made;
    made = NULL;
    return NULL;
}

/* ---- parts */

size_t tg_ptset_count(const struct tg_ptset *set)
{
    const struct tg_ptset_node *root = &set->nodes[set->root];
    size_t count = 0;
    if (root->kind != TG_NODE_LIST)
        return 1;
    for (uint32_t child = root->first; child != TG_NO_NODE; child = set->nodes[child].next)
        count++;
    return count;
}

const struct tg_ptset_arena *tg_ptset_arena(const struct tg_ptset *set, size_t i)
{
    uint32_t at = set->root;
    if (set->nodes[at].kind == TG_NODE_LIST)
        for (at = set->nodes[at].first; i > 0 && at != TG_NO_NODE; i--)
            at = set->nodes[at].next;
    return at != TG_NO_NODE && set->nodes[at].kind == TG_NODE_ARENA ? &set->nodes[at].arena : NULL;
}

const struct tg_ptset_arena *tg_ptset_next_arena(const struct tg_ptset *set, size_t *cursor)
{
    while (*cursor < set->n_nodes)
        if (set->nodes[(*cursor)++].kind == TG_NODE_ARENA)
            return &set->nodes[*cursor - 1].arena;
    return NULL;
}

/* ---- text */

void tg_ptset_arena_write(const struct tg_ptset_arena *arena, FILE *stream)
{
    static const char widths[] = {[TG_WIDTH_THREAD] = 't',
                                  [TG_WIDTH_PROCESS] = 'p',
                                  [TG_WIDTH_GROUP] = 'g',
                                  [TG_WIDTH_ALL] = 'a',
                                  [TG_WIDTH_DEFAULT] = 'd'};
    static const char groups[] = {[TG_GROUP_DEFAULT] = 'D',
                                  [TG_GROUP_CONTROL] = 'C',
                                  [TG_GROUP_SHARE] = 'S',
                                  [TG_GROUP_WORKERS] = 'W',
                                  [TG_GROUP_LOCKSTEP] = 'L'};
    if (arena->width != TG_WIDTH_MISSING)
        fputc(widths[arena->width], stream);
    if (arena->group == TG_GROUP_NUMBER)
        fprintf(stream, "%" PRIu32 "/", arena->group_number);
    else if (arena->group == TG_GROUP_NAME)
        fprintf(stream, "/%s/", arena->group_name);
    else if (arena->group != TG_GROUP_MISSING)
        fputc(groups[arena->group], stream);
    if (arena->has_process)
        fprintf(stream, "%s%" PRIu32, arena->by_rank ? "r" : "", arena->process);
    /* without its . a number behind the width t would be a thread */
    if (arena->has_thread || (arena->has_process && !arena->by_rank && arena->width == TG_WIDTH_THREAD))
        fputc('.', stream);
    if (arena->has_thread && arena->thread == 0)
        fputc('<', stream);
    else if (arena->has_thread)
        fprintf(stream, "%" PRIu32, arena->thread);
}

static bool needs_parentheses(enum tg_ptset_node_kind parent, enum tg_ptset_node_kind child, bool is_first)
{
    if (child != TG_NODE_SUM && child != TG_NODE_PRODUCT)
        return false;
    if (parent == TG_NODE_LIST || (parent == TG_NODE_PRODUCT && child == TG_NODE_SUM))
        return true;
    return parent == child && !is_first;
}

/* Whether "LEFT-RIGHT" would be read as a range of ranks. */
static bool looks_like_range(const struct tg_ptset *set, uint32_t left, uint32_t right)
{
    const struct tg_ptset_node *nodes = set->nodes;
    if (nodes[left].kind == TG_NODE_PRODUCT)
        for (left = nodes[left].first; nodes[left].next != TG_NO_NODE;)
            left = nodes[left].next;
    if (nodes[right].kind == TG_NODE_PRODUCT)
        right = nodes[right].first;
    const struct tg_ptset_arena *rank = &nodes[left].arena, *number = &nodes[right].arena;
    return nodes[left].kind == TG_NODE_ARENA && nodes[right].kind == TG_NODE_ARENA && rank->by_rank &&
           !rank->has_thread && number->width == TG_WIDTH_MISSING &&
           (number->group == TG_GROUP_NUMBER ||
            (number->group == TG_GROUP_MISSING && number->has_process && !number->by_rank));
}

static void print_node(const struct tg_ptset *set, uint32_t at, FILE *stream)
{
    const struct tg_ptset_node *node = &set->nodes[at];
    if (node->kind == TG_NODE_ARENA) {
        tg_ptset_arena_write(&node->arena, stream);
        return;
    }
    if (node->kind == TG_NODE_CURRENT) {
        fputc('.', stream);
        return;
    }
    if (node->kind == TG_NODE_FUNCTION)
        fprintf(stream, "%s(", tg_ptset_function_names[node->function]);
    else if (node->kind == TG_NODE_LIST)
        fputc('{', stream);
    uint32_t former = TG_NO_NODE;
    for (uint32_t child = node->first; child != TG_NO_NODE; child = set->nodes[child].next) {
        enum tg_ptset_node_kind kind = set->nodes[child].kind;
        bool is_first = child == node->first;
        if (!is_first)
            fputc(node->kind == TG_NODE_LIST ? ' ' : set->nodes[child].joined, stream);
        if (!is_first && set->nodes[child].joined == '-' && looks_like_range(set, former, child))
            fputc(' ', stream);
        former = child;
        bool parenthesised = needs_parentheses(node->kind, kind, is_first);
        if (parenthesised)
            fputc('(', stream);
        print_node(set, child, stream);
        if (parenthesised)
            fputc(')', stream);
    }
    if (node->kind == TG_NODE_FUNCTION)
        fputc(')', stream);
    else if (node->kind == TG_NODE_LIST)
        fputc('}', stream);
}

char *tg_ptset_string(const struct tg_ptset *set)
{
    char *text = NULL;
    size_t size;
    FILE *stream = open_memstream(&text, &size);
    if (stream == NULL)
        return NULL;
    print_node(set, set->root, stream);
    bool failed = ferror(stream) != 0;
    if (fclose(stream) != 0 || failed) {
        free(text);
        return NULL;
    }
    return text;
}

void tg_ptset_point(const char *text, size_t position, FILE *stream)
{
    enum { AROUND = 60 };
    size_t size = strlen(text);
    if (position > size)
        position = size;
    size_t begin = position > AROUND ? position - AROUND : 0;
    size_t end = size - position > AROUND ? position + AROUND : size;
    /* bytes that are not plain ASCII are shown as '?': one column each, so that the mark is below its place */
    fputs(begin > 0 ? "..." : "", stream);
    for (size_t i = begin; i < end; i++)
        fputc(text[i] >= ' ' && text[i] <= '~' ? text[i] : '?', stream);
    fprintf(stream, "%s\n%*s^", end < size ? "..." : "", (int)(position - begin + (begin > 0 ? 3 : 0)), "");
    fputc('\n', stream);
}
