#include "live/live_source.h"

#include "analyzer/action_points.h"
#include "analyzer/job_list.h"
#include "live/filter_news.h"
#include "live/focus.h"
#include "live/interrupt.h"
#include "live/news_queue.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct live_source {
    struct tg_source public;
    struct tg_live_job *job;
    struct tg_moment *moment;
    struct tg_news_queue *stops; /* to be told */
    struct tg_event_mark taken;  /* the event taken last */
    bool is_taken;               /* the first event in the job's queue is the one taken last */
    bool end_told;
};

static struct live_source *live_of(struct tg_source *source)
{
    return (struct live_source *)source;
}

static void destroy(struct tg_source *source)
{
    struct live_source *live = live_of(source);
    tg_moment_destroy(live->moment);
    tg_news_queue_destroy(live->stops);
    tg_error_destroy(live->public.damage);
    free(live);
}

/* ---- events */

/* The next event, if there is one; of live->public.event it is as before where there is none. */
static struct tg_error *take(struct live_source *live, bool *taken)
{
    if (live->is_taken)
        tg_live_job_pop_event(live->job);
    live->is_taken = false;
    const struct tg_event *event = tg_live_job_first_event(live->job);
    *taken = event != NULL;
    if (event == NULL)
        return NULL;
    live->is_taken = true;
    live->public.event = event;
    if (live->public.number == 0)
        live->public.start_ns = event->time_ns;
    live->public.number++;
    live->taken.count = event->time_ns == live->taken.time_ns ? live->taken.count + 1 : 1;
    live->taken.time_ns = event->time_ns;
    live->public.time_ns = event->time_ns;
    return tg_moment_feed(live->moment, event);
}

/* Until something may have happened. */
static struct tg_error *await(const struct live_source *live)
{
    struct pollfd wake = {.fd = tg_live_job_wake_fd(live->job), .events = POLLIN};
    if (tg_interrupt_pending() || (poll(&wake, 1, -1) < 0 && errno == EINTR && tg_interrupt_pending()))
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
        tg_live_job_settle(live->job);
        *at_end = tg_live_job_has_ended(live->job, &status);
        error = take(live, &taken);
        if (error == NULL && !taken && *at_end)
            return NULL;
        if (error == NULL && !taken)
            error = await(live);
    }
    *at_end = false;
    return error;
}

/* ---- who there is */

struct view_call {
    struct tg_job_view *view;
    struct tg_error *error;
};

static void make_view(struct tg_live_engine *engine, void *context)
{
    struct view_call *call = context;
    call->error = tg_controller_fill_view(tg_live_engine_controller(engine), call->view);
}

static size_t index_of(const struct live_source *live, uint64_t pid)
{
    size_t index;
    struct tg_error *error = tg_focus_find_pid(&live->public, (int64_t)pid, &index);
    if (error == NULL)
        return index;
    tg_error_destroy(error);
    return SIZE_MAX;
}

static uint64_t tag_process(void *context, uint64_t pid)
{
    size_t index = index_of(context, pid);
    return index == SIZE_MAX ? UINT64_MAX : index;
}

static uint64_t tag_thread(void *context, uint64_t pid, uint64_t tid)
{
    const struct live_source *live = context;
    size_t index = index_of(live, pid);
    const struct tg_openmp_worker *worker =
        index == SIZE_MAX ? NULL : tg_openmp_model_worker(live->moment->openmp, index, (int32_t)tid);
    return worker == NULL ? UINT64_MAX : worker->index;
}

static struct tg_error *view(struct tg_source *source, struct tg_job_view *view)
{
    struct live_source *live = live_of(source);
    struct view_call call = {.view = view};
    const struct tg_job_view_tags tags = {live, tag_process, tag_thread};
    tg_live_job_call(live->job, make_view, &call);
    if (call.error == NULL)
        tg_job_view_retag(view, &tags);
    return call.error;
}

/* ---- news */

static void tell_exit(const struct tg_event *event, const struct tg_news_sink *sink,
                      const struct tg_process_entry *entry)
{
    struct tg_news news = {.kind = TG_NEWS_EXITED,
                           .pid = event->pid,
                           .unit = {entry == NULL ? 0 : (uint32_t)entry->index + 1, 0},
                           .has_rank = entry != NULL && entry->rank >= 0,
                           .rank = entry == NULL ? -1 : entry->rank,
                           .how = event->process_exit.how,
                           .status = event->process_exit.status};
    tg_news_tell(sink, &news);
}

static struct tg_error *take_all(struct live_source *live, const struct tg_news_sink *sink)
{
    struct tg_error *error = NULL;
    for (bool taken = true; error == NULL && taken;) {
        error = take(live, &taken);
        if (error != NULL || !taken)
            break;
        if (live->public.event->kind == TG_EVENT_PROCESS_EXIT)
            tell_exit(live->public.event, sink, live->moment->entry);
        tg_filter_news(live->moment, live->public.event, sink);
    }
    return error;
}

struct stops_call {
    struct tg_news_queue *queue;
    struct tg_error *error;
};

static bool is_alike(const struct tg_live_stop *left, const struct tg_live_stop *right)
{
    return left->state == right->state && left->signal == right->signal && left->point == right->point &&
           (left->pc == right->pc || left->point != 0);
}

/* Of COUNT stops those that are like the first, as one piece of news; they are taken out of the list. */
static struct tg_error *tell_alike(struct stops_call *call, struct tg_live_engine *engine,
                                   const struct tg_job_view *view, struct tg_live_stop *stops, size_t *count)
{
    const struct tg_live_stop first = stops[0];
    TG_AUTO_JOB_SET struct tg_job_set set = {0};
    struct tg_error *error = tg_job_set_init(&set, view);
    size_t n_left = 0, n_told = 0;
    for (size_t i = 0; error == NULL && i < *count; i++) {
        if (!is_alike(&first, &stops[i])) {
            stops[n_left++] = stops[i];
            continue;
        }
        const struct tg_job_process *process = tg_job_view_process(view, stops[i].unit.dpid);
        size_t thread =
            process == NULL ? SIZE_MAX : tg_job_view_find_thread(view, process, stops[i].unit.dtid);
        if (thread == SIZE_MAX)
            continue;
        tg_job_set_add(&set, process, thread);
        n_told++;
    }
    *count = error == NULL ? n_left : 0;
    if (error != NULL || n_told == 0)
        return error;
    char *text = NULL;
    size_t size;
    FILE *stream = open_memstream(&text, &size);
    if (stream == NULL)
        return tg_error_no_memory();
    error = tg_job_list_print(view, &set, stream);
    fclose(stream);
    const struct tg_job_process *process = tg_job_view_process(view, first.unit.dpid);
    char place[TG_PLACE_SIZE];
    tg_live_engine_place(engine, first.pid, first.pc, place);
    const struct tg_news news = {.kind = TG_NEWS_STOPPED,
                                 .unit = first.unit,
                                 .pid = first.pid,
                                 .tid = first.tid,
                                 .set = n_told > 1 ? text : NULL,
                                 .count = n_told,
                                 .state = first.state,
                                 .status = first.signal,
                                 .point = first.point,
                                 .has_rank = n_told == 1 && process != NULL && process->info.rank >= 0,
                                 .rank = process == NULL ? -1 : process->info.rank,
                                 .place = *place != '\0' ? place : NULL,
                                 .pc = first.pc};
    if (error == NULL)
        tg_news_queue_add(call->queue, &news);
    free(text);
    return error;
}

static void take_stops(struct tg_live_engine *engine, void *context)
{
    struct stops_call *call = context;
    struct tg_job_view *view = NULL;
    size_t count;
    const struct tg_live_stop *taken = tg_live_engine_take_stops(engine, &count);
    if (count == 0)
        return;
    struct tg_live_stop *stops = calloc(count, sizeof *stops);
    if (stops != NULL)
        memcpy(stops, taken, count * sizeof *stops);
    call->error =
        stops == NULL ? tg_error_no_memory() : tg_controller_view(tg_live_engine_controller(engine), &view);
    while (call->error == NULL && count > 0)
        call->error = tell_alike(call, engine, view, stops, &count);
    tg_job_view_destroy(view);
    free(stops);
}

static void tell_end(struct live_source *live, const struct tg_news_sink *sink)
{
    if (live->end_told)
        return;
    live->end_told = true;
    tg_news_tell(sink, &(struct tg_news){.kind = TG_NEWS_NOTE, .text = "the job has ended"});
}

static struct tg_error *attend(struct tg_source *source, const struct tg_news_sink *sink)
{
    struct live_source *live = live_of(source);
    char missed[80];
    struct stops_call call = {.queue = live->stops};
    int status;
    bool has_ended = tg_live_job_has_ended(live->job, &status); /* all of its events are there then */
    tg_live_job_settle(live->job);
    struct tg_error *error = take_all(live, sink);
    tg_live_job_tell_news(live->job, sink);
    tg_live_job_call(live->job, take_stops, &call);
    tg_news_queue_tell(live->stops, sink);
    uint64_t n_missed = tg_live_job_take_missed(live->job);
    snprintf(missed, sizeof missed, "%" PRIu64 " events went by unseen here; the trace has them", n_missed);
    if (n_missed > 0)
        tg_news_tell(sink, &(struct tg_news){.kind = TG_NEWS_ERROR, .text = missed});
    if (has_ended)
        tell_end(live, sink);
    if (error == NULL)
        return call.error;
    tg_error_destroy(call.error);
    return error;
}

static void ask_latest(struct tg_live_engine *engine, void *context)
{
    struct tg_event_mark *mark = context;
    *mark = tg_live_engine_latest(engine);
}

static void mark(struct tg_source *source, struct tg_event_mark *latest)
{
    tg_live_job_call(live_of(source)->job, ask_latest, latest);
}

static bool is_at(struct tg_source *source, const struct tg_event_mark *latest)
{
    const struct tg_event_mark *taken = &live_of(source)->taken;
    return taken->time_ns > latest->time_ns ||
           (taken->time_ns == latest->time_ns && taken->count >= latest->count);
}

/* ---- life */

struct tg_error *tg_live_source_restart(struct tg_source *source, const char *trace)
{
    struct live_source *live = live_of(source);
    struct tg_moment *moment = NULL;
    struct tg_error *error = tg_moment_create(&moment);
    if (error != NULL)
        return error;
    tg_moment_destroy(live->moment);
    live->moment = moment;
    live->end_told = false;
    live->public.moment = moment;
    live->public.event = NULL;
    live->public.number = 0;
    live->public.trace_path = trace;
    return NULL;
}

static const struct tg_source_ops live_ops = {
    .destroy = destroy, .step = step, .view = view, .attend = attend, .mark = mark, .is_at = is_at};

struct tg_error *tg_live_source_create(struct tg_live_job *job, const char *name, const char *trace,
                                       struct tg_source **source)
{
    struct live_source *made = calloc(1, sizeof *made);
    if (made == NULL)
        return tg_error_no_memory();
    made->public = (struct tg_source){
        .ops = &live_ops, .name = name, .trace_path = trace, .wake_fd = tg_live_job_wake_fd(job)};
    made->job = job;
    struct tg_error *error = tg_moment_create(&made->moment);
    if (error == NULL)
        error = tg_news_queue_create(&made->stops);
    if (error != NULL) {
        destroy(&made->public);
        return error;
    }
    made->public.moment = made->moment;
    *source = &made->public;
    return NULL;
}
