#include "recorder/record/recording_heap.h"

#include "recorder/leaks/exit_scan.h"
#include "recorder/leaks/last_check.h"
#include "recorder/leaks/live_blocks.h"
#include "recorder/leaks/red_zone_faults.h"
#include "recorder/record/recording_state.h"

#include <errno.h>
#include <stddef.h>

static const uint64_t settle_within_ns = 5000000000;

/* A drain that was too late once is behind: a hundred processes that end meanwhile do not wait a hundred times as long. */
static bool heap_was_read(struct tg_recording *recording, bool in_time)
{
    const uint64_t least_ns = 50000000;
    uint64_t next_ns = in_time ? settle_within_ns : recording->heap_wait_ns / 2;
    recording->heap_wait_ns = next_ns > least_ns ? next_ns : least_ns;
    return in_time;
}

static bool settle(void *context, uint64_t up_to_ns)
{
    struct tg_recording *recording = context;
    return heap_was_read(recording,
                         tg_agent_session_settle(recording->agent, up_to_ns, recording->heap_wait_ns));
}

static bool foresee(void *context, struct tg_ring_foresight *foresight)
{
    const struct tg_recording *recording = context;
    return tg_agent_session_foresee(recording->agent, foresight, settle_within_ns);
}

/* The console kills what it has started, and the kernel, if it has killed any process since the recording began, may have killed
 * this one for its memory. */
static bool spares_killed(void *context)
{
    const struct tg_recording *recording = context;
    return recording->watch != NULL || tg_memory_kills_count(&recording->memory_kills).machine != 0;
}

struct tg_error *tg_recording_heap_create(struct tg_recording *recording)
{
    enum tg_agent_heap_mode mode = recording->options->heap.mode;
    if (recording->agent == NULL || (mode != TG_AGENT_HEAP_EVENTS && mode != TG_AGENT_HEAP_CHECK))
        return NULL;
    struct tg_error *error = tg_live_blocks_create(&recording->live);
    if (error != NULL)
        return error;
    recording->heap_wait_ns = settle_within_ns;
    const struct tg_exit_scan_options options = {
        .live = recording->live,
        .agent_directory = tg_agent_directory_path(tg_agent_session_directory(recording->agent)),
        .settle = settle,
        .foresee = foresee,
        .spares_killed = spares_killed,
        .context = recording,
    };
    const struct tg_last_check_options last = {.spares_killed = spares_killed, .context = recording};
    error = tg_exit_scan_create(recording->engine, &options, &recording->exit_scan);
    if (error == NULL && mode == TG_AGENT_HEAP_CHECK)
        error = tg_last_check_create(recording->engine, &last, &recording->last_check);
    if (error != NULL || recording->options->heap.red_zones == TG_AGENT_RED_ZONES_OFF)
        return error;
    const struct tg_red_zone_faults_options faults = {
        .live = recording->live, .images = recording->images, .settle = settle, .context = recording};
    return tg_red_zone_faults_create(recording->engine, &faults, &recording->red_zone_faults);
}

void tg_recording_heap_destroy(struct tg_recording *recording)
{
    tg_exit_scan_destroy(recording->exit_scan);
    tg_last_check_destroy(recording->last_check);
    tg_red_zone_faults_destroy(recording->red_zone_faults);
    tg_live_blocks_destroy(recording->live);
}

void tg_recording_settle(const struct tg_recording *recording)
{
    if (recording->agent != NULL && !recording->agent_is_finished)
        (void)tg_agent_session_settle(recording->agent, UINT64_MAX, settle_within_ns);
}

struct tg_error *tg_recording_search_leaks(struct tg_recording *recording, pid_t pid)
{
    struct tg_process *process = recording->engine == NULL || recording->agent_is_finished
                                     ? NULL
                                     : tg_engine_find_process(recording->engine, pid);
    if (recording->exit_scan == NULL)
        return tg_error_create(
            TG_ERROR_UNSUPPORTED,
            "leaks are searched for where the job was started with --heap or --heap=check");
    if (process == NULL || process->threads == NULL)
        return tg_error_create(TG_ERROR_NOT_FOUND, "process %d has ended", pid);
    return tg_exit_scan_search(recording->exit_scan, process->threads);
}

struct tg_error *tg_recording_check_guards(struct tg_recording *recording, pid_t pid,
                                           struct tg_guard_check *check)
{
    if (recording->live == NULL || recording->agent_is_finished ||
        recording->options->heap.mode != TG_AGENT_HEAP_CHECK)
        return tg_error_create(TG_ERROR_UNSUPPORTED, "the job was started without --heap=check");
    struct tg_process *process = tg_engine_find_process(recording->engine, pid);
    if (process == NULL || process->threads == NULL)
        return tg_error_create(TG_ERROR_NOT_FOUND, "process %d has ended", pid);
    tg_recording_settle(recording);
    return tg_guard_check_run(recording->engine, recording->live, process->threads, check);
}

struct tg_error *tg_recording_wish(struct tg_recording *recording, const struct tg_agent_heap_wishes *wishes,
                                   const char *text)
{
    if (recording->agent == NULL || recording->agent_is_finished ||
        recording->options->heap.mode == TG_AGENT_HEAP_OFF)
        return tg_error_create(TG_ERROR_UNSUPPORTED, "the heap is not observed: the job was started without "
                                                     "--heap");
    if (!tg_agent_directory_write(tg_agent_session_directory(recording->agent),
                                  offsetof(struct tg_agent_control, heap_wishes), wishes, sizeof *wishes))
        return tg_error_create_errno(errno, "the agent's control file");
    const struct tg_event event = {.kind = TG_EVENT_NOTE, .note = {.text = text}};
    tg_engine_emit(recording->engine, NULL, &event);
    return NULL;
}
