/* `tollgate replay` */
#include "live/replay_command.h"

#include "analyzer/symbols_option.h"
#include "format/printable.h"
#include "live/console.h"
#include "live/json_console.h"
#include "live/line_editor.h"
#include "live/trace_source.h"

#include <argp.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { KEY_SCRIPT = 'x', KEY_COMMAND = 'e', KEY_INTERACTIVE = 'i', KEY_SYMBOLS = 0x100, KEY_JSON };

enum { MAX_RUNS = 1024 };

/* What -x or -e asks to be run. */
struct run {
    bool is_file;
    const char *text;
};

struct replay_arguments {
    const char *trace;
    struct run *runs;
    size_t n_runs;
    bool interactive;
    bool as_json;
    const struct tg_command_services *services;
    const struct tg_command_services *symbols; /* NULL: addresses stay numbers */
};

static error_t add_run(struct replay_arguments *arguments, bool is_file, const char *text,
                       struct argp_state *state)
{
    if (arguments->n_runs == MAX_RUNS)
        argp_error(state, "more than %d -x and -e", MAX_RUNS);
    struct run *runs = reallocarray(arguments->runs, arguments->n_runs + 1, sizeof *runs);
    if (runs == NULL)
        return ENOMEM;
    arguments->runs = runs;
    arguments->runs[arguments->n_runs++] = (struct run){is_file, text};
    return 0;
}

static error_t parse_option(int key, char *argument, struct argp_state *state)
{
    struct replay_arguments *arguments = state->input;
    switch (key) {
    case KEY_SCRIPT:
    case KEY_COMMAND:
        return add_run(arguments, key == KEY_SCRIPT, argument, state);
    case KEY_INTERACTIVE:
        arguments->interactive = true;
        return 0;
    case KEY_JSON:
        arguments->as_json = true;
        return 0;
    case KEY_SYMBOLS:
        arguments->symbols = tg_symbols_option_parse(argument, arguments->services, state);
        return 0;
    case ARGP_KEY_ARG:
        if (arguments->trace != NULL)
            argp_error(state, "one trace at a time");
        arguments->trace = argument;
        return 0;
    case ARGP_KEY_NO_ARGS:
        argp_error(state, "name the TRACE to replay");
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp_option options[] = {
    {"script", KEY_SCRIPT, "FILE", 0, "Run the commands in FILE, then end", 0},
    {"execute", KEY_COMMAND, "COMMAND", 0, "Run COMMAND, then end; -x and -e are run in their order", 0},
    {"interactive", KEY_INTERACTIVE, NULL, 0, "Read commands from standard input after -x and -e", 0},
    {"json", KEY_JSON, NULL, 0, "Speak one JSON object per line, for an editor or a program", 0},
    TG_SYMBOLS_OPTION(KEY_SYMBOLS),
    {0},
};

static const struct argp argp = {
    .options = options,
    .parser = parse_option,
    .args_doc = "TRACE",
    .doc = "Ask a recorded job, at any moment of its trace, what a live console would be asked: who is in "
           "which OpenMP zone and MPI call, who waits and who is missing. Commands are Tcl and come from "
           "-x, -e or standard input; `help` lists them.",
};

static bool run_file(struct tg_console *console, const char *path)
{
    FILE *file = fopen(path, "re");
    if (file == NULL) {
        int errno_value = errno;
        char name[256];
        fprintf(stderr, "tollgate: cannot open %s: %s\n", tg_printable(path, name, sizeof name),
                strerror(errno_value));
        return false;
    }
    bool well = tg_console_read(console, file, TG_PRINT_OWN, path, true);
    fclose(file);
    return well;
}

static struct tg_error *run_all(struct tg_console *console, const struct replay_arguments *arguments,
                                bool *all_well)
{
    bool well = true;
    int status;
    for (size_t i = 0; well && i < arguments->n_runs && !tg_console_has_quit(console, &status); i++) {
        const struct tg_console_place place = {.name = "-e", .line = 1};
        well = arguments->runs[i].is_file
                   ? run_file(console, arguments->runs[i].text)
                   : tg_console_eval(console, arguments->runs[i].text, TG_PRINT_ALL, &place);
    }
    *all_well = well;
    if (!well || (arguments->n_runs > 0 && !arguments->interactive) || tg_console_has_quit(console, &status))
        return NULL;
    if (isatty(STDIN_FILENO) && isatty(STDOUT_FILENO)) {
        puts("`help` lists the commands, `goto end` goes to the last moment.");
        return tg_line_editor_run(console);
    }
    *all_well = tg_console_read(console, stdin, TG_PRINT_ALL, NULL, false);
    return NULL;
}

/* For a program; what it is told of the damage of a trace is news. */
static struct tg_error *run_json(struct tg_json_console *json, struct tg_console *console,
                                 const struct replay_arguments *arguments, bool *all_well)
{
    int status;
    bool well = true;
    struct tg_error *error = tg_json_console_begin(json, console, "replay", arguments->trace, TG_VERSION);
    for (size_t i = 0; error == NULL && well && i < arguments->n_runs; i++) {
        if (tg_console_has_quit(console, &status))
            break;
        const struct run *run = &arguments->runs[i];
        well = run->is_file ? tg_json_console_file(json, run->text)
                            : tg_json_console_eval(json, "-e", run->text);
    }
    if (error == NULL && well && (arguments->n_runs == 0 || arguments->interactive))
        well = tg_json_console_read(json);
    *all_well = well;
    return error;
}

static struct tg_error *run_console(const struct replay_arguments *arguments, int *status)
{
    struct tg_source *source = NULL;
    struct tg_console *console = NULL;
    struct tg_json_console *json = NULL;
    struct tg_console_options console_options = {
        .out = stdout, .errors = stderr, .services = arguments->symbols};
    struct tg_error *error = tg_trace_source_create(arguments->trace, NULL, &source);
    if (error == NULL && arguments->as_json)
        error = tg_json_console_create(&json);
    if (json != NULL)
        tg_json_console_options(json, &console_options);
    if (error == NULL)
        error = tg_console_create(source, &console_options, &console);
    bool all_well = true;
    if (error == NULL)
        error = json != NULL ? run_json(json, console, arguments, &all_well)
                             : run_all(console, arguments, &all_well);
    if (error == NULL) {
        *status = all_well ? 0 : 1;
        tg_console_has_quit(console, status);
        if (source->damage != NULL) {
            tg_printable_error(source->damage);
            *status = *status == 0 ? 2 : *status;
        }
        if (json != NULL)
            tg_json_console_end(json, *status);
    }
    tg_json_console_destroy(json);
    tg_console_destroy(console);
    tg_source_destroy(source);
    return error;
}

static int run(int argc, char **argv, const struct tg_command_services *services)
{
    struct replay_arguments arguments = {.services = services, .symbols = services};
    int status = 0;
    argp_err_exit_status = 2;
    TG_AUTO_ERROR struct tg_error *error = NULL;
    if (argp_parse(&argp, argc, argv, ARGP_IN_ORDER, NULL, &arguments) != 0)
        error = tg_error_no_memory();
    else
        error = run_console(&arguments, &status);
    free(arguments.runs);
    if (error != NULL) {
        tg_printable_error(error);
        return tg_error_exit_status(error);
    }
    return status;
}

const struct tg_command tg_replay_command = {
    .name = "replay",
    .summary = "the console on a recorded trace: forward, back, goto; who is where, who is missing",
    .run = run,
};
