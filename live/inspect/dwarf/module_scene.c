#include "live/inspect/dwarf/module_scene.h"

#include "format/base/search.h"
#include "live/inspect/dwarf/thread_local.h"

#include <dwarf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* TG_SCENE_OBJECT first: that is what is handed out. */
struct object {
    struct tg_scene_object object;
    const struct tg_module *module;
    struct tg_debug_info *info;
    uint64_t bias; /* of the image */
    bool was_opened;
};

struct tg_module_scene {
    struct tg_modules *modules;
    struct object *objects; /* as the modules */
    size_t n_objects;
    struct tg_thread_local storage;
    uint64_t fs_base;
    struct tg_scene scene;
};

static struct object *open_object(struct tg_module_scene *scene, size_t index)
{
    struct object *object = &scene->objects[index];
    if (object->was_opened)
        return object;
    object->was_opened = true;
    object->info = tg_modules_debug_info(scene->modules, object->module, &object->bias);
    if (object->info == NULL)
        return object;
    object->object.dwarf = tg_debug_info_dwarf(object->info);
    if (object->object.dwarf == NULL)
        return object;
    object->object.bias = object->bias + tg_debug_info_delta(object->info);
    if (!tg_module_is_agent(object->module)) /* nobody means names of the agent */
        object->object.names = tg_debug_info_names(object->info);
    return object;
}

static const struct tg_scene_object *scene_object(void *context, size_t index)
{
    struct tg_module_scene *scene = context;
    return index < scene->n_objects ? &open_object(scene, index)->object : NULL;
}

static const struct tg_scene_object *scene_object_at(void *context, uint64_t address)
{
    struct tg_module_scene *scene = context;
    const struct tg_module *module = tg_modules_find(scene->modules, address);
    if (module == NULL)
        return NULL;
    size_t at = TG_LOWER_BOUND(scene->objects, scene->n_objects, module->start, module->start);
    return at < scene->n_objects && scene->objects[at].module == module ? &open_object(scene, at)->object
                                                                        : NULL;
}

static size_t scopes_at(void *context, const struct tg_scene_object *handed_out, uint64_t address,
                        Dwarf_Die *scopes, size_t max)
{
    const struct object *object = (const struct object *)handed_out;
    struct tg_debug_units *units = object->info == NULL ? NULL : tg_debug_info_units(object->info);
    (void)context;
    return units == NULL ? 0 : tg_debug_units_scopes_at(units, address - object->bias, scopes, max);
}

static bool unit_at(void *context, const struct tg_scene_object *handed_out, uint64_t address,
                    Dwarf_Die *unit)
{
    const struct object *object = (const struct object *)handed_out;
    struct tg_debug_units *units = object->info == NULL ? NULL : tg_debug_info_units(object->info);
    (void)context;
    return units != NULL && tg_debug_units_find(units, address - object->bias, unit);
}

/* The name of the function at ADDRESS in its source; NULL not known. */
static const char *function_name(struct tg_module_scene *scene, uint64_t address)
{
    uint64_t bias;
    struct tg_debug_info *info = tg_modules_debug_info_at(scene->modules, address, &bias);
    const struct tg_code_place *place = info == NULL ? NULL : tg_debug_info_place(info, address - bias);
    const struct tg_code_call *function =
        place == NULL || place->count == 0 ? NULL : &place->calls[place->count - 1];
    return function == NULL || !function->has_function ? NULL : function->name;
}

static bool symbol_at(void *context, uint64_t address, char *name, size_t size, uint64_t *offset)
{
    struct tg_module_scene *scene = context;
    const char *found;
    if (!tg_modules_symbol_at(scene->modules, address, &found, offset))
        return false;
    const char *of_source = strncmp(found, "_Z", 2) == 0 ? function_name(scene, address) : NULL;
    snprintf(name, size, "%s", of_source == NULL ? found : of_source);
    return true;
}

struct wanted {
    const char *name;
    struct tg_image_symbol found;
    bool is_found;
};

static void take_symbol(void *context, const struct tg_image_symbol *symbol)
{
    struct wanted *wanted = context;
    if (!wanted->is_found && strcmp(symbol->name, wanted->name) == 0) {
        wanted->is_found = true;
        wanted->found = *symbol;
    }
}

static bool symbol_named(void *context, const char *name, uint64_t *address, uint64_t *size_bytes)
{
    struct tg_module_scene *scene = context;
    for (size_t i = 0; i < scene->n_objects; i++) {
        struct object *object = open_object(scene, i);
        struct wanted wanted = {.name = name};
        if (object->info != NULL && !tg_module_is_agent(object->module))
            tg_image_each_symbol(tg_debug_info_image(object->info), name, false, take_symbol, &wanted);
        if (wanted.is_found) {
            *address = wanted.found.address + object->bias;
            *size_bytes = wanted.found.size_bytes;
            return true;
        }
    }
    return false;
}

static struct tg_error *thread_local_at(void *context, const struct tg_scene_object *handed_out,
                                        uint64_t offset, bool may_be_address, uint64_t *address)
{
    struct tg_module_scene *scene = context;
    const struct object *object = (const struct object *)handed_out;
    return tg_thread_local_address(&scene->storage, scene->modules, &scene->scene.memory, object->module,
                                   scene->fs_base, offset, may_be_address, address);
}

static const struct tg_scene_ops ops = {
    .object = scene_object,
    .object_at = scene_object_at,
    .scopes_at = scopes_at,
    .unit_at = unit_at,
    .symbol_at = symbol_at,
    .symbol_named = symbol_named,
    .thread_local_at = thread_local_at,
};

/* A number that no other has: the time, which no two refreshments share. */
static uint64_t next_generation(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec + 1;
}

struct tg_error *tg_module_scene_refresh(struct tg_module_scene *scene)
{
    size_t n = tg_modules_count(scene->modules);
    struct object *objects = calloc(n + 1, sizeof *objects);
    free(scene->objects);
    scene->objects = objects;
    scene->n_objects = 0;
    scene->storage = (struct tg_thread_local){0};
    scene->scene.generation = next_generation();
    if (objects == NULL)
        return tg_error_no_memory();
    for (size_t i = 0; i < n; i++) {
        objects[i].module = tg_modules_at(scene->modules, i);
        objects[i].object.name = objects[i].module->path;
    }
    scene->n_objects = n;
    return NULL;
}

struct tg_error *tg_module_scene_create(struct tg_modules *modules, struct tg_module_scene **result)
{
    struct tg_module_scene *scene = calloc(1, sizeof *scene);
    if (scene == NULL)
        return tg_error_no_memory();
    scene->modules = modules;
    scene->scene = (struct tg_scene){.ops = &ops, .context = scene};
    struct tg_error *error = tg_module_scene_refresh(scene);
    if (error != NULL) {
        tg_module_scene_destroy(scene);
        return error;
    }
    *result = scene;
    return NULL;
}

void tg_module_scene_destroy(struct tg_module_scene *scene)
{
    if (scene == NULL)
        return;
    free(scene->objects);
    free(scene);
}

struct tg_scene *tg_module_scene_of(struct tg_module_scene *scene, const struct tg_inspect_memory *memory,
                                    const struct tg_inspect_wide_registers *wide,
                                    const struct tg_frame *frame, const struct tg_frame *caller,
                                    uint64_t fs_base)
{
    scene->scene.memory = *memory;
    scene->scene.wide = wide == NULL ? (struct tg_inspect_wide_registers){0} : *wide;
    scene->scene.frame = frame;
    scene->scene.caller = caller;
    scene->scene.inlined = 0;
    scene->fs_base = fs_base;
    return &scene->scene;
}
