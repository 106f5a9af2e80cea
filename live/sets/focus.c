#include "live/sets/focus.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Defaults of commands for a set that names neither width nor group: the whole process. */
static const struct tg_ptset_defaults defaults = {TG_WIDTH_PROCESS, TG_GROUP_CONTROL};

void tg_focus_init(struct tg_focus *focus)
{
    *focus = (struct tg_focus){.process = SIZE_MAX, .worker = SIZE_MAX, .former_worker = SIZE_MAX};
}

struct tg_error *tg_focus_begin(struct tg_focus *focus)
{
    struct tg_ptset *parsed = NULL;
    struct tg_error *error = tg_ptset_parse("d1.<", &parsed, NULL);
    if (error == NULL)
        error = tg_ptset_complete(parsed, NULL, &focus->set, NULL);
    tg_ptset_destroy(parsed);
    focus->is_open = error == NULL;
    return error;
}

static void forget_members(struct tg_focus_members *members)
{
    free(members->processes);
    free(members->whole);
    free(members->workers);
    *members = (struct tg_focus_members){0};
}

void tg_focus_deinit(struct tg_focus *focus)
{
    forget_members(&focus->members);
    tg_ptset_destroy(focus->set);
    tg_focus_init(focus);
}

/* ---- members */

static struct tg_error *allocate_members(const struct tg_source *source, struct tg_focus_members *members)
{
    members->n_processes = tg_process_model_count(source->moment->processes);
    members->n_workers = tg_openmp_model_worker_count(source->moment->openmp);
    members->processes = calloc(members->n_processes + 1, sizeof *members->processes);
    members->whole = calloc(members->n_processes + 1, sizeof *members->whole);
    members->workers = calloc(members->n_workers + 1, sizeof *members->workers);
    return members->processes == NULL || members->whole == NULL || members->workers == NULL
               ? tg_error_no_memory()
               : NULL;
}

static void take_members(const struct tg_job_view *view, const struct tg_job_set *set,
                         struct tg_focus_members *members)
{
    for (size_t i = 0; i < tg_job_view_count(view); i++) {
        const struct tg_job_process *process = tg_job_view_at(view, i);
        size_t index = (size_t)process->info.tag;
        if (index >= members->n_processes) /* of a live job, and so new that no event has told of it yet */
            continue;
        members->processes[index] = tg_job_set_has_any(set, process);
        members->whole[index] = members->processes[index];
        for (size_t j = 0; j < process->n_threads; j++) {
            uint64_t worker = tg_job_view_thread(view, process, j)->tag;
            bool is_member = tg_job_set_has(set, process, j);
            members->whole[index] &= is_member;
            if (worker < members->n_workers)
                members->workers[worker] = is_member;
        }
    }
}

/* Makes MEMBERS those of FOUND, a set of VIEW. */
static struct tg_error *make_members(struct tg_source *source, const struct tg_job_view *view,
                                     const struct tg_job_set *found, struct tg_focus_members *members)
{
    struct tg_error *error = allocate_members(source, members);
    if (error != NULL) {
        forget_members(members);
        return error;
    }
    take_members(view, found, members);
    members->is_known = true;
    members->number = source->number;
    return NULL;
}

static struct tg_error *evaluate(const struct tg_ptset *set, struct tg_source *source,
                                 struct tg_focus_members *members, size_t *position)
{
    struct tg_job_view *view = NULL;
    TG_AUTO_JOB_SET struct tg_job_set found = {0};
    struct tg_error *error = tg_source_view(source, &view);
    if (error == NULL)
        error = tg_ptset_members(set, view, &defaults, &found, position);
    if (error == NULL)
        error = make_members(source, view, &found, members);
    tg_job_view_destroy(view);
    return error;
}

struct tg_error *tg_focus_members(const struct tg_focus *focus, const struct tg_job_view *view,
                                  struct tg_job_set *members)
{
    if (focus->set != NULL)
        return tg_ptset_present_members(focus->set, view, &defaults, members);
    struct tg_error *error = tg_job_set_init(members, view);
    for (size_t i = 0; error == NULL && i < tg_job_view_count(view); i++) {
        const struct tg_job_process *process = tg_job_view_at(view, i);
        for (size_t j = 0; j < process->n_threads || j == 0; j++)
            tg_job_set_add(members, process, j);
    }
    return error;
}

struct tg_error *tg_focus_refresh(struct tg_focus *focus, struct tg_source *source)
{
    struct tg_focus_members members = {0};
    struct tg_job_view *view = NULL;
    TG_AUTO_JOB_SET struct tg_job_set found = {0};
    if (focus->set == NULL || (focus->members.is_known && focus->members.number == source->number))
        return NULL;
    struct tg_error *error = tg_source_view(source, &view);
    if (error == NULL)
        error = tg_ptset_present_members(focus->set, view, &defaults, &found);
    if (error == NULL)
        error = make_members(source, view, &found, &members);
    tg_job_view_destroy(view);
    if (error != NULL)
        return error;
    forget_members(&focus->members);
    focus->members = members;
    return NULL;
}

struct tg_error *tg_focus_follow(struct tg_focus *focus, struct tg_source *source)
{
    if (focus->set == NULL)
        return NULL;
    bool is_other = tg_process_model_count(source->moment->processes) != focus->members.n_processes ||
                    tg_openmp_model_worker_count(source->moment->openmp) != focus->members.n_workers;
    switch ((unsigned)source->event->kind) {
    case TG_EVENT_PROGRAM:
    case TG_EVENT_EXEC:
    case TG_EVENT_IDENTITY:
    case TG_EVENT_THREAD_START:
    case TG_EVENT_PROCESS_EXIT:
    case TG_EVENT_DETACH:
        is_other = true;
        break;
    default:
        break;
    }
    return is_other ? tg_focus_refresh(focus, source) : NULL;
}

bool tg_focus_has(const struct tg_focus *focus, size_t process)
{
    const struct tg_focus_members *members = &focus->members;
    return focus->set == NULL || (process < members->n_processes && members->processes[process]);
}

bool tg_focus_has_worker(const struct tg_focus *focus, const struct tg_openmp_worker *worker)
{
    const struct tg_focus_members *members = &focus->members;
    return focus->set == NULL || (tg_focus_has(focus, worker->process) &&
                                  (members->whole[worker->process] ||
                                   (worker->index < members->n_workers && members->workers[worker->index])));
}

bool tg_focus_has_event(const struct tg_focus *focus, const struct tg_source *source)
{
    const struct tg_process_entry *entry = source->moment->entry;
    if (focus->set == NULL)
        return true;
    if (entry == NULL || !tg_focus_has(focus, entry->index))
        return false;
    if (focus->members.whole[entry->index])
        return true;
    const struct tg_openmp_worker *worker =
        tg_openmp_model_worker(source->moment->openmp, entry->index, source->event->tid);
    return worker != NULL && tg_focus_has_worker(focus, worker);
}

/* The worker that the last event is of, and else the first of the process of interest that lives. */
const struct tg_openmp_worker *tg_focus_worker(const struct tg_focus *focus, const struct tg_source *source)
{
    const struct tg_openmp_model *model = source->moment->openmp;
    const struct tg_process_entry *entry = source->moment->entry;
    if (focus->worker != SIZE_MAX)
        return focus->worker < tg_openmp_model_worker_count(model)
                   ? tg_openmp_model_worker_at(model, focus->worker)
                   : NULL;
    if (source->event != NULL && entry != NULL && tg_focus_has_event(focus, source)) {
        const struct tg_openmp_worker *worker =
            tg_openmp_model_worker(model, entry->index, source->event->tid);
        if (worker != NULL)
            return worker;
    }
    for (size_t i = 0; focus->process != SIZE_MAX && i < tg_openmp_model_worker_count(model); i++) {
        const struct tg_openmp_worker *worker = tg_openmp_model_worker_at(model, i);
        if (worker->process == focus->process && worker->alive && tg_focus_has_worker(focus, worker))
            return worker;
    }
    return NULL;
}

const struct tg_openmp_worker *tg_focus_active_worker(const struct tg_focus *focus,
                                                      const struct tg_source *source)
{
    const struct tg_openmp_worker *worker = tg_focus_worker(focus, source);
    if (worker != NULL || focus->former_worker >= tg_openmp_model_worker_count(source->moment->openmp))
        return worker;
    worker = tg_openmp_model_worker_at(source->moment->openmp, focus->former_worker);
    return worker->alive && tg_focus_has_worker(focus, worker) ? worker : NULL;
}

struct tg_error *tg_focus_find_pid(const struct tg_source *source, int64_t pid, size_t *process)
{
    size_t found = tg_moment_find_pid(source->moment, pid);
    if (found == SIZE_MAX)
        return tg_error_create(TG_ERROR_NOT_FOUND,
                               "no process %" PRId64 " at this moment; `info processes` lists them", pid);
    *process = found;
    return NULL;
}

/* ---- from text */

/* *SET as its canonical text is read, so that errors to come can point into that; where that is too long it
 * stays as it is. */
static struct tg_error *make_canonical(struct tg_ptset **set)
{
    struct tg_ptset *read = NULL;
    char *text = tg_ptset_string(*set);
    struct tg_error *error = text == NULL ? tg_error_no_memory() : tg_ptset_parse(text, &read, NULL);
    free(text);
    if (error != NULL && tg_error_code(error) == TG_ERROR_NO_MEMORY)
        return error;
    if (error == NULL)
        tg_ptset_destroy(*set);
    if (error == NULL)
        *set = read;
    tg_error_destroy(error);
    return NULL;
}

/* The single arena that SET is, NULL: it is more. */
static const struct tg_ptset_arena *arena_of(const struct tg_ptset *set)
{
    return set != NULL && tg_ptset_count(set) == 1 ? tg_ptset_arena(set, 0) : NULL;
}

static bool is_everything(const struct tg_ptset_arena *arena)
{
    return arena->width == TG_WIDTH_ALL && arena->group == TG_GROUP_MISSING && !arena->has_process &&
           !arena->has_thread;
}

static bool is_within_process(const struct tg_ptset_arena *arena)
{
    return arena->width == TG_WIDTH_DEFAULT || arena->width == TG_WIDTH_PROCESS ||
           arena->width == TG_WIDTH_THREAD;
}

/* While everything is in focus no process is, that a set could leave out. */
static struct tg_error *refuse_missing(const struct tg_focus *now, const struct tg_ptset *set,
                                       size_t *position)
{
    for (size_t i = 0; now->set == NULL && i < tg_ptset_count(set); i++) {
        const struct tg_ptset_arena *arena = tg_ptset_arena(set, i);
        if (arena == NULL || arena->has_process || arena->width == TG_WIDTH_ALL ||
            arena->group == TG_GROUP_NUMBER || arena->group == TG_GROUP_NAME)
            continue;
        *position = arena->position;
        return tg_error_create(TG_ERROR_USAGE, "all processes are in focus; name a process");
    }
    return NULL;
}

/* What ARENA is written as; its default group is left out. */
static void print_arena(const struct tg_ptset_arena *arena, char *buffer, size_t size)
{
    struct tg_ptset_arena shown = *arena;
    if (shown.group == TG_GROUP_DEFAULT)
        shown.group = TG_GROUP_MISSING;
    FILE *stream = fmemopen(buffer, size, "w");
    *buffer = '\0';
    if (stream == NULL)
        return;
    tg_ptset_arena_write(&shown, stream);
    fclose(stream);
}

/* A rank becomes the process that it is now: the focus stays with it wherever the source goes. */
static struct tg_error *settle(const struct tg_ptset_arena *arena, const struct tg_job_process *process,
                               struct tg_ptset **set)
{
    char text[TG_PTSET_NAME_SIZE + 64];
    struct tg_ptset *parsed = NULL, *made = NULL;
    struct tg_ptset_arena settled = *arena;
    if (!arena->by_rank)
        return NULL;
    settled.by_rank = false;
    settled.has_process = settled.has_thread = true;
    settled.process = process->info.dpid;
    print_arena(&settled, text, sizeof text);
    struct tg_error *error = tg_ptset_parse(text, &parsed, NULL);
    if (error == NULL)
        error = tg_ptset_complete(parsed, *set, &made, NULL);
    tg_ptset_destroy(parsed);
    if (error != NULL)
        return error;
    tg_ptset_destroy(*set);
    *set = made;
    return NULL;
}

/* The process and the thread of interest, where FOCUS is one arena. */
static struct tg_error *find_interest(struct tg_source *source, bool has_thread, struct tg_focus *focus,
                                      size_t *position)
{
    const struct tg_ptset_arena *arena = arena_of(focus->set);
    struct tg_job_view *view = NULL;
    const struct tg_job_process *process = NULL;
    size_t thread = SIZE_MAX;
    if (arena == NULL)
        return NULL;
    struct tg_error *error = tg_source_view(source, &view);
    if (error == NULL && (is_within_process(arena) || has_thread))
        error = tg_ptset_interest(arena, view, &process, &thread, position);
    if (error == NULL && process != NULL) {
        if (is_within_process(arena))
            focus->process = (size_t)process->info.tag;
        focus->has_thread = has_thread;
        if (has_thread && thread != SIZE_MAX &&
            tg_job_view_thread(view, process, thread)->tag <
                tg_openmp_model_worker_count(source->moment->openmp))
            focus->worker = (size_t)tg_job_view_thread(view, process, thread)->tag;
        error = settle(arena, process, &focus->set);
    }
    tg_job_view_destroy(view);
    return error;
}

/* Whether nothing in SET says which process is meant. */
static bool leaves_process_open(const struct tg_ptset *set)
{
    const struct tg_ptset_arena *arena = arena_of(set);
    return arena != NULL && !arena->has_process && !arena->has_thread && arena->width != TG_WIDTH_ALL &&
           arena->group != TG_GROUP_NUMBER && arena->group != TG_GROUP_NAME;
}

static struct tg_error *complete(const struct tg_focus *now, struct tg_source *source,
                                 const struct tg_ptset *parsed, struct tg_focus *focus, size_t *position)
{
    const struct tg_ptset_arena *arena = arena_of(parsed);
    bool has_thread = arena != NULL && arena->has_thread;
    if (arena != NULL && is_everything(arena))
        return NULL;
    struct tg_error *error = refuse_missing(now, parsed, position);
    if (error == NULL)
        error = tg_ptset_complete(parsed, now->set, &focus->set, position);
    if (error == NULL)
        error = find_interest(source, has_thread, focus, position);
    if (error == NULL)
        error = evaluate(focus->set, source, &focus->members, position);
    return error != NULL ? error : make_canonical(&focus->set);
}

/* The rank of ARENA's process, -1 none. */
static int64_t rank_of(const struct tg_source *source, const struct tg_ptset_arena *arena)
{
    const struct tg_process_model *model = source->moment->processes;
    return arena->process >= 1 && arena->process - 1 < tg_process_model_count(model)
               ? tg_process_model_at(model, arena->process - 1)->rank
               : -1;
}

/* The lowest rank that there is; false: none. */
static struct tg_error *find_lowest_rank(struct tg_source *source, bool *found, int64_t *rank)
{
    struct tg_job_view *view = NULL;
    *found = false;
    struct tg_error *error = tg_source_view(source, &view);
    for (size_t i = 0; error == NULL && i < tg_job_view_count(view); i++) {
        const struct tg_job_process_info *info = &tg_job_view_at(view, i)->info;
        if (!info->exists || info->rank < 0 || (*found && info->rank >= *rank))
            continue;
        *found = true;
        *rank = info->rank;
    }
    tg_job_view_destroy(view);
    return error;
}

struct tg_error *tg_focus_go_to_ranks(struct tg_focus *focus, struct tg_source *source)
{
    const struct tg_ptset_arena *arena = arena_of(focus->set);
    char text[TG_PTSET_NAME_SIZE + 64];
    struct tg_focus made;
    size_t position;
    int64_t rank = 0;
    bool found = false;
    if (!focus->is_open || arena == NULL)
        return NULL;
    /* ranks start in any order: a lower one may come later */
    int64_t now = rank_of(source, arena);
    if (focus->is_of_ranks && (now <= 0 || !tg_focus_is_plainly_of_ranks(focus)))
        return NULL;
    struct tg_error *error = find_lowest_rank(source, &found, &rank);
    if (error != NULL || !found || (focus->is_of_ranks && rank >= now))
        return error;
    struct tg_ptset_arena of_rank = *arena;
    of_rank.by_rank = of_rank.has_process = of_rank.has_thread = true;
    of_rank.process = (uint32_t)rank;
    print_arena(&of_rank, text, sizeof text);
    error = tg_focus_parse(focus, source, text, &made, &position);
    if (error != NULL && tg_error_code(error) == TG_ERROR_NO_MEMORY)
        return error;
    if (error != NULL) { /* the rank has just ended */
        tg_error_destroy(error);
        return NULL;
    }
    made.is_open = made.is_of_ranks = true;
    made.has_thread = focus->has_thread;
    made.worker = SIZE_MAX;
    tg_focus_deinit(focus);
    *focus = made;
    return NULL;
}

bool tg_focus_is_plainly_of_ranks(const struct tg_focus *focus)
{
    const struct tg_ptset_arena *arena = arena_of(focus->set);
    return focus->is_of_ranks && arena != NULL && arena->width == TG_WIDTH_DEFAULT &&
           arena->group == TG_GROUP_MISSING && arena->thread == 0;
}

/* "ranks" */
static struct tg_error *begin_with_ranks(struct tg_source *source, struct tg_focus *focus)
{
    struct tg_focus made;
    tg_focus_init(&made);
    struct tg_error *error = tg_focus_begin(&made);
    if (error == NULL)
        error = tg_focus_go_to_ranks(&made, source);
    if (error == NULL && !made.is_of_ranks)
        error = tg_error_create(TG_ERROR_NOT_FOUND, "there are no ranks (`info processes` lists processes)");
    if (error != NULL)
        tg_focus_deinit(&made);
    else
        *focus = made;
    return error;
}

struct tg_error *tg_focus_parse(const struct tg_focus *now, struct tg_source *source, const char *text,
                                struct tg_focus *focus, size_t *position)
{
    struct tg_focus found;
    struct tg_ptset *parsed = NULL;
    tg_focus_init(&found);
    found.former_worker = now->worker != SIZE_MAX ? now->worker : now->former_worker;
    *position = SIZE_MAX;
    if (strcmp(text, "all") == 0) {
        *focus = found;
        return NULL;
    }
    if (strcmp(text, "ranks") == 0)
        return begin_with_ranks(source, focus);
    struct tg_error *error = tg_ptset_parse(text, &parsed, position);
    if (error == NULL)
        error = complete(now, source, parsed, &found, position);
    if (error == NULL && now->is_open && leaves_process_open(parsed)) {
        found.is_open = true;
        found.is_of_ranks = now->is_of_ranks;
    }
    tg_ptset_destroy(parsed);
    if (error != NULL)
        tg_focus_deinit(&found);
    else
        *focus = found;
    return error;
}

/* ---- to text */

static void print_single(const struct tg_focus *focus, const struct tg_ptset_arena *arena,
                         const struct tg_source *source, char *buffer)
{
    struct tg_ptset_arena shown = *arena;
    int64_t rank = rank_of(source, arena);
    shown.by_rank = rank >= 0 && rank <= UINT32_MAX;
    if (shown.by_rank)
        shown.process = (uint32_t)rank;
    shown.has_process = true;
    shown.has_thread = focus->has_thread;
    if (shown.width == TG_WIDTH_DEFAULT)
        shown.width = TG_WIDTH_MISSING;
    print_arena(&shown, buffer, TG_FOCUS_TEXT);
}

char *tg_focus_print(const struct tg_focus *focus, const struct tg_source *source, char *buffer)
{
    const struct tg_ptset_arena *arena = arena_of(focus->set);
    if (focus->set == NULL) {
        snprintf(buffer, TG_FOCUS_TEXT, "all");
    } else if (arena != NULL) {
        print_single(focus, arena, source, buffer);
    } else {
        char *text = tg_ptset_string(focus->set);
        snprintf(buffer, TG_FOCUS_TEXT, "%s", text == NULL ? "?" : text);
        if (text != NULL && strlen(text) >= TG_FOCUS_TEXT)
            memcpy(buffer + TG_FOCUS_TEXT - 4, "...", 4);
        free(text);
    }
    return buffer;
}
