#include "recorder/rings/salvage.h"

#include "recorder/rings/directory.h"
#include "recorder/rings/mapping_guard.h"
#include "recorder/rings/process_notes.h"
#include "recorder/rings/ring_set.h"

#include <fcntl.h>
#include <unistd.h>

/* Counts on the way to who asked. */
struct passage {
    void (*add)(void *context, const struct tg_event *event);
    void *context;
    struct tg_salvage_stats stats;
};

static void pass_on(void *context, const struct tg_event *event)
{
    struct passage *passage = context;
    passage->stats.events++;
    if (event->kind == TG_EVENT_LOSS)
        passage->stats.lost_events += tg_loss_count(event->loss.count);
    passage->add(passage->context, event);
}

/* The clock as the dead recorder noted it, and where the machine was not started anew as it is now. */
static struct tg_error *make_clock(const struct tg_agent_directory *directory, struct tg_tick_clock **clock)
{
    struct tg_agent_control control = tg_agent_directory_control(directory);
    enum tg_agent_clock source =
        control.clock == TG_AGENT_CLOCK_TSC ? TG_AGENT_CLOCK_TSC : TG_AGENT_CLOCK_MONOTONIC;
    struct tg_error *error = tg_tick_clock_create(source, clock);
    if (error != NULL)
        return error;
    int fd =
        openat(tg_agent_directory_fd(directory), "clock", O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
    bool same_start = fd >= 0 && tg_tick_clock_load(*clock, fd);
    if (fd >= 0)
        close(fd);
    if (same_start)
        tg_tick_clock_add(*clock, tg_tick_clock_take(*clock));
    if (tg_tick_clock_ticks_per_second(*clock) == 0)
        error = tg_error_create(TG_ERROR_INPUT, "%s/clock: does not cover the times in the rings",
                                tg_agent_directory_path(directory));
    return error;
}

struct tg_error *tg_agent_salvage(const char *path, struct tg_recovery_place place,
                                  void (*add)(void *context, const struct tg_event *event), void *context,
                                  struct tg_salvage_stats *stats)
{
    struct tg_agent_directory *directory = NULL;
    struct tg_tick_clock *clock = NULL;
    struct tg_event_queue *queue = NULL;
    struct tg_ring_set *rings = NULL;
    struct passage passage = {.add = add, .context = context};
    const struct tg_event_sink sink = {.context = &passage, .add = pass_on};
    struct tg_error *error = tg_agent_directory_open(path, &directory);
    if (error != NULL)
        return error;
    tg_mapping_guard_install();
    error = make_clock(directory, &clock);
    if (error == NULL)
        error = tg_event_queue_create(0, &queue);
    if (error == NULL)
        tg_process_notes_read(tg_agent_directory_fd(directory), queue);
    const struct tg_ring_set_options options = {.directory_fd = tg_agent_directory_fd(directory),
                                                .clock = clock,
                                                .queue = queue,
                                                .sink = sink,
                                                .salvage = true,
                                                .n_in_file = place.n_events,
                                                .after_ns = place.after_ns};
    if (error == NULL)
        error = tg_ring_set_create(&options, &rings);
    if (error == NULL) {
        tg_ring_set_finish(rings);
        const struct tg_ring_set_stats found = tg_ring_set_stats(rings);
        passage.stats.rings = found.rings;
        passage.stats.is_exact = found.unknown == 0;
        passage.stats.goes_on = found.living > 0;
        if (stats != NULL)
            *stats = passage.stats;
    }
    tg_agent_directory_close(directory);
    tg_ring_set_destroy(rings);
    tg_event_queue_destroy(queue);
    tg_tick_clock_destroy(clock);
    return error;
}

struct tg_error *tg_agent_salvage_discard(const char *path)
{
    struct tg_agent_directory *directory = NULL;
    struct tg_error *error = tg_agent_directory_open(path, &directory);
    if (error == NULL)
        tg_agent_directory_destroy(directory);
    return error;
}
