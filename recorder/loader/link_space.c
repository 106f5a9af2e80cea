#include "recorder/loader/link_space.h"

#include "format/base/array.h"

#include <stdlib.h>

const char tg_link_out_of_memory[] = "out of memory while reading the loader's list";
const char tg_link_broken_list[] = "the loader's list is broken";
const char tg_link_unreadable_name[] = "cannot read the name of an object in the loader's list";
const char tg_link_too_long[] = "the loader's list is longer than 65536 objects";

static size_t place_of(uint64_t address)
{
    return (size_t)((address >> 4) * UINT64_C(0x9e3779b97f4a7c15) >> (64 - TG_LINK_SPACE_PLACE_BITS));
}

/* Takes over OBJECT's reference. */
static bool append(struct tg_loaded_object ***objects, size_t *count, size_t *capacity,
                   struct tg_loaded_object *object)
{
    bool added = TG_ARRAY_APPEND(*objects, *count, *capacity, object) == NULL;
    if (!added)
        tg_loaded_object_unref(object);
    return added;
}

bool tg_link_space_append(struct tg_link_space *space, struct tg_loaded_object *object)
{
    size_t place = place_of(object->link_map);
    space->places[place / 64] |= UINT64_C(1) << place % 64;
    return append(&space->objects, &space->count, &space->capacity, object);
}

bool tg_link_space_has(const struct tg_link_space *space, size_t count, uint64_t address)
{
    size_t i = 0, place = place_of(address);
    if ((space->places[place / 64] >> place % 64 & 1) == 0)
        return false;
    while (i < count && space->objects[i]->link_map != address)
        i++;
    return i < count;
}

void tg_link_objects_drop(struct tg_loaded_object ***objects, size_t *count)
{
    for (size_t i = 0; i < *count; i++)
        tg_loaded_object_unref((*objects)[i]);
    free(*objects);
    *objects = NULL;
    *count = 0;
}

/* Change lists double at every power of two, so that they need no capacity of their own.  */
bool tg_link_objects_note(struct tg_loaded_object ***objects, size_t *count, struct tg_loaded_object *object)
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

void tg_link_delta_set_problem(struct tg_link_delta *delta, const char *text, uint64_t address)
{
    if (delta->problem != NULL)
        return;
    delta->problem = text;
    delta->problem_address = address;
}
