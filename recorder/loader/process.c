#include "recorder/loader/process.h"

#include "format/base/array.h"
#include "format/image/dynamic_loader.h"
#include "recorder/process/mappings.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

struct tg_loader_process *tg_loader_process_create(void)
{
    struct tg_loader_process *watched = calloc(1, sizeof *watched);
    if (watched != NULL)
        watched->references = 1;
    return watched;
}

struct tg_loader_process *tg_loader_process_ref(struct tg_loader_process *watched)
{
    watched->references++;
    return watched;
}

struct tg_loader_process *tg_loader_process_copy(const struct tg_loader_process *watched)
{
    struct tg_loader_process *copy = tg_loader_process_create();
    if (copy == NULL)
        return NULL;
    *copy = *watched;
    copy->references = 1;
    copy->waiting = NULL;
    copy->n_waiting = copy->waiting_capacity = 0;
    copy->maps = watched->maps != NULL ? tg_link_maps_copy(watched->maps) : NULL;
    if (watched->n_waiting > 0)
        copy->waiting = calloc(watched->n_waiting, sizeof copy->waiting[0]);
    if ((watched->maps != NULL && copy->maps == NULL) || (watched->n_waiting > 0 && copy->waiting == NULL)) {
        tg_loader_process_unref(copy);
        return NULL;
    }
    copy->waiting_capacity = watched->n_waiting;
    for (; copy->n_waiting < watched->n_waiting; copy->n_waiting++) {
        copy->waiting[copy->n_waiting] = watched->waiting[copy->n_waiting];
        tg_loaded_object_ref(copy->waiting[copy->n_waiting].object);
    }
    return copy;
}

void tg_loader_process_unref(struct tg_loader_process *watched)
{
    if (watched == NULL || --watched->references > 0)
        return;
    tg_loader_process_drop_waiting(watched);
    tg_link_maps_destroy(watched->maps);
    free(watched);
}

/* ---- waiting libraries */

bool tg_loader_process_wait(struct tg_loader_process *watched, struct tg_loaded_object *const *objects,
                            size_t count, uint64_t since_ns)
{
    if (TG_ARRAY_RESERVE(watched->waiting, watched->waiting_capacity, watched->n_waiting + count) != NULL)
        return false;
    for (size_t i = 0; i < count; i++)
        watched->waiting[watched->n_waiting++] =
            (struct tg_waiting_library){.object = tg_loaded_object_ref(objects[i]), .since_ns = since_ns};
    watched->waiting_events++;
    return true;
}

void tg_loader_process_forget(struct tg_loader_process *watched, const struct tg_loaded_object *object)
{
    size_t kept = 0;
    for (size_t i = 0; i < watched->n_waiting; i++) {
        if (watched->waiting[i].object == object)
            tg_loaded_object_unref(watched->waiting[i].object);
        else
            watched->waiting[kept++] = watched->waiting[i];
    }
    watched->n_waiting = kept;
}

struct tg_waiting_libraries tg_loader_process_take_waiting(struct tg_loader_process *watched)
{
    struct tg_waiting_libraries taken = {watched->waiting, watched->n_waiting};
    watched->waiting = NULL;
    watched->n_waiting = watched->waiting_capacity = 0;
    watched->waiting_events = watched->n_unread = 0;
    return taken;
}

void tg_waiting_libraries_free(struct tg_waiting_libraries *libraries)
{
    for (size_t i = 0; i < libraries->count; i++)
        tg_loaded_object_unref(libraries->items[i].object);
    free(libraries->items);
    *libraries = (struct tg_waiting_libraries){0};
}

void tg_loader_process_drop_waiting(struct tg_loader_process *watched)
{
    struct tg_waiting_libraries waiting = tg_loader_process_take_waiting(watched);
    tg_waiting_libraries_free(&waiting);
}

bool tg_loader_process_waits(const struct tg_loader_process *watched, const struct tg_loaded_object *object)
{
    for (size_t i = 0; i < watched->n_waiting; i++)
        if (watched->waiting[i].object == object)
            return true;
    return false;
}

/* ---- start-up */

bool tg_loader_process_lists_loader(const struct tg_loader_process *watched)
{
    size_t count = tg_link_maps_count(watched->maps, 0);
    for (size_t i = 0; i < count; i++) {
        if (tg_link_maps_at(watched->maps, 0, i)->base == watched->loader_base)
            return true;
    }
    return false;
}

size_t tg_loader_process_startup_libraries(const struct tg_loader_process *watched,
                                           const struct tg_thread *thread,
                                           const struct tg_link_change *change)
{
    if (change->namespace_index != 0)
        return change->n_added;
    size_t count = tg_link_maps_count(watched->maps, 0);
    if (count == 0)
        return change->n_added;
    struct tg_loaded_object **objects = calloc(count, sizeof *objects);
    if (objects == NULL)
        return change->n_added;
    for (size_t i = 0; i < count; i++)
        objects[i] = tg_link_maps_at(watched->maps, 0, i);
    size_t startup = tg_loaded_object_startup_count(thread->tid, thread->process->bits, objects, count,
                                                    watched->loader_base);
    size_t libraries = 0;
    for (size_t i = 0; i < startup; i++)
        libraries += objects[i]->is_library;
    free(objects);
    return libraries < change->n_added ? libraries : change->n_added;
}

struct tg_break_object tg_loader_process_target(const struct tg_loaded_object *object)
{
    return (struct tg_break_object){
        .path = object->path,
        .build_id = object->build_id[0] != '\0' ? object->build_id : NULL,
        .load_bias = object->base,
        .header = object->header,
        .size_bytes = object->size_bytes,
    };
}

/* ---- the loader as an image */

/* The file that is mapped at ADDRESS, "" where there is none. */
static void mapped_path(pid_t pid, uint64_t address, char path[PATH_MAX])
{
    struct tg_mappings mappings;
    struct tg_mapping mapping;
    bool found = false;
    path[0] = '\0';
    tg_mappings_open(&mappings, pid);
    while (!found && tg_mappings_next(&mappings, &mapping)) {
        found = mapping.start <= address && address < mapping.end;
        if (found)
            snprintf(path, PATH_MAX, "%s", mapping.path);
    }
    tg_mappings_close(&mappings);
}

struct tg_loaded_object *tg_loader_process_program(const struct tg_loader_process *watched, pid_t tid)
{
    if (!watched->loader_is_program || tg_link_maps_count(watched->maps, 0) == 0)
        return NULL;
    const struct tg_loaded_object *main = tg_link_maps_at(watched->maps, 0, 0);
    char path[PATH_MAX];
    mapped_path(tid, main->dynamic, path);
    if (main->is_library || path[0] != '/')
        return NULL;
    const struct tg_link_node node = {
        .address = main->link_map, .base = main->base, .dynamic = main->dynamic};
    struct tg_loaded_object *program = NULL;
    bool no_memory;
    (void)tg_loaded_object_read(tid, &node, path, false, &program, &no_memory);
    return program;
}

uint64_t tg_loader_process_symbol(const struct tg_thread *thread, struct tg_image_cache *images,
                                  const char *name)
{
    uint64_t base = thread->process->loader_base;
    char path[PATH_MAX];
    mapped_path(thread->tid, base, path);
    struct tg_image_source source = {.pid = thread->tid, .path = path, .load_bias = base, .header = base};
    struct tg_image *image = tg_image_cache_find(images, &source);
    if (image == NULL)
        return 0;
    uint64_t address = 0;
    size_t count = tg_image_find_function(image, name, &address, 1);
    tg_image_unref(image);
    return count > 0 ? base + address : 0;
}

bool tg_loader_process_is_loader(const struct tg_thread *thread, struct tg_image_cache *images,
                                 uint64_t *loader_base, uint64_t *brk)
{
    const struct tg_image_source source = {.pid = thread->tid};
    struct tg_image *image = tg_image_cache_find(images, &source);
    if (image == NULL)
        return false;
    uint64_t address = 0;
    bool is_loader = tg_image_is_dynamic_loader(image, &address);
    if (is_loader) {
        *loader_base = thread->process->entry - tg_image_info(image)->entry;
        *brk = *loader_base + address;
    }
    tg_image_unref(image);
    return is_loader;
}
