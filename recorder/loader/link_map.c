#include "recorder/loader/link_map.h"

#include "recorder/loader/link_comparison.h"
#include "recorder/loader/link_node.h"

#include <stdlib.h>
#include <string.h>

enum {
    DEBUG_WORDS = 5,   /* r_version, r_map, r_brk, r_state, r_ldbase */
    DEBUG_WORDS_2 = 6, /* r_next, from version 2 on */
};

struct tg_link_maps {
    size_t word;      /* 8 or 4 */
    uint64_t version; /* r_version as last read; from 2 on r_debug has r_next */
    struct tg_link_space spaces[TG_LINK_MAP_MAX_NAMESPACES];
    size_t n_spaces;
    struct tg_link_change
        changes[TG_LINK_MAP_MAX_NAMESPACES]; /* changes of the last update; hold references */
    size_t n_used;                           /* changes beyond these are empty */
    struct tg_link_window ahead;             /* the expected node of the namespace that is looked at */
    uint64_t begins_at;                      /* see tg_link_maps_begin_at */
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

static void drop_changes(struct tg_link_maps *maps)
{
    for (size_t i = 0; i < maps->n_used; i++) {
        tg_link_objects_drop(&maps->changes[i].added, &maps->changes[i].n_added);
        tg_link_objects_drop(&maps->changes[i].removed, &maps->changes[i].n_removed);
    }
    maps->n_used = 0;
}

void tg_link_maps_destroy(struct tg_link_maps *maps)
{
    if (maps == NULL)
        return;
    drop_changes(maps);
    for (size_t i = 0; i < maps->n_spaces; i++)
        tg_link_objects_drop(&maps->spaces[i].objects, &maps->spaces[i].count);
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
        const struct tg_link_space *from = &maps->spaces[i];
        struct tg_link_space *to = &made->spaces[i];
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

/* ---- the ends of a list */

/* The result of one look at the ends of a namespace's list. */
struct ends {
    struct head head;
    struct tg_link_node tail; /* node of the last known object */
    bool tail_same;           /* unchanged since the last look */
};

static bool take_head(struct tg_link_maps *maps, pid_t pid, const struct tg_link_space *space,
                      uint8_t debug[DEBUG_WORDS_2 * 8], struct head *head)
{
    uint64_t version = tg_link_word(debug, 0, maps->word) & UINT32_MAX;
    size_t next_offset = DEBUG_WORDS * maps->word;
    if (maps->version < 2 && version >= 2) { /* the first dlmopen happened */
        if (!tg_memory_read(pid, space->debug + next_offset, debug + next_offset, maps->word))
            return false;
        maps->version = version;
    }
    *head = (struct head){
        .map = tg_link_word(debug, 1, maps->word),
        .brk = tg_link_word(debug, 2, maps->word),
        .state = tg_link_word(debug, 3, maps->word) & UINT32_MAX,
        .next = maps->version >= 2 ? tg_link_word(debug, 5, maps->word) : 0,
    };
    return true;
}

/* In the middle of an addition: r_debug and the expected node alone, in one system call. The tail was looked
 * at when the node was seen behind it; false where the node does not follow it any more. */
static bool read_expected(struct tg_link_maps *maps, pid_t pid, const struct tg_link_space *space,
                          struct ends *ends)
{
    uint8_t debug[DEBUG_WORDS_2 * 8] = {0};
    size_t words = maps->version >= 2 ? DEBUG_WORDS_2 : DEBUG_WORDS;
    const struct tg_memory_range ranges[] = {
        {space->debug, debug, words * maps->word},
        tg_link_window_range(&maps->ahead, space->expected, maps->word),
    };
    if (tg_memory_read_ranges(pid, ranges, 2) < 2)
        return false;
    const uint8_t *bytes = maps->ahead.bytes + maps->ahead.before;
    uint64_t tail = space->objects[space->count - 1]->link_map;
    if (tg_link_node_parse(bytes, maps->word, space->expected).previous != tail)
        return false;
    maps->ahead.address = space->expected;
    ends->tail = (struct tg_link_node){.address = tail, .next = space->expected};
    ends->tail_same = true;
    return take_head(maps, pid, space, debug, &ends->head);
}

/* r_debug and the last known object in one system call. False where r_debug itself cannot be read. */
static bool read_ends(struct tg_link_maps *maps, pid_t pid, const struct tg_link_space *space,
                      struct ends *ends, bool *took_along)
{
    maps->ahead.address = 0;
    if (space->expected != 0 && maps->along.buffer == NULL && read_expected(maps, pid, space, ends))
        return true;
    uint8_t debug[DEBUG_WORDS_2 * 8] = {0};
    struct tg_link_remembered found;
    size_t words = maps->version >= 2 ? DEBUG_WORDS_2 : DEBUG_WORDS;
    struct tg_memory_range ranges[4] = {{space->debug, debug, words * maps->word}};
    size_t count = 1;
    const struct tg_loaded_object *tail = space->count > 0 ? space->objects[space->count - 1] : NULL;
    if (tail != NULL)
        count += tg_link_remembered_ranges(tail, maps->word, &found, ranges + count);
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
        ends->tail = tg_link_node_parse(found.node, maps->word, tail->link_map);
        /* unloaded and loaded again it may look the same, but follows another */
        uint64_t before = space->count > 1 ? space->objects[space->count - 2]->link_map : 0;
        ends->tail_same =
            tg_link_node_is(pid, tail, &ends->tail, found.name) && ends->tail.previous == before;
    }
    return take_head(maps, pid, space, debug, &ends->head);
}

bool tg_link_maps_peek(const struct tg_link_maps *maps, pid_t pid, uint64_t *r_brk, uint64_t *state)
{
    uint8_t bytes[DEBUG_WORDS * 8];
    if (!tg_memory_read(pid, maps->spaces[0].debug, bytes, DEBUG_WORDS * maps->word))
        return false;
    *r_brk = tg_link_word(bytes, 2, maps->word);
    *state = tg_link_word(bytes, 3, maps->word) & UINT32_MAX;
    return true;
}

/* ---- reading on from the tail */

/* Appends what follows PREVIOUS (0: nothing) from ADDRESS on to SPACE and to ADDED. Stops at the first node
 * that cannot be right: its l_prev must name its predecessor, which also makes every cycle end. False where
 * an unload was missed: nothing is appended then. */
static bool read_on(const struct tg_link_list *list, uint64_t address, uint64_t previous,
                    struct tg_link_delta *delta)
{
    struct tg_link_space *space = list->space;
    struct tg_link_change *change = list->change;
    size_t known = space->count;
    while (address != 0) {
        struct tg_link_node node;
        char name[TG_LINK_NAME_BYTES];
        struct tg_loaded_object *object;
        bool no_memory = false;
        if (space->count >= TG_LINK_MAP_MAX_OBJECTS) {
            tg_link_delta_set_problem(delta, tg_link_too_long, address);
            return true;
        }
        if (tg_link_space_has(space, known, address)) {
            while (space->count > known)
                tg_loaded_object_unref(space->objects[--space->count]);
            tg_link_objects_drop(&change->added, &change->n_added);
            return false;
        }
        if (!tg_link_node_read(list->pid, address, list->word, list->ahead, &node, name) ||
            node.previous != previous) {
            tg_link_delta_set_problem(delta, tg_link_broken_list, address);
            space->suspect = true;
            return true;
        }
        if (!tg_loaded_object_read(list->pid, &node, name, list->is_base && space->count == 0, &object,
                                   &no_memory)) {
            tg_link_delta_set_problem(delta, no_memory ? tg_link_out_of_memory : tg_link_unreadable_name,
                                      address);
            return true;
        }
        if (!tg_link_space_append(space, object) ||
            !tg_link_objects_note(&change->added, &change->n_added, object)) {
            tg_link_delta_set_problem(delta, tg_link_out_of_memory, address);
            return true;
        }
        previous = address;
        address = node.next;
    }
    return true;
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
    maps->spaces[maps->n_spaces] = (struct tg_link_space){.debug = address};
    return maps->n_spaces++;
}

/* One namespace; returns its r_next, 0 at the end or where it cannot be read. */
static uint64_t update_space(struct tg_link_maps *maps, pid_t pid, size_t index, enum tg_link_look look,
                             struct tg_link_delta *delta)
{
    struct tg_link_space *space = &maps->spaces[index];
    const struct tg_link_list list = {.pid = pid,
                                      .word = maps->word,
                                      .is_base = index == 0,
                                      .ahead = &maps->ahead,
                                      .space = space,
                                      .change = &maps->changes[index]};
    struct ends ends;
    if (!read_ends(maps, pid, space, &ends, &delta->took_along)) {
        tg_link_delta_set_problem(delta, "cannot read the loader's r_debug", space->debug);
        space->suspect = true;
        return 0;
    }
    uint64_t state = ends.head.state;
    if (state != TG_LINK_CONSISTENT && delta->state == TG_LINK_CONSISTENT)
        delta->state = state;
    maps->changes[index].namespace_index = (unsigned)index;
    maps->changes[index].state = state;
    if (ends.head.map == 0 && state == TG_LINK_ADD)
        ends.head.map = maps->begins_at;
    bool is_complete = look == TG_LINK_LOOK_LAST || look == TG_LINK_LOOK_ADDED;
    bool in_the_middle = state == TG_LINK_ADD && !space->adding && !is_complete;
    space->adding = state == TG_LINK_ADD && !is_complete;
    space->expected = in_the_middle && ends.tail_same ? ends.tail.next : 0;
    if (in_the_middle)
        return ends.head.next;
    bool same_so_far = space->count > 0 && ends.tail_same && space->objects[0]->link_map == ends.head.map;
    bool whole = !same_so_far || space->suspect || look == TG_LINK_LOOK_WHOLE || look == TG_LINK_LOOK_LAST ||
                 !read_on(&list, ends.tail.next, ends.tail.address, delta);
    if (whole && (space->count > 0 || ends.head.map != 0))
        tg_link_list_compare(&list, ends.head.map, delta);
    if (state == TG_LINK_DELETE)
        space->suspect = true; /* the objects go between this stop and the next */
    return ends.head.next;
}

void tg_link_maps_begin_at(struct tg_link_maps *maps, uint64_t head)
{
    maps->begins_at = head;
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
            tg_link_delta_set_problem(delta, "more than 64 loader namespaces, or a broken chain of them",
                                      debug);
            break;
        }
        maps->n_used = index < maps->n_used ? maps->n_used : index + 1;
        debug = update_space(maps, pid, index, look, delta);
        last = index > last ? index : last;
    }
    maps->begins_at = 0;
    /* Changed namespaces come to the front, in order of their index. */
    for (size_t i = 0; i <= last; i++) {
        struct tg_link_change change = maps->changes[i];
        if (change.n_added == 0 && change.n_removed == 0)
            continue;
        maps->changes[i] = (struct tg_link_change){0};
        maps->changes[delta->n_changes++] = change;
    }
}
