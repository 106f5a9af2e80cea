#include "live/control/job_source.h"

#include "analyzer/job/action_points.h"
#include "analyzer/job/list.h"
#include "analyzer/models/event_headline.h"
#include "format/base/hash.h"
#include "live/source/filter_news.h"
#include "live/source/heap_news.h"
#include "live/source/interrupt.h"
#include "live/source/news_queue.h"
#include "recorder/engine/engine.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A thread whose stop was told. */
struct standing {
    uint64_t key; /* both numbers */
    struct tg_thread_id thread;
    UT_hash_handle hh;
};

enum { TAKE_COUNT = 256, TAKE_NS = 50 * 1000 * 1000 };

struct live_source {
    struct tg_source public;
    struct tg_traced_job *job;
    struct tg_moment *moment;
    struct tg_news_queue *stops; /* to be told */
    struct standing *standing;   /* by thread; those that were told to stop */
    struct tg_event_mark taken;  /* the event taken last */
    bool is_taken;               /* the first event in the job's queue is the one taken last */
    uint64_t version;            /* the controller's, when it was told last who stopped and who runs again */
    bool end_told;
    struct tg_heap_wishes wishes;
    uint64_t n_shown_faults; /* of guards, whose events are still to come: who asked has seen them */
};

static struct live_source *live_of(struct tg_source *source)
{
    return (struct live_source *)source;
}

static void forget_standing(struct live_source *live, struct standing *standing)
{
    HASH_DEL(live->standing, standing);
    free(standing);
}

static void forget_all_standing(struct live_source *live)
{
    struct standing *standing, *next;
    HASH_ITER (hh, live->standing, standing, next)
        forget_standing(live, standing);
}

static void destroy(struct tg_source *source)
{
    struct live_source *live = live_of(source);
    tg_moment_destroy(live->moment);
    tg_news_queue_destroy(live->stops);
    forget_all_standing(live);
    tg_error_destroy(live->public.damage);
    free(live);
}

/* ---- events */

/* The next event, if there is one; of live->public.event it is as before where there is none. */
static struct tg_error *take(struct live_source *live, bool *taken)
{
    if (live->is_taken)
        tg_traced_job_pop_event(live->job);
    live->is_taken = false;
    const struct tg_event *event = tg_traced_job_first_event(live->job);
    *taken = event != NULL;
    if (event == NULL)
        return NULL;
    live->is_taken = true;
    live->public.event = event;
    if (live->public.number == 0)
        live->public.start_ns = tg_traced_job_start_ns(live->job);
    live->public.number++;
    live->taken.count = event->time_ns == live->taken.time_ns ? live->taken.count + 1 : 1;
    live->taken.time_ns = event->time_ns;
    live->public.time_ns = event->time_ns;
    struct tg_error *error = tg_moment_feed(live->moment, event);
    const struct tg_visitor *visitor = live->public.visitor;
    const struct tg_process_entry *entry = live->moment->entry;
    if (error == NULL && visitor != NULL && visitor->take != NULL)
        visitor->take(visitor->context, event, entry == NULL ? SIZE_MAX : entry->index);
    return error;
}

/* Until something may have happened. */
static struct tg_error *await(const struct live_source *live)
{
    struct pollfd wake = {.fd = tg_traced_job_wake_fd(live->job), .events = POLLIN};
    if (tg_interrupt_pending() ||
        (tg_visitor_poll(live->public.visitor, &wake, 1, -1) < 0 && errno == EINTR && tg_interrupt_pending()))
        return tg_error_create(TG_ERROR_USAGE, "interrupted");
    return NULL;
}

static struct tg_error *step(struct tg_source *source, bool *at_end)
{
    struct live_source *live = live_of(source);
    struct tg_error *error = NULL;
    bool taken = false;
    int status;
    while (error == NULL && !taken) {
        tg_traced_job_settle(live->job);
        *at_end = tg_traced_job_has_ended(live->job, &status);
        error = take(live, &taken);
        if (error == NULL && !taken && *at_end)
            return NULL;
        if (error == NULL && !taken)
            error = await(live);
    }
    *at_end = false;
    return error;
}

/* ---- processes and threads */

static struct tg_error *fill_view(const struct tg_request *request)
{
    return tg_controller_fill_view(request->controller, request->context);
}

/* Of the process that was asked for last. */
struct tagging {
    const struct live_source *live;
    uint64_t pid;
    size_t index; /* in the process model, SIZE_MAX it is not there */
};

/* Most that there ever were have ended, and have no pid. */
static size_t index_of(struct tagging *tagging, uint64_t pid)
{
    if (pid == tagging->pid)
        return tagging->index;
    tagging->pid = pid;
    tagging->index = tg_moment_find_pid(tagging->live->moment, (int64_t)pid);
    return tagging->index;
}

static uint64_t tag_process(void *context, uint64_t pid)
{
    size_t index = index_of(context, pid);
    return index == SIZE_MAX ? UINT64_MAX : index;
}

static uint64_t tag_thread(void *context, uint64_t pid, uint64_t tid)
{
    struct tagging *tagging = context;
    size_t index = index_of(tagging, pid);
    const struct tg_openmp_worker *worker =
        index == SIZE_MAX ? NULL : tg_openmp_model_worker(tagging->live->moment->openmp, index, (int32_t)tid);
    return worker == NULL ? UINT64_MAX : worker->index;
}

static struct tg_error *view(struct tg_source *source, struct tg_job_view *view)
{
    struct live_source *live = live_of(source);
    struct tagging tagging = {.live = live, .pid = 0, .index = SIZE_MAX};
    const struct tg_job_view_tags tags = {&tagging, tag_process, tag_thread};
    struct tg_error *error = tg_traced_job_call(live->job, fill_view, view);
    if (error == NULL)
        tg_job_view_retag(view, &tags);
    return error;
}

/* ---- news */

/* Libraries came or went: EVENT is one process's. */
static void tell_libraries(const struct live_source *live, const struct tg_event *event,
                           const struct tg_news_sink *sink)
{
    const struct tg_process_entry *entry = live->moment->entry;
    bool came = event->kind == TG_EVENT_LIBRARY_LOAD;
    const struct tg_list *list = came ? &event->library_load.libraries : &event->library_unload.libraries;
    uint64_t count;
    const struct tg_library *library = tg_event_headline_library(list, &count);
    if (entry == NULL || library == NULL)
        return;
    const struct tg_news news = {.kind = TG_NEWS_LIBRARIES,
                                 .pid = event->pid,
                                 .thread = {(uint32_t)entry->index + 1, 0},
                                 .has_rank = entry->rank >= 0,
                                 .rank = entry->rank,
                                 .count = came ? count : 0,
                                 .other = came ? 0 : count,
                                 .name = library->path};
    if (tg_traced_job_wants(live->job, &news))
        tg_news_tell(sink, &news);
}

/* Whether who asked for a look at guards was shown EVENT. */
static bool was_shown(struct live_source *live, const struct tg_event_heap_error *error)
{
    bool is_shown = live->n_shown_faults > 0 && error->error == TG_HEAP_GUARD_CORRUPTION && error->stack == 0;
    live->n_shown_faults -= is_shown;
    return is_shown;
}

/* Mistakes, and what was asked for: where the thread stops. */
static void tell_heap_error(struct live_source *live, const struct tg_event *event,
                            const struct tg_news_sink *sink)
{
    const struct tg_event_heap_error *error = &event->heap_error;
    bool stops = tg_traced_job_heap(live->job)->mode == TG_AGENT_HEAP_CHECK ||
                 error->error >= TG_HEAP_DEALLOC_NOTIFICATION;
    if (stops && (live->wishes.silent_errors >> error->error & 1) == 0 && !was_shown(live, error))
        tg_heap_news(live->moment, event, sink);
}

/* Takes events for a limited time: a job may produce them faster than they can be taken, and the prompt
 * waits. */
static struct tg_error *take_some(struct live_source *live, const struct tg_news_sink *sink)
{
    struct tg_error *error = NULL;
    uint64_t count = 0, until_ns = tg_engine_now_ns() + TAKE_NS;
    for (bool taken = true; error == NULL && taken;) {
        if (++count % TAKE_COUNT == 0 && tg_engine_now_ns() > until_ns) {
            tg_traced_job_unsettle(live->job);
            break;
        }
        error = take(live, &taken);
        if (error != NULL || !taken)
            break;
        const struct tg_event *event = live->public.event;
        if (event->kind == TG_EVENT_LIBRARY_LOAD || event->kind == TG_EVENT_LIBRARY_UNLOAD)
            tell_libraries(live, event, sink);
        if (event->kind == TG_EVENT_HEAP_ERROR)
            tell_heap_error(live, event, sink);
        tg_filter_news(live->moment, event, sink);
    }
    return error;
}

/* ---- stopped and running threads */

static uint64_t key_of(struct tg_thread_id thread_id)
{
    return (uint64_t)thread_id.dpid << 32 | thread_id.dtid;
}

static bool tells_running(const struct live_source *live)
{
    return tg_traced_job_wants(live->job, &(struct tg_news){.kind = TG_NEWS_RUNNING});
}

/* Without memory nobody is told that it runs again, that is all. */
static void note_standing(struct live_source *live, struct tg_thread_id thread_id)
{
    struct standing *standing = NULL;
    uint64_t key = key_of(thread_id);
    HASH_FIND(hh, live->standing, &key, sizeof key, standing);
    if (standing == NULL && TG_HASH_CREATE(hh, live->standing, key, &key, standing) == NULL)
        standing->thread = thread_id;
}

/* The members of SET as news of KIND, which has what else is to be told. */
static struct tg_error *tell_set(struct live_source *live, const struct tg_job_view *view,
                                 const struct tg_job_set *set, struct tg_news *news)
{
    char *text = NULL;
    size_t size;
    const struct tg_job_process *process = tg_job_view_process(view, news->thread.dpid);
    FILE *stream = open_memstream(&text, &size);
    if (stream == NULL)
        return tg_error_no_memory();
    struct tg_error *error = tg_job_list_print(view, set, stream);
    if (fclose(stream) != 0 && error == NULL)
        error = tg_error_no_memory();
    news->set = news->count > 1 ? text : NULL;
    news->has_rank = news->count == 1 && process != NULL && process->info.rank >= 0;
    news->rank = process == NULL ? -1 : process->info.rank;
    if (error == NULL)
        tg_news_queue_add(live->stops, news);
    free(text);
    return error;
}

/* Tells of threads whose stop was told and that run again. */
static struct tg_error *tell_running(struct live_source *live, struct tg_engine_adapter *engine,
                                     const struct tg_job_view *view)
{
    struct tg_news news = {.kind = TG_NEWS_RUNNING};
    struct standing *standing, *next;
    TG_AUTO_JOB_SET struct tg_job_set set = {0};
    struct tg_error *error = tg_job_set_init(&set, view);
    if (error != NULL)
        return error;
    HASH_ITER (hh, live->standing, standing, next) {
        const struct tg_thread *thread = tg_engine_adapter_thread(engine, standing->thread);
        const struct tg_job_process *process = tg_job_view_process(view, standing->thread.dpid);
        size_t i = process == NULL ? SIZE_MAX : tg_job_view_find_thread(view, process, standing->thread.dtid);
        if (thread != NULL && tg_thread_is_kept(thread))
            continue;
        if (thread != NULL && i != SIZE_MAX) {
            tg_job_set_add(&set, process, i);
            news.thread = standing->thread;
            news.pid = thread->process->pid;
            news.tid = thread->tid;
            news.count++;
        }
        forget_standing(live, standing);
    }
    return news.count == 0 ? NULL : tell_set(live, view, &set, &news);
}

/* Whether a thread was stopped for no reason of its own, by what another one came to. */
static bool is_incidental(const struct tg_thread_stop *stop)
{
    return stop->state == TG_JOB_STOPPED && stop->signal == 0 && stop->point == 0 && !stop->stepped;
}

/* The place of STOP in words, "" where there are none. Returns PLACE. */
static const char *place_of(struct tg_engine_adapter *engine, const struct tg_thread_stop *stop,
                            char place[TG_PLACE_SIZE])
{
    *place = '\0';
    tg_engine_adapter_place(engine, stop->pid, stop->code, place);
    return place;
}

/* People are told in one line of those that were stopped along, and of those that are stopped at PLACE,
 * LEFT's: a program lies elsewhere in each process, and an action point elsewhere in each program. A client of the JSON
 * console wants to know the address of each that is not at an action point. */
static bool is_alike(struct tg_engine_adapter *engine, const struct tg_thread_stop *left, const char *place,
                     const struct tg_thread_stop *right, bool exact)
{
    char other[TG_PLACE_SIZE];
    bool alike = left->state == right->state && left->signal == right->signal &&
                 left->point == right->point && left->stepped == right->stepped;
    if (!alike || left->pc == right->pc || (left->point != 0 && exact))
        return alike;
    if (exact || is_incidental(left))
        return !exact;
    return (*place != '\0' || left->point != 0) && strcmp(place, place_of(engine, right, other)) == 0;
}

/* Of COUNT stops those that are like the first, as one piece of news; they are taken out of the list. */
static struct tg_error *tell_alike(struct live_source *live, struct tg_engine_adapter *engine,
                                   const struct tg_job_view *view, struct tg_thread_stop *stops,
                                   size_t *count)
{
    const struct tg_thread_stop first = stops[0];
    TG_AUTO_JOB_SET struct tg_job_set set = {0};
    struct tg_error *error = tg_job_set_init(&set, view);
    size_t n_left = 0, n_told = 0;
    bool exact = tells_running(live), at_one_place = true, at_one_pc = true;
    char place[TG_PLACE_SIZE], other[TG_PLACE_SIZE];
    place_of(engine, &first, place);
    for (size_t i = 0; error == NULL && i < *count; i++) {
        if (!is_alike(engine, &first, place, &stops[i], exact)) {
            stops[n_left++] = stops[i];
            continue;
        }
        const struct tg_job_process *process = tg_job_view_process(view, stops[i].thread.dpid);
        size_t thread =
            process == NULL ? SIZE_MAX : tg_job_view_find_thread(view, process, stops[i].thread.dtid);
        if (thread == SIZE_MAX)
            continue;
        n_told += !tg_job_set_has(&set, process, thread); /* some stopped twice since the last time */
        tg_job_set_add(&set, process, thread);
        if (exact)
            note_standing(live, stops[i].thread);
        at_one_place =
            at_one_place && (!is_incidental(&first) || stops[i].pc == first.pc ||
                             (*place != '\0' && strcmp(place, place_of(engine, &stops[i], other)) == 0));
        at_one_pc = at_one_pc && stops[i].pc == first.pc;
    }
    *count = error == NULL ? n_left : 0;
    if (error != NULL || n_told == 0)
        return error;
    struct tg_news news = {.kind = TG_NEWS_STOPPED,
                           .thread = first.thread,
                           .pid = first.pid,
                           .tid = first.tid,
                           .count = n_told,
                           .state = first.state,
                           .status = first.signal,
                           .point = first.point,
                           .stepped = first.stepped,

                           .place = at_one_place && *place != '\0' ? place : NULL,
                           .pc = at_one_place && (at_one_pc || !is_incidental(&first)) ? first.pc : 0};
    return tell_set(live, view, &set, &news);
}

/* Tells of threads that have stopped, and of threads that have been resumed, since the last time. */
static struct tg_error *take_moves(const struct tg_request *request)
{
    struct live_source *live = request->context;
    struct tg_job_view *view = NULL;
    size_t count;
    const struct tg_thread_stop *taken = tg_engine_adapter_take_stops(request->engine, &count);
    uint64_t version = tg_controller_version(request->controller);
    if (count == 0 && (live->standing == NULL || version == live->version))
        return NULL;
    struct tg_thread_stop *stops = calloc(count + 1, sizeof *stops);
    if (stops == NULL)
        return tg_error_no_memory();
    if (count > 0)
        memcpy(stops, taken, count * sizeof *stops);
    struct tg_error *error = tg_controller_latest_view(request->controller, &view);
    if (error == NULL && live->standing != NULL)
        error = tell_running(live, request->engine, view);
    while (error == NULL && count > 0)
        error = tell_alike(live, request->engine, view, stops, &count);
    free(stops);
    live->version = version;
    return error;
}

static bool runs_on(const struct live_source *live)
{
    const struct tg_process_model *processes = live->moment->processes;
    bool was_detached = false;
    for (size_t i = 0; !was_detached && i < tg_process_model_count(processes); i++)
        was_detached = tg_process_model_at(processes, i)->end == TG_PROCESS_DETACHED;
    return was_detached || tg_traced_job_was_let_go(live->job);
}

/* Action points that no process has ever had a place for, "" there are none. */
static struct tg_error *find_unplanted(const struct tg_request *request)
{
    FILE *out = request->context;
    const struct tg_action_points *points = tg_controller_points(request->controller);
    for (size_t i = 0; i < tg_action_points_count(points); i++) {
        const struct tg_action_point *point = tg_action_points_at(points, i);
        if (point->was_found || !point->enabled)
            continue;
        fprintf(out, "%s%" PRIu32 " (", ftell(out) > 0 ? ", " : "", point->id);
        tg_action_point_print_location(point->location, out);
        fputc(')', out);
    }
    return NULL;
}

static void tell_unplanted(struct live_source *live, const struct tg_news_sink *sink)
{
    char *list = NULL, *text = NULL;
    size_t size;
    FILE *out = open_memstream(&list, &size);
    if (out == NULL)
        return;
    tg_error_destroy(tg_traced_job_call(live->job, find_unplanted, out)); /* always NULL */
    bool is_written = fclose(out) == 0 && size > 0;
    if (is_written &&
        asprintf(&text, "never planted, because no process had such a place: action point %s", list) >= 0)
        tg_news_tell(sink, &(struct tg_news){.kind = TG_NEWS_NOTE, .text = text});
    free(text);
    free(list);
}

static void tell_end(struct live_source *live, const struct tg_news_sink *sink)
{
    if (live->end_told)
        return;
    live->end_told = true;
    if (!runs_on(live))
        tell_unplanted(live, sink);
    const char *text = runs_on(live) ? "detached; the job continues" : "the job has ended";
    tg_news_tell(sink, &(struct tg_news){.kind = TG_NEWS_NOTE, .text = text});
}

static struct tg_error *attend(struct tg_source *source, const struct tg_news_sink *sink)
{
    struct live_source *live = live_of(source);
    char missed[80];
    int status;
    bool has_ended = tg_traced_job_has_ended(live->job, &status); /* all of its events are there then */
    tg_traced_job_settle(live->job);
    tg_traced_job_tell_news(live->job, sink); /* at once; events take a while to come */
    struct tg_error *error;
    do
        error = take_some(live, sink);
    while (error == NULL && has_ended && tg_traced_job_first_event(live->job) != NULL);
    struct tg_error *moves_error = tg_traced_job_call(live->job, take_moves, live);
    tg_traced_job_tell_news(live->job, sink); /* the reasons of these stops come before them */
    tg_news_queue_tell(live->stops, sink);
    uint64_t n_missed = tg_traced_job_take_missed(live->job);
    snprintf(missed, sizeof missed, "%" PRIu64 " events were not shown here; the trace has them", n_missed);
    if (n_missed > 0)
        tg_news_tell(sink, &(struct tg_news){.kind = TG_NEWS_ERROR, .text = missed});
    if (has_ended)
        tell_end(live, sink);
    if (error == NULL)
        return moves_error;
    tg_error_destroy(moves_error);
    return error;
}

static struct tg_error *ask_latest(const struct tg_request *request)
{
    struct tg_event_mark *mark = request->context;
    *mark = tg_engine_adapter_latest(request->engine);
    return NULL;
}

static void mark(struct tg_source *source, struct tg_event_mark *latest)
{
    tg_error_destroy(tg_traced_job_call(live_of(source)->job, ask_latest, latest)); /* always NULL */
}

static bool is_at(struct tg_source *source, const struct tg_event_mark *latest)
{
    const struct live_source *live = live_of(source);
    const struct tg_event_mark *taken = &live->taken;
    int status;
    bool is_there = taken->time_ns > latest->time_ns ||
                    (taken->time_ns == latest->time_ns && taken->count >= latest->count);
    /* of a job that has ended nothing more comes, whatever the latest mark was */
    return is_there || (tg_traced_job_has_ended(live->job, &status) && !live->is_taken &&
                        tg_traced_job_first_event(live->job) == NULL);
}

/* The events that were taken were handed out before. */
static struct tg_error *sync_file(struct tg_source *source)
{
    return tg_traced_job_sync(live_of(source)->job);
}

/* Of a job that has ended the time is that of its last event. */
static uint64_t now_ns(struct tg_source *source)
{
    int status;
    uint64_t now = tg_engine_now_ns();
    bool stands = tg_traced_job_has_ended(live_of(source)->job, &status) || now < source->time_ns;
    return stands ? source->time_ns : now;
}

static struct tg_error *look(struct tg_source *source)
{
    return tg_traced_job_look(live_of(source)->job);
}

static struct tg_error *search_leaks(struct tg_source *source, int64_t pid)
{
    return tg_traced_job_search_leaks(live_of(source)->job, (int32_t)pid);
}

static struct tg_error *check_guards(struct tg_source *source, int64_t pid, struct tg_source_guards *guards)
{
    struct tg_guard_check *check = calloc(1, sizeof *check);
    if (check == NULL)
        return tg_error_no_memory();
    struct tg_error *error = tg_traced_job_check_guards(live_of(source)->job, (int32_t)pid, check);
    *guards = (struct tg_source_guards){
        .n_blocks = check->n_blocks, .n_wrong = check->n_wrong, .n_unread = check->n_unread};
    _Static_assert((int)TG_SOURCE_GUARD_FAULTS == (int)TG_GUARD_CHECK_FAULTS, "all are passed on");
    for (; guards->n_faults < check->n_faults; guards->n_faults++)
        guards->faults[guards->n_faults] = check->faults[guards->n_faults];
    live_of(source)->n_shown_faults += check->n_faults;
    free(check);
    return error;
}

static const struct tg_heap_wishes *heap_wishes(const struct tg_source *source)
{
    return &((const struct live_source *)source)->wishes;
}

static struct tg_agent_heap_wishes wishes_of_agent(const struct tg_heap_wishes *wishes)
{
    _Static_assert((int)TG_HEAP_TAGS == (int)TG_AGENT_HEAP_TAGS, "all are passed on");
    struct tg_agent_heap_wishes agent = {
        .hoard_bytes = wishes->hoard_bytes,
        .silent_errors = wishes->silent_errors,
        .off = (wishes->no_guards ? TG_AGENT_HEAP_NO_GUARDS : 0U) |
               (wishes->no_paint_allocated ? TG_AGENT_HEAP_NO_PAINT_ALLOCATED : 0U) |
               (wishes->no_paint_freed ? TG_AGENT_HEAP_NO_PAINT_FREED : 0U) |
               (wishes->no_hoard ? TG_AGENT_HEAP_NO_HOARD : 0U) |
               (wishes->no_red_zones ? TG_AGENT_HEAP_NO_RED_ZONES : 0U),
        .n_tags = (uint32_t)wishes->n_tags,
    };
    for (size_t i = 0; i < wishes->n_tags; i++)
        agent.tags[i] =
            (struct tg_agent_heap_tag){.start = wishes->tags[i].start,
                                       .end = wishes->tags[i].end,
                                       .pid = (int32_t)wishes->tags[i].pid,
                                       .ends = (wishes->tags[i].dealloc ? TG_AGENT_HEAP_TAG_DEALLOC : 0U) |
                                               (wishes->tags[i].realloc ? TG_AGENT_HEAP_TAG_REALLOC : 0U)};
    return agent;
}

static struct tg_error *wish(struct tg_source *source, const struct tg_heap_wishes *wishes,
                             enum tg_heap_wish_needs needs, const char *text)
{
    struct live_source *live = live_of(source);
    const struct tg_agent_heap *heap = tg_traced_job_heap(live->job);
    if (needs >= TG_HEAP_WISH_NEEDS_CHECK && heap->mode != TG_AGENT_HEAP_CHECK)
        return tg_error_create(TG_ERROR_UNSUPPORTED,
                               "blocks are not checked: the job was started without --heap=check");
    if (needs == TG_HEAP_WISH_NEEDS_RED_ZONES && heap->red_zones == TG_AGENT_RED_ZONES_OFF)
        return tg_error_create(TG_ERROR_UNSUPPORTED, "blocks have no red zones: the job was started without "
                                                     "--heap=check,red_zones");
    const struct tg_agent_heap_wishes agent = wishes_of_agent(wishes);
    struct tg_error *error = tg_traced_job_wish(live->job, &agent, text);
    if (error == NULL)
        live->wishes = *wishes;
    return error;
}

/* ---- life */

struct tg_error *tg_job_source_restart(struct tg_source *source, const char *trace)
{
    struct live_source *live = live_of(source);
    struct tg_moment *moment = NULL;
    struct tg_error *error = tg_moment_create(&moment);
    if (error != NULL)
        return error;
    tg_moment_destroy(live->moment);
    tg_moment_drop_numbers(moment);
    live->moment = moment;
    forget_all_standing(live); /* numbers begin anew */
    live->end_told = false;
    live->wishes = (struct tg_heap_wishes){0};
    live->public.moment = moment;
    live->public.event = NULL;
    live->public.number = 0;
    live->public.trace_path = trace;
    return NULL;
}

static const struct tg_source_ops live_ops = {.destroy = destroy,
                                              .step = step,
                                              .view = view,
                                              .attend = attend,
                                              .mark = mark,
                                              .is_at = is_at,
                                              .sync = sync_file,
                                              .now_ns = now_ns,
                                              .look = look,
                                              .search_leaks = search_leaks,
                                              .check_guards = check_guards,
                                              .heap_wishes = heap_wishes,
                                              .wish = wish};

struct tg_error *tg_job_source_create(struct tg_traced_job *job, const char *name, const char *trace,
                                      struct tg_source **source)
{
    struct live_source *made = calloc(1, sizeof *made);
    if (made == NULL)
        return tg_error_no_memory();
    made->public = (struct tg_source){
        .ops = &live_ops, .name = name, .trace_path = trace, .wake_fd = tg_traced_job_wake_fd(job)};
    made->job = job;
    struct tg_error *error = tg_moment_create(&made->moment);
    if (error == NULL)
        error = tg_news_queue_create(&made->stops);
    if (error != NULL) {
        destroy(&made->public);
        return error;
    }
    tg_moment_drop_numbers(made->moment);
    made->public.moment = made->moment;
    *source = &made->public;
    return NULL;
}
