#include "analyzer/job/action_points.h"

#include "format/base/array.h"
#include "format/base/printable.h"
#include "format/base/search.h"
#include "format/base/tcl_quote.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

struct tg_action_points {
    struct tg_action_point *points; /* by ascending id */
    size_t n_points, capacity;
    uint32_t last_id;
    bool suppressed;
};

struct tg_error *tg_action_points_create(struct tg_action_points **points)
{
    struct tg_action_points *made = calloc(1, sizeof *made);
    if (made == NULL)
        return tg_error_no_memory();
    *points = made;
    return NULL;
}

/* ---- memory */

/* The members of a point that are texts of its own. */
static void texts_of(struct tg_action_point *point, const char ***texts)
{
    texts[0] = &point->location;
    texts[1] = &point->place;
    texts[2] = &point->focus;
    texts[3] = &point->condition;
    texts[4] = &point->satisfaction;
    texts[5] = &point->script;
    texts[6] = &point->others;
}
enum { N_TEXTS = 7, MAX_OTHERS = 1000 /* bytes */ };

static void deinit_point(struct tg_action_point *point)
{
    const char **texts[N_TEXTS];
    texts_of(point, texts);
    for (size_t i = 0; i < N_TEXTS; i++)
        free((void *)(uintptr_t)*texts[i]);
    free((void *)(uintptr_t)point->more_groups);
}

void tg_action_points_destroy(struct tg_action_points *points)
{
    if (points == NULL)
        return;
    for (size_t i = 0; i < points->n_points; i++)
        deinit_point(&points->points[i]);
    free(points->points);
    free(points);
}

static bool copy_point(const struct tg_action_point *point, struct tg_action_point *copy)
{
    const char **texts[N_TEXTS];
    bool copied = true;
    uint32_t *groups = calloc(point->n_more_groups + 1, sizeof *groups);
    *copy = *point;
    for (size_t i = 0; groups != NULL && i < point->n_more_groups; i++)
        groups[i] = point->more_groups[i];
    copy->more_groups = groups;
    copied = groups != NULL;
    texts_of(copy, texts);
    for (size_t i = 0; i < N_TEXTS; i++) {
        *texts[i] = strdup(*texts[i] == NULL ? "" : *texts[i]);
        copied = copied && *texts[i] != NULL;
    }
    if (!copied)
        deinit_point(copy);
    return copied;
}

/* ---- the table */

struct tg_error *tg_action_points_add(struct tg_action_points *points, const struct tg_action_point *point,
                                      uint32_t *id)
{
    if (points->last_id == INT32_MAX)
        return tg_error_create(TG_ERROR_LIMIT, "too many action points (limit %d)", INT32_MAX);
    struct tg_error *error = TG_ARRAY_RESERVE(points->points, points->capacity, points->n_points + 1);
    if (error != NULL)
        return error;
    struct tg_action_point *added = &points->points[points->n_points];
    if (!copy_point(point, added))
        return tg_error_no_memory();
    added->id = ++points->last_id;
    added->hits = 0;
    points->n_points++;
    *id = added->id;
    return NULL;
}

static struct tg_action_point *get(const struct tg_action_points *points, uint32_t id)
{
    size_t at = TG_LOWER_BOUND(points->points, points->n_points, id, id);
    return at < points->n_points && points->points[at].id == id ? &points->points[at] : NULL;
}

static struct tg_error *find(const struct tg_action_points *points, uint32_t id,
                             struct tg_action_point **point)
{
    struct tg_action_point *found = get(points, id);
    if (found == NULL)
        return tg_error_create(TG_ERROR_NOT_FOUND, "no action point %" PRIu32 "; `dactions` lists them", id);
    *point = found;
    return NULL;
}

const struct tg_action_point *tg_action_points_get(const struct tg_action_points *points, uint32_t id)
{
    return get(points, id);
}

struct tg_error *tg_action_points_find(const struct tg_action_points *points, uint32_t id,
                                       const struct tg_action_point **point)
{
    struct tg_action_point *found = NULL;
    struct tg_error *error = find(points, id, &found);
    if (error == NULL)
        *point = found;
    return error;
}

struct tg_error *tg_action_points_remove(struct tg_action_points *points, uint32_t id)
{
    struct tg_action_point *point = NULL;
    struct tg_error *error = find(points, id, &point);
    if (error != NULL)
        return error;
    deinit_point(point);
    TG_ARRAY_REMOVE(points->points, points->n_points, (size_t)(point - points->points));
    return NULL;
}

void tg_action_points_take_back(struct tg_action_points *points, uint32_t id)
{
    if (get(points, id) == NULL)
        return;
    tg_error_destroy(tg_action_points_remove(points, id)); /* cannot fail: the point exists */
    if (id == points->last_id)
        points->last_id--;
}

struct tg_error *tg_action_points_set_script(struct tg_action_points *points, uint32_t id, const char *script)
{
    struct tg_action_point *point = NULL;
    struct tg_error *error = find(points, id, &point);
    char *copy = error == NULL ? strdup(script) : NULL;
    if (error == NULL && copy == NULL)
        error = tg_error_no_memory();
    if (error != NULL)
        return error;
    free((void *)(uintptr_t)point->script);
    point->script = copy;
    return NULL;
}

struct tg_error *tg_action_points_enable(struct tg_action_points *points, uint32_t id, bool enabled)
{
    struct tg_action_point *point = NULL;
    struct tg_error *error = find(points, id, &point);
    if (error == NULL)
        point->enabled = enabled;
    return error;
}

struct tg_error *tg_action_points_place(struct tg_action_points *points, uint32_t id, uint64_t address,
                                        const char *place)
{
    struct tg_action_point *point = NULL;
    struct tg_error *error = find(points, id, &point);
    if (error != NULL)
        return error;
    char *copy = strdup(place), *none = strdup("");
    if (copy == NULL || none == NULL) {
        free(copy);
        free(none);
        return tg_error_no_memory();
    }
    free((void *)(uintptr_t)point->place);
    free((void *)(uintptr_t)point->others);
    point->place = copy;
    point->others = none;
    point->address = address;
    point->was_found = point->was_found || address != 0;
    point->pending = false;
    return NULL;
}

/* Whether PLACE is one of LIST, whose items have ", " between them. */
static bool is_listed(const char *list, const char *place)
{
    const size_t length = strlen(place);
    for (const char *at = strstr(list, place); at != NULL; at = strstr(at + 1, place))
        if ((at == list || at[-1] == ' ') && (at[length] == '\0' || at[length] == ','))
            return true;
    return false;
}

struct tg_error *tg_action_points_place_more(struct tg_action_points *points, uint32_t id, const char *place)
{
    struct tg_action_point *point = NULL;
    struct tg_error *error = find(points, id, &point);
    if (error != NULL || *place == '\0' || strcmp(point->place, place) == 0 ||
        is_listed(point->others, place) || strlen(point->others) + strlen(place) > MAX_OTHERS)
        return error;
    char *longer = NULL;
    if (asprintf(&longer, "%s%s%s", point->others, *point->others == '\0' ? "" : ", ", place) < 0)
        return tg_error_no_memory();
    free((void *)(uintptr_t)point->others);
    point->others = longer;
    return NULL;
}

struct tg_error *tg_action_points_bind(struct tg_action_points *points, uint32_t id, uint32_t share_group,
                                       const char *satisfaction)
{
    struct tg_action_point *point = NULL;
    struct tg_error *error = find(points, id, &point);
    if (error != NULL)
        return error;
    char *copy = strdup(satisfaction);
    if (copy == NULL)
        return tg_error_no_memory();
    free((void *)(uintptr_t)point->satisfaction);
    point->satisfaction = copy;
    point->group = share_group;
    point->unbound = false;
    return NULL;
}

bool tg_action_points_tell_left_out(struct tg_action_points *points, uint32_t id)
{
    struct tg_action_point *point = get(points, id);
    bool is_new = point != NULL && !point->told_left_out;
    if (is_new)
        point->told_left_out = true;
    return is_new;
}

struct tg_error *tg_action_points_unplace(struct tg_action_points *points, uint32_t id)
{
    struct tg_action_point *point = NULL;
    struct tg_error *error = tg_action_points_place(points, id, 0, "");
    if (error == NULL)
        error = find(points, id, &point);
    if (error == NULL)
        point->pending = true;
    return error;
}

bool tg_action_point_is_of_group(const struct tg_action_point *point, uint32_t share_group)
{
    bool is_of_it = point->group == share_group;
    for (size_t i = 0; i < point->n_more_groups; i++)
        is_of_it = is_of_it || point->more_groups[i] == share_group;
    return is_of_it;
}

struct tg_error *tg_action_points_hit(struct tg_action_points *points, uint32_t id)
{
    struct tg_action_point *point = NULL;
    struct tg_error *error = find(points, id, &point);
    if (error == NULL)
        point->hits++;
    return error;
}

void tg_action_points_suppress(struct tg_action_points *points, bool suppressed)
{
    points->suppressed = suppressed;
}

bool tg_action_points_are_suppressed(const struct tg_action_points *points)
{
    return points->suppressed;
}

bool tg_action_points_in_force(const struct tg_action_points *points, uint32_t id)
{
    const struct tg_action_point *point = get(points, id);
    return point != NULL && point->enabled && !point->pending && !points->suppressed;
}

size_t tg_action_points_count(const struct tg_action_points *points)
{
    return points->n_points;
}

const struct tg_action_point *tg_action_points_at(const struct tg_action_points *points, size_t i)
{
    return &points->points[i];
}

/* ---- words */

struct tg_error *tg_action_point_parse_stop(const char *option, const char *word, enum tg_barrier_stop *stop)
{
    if (strcmp(word, "group") == 0)
        *stop = TG_BARRIER_STOP_GROUP;
    else if (strcmp(word, "process") == 0)
        *stop = TG_BARRIER_STOP_PROCESS;
    else if (strcmp(word, "none") == 0 || strcmp(word, "thread") == 0)
        *stop = TG_BARRIER_STOP_NONE;
    else
        return tg_error_create(TG_ERROR_USAGE, "%s: invalid width '%s'; use group, process or none", option,
                               word);
    return NULL;
}

/* Names what really stops: a process barrier always holds its processes. */
static const char *stop_word(const struct tg_action_point *point, enum tg_barrier_stop stop, const char *none)
{
    bool of_processes = point->kind == TG_ACTION_BARRIER && !point->of_threads;
    if (stop == TG_BARRIER_STOP_GROUP)
        return "group";
    return stop == TG_BARRIER_STOP_PROCESS || of_processes ? "process" : none;
}

void tg_action_point_print_location(const char *location, FILE *stream)
{
    const char *colon = strrchr(location, ':');
    bool is_line = colon != NULL && colon[1] != '\0' && colon[1 + strspn(colon + 1, "0123456789")] == '\0';
    char *file = is_line ? strndup(location, (size_t)(colon - location)) : NULL;
    tg_printable_write(stream, file == NULL ? location : file);
    if (file != NULL)
        fprintf(stream, "#%s", colon + 1);
    free(file);
}

static void print_place(const struct tg_action_point *point, FILE *stream)
{
    fputc('[', stream);
    if (*point->place != '\0')
        tg_printable_write(stream, point->place);
    else
        tg_action_point_print_location(point->location, stream);
    if (*point->others != '\0') {
        fputs(", ", stream);
        tg_printable_write(stream, point->others);
    }
    fputc(']', stream);
}

static void print_state(const struct tg_action_point *point, FILE *stream)
{
    fputs(point->enabled ? "Enabled" : "Disabled", stream);
    if (point->kind == TG_ACTION_BARRIER)
        fputs(" (barrier)", stream);
    if (point->kind == TG_ACTION_WATCH)
        fputs(" (watchpoint)", stream);
    if (point->pending)
        fputs(" (pending)", stream);
}

/* "group 7", "groups 7, 9 and 11", "process 3". */
static void print_owner(const struct tg_action_point *point, FILE *stream)
{
    if (!point->shared) {
        fprintf(stream, "process %" PRIu32, point->process);
        return;
    }
    fprintf(stream, "group%s %" PRIu32, point->n_more_groups > 0 ? "s" : "", point->group);
    for (size_t i = 0; i < point->n_more_groups; i++)
        fprintf(stream, "%s %" PRIu32, i + 1 < point->n_more_groups ? "," : " and", point->more_groups[i]);
}

static void print_heading(const struct tg_action_point *point, size_t count, FILE *stream)
{
    fprintf(stream, "%zu %s action point%s for ", count, point->shared ? "shared" : "unshared",
            count == 1 ? "" : "s");
    print_owner(point, stream);
    fputs(point->pending && point->of_ranks ? " and ranks to come:\n" : ":\n", stream);
}

void tg_action_points_print_suppressed(const struct tg_action_points *points, FILE *stream)
{
    if (points->suppressed)
        fputs("Action points are suppressed: none is in effect\n", stream);
}

void tg_action_point_print(const struct tg_action_point *point, FILE *stream)
{
    print_heading(point, 1, stream);
    fprintf(stream, "%" PRIu32 " ", point->id);
    if (!point->pending)
        fprintf(stream, "addr=0x%" PRIx64 " ", point->address);
    print_place(point, stream);
    fputc('\n', stream);
    print_state(point, stream);
    fprintf(stream, "\nShare in group: %s\n", point->shared ? "true" : "false");
    fprintf(stream, "Stop when hit: %s\n", stop_word(point, point->stop_when_hit, "thread"));
    if (*point->condition != '\0') {
        fputs("Condition: ", stream);
        tg_printable_write(stream, point->condition);
        fputc('\n', stream);
    }
    if (*point->script != '\0') {
        fputs("Script: ", stream);
        tg_printable_write(stream, point->script);
        fputc('\n', stream);
    }
    if (point->kind != TG_ACTION_BARRIER)
        return;
    fprintf(stream, "Stop when done: %s\n", stop_word(point, point->stop_when_done, "none"));
    fprintf(stream, "%s barrier; satisfaction set = ", point->of_threads ? "thread" : "process");
    tg_printable_write(stream, point->satisfaction);
    fputc('\n', stream);
}

/* ---- lists */

static bool is_wanted(const struct tg_action_point *point, enum tg_action_points_which which)
{
    return which == TG_ACTION_POINTS_ALL || point->enabled == (which == TG_ACTION_POINTS_ENABLED);
}

/* By their further groups. */
static int compare_more(const struct tg_action_point *a, const struct tg_action_point *b)
{
    if (a->n_more_groups != b->n_more_groups)
        return a->n_more_groups > b->n_more_groups ? 1 : -1;
    for (size_t i = 0; i < a->n_more_groups; i++)
        if (a->more_groups[i] != b->more_groups[i])
            return a->more_groups[i] > b->more_groups[i] ? 1 : -1;
    return 0;
}

/* By where they are planted, shared ones first; there by id. */
static int compare_points(const void *x, const void *y)
{
    const struct tg_action_point *a = *(const struct tg_action_point *const *)x,
                                 *b = *(const struct tg_action_point *const *)y;
    uint32_t of_a = a->shared ? a->group : a->process, of_b = b->shared ? b->group : b->process;
    if (a->shared != b->shared)
        return a->shared ? -1 : 1;
    if (of_a != of_b)
        return of_a > of_b ? 1 : -1;
    if (compare_more(a, b) != 0)
        return compare_more(a, b);
    bool a_comes = a->pending && a->of_ranks, b_comes = b->pending && b->of_ranks;
    if (a_comes != b_comes)
        return a_comes ? 1 : -1;
    return (a->id > b->id) - (a->id < b->id);
}

static bool is_planted_alike(const struct tg_action_point *a, const struct tg_action_point *b)
{
    return a->shared == b->shared && (a->shared ? a->group == b->group : a->process == b->process) &&
           compare_more(a, b) == 0 && (a->pending && a->of_ranks) == (b->pending && b->of_ranks);
}

static void print_sorted(const struct tg_action_point *const *sorted, size_t n, FILE *stream)
{
    for (size_t i = 0; i < n;) {
        size_t count = 1;
        while (i + count < n && is_planted_alike(sorted[i], sorted[i + count]))
            count++;
        print_heading(sorted[i], count, stream);
        for (size_t end = i + count; i < end; i++) {
            fprintf(stream, "  %" PRIu32 " ", sorted[i]->id);
            print_place(sorted[i], stream);
            fputc(' ', stream);
            print_state(sorted[i], stream);
            if (sorted[i]->hits > 0)
                fprintf(stream, ", hit %" PRIu64 " time%s", sorted[i]->hits, sorted[i]->hits == 1 ? "" : "s");
            fputc('\n', stream);
        }
    }
}

struct tg_error *tg_action_points_print(const struct tg_action_points *points,
                                        enum tg_action_points_which which, FILE *stream)
{
    const struct tg_action_point **sorted = calloc(points->n_points + 1, sizeof(void *));
    size_t n = 0;
    if (sorted == NULL)
        return tg_error_no_memory();
    for (size_t i = 0; i < points->n_points; i++)
        if (is_wanted(&points->points[i], which))
            sorted[n++] = &points->points[i];
    qsort(sorted, n, sizeof(void *), compare_points);
    tg_action_points_print_suppressed(points, stream);
    print_sorted(sorted, n, stream);
    free(sorted);
    return NULL;
}

static void save_watch_words(const struct tg_action_point *point, FILE *stream)
{
    fputs("dwatch ", stream);
    tg_tcl_quote_write(point->location, stream);
    if (point->size_bytes > 0)
        fprintf(stream, " -length %" PRIu64, point->size_bytes);
}

static void save_point(const struct tg_action_point *point, FILE *stream)
{
    if (point->kind == TG_ACTION_WATCH && !point->is_static) {
        fputs("# not set again: a watchpoint of one frame, process or address: ", stream);
        tg_printable_write(stream, point->location);
        fputc('\n', stream);
        return;
    }
    bool is_barrier = point->kind == TG_ACTION_BARRIER;
    if (!point->enabled)
        fputs("ddisable [", stream);
    if (*point->focus != '\0') {
        fputs("dfocus ", stream);
        tg_tcl_quote_write(point->focus, stream);
        fputc(' ', stream);
    }
    if (point->kind == TG_ACTION_WATCH) {
        save_watch_words(point, stream);
    } else {
        fprintf(stream, "%s ", is_barrier ? "dbarrier" : "dbreak");
        tg_tcl_quote_write(point->location, stream);
    }
    if (is_barrier)
        fprintf(stream, " -stop_when_hit %s -stop_when_done %s",
                stop_word(point, point->stop_when_hit, "thread"),
                stop_word(point, point->stop_when_done, "none"));
    else
        fputs(point->stop_when_hit == TG_BARRIER_STOP_GROUP     ? " -g"
              : point->stop_when_hit == TG_BARRIER_STOP_PROCESS ? " -p"
                                                                : " -t",
              stream);
    if (!is_barrier && *point->condition != '\0') {
        fputs(" -if ", stream);
        tg_tcl_quote_write(point->condition, stream);
    }
    if (*point->script != '\0') {
        fputs(" -e ", stream);
        tg_tcl_quote_write(point->script, stream);
    }
    /* a place that does not exist when the script runs may come with a library */
    fputs(" -pending", stream);
    fputs(point->enabled ? "\n" : "]\n", stream);
}

void tg_action_points_save(const struct tg_action_points *points, FILE *stream)
{
    fputs("# tollgate action points; `dactions -load` reads them\n", stream);
    for (size_t i = 0; i < points->n_points; i++)
        save_point(&points->points[i], stream);
    if (points->suppressed)
        fputs("dactions -suppress\n", stream);
}
