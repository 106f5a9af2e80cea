#include "recorder/loader/link_map.h"

#include "format/base/array.h"
#include "format/base/search.h"
#include "recorder/process/memory.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

enum {
    NODE_WORDS = 5,    /* l_addr, l_name, l_ld, l_next, l_prev */
    DEBUG_WORDS = 5,   /* r_version, r_map, r_brk, r_state, r_ldbase */
    DEBUG_WORDS_2 = 6, /* r_next, from version 2 on */
    BATCH = 31,        /* known objects compared by one system call: a node and a name each */
    NAME_WINDOW_BYTES = 256,
    PAGE_BYTES = 4096,
    LOOKS = 3, /* at a list that cannot be followed */
    PLACE_BITS = 14,
};

struct space {      /* one namespace */
    uint64_t debug; /* address of its r_debug */
    struct tg_loaded_object **objects;
    size_t count;
    size_t capacity;
    uint64_t places[(1 << PLACE_BITS) / 64]; /* bits of where objects are, by place_of(); may be others' */
    uint64_t expected; /* the last look found an addition under way and its first node there; 0 unknown */
    bool suspect;      /* compare the whole list next time: an unload was under way, or a read failed */
    bool adding;       /* the last look found an addition under way and left it */
};

/* A node of a list and what lies before it in its page: loaders allocate an object's name just before the
 * object. */
struct window {
    uint64_t address; /* address of the node; 0: nothing was read */
    size_t before;    /* bytes before it */
    uint8_t bytes[NAME_WINDOW_BYTES + NODE_WORDS * 8];
};

struct tg_link_maps {
    size_t word;      /* 8 or 4 */
    uint64_t version; /* r_version as last read; from 2 on r_debug has r_next */
    struct space spaces[TG_LINK_MAP_MAX_NAMESPACES];
    size_t n_spaces;
    struct tg_link_change
        changes[TG_LINK_MAP_MAX_NAMESPACES]; /* changes of the last update; hold references */
    size_t n_used;                           /* changes beyond these are empty */
    struct window ahead;                     /* the expected node of the namespace that is looked at */
    struct tg_memory_range along; /* read with the first r_debug of the next update; no buffer: nothing */
};

/* struct r_debug, widened. */
struct head {
    uint64_t map;
    uint64_t brk;
    uint64_t state;
    uint64_t next;
};

/* ---- life */

struct tg_link_maps *tg_link_maps_create(unsigned bits, uint64_t r_debug)
{
    struct tg_link_maps *made = calloc(1, sizeof *made);
    if (made == NULL)
        return NULL;
    made->word = bits == 32 ? 4 : 8;
    made->spaces[0].debug = r_debug;
    made->n_spaces = 1;
    return made;
}

static void drop_objects(struct tg_loaded_object ***objects, size_t *count)
{
    for (size_t i = 0; i < *count; i++)
        tg_loaded_object_unref((*objects)[i]);
    free(*objects);
    *objects = NULL;
    *count = 0;
}

static void drop_changes(struct tg_link_maps *maps)
{
    for (size_t i = 0; i < maps->n_used; i++) {
        drop_objects(&maps->changes[i].added, &maps->changes[i].n_added);
        drop_objects(&maps->changes[i].removed, &maps->changes[i].n_removed);
    }
    maps->n_used = 0;
}

void tg_link_maps_destroy(struct tg_link_maps *maps)
{
    if (maps == NULL)
        return;
    drop_changes(maps);
    for (size_t i = 0; i < maps->n_spaces; i++)
        drop_objects(&maps->spaces[i].objects, &maps->spaces[i].count);
    free(maps);
}

struct tg_link_maps *tg_link_maps_copy(const struct tg_link_maps *maps)
{
    struct tg_link_maps *made = calloc(1, sizeof *made);
    if (made == NULL)
        return NULL;
    made->word = maps->word;
    made->version = maps->version;
    for (size_t i = 0; i < maps->n_spaces; i++) {
        const struct space *from = &maps->spaces[i];
        struct space *to = &made->spaces[i];
        made->n_spaces = i + 1;
        to->debug = from->debug;
        to->suspect = from->suspect;
        to->adding = from->adding;
        memcpy(to->places, from->places, sizeof to->places);
        if (from->count == 0)
            continue;
        to->objects = malloc(from->count * sizeof to->objects[0]);
        if (to->objects == NULL) {
            tg_link_maps_destroy(made);
            return NULL;
        }
        to->capacity = from->count;
        for (; to->count < from->count; to->count++)
            to->objects[to->count] = tg_loaded_object_ref(from->objects[to->count]);
    }
    return made;
}

size_t tg_link_maps_namespaces(const struct tg_link_maps *maps)
{
    return maps->n_spaces;
}

size_t tg_link_maps_count(const struct tg_link_maps *maps, size_t namespace_index)
{
    return maps->spaces[namespace_index].count;
}

struct tg_loaded_object *tg_link_maps_at(const struct tg_link_maps *maps, size_t namespace_index, size_t i)
{
    return maps->spaces[namespace_index].objects[i];
}

/* ---- reading memory */

static uint64_t word_at(const uint8_t *bytes, size_t i, size_t word)
{
    uint64_t value = 0;
    memcpy(&value, bytes + i * word, word); /* x86: little-endian */
    return value;
}

static struct tg_link_node parse_node(const uint8_t *bytes, size_t word, uint64_t address)
{
    return (struct tg_link_node){
        .address = address,
        .base = word_at(bytes, 0, word),
        .name = word_at(bytes, 1, word),
        .dynamic = word_at(bytes, 2, word),
        .next = word_at(bytes, 3, word),
        .previous = word_at(bytes, 4, word),
    };
}

/* The bytes of ADDRESS's page that lie before it, up to LIMIT. */
static size_t before_in_page(uint64_t address, size_t limit)
{
    return address % PAGE_BYTES < limit ? address % PAGE_BYTES : limit;
}

static struct tg_memory_range window_range(struct window *window, uint64_t address, size_t word)
{
    window->before = before_in_page(address, NAME_WINDOW_BYTES);
    return (struct tg_memory_range){address - window->before, window->bytes,
                                    window->before + NODE_WORDS * word};
}

/* The node at ADDRESS; NAME[0] is not NUL where what was read along holds its name. */
static bool read_node(const struct tg_link_maps *maps, pid_t pid, uint64_t address, struct tg_link_node *node,
                      char name[NAME_WINDOW_BYTES])
{
    struct window here;
    const struct window *window = &maps->ahead;
    name[0] = '\0';
    if (window->address != address) {
        struct tg_memory_range range = window_range(&here, address, maps->word);
        if (!tg_memory_read(pid, range.address, range.buffer, range.size))
            return false;
        window = &here;
    }
    *node = parse_node(window->bytes + window->before, maps->word, address);
    if (node->name < address && address - node->name <= window->before) {
        size_t size = (size_t)(address - node->name);
        const uint8_t *text = window->bytes + window->before - size;
        if (memchr(text, '\0', size) != NULL)
            memcpy(name, text, strnlen((const char *)text, size) + 1);
    }
    return true;
}

/* Whether the name at ADDRESS is OBJECT's. */
static bool has_name(pid_t pid, const struct tg_loaded_object *object, uint64_t address)
{
    char text[PATH_MAX + 1];
    return address != 0 && tg_memory_read_string(pid, address, text, sizeof text) &&
           strcmp(text, object->path) == 0;
}

/* Whether what is now at an object's place in memory is still that object, or the same once more: the same
 * file at the same place. NAME: the bytes where its name was; l_name may be elsewhere then. */
static bool is_same(pid_t pid, const struct tg_loaded_object *object, const struct tg_link_node *node,
                    const char *name)
{
    if (object->base != node->base || object->dynamic != node->dynamic)
        return false;
    if (object->name_address != node->name)
        return has_name(pid, object, node->name);
    return memcmp(object->path, name, object->path_length + 1) == 0;
}

/* Buffers for the node of an object and its name. */
struct remembered {
    const char *name;
    const uint8_t *node;
    uint8_t bytes[PATH_MAX + 1 + NAME_WINDOW_BYTES + NODE_WORDS * 8];
};

/* Memory to read in order to compare OBJECT with what it was: at most two RANGES; returns how many. A name
 * that lies just before the node is read with it. */
static size_t remember_ranges(const struct tg_loaded_object *object, size_t word, struct remembered *to,
                              struct tg_memory_range *ranges)
{
    size_t node_size = NODE_WORDS * word, name_size = object->path_length + 1;
    uint64_t gap = object->link_map - object->name_address;
    to->name = (const char *)to->bytes;
    if (object->name_address != 0 && object->name_address < object->link_map && gap >= name_size &&
        gap <= before_in_page(object->link_map, name_size + NAME_WINDOW_BYTES)) {
        to->node = to->bytes + gap;
        ranges[0] = (struct tg_memory_range){object->name_address, to->bytes, gap + node_size};
        return 1;
    }
    uint8_t *node = to->bytes + name_size;
    to->node = node;
    to->bytes[0] = '\0';
    ranges[0] = (struct tg_memory_range){object->link_map, node, node_size};
    ranges[1] = (struct tg_memory_range){object->name_address, to->bytes, name_size};
    return object->name_address != 0 ? 2 : 1;
}

/* The result of one look at the ends of a namespace's list. */
struct ends {
    struct head head;
    struct tg_link_node tail; /* node of the last known object */
    bool tail_same;           /* unchanged since the last look */
};

static bool take_head(struct tg_link_maps *maps, pid_t pid, const struct space *space,
                      uint8_t debug[DEBUG_WORDS_2 * 8], struct head *head)
{
    uint64_t version = word_at(debug, 0, maps->word) & UINT32_MAX;
    size_t next_offset = DEBUG_WORDS * maps->word;
    if (maps->version < 2 && version >= 2) { /* the first dlmopen happened */
        if (!tg_memory_read(pid, space->debug + next_offset, debug + next_offset, maps->word))
            return false;
        maps->version = version;
    }
    *head = (struct head){
        .map = word_at(debug, 1, maps->word),
        .brk = word_at(debug, 2, maps->word),
        .state = word_at(debug, 3, maps->word) & UINT32_MAX,
        .next = maps->version >= 2 ? word_at(debug, 5, maps->word) : 0,
    };
    return true;
}

/* In the middle of an addition: r_debug and the expected node alone, in one system call. The tail was looked
 * at when the node was seen behind it; false where the node does not follow it any more. */
static bool read_expected(struct tg_link_maps *maps, pid_t pid, const struct space *space, struct ends *ends)
{
    uint8_t debug[DEBUG_WORDS_2 * 8] = {0};
    size_t words = maps->version >= 2 ? DEBUG_WORDS_2 : DEBUG_WORDS;
    const struct tg_memory_range ranges[] = {
        {space->debug, debug, words * maps->word},
        window_range(&maps->ahead, space->expected, maps->word),
    };
    if (tg_memory_read_ranges(pid, ranges, 2) < 2)
        return false;
    const uint8_t *bytes = maps->ahead.bytes + maps->ahead.before;
    uint64_t tail = space->objects[space->count - 1]->link_map;
    if (parse_node(bytes, maps->word, space->expected).previous != tail)
        return false;
    maps->ahead.address = space->expected;
    ends->tail = (struct tg_link_node){.address = tail, .next = space->expected};
    ends->tail_same = true;
    return take_head(maps, pid, space, debug, &ends->head);
}

/* r_debug and the last known object in one system call. False where r_debug itself cannot be read. */
static bool read_ends(struct tg_link_maps *maps, pid_t pid, const struct space *space, struct ends *ends,
                      bool *took_along)
{
    maps->ahead.address = 0;
    if (space->expected != 0 && maps->along.buffer == NULL && read_expected(maps, pid, space, ends))
        return true;
    uint8_t debug[DEBUG_WORDS_2 * 8] = {0};
    struct remembered found;
    size_t words = maps->version >= 2 ? DEBUG_WORDS_2 : DEBUG_WORDS;
    struct tg_memory_range ranges[4] = {{space->debug, debug, words * maps->word}};
    size_t count = 1;
    const struct tg_loaded_object *tail = space->count > 0 ? space->objects[space->count - 1] : NULL;
    if (tail != NULL)
        count += remember_ranges(tail, maps->word, &found, ranges + count);
    size_t n_along = 0;
    if (maps->along.buffer != NULL) {
        ranges[count] = maps->along;
        maps->along.buffer = NULL;
        n_along = 1;
    }
    size_t done = tg_memory_read_ranges(pid, ranges, count + n_along);
    if (done == 0)
        return false;
    *took_along |= n_along > 0 && done == count + n_along;
    ends->tail_same = false;
    if (tail != NULL && done >= count) {
        ends->tail = parse_node(found.node, maps->word, tail->link_map);
        /* unloaded and loaded again it may look the same, but follows another */
        uint64_t before = space->count > 1 ? space->objects[space->count - 2]->link_map : 0;
        ends->tail_same = is_same(pid, tail, &ends->tail, found.name) && ends->tail.previous == before;
    }
    return take_head(maps, pid, space, debug, &ends->head);
}

bool tg_link_maps_peek(const struct tg_link_maps *maps, pid_t pid, uint64_t *r_brk, uint64_t *state)
{
    uint8_t bytes[DEBUG_WORDS * 8];
    if (!tg_memory_read(pid, maps->spaces[0].debug, bytes, DEBUG_WORDS * maps->word))
        return false;
    *r_brk = word_at(bytes, 2, maps->word);
    *state = word_at(bytes, 3, maps->word) & UINT32_MAX;
    return true;
}

/* ---- lists under construction */

/* Takes over OBJECT's reference. */
static bool append(struct tg_loaded_object ***objects, size_t *count, size_t *capacity,
                   struct tg_loaded_object *object)
{
    bool added = TG_ARRAY_APPEND(*objects, *count, *capacity, object) == NULL;
    if (!added)
        tg_loaded_object_unref(object);
    return added;
}

static size_t place_of(uint64_t address)
{
    return (size_t)((address >> 4) * UINT64_C(0x9e3779b97f4a7c15) >> (64 - PLACE_BITS));
}

static bool append_to_space(struct space *space, struct tg_loaded_object *object)
{
    size_t place = place_of(object->link_map);
    space->places[place / 64] |= UINT64_C(1) << place % 64;
    return append(&space->objects, &space->count, &space->capacity, object);
}

/* Change lists double at every power of two, so that they need no capacity of their own. Keeps a
 * reference. */
static bool append_change(struct tg_loaded_object ***objects, size_t *count, struct tg_loaded_object *object)
{
    if (!object->is_library)
        return true;
    if ((*count & (*count - 1)) == 0) { /* 0 counts as one: the first item */
        struct tg_loaded_object **grown =
            realloc(*objects, (*count == 0 ? 1 : *count * 2) * sizeof **objects);
        if (grown == NULL)
            return false;
        *objects = grown;
    }
    (*objects)[(*count)++] = tg_loaded_object_ref(object);
    return true;
}

static void set_problem(struct tg_link_delta *delta, const char *text, uint64_t address)
{
    if (delta->problem != NULL)
        return;
    delta->problem = text;
    delta->problem_address = address;
}

static const char out_of_memory[] = "out of memory while reading the loader's list";
static const char broken_list[] = "the loader's list is broken";
static const char unreadable_name[] = "cannot read the name of an object in the loader's list";
static const char too_long[] = "the loader's list is longer than 65536 objects";

/* ---- reading on from the tail */

/* Whether an object that is known was at ADDRESS. What is new there has taken the place of one that has
 * gone. */
static bool is_taken(const struct space *space, size_t count, uint64_t address)
{
    size_t i = 0, place = place_of(address);
    if ((space->places[place / 64] >> place % 64 & 1) == 0)
        return false;
    while (i < count && space->objects[i]->link_map != address)
        i++;
    return i < count;
}

/* Appends what follows PREVIOUS (0: nothing) from ADDRESS on to SPACE and to ADDED. Stops at the first node
 * that cannot be right: its l_prev must name its predecessor, which also makes every cycle end. False where
 * an unload was missed: nothing is appended then. */
static bool read_on(struct tg_link_maps *maps, pid_t pid, size_t index, uint64_t address, uint64_t previous,
                    struct tg_link_delta *delta)
{
    struct space *space = &maps->spaces[index];
    struct tg_link_change *change = &maps->changes[index];
    size_t known = space->count;
    while (address != 0) {
        struct tg_link_node node;
        char name[NAME_WINDOW_BYTES];
        struct tg_loaded_object *object;
        bool no_memory = false;
        if (space->count >= TG_LINK_MAP_MAX_OBJECTS) {
            set_problem(delta, too_long, address);
            return true;
        }
        if (is_taken(space, known, address)) {
            while (space->count > known)
                tg_loaded_object_unref(space->objects[--space->count]);
            drop_objects(&change->added, &change->n_added);
            return false;
        }
        if (!read_node(maps, pid, address, &node, name) || node.previous != previous) {
            set_problem(delta, broken_list, address);
            space->suspect = true;
            return true;
        }
        if (!tg_loaded_object_read(pid, &node, name, index == 0 && space->count == 0, &object, &no_memory)) {
            set_problem(delta, no_memory ? out_of_memory : unreadable_name, address);
            return true;
        }
        if (!append_to_space(space, object) || !append_change(&change->added, &change->n_added, object)) {
            set_problem(delta, out_of_memory, address);
            return true;
        }
        previous = address;
        address = node.next;
    }
    return true;
}

/* ---- comparing the whole list */

/* One comparison: the known list as it is in memory now, and the list that is walked. */
struct comparison {
    struct tg_link_maps *maps;
    pid_t pid;
    size_t index;
    struct tg_link_node *nodes; /* nodes of known objects, by position */
    bool *same;                 /* the memory there still holds that object */
    bool *kept;                 /* met in the walk */
    size_t *by_address;         /* positions, sorted by link_map */
    size_t guess;               /* position that the next step is likely to meet */
    struct space fresh;
    char names[BATCH][PATH_MAX + 1];
};

static void comparison_destroy(struct comparison *c)
{
    if (c == NULL)
        return;
    drop_objects(&c->fresh.objects, &c->fresh.count);
    free(c->nodes);
    free(c->same);
    free(c->kept);
    free(c->by_address);
    free(c);
}

static int by_link_map(const void *a, const void *b, void *context)
{
    const struct space *space = context;
    uint64_t left = space->objects[*(const size_t *)a]->link_map;
    uint64_t right = space->objects[*(const size_t *)b]->link_map;
    return left < right ? -1 : left > right;
}

/* Known objects [first, first + count) in one system call; where that fails, one by one. */
static void survey(struct comparison *c, size_t first, size_t count)
{
    const struct space *space = &c->maps->spaces[c->index];
    size_t node_size = NODE_WORDS * c->maps->word;
    uint8_t bytes[BATCH][NODE_WORDS * 8];
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
    if (tg_memory_read_ranges(c->pid, ranges, n_ranges) < n_ranges) {
        for (size_t i = 0; count > 1 && i < count; i++)
            survey(c, first + i, 1);
        return;
    }
    for (size_t i = 0; i < count; i++) {
        const struct tg_loaded_object *object = space->objects[first + i];
        c->nodes[first + i] = parse_node(bytes[i], c->maps->word, object->link_map);
        c->same[first + i] = is_same(c->pid, object, &c->nodes[first + i], c->names[i]);
    }
}

static struct comparison *comparison_create(struct tg_link_maps *maps, pid_t pid, size_t index)
{
    struct space *space = &maps->spaces[index];
    size_t count = space->count;
    struct comparison *c = calloc(1, sizeof *c);
    if (c == NULL)
        return NULL;
    c->maps = maps;
    c->pid = pid;
    c->index = index;
    c->nodes = calloc(count + 1, sizeof c->nodes[0]);
    c->same = calloc(count + 1, sizeof c->same[0]);
    c->kept = calloc(count + 1, sizeof c->kept[0]);
    c->by_address = calloc(count + 1, sizeof c->by_address[0]);
    if (c->nodes == NULL || c->same == NULL || c->kept == NULL || c->by_address == NULL) {
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
    const struct space *space = &c->maps->spaces[c->index];
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
    struct tg_link_change *change = &c->maps->changes[c->index];
    size_t at = find_known(c, address);
    bool known = at != SIZE_MAX && c->same[at] && !c->kept[at];
    char name[NAME_WINDOW_BYTES] = "";
    if (known)
        *node = c->nodes[at];
    if ((!known && !read_node(c->maps, c->pid, address, node, name)) || node->previous != previous) {
        set_problem(delta, broken_list, address);
        return NULL;
    }
    if (known) {
        c->guess = at + 1;
        c->kept[at] = true;
        return tg_loaded_object_ref(c->maps->spaces[c->index].objects[at]);
    }
    struct tg_loaded_object *object;
    bool no_memory = false;
    if (!tg_loaded_object_read(c->pid, node, name, c->index == 0 && c->fresh.count == 0, &object,
                               &no_memory)) {
        set_problem(delta, no_memory ? out_of_memory : unreadable_name, address);
        return NULL;
    }
    if (!append_change(&change->added, &change->n_added, object)) {
        set_problem(delta, out_of_memory, address);
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
            set_problem(delta, too_long, address);
            return false;
        }
        struct tg_loaded_object *object = step(c, address, previous, &node, delta);
        if (object == NULL)
            return false;
        if (!append_to_space(&c->fresh, object)) {
            set_problem(delta, out_of_memory, address);
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
        set_problem(delta, out_of_memory, 0);
        return false;
    }
    memcpy(sorted, c->fresh.objects, count * sizeof(struct tg_loaded_object *));
    qsort(sorted, count, sizeof(struct tg_loaded_object *), by_place);
    while (i < count && sorted[i]->link_map != sorted[i - 1]->link_map)
        i++;
    if (i < count)
        set_problem(delta, broken_list, sorted[i]->link_map);
    free(sorted);
    return i >= count;
}

/* A list that cannot be followed may have changed while it was read: then another look helps. */
static bool walk_anew(struct comparison **comparison, struct tg_link_maps *maps, pid_t pid, size_t index,
                      uint64_t address, struct tg_link_delta *delta)
{
    struct tg_link_change *change = &maps->changes[index];
    const char *problem = delta->problem;
    uint64_t problem_address = delta->problem_address;
    for (int i = 0; i < LOOKS; i++) {
        delta->problem = problem;
        delta->problem_address = problem_address;
        *comparison = comparison_create(maps, pid, index);
        if (*comparison == NULL) {
            set_problem(delta, out_of_memory, 0);
            return false;
        }
        if (walk(*comparison, address, delta) && check_places(*comparison, delta))
            return true;
        drop_objects(&change->added, &change->n_added);
        comparison_destroy(*comparison);
    }
    return false;
}

/* Compares the whole list with what is known. Where it cannot be followed to its end nothing is concluded. */
static void compare(struct tg_link_maps *maps, pid_t pid, size_t index, uint64_t address,
                    struct tg_link_delta *delta)
{
    struct space *space = &maps->spaces[index];
    struct tg_link_change *change = &maps->changes[index];
    struct comparison *c;
    space->suspect = true;
    if (!walk_anew(&c, maps, pid, index, address, delta))
        return;
    for (size_t i = 0; i < space->count; i++) {
        if (!c->kept[i] && !append_change(&change->removed, &change->n_removed, space->objects[i]))
            set_problem(delta, out_of_memory, 0);
    }
    drop_objects(&space->objects, &space->count);
    space->objects = c->fresh.objects;
    space->count = c->fresh.count;
    space->capacity = c->fresh.capacity;
    memcpy(space->places, c->fresh.places, sizeof space->places);
    space->suspect = false;
    c->fresh = (struct space){0};
    comparison_destroy(c);
}

/* ---- update */

/* Index of the namespace whose r_debug is at ADDRESS, a new one where it is not known; SIZE_MAX beyond the
 * limit. */
static size_t space_at(struct tg_link_maps *maps, uint64_t address)
{
    for (size_t i = 0; i < maps->n_spaces; i++) {
        if (maps->spaces[i].debug == address)
            return i;
    }
    if (maps->n_spaces == TG_LINK_MAP_MAX_NAMESPACES)
        return SIZE_MAX;
    maps->spaces[maps->n_spaces] = (struct space){.debug = address};
    return maps->n_spaces++;
}

/* One namespace; returns its r_next, 0 at the end or where it cannot be read. */
static uint64_t update_space(struct tg_link_maps *maps, pid_t pid, size_t index, enum tg_link_look look,
                             struct tg_link_delta *delta)
{
    struct space *space = &maps->spaces[index];
    struct ends ends;
    if (!read_ends(maps, pid, space, &ends, &delta->took_along)) {
        set_problem(delta, "cannot read the loader's r_debug", space->debug);
        space->suspect = true;
        return 0;
    }
    uint64_t state = ends.head.state;
    if (state != TG_LINK_CONSISTENT && delta->state == TG_LINK_CONSISTENT)
        delta->state = state;
    maps->changes[index].namespace_index = (unsigned)index;
    maps->changes[index].state = state;
    bool in_the_middle = state == TG_LINK_ADD && !space->adding && look != TG_LINK_LOOK_LAST;
    space->adding = state == TG_LINK_ADD;
    space->expected = in_the_middle && ends.tail_same ? ends.tail.next : 0;
    if (in_the_middle)
        return ends.head.next;
    bool same_so_far = space->count > 0 && ends.tail_same && space->objects[0]->link_map == ends.head.map;
    bool whole = !same_so_far || space->suspect || look != TG_LINK_LOOK_NEW ||
                 !read_on(maps, pid, index, ends.tail.next, ends.tail.address, delta);
    if (whole && (space->count > 0 || ends.head.map != 0))
        compare(maps, pid, index, ends.head.map, delta);
    if (state == TG_LINK_DELETE)
        space->suspect = true; /* the objects go between this stop and the next */
    return ends.head.next;
}

void tg_link_maps_take_along(struct tg_link_maps *maps, const struct tg_memory_range *range)
{
    maps->along = *range;
}

void tg_link_maps_update(struct tg_link_maps *maps, pid_t pid, enum tg_link_look look,
                         struct tg_link_delta *delta)
{
    drop_changes(maps);
    *delta = (struct tg_link_delta){.state = TG_LINK_CONSISTENT, .changes = maps->changes};
    uint64_t debug = maps->spaces[0].debug;
    size_t last = 0;
    for (size_t n = 0; debug != 0; n++) {
        size_t index = space_at(maps, debug);
        if (n == TG_LINK_MAP_MAX_NAMESPACES || index == SIZE_MAX) {
            set_problem(delta, "more than 64 loader namespaces, or a broken chain of them", debug);
            break;
        }
        maps->n_used = index < maps->n_used ? maps->n_used : index + 1;
        debug = update_space(maps, pid, index, look, delta);
        last = index > last ? index : last;
    }
    /* Changed namespaces come to the front, in order of their index. */
    for (size_t i = 0; i <= last; i++) {
        struct tg_link_change change = maps->changes[i];
        if (change.n_added == 0 && change.n_removed == 0)
            continue;
        maps->changes[i] = (struct tg_link_change){0};
        maps->changes[delta->n_changes++] = change;
    }
}
