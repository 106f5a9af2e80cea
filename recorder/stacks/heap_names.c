#include "recorder/stacks/heap_names.h"

#include "format/base/hash.h"
#include "format/base/string_pool.h"
#include "recorder/engine/engine.h"
#include "recorder/stacks/code_table.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_ADDRESSES = 1 << 16, KNOWN_PLACES = 1 << 10 };

/* Strings are the pool's: equal ones are the same. */
struct object_key {
    const char *module, *build_id;
};

struct place_key {
    struct object_key object;
    uint64_t address;
};

struct place {
    struct place_key key;
    UT_hash_handle hh;
};

struct object {
    struct object_key key;
    struct tg_debug_info *info; /* NULL: there is none, or it is another file's */
    UT_hash_handle hh;
};

struct tg_heap_names {
    struct place *places; /* in the order of addition */
    struct object *objects;
    struct tg_string_pool strings;
    struct place_key known[KNOWN_PLACES]; /* of PLACES, those looked for last; module NULL: none */
};

struct tg_error *tg_heap_names_create(struct tg_heap_names **names)
{
    *names = calloc(1, sizeof **names);
    return *names == NULL ? tg_error_no_memory() : NULL;
}

void tg_heap_names_destroy(struct tg_heap_names *names)
{
    struct place *place, *next_place;
    struct object *object, *next_object;
    if (names == NULL)
        return;
    HASH_ITER (hh, names->places, place, next_place) {
        HASH_DEL(names->places, place);
        free(place);
    }
    HASH_ITER (hh, names->objects, object, next_object) {
        HASH_DEL(names->objects, object);
        tg_debug_info_unref(object->info);
        free(object);
    }
    tg_string_pool_deinit(&names->strings);
    free(names);
}

/* Whether KNOWN is of the place of FRAME, whose strings are the event's own. */
static bool is_same(const struct place_key *known, const struct tg_stack_frame *frame)
{
    return known->address == frame->address && known->object.module != NULL &&
           strcmp(known->object.module, frame->module) == 0 &&
           strcmp(known->object.build_id, frame->build_id) == 0;
}

static void add_frame(struct tg_heap_names *names, const struct tg_stack_frame *frame)
{
    struct place_key *known =
        &names->known[frame->address * UINT64_C(0x9e3779b97f4a7c15) >> 32 & (KNOWN_PLACES - 1)];
    if (is_same(known, frame))
        return;
    struct place_key key;
    struct place *place = NULL;
    memset(&key, 0, sizeof key);
    key.address = frame->address;
    if (*frame->module == '\0' || HASH_COUNT(names->places) >= MAX_ADDRESSES ||
        tg_string_pool_intern(&names->strings, frame->module, &key.object.module) != NULL ||
        tg_string_pool_intern(&names->strings, frame->build_id, &key.object.build_id) != NULL)
        return;
    HASH_FIND(hh, names->places, &key, sizeof key, place);
    if (place == NULL)
        tg_error_destroy(TG_HASH_CREATE(hh, names->places, key, &key, place));
    if (place != NULL)
        *known = key;
}

void tg_heap_names_add(struct tg_heap_names *names, const struct tg_event_heap_stack *stack)
{
    const struct tg_stack_frame *frames = stack->frames.items;
    for (size_t i = 0; i < stack->frames.count; i++)
        add_frame(names, &frames[i]);
}

/* The debug information of the file at KEY's path, if that is still the same. */
static struct tg_debug_info *open_object(const struct object_key *key)
{
    struct tg_image *image = NULL;
    struct tg_debug_info *info = NULL;
    struct tg_error *error = tg_image_open(key->module, &image);
    if (error == NULL && strcmp(tg_image_info(image)->build_id, key->build_id) == 0)
        error = tg_debug_info_create(image, &info);
    tg_image_unref(image);
    tg_error_destroy(error);
    return info;
}

static struct tg_debug_info *info_of(struct tg_heap_names *names, const struct object_key *key)
{
    struct object *object = NULL;
    HASH_FIND(hh, names->objects, key, sizeof *key, object);
    if (object == NULL) {
        struct tg_error *error = TG_HASH_CREATE(hh, names->objects, key, key, object);
        if (error == NULL)
            object->info = open_object(key);
        tg_error_destroy(error);
    }
    return object == NULL ? NULL : object->info;
}

/* Hands events on as of one time. */
struct telling {
    void (*emit)(void *context, const struct tg_event *event);
    void *context;
    uint64_t time_ns;
};

static void emit_now(void *context, const struct tg_event *event)
{
    const struct telling *telling = context;
    struct tg_event stamped = *event;
    stamped.time_ns = telling->time_ns;
    telling->emit(telling->context, &stamped);
}

/* Returns how many addresses were not looked up until UNTIL_NS. */
static size_t tell_until(struct tg_heap_names *names, uint64_t until_ns, struct telling *telling)
{
    struct tg_code_table *table = NULL;
    struct tg_error *error = tg_code_table_create(&table);
    for (struct place *place = names->places; error == NULL && place != NULL; place = place->hh.next) {
        struct tg_debug_info *info = info_of(names, &place->key.object);
        const struct tg_module module = {.path = place->key.object.module,
                                         .build_id = place->key.object.build_id};
        if (info != NULL)
            tg_code_table_add(table, &module, info, place->key.address);
    }
    size_t left = error == NULL ? tg_code_table_tell(table, until_ns, true, emit_now, telling) : 0;
    tg_code_table_destroy(table);
    tg_error_destroy(error);
    return left;
}

void tg_heap_names_tell(struct tg_heap_names *names,
                        void (*emit)(void *context, const struct tg_event *event), void *context)
{
    const uint64_t within_ns = 2000000000;
    char text[120];
    if (names == NULL)
        return;
    struct telling telling = {emit, context, tg_engine_now_ns()};
    size_t left = tell_until(names, telling.time_ns + within_ns, &telling);
    if (left == 0)
        return;
    snprintf(text, sizeof text,
             "heap: two seconds were spent on names; %zu addresses of code were not looked up", left);
    emit_now(&telling, &(struct tg_event){.kind = TG_EVENT_NOTE, .note = {.text = text}});
}
