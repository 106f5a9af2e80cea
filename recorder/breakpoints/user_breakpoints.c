#include "recorder/breakpoints/user_breakpoints.h"

#include "format/base/array.h"
#include "format/settings/break_spec.h"
#include "recorder/breakpoints/digest_set.h"
#include "recorder/breakpoints/fate.h"
#include "recorder/process/symbol_probe.h"

#include <inttypes.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    MAX_SPECS = 65536,
};

struct spec {
    struct tg_user_breakpoints *owner;
    struct tg_break_spec *parsed;
    uint64_t id;
    bool resolver_told;
    struct tg_break_fate fate;
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
    size_t slot;
    struct spec **specs; /* addresses of the specs are the contexts of engine breakpoints */
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
    const struct site site = {.spec = spec, .address = address, .library = strdup(library)};
    if (site.library != NULL && TG_ARRAY_APPEND(sites->items, sites->count, sites->capacity, site) == NULL)
        return true;
    free(site.library);
    return false;
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

/* ---- events of the engine */

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

/* The object in which specifications are resolved. */
struct planting {
    struct tg_user_breakpoints *breakpoints;
    struct tg_thread *thread;
    struct tg_break_object object;
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

static struct tg_image *image_of(struct planting *planting)
{
    if (planting->image_tried)
        return planting->image;
    planting->image_tried = true;
    const struct tg_image_source source = tg_break_object_source(&planting->object, planting->thread->tid);
    TG_AUTO_ERROR struct tg_error *error =
        tg_image_cache_get(planting->breakpoints->cache, &source, &planting->image);
    if (error != NULL)
        note(planting, "cannot look for breakpoints in %s: %s", planting->object.path,
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
            tg_break_fate_fail(&spec->fate, tg_error_message(error));
        if (!optional)
            note(planting, "breakpoint %" PRIu64 " (%s) not planted at 0x%" PRIx64 " in %s: %s", spec->id,
                 spec->parsed->text, address, planting->object.path, tg_error_message(error));
        return;
    }
    spec->fate.planted++;
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
    uint64_t places[TG_BREAK_OBJECT_MAX_PLACES];
    const struct tg_break_spec *parsed = spec->parsed;
    size_t n = tg_break_object_find(&planting->object, image, parsed, places, TG_BREAK_OBJECT_MAX_PLACES);
    if (n == TG_BREAK_OBJECT_MAX_PLACES)
        note(planting, "breakpoint %" PRIu64 " (%s) has more locations in %s than were planted (%d)",
             spec->id, parsed->text, planting->object.path, TG_BREAK_OBJECT_MAX_PLACES);
    planting->n_places += n;
    if (n > 0 && parsed->kind == TG_BREAK_FUNCTION && !spec->resolver_told &&
        tg_image_is_resolved_at_load(image, parsed->name)) {
        spec->resolver_told = true;
        note(planting,
             "breakpoint %" PRIu64
             " (%s) is at the resolver of an indirect function in %s: it is hit when the loader "
             "chooses an implementation, not when the function is called",
             spec->id, parsed->text, planting->object.path);
    }
    for (size_t i = 0; i < n; i++)
        plant_at(planting, spec, places[i], false);
}

static void plant_address(struct planting *planting, struct spec *spec)
{
    const struct tg_break_object *object = &planting->object;
    uint64_t address = spec->parsed->address;
    if (spec->parsed->library != NULL)
        plant_at(planting, spec, object->load_bias + address, false);
    else if (tg_break_object_holds(object, address))
        plant_at(planting, spec, address, false);
    else if (object->is_program) /* in whatever is mapped there by now */
        plant_at(planting, spec, address, true);
}

/* ---- files without places */

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
    const struct tg_image_source source = tg_break_object_source(&planting->object, planting->thread->tid);
    return tg_symbol_probe_lacks(breakpoints->probe, &source, names, n_names);
}

static void plant_object(struct planting *planting)
{
    struct tg_user_breakpoints *breakpoints = planting->breakpoints;
    struct tg_digest file;
    bool has_digest = tg_break_object_digest(&planting->object, "", &file);
    bool absent = has_digest && tg_digest_set_has(&breakpoints->absences, file);
    if (has_digest && !absent && probe_lacks(planting)) {
        absent = true;
        tg_digest_set_add(&breakpoints->absences, file);
    }
    for (size_t i = 0; i < breakpoints->count; i++) {
        struct spec *spec = breakpoints->specs[i];
        if (!tg_break_spec_admits(spec->parsed, planting->object.path))
            continue;
        spec->fate.searched++;
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
                                   const struct tg_break_object *objects, size_t count, bool late,
                                   uint64_t window_ns)
{
    if (tg_user_breakpoints_count(breakpoints) == 0)
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

static void plant_program(struct tg_user_breakpoints *breakpoints, struct tg_thread *thread)
{
    char path[PATH_MAX];
    struct planting planting = {.breakpoints = breakpoints, .thread = thread, .image_tried = true};
    tg_break_object_program(thread->process, thread->tid, path, &planting.object);
    const struct tg_image_source source = tg_break_object_source(&planting.object, thread->tid);
    TG_AUTO_ERROR struct tg_error *error = tg_image_cache_get(breakpoints->cache, &source, &planting.image);
    if (error != NULL) {
        note(&planting, "cannot look for breakpoints in %s: %s", path, tg_error_message(error));
        return;
    }
    tg_break_object_program_mapped(thread->process, planting.image, &planting.object);
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

static bool is_in(const struct site *site, const struct tg_break_object *object)
{
    if (object->header == 0 || object->size_bytes == 0)
        return strcmp(site->library, object->path) == 0;
    return site->address >= object->header && site->address - object->header < object->size_bytes;
}

static void unload_object(struct tg_user_breakpoints *breakpoints, struct tg_thread *thread,
                          const struct tg_break_object *object)
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
                                const struct tg_break_object *objects, size_t count)
{
    for (size_t i = 0; breakpoints != NULL && i < count; i++)
        unload_object(breakpoints, thread, &objects[i]);
}

/* ---- what was never planted */

void tg_user_breakpoints_miss(struct tg_user_breakpoints *breakpoints, const struct tg_break_object *object,
                              enum tg_break_miss why)
{
    for (size_t i = 0; breakpoints != NULL && i < breakpoints->count; i++) {
        struct spec *spec = breakpoints->specs[i];
        if (spec->fate.planted == 0 && tg_break_spec_admits(spec->parsed, object->path))
            tg_break_fate_miss(&spec->fate, object, why);
    }
}

void tg_user_breakpoints_tell_unplanted(const struct tg_user_breakpoints *breakpoints, bool rarely,
                                        void (*tell)(void *context, const char *text), void *context)
{
    for (size_t i = 0; breakpoints != NULL && i < breakpoints->count; i++) {
        char *text =
            tg_break_fate_describe(&breakpoints->specs[i]->fate, breakpoints->specs[i]->parsed, rarely);
        if (text != NULL)
            tell(context, text);
        free(text);
    }
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
    struct tg_error *error = tg_engine_add_observer(engine, &breakpoints->observer, &breakpoints->slot);
    if (error != NULL) {
        tg_user_breakpoints_destroy(breakpoints);
        return error;
    }
    *result = breakpoints;
    return NULL;
}

void tg_user_breakpoints_destroy(struct tg_user_breakpoints *breakpoints)
{
    if (breakpoints == NULL)
        return;
    for (size_t i = 0; i < breakpoints->count; i++) {
        tg_break_spec_destroy(breakpoints->specs[i]->parsed);
        tg_break_fate_deinit(&breakpoints->specs[i]->fate);
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
    struct spec *spec = malloc(sizeof *spec);
    if (spec == NULL || TG_ARRAY_APPEND_EXACT(breakpoints->specs, breakpoints->count, spec) != NULL) {
        free(spec);
        tg_break_spec_destroy(parsed);
        return tg_error_no_memory();
    }
    *spec = (struct spec){.owner = breakpoints, .parsed = parsed, .id = breakpoints->count};
    return NULL;
}

size_t tg_user_breakpoints_count(const struct tg_user_breakpoints *breakpoints)
{
    return breakpoints == NULL ? 0 : breakpoints->count;
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
