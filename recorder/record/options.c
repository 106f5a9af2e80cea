#include "recorder/record/options.h"

#include "format/base/printable.h"
#include "format/settings/command_line.h"
#include "format/settings/settings.h"
#include "recorder/agent/contract.h"

#include <argp.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    KEY_FORCE = 0x200,
    KEY_MODE,
    KEY_MATCH,
    KEY_ALWAYS,
    KEY_NOT_ALWAYS,
    KEY_ON_MATCH,
    KEY_SETTINGS,
    KEY_DLOPEN,
    KEY_OPENMP,
    KEY_MPI,
    KEY_LOSSY,
    KEY_RING_SIZE,
    KEY_NO_PTRACE,
    KEY_MPIR,
    KEY_NO_MPIR,
    KEY_MPIR_TRUST,
    KEY_RANKS,
    KEY_SLURM_STEP,
};

enum { MAX_NOTES_SHOWN = 3, MAX_PROGRAM_NAME = 64 };

/* What the command line says, before settings files are taken into account. */
struct arguments {
    struct tg_record_options *options;
    const char *trace;
    const char *mode;
    const char *match;
    const char *settings;
    const char *dlopen;
    const char *on_match;
    const char *openmp;
    const char *mpi;
    const char *ring_size;
    const char *ranks;
    char *slurm_step;
    bool lossy;
    const struct tg_record_options_more *more;
    int always; /* -1: not said */
    struct tg_error *error;
};

static const struct argp_option argp_options[] = {
    {"output", 'o', "TRACE", 0, "Write to TRACE (default: tollgate-PROGRAM-PID.tgt in the current directory)",
     1},
    {"force", KEY_FORCE, NULL, 0, "Replace TRACE where it exists", 1},
    {"quiet", 'q', NULL, 0, "Say nothing but errors", 1},
    {"pid", 'p', "PID", 0, "Attach to PID with all its threads instead of running a command; may be repeated",
     1},
    {"break", 'b', "SPEC", 0,
     "Record hits of a breakpoint: FUNCTION, FILE:LINE or *ADDRESS, behind LIBRARY` to name the library; "
     "pending ones are planted when their library is handled; may be repeated",
     1},
    {"mode", KEY_MODE, "MODE", 0, "Run the job under this dlopen filter mode: slow (default), medium or fast",
     2},
    {"match", KEY_MATCH, "GLOBLIST", 0, "The glob-list of medium mode; alone it means --mode=medium", 2},
    {"dlopen_always_recalculate", KEY_ALWAYS, NULL, 0, "The same settings by the debugger's names: slow mode",
     2},
    {"no_dlopen_always_recalculate", KEY_NOT_ALWAYS, NULL, 0, "Medium mode, or fast with an empty glob-list",
     2},
    {"dlopen_recalculate_on_match", KEY_ON_MATCH, "GLOBLIST", 0, "The glob-list", 2},
    {"settings", KEY_SETTINGS, "FILE", 0,
     "Read `dset TV::dlopen_...` lines from FILE instead of $HOME/.tollgaterc and ./.tollgaterc", 2},
    {"dlopen", KEY_DLOPEN, "HOW", 0,
     "How libraries are observed: agent (default for a command) from inside, stops (default with --break or "
     "a "
     "dlopen filter) at the loader's own, or none; an attached process is only looked at when it stops "
     "anyway, "
     "unless stops are asked for",
     3},
    {"openmp", KEY_OPENMP, "on|off", 0, "Observe OpenMP (default: on)", 3},
    {"mpi", KEY_MPI, "on|off", 0, "Observe MPI calls (default: on)", 3},
    {"lossy", KEY_LOSSY, NULL, 0,
     "Drop and count what the agent sees while the recorder cannot keep up, instead of making the job wait",
     3},
    {"no-ptrace", KEY_NO_PTRACE, NULL, 0, "Use the agent alone, where ptrace is forbidden", 3},
    {"ring-size", KEY_RING_SIZE, "BYTES", 0,
     "Memory in which the agent keeps what a thread does until the recorder takes it, with K or M behind it "
     "(default: 1M, less where the memory file system is small; 64K to 256M, rounded up to a power of two)",
     3},
    {"mpir", KEY_MPIR, NULL, 0,
     "Acquire the ranks of MPI jobs by MPIR, and say so where there is no starter; with --pid also plant "
     "what "
     "later steps of the job take (default: by MPIR wherever a starter is met)",
     4},
    {"no-mpir", KEY_NO_MPIR, NULL, 0, "Leave MPIR alone", 4},
    {"ranks", KEY_RANKS, "LIST", 0, "Record only these ranks of the jobs that MPIR shows, as in 0,2-5", 4},
    {"mpir-trust", KEY_MPIR_TRUST, NULL, 0,
     "Take processes that a starter's table names also where they belong to another user, or run something "
     "else than the table says",
     4},
    {"slurm-step", KEY_SLURM_STEP, "JOB.STEP", 0, "Attach to the ranks of this running Slurm job step", 4},
    {0},
};

/* ---- growing lists */

static bool append_break(struct tg_record_options *options, char *text)
{
    char **grown = reallocarray(options->breaks, options->n_breaks + 1, sizeof *grown);
    if (grown == NULL)
        return false;
    options->breaks = grown;
    options->breaks[options->n_breaks++] = text;
    return true;
}

static struct tg_error *append_pid(struct tg_record_options *options, const char *text)
{
    char *end;
    errno = 0;
    long pid = strtol(text, &end, 10);
    if (errno != 0 || end == text || *end != '\0' || pid <= 0 || pid > INT_MAX)
        return tg_error_create(TG_ERROR_USAGE, "--pid takes a process id, not \"%s\"", text);
    pid_t *grown = reallocarray(options->pids, options->n_pids + 1, sizeof *grown);
    if (grown == NULL)
        return tg_error_no_memory();
    options->pids = grown;
    options->pids[options->n_pids++] = (pid_t)pid;
    return NULL;
}

/* ---- command line */

static error_t parse_option(int key, char *argument, struct argp_state *state)
{
    struct arguments *arguments = state->input;
    struct tg_record_options *options = arguments->options;
    switch (key) {
    case ARGP_KEY_INIT:
        if (arguments->more != NULL)
            state->child_inputs[0] = arguments->more->input;
        return 0;
    case 'o':
        arguments->trace = argument;
        return 0;
    case KEY_FORCE:
        options->force = true;
        return 0;
    case 'q':
        options->quiet = true;
        return 0;
    case 'p':
        if (arguments->error == NULL)
            arguments->error = append_pid(options, argument);
        return 0;
    case 'b':
        return append_break(options, argument) ? 0 : ENOMEM;
    case KEY_MODE:
        arguments->mode = argument;
        return 0;
    case KEY_MATCH:
        arguments->match = argument;
        return 0;
    case KEY_ALWAYS:
    case KEY_NOT_ALWAYS:
        arguments->always = key == KEY_ALWAYS;
        return 0;
    case KEY_ON_MATCH:
        arguments->on_match = argument;
        return 0;
    case KEY_SETTINGS:
        arguments->settings = argument;
        return 0;
    case KEY_DLOPEN:
        arguments->dlopen = argument;
        return 0;
    case KEY_OPENMP:
        arguments->openmp = argument;
        return 0;
    case KEY_MPI:
        arguments->mpi = argument;
        return 0;
    case KEY_LOSSY:
        arguments->lossy = true;
        return 0;
    case KEY_RING_SIZE:
        arguments->ring_size = argument;
        return 0;
    case KEY_NO_PTRACE:
        options->no_ptrace = true;
        return 0;
    case KEY_MPIR:
    case KEY_NO_MPIR:
        options->mpir = key == KEY_MPIR ? TG_MPIR_INSIST : TG_MPIR_OFF;
        return 0;
    case KEY_MPIR_TRUST:
        options->mpir_trust = true;
        return 0;
    case KEY_RANKS:
        arguments->ranks = argument;
        return 0;
    case KEY_SLURM_STEP:
        arguments->slurm_step = argument;
        return 0;
    case ARGP_KEY_ARG: /* the command: all the rest is its own */
        options->command = &state->argv[state->next - 1];
        state->next = state->argc;
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp argp = {
    .options = argp_options,
    .parser = parse_option,
    .args_doc = "[--] COMMAND [ARGUMENT...]\n-p PID [-p PID...]",
    .doc =
        "Run COMMAND, or attach to processes, and write a trace of what a debugger would see: processes, "
        "threads, signals, libraries, and what each dlopen event costs. What COMMAND starts is recorded too."
        "\vThe exit status is that of COMMAND (a signal that ended it is raised again), 2 for bad usage, 3 "
        "where COMMAND could not be run. tollgate-record(1) tells more.",
};

/* ---- settings files */

static void tell_notes(const struct tg_settings *settings)
{
    char line[200];
    for (size_t i = 0; i < settings->n_notes && i < MAX_NOTES_SHOWN; i++)
        fprintf(stderr, "tollgate: %s\n", tg_printable(settings->notes[i], line, sizeof line));
    if (settings->n_notes > MAX_NOTES_SHOWN)
        fprintf(stderr, "tollgate: ... and %zu more lines skipped\n", settings->n_notes - MAX_NOTES_SHOWN);
}

/* A file that need not be there. */
static struct tg_error *read_if_present(const char *path, struct tg_settings *settings)
{
    struct tg_error *error = tg_settings_read(path, settings);
    if (error != NULL && tg_error_code(error) == TG_ERROR_NOT_FOUND) {
        tg_error_destroy(error);
        return NULL;
    }
    return error;
}

static struct tg_error *read_settings(const char *named, struct tg_settings *settings)
{
    static const char here[] = ".tollgaterc";
    if (named != NULL)
        return tg_settings_read(named, settings);
    const char *home = getenv("HOME");
    struct stat at_home;
    struct stat in_place;
    char path[PATH_MAX];
    if (home != NULL && home[0] != '\0' &&
        (size_t)snprintf(path, sizeof path, "%s/%s", home, here) < sizeof path && stat(path, &at_home) == 0) {
        struct tg_error *error = read_if_present(path, settings);
        bool same = stat(here, &in_place) == 0 && in_place.st_dev == at_home.st_dev &&
                    in_place.st_ino == at_home.st_ino;
        if (error != NULL || same)
            return error;
    }
    return read_if_present(here, settings);
}

/* ---- what follows from both */

static struct tg_error *set_filter(const struct arguments *arguments, const struct tg_settings *settings,
                                   struct tg_dlopen_filter *filter)
{
    bool by_variables = arguments->always >= 0 || arguments->on_match != NULL;
    bool by_mode = arguments->mode != NULL || arguments->match != NULL;
    if (by_variables && by_mode)
        return tg_error_create(TG_ERROR_USAGE,
                               "--mode and --match say the same as the -dlopen_... options: give "
                               "one kind of them");
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
    return arguments->more != NULL || arguments->options->n_breaks > 0 || arguments->mode != NULL ||
           arguments->match != NULL || arguments->always >= 0 || arguments->on_match != NULL ||
           settings->has_always_recalculate || settings->match != NULL;
}

/* What takes ptrace, or stops, and is asked for; NULL nothing. */
static const char *control_given(const struct arguments *arguments, bool breaks_too)
{
    if (arguments->mode != NULL)
        return "--mode";
    if (arguments->match != NULL)
        return "--match";
    if (arguments->always >= 0 || arguments->on_match != NULL)
        return "a -dlopen_... option";
    return breaks_too && arguments->options->n_breaks > 0 ? "--break" : NULL;
}

static struct tg_error *set_agent_watch(const struct arguments *arguments, struct tg_record_options *options)
{
    if (options->n_pids > 0)
        return tg_error_create(TG_ERROR_USAGE,
                               "%s is for commands: nothing can be loaded into a process that "
                               "runs already",
                               options->no_ptrace ? "--no-ptrace" : "--dlopen=agent");
    const char *given = control_given(arguments, options->no_ptrace);
    if (given != NULL)
        return tg_error_create(TG_ERROR_USAGE, "%s takes stops: leave out %s", given,
                               options->no_ptrace ? "--no-ptrace" : "--dlopen=agent");
    options->launched = TG_LOADER_AGENT;
    /* settings files ask for a filter; where nothing stops, nothing can be deferred */
    return tg_dlopen_filter_set(&options->filter, true, "");
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
        return tg_error_create(TG_ERROR_USAGE, "--dlopen=stops takes ptrace: leave out --no-ptrace");
    if (options->no_ptrace) {
        struct tg_error *error = set_agent_watch(arguments, options);
        if (error != NULL)
            return error;
    }
    if (strcmp(how, "none") == 0) {
        if (options->n_breaks > 0)
            return tg_error_create(TG_ERROR_USAGE,
                                   "--break needs to see libraries come: leave out --dlopen=none");
        options->launched = options->attached = TG_LOADER_NONE;
    } else if (*how == '\0' || strcmp(how, "stops") == 0) {
        options->launched = TG_LOADER_STOPS;
        if (*how != '\0')
            options->attached = TG_LOADER_STOPS;
    } else {
        return tg_error_create(TG_ERROR_USAGE, "--dlopen takes agent, stops or none, not \"%s\"", how);
    }
    return NULL;
}

/* ---- the agent */

static struct tg_error *set_switch(const char *option, const char *value, uint32_t flag, uint32_t *flags)
{
    if (value == NULL || strcmp(value, "on") == 0)
        *flags |= flag;
    else if (strcmp(value, "off") != 0)
        return tg_error_create(TG_ERROR_USAGE, "%s takes on or off, not \"%s\"", option, value);
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
        return tg_error_create(TG_ERROR_USAGE, "--ring-size takes 64K to 256M, not \"%s\"", text);
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
    if (error != NULL)
        return error;
    if (options->launched == TG_LOADER_AGENT)
        options->agent |= TG_AGENT_DLOPEN;
    if (options->command == NULL)
        options->agent = 0;
    if (options->no_ptrace && options->agent == 0)
        return tg_error_create(TG_ERROR_USAGE,
                               "--no-ptrace leaves the agent alone to record, and it is to "
                               "observe nothing: leave out one of --dlopen, --openmp and --mpi");
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
        return tg_error_create(TG_ERROR_USAGE, "--slurm-step takes JOB.STEP, as in 1234.0, not \"%s\"",
                               arguments->slurm_step);
    if (options->command != NULL || options->n_pids > 0)
        return tg_error_create(TG_ERROR_USAGE, "give --slurm-step, a command, or --pid: one of them");
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
        return tg_error_create(TG_ERROR_USAGE, "%s takes ptrace: leave out --no-ptrace", given);
    if (given != NULL && options->mpir == TG_MPIR_OFF)
        return tg_error_create(TG_ERROR_USAGE, "%s is about MPIR: leave out --no-mpir", given);
    if (arguments->ranks == NULL)
        return NULL;
    struct tg_error *error = tg_rank_list_parse(arguments->ranks, &options->ranks);
    if (error == NULL)
        return NULL;
    struct tg_error *usage = tg_error_create(TG_ERROR_USAGE, "--ranks: %s", tg_error_message(error));
    tg_error_destroy(error);
    return usage;
}

/* The last component of PATH, with what is unwieldy in a file name replaced. */
static void file_name_of(const char *path, char name[MAX_PROGRAM_NAME])
{
    const char *slash = strrchr(path, '/');
    const char *last = slash != NULL && slash[1] != '\0' ? slash + 1 : path;
    size_t length = strnlen(last, MAX_PROGRAM_NAME - 1);
    memcpy(name, last, length);
    name[length] = '\0';
    for (char *c = name; *c != '\0'; c++) {
        bool plain = (*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z') || (*c >= '0' && *c <= '9') ||
                     strchr("._+-", *c) != NULL;
        if (!plain)
            *c = '_';
    }
}

static struct tg_error *set_trace(const char *given, struct tg_record_options *options)
{
    if (given != NULL) {
        options->trace = strdup(given);
        return options->trace != NULL ? NULL : tg_error_no_memory();
    }
    char name[MAX_PROGRAM_NAME];
    char path[PATH_MAX] = "process";
    if (options->command == NULL) {
        char link[32];
        snprintf(link, sizeof link, "/proc/%d/exe", (int)options->pids[0]);
        ssize_t length = readlink(link, path, sizeof path - 1);
        if (length > 0)
            path[length] = '\0';
    }
    file_name_of(options->command != NULL ? options->command[0] : path, name);
    pid_t pid = options->command != NULL ? getpid() : options->pids[0];
    if (asprintf(&options->trace, "tollgate-%s-%d.tgt", name, (int)pid) < 0) {
        options->trace = NULL;
        return tg_error_no_memory();
    }
    return NULL;
}

static struct tg_error *complete(const struct arguments *arguments, struct tg_record_options *options)
{
    struct tg_error *error = set_slurm_step(arguments, options);
    if (error != NULL)
        return error;
    if (arguments->more != NULL && options->no_ptrace)
        return tg_error_create(TG_ERROR_USAGE, "nothing can be controlled without ptrace: leave out "
                                               "--no-ptrace, or use tollgate record");
    if (options->command != NULL && options->n_pids > 0)
        return tg_error_create(TG_ERROR_USAGE, "give a command or --pid, not both");
    if (options->command == NULL && options->n_pids == 0)
        return tg_error_create(TG_ERROR_USAGE,
                               "there is nothing to %s: give a command (tollgate %s -- "
                               "COMMAND...) or --pid",
                               arguments->more != NULL ? "control" : "record",
                               arguments->more != NULL ? "live" : "record");
    struct tg_settings settings = {0};
    error = read_settings(arguments->settings, &settings);
    if (error == NULL && !options->quiet)
        tell_notes(&settings);
    if (error == NULL)
        error = set_filter(arguments, &settings, &options->filter);
    if (error == NULL)
        error = set_watch(arguments, &settings, options);
    tg_settings_deinit(&settings);
    if (error == NULL)
        error = set_agent(arguments, options);
    if (error == NULL)
        error = set_mpir(arguments, options);
    return error != NULL ? error : set_trace(arguments->trace, options);
}

struct tg_error *tg_record_options_parse(int argc, char **argv, const struct tg_record_options_more *more,
                                         struct tg_record_options *options)
{
    struct arguments arguments = {.options = options, .more = more, .always = -1};
    struct argp_child children[2] = {{0}};
    struct argp parser = argp;
    if (more != NULL) {
        children[0].argp = more->argp;
        parser.children = children;
        parser.doc = more->doc;
    }
    *options = (struct tg_record_options){0};
    struct tg_error *error = tg_dlopen_filter_init(&options->filter);
    if (error != NULL)
        return error;
    if (tg_command_line_parse(&parser, TG_COMMAND_LINE_PROGRAM, argc, argv, &arguments) != 0)
        error = tg_error_no_memory();
    if (error == NULL)
        error = arguments.error;
    else
        tg_error_destroy(arguments.error);
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
    free(options->trace);
    free(options->breaks);
    free(options->pids);
    tg_rank_list_deinit(&options->ranks);
    *options = (struct tg_record_options){0};
}
