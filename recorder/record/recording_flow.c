#include "recorder/record/recording_flow.h"

#include "recorder/leaks/live_blocks.h"
#include "recorder/record/recording_file.h"
#include "recorder/record/recording_state.h"
#include "recorder/stacks/heap_names.h"

#include <signal.h>

void tg_recording_add(void *context, const struct tg_event *event)
{
    struct tg_recording *recording = context;
    tg_recording_file_add(recording->file, event);
    tg_stop_price_note(&recording->price, event);
    if (event->kind == TG_EVENT_HEAP_STACK && recording->heap_names != NULL)
        tg_heap_names_add(recording->heap_names, &event->heap_stack);
    if (recording->live != NULL)
        tg_live_blocks_add(recording->live, event);
    if (recording->watch != NULL)
        recording->watch->written(recording->watch->context, event);
}

void tg_recording_add_again(void *context, const struct tg_event *event, struct tg_event_place *place)
{
    struct tg_recording *recording = context;
    tg_recording_file_add_again(recording->file, event, place);
    if (recording->live != NULL)
        tg_live_blocks_add(recording->live, event);
    if (recording->watch != NULL)
        recording->watch->written(recording->watch->context, event);
}

void tg_recording_take(void *context, const struct tg_event *event)
{
    struct tg_recording *recording = context;
    if (recording->file == NULL) /* the trace is closed; commands can still be given */
        return;
    if (event->kind == TG_EVENT_PROCESS_EXIT && event->process_exit.how == TG_EXIT_SIGNAL &&
        event->process_exit.status == SIGKILL) {
        const struct tg_event evidence = tg_memory_kills_evidence(&recording->memory_kills, event);
        tg_recording_take(recording, &evidence);
    }
    if (recording->agent != NULL && !recording->agent_is_finished)
        tg_agent_session_add(recording->agent, event);
    else
        tg_recording_add(recording, event);
}

void tg_recording_hold(void *context, uint64_t from_ns)
{
    struct tg_recording *recording = context;
    if (recording->agent != NULL)
        tg_agent_session_hold(recording->agent, from_ns);
}

/* Questions of the agent's drain about the file. */
static bool is_behind(void *context)
{
    const struct tg_recording *recording = context;
    return tg_recording_file_is_behind(recording->file) ||
           (recording->watch != NULL && recording->watch->is_behind(recording->watch->context));
}

static bool has_backlog(void *context)
{
    const struct tg_recording *recording = context;
    return tg_recording_file_is_behind(recording->file);
}

static uint64_t n_events(void *context)
{
    const struct tg_recording *recording = context;
    return tg_recording_file_events(recording->file);
}

static uint64_t n_written(void *context)
{
    const struct tg_recording *recording = context;
    return tg_recording_file_written(recording->file);
}

static void flush(void *context, bool at_once)
{
    const struct tg_recording *recording = context;
    tg_recording_file_flush(recording->file, at_once);
}

struct tg_ring_set_file tg_recording_file_access(struct tg_recording *recording)
{
    return (struct tg_ring_set_file){.context = recording,
                                     .n_events = n_events,
                                     .n_written = n_written,
                                     .flush = flush,
                                     .is_behind = is_behind,
                                     .has_backlog = has_backlog};
}

void tg_recording_note(void *context, const char *text)
{
    const struct tg_recording *recording = context;
    if (!recording->options->quiet)
        recording->options->say(text);
    const struct tg_event event = {.kind = TG_EVENT_NOTE, .note = {.text = text}};
    tg_engine_emit(recording->engine, NULL, &event);
}
