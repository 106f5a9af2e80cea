#include "analyzer/models/addresses.h"

#include "format/base/array.h"
#include "format/base/hash.h"
#include "format/base/search.h"
#include "format/base/string_pool.h"

#include <stdlib.h>
#include <string.h>

struct address_space {
    int32_t pid;
    struct tg_mapped_object program; /* path NULL: not known */
    struct tg_mapped_object *items;  /* libraries by base, each base once */
    size_t count, capacity;
    UT_hash_handle hh;
};

struct tg_addresses {
    struct address_space *spaces;
    struct tg_string_pool strings;
};

struct tg_error *tg_addresses_create(struct tg_addresses **model)
{
    struct tg_addresses *made = calloc(1, sizeof *made);
    if (made == NULL)
        return tg_error_no_memory();
    *model = made;
    return NULL;
}

static struct address_space *find_space(const struct tg_addresses *model, int64_t pid)
{
    struct address_space *space = NULL;
    int32_t key = (int32_t)pid;
    if (key == pid)
        HASH_FIND(hh, model->spaces, &key, sizeof key, space);
    return space;
}

static void drop_space(struct tg_addresses *model, struct address_space *space)
{
    if (space == NULL)
        return;
    HASH_DEL(model->spaces, space);
    free(space->items);
    free(space);
}

void tg_addresses_destroy(struct tg_addresses *model)
{
    if (model == NULL)
        return;
    struct address_space *space, *next;
    HASH_ITER (hh, model->spaces, space, next)
        drop_space(model, space);
    tg_string_pool_deinit(&model->strings);
    free(model);
}

/* The address space of PID, an empty one where there was none; NULL: no memory. */
static struct address_space *need_space(struct tg_addresses *model, int32_t pid)
{
    struct address_space *space = find_space(model, pid);
    if (space != NULL)
        return space;
    (void)TG_HASH_CREATE(hh, model->spaces, pid, &pid, space); /* NULL without memory */
    return space;
}

struct tg_error *tg_addresses_copy(const struct tg_addresses *model, struct tg_addresses **copy)
{
    struct tg_addresses *made = NULL;
    struct tg_error *error = tg_addresses_create(&made);
    if (error != NULL)
        return error;
    tg_string_pool_share(&model->strings, &made->strings);
    for (const struct address_space *from = model->spaces; error == NULL && from != NULL;
         from = from->hh.next) {
        struct address_space *space = need_space(made, from->pid);
        error = space == NULL
                    ? tg_error_no_memory()
                    : TG_ARRAY_COPY(space->items, space->count, space->capacity, from->items, from->count);
        if (error == NULL)
            space->program = from->program;
    }
    if (error == NULL)
        *copy = made;
    else
        tg_addresses_destroy(made);
    return error;
}

/* Index of the first object whose base is beyond ADDRESS. */
static size_t upper_bound(const struct address_space *space, uint64_t address)
{
    return TG_UPPER_BOUND(space->items, space->count, base, address);
}

static struct tg_error *make_object(struct tg_addresses *model, const char *path, const char *build_id,
                                    uint64_t base, uint64_t size_bytes, struct tg_mapped_object *object)
{
    struct tg_mapped_object made = {.base = base, .size_bytes = size_bytes};
    struct tg_error *error = tg_string_pool_intern(&model->strings, path, &made.path);
    if (error == NULL)
        error = tg_string_pool_intern(&model->strings, build_id, &made.build_id);
    if (error == NULL)
        *object = made;
    return error;
}

static struct tg_error *add_library(struct tg_addresses *model, struct address_space *space,
                                    const struct tg_library *library)
{
    struct tg_mapped_object object;
    struct tg_error *error =
        make_object(model, library->path, library->build_id, library->base, library->size_bytes, &object);
    if (error != NULL)
        return error;
    size_t at = upper_bound(space, object.base);
    if (at > 0 && space->items[at - 1].base == object.base) {
        space->items[at - 1] = object;
        return NULL;
    }
    return TG_ARRAY_INSERT(space->items, space->count, space->capacity, at, object);
}

static void remove_library(struct address_space *space, const struct tg_library *library)
{
    size_t at = upper_bound(space, library->base);
    if (at == 0 || space->items[at - 1].base != library->base)
        return;
    TG_ARRAY_REMOVE(space->items, space->count, at - 1);
}

/* A child begins with the objects of its parent. */
static struct tg_error *inherit(struct tg_addresses *model, const struct tg_event *event)
{
    drop_space(model, find_space(model, event->pid)); /* the kernel used the pid again */
    const struct address_space *parent = find_space(model, event->process_start.parent_pid);
    if (parent == NULL ||
        (event->process_start.origin != TG_ORIGIN_FORK && event->process_start.origin != TG_ORIGIN_VFORK &&
         event->process_start.origin != TG_ORIGIN_CLONE))
        return NULL;
    struct address_space *space = need_space(model, event->pid);
    if (space == NULL)
        return tg_error_no_memory();
    space->program = parent->program;
    return TG_ARRAY_COPY(space->items, space->count, space->capacity, parent->items, parent->count);
}

static struct tg_error *load(struct tg_addresses *model, const struct tg_event *event)
{
    struct address_space *space = need_space(model, event->pid);
    if (space == NULL)
        return tg_error_no_memory();
    const struct tg_library *libraries = event->library_load.libraries.items;
    struct tg_error *error = NULL;
    for (uint64_t i = 0; error == NULL && i < event->library_load.libraries.count; i++)
        error = add_library(model, space, &libraries[i]);
    return error;
}

static void unload(struct tg_addresses *model, const struct tg_event *event)
{
    struct address_space *space = find_space(model, event->pid);
    const struct tg_library *libraries = event->library_unload.libraries.items;
    for (uint64_t i = 0; space != NULL && i < event->library_unload.libraries.count; i++)
        remove_library(space, &libraries[i]);
}

/* Another program: nothing of the old one is left. */
static struct tg_error *start_program(struct tg_addresses *model, const struct tg_event *event)
{
    struct address_space *space = need_space(model, event->pid);
    if (space == NULL)
        return tg_error_no_memory();
    const struct tg_event_program *program = &event->program;
    return make_object(model, program->path, program->build_id, program->base, 0, &space->program);
}

bool tg_addresses_needs(unsigned kind)
{
    return kind == TG_EVENT_PROCESS_START || kind == TG_EVENT_EXEC || kind == TG_EVENT_PROCESS_EXIT ||
           kind == TG_EVENT_PROGRAM || kind == TG_EVENT_LIBRARY_LOAD || kind == TG_EVENT_LIBRARY_UNLOAD;
}

struct tg_error *tg_addresses_feed(struct tg_addresses *model, const struct tg_event *event)
{
    switch ((unsigned)event->kind) {
    case TG_EVENT_PROCESS_START:
        return inherit(model, event);
    case TG_EVENT_EXEC:
    case TG_EVENT_PROCESS_EXIT:
        drop_space(model, find_space(model, event->pid));
        return NULL;
    case TG_EVENT_PROGRAM:
        return start_program(model, event);
    case TG_EVENT_LIBRARY_LOAD:
        return load(model, event);
    case TG_EVENT_LIBRARY_UNLOAD:
        unload(model, event);
        return NULL;
    default:
        return NULL;
    }
}

const struct tg_mapped_object *tg_addresses_find(const struct tg_addresses *model, int32_t pid,
                                                 uint64_t address)
{
    const struct address_space *space = find_space(model, pid);
    if (space == NULL)
        return NULL;
    size_t at = upper_bound(space, address);
    const struct tg_mapped_object *below = at == 0 ? NULL : &space->items[at - 1];
    if (below != NULL && address - below->base < below->size_bytes)
        return below;
    return space->program.path != NULL && address >= space->program.base ? &space->program : NULL;
}
