#include "recorder/record/recording.h"

#include "format/trace/meta.h"
#include "recorder/breakpoints/user_breakpoints.h"
#include "recorder/inject/injector.h"
#include "recorder/late/mpi_calls.h"
#include "recorder/mpir/session.h"
#include "recorder/openmp/breakpoints.h"
#include "recorder/record/description.h"
#include "recorder/record/process_facts.h"
#include "recorder/record/processor_use.h"
#include "recorder/record/ptrace_use.h"
#include "recorder/record/recording_flow.h"
#include "recorder/record/recording_heap.h"
#include "recorder/record/recording_state.h"
#include "recorder/record/recording_tracer.h"
#include "recorder/record/stop_price.h"
#include "recorder/record/stuck_launcher.h"
#include "recorder/record/untraced.h"
#include "recorder/stacks/heap_names.h"
#include "recorder/stacks/last_stacks.h"

#include <stdio.h>
#include <stdlib.h>

/* ---- the agent */

/* Whether the recording is worth nothing without an agent. */
static bool insists_on_agent(const struct tg_record_options *options)
{
    return options->no_ptrace || options->heap.mode != TG_AGENT_HEAP_OFF ||
           (options->dlopen_given && options->launched == TG_LOADER_AGENT);
}

/* Without an agent, and where nobody insists on it, libraries are watched by stops. */
static struct tg_error *create_agent(struct tg_recording *recording)
{
    const struct tg_record_options *options = recording->options;
    recording->launched = options->launched;
    if ((options->agent &
         (TG_AGENT_OPENMP | TG_AGENT_MPI | TG_AGENT_DLOPEN | TG_AGENT_LOADS | TG_AGENT_HEAP)) == 0)
        return NULL;
    struct tg_agent_heap heap = options->heap;
    heap.may_stand_in = recording->watch == NULL; /* nobody has breakpoints */
    const struct tg_agent_session_options agent = {
        .flags = options->agent,
        .heap = heap,
        .ring_bytes = options->ring_bytes,
        .trace = options->trace,
        .is_redacted = options->redact,
        .may_be_late =
            recording->watch == NULL && options->heap.mode == TG_AGENT_HEAP_OFF && options->ring_bytes == 0,
    };
    struct tg_error *error = tg_agent_session_create(&agent, &recording->agent);
    if (error == NULL || insists_on_agent(options))
        return error;
    if (asprintf(&recording->without_agent, "without the agent: %s", tg_error_message(error)) < 0)
        recording->without_agent = NULL;
    tg_error_destroy(error);
    if (tg_loader_watch_has_auditors(recording->launched))
        recording->launched = TG_LOADER_STOPS;
    return NULL;
}

/* ---- life */

static void sealing(void *context, uint64_t n_sealed, bool with_last)
{
    struct tg_recording *recording = context;
    if (recording->agent != NULL)
        tg_agent_session_seal(recording->agent, n_sealed, with_last);
}

static struct tg_error *create_file(struct tg_recording *recording, const struct tg_stop_cost *cost)
{
    const struct tg_record_options *options = recording->options;
    struct tg_trace_meta *meta = NULL;
    const struct tg_recording_file_options file = {.record = options,
                                                   .sealing = recording->agent != NULL ? sealing : NULL,
                                                   .context = recording,
                                                   .has_drain = recording->agent != NULL};
    const struct tg_description description = {.options = options,
                                               .launched = recording->launched,
                                               .agent = recording->agent,
                                               .has_mpir = recording->mpir != NULL,
                                               .cost = cost};
    struct tg_error *error = tg_trace_meta_create(&meta);
    if (error == NULL)
        error = tg_description_add(&description, meta);
    if (error == NULL)
        recording->start_ns = tg_trace_meta_get_number(meta, "start.monotonic_ns", 0);
    if (error == NULL)
        error = tg_recording_file_create(&file, meta, &recording->file);
    tg_trace_meta_destroy(meta);
    return error;
}

static struct tg_error *create_untraced(struct tg_recording *recording)
{
    const struct tg_untraced_options options = {
        .session = recording->agent,
        .sink = {.context = recording, .add = tg_recording_add, .add_again = tg_recording_add_again},
        .file = &recording->file_access,
        .audit = recording->launched == TG_LOADER_AGENT,
        .heap = recording->options->heap.mode != TG_AGENT_HEAP_OFF,
    };
    return tg_untraced_create(&options, &recording->untraced);
}

static void pass_gate_calls_on(void *context)
{
    const struct tg_recording *recording = context;
    recording->watch->gates_called(recording->watch->context);
}

static struct tg_error *start_agent(struct tg_recording *recording)
{
    bool is_for_file_alone = recording->live == NULL && recording->watch == NULL;
    const struct tg_event_sink sink = {
        .context = recording,
        .add = tg_recording_add,
        .add_again = tg_recording_add_again,
        .tail = is_for_file_alone ? tg_recording_file_tail(recording->file) : NULL,
    };
    if (recording->untraced != NULL)
        return tg_untraced_start(recording->untraced, sink.tail);
    return tg_agent_session_start(recording->agent, &sink, &recording->file_access,
                                  recording->watch == NULL ? NULL : pass_gate_calls_on);
}

struct tg_error *tg_recording_create(const struct tg_record_options *options, const struct tg_stop_cost *cost,
                                     const struct tg_recording_watch *watch, struct tg_recording **recording)
{
    struct tg_recording *made = calloc(1, sizeof *made);
    if (made == NULL)
        return tg_error_no_memory();
    made->options = options;
    made->watch = watch;
    made->file_access = tg_recording_file_access(made);
    struct tg_error *error = create_agent(made);
    made->price.wanted =
        cost->samples == 0 && !options->no_ptrace && tg_loader_watch_has_auditors(made->launched);
    if (error == NULL && options->heap.mode != TG_AGENT_HEAP_OFF)
        error = tg_heap_names_create(&made->heap_names);
    if (error == NULL)
        error = options->no_ptrace ? create_untraced(made) : tg_recording_create_tracer(made);
    if (error == NULL)
        error = create_file(made, cost);
    if (error == NULL && made->agent != NULL)
        error = start_agent(made);
    if (error != NULL) {
        tg_recording_destroy(made);
        return error;
    }
    *recording = made;
    return NULL;
}

struct tg_recording_parts tg_recording_parts(const struct tg_recording *recording)
{
    return (struct tg_recording_parts){
        recording->engine,
        recording->images,
        recording->loader,
        recording->options->n_breaks,
        recording->agent == NULL ? NULL : tg_agent_session_directory(recording->agent),
        recording->start_ns};
}

struct tg_error *tg_recording_start(struct tg_recording *recording, pid_t *pid)
{
    const struct tg_record_options *options = recording->options;
    struct tg_event settings = {
        .kind = TG_EVENT_FILTER_SETTINGS,
        .filter_settings = {.mode = options->filter.mode, .match = tg_glob_list_text(options->filter.list)},
    };
    *pid = 0;
    if (recording->untraced != NULL) {
        settings.time_ns = tg_engine_now_ns();
        tg_agent_session_add(recording->agent, &settings);
        return tg_untraced_launch(recording->untraced, options->command, pid);
    }
    tg_engine_emit(recording->engine, NULL, &settings);
    if (recording->without_agent != NULL)
        tg_recording_note(recording, recording->without_agent);
    tg_user_breakpoints_start(recording->breakpoints);
    if (options->command != NULL)
        return tg_engine_launch(recording->engine, options->command, pid);
    struct tg_error *error = NULL;
    static const char no_agent[] =
        "without the agent: attached processes are already running and are observed by stops alone";
    tg_engine_emit(recording->engine, NULL,
                   &(struct tg_event){.kind = TG_EVENT_NOTE, .note = {.text = no_agent}});
    for (size_t i = 0; i < options->n_pids; i++)
        tg_last_stacks_prepare(recording->stacks, options->pids[i],
                               tg_process_facts_look(options->pids[i]).bits);
    for (size_t i = 0; error == NULL && i < options->n_pids; i++)
        error = tg_engine_attach(recording->engine, options->pids[i]);
    return error;
}

/* Whether libraries are found only where something else stops the process. */
static bool misses_libraries(const struct tg_recording *recording)
{
    const struct tg_record_options *options = recording->options;
    enum tg_loader_watch watch = options->command != NULL ? recording->launched : options->attached;
    if (watch == TG_LOADER_STOPS)
        return options->filter.mode == TG_FILTER_FAST;
    return !tg_loader_watch_is_by_filter(watch) || options->filter.mode != TG_FILTER_SLOW;
}

struct tg_error *tg_recording_run(struct tg_recording *recording, int *status)
{
    struct tg_event_tracer_wait before;
    if (recording->untraced != NULL)
        return tg_untraced_run(recording->untraced, status);
    bool tells_use = tg_processor_use_read(&before);
    struct tg_error *error = tg_engine_run(recording->engine, status);
    if (tells_use)
        tg_processor_use_tell(recording->engine, &before);
    if (error == NULL && recording->options->mpir == TG_MPIR_INSIST &&
        tg_mpir_session_starters(recording->mpir) == 0)
        tg_recording_note(recording, "--mpir: no MPI job launcher was found (no process has MPIR symbols)");
    if (error == NULL && recording->watch == NULL)
        tg_user_breakpoints_tell_unplanted(recording->breakpoints, misses_libraries(recording),
                                           tg_recording_note, recording);
    return error;
}

void tg_recording_request_stop(struct tg_recording *recording)
{
    if (recording->engine !=
        NULL) /* without one, what the command left behind is waited for a short time only */
        tg_engine_request_stop(recording->engine);
}

void tg_recording_asked_to_end(struct tg_recording *recording)
{
    if (recording->stuck_launcher != NULL)
        tg_stuck_launcher_ask(recording->stuck_launcher);
}

void tg_recording_passes_on(struct tg_recording *recording, int signal, pid_t sender, const char *name)
{
    if (recording->engine != NULL)
        tg_engine_passes_on(recording->engine, signal, sender, name);
}

/* ---- no part of the job: told when its recording has ended */

static void tell_stop_price(struct tg_recording *recording)
{
    struct tg_event event;
    if (tg_stop_price_measure(&recording->price, TG_STOP_PRICE_WITHIN_NS, &event))
        tg_recording_add(recording, &event);
}

/* The thread that hands events over flushes: the agent's drain, or without one this thread. */
static void want_flush(struct tg_recording *recording)
{
    if (recording->agent != NULL && !recording->agent_is_finished)
        tg_recording_file_want_flush(recording->file);
    else
        tg_recording_file_flush(recording->file, true);
}

struct tg_error *tg_recording_look(struct tg_recording *recording)
{
    if (recording->stacks == NULL)
        return tg_error_create(TG_ERROR_UNSUPPORTED, "no stacks are taken in this recording");
    tg_last_stacks_look(recording->stacks);
    return NULL;
}

uint64_t tg_recording_flush(struct tg_recording *recording)
{
    if (recording->file == NULL)
        return 0;
    want_flush(recording);
    return tg_recording_file_events(recording->file);
}

bool tg_recording_is_flushed(struct tg_recording *recording, uint64_t n_events)
{
    if (recording->file == NULL)
        return true;
    uint64_t kept = tg_recording_file_events(recording->file); /* fewer where writing failed */
    if (tg_recording_file_written(recording->file) >= (kept < n_events ? kept : n_events))
        return true;
    want_flush(recording);
    return false;
}

void tg_recording_finish(struct tg_recording *recording, struct tg_recording_summary *summary)
{
    if (recording->agent != NULL)
        tg_agent_session_finish(recording->agent, NULL);
    recording->agent_is_finished = true;
    tell_stop_price(recording);
    tg_heap_names_tell(recording->heap_names, tg_recording_add, recording);
    tg_last_stacks_tell_names(recording->stacks); /* takes time, which a job that goes on does not wait for */
    if (recording->untraced != NULL)
        tg_untraced_finish(recording->untraced);
    tg_recording_file_close(recording->file, summary);
    recording->file = NULL;
}

void tg_recording_destroy(struct tg_recording *recording)
{
    if (recording == NULL)
        return;
    tg_stuck_launcher_stop(recording->stuck_launcher);
    tg_engine_destroy(recording->engine); /* detaching still makes events */
    tg_stuck_launcher_destroy(recording->stuck_launcher);
    tg_agent_session_destroy(recording->agent);
    recording->agent = NULL;
    tg_untraced_destroy(recording->untraced);
    tg_agent_injector_destroy(recording->injector);
    tg_loader_destroy(recording->loader);
    tg_mpir_session_destroy(recording->mpir);
    tg_process_facts_destroy(recording->facts);
    tg_memory_kills_end(&recording->memory_kills);
    tg_ptrace_use_destroy(recording->ptrace_use);
    tg_last_stacks_destroy(recording->stacks);
    tg_heap_names_destroy(recording->heap_names);
    tg_recording_heap_destroy(recording);
    tg_late_mpi_destroy(recording->late);
    tg_openmp_breakpoints_destroy(recording->openmp);
    tg_user_breakpoints_destroy(recording->breakpoints);
    tg_image_cache_destroy(recording->images);
    tg_recording_file_discard(recording->file);
    free(recording->without_agent);
    free(recording);
}
