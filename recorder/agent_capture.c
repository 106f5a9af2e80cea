#include "recorder/agent_capture.h"

#include "recorder/agent_directory.h"
#include "recorder/tick_clock.h"

#include <stdlib.h>
#include <time.h>

/* Between the first two pairs: a pair is off by some 20 ns, their relation then by millionths. */
enum { FIRST_PAIRS_NS = 5000000 };

struct tg_agent_capture {
    struct tg_agent_directory *directory;
    struct tg_tick_clock *clock;
    struct tg_agent_drain *drain; /* NULL before the start and after the finish */
};

struct tg_error *tg_agent_capture_create(uint32_t flags, uint64_t ring_bytes, const char *trace,
                                         struct tg_agent_capture **capture)
{
    struct tg_agent_capture *made = calloc(1, sizeof *made);
    if (made == NULL)
        return tg_error_no_memory();
    const struct tg_agent_directory_options options = {
        .flags = flags, .clock = tg_tick_clock_best(), .ring_bytes = ring_bytes, .trace = trace};
    struct tg_error *error = tg_tick_clock_create((enum tg_agent_clock)options.clock, &made->clock);
    if (error == NULL) {
        tg_tick_clock_add(made->clock, tg_tick_clock_take(made->clock));
        nanosleep(&(struct timespec){.tv_nsec = FIRST_PAIRS_NS}, NULL);
        tg_tick_clock_add(made->clock, tg_tick_clock_take(made->clock));
        error = tg_agent_directory_create(&options, &made->directory);
    }
    if (error != NULL) {
        tg_agent_capture_destroy(made);
        return error;
    }
    *capture = made;
    return NULL;
}

const char *tg_agent_capture_directory(const struct tg_agent_capture *capture)
{
    return tg_agent_directory_path(capture->directory);
}

struct tg_error *tg_agent_capture_describe(const struct tg_agent_capture *capture, struct tg_trace_meta *meta)
{
    bool tsc = tg_tick_clock_source(capture->clock) == TG_AGENT_CLOCK_TSC;
    struct tg_error *error = tg_trace_meta_set(meta, "clock.source", tsc ? "tsc" : "monotonic");
    if (error == NULL)
        error = tg_trace_meta_set_number(meta, "clock.ticks_per_second",
                                         tg_tick_clock_ticks_per_second(capture->clock));
    if (error == NULL)
        error = tg_trace_meta_set(meta, "agent.directory", tg_agent_capture_directory(capture));
    return error;
}

struct tg_error *tg_agent_capture_start(struct tg_agent_capture *capture, const struct tg_event_sink *sink,
                                        bool (*is_behind)(void *context))
{
    const struct tg_agent_drain_options options = {
        .directory = capture->directory, .clock = capture->clock, .sink = *sink, .is_behind = is_behind};
    return tg_agent_drain_create(&options, &capture->drain);
}

static void add(void *context, const struct tg_event *event)
{
    struct tg_agent_capture *capture = context;
    if (capture->drain != NULL)
        tg_agent_drain_add(capture->drain, event);
}

static void hold(void *context, uint64_t time_ns)
{
    struct tg_agent_capture *capture = context;
    if (capture->drain != NULL)
        tg_agent_drain_hold(capture->drain, time_ns);
}

struct tg_event_sink tg_agent_capture_sink(struct tg_agent_capture *capture)
{
    return (struct tg_event_sink){.context = capture, .add = add, .working = hold};
}

void tg_agent_capture_finish(struct tg_agent_capture *capture, struct tg_agent_drain_stats *stats)
{
    if (capture->drain == NULL)
        return;
    tg_agent_drain_finish(capture->drain, stats);
    tg_agent_drain_destroy(capture->drain);
    capture->drain = NULL;
}

void tg_agent_capture_destroy(struct tg_agent_capture *capture)
{
    if (capture == NULL)
        return;
    tg_agent_drain_destroy(capture->drain);
    tg_agent_directory_destroy(capture->directory);
    tg_tick_clock_destroy(capture->clock);
    free(capture);
}
