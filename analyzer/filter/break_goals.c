#include "analyzer/filter/break_goals.h"

#include "format/base/array.h"
#include "format/base/hash.h"

#include <stdlib.h>
#include <string.h>

struct tg_goal_id {
    uint64_t id;
    uint32_t goal;
    UT_hash_handle hh;
};

void tg_break_goals_deinit(struct tg_break_goals *goals)
{
    struct tg_goal_id *id, *next;
    HASH_ITER (hh, goals->by_id, id, next) {
        HASH_DEL(goals->by_id, id);
        free(id);
    }
    for (size_t i = 0; i < goals->count; i++) {
        tg_break_spec_destroy(goals->items[i].spec);
        free(goals->items[i].text);
    }
    free(goals->items);
    *goals = (struct tg_break_goals){0};
}

static struct tg_error *find_or_add(struct tg_break_goals *goals, const char *text,
                                    struct tg_break_goal **found)
{
    for (size_t i = 0; i < goals->count; i++) {
        if (strcmp(goals->items[i].text, text) == 0) {
            *found = &goals->items[i];
            return NULL;
        }
    }
    if (goals->count == TG_BREAK_GOALS_MAX)
        return tg_error_create(TG_ERROR_LIMIT, "more than %d breakpoints", TG_BREAK_GOALS_MAX);
    char *copy = strdup(text);
    if (copy == NULL ||
        TG_ARRAY_APPEND(goals->items, goals->count, goals->capacity,
                        (struct tg_break_goal){.text = copy, .state = TG_GOAL_UNKNOWN}) != NULL) {
        free(copy);
        return tg_error_no_memory();
    }
    *found = &goals->items[goals->count - 1];
    return NULL;
}

struct tg_error *tg_break_goals_want(struct tg_break_goals *goals, const char *text)
{
    struct tg_break_spec *spec = NULL;
    struct tg_error *error = tg_break_spec_parse(text, &spec);
    if (error != NULL)
        return error;
    struct tg_break_goal *goal = NULL;
    error = find_or_add(goals, text, &goal);
    if (error != NULL || goal->spec != NULL) {
        tg_break_spec_destroy(spec);
        return error;
    }
    goal->spec = spec;
    return NULL;
}

struct tg_error *tg_break_goals_record(struct tg_break_goals *goals,
                                       const struct tg_event_breakpoint_spec *event)
{
    struct tg_break_goal *goal = NULL;
    struct tg_error *error = find_or_add(goals, event->text, &goal);
    if (error != NULL)
        return error;
    goal->recorded = true;
    struct tg_goal_id *id = NULL;
    HASH_FIND(hh, goals->by_id, &event->breakpoint, sizeof event->breakpoint, id);
    if (id == NULL) {
        if (HASH_COUNT(goals->by_id) >= TG_BREAK_GOALS_MAX)
            return tg_error_create(TG_ERROR_LIMIT, "more than %d breakpoints", TG_BREAK_GOALS_MAX);
        error = TG_HASH_CREATE(hh, goals->by_id, id, &event->breakpoint, id);
        if (error != NULL)
            return error;
    }
    id->goal = (uint32_t)(goal - goals->items);
    return NULL;
}

bool tg_break_goals_find(const struct tg_break_goals *goals, uint64_t id, uint32_t *goal)
{
    struct tg_goal_id *found = NULL;
    HASH_FIND(hh, goals->by_id, &id, sizeof id, found);
    if (found == NULL)
        return false;
    *goal = found->goal;
    return true;
}

static struct tg_error *add_place(struct tg_break_goals *goals, struct tg_catalog_library *library,
                                  uint32_t goal)
{
    uint32_t before = library->n_goals;
    struct tg_error *error = tg_catalog_library_add_goal(library, goal);
    goals->items[goal].places += library->n_goals - before;
    return error;
}

struct tg_error *tg_break_goals_plant(struct tg_break_goals *goals, struct tg_library_catalog *catalog,
                                      const struct tg_event_breakpoint_planted *event)
{
    uint32_t goal = 0;
    if (!tg_break_goals_find(goals, event->breakpoint, &goal))
        return NULL;
    struct tg_catalog_library *library = NULL;
    struct tg_error *error = tg_library_catalog_intern(catalog, event->library, &library);
    return error != NULL ? error : add_place(goals, library, goal);
}

static struct tg_error *resolve_by_library(struct tg_break_goals *goals, struct tg_library_catalog *catalog,
                                           uint32_t goal)
{
    for (size_t i = 0; i < tg_library_catalog_count(catalog); i++) {
        struct tg_catalog_library *library = tg_library_catalog_at(catalog, i);
        if (!tg_break_spec_admits(goals->items[goal].spec, library->path))
            continue;
        struct tg_error *error = add_place(goals, library, goal);
        if (error != NULL)
            return error;
    }
    return NULL;
}

struct tg_error *tg_break_goals_resolve(struct tg_break_goals *goals, struct tg_library_catalog *catalog)
{
    for (uint32_t i = 0; i < goals->count; i++) {
        struct tg_break_goal *goal = &goals->items[i];
        if (goal->recorded) {
            goal->state = goal->places > 0 ? TG_GOAL_RESOLVED : TG_GOAL_NOWHERE;
        } else if (goal->spec != NULL && goal->spec->library != NULL) {
            struct tg_error *error = resolve_by_library(goals, catalog, i);
            if (error != NULL)
                return error;
            goal->state = goal->places > 0 ? TG_GOAL_BY_LIBRARY : TG_GOAL_NOWHERE;
        } else {
            goal->state = TG_GOAL_UNKNOWN;
        }
    }
    return NULL;
}

const char *tg_goal_state_name(enum tg_goal_state state)
{
    static const char *const names[] = {"resolved", "by_library", "nowhere", "unknown"};
    return names[state];
}
