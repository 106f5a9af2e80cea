#include "live/control/points.h"

#include "format/base/array.h"
#include "format/base/hash.h"
#include "format/settings/break_spec.h"
#include "recorder/engine/own_thread.h"
#include "recorder/loader/break_places.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_PLACES = 1024 }; /* of one action point in one process */

/* An action point; its address is the context of the engine's breakpoints, also in forked copies. */
struct point {
    struct tg_job_points *owner;
    uint32_t id;
    UT_hash_handle hh;
};

struct site {
    uint32_t id;
    uint64_t address;
};

/* Of a process: its data in the slot. */
struct sites {
    struct site *items;
    size_t count, capacity;
};

struct tg_job_points {
    struct tg_engine *engine;
    uint64_t first_id; /* of action point 0, in the trace: breakpoints of options come first */
    struct tg_break_places *places;
    size_t slot;
    tg_job_points_hit *hit;
    tg_job_points_enter *enter;
    void *context;
    const struct tg_loader_handled *handled; /* to look in alone, NULL: everywhere */
    struct point *points; /* by id; kept to the end, for copies of breakpoints may come late */
    char *place;
};

struct tg_error *tg_job_points_create(const struct tg_recording_parts *parts, size_t slot,
                                      tg_job_points_hit *hit, tg_job_points_enter *enter, void *context,
                                      struct tg_job_points **points)
{
    struct tg_job_points *made = calloc(1, sizeof *made);
    if (made == NULL)
        return tg_error_no_memory();
    *made = (struct tg_job_points){.engine = parts->engine,
                                   .first_id = parts->n_breaks,
                                   .slot = slot,
                                   .hit = hit,
                                   .enter = enter,
                                   .context = context};
    struct tg_error *error = tg_break_places_create(parts->loader, parts->images, &made->places);
    if (error != NULL)
        free(made);
    else
        *points = made;
    return error;
}

void tg_job_points_destroy(struct tg_job_points *points)
{
    struct point *point, *next;
    if (points == NULL)
        return;
    HASH_ITER (hh, points->points, point, next) {
        HASH_DEL(points->points, point);
        free(point);
    }
    tg_break_places_destroy(points->places);
    free(points->place);
    free(points);
}

static struct point *find_point(struct tg_job_points *points, uint32_t id)
{
    struct point *point = NULL;
    HASH_FIND(hh, points->points, &id, sizeof id, point);
    return point;
}

static uint64_t recorded_id(const struct tg_job_points *points, uint32_t id)
{
    return points->first_id + id;
}

static struct point *make_point(struct tg_job_points *points, uint32_t id, const char *location)
{
    struct point *point = find_point(points, id);
    if (point != NULL)
        return point;
    if (TG_HASH_CREATE(hh, points->points, id, &id, point) != NULL)
        return NULL;
    point->owner = points;
    const struct tg_event event = {.kind = TG_EVENT_BREAKPOINT_SPEC,
                                   .breakpoint_spec = {recorded_id(points, id), location}};
    tg_engine_emit(points->engine, NULL, &event);
    return point;
}

/* ---- sites of a process */

static struct sites *sites_of(const struct tg_job_points *points, const struct tg_process *process)
{
    return process->data[points->slot];
}

static struct tg_error *add_site(struct sites *sites, struct site site)
{
    return TG_ARRAY_APPEND(sites->items, sites->count, sites->capacity, site);
}

static bool has_site(const struct sites *sites, struct site site)
{
    for (size_t i = 0; i < sites->count; i++)
        if (sites->items[i].id == site.id && sites->items[i].address == site.address)
            return true;
    return false;
}

static size_t count_at(const struct sites *sites, uint64_t address)
{
    size_t count = 0;
    for (size_t i = 0; i < sites->count; i++)
        count += sites->items[i].address == address;
    return count;
}

static struct sites *make_sites(struct tg_job_points *points, struct tg_process *process)
{
    if (process->data[points->slot] == NULL)
        process->data[points->slot] = calloc(1, sizeof(struct sites));
    return process->data[points->slot];
}

void tg_job_points_begin(struct tg_job_points *points, struct tg_process *process)
{
    struct sites *sites = sites_of(points, process);
    if (sites != NULL)
        sites->count = 0;
}

struct tg_error *tg_job_points_copy(struct tg_job_points *points, const struct tg_process *parent,
                                    struct tg_process *child)
{
    const struct sites *from = sites_of(points, parent);
    struct sites *to = make_sites(points, child);
    struct tg_error *error = to == NULL ? tg_error_no_memory() : NULL;
    for (size_t i = 0; error == NULL && from != NULL && i < from->count; i++)
        if (!has_site(to, from->items[i]))
            error = add_site(to, from->items[i]);
    return error;
}

void tg_job_points_forget(struct tg_job_points *points, struct tg_process *process)
{
    struct sites *sites = sites_of(points, process);
    process->data[points->slot] = NULL;
    if (sites != NULL)
        free(sites->items);
    free(sites);
}

bool tg_job_points_unloaded(struct tg_job_points *points, struct tg_thread *thread,
                            const struct tg_break_object *object)
{
    struct sites *sites = sites_of(points, thread->process);
    size_t n_left = 0;
    for (size_t i = 0; sites != NULL && i < sites->count; i++) {
        struct site site = sites->items[i];
        if (site.address - object->header >= object->size_bytes) {
            sites->items[n_left++] = site;
            continue;
        }
        const struct tg_event event = {
            .kind = TG_EVENT_BREAKPOINT_REMOVED,
            .breakpoint_removed = {recorded_id(points, site.id), site.address, object->path}};
        tg_engine_emit(points->engine, thread, &event);
    }
    bool was_anything = sites != NULL && sites->count > n_left;
    if (sites != NULL)
        sites->count = n_left;
    return was_anything;
}

bool tg_job_points_has(const struct tg_job_points *points, const struct tg_process *process, uint32_t id)
{
    const struct sites *sites = sites_of(points, process);
    for (size_t i = 0; sites != NULL && i < sites->count; i++)
        if (sites->items[i].id == id)
            return true;
    return false;
}

size_t tg_job_points_addresses(const struct tg_job_points *points, const struct tg_process *process,
                               uint32_t id, uint64_t *addresses, size_t max)
{
    const struct sites *sites = sites_of(points, process);
    size_t count = 0;
    for (size_t i = 0; sites != NULL && i < sites->count; i++) {
        if (sites->items[i].id != id)
            continue;
        if (count < max)
            addresses[count] = sites->items[i].address;
        count++;
    }
    return count;
}

/* ---- locations */

/* What LOCATION means; *AT_ENTRY: of a function its first instruction. */
static struct tg_error *parse_location(const char *location, struct tg_break_spec **spec, bool *at_entry)
{
    const char *tick = strchr(location, '`'), *place = tick == NULL ? location : tick + 1;
    *at_entry = *place == '*' && (place[1] < '0' || place[1] > '9');
    if (!*at_entry)
        return tg_break_spec_parse(location, spec);
    char *plain = NULL;
    if (asprintf(&plain, "%.*s%s", (int)(place - location), location, place + 1) < 0)
        return tg_error_no_memory();
    struct tg_error *error = tg_break_spec_parse(plain, spec);
    free(plain);
    if (error == NULL)
        (*spec)->is_entry = true;
    if (error != NULL || (*spec)->kind == TG_BREAK_FUNCTION)
        return error;
    tg_break_spec_destroy(*spec);
    *spec = NULL;
    return tg_error_create(TG_ERROR_INPUT, "'%.80s': what follows the * must be an address or a function",
                           location);
}

/* ---- planting */

static void take_hit(void *context, struct tg_thread *thread, struct tg_breakpoint *breakpoint)
{
    const struct point *point = context;
    const struct tg_event event = {
        .kind = TG_EVENT_BREAKPOINT_HIT,
        .breakpoint_hit = {recorded_id(point->owner, point->id), tg_breakpoint_address(breakpoint)}};
    tg_engine_emit(point->owner->engine, thread, &event);
    point->owner->hit(point->owner->context, thread, point->id);
}

static void tell_planted(const struct tg_job_points *points, const struct tg_process *process,
                         const struct point *point, const struct tg_break_place *place)
{
    const struct tg_loader_handled *handled = points->handled;
    const struct tg_event event = {
        .kind = TG_EVENT_BREAKPOINT_PLANTED,
        .breakpoint_planted = {.breakpoint = recorded_id(points, point->id),
                               .address = place->address,
                               .library = place->library,
                               .late = handled != NULL && handled->late,
                               .window_ns = handled == NULL ? 0 : handled->window_ns}};
    tg_engine_emit(points->engine, tg_process_own_thread(process), &event);
}

static struct tg_error *plant_at(struct tg_job_points *points, struct tg_process *process,
                                 struct sites *sites, struct point *point, const struct tg_break_place *place)
{
    const struct site site = {point->id, place->address};
    struct tg_breakpoint *planted;
    if (has_site(sites, site))
        return NULL;
    struct tg_error *error = NULL;
    if (count_at(sites, site.address) == TG_JOB_POINTS_AT_ONE_PLACE)
        return tg_error_create(TG_ERROR_LIMIT, "too many action points at 0x%" PRIx64 " (limit %d)",
                               site.address, TG_JOB_POINTS_AT_ONE_PLACE);
    /* a child has its parent's breakpoints before anybody has told of the sites */
    if (tg_breakpoint_find(process, site.address, take_hit, point) == NULL)
        error = tg_breakpoint_plant(process, site.address, TG_BREAKPOINT_USER, take_hit, point, &planted);
    if (error != NULL && tg_error_code(error) == TG_ERROR_NOT_FOUND) {
        tg_error_destroy(error); /* the program is being replaced; the next one is looked at when it comes */
        return NULL;
    }
    if (error == NULL)
        error = add_site(sites, site);
    if (error == NULL)
        tell_planted(points, process, point, place);
    return error;
}

/* People mean a function's first line by its name, where its frame and its arguments are in place. */
static void enter_functions(const struct tg_job_points *points, const struct tg_process *process,
                            struct tg_break_place *found, size_t count)
{
    for (size_t i = 0; i < count; i++)
        points->enter(points->context, process, &found[i].address, &found[i].line);
}

static void set_place(struct tg_job_points *points, const struct tg_break_place *place)
{
    free(points->place);
    points->place = NULL;
    if (place->line != 0 && asprintf(&points->place, "%s#%" PRIu64, place->file, place->line) < 0)
        points->place = NULL;
}

/* COUNT places of ID at LOCATION are FOUND; those that are not planted yet are. */
static struct tg_error *plant_found(struct tg_job_points *points, struct tg_process *process, uint32_t id,
                                    const char *location, const struct tg_break_place *found, size_t count)
{
    if (count == 0)
        return NULL;
    struct sites *sites = make_sites(points, process);
    struct point *point = make_point(points, id, location);
    struct tg_error *error = sites == NULL || point == NULL ? tg_error_no_memory() : NULL;
    for (size_t i = 0; error == NULL && i < count; i++)
        error = plant_at(points, process, sites, point, &found[i]);
    return error;
}

void tg_job_points_look_in(struct tg_job_points *points, const struct tg_loader_handled *handled)
{
    points->handled = handled;
}

static struct tg_error *find(struct tg_job_points *points, const struct tg_process *process,
                             const struct tg_break_spec *spec, struct tg_break_place *found, size_t *count)
{
    if (points->handled == NULL)
        return tg_break_places_find(points->places, process, spec, found, MAX_PLACES, count);
    return tg_break_places_find_in(points->places, process, points->handled->objects, points->handled->count,
                                   spec, found, MAX_PLACES, count);
}

struct tg_error *tg_job_points_plant(struct tg_job_points *points, struct tg_process *process, uint32_t id,
                                     const char *location, uint64_t *address, const char **place)
{
    struct tg_break_spec *spec = NULL;
    struct tg_break_place *found = calloc(MAX_PLACES, sizeof *found);
    size_t count = 0;
    bool at_entry;
    *address = 0;
    *place = "";
    struct tg_error *error =
        found == NULL ? tg_error_no_memory() : parse_location(location, &spec, &at_entry);
    if (error == NULL)
        error = find(points, process, spec, found, &count);
    if (error == NULL && spec->kind == TG_BREAK_FUNCTION && !at_entry)
        enter_functions(points, process, found, count);
    if (error == NULL)
        error = plant_found(points, process, id, location, found, count);
    if (error == NULL && count > 0) {
        set_place(points, &found[0]);
        *address = found[0].address;
        *place = points->place == NULL ? "" : points->place;
    }
    if (found != NULL)
        tg_break_places_release(found, count);
    free(found);
    tg_break_spec_destroy(spec);
    return error;
}

void tg_job_points_unplant(struct tg_job_points *points, struct tg_process *process, uint32_t id)
{
    struct sites *sites = sites_of(points, process);
    const struct point *point = find_point(points, id);
    size_t n_left = 0;
    for (size_t i = 0; sites != NULL && point != NULL && i < sites->count; i++) {
        struct site site = sites->items[i];
        if (site.id != id) {
            sites->items[n_left++] = site;
            continue;
        }
        struct tg_breakpoint *planted = tg_breakpoint_find(process, site.address, take_hit, point);
        if (planted != NULL)
            tg_breakpoint_remove(process, planted);
    }
    if (sites != NULL && point != NULL)
        sites->count = n_left;
}

bool tg_job_points_find(struct tg_job_points *points, const struct tg_process *process, const char *location)
{
    struct tg_break_spec *spec = NULL;
    struct tg_break_place found;
    size_t count = 0;
    bool at_entry;
    struct tg_error *error = parse_location(location, &spec, &at_entry);
    if (error == NULL)
        error = tg_break_places_find(points->places, process, spec, &found, 1, &count);
    tg_break_places_release(&found, count);
    tg_break_spec_destroy(spec);
    tg_error_destroy(error);
    return count > 0;
}

char *tg_job_points_file_of(struct tg_job_points *points, const struct tg_process *process,
                            const char *location)
{
    struct tg_break_spec *spec = NULL;
    struct tg_break_place found;
    size_t count = 0;
    struct tg_error *error = tg_break_spec_parse(location, &spec);
    if (error == NULL)
        error = tg_break_places_find(points->places, process, spec, &found, 1, &count);
    char *file = error == NULL && count > 0 && found.line != 0 ? strdup(found.file) : NULL;
    tg_break_places_release(&found, count);
    tg_break_spec_destroy(spec);
    tg_error_destroy(error);
    return file;
}

/* The line with code that is meant by LINE of SPEC's file, 0 none; *LIBRARY where it is, for the caller. */
static uint64_t line_with_code(struct tg_job_points *points, const struct tg_process *process,
                               const struct tg_break_spec *spec, const char *library, uint64_t line,
                               char **where)
{
    struct tg_break_place found = {0};
    size_t count = 0;
    char *text = NULL;
    if (asprintf(&text, "%s:%" PRIu64, spec->name, line) < 0)
        return 0;
    const struct tg_break_spec asked = {.kind = TG_BREAK_LINE,
                                        .text = text,
                                        .library = (char *)(uintptr_t)library,
                                        .name = spec->name,
                                        .line = line};
    tg_error_destroy(tg_break_places_find(points->places, process, &asked, &found, 1, &count));
    uint64_t real = count > 0 ? found.line : 0;
    if (where != NULL && count > 0)
        *where = strdup(found.library);
    tg_break_places_release(&found, count);
    free(text);
    return real;
}

uint64_t tg_job_points_last_line(struct tg_job_points *points, const struct tg_process *process,
                                 const char *location)
{
    struct tg_break_spec *spec = NULL;
    char *where = NULL;
    uint64_t last = 0;
    struct tg_error *error = tg_break_spec_parse(location, &spec);
    if (error == NULL && spec->kind == TG_BREAK_LINE)
        last = line_with_code(points, process, spec, spec->library, 1, &where);
    /* only there: a name is a pattern, where it has no special bytes itself alone */
    const char *library = where != NULL && strpbrk(where, "*?[]\\") == NULL ? where : NULL;
    for (uint64_t low = last, high = last == 0 ? 0 : spec->line; low < high;) {
        uint64_t middle = low + (high - low + 1) / 2;
        uint64_t real = line_with_code(points, process, spec, library, middle, NULL);
        if (real == 0) {
            high = middle - 1;
        } else {
            last = real > last ? real : last;
            low = real > middle ? real : middle;
        }
    }
    free(where);
    tg_break_spec_destroy(spec);
    tg_error_destroy(error);
    return last;
}
