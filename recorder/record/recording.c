#include "recorder/record/recording.h"

#include "format/trace/meta.h"
#include "recorder/agent/contract.h"
#include "recorder/breakpoints/user_breakpoints.h"
#include "recorder/engine/engine.h"
#include "recorder/inject/injector.h"
#include "recorder/late/mpi_calls.h"
#include "recorder/leaks/exit_scan.h"
#include "recorder/leaks/last_check.h"
#include "recorder/leaks/live_blocks.h"
#include "recorder/leaks/red_zone_faults.h"
#include "recorder/loader/loader.h"
#include "recorder/mpir/environment.h"
#include "recorder/mpir/session.h"
#include "recorder/openmp/breakpoints.h"
#include "recorder/process/image_cache.h"
#include "recorder/process/memory_kills.h"
#include "recorder/record/description.h"
#include "recorder/record/process_facts.h"
#include "recorder/record/processor_use.h"
#include "recorder/record/ptrace_use.h"
#include "recorder/record/recording_file.h"
#include "recorder/record/stop_price.h"
#include "recorder/record/stuck_launcher.h"
#include "recorder/record/untraced.h"
#include "recorder/rings/agent_connection.h"
#include "recorder/rings/shared_filter.h"
#include "recorder/stacks/heap_names.h"
#include "recorder/stacks/last_stacks.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

struct tg_recording {
    const struct tg_record_options *options;
    const struct tg_recording_watch *watch; /* NULL nobody */
    struct tg_memory_kills memory_kills;
    struct tg_observer launch;
    enum tg_loader_watch launched;  /* options->launched, or its replacement */
    struct tg_agent_session *agent; /* NULL none */
    bool agent_is_finished;         /* nobody else writes the trace any more */
    char *without_agent;            /* why there is none, where there should have been; NULL: that is fine */
    struct tg_recording_file *file; /* NULL: it is finished */
    struct tg_stop_price price;
    struct tg_ring_set_file file_access; /* of the agent's drain */
    struct tg_engine *engine;            /* NULL without ptrace ... */
    struct tg_untraced *untraced;        /* ... and this otherwise */
    struct tg_image_cache *images;
    struct tg_user_breakpoints *breakpoints;
    struct tg_process_facts *facts;
    struct tg_ptrace_use *ptrace_use;
    struct tg_openmp_breakpoints *openmp;
    struct tg_late_mpi *late; /* NULL: not asked for */
    struct tg_agent_injector *injector;
    struct tg_loader_auditors auditors;
    struct tg_loader *loader;
    struct tg_mpir_session *mpir;             /* NULL none */
    struct tg_stuck_launcher *stuck_launcher; /* NULL: none is looked for */
    uint64_t start_ns;                        /* as the trace has it */
    struct tg_last_stacks *stacks;            /* NULL: none are wanted, or can be had */
    struct tg_heap_names *heap_names;         /* NULL: heaps are not recorded */
    struct tg_live_blocks *live;              /* NULL: leaks are not searched for */
    struct tg_exit_scan *exit_scan;
    struct tg_last_check *last_check;
    struct tg_red_zone_faults *red_zone_faults;
    uint64_t heap_wait_ns; /* at most so long a process waits until what it did to its heap is read */
};

/* ---- from the engine and the agents to the file
 *
 * Without an agent the tracer's thread writes what the engine emits. With one, all goes through the agent's
 * drain, which puts it in order and is the one to write. */

static void add_event(void *context, const struct tg_event *event)
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

/* Stacks of heaps are never told as coming again. */
static void add_event_again(void *context, const struct tg_event *event, struct tg_event_place *place)
{
    struct tg_recording *recording = context;
    tg_recording_file_add_again(recording->file, event, place);
    if (recording->live != NULL)
        tg_live_blocks_add(recording->live, event);
    if (recording->watch != NULL)
        recording->watch->written(recording->watch->context, event);
}

static void take_engine_event(void *context, const struct tg_event *event)
{
    struct tg_recording *recording = context;
    if (recording->file == NULL) /* the trace is closed; commands can still be given */
        return;
    if (event->kind == TG_EVENT_PROCESS_EXIT && event->process_exit.how == TG_EXIT_SIGNAL &&
        event->process_exit.status == SIGKILL) {
        const struct tg_event evidence = tg_memory_kills_evidence(&recording->memory_kills, event);
        take_engine_event(recording, &evidence);
    }
    if (recording->agent != NULL && !recording->agent_is_finished)
        tg_agent_session_add(recording->agent, event);
    else
        add_event(recording, event);
}

static void hold_events(void *context, uint64_t from_ns)
{
    struct tg_recording *recording = context;
    if (recording->agent != NULL)
        tg_agent_session_hold(recording->agent, from_ns);
}

static void tell_emitted(void *context, const struct tg_event *event)
{
    const struct tg_recording *recording = context;
    recording->watch->emitted(recording->watch->context, event);
}

static void pass_gate_calls_on(void *context)
{
    const struct tg_recording *recording = context;
    recording->watch->gates_called(recording->watch->context);
}

/* Of the moment before the command is there, when nobody waits. */
static void begin_memory_kills(void *context, pid_t pid)
{
    struct tg_recording *recording = context;
    (void)pid;
    tg_memory_kills_begin(&recording->memory_kills);
}

static void serve_requests(void *context)
{
    const struct tg_recording *recording = context;
    tg_last_stacks_serve(recording->stacks);
    if (recording->stuck_launcher != NULL)
        tg_stuck_launcher_serve(recording->stuck_launcher);
    if (recording->watch != NULL)
        recording->watch->serve(recording->watch->context);
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

static void sealing(void *context, uint64_t n_sealed, bool with_last)
{
    struct tg_recording *recording = context;
    if (recording->agent != NULL)
        tg_agent_session_seal(recording->agent, n_sealed, with_last);
}

/* ---- the agent */

/* Whether the recording is worth nothing without an agent. */
static bool insists_on_agent(const struct tg_record_options *options)
{
    return options->no_ptrace || options->heap.mode != TG_AGENT_HEAP_OFF ||
           (options->dlopen_given && options->launched == TG_LOADER_AGENT);
}

/* Whether auditors decide by the dlopen filter. */
static bool is_by_filter(enum tg_loader_watch watch)
{
    return watch == TG_LOADER_IN_PROCESS || watch == TG_LOADER_BY_MODE;
}

static bool has_auditors(enum tg_loader_watch watch)
{
    return watch == TG_LOADER_AGENT || is_by_filter(watch);
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
    if (has_auditors(recording->launched))
        recording->launched = TG_LOADER_STOPS;
    return NULL;
}

/* Whether each launcher is told that it is debugged: where ranks are to be held before they begin, or are chosen. */
static bool announces_itself(const struct tg_recording *recording)
{
    return recording->watch != NULL || recording->options->ranks.count > 0;
}

static const char *further_variable(void *context, struct tg_thread *thread,
                                    const struct tg_initial_stack *stack)
{
    const struct tg_recording *recording = context;
    enum tg_mpir_use use = recording->options->mpir;
    return use == TG_MPIR_OFF || (use != TG_MPIR_INSIST && !announces_itself(recording))
               ? NULL
               : tg_mpir_environment_wish(recording->images, thread, stack);
}

static const char *left_out(void *context, const struct tg_thread *thread)
{
    const struct tg_recording *recording = context;
    return recording->mpir != NULL && tg_mpir_session_leaves_out(recording->mpir, thread->process->pid)
               ? TG_MPIR_LET_GO
               : NULL;
}

static struct tg_error *create_injector(struct tg_recording *recording)
{
    const struct tg_agent_directory *directory = tg_agent_session_directory(recording->agent);
    const struct tg_agent_injector_options options = {
        .files = tg_agent_session_files(recording->agent),
        .directory = tg_agent_directory_path(directory),
        .directory_fd = tg_agent_directory_fd(directory),
        .audit = has_auditors(recording->launched),
        .heap = recording->options->heap.mode != TG_AGENT_HEAP_OFF,
        .images = recording->images,
        .further = further_variable,
        .leaves_out = left_out,
        .context = recording,
    };
    return tg_agent_injector_create(recording->engine, &options, &recording->injector);
}

/* Tells the person who records, and the trace. */
static void note(struct tg_recording *recording, const char *text)
{
    if (!recording->options->quiet)
        recording->options->say(text);
    const struct tg_event event = {.kind = TG_EVENT_NOTE, .note = {.text = text}};
    tg_engine_emit(recording->engine, NULL, &event);
}

static void note_killing(void *context, const char *text)
{
    note(context, text);
}

static struct tg_error *watch_launcher(struct tg_recording *recording)
{
    const struct tg_stuck_launcher_options options = {
        .engine = recording->engine, .mpir = recording->mpir, .tell = note_killing, .context = recording};
    return tg_stuck_launcher_create(&options, &recording->stuck_launcher);
}

/* ---- life */

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

static bool wants_openmp_breakpoints(void *context, const struct tg_process *process)
{
    const struct tg_recording *recording = context;
    if ((recording->options->agent & TG_AGENT_OPENMP) == 0 && recording->options->command != NULL)
        return false;
    if (process->loader_base == 0)
        return true; /* static: nothing can be loaded into it */
    return recording->injector != NULL && !tg_agent_injector_is_in(recording->injector, process);
}

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

/* The console kills what it has started, and the kernel, if it has killed any process since the recording began, may have killed this one for its
 * memory. */
static bool spares_killed(void *context)
{
    const struct tg_recording *recording = context;
    return recording->watch != NULL || tg_memory_kills_count(&recording->memory_kills).machine != 0;
}

/* Where all blocks of heaps are seen. */
static struct tg_error *create_exit_scan(struct tg_recording *recording)
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

/* ---- the dlopen filter in the agents' auditors */

static void end_old_filter(void *context)
{
    const struct tg_recording *recording = context;
    tg_shared_filter_end_old(tg_agent_session_directory(recording->agent));
}

static void begin_new_filter(void *context, const struct tg_dlopen_filter *filter)
{
    const struct tg_recording *recording = context;
    tg_shared_filter_begin_new(tg_agent_session_directory(recording->agent), filter);
}

static bool is_in_mpi(void *context, const struct tg_process *process)
{
    const struct tg_recording *recording = context;
    return tg_agent_injector_is_in_mpi(recording->injector, process);
}

static struct tg_error *create_engine(struct tg_recording *recording)
{
    const struct tg_record_options *options = recording->options;
    const struct tg_engine_options engine = {
        .sink = {.context = recording, .add = take_engine_event},
        .hold = hold_events,
        .emitted = recording->watch == NULL ? NULL : tell_emitted,
        .serve = serve_requests,
        .kill_on_exit = true,
        .own_group = options->own_group,
        .standard_input = options->has_standard_input ? &options->standard_input : NULL,
    };
    struct tg_error *error = tg_engine_create(&engine, &recording->engine);
    recording->launch =
        (struct tg_observer){.name = "memory kills", .context = recording, .launching = begin_memory_kills};
    if (options->command == NULL)
        tg_memory_kills_begin(&recording->memory_kills);
    else if (error == NULL)
        error = tg_engine_add_observer(recording->engine, &recording->launch, NULL);
    if (error == NULL)
        error = tg_image_cache_create(0, &recording->images);
    if (error == NULL)
        error = tg_process_facts_create(recording->engine, recording->images, &recording->facts);
    if (error == NULL && !options->no_stacks)
        error = tg_last_stacks_create(recording->engine, recording->images, &recording->stacks);
    if (error == NULL)
        error = create_exit_scan(recording);
    if (error == NULL)
        error = tg_user_breakpoints_create(recording->engine, recording->images, &recording->breakpoints);
    for (size_t i = 0; error == NULL && i < options->n_breaks; i++)
        error = tg_user_breakpoints_add(recording->breakpoints, options->breaks[i]);
    if (error == NULL && recording->agent != NULL)
        error = create_injector(recording);
    if (error == NULL && recording->injector != NULL && recording->stacks != NULL)
        tg_last_stacks_ask_of_mpi(recording->stacks, is_in_mpi, recording);
    return error;
}

static struct tg_error *create_loader(struct tg_recording *recording)
{
    const struct tg_record_options *options = recording->options;
    const struct tg_loader_options loader = {
        .launched = recording->launched,
        .attached = options->attached,
        .filter = &options->filter,
        .images = recording->images,
        .breakpoints = recording->breakpoints,
        .listener = recording->watch == NULL ? NULL : recording->watch->libraries,
        .agent = recording->injector,
        .auditors = is_by_filter(recording->launched) ? &recording->auditors : NULL,
    };
    recording->auditors = (struct tg_loader_auditors){
        .context = recording, .end_old = end_old_filter, .begin_new = begin_new_filter};
    return tg_loader_create(recording->engine, &loader, &recording->loader);
}

static struct tg_error *create_mpir(struct tg_recording *recording)
{
    const struct tg_record_options *options = recording->options;
    if (options->mpir == TG_MPIR_OFF)
        return NULL;
    const struct tg_mpir_session_options mpir = {
        .images = recording->images,
        .agent = recording->injector,
        .ranks = &options->ranks,
        .insist = options->mpir == TG_MPIR_INSIST,
        .trust = options->mpir_trust,
        .is_foreign = options->sattach[0] != NULL,
        .announces = announces_itself(recording),
    };
    struct tg_error *error = tg_mpir_session_create(recording->engine, &mpir, &recording->mpir);
    return error != NULL || recording->watch != NULL ? error : watch_launcher(recording);
}

static const struct tg_link_maps *link_maps_of(void *context, const struct tg_process *process)
{
    const struct tg_recording *recording = context;
    return tg_mpir_session_link_maps(recording->mpir, process);
}

/* Behind those who look at a program's libraries at its entry point. */
static struct tg_error *create_ptrace_use(struct tg_recording *recording)
{
    struct tg_error *error =
        tg_ptrace_use_create(recording->engine, recording->images, &recording->ptrace_use);
    if (error == NULL && recording->mpir != NULL)
        tg_ptrace_use_ask_loader(recording->ptrace_use, link_maps_of, recording);
    return error;
}

/* The engine with its observers, in the order in which these are told of a stop. */
static struct tg_error *create_tracer(struct tg_recording *recording)
{
    const struct tg_record_options *options = recording->options;
    struct tg_error *error = create_engine(recording);
    const struct tg_openmp_breakpoints_options openmp = {
        .images = recording->images, .wanted = wants_openmp_breakpoints, .context = recording};
    if (error == NULL)
        error = tg_openmp_breakpoints_create(recording->engine, &openmp, &recording->openmp);
    if (error == NULL && options->late)
        error = tg_late_mpi_create(recording->engine, recording->images, &recording->late);
    if (error == NULL)
        error = create_loader(recording);
    if (error == NULL)
        error = create_mpir(recording);
    return error != NULL ? error : create_ptrace_use(recording);
}

static struct tg_error *create_untraced(struct tg_recording *recording)
{
    const struct tg_untraced_options options = {
        .session = recording->agent,
        .sink = {.context = recording, .add = add_event, .add_again = add_event_again},
        .file = &recording->file_access,
        .audit = recording->launched == TG_LOADER_AGENT,
        .heap = recording->options->heap.mode != TG_AGENT_HEAP_OFF,
    };
    return tg_untraced_create(&options, &recording->untraced);
}

static struct tg_error *start_agent(struct tg_recording *recording)
{
    bool is_for_file_alone = recording->live == NULL && recording->watch == NULL;
    const struct tg_event_sink sink = {
        .context = recording,
        .add = add_event,
        .add_again = add_event_again,
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
    made->file_access = (struct tg_ring_set_file){.context = made,
                                                  .n_events = n_events,
                                                  .n_written = n_written,
                                                  .flush = flush,
                                                  .is_behind = is_behind,
                                                  .has_backlog = has_backlog};
    struct tg_error *error = create_agent(made);
    made->price.wanted = cost->samples == 0 && !options->no_ptrace && has_auditors(made->launched);
    if (error == NULL && options->heap.mode != TG_AGENT_HEAP_OFF)
        error = tg_heap_names_create(&made->heap_names);
    if (error == NULL)
        error = options->no_ptrace ? create_untraced(made) : create_tracer(made);
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
        note(recording, recording->without_agent);
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
    return !is_by_filter(watch) || options->filter.mode != TG_FILTER_SLOW;
}

static void note_unplanted(void *context, const char *text)
{
    note(context, text);
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
        note(recording, "--mpir: no MPI job launcher was found (no process has MPIR symbols)");
    if (error == NULL && recording->watch == NULL)
        tg_user_breakpoints_tell_unplanted(recording->breakpoints, misses_libraries(recording),
                                           note_unplanted, recording);
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
        add_event(recording, &event);
}

/* The thread that hands events over flushes: the agent's drain, or without one this thread. */
static void want_flush(struct tg_recording *recording)
{
    if (recording->agent != NULL && !recording->agent_is_finished)
        tg_recording_file_want_flush(recording->file);
    else
        tg_recording_file_flush(recording->file, true);
}

void tg_recording_settle(const struct tg_recording *recording)
{
    if (recording->agent != NULL && !recording->agent_is_finished)
        (void)tg_agent_session_settle(recording->agent, UINT64_MAX, settle_within_ns);
}

struct tg_error *tg_recording_look(struct tg_recording *recording)
{
    if (recording->stacks == NULL)
        return tg_error_create(TG_ERROR_UNSUPPORTED, "no stacks are taken in this recording");
    tg_last_stacks_look(recording->stacks);
    return NULL;
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
    tg_heap_names_tell(recording->heap_names, add_event, recording);
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
    tg_exit_scan_destroy(recording->exit_scan);
    tg_last_check_destroy(recording->last_check);
    tg_red_zone_faults_destroy(recording->red_zone_faults);
    tg_live_blocks_destroy(recording->live);
    tg_late_mpi_destroy(recording->late);
    tg_openmp_breakpoints_destroy(recording->openmp);
    tg_user_breakpoints_destroy(recording->breakpoints);
    tg_image_cache_destroy(recording->images);
    tg_recording_file_discard(recording->file);
    free(recording->without_agent);
    free(recording);
}
