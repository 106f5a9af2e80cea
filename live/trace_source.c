#include "live/trace_source.h"

#include "analyzer/trace_pass.h"
#include "format/trace_reader.h"
#include "live/interrupt.h"

#include <stdlib.h>
#include <string.h>

enum { EVENTS_BETWEEN_LOOKS = 1024 }; /* at the interrupt flag */

struct trace_source {
    struct tg_source public;
    struct tg_trace_reader *reader;
    struct tg_moment *moment;
    struct tg_trace_bookmark before_event; /* where public.event begins */
    uint64_t latest_ns;                    /* of the events taken: times may go back */
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

static struct tg_error *take(struct trace_source *trace, const struct tg_event *event,
                             struct tg_trace_bookmark before)
{
    struct tg_error *error = tg_moment_feed(trace->moment, event);
    trace->public.event = event;
    trace->public.number++;
    trace->public.time_ns = event->time_ns;
    if (event->time_ns > trace->latest_ns)
        trace->latest_ns = event->time_ns;
    trace->before_event = before;
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
    return event == NULL ? untake(trace) : take(trace, event, before);
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
    trace->before_event = start;
    trace->latest_ns = 0;
    trace->at_end = false;
    return NULL;
}

static struct tg_error *run_to(struct trace_source *trace, const struct tg_target *target)
{
    while (!trace->at_end) {
        if (target->kind == TG_TO_EVENT && trace->public.number >= target->number)
            return NULL;
        if (trace->public.number % EVENTS_BETWEEN_LOOKS == 0 && tg_interrupt_pending())
            return tg_error_create(TG_ERROR_USAGE, "interrupted");
        struct tg_trace_bookmark before = tg_trace_reader_tell(trace->reader);
        const struct tg_event *event = read_event(trace);
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
    bool backwards = (target->kind == TG_TO_EVENT && target->number < source->number) ||
                     (target->kind == TG_TO_TIME && target->time_ns < trace->latest_ns);
    struct tg_error *error = backwards ? restart(trace) : NULL;
    return error != NULL ? error : run_to(trace, target);
}

static const struct tg_source_ops trace_ops = {.destroy = destroy, .step = step, .seek = seek};

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

struct tg_error *tg_trace_source_create(const char *path, struct tg_source **source)
{
    if (strcmp(path, "-") == 0)
        return tg_error_create(TG_ERROR_UNSUPPORTED, "a trace is read more than once here, which standard "
                                                     "input does not allow; name the trace's file");
    struct trace_source *made = calloc(1, sizeof *made);
    if (made == NULL)
        return tg_error_no_memory();
    made->public.ops = &trace_ops;
    made->public.name = path;
    struct tg_error *error = tg_trace_reader_open(path, &made->reader);
    if (error == NULL)
        error = find_start(made);
    if (error == NULL)
        error = tg_moment_create(&made->moment);
    if (error != NULL) {
        destroy(&made->public);
        return error;
    }
    struct tg_trace_summary summary = tg_trace_reader_summary(made->reader);
    made->public.n_events = summary.complete && summary.unknown_events == 0 ? summary.events : 0;
    made->public.moment = made->moment;
    *source = &made->public;
    return NULL;
}
