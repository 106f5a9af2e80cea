#include "recorder/record_options.h"

#include "format/printable.h"
#include "format/settings.h"

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
     "How libraries are observed: stops (default for a command) at the loader's own, or none; without it an "
     "attached process is only looked at when it stops anyway",
     3},
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

static struct tg_error *set_watch(const struct arguments *arguments, struct tg_record_options *options)
{
    if (arguments->dlopen == NULL) {
        options->launched = TG_LOADER_STOPS;
        options->attached = options->n_breaks > 0 ? TG_LOADER_STOPS : TG_LOADER_CATCH_UP;
    } else if (strcmp(arguments->dlopen, "stops") == 0) {
        options->launched = options->attached = TG_LOADER_STOPS;
    } else if (strcmp(arguments->dlopen, "none") == 0) {
        if (options->n_breaks > 0)
            return tg_error_create(TG_ERROR_USAGE,
                                   "--break needs to see libraries come: leave out --dlopen=none");
        options->launched = options->attached = TG_LOADER_NONE;
    } else {
        return tg_error_create(TG_ERROR_USAGE, "--dlopen takes stops or none, not \"%s\"", arguments->dlopen);
    }
    return NULL;
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
    if (options->command != NULL && options->n_pids > 0)
        return tg_error_create(TG_ERROR_USAGE, "give a command or --pid, not both");
    if (options->command == NULL && options->n_pids == 0)
        return tg_error_create(TG_ERROR_USAGE,
                               "there is nothing to record: give a command (tollgate record -- "
                               "COMMAND...) or --pid");
    struct tg_settings settings = {0};
    struct tg_error *error = read_settings(arguments->settings, &settings);
    if (error == NULL && !options->quiet)
        tell_notes(&settings);
    if (error == NULL)
        error = set_filter(arguments, &settings, &options->filter);
    tg_settings_deinit(&settings);
    if (error == NULL)
        error = set_watch(arguments, options);
    return error != NULL ? error : set_trace(arguments->trace, options);
}

struct tg_error *tg_record_options_parse(int argc, char **argv, struct tg_record_options *options)
{
    struct arguments arguments = {.options = options, .always = -1};
    *options = (struct tg_record_options){0};
    struct tg_error *error = tg_dlopen_filter_init(&options->filter);
    if (error != NULL)
        return error;
    argp_err_exit_status = 2;
    /* ARGP_LONG_ONLY: one dash will do for long options */
    if (argp_parse(&argp, argc, argv, ARGP_IN_ORDER | ARGP_LONG_ONLY, NULL, &arguments) != 0)
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
    *options = (struct tg_record_options){0};
}
