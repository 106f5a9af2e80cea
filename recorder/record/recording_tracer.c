#include "recorder/record/recording_tracer.h"

#include "recorder/breakpoints/user_breakpoints.h"
#include "recorder/engine/engine.h"
#include "recorder/inject/injector.h"
#include "recorder/late/mpi_calls.h"
#include "recorder/loader/loader.h"
#include "recorder/mpir/environment.h"
#include "recorder/mpir/session.h"
#include "recorder/openmp/breakpoints.h"
#include "recorder/process/image_cache.h"
#include "recorder/record/process_facts.h"
#include "recorder/record/ptrace_use.h"
#include "recorder/record/recording_flow.h"
#include "recorder/record/recording_heap.h"
#include "recorder/record/recording_state.h"
#include "recorder/record/stuck_launcher.h"
#include "recorder/rings/shared_filter.h"
#include "recorder/stacks/last_stacks.h"

/* ---- the agent in new programs */

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
        .audit = tg_loader_watch_has_auditors(recording->launched),
        .heap = recording->options->heap.mode != TG_AGENT_HEAP_OFF,
        .images = recording->images,
        .further = further_variable,
        .leaves_out = left_out,
        .context = recording,
    };
    return tg_agent_injector_create(recording->engine, &options, &recording->injector);
}

/* ---- the engine */

static void tell_emitted(void *context, const struct tg_event *event)
{
    const struct tg_recording *recording = context;
    recording->watch->emitted(recording->watch->context, event);
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

static bool is_in_mpi(void *context, const struct tg_process *process)
{
    const struct tg_recording *recording = context;
    return tg_agent_injector_is_in_mpi(recording->injector, process);
}

static struct tg_error *create_engine(struct tg_recording *recording)
{
    const struct tg_record_options *options = recording->options;
    const struct tg_engine_options engine = {
        .sink = {.context = recording, .add = tg_recording_take},
        .hold = tg_recording_hold,
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
        error = tg_recording_heap_create(recording);
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

/* ---- libraries, and the filter that decides about them in the agents' auditors */

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
        .auditors = tg_loader_watch_is_by_filter(recording->launched) ? &recording->auditors : NULL,
    };
    recording->auditors = (struct tg_loader_auditors){
        .context = recording, .end_old = end_old_filter, .begin_new = begin_new_filter};
    return tg_loader_create(recording->engine, &loader, &recording->loader);
}

/* ---- MPI and OpenMP */

static bool wants_openmp_breakpoints(void *context, const struct tg_process *process)
{
    const struct tg_recording *recording = context;
    if ((recording->options->agent & TG_AGENT_OPENMP) == 0 && recording->options->command != NULL)
        return false;
    if (process->loader_base == 0)
        return true; /* static: nothing can be loaded into it */
    return recording->injector != NULL && !tg_agent_injector_is_in(recording->injector, process);
}

static struct tg_error *watch_launcher(struct tg_recording *recording)
{
    const struct tg_stuck_launcher_options options = {.engine = recording->engine,
                                                      .mpir = recording->mpir,
                                                      .tell = tg_recording_note,
                                                      .context = recording};
    return tg_stuck_launcher_create(&options, &recording->stuck_launcher);
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

struct tg_error *tg_recording_create_tracer(struct tg_recording *recording)
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
