/* `tollgate replay` */
#include "live/commands/replay_command.h"

#include "analyzer/output/trace_arguments.h"
#include "format/base/printable.h"
#include "live/commands/table.h"
#include "live/console/console.h"
#include "live/console/json_console.h"
#include "live/console/script.h"
#include "live/source/trace_source.h"

#include <argp.h>

struct replay_arguments {
    struct tg_trace_arguments trace;
    struct tg_console_script script;
    int status;
};

static error_t parse_option(int key, char *argument, struct argp_state *state)
{
    (void)argument;
    struct replay_arguments *arguments = state->input;
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &arguments->trace;
        state->child_inputs[1] = &arguments->script;
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp_child children[] = {
    {.argp = &tg_trace_argp}, {.argp = &tg_console_script_argp}, {0}};

static const struct argp argp = {
    .children = children,
    .parser = parse_option,
    .args_doc = "[TRACE]",
    .doc =
        "Inspect a recorded job at any moment of its trace: the OpenMP zone and MPI call of each thread, who "
        "is waiting and who is missing. Commands are Tcl and come from "
        "-x, -e or standard input; `help` lists them.",
};

static struct tg_error *run_console(void *context)
{
    struct replay_arguments *arguments = context;
    int *status = &arguments->status;
    struct tg_source *source = NULL;
    struct tg_console *console = NULL;
    struct tg_json_console *json = NULL;
    struct tg_console_options console_options = {
        .out = stdout, .errors = stderr, .table = &tg_command_table, .services = arguments->trace.symbols};
    struct tg_error *error = tg_trace_source_create(arguments->trace.path, NULL, &source);
    if (error == NULL && source->is_recording) {
        fputs("tollgate: ", stderr);
        tg_printable_write(stderr, arguments->trace.path);
        fputs(": still recording: later events are not shown\n", stderr);
    }
    if (error == NULL && arguments->script.as_json)
        error = tg_json_console_create(&json);
    if (json != NULL)
        tg_json_console_options(json, &console_options);
    if (error == NULL)
        error = tg_console_create(source, &console_options, &console);
    bool all_well = true;
    const struct tg_console_start start = {
        .mode = "replay",
        .name = arguments->trace.path,
        .greeting = "Type `help` for the commands, `goto end` for the last moment, `quit` to end."};
    if (error == NULL)
        error = tg_console_script_run(&arguments->script, console, json, &start, &all_well);
    if (error == NULL) {
        *status = all_well ? 0 : 1;
        tg_console_has_quit(console, status);
        if (source->damage != NULL) {
            tg_printable_error(source->damage);
            *status = *status == 0 ? 2 : *status;
        }
        error = json != NULL ? tg_json_console_end(json, *status) : tg_console_written(console);
    }
    tg_json_console_destroy(json);
    tg_console_destroy(console);
    tg_source_destroy(source);
    return error;
}

static int run(int argc, char **argv, const struct tg_command_services *services)
{
    struct replay_arguments arguments = {.trace = {.services = services, .command = "replay"}};
    int status = tg_trace_arguments_run(&argp, argc, argv, &arguments.trace, &arguments, run_console);
    tg_console_script_deinit(&arguments.script);
    return status != 0 ? status : arguments.status;
}

const struct tg_command tg_replay_command = {
    .name = "replay",
    .summary = "inspect a recorded job at any moment: who is where, who is missing",
    .run = run,
};
