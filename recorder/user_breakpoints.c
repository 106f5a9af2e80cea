#include "recorder/user_breakpoints.h"

#include "format/break_spec.h"
#include "recorder/digest_set.h"
#include "recorder/symbol_probe.h"

#include <inttypes.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <xxhash.h>

enum {
    MAX_PLACES = 1024, /* of one specification in one object */
    MAX_SPECS = 65536,
    PAGE_BYTES = 4096,
};

struct spec {
    struct tg_user_breakpoints *owner;
    struct tg_break_spec *parsed;
    uint64_t id;
    bool resolver_told;
};

/* One planted breakpoint in one process. */
struct site {
    struct spec *spec;
    uint64_t address;
    char *library;
};

/* A process's sites: its data in the observer's slot; NULL while it has none. */
struct sites {
    struct site *items;
    size_t count;
    size_t capacity;
};

struct tg_user_breakpoints {
    struct tg_engine *engine;
    struct tg_image_cache *cache;
    struct tg_observer observer;
    unsigned slot;
    struct spec **specs; /* their addresses are the contexts of engine breakpoints */
    size_t count;
    struct tg_digest_set absences; /* files in which no specification has a place: not opened again */
    struct tg_symbol_probe *probe;
};

/* ---- sites of a process */

static struct sites *sites_of(const struct tg_user_breakpoints *breakpoints, const struct tg_process *process)
{
    return process->data[breakpoints->slot];
}

static void free_sites(struct tg_user_breakpoints *breakpoints, struct tg_process *process)
{
    struct sites *sites = sites_of(breakpoints, process);
    process->data[breakpoints->slot] = NULL;
    if (sites == NULL)
        return;
    for (size_t i = 0; i < sites->count; i++)
        free(sites->items[i].library);
    free(sites->items);
    free(sites);
}

static bool add_site(struct tg_user_breakpoints *breakpoints, struct tg_process *process, struct spec *spec,
                     uint64_t address, const char *library)
{
    struct sites *sites = sites_of(breakpoints, process);
    if (sites == NULL)
        process->data[breakpoints->slot] = sites = calloc(1, sizeof *sites);
    if (sites == NULL)
        return false;
    if (sites->count == sites->capacity) {
        size_t capacity = sites->capacity == 0 ? 8 : sites->capacity * 2;
        struct site *items = reallocarray(sites->items, capacity, sizeof *items);
        if (items == NULL)
            return false;
        sites->items = items;
        sites->capacity = capacity;
    }
    char *copy = strdup(library);
    if (copy == NULL)
        return false;
    sites->items[sites->count++] = (struct site){.spec = spec, .address = address, .library = copy};
    return true;
}

static bool has_site(const struct tg_user_breakpoints *breakpoints, const struct tg_process *process,
                     const struct spec *spec, uint64_t address)
{
    const struct sites *sites = sites_of(breakpoints, process);
    for (size_t i = 0; sites != NULL && i < sites->count; i++)
        if (sites->items[i].spec == spec && sites->items[i].address == address)
            return true;
    return false;
}

/* ---- what the engine tells */

static void process_started(void *context, struct tg_thread *thread, enum tg_process_origin origin,
                            struct tg_process *parent)
{
    struct tg_user_breakpoints *breakpoints = context;
    (void)origin;
    const struct sites *sites = parent == NULL ? NULL : sites_of(breakpoints, parent);
    for (size_t i = 0; sites != NULL && i < sites->count; i++)
        (void)add_site(
            breakpoints, thread->process, sites->items[i].spec, sites->items[i].address,
            sites->items[i].library); /* without memory it is hit all the same, only its end goes untold */
}

static void process_ended(void *context, struct tg_process *process)
{
    free_sites(context, process);
}

static void see_hit(void *context, struct tg_thread *thread, struct tg_breakpoint *breakpoint)
{
    const struct spec *spec = context;
    (void)tg_engine_emit(
        spec->owner->engine, thread,
        &(struct tg_event){
            .kind = TG_EVENT_BREAKPOINT_HIT,
            .breakpoint_hit = {.breakpoint = spec->id, .address = tg_breakpoint_address(breakpoint)},
        });
}

/* ---- planting */

/* What specifications are resolved in. */
struct planting {
    struct tg_user_breakpoints *breakpoints;
    struct tg_thread *thread;
    struct tg_user_breakpoint_object object;
    bool program;           /* OBJECT is the process's program */
    struct tg_image *image; /* opened when it is needed */
    bool image_tried;
    bool late;
    uint64_t window_ns;
    size_t n_places; /* found so far */
};

__attribute__((format(printf, 2, 3))) static void note(const struct planting *planting, const char *format,
                                                       ...)
{
    char text[2 * PATH_MAX];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    (void)tg_engine_emit(planting->breakpoints->engine, planting->thread,
                         &(struct tg_event){.kind = TG_EVENT_NOTE, .note = {.text = text}});
}

static struct tg_image_source source_of(const struct planting *planting)
{
    const struct tg_user_breakpoint_object *object = &planting->object;
    return (struct tg_image_source){
        .pid = planting->thread->tid,
        .path = planting->program ? "" : object->path,
        .load_bias = object->load_bias,
        .header = object->header,
        .build_id = object->build_id,
    };
}

static struct tg_image *image_of(struct planting *planting)
{
    if (planting->image_tried)
        return planting->image;
    planting->image_tried = true;
    const struct tg_image_source source = source_of(planting);
    TG_AUTO_ERROR struct tg_error *error =
        tg_image_cache_get(planting->breakpoints->cache, &source, &planting->image);
    if (error != NULL)
        note(planting, "no breakpoint can be looked for in %s: %s", planting->object.path,
             tg_error_message(error));
    return planting->image;
}

/* OPTIONAL: that it cannot be planted is no news. */
static void plant_at(const struct planting *planting, struct spec *spec, uint64_t address, bool optional)
{
    struct tg_user_breakpoints *breakpoints = planting->breakpoints;
    struct tg_process *process = planting->thread->process;
    if (has_site(breakpoints, process, spec, address))
        return;
    struct tg_breakpoint *planted = NULL;
    TG_AUTO_ERROR struct tg_error *error =
        tg_breakpoint_plant(process, address, TG_BREAKPOINT_USER, see_hit, spec, &planted);
    if (error == NULL && !add_site(breakpoints, process, spec, address, planting->object.path)) {
        tg_breakpoint_remove(process, planted);
        error = tg_error_no_memory();
    }
    if (error != NULL) {
        if (!optional)
            note(planting, "breakpoint %" PRIu64 " (%s) is not planted at 0x%" PRIx64 " in %s: %s", spec->id,
                 spec->parsed->text, address, planting->object.path, tg_error_message(error));
        return;
    }
    (void)tg_engine_emit(breakpoints->engine, planting->thread,
                         &(struct tg_event){
                             .kind = TG_EVENT_BREAKPOINT_PLANTED,
                             .breakpoint_planted = {.breakpoint = spec->id,
                                                    .address = address,
                                                    .library = planting->object.path,
                                                    .late = planting->late,
                                                    .window_ns = planting->window_ns},
                         });
}

static void plant_found(struct planting *planting, struct spec *spec)
{
    struct tg_image *image = image_of(planting);
    if (image == NULL)
        return;
    uint64_t places[MAX_PLACES];
    const struct tg_break_spec *parsed = spec->parsed;
    size_t n = parsed->kind == TG_BREAK_LINE
                   ? tg_image_find_line(image, parsed->name, parsed->line, places, MAX_PLACES)
                   : tg_image_find_function(image, parsed->name, places, MAX_PLACES);
    if (n == MAX_PLACES)
        note(planting, "breakpoint %" PRIu64 " (%s) has more places in %s than are planted: %d", spec->id,
             parsed->text, planting->object.path, MAX_PLACES);
    planting->n_places += n;
    if (n > 0 && parsed->kind == TG_BREAK_FUNCTION && !spec->resolver_told &&
        tg_image_is_resolved_at_load(image, parsed->name)) {
        spec->resolver_told = true;
        note(planting,
             "breakpoint %" PRIu64
             " (%s) is at the resolver of an indirect function in %s: it is hit when the loader "
             "chooses an implementation, not when that is called",
             spec->id, parsed->text, planting->object.path);
    }
    for (size_t i = 0; i < n; i++)
        plant_at(planting, spec, planting->object.load_bias + places[i], false);
}

static void plant_address(struct planting *planting, struct spec *spec)
{
    const struct tg_user_breakpoint_object *object = &planting->object;
    uint64_t address = spec->parsed->address;
    if (spec->parsed->library != NULL)
        plant_at(planting, spec, object->load_bias + address, false);
    else if (object->size_bytes != 0 && address >= object->header &&
             address - object->header < object->size_bytes)
        plant_at(planting, spec, address, false);
    else if (planting->program) /* in whatever is mapped there by now */
        plant_at(planting, spec, address, true);
}

/* ---- files without places */

/* A digest of the build-id of OBJECT's file and of its path, which specifications may name; false where it
 * has no build-id. */
static bool digest_file(const struct tg_user_breakpoint_object *object, struct tg_digest *digest)
{
    if (object->build_id == NULL || object->build_id[0] == '\0')
        return false;
    XXH64_hash_t seed = XXH3_64bits(object->build_id, strlen(object->build_id));
    XXH128_hash_t hash = XXH3_128bits_withSeed(object->path, strlen(object->path), seed);
    *digest = (struct tg_digest){.low = hash.low64, .high = hash.high64 | 1};
    return true;
}

/* Whether a look at the names in the file is enough to know that no specification has a place in it. */
static bool probe_lacks(const struct planting *planting)
{
    const struct tg_user_breakpoints *breakpoints = planting->breakpoints;
    const char *names[TG_SYMBOL_PROBE_MAX_NAMES];
    size_t n_names = 0;
    for (size_t i = 0; i < breakpoints->count; i++) {
        const struct tg_break_spec *parsed = breakpoints->specs[i]->parsed;
        if (parsed->kind == TG_BREAK_ADDRESS || !tg_break_spec_admits(parsed, planting->object.path))
            continue;
        if (parsed->kind != TG_BREAK_FUNCTION || n_names == TG_SYMBOL_PROBE_MAX_NAMES)
            return false;
        names[n_names++] = parsed->name;
    }
    const struct tg_image_source source = source_of(planting);
    return tg_symbol_probe_lacks(breakpoints->probe, &source, names, n_names);
}

static void plant_object(struct planting *planting)
{
    struct tg_user_breakpoints *breakpoints = planting->breakpoints;
    struct tg_digest file;
    bool has_digest = digest_file(&planting->object, &file);
    bool absent = has_digest && tg_digest_set_has(&breakpoints->absences, file);
    if (has_digest && !absent && probe_lacks(planting)) {
        absent = true;
        tg_digest_set_add(&breakpoints->absences, file);
    }
    for (size_t i = 0; i < breakpoints->count; i++) {
        struct spec *spec = breakpoints->specs[i];
        if (!tg_break_spec_admits(spec->parsed, planting->object.path))
            continue;
        if (spec->parsed->kind == TG_BREAK_ADDRESS)
            plant_address(planting, spec);
        else if (!absent)
            plant_found(planting, spec);
    }
    if (has_digest && !absent && planting->image != NULL && planting->n_places == 0)
        tg_digest_set_add(&breakpoints->absences, file);
    tg_image_unref(planting->image);
}

uint64_t tg_user_breakpoints_plant(struct tg_user_breakpoints *breakpoints, struct tg_thread *thread,
                                   const struct tg_user_breakpoint_object *objects, size_t count, bool late,
                                   uint64_t window_ns)
{
    if (breakpoints->count == 0)
        return 0;
    uint64_t start_ns = tg_engine_now_ns();
    for (size_t i = 0; i < count; i++) {
        struct planting planting = {
            .breakpoints = breakpoints,
            .thread = thread,
            .object = objects[i],
            .late = late,
            .window_ns = window_ns,
        };
        plant_object(&planting);
    }
    return tg_engine_now_ns() - start_ns;
}

/* The program: its image tells where it was mapped. */
static void plant_program(struct tg_user_breakpoints *breakpoints, struct tg_thread *thread)
{
    const struct tg_process *process = thread->process;
    char link[32], path[PATH_MAX];
    snprintf(link, sizeof link, "/proc/%d/exe", (int)thread->tid);
    ssize_t n = readlink(link, path, sizeof path - 1);
    path[n > 0 ? n : 0] = '\0';
    struct planting planting = {
        .breakpoints = breakpoints,
        .thread = thread,
        .object = {.path = path, .header = process->phdr & ~(uint64_t)(PAGE_BYTES - 1)},
        .program = true,
    };
    struct tg_image *image = image_of(&planting);
    if (image == NULL)
        return;
    const struct tg_image_info *info = tg_image_info(image);
    uint64_t load_bias = info->position_independent ? process->entry - info->entry : 0;
    planting.object.load_bias = load_bias;
    planting.object.header = load_bias + info->start;
    planting.object.size_bytes = info->end - info->start;
    plant_object(&planting);
}

static void program_loaded(void *context, struct tg_thread *thread, bool attached)
{
    struct tg_user_breakpoints *breakpoints = context;
    (void)attached;
    free_sites(breakpoints, thread->process);
    if (breakpoints->count > 0)
        plant_program(breakpoints, thread);
}

/* ---- unloading */

static bool is_in(const struct site *site, const struct tg_user_breakpoint_object *object)
{
    if (object->header == 0 || object->size_bytes == 0)
        return strcmp(site->library, object->path) == 0;
    return site->address >= object->header && site->address - object->header < object->size_bytes;
}

static void unload_object(struct tg_user_breakpoints *breakpoints, struct tg_thread *thread,
                          const struct tg_user_breakpoint_object *object)
{
    struct sites *sites = sites_of(breakpoints, thread->process);
    size_t kept = 0;
    for (size_t i = 0; sites != NULL && i < sites->count; i++) {
        struct site *site = &sites->items[i];
        if (!is_in(site, object)) {
            sites->items[kept++] = *site;
            continue;
        }
        tg_breakpoint_forget_range(thread->process, site->address, site->address + 1);
        (void)tg_engine_emit(breakpoints->engine, thread,
                             &(struct tg_event){
                                 .kind = TG_EVENT_BREAKPOINT_REMOVED,
                                 .breakpoint_removed = {.breakpoint = site->spec->id,
                                                        .address = site->address,
                                                        .library = site->library},
                             });
        free(site->library);
    }
    if (sites != NULL)
        sites->count = kept;
}

void tg_user_breakpoints_unload(struct tg_user_breakpoints *breakpoints, struct tg_thread *thread,
                                const struct tg_user_breakpoint_object *objects, size_t count)
{
    for (size_t i = 0; i < count; i++)
        unload_object(breakpoints, thread, &objects[i]);
}

/* ---- setting up */

struct tg_error *tg_user_breakpoints_create(struct tg_engine *engine, struct tg_image_cache *cache,
                                            struct tg_user_breakpoints **result)
{
    struct tg_user_breakpoints *breakpoints = calloc(1, sizeof *breakpoints);
    if (breakpoints == NULL)
        return tg_error_no_memory();
    breakpoints->engine = engine;
    breakpoints->cache = cache;
    breakpoints->probe = tg_symbol_probe_create();
    if (breakpoints->probe == NULL) {
        free(breakpoints);
        return tg_error_no_memory();
    }
    breakpoints->observer = (struct tg_observer){
        .name = "user breakpoints",
        .context = breakpoints,
        .process_started = process_started,
        .program_loaded = program_loaded,
        .process_ended = process_ended,
    };
    breakpoints->slot = tg_engine_add_observer(engine, &breakpoints->observer);
    *result = breakpoints;
    return NULL;
}

void tg_user_breakpoints_destroy(struct tg_user_breakpoints *breakpoints)
{
    if (breakpoints == NULL)
        return;
    for (size_t i = 0; i < breakpoints->count; i++) {
        tg_break_spec_destroy(breakpoints->specs[i]->parsed);
        free(breakpoints->specs[i]);
    }
    free(breakpoints->specs);
    tg_digest_set_deinit(&breakpoints->absences);
    tg_symbol_probe_destroy(breakpoints->probe);
    free(breakpoints);
}

struct tg_error *tg_user_breakpoints_add(struct tg_user_breakpoints *breakpoints, const char *text)
{
    if (breakpoints->count == MAX_SPECS)
        return tg_error_create(TG_ERROR_LIMIT, "more than %d breakpoints", MAX_SPECS);
    struct tg_break_spec *parsed = NULL;
    struct tg_error *error = tg_break_spec_parse(text, &parsed);
    if (error != NULL)
        return error;
    struct spec **specs = reallocarray(breakpoints->specs, breakpoints->count + 1, sizeof *specs);
    if (specs != NULL)
        breakpoints->specs = specs;
    struct spec *spec = specs == NULL ? NULL : malloc(sizeof *spec);
    if (spec == NULL) {
        tg_break_spec_destroy(parsed);
        return tg_error_no_memory();
    }
    *spec = (struct spec){.owner = breakpoints, .parsed = parsed, .id = breakpoints->count + 1};
    breakpoints->specs[breakpoints->count++] = spec;
    return NULL;
}

size_t tg_user_breakpoints_count(const struct tg_user_breakpoints *breakpoints)
{
    return breakpoints->count;
}

void tg_user_breakpoints_start(struct tg_user_breakpoints *breakpoints)
{
    for (size_t i = 0; i < breakpoints->count; i++) {
        const struct spec *spec = breakpoints->specs[i];
        (void)tg_engine_emit(breakpoints->engine, NULL,
                             &(struct tg_event){
                                 .kind = TG_EVENT_BREAKPOINT_SPEC,
                                 .breakpoint_spec = {.breakpoint = spec->id, .text = spec->parsed->text},
                             });
    }
}
