/* `tollgate report` */
#include "analyzer/report_command.h"
#include "analyzer/output.h"
#include "analyzer/report.h"
#include "analyzer/symbols_option.h"
#include "format/command.h"
#include "format/printable.h"

#include <argp.h>

enum { KEY_JSON = 'j', KEY_ALL = 'a', KEY_OUTPUT = 'o', KEY_FORCE = 0x200, KEY_SYMBOLS };

struct report_arguments {
    struct tg_selection selection;
    const struct tg_command_services *services;
    const struct tg_command_services *symbols; /* NULL: addresses stay numbers */
    const char *trace;
    const char *output;
    bool json, all, force;
};

static error_t parse_option(int key, char *argument, struct argp_state *state)
{
    struct report_arguments *arguments = state->input;
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &arguments->selection;
        return 0;
    case KEY_JSON:
        arguments->json = true;
        return 0;
    case KEY_ALL:
        arguments->all = true;
        return 0;
    case KEY_OUTPUT:
        arguments->output = argument;
        return 0;
    case KEY_SYMBOLS:
        arguments->symbols = tg_symbols_option_parse(argument, arguments->services, state);
        return 0;
    case KEY_FORCE:
        arguments->force = true;
        return 0;
    case ARGP_KEY_ARG:
        if (arguments->trace != NULL)
            argp_error(state, "one trace at a time");
        arguments->trace = argument;
        return 0;
    case ARGP_KEY_NO_ARGS:
        argp_error(state, "name the TRACE to report on");
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp_option options[] = {
    {"json", KEY_JSON, NULL, 0, "Write JSON with the field names that tollgate-report(1) documents", 0},
    {"all", KEY_ALL, NULL, 0, "Show every process on a line of its own, and every library", 0},
    TG_SYMBOLS_OPTION(KEY_SYMBOLS),
    {"output", KEY_OUTPUT, "FILE", 0, "Write to FILE instead of standard output", 0},
    {"force", KEY_FORCE, NULL, 0, "Replace FILE where it exists", 0},
    {0},
};

static const struct argp_child children[] = {{&tg_selection_argp, 0, "What to report on:", 1}, {0}};

static const struct argp argp = {
    .options = options,
    .parser = parse_option,
    .args_doc = "TRACE",
    .doc = "Say what happened in a recorded job: processes and ranks as a tree with their ends and the last "
           "thing that each did, libraries by time and by cost, breakpoints, losses.",
    .children = children,
};

static struct tg_error *write_report(const struct tg_report *report, const struct report_arguments *arguments,
                                     struct tg_output *output)
{
    if (arguments->json)
        return tg_report_write_json(report, tg_output_stream(output));
    const struct tg_report_text_options text = {.all = arguments->all, .colour = tg_output_colour(output)};
    return tg_report_write_text(report, &text, tg_output_stream(output));
}

static struct tg_error *run_report(struct report_arguments *arguments)
{
    struct tg_output *output = NULL;
    struct tg_report *report = NULL;
    struct tg_error *error = tg_output_refuse_input(arguments->output, arguments->trace);
    if (error == NULL)
        error = tg_output_open(arguments->output, arguments->force, &output);
    if (error == NULL)
        error = tg_report_read(arguments->trace, &arguments->selection, arguments->symbols, &report);
    if (error == NULL)
        error = write_report(report, arguments, output);
    if (error == NULL)
        error = tg_output_commit(output);
    if (error == NULL && report->damage != NULL) {
        error = report->damage;
        report->damage = NULL;
    }
    tg_report_destroy(report);
    tg_output_destroy(output);
    return error;
}

static int run(int argc, char **argv, const struct tg_command_services *services)
{
    struct report_arguments arguments = {.services = services, .symbols = services};
    argp_err_exit_status = 2;
    TG_AUTO_ERROR struct tg_error *error = NULL;
    if (argp_parse(&argp, argc, argv, ARGP_IN_ORDER, NULL, &arguments) != 0) {
        error = arguments.selection.error != NULL ? arguments.selection.error : tg_error_no_memory();
        arguments.selection.error = NULL;
    } else {
        error = run_report(&arguments);
    }
    tg_selection_deinit(&arguments.selection);
    if (error != NULL)
        tg_printable_error(error);
    return tg_error_exit_status(error);
}

const struct tg_command tg_report_command = {
    .name = "report",
    .summary = "what happened: processes, ranks, libraries, last known places, losses",
    .run = run,
};
