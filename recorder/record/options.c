#include "recorder/record/options.h"

#include "format/base/array.h"
#include "format/settings/command.h"
#include "format/settings/command_line.h"
#include "format/settings/settings.h"
#include "recorder/agent/contract.h"
#include "recorder/record/heap_option.h"
#include "recorder/record/settings_files.h"
#include "recorder/record/trace_name.h"

#include <argp.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    KEY_FORCE = 0x200,
    KEY_MODE,
    KEY_MATCH,
    KEY_ALWAYS,
    KEY_NOT_ALWAYS,
    KEY_ON_MATCH,
    KEY_SETTINGS,
    KEY_NO_RC,
    KEY_DLOPEN,
    KEY_OPENMP,
    KEY_MPI,
    KEY_HEAP,
    KEY_HEAP_DEPTH,
    KEY_EVERY,
    KEY_LOSSY,
    KEY_RING_SIZE,
    KEY_NO_PTRACE,
    KEY_NO_STACKS,
    KEY_LATE,
    KEY_REDACT,
    KEY_MPIR,
    KEY_NO_MPIR,
    KEY_MPIR_TRUST,
    KEY_RANKS,
    KEY_SLURM_STEP,
};

/* The command line, before settings files are taken into account. */
struct arguments {
    struct tg_record_options options; /* as far as they follow from the command line alone */
    const char *trace;
    const char *mode;
    const char *match;
    const char *settings;
    const char *dlopen;
    const char *on_match;
    const char *openmp;
    const char *mpi;
    const char *heap; /* "" for --heap alone */
    const char *heap_depth;
    const char *ring_size;
    const char *ranks;
    char *slurm_step;
    bool every;
    bool lossy;
    bool no_rc;
    const struct tg_record_options_more *more;
    int always; /* -1: not given */
    int mpir;   /* enum tg_mpir_use */
    struct tg_error *error;
};

static const struct argp_option argp_options[] = {
    {"output", 'o', "TRACE", 0, "Write to TRACE (default: tollgate-PROGRAM-PID.tgt in the current directory)",
     1},
    {"force", KEY_FORCE, NULL, 0, "Overwrite TRACE if it exists", 1},
    {"quiet", 'q', NULL, 0, "Print only errors", 1},
    {"redact", KEY_REDACT, NULL, 0,
     "Replace arguments, paths, host and user names in the trace, as `tollgate redact` does", 1},
    {"pid", 'p', "PID", 0, "Attach to PID with all its threads instead of running a command; may be repeated",
     1},
    {"break", 'b', "SPEC", 0,
     "Record hits of a breakpoint at FUNCTION, FILE:LINE or *ADDRESS, with LIBRARY` in front to name the "
     "library; pending ones are planted when their library is handled; may be repeated",
     1},
    {"mode", KEY_MODE, "MODE", 0, "Run the job under this dlopen filter mode: slow (default), medium or fast",
     2},
    {"match", KEY_MATCH, "GLOBLIST", 0, "The glob-list of medium mode; implies --mode=medium", 2},
    {"dlopen_always_recalculate", KEY_ALWAYS, NULL, 0, "The debugger's name for slow mode", 2},
    {"no_dlopen_always_recalculate", KEY_NOT_ALWAYS, NULL, 0,
     "The debugger's name for medium mode, or for fast mode with an empty glob-list", 2},
    {"dlopen_recalculate_on_match", KEY_ON_MATCH, "GLOBLIST", 0, "The debugger's name for --match", 2},
    {"settings", KEY_SETTINGS, "FILE", 0,
     "Read `dset` lines from FILE instead of $HOME/.tvdrc, $HOME/.tollgaterc and ./.tollgaterc", 2},
    {"no-rc", KEY_NO_RC, NULL, 0, "Read no settings file, except one named by --settings", 2},
    {"dlopen", KEY_DLOPEN, "HOW", 0,
     "How to observe libraries: agent (inside the process; default for a command), stops (at the dynamic "
     "loader's breakpoint; default with --break or a dlopen filter), in-process (the agent decides by the "
     "dlopen filter, and stops the process only for what is reported; default in medium mode) or none; the "
     "libraries of an attached process are read when it stops anyway, unless HOW is stops",
     3},
    {"openmp", KEY_OPENMP, "on|off", 0, "Observe OpenMP (default: on)", 3},
    {"mpi", KEY_MPI, "on|off", 0, "Observe MPI calls (default: on)", 3},
    {"heap", KEY_HEAP, "HOW", OPTION_ARG_OPTIONAL,
     "Observe malloc, free, operator new and the like in the command and what it starts: HOW is events "
     "(every "
     "call; default), sample:BYTES (blocks that a sample of the bytes hits, one in BYTES) or check (every "
     "call, "
     "and mistakes; check,red_zones: accesses beside blocks stop at once)",
     3},
    {"heap-depth", KEY_HEAP_DEPTH, "N", 0,
     "Record at most N calls of the stack of each allocation (default: 32; 0: no stacks)", 3},
    {"every", KEY_EVERY, NULL, 0,
     "Record each call of MPI_Test, MPI_Iprobe and the like (default: of those that one place repeats in "
     "vain the first, and what the others were together)",
     3},
    {"lossy", KEY_LOSSY, NULL, 0,
     "Drop and count the agent's events while the recorder cannot keep up, instead of making the job wait",
     3},
    {"no-ptrace", KEY_NO_PTRACE, NULL, 0, "Record with the agent alone, for systems that forbid ptrace", 3},
    {"no-stacks", KEY_NO_STACKS, NULL, 0,
     "Do not record where threads were when a signal, an interruption or an error ended them", 3},
    {"late", KEY_LATE, NULL, 0,
     "With --pid: also observe MPI calls from now on, by breakpoints in the MPI library; each call then "
     "costs two "
     "stops",
     3},
    {"ring-size", KEY_RING_SIZE, "BYTES", 0,
     "Size of the agent's buffer for the events of one thread, with suffix K or M (default: 1M, less if the "
     "memory file system is small, and as much more as is needed; 64K to 256M, rounded up to a power of two)",
     3},
    {"mpir", KEY_MPIR, NULL, 0,
     "Acquire the ranks of MPI jobs by MPIR, and warn if there is no job launcher; tell Open MPI's launcher, "
     "too, that it is debugged; with --pid also follow later steps of the job by breakpoints (default: use "
     "MPIR whenever a launcher is found)",
     4},
    {"no-mpir", KEY_NO_MPIR, NULL, 0, "Do not use MPIR", 4},
    {"ranks", KEY_RANKS, "LIST", 0, "Record only these ranks of MPI jobs, for example 0,2-5", 4},
    {"mpir-trust", KEY_MPIR_TRUST, NULL, 0,
     "Acquire the processes in a launcher's table even if they belong to another user, or run a different "
     "program than the table says",
     4},
    {"slurm-step", KEY_SLURM_STEP, "JOB.STEP", 0, "Attach to the ranks of this running Slurm job step", 4},
    {0},
};

/* ---- command line */

/* Options that only store something: in which member of struct arguments, and what. */
static const struct store {
    int key;
    size_t member;
    enum { STORE_TEXT, STORE_TRUE, STORE_VALUE } what;
    int value;
} stores[] = {
    {'o', offsetof(struct arguments, trace), STORE_TEXT, 0},
    {'q', offsetof(struct arguments, options.quiet), STORE_TRUE, 0},
    {KEY_FORCE, offsetof(struct arguments, options.force), STORE_TRUE, 0},
    {KEY_REDACT, offsetof(struct arguments, options.redact), STORE_TRUE, 0},
    {KEY_MODE, offsetof(struct arguments, mode), STORE_TEXT, 0},
    {KEY_MATCH, offsetof(struct arguments, match), STORE_TEXT, 0},
    {KEY_ALWAYS, offsetof(struct arguments, always), STORE_VALUE, 1},
    {KEY_NOT_ALWAYS, offsetof(struct arguments, always), STORE_VALUE, 0},
    {KEY_ON_MATCH, offsetof(struct arguments, on_match), STORE_TEXT, 0},
    {KEY_SETTINGS, offsetof(struct arguments, settings), STORE_TEXT, 0},
    {KEY_NO_RC, offsetof(struct arguments, no_rc), STORE_TRUE, 0},
    {KEY_DLOPEN, offsetof(struct arguments, dlopen), STORE_TEXT, 0},
    {KEY_OPENMP, offsetof(struct arguments, openmp), STORE_TEXT, 0},
    {KEY_MPI, offsetof(struct arguments, mpi), STORE_TEXT, 0},
    {KEY_HEAP_DEPTH, offsetof(struct arguments, heap_depth), STORE_TEXT, 0},
    {KEY_EVERY, offsetof(struct arguments, every), STORE_TRUE, 0},
    {KEY_LOSSY, offsetof(struct arguments, lossy), STORE_TRUE, 0},
    {KEY_RING_SIZE, offsetof(struct arguments, ring_size), STORE_TEXT, 0},
    {KEY_NO_PTRACE, offsetof(struct arguments, options.no_ptrace), STORE_TRUE, 0},
    {KEY_NO_STACKS, offsetof(struct arguments, options.no_stacks), STORE_TRUE, 0},
    {KEY_LATE, offsetof(struct arguments, options.late), STORE_TRUE, 0},
    {KEY_MPIR, offsetof(struct arguments, mpir), STORE_VALUE, TG_MPIR_INSIST},
    {KEY_NO_MPIR, offsetof(struct arguments, mpir), STORE_VALUE, TG_MPIR_OFF},
    {KEY_MPIR_TRUST, offsetof(struct arguments, options.mpir_trust), STORE_TRUE, 0},
    {KEY_RANKS, offsetof(struct arguments, ranks), STORE_TEXT, 0},
    {KEY_SLURM_STEP, offsetof(struct arguments, slurm_step), STORE_TEXT, 0},
};

static error_t store_option(struct arguments *arguments, int key, char *text)
{
    for (size_t i = 0; i < sizeof stores / sizeof stores[0]; i++) {
        void *member = (char *)arguments + stores[i].member;
        if (stores[i].key != key)
            continue;
        if (stores[i].what == STORE_TEXT)
            *(char **)member = text;
        else if (stores[i].what == STORE_TRUE)
            *(bool *)member = true;
        else
            *(int *)member = stores[i].value;
        return 0;
    }
    return ARGP_ERR_UNKNOWN;
}

static struct tg_error *append_pid(struct tg_record_options *options, const char *text)
{
    char *end;
    errno = 0;
    long pid = strtol(text, &end, 10);
    if (errno != 0 || end == text || *end != '\0' || pid <= 0 || pid > INT_MAX)
        return tg_error_create(TG_ERROR_USAGE, "--pid: invalid process id '%s'", text);
    return TG_ARRAY_APPEND_EXACT(options->pids, options->n_pids, (pid_t)pid);
}

static error_t parse_option(int key, char *argument, struct argp_state *state)
{
    struct arguments *arguments = state->input;
    struct tg_record_options *options = &arguments->options;
    switch (key) {
    case ARGP_KEY_INIT:
        if (arguments->more != NULL)
            state->child_inputs[0] = arguments->more->input;
        return 0;
    case 'p':
        if (arguments->error == NULL)
            arguments->error = append_pid(options, argument);
        return 0;
    case 'b':
        return TG_ARRAY_APPEND_EXACT(options->breaks, options->n_breaks, argument) == NULL ? 0 : ENOMEM;
    case KEY_HEAP:
        arguments->heap = argument != NULL ? argument : "";
        return 0;
    case ARGP_KEY_ARG: /* the command: all the rest is its own */
        options->command = &state->argv[state->next - 1];
        state->next = state->argc;
        return 0;
    default:
        return store_option(arguments, key, argument);
    }
}

static const struct argp argp = {
    .options = argp_options,
    .parser = parse_option,
    .args_doc = "[--] COMMAND [ARGUMENT...]\n-p PID [-p PID...]",
    .doc =
        "Run COMMAND, or attach to processes, and write a trace of what a debugger would see: processes, "
        "threads, signals, libraries, and the cost of each dlopen event. Processes that COMMAND starts are "
        "recorded too."
        "\vThe exit status is that of COMMAND (a signal that killed it is raised again), 2 for bad usage, 3 "
        "if COMMAND could not be run. See tollgate-record(1).",
};

/* ---- settings files */

static void tell_notes(const struct tg_settings *settings, void (*say)(const char *text))
{
    for (size_t i = 0; i < settings->n_notes; i++)
        say(settings->notes[i]);
}

/* The filter of a file that nobody named decides how the job runs: that is said. */
static void tell_filter(const struct arguments *arguments, const struct tg_record_options *options)
{
    const char *where = options->settings.filter_where;
    bool asked = arguments->settings != NULL || arguments->mode != NULL || arguments->match != NULL ||
                 arguments->always >= 0 || arguments->on_match != NULL;
    char *text = NULL;
    bool has_stops = options->launched == TG_LOADER_STOPS || options->attached == TG_LOADER_STOPS ||
                     tg_loader_watch_is_by_filter(options->launched);
    if (asked || where == NULL || options->quiet || !has_stops ||
        asprintf(&text, "the dlopen filter is %s, by %s (--no-rc ignores your settings files)",
                 tg_dlopen_filter_mode_name(options->filter.mode), where) < 0)
        return;
    options->say(text);
    free(text);
}

/* ---- options and settings combined */

static struct tg_error *set_filter(const struct arguments *arguments, const struct tg_settings *settings,
                                   struct tg_dlopen_filter *filter)
{
    bool by_variables = arguments->always >= 0 || arguments->on_match != NULL;
    bool by_mode = arguments->mode != NULL || arguments->match != NULL;
    if (by_variables && by_mode)
        return tg_error_create(TG_ERROR_USAGE,
                               "--mode and --match cannot be combined with the -dlopen_... options: "
                               "use one or the other");
    if (by_mode) {
        const char *mode = arguments->mode != NULL ? arguments->mode : "medium";
        const char *match = arguments->match;
        if (match == NULL && strcmp(mode, "medium") == 0)
            match = settings->match;
        return tg_dlopen_filter_set_mode(filter, mode, match);
    }
    bool always = true;
    if (arguments->always >= 0)
        always = arguments->always;
    else if (settings->has_always_recalculate)
        always = settings->always_recalculate;
    const char *match = arguments->on_match != NULL ? arguments->on_match : settings->match;
    return tg_dlopen_filter_set(filter, always, match != NULL ? match : "");
}

/* Whether anything asks for control over the job, which takes stops. */
static bool asks_for_control(const struct arguments *arguments, const struct tg_settings *settings)
{
    return arguments->more != NULL || arguments->options.n_breaks > 0 || arguments->mode != NULL ||
           arguments->match != NULL || arguments->always >= 0 || arguments->on_match != NULL ||
           settings->has_always_recalculate || settings->match != NULL;
}

/* An option given that needs ptrace, or stops; NULL: none. */
static const char *control_given(const struct arguments *arguments, bool breaks_too)
{
    if (arguments->mode != NULL)
        return "--mode";
    if (arguments->match != NULL)
        return "--match";
    if (arguments->always >= 0 || arguments->on_match != NULL)
        return "a -dlopen_... option";
    return breaks_too && arguments->options.n_breaks > 0 ? "--break" : NULL;
}

static struct tg_error *set_agent_watch(const struct arguments *arguments, struct tg_record_options *options)
{
    if (options->n_pids > 0)
        return tg_error_create(TG_ERROR_USAGE,
                               "%s works only with a command: the agent cannot be loaded into a "
                               "running process",
                               options->no_ptrace ? "--no-ptrace" : "--dlopen=agent");
    const char *given = control_given(arguments, options->no_ptrace);
    if (given != NULL)
        return tg_error_create(TG_ERROR_USAGE, "%s needs stops: remove %s", given,
                               options->no_ptrace ? "--no-ptrace" : "--dlopen=agent");
    options->launched = TG_LOADER_AGENT;
    /* settings files ask for a filter; where nothing stops, nothing can be deferred */
    return tg_dlopen_filter_set(&options->filter, true, "");
}

/* Where HOW was not given. A job under control can come to Medium later; rings that drop records would lose decisions. */
static enum tg_loader_watch filter_watch(const struct arguments *arguments,
                                         const struct tg_record_options *options)
{
    bool has_medium = arguments->more != NULL || options->filter.mode == TG_FILTER_MEDIUM;
    return options->command != NULL && has_medium && !options->no_ptrace && !arguments->lossy
               ? TG_LOADER_BY_MODE
               : TG_LOADER_STOPS;
}

static struct tg_error *set_watch(const struct arguments *arguments, const struct tg_settings *settings,
                                  struct tg_record_options *options)
{
    const char *how = arguments->dlopen;
    bool command = options->command != NULL;
    bool control = asks_for_control(arguments, settings);
    options->dlopen_given = how != NULL;
    if (how == NULL)
        how = command && (options->no_ptrace || !control) ? "agent" : "";
    options->attached =
        options->n_breaks > 0 || arguments->more != NULL ? TG_LOADER_STOPS : TG_LOADER_CATCH_UP;
    if (strcmp(how, "agent") == 0)
        return set_agent_watch(arguments, options);
    if (options->no_ptrace && strcmp(how, "stops") == 0)
        return tg_error_create(TG_ERROR_USAGE, "--dlopen=stops needs ptrace: remove --no-ptrace");
    if (options->no_ptrace) {
        struct tg_error *error = set_agent_watch(arguments, options);
        if (error != NULL)
            return error;
    }
    if (strcmp(how, "none") == 0) {
        if (options->n_breaks > 0)
            return tg_error_create(TG_ERROR_USAGE,
                                   "--break needs to observe libraries: remove --dlopen=none");
        options->launched = options->attached = TG_LOADER_NONE;
    } else if (strcmp(how, "in-process") == 0) {
        if (!command || options->no_ptrace || arguments->lossy)
            return tg_error_create(TG_ERROR_USAGE,
                                   "--dlopen=in-process works only with a command, with ptrace, and "
                                   "without --lossy");
        options->launched = TG_LOADER_IN_PROCESS;
        options->attached = TG_LOADER_STOPS;
    } else if (*how == '\0' || strcmp(how, "stops") == 0) {
        options->launched = *how != '\0' ? TG_LOADER_STOPS : filter_watch(arguments, options);
        if (*how != '\0')
            options->attached = TG_LOADER_STOPS;
    } else {
        return tg_error_create(TG_ERROR_USAGE,
                               "--dlopen: invalid value '%s' (agent, in-process, stops or none)", how);
    }
    return NULL;
}

/* ---- the agent */

static struct tg_error *set_switch(const char *option, const char *value, uint32_t flag, uint32_t *flags)
{
    if (value == NULL || strcmp(value, "on") == 0)
        *flags |= flag;
    else if (strcmp(value, "off") != 0)
        return tg_error_create(TG_ERROR_USAGE, "%s: invalid value '%s' (on or off)", option, value);
    return NULL;
}

static struct tg_error *set_ring_size(const char *text, uint64_t *bytes)
{
    *bytes = 0;
    if (text == NULL)
        return NULL;
    char *end;
    errno = 0;
    unsigned long long number = strtoull(text, &end, 10);
    unsigned shift = *end == 'K' || *end == 'k' ? 10 : *end == 'M' || *end == 'm' ? 20 : 0;
    end += shift > 0;
    if (errno != 0 || text[0] < '0' || text[0] > '9' || *end != '\0' ||
        number > (uint64_t)TG_AGENT_RING_MAX_BYTES >> shift || number << shift < TG_AGENT_RING_MIN_BYTES)
        return tg_error_create(TG_ERROR_USAGE, "--ring-size: invalid size '%s' (64K to 256M)", text);
    for (*bytes = TG_AGENT_RING_MIN_BYTES; *bytes < number << shift;)
        *bytes *= 2;
    return NULL;
}

static struct tg_error *set_agent(const struct arguments *arguments, struct tg_record_options *options)
{
    struct tg_error *error = set_switch("--openmp", arguments->openmp, TG_AGENT_OPENMP, &options->agent);
    if (error == NULL)
        error = set_switch("--mpi", arguments->mpi, TG_AGENT_MPI, &options->agent);
    if (error == NULL)
        error = set_ring_size(arguments->ring_size, &options->ring_bytes);
    if (error == NULL)
        error = tg_heap_option_parse(arguments->heap, arguments->heap_depth, &options->heap);
    if (error != NULL)
        return error;
    if (options->heap.mode != TG_AGENT_HEAP_OFF && options->command == NULL)
        return tg_error_create(
            TG_ERROR_USAGE,
            "--heap works only with a command: the heap library cannot be put into a running process");
    if (options->heap.red_zones != TG_AGENT_RED_ZONES_OFF && options->no_ptrace)
        return tg_error_create(TG_ERROR_USAGE,
                               "--heap: red zones need a tracer, which sees the faults: remove --no-ptrace");
    if (options->heap.mode != TG_AGENT_HEAP_OFF)
        options->agent |= TG_AGENT_HEAP;
    if (options->launched == TG_LOADER_BY_MODE && options->filter.mode != TG_FILTER_MEDIUM &&
        options->agent == 0)
        options->launched = TG_LOADER_STOPS; /* nothing else wants an agent, and as yet this does not */
    if (options->launched == TG_LOADER_AGENT)
        options->agent |= TG_AGENT_DLOPEN | TG_AGENT_LOADS;
    if (tg_loader_watch_is_by_filter(options->launched))
        options->agent |= TG_AGENT_LOADS;
    if (options->command == NULL)
        options->agent = 0;
    if (options->no_ptrace && options->agent == 0)
        return tg_error_create(TG_ERROR_USAGE,
                               "--no-ptrace records with the agent alone, and everything that the agent "
                               "observes is switched off: remove --dlopen, --openmp or --mpi");
    if (arguments->every && (options->agent & TG_AGENT_MPI) == 0)
        return tg_error_create(
            TG_ERROR_USAGE,
            "--every is about calls of MPI that the agent records: it needs a command, and no "
            "--mpi=off");
    if (arguments->every)
        options->agent |= TG_AGENT_EVERY;
    if (arguments->lossy)
        options->agent |= TG_AGENT_LOSSY;
    if (!options->no_ptrace)
        options->agent |= TG_AGENT_HIDE;
    return NULL;
}

/* ---- MPIR */

static bool is_step(const char *text)
{
    size_t job = strspn(text, "0123456789");
    if (job == 0 || text[job] != '.')
        return false;
    size_t step = strspn(text + job + 1, "0123456789");
    return step > 0 && text[job + 1 + step] == '\0';
}

/* Slurm's own starter for a step that runs already. */
static struct tg_error *set_slurm_step(const struct arguments *arguments, struct tg_record_options *options)
{
    if (arguments->slurm_step == NULL)
        return NULL;
    if (!is_step(arguments->slurm_step))
        return tg_error_create(TG_ERROR_USAGE,
                               "--slurm-step: invalid step '%s' (JOB.STEP, for example 1234.0)",
                               arguments->slurm_step);
    if (options->command != NULL || options->n_pids > 0)
        return tg_error_create(TG_ERROR_USAGE, "give --slurm-step, a command or --pid: only one of them");
    static char sattach[] = "sattach";
    options->sattach[0] = sattach;
    options->sattach[1] = arguments->slurm_step;
    options->command = options->sattach;
    return NULL;
}

static struct tg_error *set_mpir(const struct arguments *arguments, struct tg_record_options *options)
{
    const char *given = arguments->slurm_step != NULL     ? "--slurm-step"
                        : arguments->ranks != NULL        ? "--ranks"
                        : options->mpir_trust             ? "--mpir-trust"
                        : options->mpir == TG_MPIR_INSIST ? "--mpir"
                                                          : NULL;
    if (given != NULL && options->no_ptrace)
        return tg_error_create(TG_ERROR_USAGE, "%s needs ptrace: remove --no-ptrace", given);
    if (given != NULL && options->mpir == TG_MPIR_OFF)
        return tg_error_create(TG_ERROR_USAGE, "%s needs MPIR: remove --no-mpir", given);
    if (arguments->ranks == NULL)
        return NULL;
    return tg_error_prefix(tg_wanted_ranks_parse(arguments->ranks, &options->ranks), "--ranks");
}

static struct tg_error *set_trace(const char *given, struct tg_record_options *options)
{
    if (given == NULL)
        return tg_trace_name_choose(options->command != NULL ? options->command[0] : NULL,
                                    options->command != NULL ? 0 : options->pids[0], options->force,
                                    &options->trace);
    options->trace = strdup(given);
    return options->trace != NULL ? NULL : tg_error_no_memory();
}

static struct tg_error *complete(const struct arguments *arguments, struct tg_record_options *options)
{
    struct tg_error *error = set_slurm_step(arguments, options);
    if (error != NULL)
        return error;
    if (arguments->more != NULL && options->no_ptrace)
        return tg_error_create(TG_ERROR_USAGE, "a job cannot be controlled without ptrace: remove "
                                               "--no-ptrace, or use tollgate record");
    if (options->command != NULL && options->n_pids > 0)
        return tg_error_create(TG_ERROR_USAGE, "give a command or --pid, not both");
    if (options->command == NULL && options->n_pids == 0)
        return tg_error_create(TG_ERROR_USAGE,
                               "nothing to %s: give a command (tollgate %s -- "
                               "COMMAND...) or --pid",
                               arguments->more != NULL ? "control" : "record",
                               arguments->more != NULL ? "live" : "record");
    error = tg_settings_files_read(arguments->settings, arguments->no_rc, &options->settings);
    if (error == NULL && !options->quiet)
        tell_notes(&options->settings, options->say);
    if (error == NULL)
        error = set_filter(arguments, &options->settings, &options->filter);
    if (error == NULL)
        error = set_watch(arguments, &options->settings, options);
    if (error == NULL)
        tell_filter(arguments, options);
    if (error == NULL)
        error = set_agent(arguments, options);
    if (error == NULL)
        error = set_mpir(arguments, options);
    return error != NULL ? error : set_trace(arguments->trace, options);
}

struct tg_error *tg_record_options_parse(int argc, char **argv, const struct tg_record_options_more *more,
                                         void (*say)(const char *text), struct tg_record_options *options)
{
    struct arguments arguments = {.options = {.say = say}, .more = more, .always = -1, .mpir = TG_MPIR_AUTO};
    struct argp_child children[2] = {{0}};
    struct argp parser = argp;
    if (more != NULL) {
        children[0].argp = more->argp;
        parser.children = children;
        parser.doc = more->doc;
    }
    struct tg_error *error = tg_dlopen_filter_init(&arguments.options.filter);
    if (error == NULL && tg_command_line_parse(&parser, TG_COMMAND_LINE_PROGRAM, argc, argv, &arguments) != 0)
        error = tg_error_no_memory();
    if (error == NULL)
        error = arguments.error;
    else
        tg_error_destroy(arguments.error);
    arguments.options.mpir = (enum tg_mpir_use)arguments.mpir;
    *options = arguments.options;
    if (error == NULL)
        error = complete(&arguments, options);
    if (error != NULL)
        tg_record_options_deinit(options);
    return error;
}

void tg_record_options_deinit(struct tg_record_options *options)
{
    if (options->filter.list != NULL)
        tg_dlopen_filter_deinit(&options->filter);
    tg_settings_deinit(&options->settings);
    free(options->trace);
    free(options->breaks);
    free(options->pids);
    tg_wanted_ranks_deinit(&options->ranks);
    *options = (struct tg_record_options){0};
}
