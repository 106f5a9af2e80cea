#include "recorder/loader/link_comparison.h"

#include "format/base/search.h"

#include <stdlib.h>
#include <string.h>

enum {
    BATCH = 31, /* known objects compared by one system call: a node and a name each */
    LOOKS = 3,  /* at a list that cannot be followed */
};

/* One comparison: the known list as it is in memory now, and the list that is walked. */
struct comparison {
    const struct tg_link_list *list;
    struct tg_link_node *nodes; /* nodes of known objects, by position */
    bool *same;                 /* the memory there still holds that object */
    bool *kept;                 /* met in the walk */
    size_t *by_address;         /* positions, sorted by link_map */
    size_t guess;               /* position that the next step is likely to meet */
    struct tg_link_space fresh;
    char (*names)[PATH_MAX + 1]; /* of a batch */
};

static void comparison_destroy(struct comparison *c)
{
    if (c == NULL)
        return;
    tg_link_objects_drop(&c->fresh.objects, &c->fresh.count);
    free(c->nodes);
    free(c->same);
    free(c->kept);
    free(c->by_address);
    free(c->names);
    free(c);
}

static int by_link_map(const void *a, const void *b, void *context)
{
    const struct tg_link_space *space = context;
    uint64_t left = space->objects[*(const size_t *)a]->link_map;
    uint64_t right = space->objects[*(const size_t *)b]->link_map;
    return left < right ? -1 : left > right;
}

/* Known objects [first, first + count) in one system call; where that fails, one by one. */
static void survey(struct comparison *c, size_t first, size_t count)
{
    const struct tg_link_space *space = c->list->space;
    size_t node_size = TG_LINK_NODE_WORDS * c->list->word;
    uint8_t bytes[BATCH][TG_LINK_NODE_WORDS * 8];
    struct tg_memory_range ranges[2 * BATCH];
    size_t n_ranges = 0;
    for (size_t i = 0; i < count; i++) {
        const struct tg_loaded_object *object = space->objects[first + i];
        c->names[i][0] = '\0';
        ranges[n_ranges++] = (struct tg_memory_range){object->link_map, bytes[i], node_size};
        if (object->name_address != 0)
            ranges[n_ranges++] =
                (struct tg_memory_range){object->name_address, c->names[i], object->path_length + 1};
    }
    if (tg_memory_read_ranges(c->list->pid, ranges, n_ranges) < n_ranges) {
        for (size_t i = 0; count > 1 && i < count; i++)
            survey(c, first + i, 1);
        return;
    }
    for (size_t i = 0; i < count; i++) {
        const struct tg_loaded_object *object = space->objects[first + i];
        c->nodes[first + i] = tg_link_node_parse(bytes[i], c->list->word, object->link_map);
        c->same[first + i] = tg_link_node_is(c->list->pid, object, &c->nodes[first + i], c->names[i]);
    }
}

static struct comparison *comparison_create(const struct tg_link_list *list)
{
    struct tg_link_space *space = list->space;
    size_t count = space->count;
    struct comparison *c = calloc(1, sizeof *c);
    if (c == NULL)
        return NULL;
    c->list = list;
    c->nodes = calloc(count + 1, sizeof c->nodes[0]);
    c->same = calloc(count + 1, sizeof c->same[0]);
    c->kept = calloc(count + 1, sizeof c->kept[0]);
    c->by_address = calloc(count + 1, sizeof c->by_address[0]);
    /* most are short: not to be cleared */
    c->names = malloc((count < BATCH ? count + 1 : BATCH) * sizeof c->names[0]);
    if (c->nodes == NULL || c->same == NULL || c->kept == NULL || c->by_address == NULL || c->names == NULL) {
        comparison_destroy(c);
        return NULL;
    }
    for (size_t first = 0; first < count; first += BATCH)
        survey(c, first, count - first < BATCH ? count - first : BATCH);
    for (size_t i = 0; i < count; i++)
        c->by_address[i] = i;
    qsort_r(c->by_address, count, sizeof c->by_address[0], by_link_map, space);
    return c;
}

/* Position of the known object whose link map is at ADDRESS, SIZE_MAX for none. */
static size_t find_known(const struct comparison *c, uint64_t address)
{
    const struct tg_link_space *space = c->list->space;
    if (c->guess < space->count && space->objects[c->guess]->link_map == address)
        return c->guess;
    size_t low = TG_PARTITION_POINT(space->count, i, space->objects[c->by_address[i]]->link_map < address);
    bool found = low < space->count && space->objects[c->by_address[low]]->link_map == address;
    return found ? c->by_address[low] : SIZE_MAX;
}

/* The object at ADDRESS with a reference of the caller's, and its node; NULL where the list cannot be
 * followed. */
static struct tg_loaded_object *step(struct comparison *c, uint64_t address, uint64_t previous,
                                     struct tg_link_node *node, struct tg_link_delta *delta)
{
    struct tg_link_change *change = c->list->change;
    size_t at = find_known(c, address);
    bool known = at != SIZE_MAX && c->same[at] && !c->kept[at];
    char name[TG_LINK_NAME_BYTES] = "";
    if (known)
        *node = c->nodes[at];
    if ((!known && !tg_link_node_read(c->list->pid, address, c->list->word, c->list->ahead, node, name)) ||
        node->previous != previous) {
        tg_link_delta_set_problem(delta, tg_link_broken_list, address);
        return NULL;
    }
    if (known) {
        c->guess = at + 1;
        c->kept[at] = true;
        return tg_loaded_object_ref(c->list->space->objects[at]);
    }
    struct tg_loaded_object *object;
    bool no_memory = false;
    if (!tg_loaded_object_read(c->list->pid, node, name, c->list->is_base && c->fresh.count == 0, &object,
                               &no_memory)) {
        tg_link_delta_set_problem(delta, no_memory ? tg_link_out_of_memory : tg_link_unreadable_name,
                                  address);
        return NULL;
    }
    if (!tg_link_objects_note(&change->added, &change->n_added, object)) {
        tg_link_delta_set_problem(delta, tg_link_out_of_memory, address);
        tg_loaded_object_unref(object);
        return NULL;
    }
    return object;
}

static bool walk(struct comparison *c, uint64_t address, struct tg_link_delta *delta)
{
    uint64_t previous = 0;
    while (address != 0) {
        struct tg_link_node node;
        if (c->fresh.count >= TG_LINK_MAP_MAX_OBJECTS) {
            tg_link_delta_set_problem(delta, tg_link_too_long, address);
            return false;
        }
        struct tg_loaded_object *object = step(c, address, previous, &node, delta);
        if (object == NULL)
            return false;
        if (!tg_link_space_append(&c->fresh, object)) {
            tg_link_delta_set_problem(delta, tg_link_out_of_memory, address);
            return false;
        }
        previous = address;
        address = node.next;
    }
    return true;
}

static int by_place(const void *a, const void *b)
{
    const struct tg_loaded_object *const *left = a, *const *right = b;
    return (*left)->link_map < (*right)->link_map ? -1 : (*left)->link_map > (*right)->link_map;
}

/* Whether the list that was walked has each place once. Else it has changed on the way: what went from there
 * was met, and what came there since. */
static bool check_places(const struct comparison *c, struct tg_link_delta *delta)
{
    size_t count = c->fresh.count, i = 1;
    if (count < 2)
        return true;
    struct tg_loaded_object **sorted = calloc(count, sizeof(struct tg_loaded_object *));
    if (sorted == NULL) {
        tg_link_delta_set_problem(delta, tg_link_out_of_memory, 0);
        return false;
    }
    memcpy(sorted, c->fresh.objects, count * sizeof(struct tg_loaded_object *));
    qsort(sorted, count, sizeof(struct tg_loaded_object *), by_place);
    while (i < count && sorted[i]->link_map != sorted[i - 1]->link_map)
        i++;
    if (i < count)
        tg_link_delta_set_problem(delta, tg_link_broken_list, sorted[i]->link_map);
    free(sorted);
    return i >= count;
}

/* A list that cannot be followed may have changed while it was read: then another look helps. */
static bool walk_anew(struct comparison **comparison, const struct tg_link_list *list, uint64_t address,
                      struct tg_link_delta *delta)
{
    struct tg_link_change *change = list->change;
    const char *problem = delta->problem;
    uint64_t problem_address = delta->problem_address;
    for (int i = 0; i < LOOKS; i++) {
        delta->problem = problem;
        delta->problem_address = problem_address;
        *comparison = comparison_create(list);
        if (*comparison == NULL) {
            tg_link_delta_set_problem(delta, tg_link_out_of_memory, 0);
            return false;
        }
        if (walk(*comparison, address, delta) && check_places(*comparison, delta))
            return true;
        tg_link_objects_drop(&change->added, &change->n_added);
        comparison_destroy(*comparison);
    }
    return false;
}

void tg_link_list_compare(const struct tg_link_list *list, uint64_t address, struct tg_link_delta *delta)
{
    struct tg_link_space *space = list->space;
    struct tg_link_change *change = list->change;
    struct comparison *c;
    space->suspect = true;
    if (!walk_anew(&c, list, address, delta))
        return;
    for (size_t i = 0; i < space->count; i++) {
        if (!c->kept[i] && !tg_link_objects_note(&change->removed, &change->n_removed, space->objects[i]))
            tg_link_delta_set_problem(delta, tg_link_out_of_memory, 0);
    }
    tg_link_objects_drop(&space->objects, &space->count);
    space->objects = c->fresh.objects;
    space->count = c->fresh.count;
    space->capacity = c->fresh.capacity;
    memcpy(space->places, c->fresh.places, sizeof space->places);
    space->suspect = false;
    c->fresh = (struct tg_link_space){0};
    comparison_destroy(c);
}
