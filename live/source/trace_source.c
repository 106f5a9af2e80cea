#include "live/source/trace_source.h"

#include "analyzer/output/progress.h"
#include "analyzer/output/trace_pass.h"
#include "format/trace/reader.h"
#include "live/source/checkpoints.h"
#include "live/source/interrupt.h"

#include <stdlib.h>
#include <string.h>

enum { EVENTS_BETWEEN_LOOKS = 1024 }; /* at the interrupt flag */

struct trace_source {
    struct tg_source public;
    struct tg_trace_reader *reader;
    struct tg_moment *moment;
    struct tg_trace_bookmark before_event; /* start of public.event */
    uint64_t latest_ns;                    /* of the events taken: times may go back */
    struct tg_checkpoints *checkpoints;
    uint64_t next_checkpoint; /* number of the event behind which one is wanted */
    /* Names of code come at the end of a trace, behind the stacks that have it: those behind event NAMES_FROM, read when
     * the first moment with stacks needs them. */
    struct tg_stack_model *names;
    uint64_t names_from;
    bool at_end;
};

static struct trace_source *trace_of(struct tg_source *source)
{
    return (struct trace_source *)source;
}

static void destroy(struct tg_source *source)
{
    struct trace_source *trace = trace_of(source);
    tg_moment_destroy(trace->moment);
    tg_checkpoints_destroy(trace->checkpoints);
    tg_stack_model_destroy(trace->names);
    tg_trace_reader_close(trace->reader);
    tg_error_destroy(trace->public.damage);
    free(trace);
}

/* The next event, NULL at the end. Damage is the end as well, and is kept. */
static const struct tg_event *read_event(struct trace_source *trace)
{
    const struct tg_event *event = NULL;
    struct tg_error *error = tg_trace_reader_next(trace->reader, &event);
    if (error != NULL) {
        event = NULL;
        if (trace->public.damage == NULL)
            trace->public.damage = error;
        else
            tg_error_destroy(error);
    }
    if (event == NULL) {
        trace->at_end = true;
        trace->public.n_events = trace->public.number;
    }
    return event;
}

/* Without memory there is no checkpoint: reading takes longer. */
static void keep_checkpoint(struct trace_source *trace)
{
    const struct tg_checkpoint here = {.number = trace->public.number,
                                       .latest_ns = trace->latest_ns,
                                       .before_event = trace->before_event,
                                       .moment = trace->moment};
    tg_error_destroy(tg_checkpoints_add(trace->checkpoints, &here));
    trace->next_checkpoint = tg_checkpoints_next(trace->checkpoints, here.number + 1);
}

static struct tg_error *take(struct trace_source *trace, const struct tg_event *event,
                             struct tg_trace_bookmark before)
{
    struct tg_error *error = tg_moment_feed(trace->moment, event);
    trace->public.event = event;
    trace->public.number++;
    trace->public.time_ns = event->time_ns;
    trace->public.moment_ns = 0;
    if (event->time_ns > trace->latest_ns)
        trace->latest_ns = event->time_ns;
    trace->before_event = before;
    if (error == NULL && trace->public.number >= trace->next_checkpoint)
        keep_checkpoint(trace);
    return error;
}

/* The reader has read on without taking what it read: puts it back behind the event that was taken last. */
static struct tg_error *untake(struct trace_source *trace)
{
    struct tg_error *error = tg_trace_reader_return(trace->reader, &trace->before_event);
    if (error == NULL && trace->public.number > 0)
        error = tg_trace_reader_next(trace->reader, &trace->public.event);
    return error;
}

/* ---- names of code */

static bool is_name(const void *context, unsigned kind)
{
    (void)context;
    return kind == TG_EVENT_CODE_NAME;
}

/* Adds to NAMES those that the trace at PATH has behind PLACE. What cannot be read has no names. */
static struct tg_error *read_names(const char *path, const struct tg_trace_bookmark *place,
                                   struct tg_stack_model *names)
{
    struct tg_trace_reader *reader = NULL;
    const struct tg_event *event = NULL;
    struct tg_error *kept = NULL, *error = tg_trace_reader_open(path, &reader);
    if (error == NULL)
        error = tg_trace_reader_return(reader, place);
    if (error == NULL)
        tg_trace_reader_want(reader, (struct tg_wanted_kinds){.wants = is_name});
    while (error == NULL && kept == NULL && (error = tg_trace_reader_next(reader, &event)) == NULL &&
           event != NULL)
        if (event->kind == TG_EVENT_CODE_NAME)
            kept = tg_stack_model_feed(names, event, SIZE_MAX);
    tg_error_destroy(error);
    tg_trace_reader_close(reader);
    return kept;
}

/* A moment that has stacks gets the names of their code, wherever the trace has them. Not of a trace that is being written,
 * or whose end is missing: it has none. */
static struct tg_error *lend_names(struct trace_source *trace)
{
    const struct tg_source *source = &trace->public;
    struct tg_error *error = NULL;
    if (tg_stack_model_count(trace->moment->stacks) == 0 || !tg_trace_reader_summary(trace->reader).complete)
        return NULL;
    if (trace->names == NULL || source->number < trace->names_from) {
        struct tg_trace_bookmark here = tg_trace_reader_tell(trace->reader);
        error = trace->names != NULL ? NULL : tg_stack_model_create(&trace->names);
        if (error == NULL)
            error = read_names(source->trace_path, &here, trace->names);
        trace->names_from = source->number;
    }
    tg_stack_model_lend_names(trace->moment->stacks, trace->names);
    return error;
}

/* ---- motions */

static struct tg_error *step(struct tg_source *source, bool *at_end)
{
    struct trace_source *trace = trace_of(source);
    if (trace->at_end) {
        *at_end = true;
        return NULL;
    }
    struct tg_trace_bookmark before = tg_trace_reader_tell(trace->reader);
    const struct tg_event *event = read_event(trace);
    *at_end = event == NULL;
    struct tg_error *error = event == NULL ? untake(trace) : take(trace, event, before);
    return error == NULL && event != NULL && event->kind == TG_EVENT_STACK ? lend_names(trace) : error;
}

static struct tg_error *restart(struct trace_source *trace)
{
    const struct tg_trace_bookmark start = {0};
    struct tg_moment *moment = NULL;
    struct tg_error *error = tg_moment_create(&moment);
    if (error == NULL)
        error = tg_trace_reader_return(trace->reader, &start);
    if (error != NULL) {
        tg_moment_destroy(moment);
        return error;
    }
    tg_moment_destroy(trace->moment);
    trace->moment = moment;
    trace->public.moment = moment;
    trace->public.event = NULL;
    trace->public.number = 0;
    trace->public.time_ns = trace->public.start_ns;
    trace->public.moment_ns = 0;
    trace->before_event = start;
    trace->latest_ns = 0;
    trace->at_end = false;
    return NULL;
}

/* Goes to where CHECKPOINT was made; to the start where that fails. */
static struct tg_error *restore(struct trace_source *trace, const struct tg_checkpoint *checkpoint)
{
    struct tg_moment *moment = NULL;
    const struct tg_event *event = NULL;
    struct tg_error *error = tg_moment_copy(checkpoint->moment, &moment);
    if (error == NULL)
        error = tg_trace_reader_return(trace->reader, &checkpoint->before_event);
    if (error == NULL)
        error = tg_trace_reader_next(trace->reader, &event);
    if (error != NULL || event == NULL) {
        tg_error_destroy(error);
        tg_moment_destroy(moment);
        return restart(trace);
    }
    tg_moment_destroy(trace->moment);
    trace->moment = moment;
    trace->public.moment = moment;
    trace->public.event = event;
    trace->public.number = checkpoint->number;
    trace->public.time_ns = event->time_ns;
    trace->public.moment_ns = 0;
    trace->before_event = checkpoint->before_event;
    trace->latest_ns = checkpoint->latest_ns;
    trace->at_end = false;
    return NULL;
}

/* To the last known place that is not behind TARGET, unless the source is between the two. */
static struct tg_error *approach(struct trace_source *trace, const struct tg_target *target)
{
    const struct tg_source *source = &trace->public;
    uint64_t number = target->kind == TG_TO_EVENT ? target->number : UINT64_MAX;
    bool by_time = target->kind == TG_TO_TIME;
    bool backwards = by_time ? target->time_ns < trace->latest_ns : number < source->number;
    const struct tg_checkpoint *checkpoint = by_time
                                                 ? tg_checkpoints_by_time(trace->checkpoints, target->time_ns)
                                                 : tg_checkpoints_by_event(trace->checkpoints, number);
    if (checkpoint != NULL && (backwards || checkpoint->number > source->number))
        return restore(trace, checkpoint);
    return backwards ? restart(trace) : NULL;
}

/* PROGRESS says on a terminal how far it is. */
static struct tg_error *run_to(struct trace_source *trace, const struct tg_target *target,
                               struct tg_progress *progress)
{
    while (!trace->at_end) {
        if (target->kind == TG_TO_EVENT && trace->public.number >= target->number)
            return NULL;
        if (trace->public.number % EVENTS_BETWEEN_LOOKS == 0) {
            tg_visitor_poll(trace->public.visitor, NULL, 0, 0);
            tg_progress_tell(progress, trace->public.file_position, trace->public.file_size);
        }
        if (trace->public.number % EVENTS_BETWEEN_LOOKS == 0 && tg_interrupt_pending())
            return tg_error_create(TG_ERROR_USAGE, "interrupted");
        struct tg_trace_bookmark before = tg_trace_reader_tell(trace->reader);
        const struct tg_event *event = read_event(trace);
        if (event != NULL && target->kind == TG_TO_TIME && event->time_ns > target->time_ns &&
            target->time_ns > trace->latest_ns)
            trace->public.moment_ns = target->time_ns;
        if (event == NULL || (target->kind == TG_TO_TIME && event->time_ns > target->time_ns))
            return untake(trace);
        struct tg_error *error = take(trace, event, before);
        if (error != NULL)
            return error;
    }
    return NULL;
}

static struct tg_error *seek(struct tg_source *source, const struct tg_target *target)
{
    struct trace_source *trace = trace_of(source);
    struct tg_error *error = approach(trace, target);
    if (error != NULL)
        return error;
    trace->public.moment_ns = 0;
    if (target->kind != TG_TO_TIME)
        tg_checkpoints_aim(trace->checkpoints, source->number,
                           target->kind == TG_TO_EVENT ? target->number : source->n_events);
    trace->next_checkpoint = tg_checkpoints_next(trace->checkpoints, source->number + 1);
    struct tg_progress progress;
    tg_progress_init_console(&progress);
    error = run_to(trace, target, &progress);
    tg_progress_end(&progress);
    return error != NULL ? error : lend_names(trace);
}

static uint64_t landmark(struct tg_source *source, uint64_t number)
{
    const struct tg_checkpoint *checkpoint = tg_checkpoints_by_event(trace_of(source)->checkpoints, number);
    return checkpoint == NULL ? 0 : checkpoint->number;
}

static const struct tg_source_ops trace_ops = {
    .destroy = destroy, .step = step, .seek = seek, .landmark = landmark};

static void note_position(void *context, uint64_t position, uint64_t size)
{
    struct trace_source *trace = context;
    trace->public.file_position = position;
    trace->public.file_size = size;
}

/* When the trace starts: its first event has to be looked at. */
static struct tg_error *find_start(struct trace_source *trace)
{
    const struct tg_event *first = NULL;
    const struct tg_trace_bookmark start = {0};
    struct tg_error *error = tg_trace_reader_next(trace->reader, &first);
    if (error != NULL)
        return error;
    trace->public.start_ns = trace->public.time_ns = tg_trace_start_ns(trace->reader, first);
    return tg_trace_reader_return(trace->reader, &start);
}

struct tg_error *tg_trace_source_create(const char *path, const struct tg_trace_source_options *options,
                                        struct tg_source **source)
{
    if (strcmp(path, "-") == 0)
        return tg_error_create(TG_ERROR_UNSUPPORTED, "a trace is read more than once here, which standard "
                                                     "input does not allow; name the trace's file");
    struct trace_source *made = calloc(1, sizeof *made);
    if (made == NULL)
        return tg_error_no_memory();
    made->public.ops = &trace_ops;
    made->public.wake_fd = -1;
    made->public.name = made->public.trace_path = path;
    struct tg_error *error = tg_trace_reader_open(path, &made->reader);
    if (error == NULL)
        error = find_start(made);
    if (error == NULL)
        error = tg_moment_create(&made->moment);
    if (error == NULL)
        error = tg_checkpoints_create(options == NULL ? 0 : options->checkpoint_distance, &made->checkpoints);
    if (error != NULL) {
        destroy(&made->public);
        return error;
    }
    struct tg_trace_summary summary = tg_trace_reader_summary(made->reader);
    made->public.is_recording = summary.is_recording;
    made->public.is_untraced = tg_trace_meta_is_untraced(tg_trace_reader_meta(made->reader));
    made->public.n_events = summary.complete && summary.unknown_events == 0 ? summary.events : 0;
    made->public.moment = made->moment;
    made->next_checkpoint = tg_checkpoints_next(made->checkpoints, 1);
    tg_trace_reader_watch(made->reader, note_position, made);
    *source = &made->public;
    return NULL;
}
