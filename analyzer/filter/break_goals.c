#include "analyzer/filter/break_goals.h"

#include "format/base/array.h"
#include "format/base/hash.h"

#include <limits.h>
#include <stdio.h>
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

static bool same_text(const char *a, const char *b)
{
    return a == NULL || b == NULL ? a == b : strcmp(a, b) == 0;
}

/* Whether both mean the same place, however they are written. */
static bool same_place(const struct tg_break_spec *a, const struct tg_break_spec *b)
{
    return a != NULL && b != NULL && a->kind == b->kind && a->line == b->line && a->address == b->address &&
           same_text(a->library, b->library) && same_text(a->name, b->name);
}

/* Takes SPEC, which may be NULL. */
static struct tg_error *find_or_add(struct tg_break_goals *goals, const char *text,
                                    struct tg_break_spec *spec, struct tg_break_goal **found)
{
    for (size_t i = 0; i < goals->count; i++) {
        if (strcmp(goals->items[i].text, text) == 0 || same_place(goals->items[i].spec, spec)) {
            tg_break_spec_destroy(spec);
            *found = &goals->items[i];
            return NULL;
        }
    }
    char *copy = strdup(text);
    struct tg_error *error =
        goals->count == TG_BREAK_GOALS_MAX
            ? tg_error_create(TG_ERROR_LIMIT, "more than %d breakpoints", TG_BREAK_GOALS_MAX)
        : copy == NULL
            ? tg_error_no_memory()
            : TG_ARRAY_APPEND(goals->items, goals->count, goals->capacity,
                              (struct tg_break_goal){.text = copy, .spec = spec, .state = TG_GOAL_UNKNOWN});
    if (error != NULL) {
        tg_break_spec_destroy(spec);
        free(copy);
        return error;
    }
    *found = &goals->items[goals->count - 1];
    return NULL;
}

struct tg_error *tg_break_goals_want(struct tg_break_goals *goals, const char *text)
{
    struct tg_break_spec *spec = NULL;
    struct tg_break_goal *goal = NULL;
    struct tg_error *error = tg_break_spec_parse(text, &spec);
    return error != NULL ? error : find_or_add(goals, text, spec, &goal);
}

struct tg_error *tg_break_goals_record(struct tg_break_goals *goals,
                                       const struct tg_event_breakpoint_spec *event)
{
    struct tg_break_spec *spec = NULL;
    struct tg_break_goal *goal = NULL;
    tg_error_destroy(tg_break_spec_parse(event->text, &spec)); /* what a later version knows */
    struct tg_error *error = find_or_add(goals, event->text, spec, &goal);
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

struct tg_error *tg_break_goals_plant(struct tg_break_goals *goals, struct tg_library_catalog *catalog,
                                      const struct tg_event_breakpoint_planted *event)
{
    uint32_t goal = 0;
    if (!tg_break_goals_find(goals, event->breakpoint, &goal))
        return NULL;
    struct tg_catalog_library *library = NULL;
    struct tg_error *error = tg_library_catalog_intern(catalog, event->library, &library);
    if (error != NULL)
        return error;
    library->searched = true; /* for all of them */
    return tg_catalog_library_add_goal(library, goal, true);
}

/* ---- places */

/* The question about one file, and its answers: arrays of the goals' count. */
struct question {
    const struct tg_break_spec **specs;
    enum tg_break_presence *found;
    uint32_t *goals;
    size_t count;
};

/* Whether the recording leaves open if LIBRARY has a place for GOAL. */
static bool is_open(const struct tg_break_goal *goal, uint32_t index,
                    const struct tg_catalog_library *library)
{
    bool absolute =
        goal->spec == NULL || (goal->spec->kind == TG_BREAK_ADDRESS && goal->spec->library == NULL);
    return !absolute && !(goal->recorded && (library->searched || library->programs > 0)) &&
           !tg_catalog_library_has_goal(library, index) && tg_break_spec_admits(goal->spec, library->path);
}

static struct tg_error *take_answer(struct tg_break_goals *goals, struct tg_catalog_library *library,
                                    uint32_t index, enum tg_break_presence found)
{
    struct tg_break_goal *goal = &goals->items[index];
    bool by_name = found == TG_BREAK_UNKNOWN && goal->spec->library != NULL;
    bool is_library = library->dlopens > 0 || library->startups > 0;
    if (found == TG_BREAK_ABSENT)
        return NULL;
    goal->is_beyond = true;
    goal->by_name += by_name;
    goal->perhaps += found == TG_BREAK_UNKNOWN && !by_name;
    if (found == TG_BREAK_UNKNOWN && !by_name && !is_library)
        return NULL; /* a program's breakpoints are in time in every mode */
    return tg_catalog_library_add_goal(library, index, found == TG_BREAK_PRESENT || by_name);
}

static struct tg_error *ask(struct tg_break_goals *goals, struct tg_catalog_library *library,
                            const struct tg_break_search *search, struct question *question)
{
    struct tg_error *error = NULL;
    question->count = 0;
    for (uint32_t i = 0; i < goals->count; i++) {
        if (!is_open(&goals->items[i], i, library))
            continue;
        question->goals[question->count] = i;
        question->found[question->count] = TG_BREAK_UNKNOWN;
        question->specs[question->count++] = goals->items[i].spec;
    }
    if (search->find != NULL && question->count > 0) {
        char path[PATH_MAX];
        bool relative = library->path[0] != '/' && search->directory != NULL;
        int length = snprintf(path, sizeof path, "%s%s%s", relative ? search->directory : "",
                              relative ? "/" : "", library->path);
        if (length > 0 && (size_t)length < sizeof path)
            search->find(path, library->build_id, question->specs, question->count, question->found);
    }
    for (size_t i = 0; error == NULL && i < question->count; i++)
        error = take_answer(goals, library, question->goals[i], question->found[i]);
    return error;
}

static enum tg_goal_state state_of(const struct tg_break_goal *goal, bool unseen)
{
    if (goal->places > 0)
        return goal->by_name == goal->places ? TG_GOAL_BY_LIBRARY : TG_GOAL_RESOLVED;
    bool absolute = goal->spec != NULL && goal->spec->kind == TG_BREAK_ADDRESS && goal->spec->library == NULL;
    if (goal->perhaps > 0 || unseen || (!goal->recorded && (absolute || goal->spec == NULL)))
        return TG_GOAL_UNKNOWN;
    return TG_GOAL_NOWHERE;
}

static void count_places(struct tg_break_goals *goals, const struct tg_library_catalog *catalog)
{
    for (size_t i = 0; i < tg_library_catalog_count(catalog); i++) {
        const struct tg_catalog_library *library = tg_library_catalog_at(catalog, i);
        for (uint32_t g = 0; g < library->n_goals; g++)
            goals->items[library->goals[g].goal].places += library->goals[g].certain;
    }
}

struct tg_error *tg_break_goals_resolve(struct tg_break_goals *goals, struct tg_library_catalog *catalog,
                                        const struct tg_break_search *search)
{
    size_t room = goals->count + 1;
    struct question question = {.specs = calloc(room, sizeof *question.specs),
                                .found = calloc(room, sizeof *question.found),
                                .goals = calloc(room, sizeof *question.goals)};
    struct tg_error *error = NULL;
    if (question.specs == NULL || question.found == NULL || question.goals == NULL)
        error = tg_error_no_memory();
    for (size_t i = 0; error == NULL && i < tg_library_catalog_count(catalog); i++)
        error = ask(goals, tg_library_catalog_at(catalog, i), search, &question);
    free(question.specs);
    free(question.found);
    free(question.goals);
    if (error != NULL)
        return error;
    count_places(goals, catalog);
    for (size_t i = 0; i < goals->count; i++)
        goals->items[i].state = state_of(&goals->items[i], search->unseen);
    return NULL;
}

bool tg_break_goal_is_lost(const struct tg_break_goal *goal, bool unseen)
{
    return goal->state == TG_GOAL_UNKNOWN && (unseen || goal->perhaps == 0);
}

const char *tg_goal_state_name(enum tg_goal_state state)
{
    static const char *const names[] = {"resolved", "by_library", "nowhere", "unknown"};
    return names[state];
}
