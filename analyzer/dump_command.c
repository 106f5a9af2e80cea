/* `tollgate dump` */
#include "analyzer/dump_command.h"
#include "analyzer/dump.h"
#include "analyzer/output.h"
#include "analyzer/symbols_option.h"
#include "format/printable.h"

#include <argp.h>
#include <errno.h>

enum {
    KEY_JSON = 'j',
    KEY_KIND = 'k',
    KEY_OUTPUT = 'o',
    KEY_CHROME = 0x200,
    KEY_META,
    KEY_FORCE,
    KEY_SYMBOLS
};

struct dump_arguments {
    struct tg_selection selection;
    struct tg_dump_request request;
    const struct tg_command_services *services;
    const char *output;
    bool force;
};

static void choose_format(struct dump_arguments *arguments, const struct tg_dump_format *format,
                          struct argp_state *state)
{
    if (arguments->request.format != NULL && arguments->request.format != format)
        argp_error(state, "--json and --chrome exclude each other");
    arguments->request.format = format;
}

static error_t parse_option(int key, char *argument, struct argp_state *state)
{
    struct dump_arguments *arguments = state->input;
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &arguments->selection;
        return 0;
    case KEY_JSON:
        choose_format(arguments, &tg_dump_json, state);
        return 0;
    case KEY_CHROME:
        choose_format(arguments, &tg_dump_chrome, state);
        return 0;
    case KEY_META:
        arguments->request.with_meta = true;
        return 0;
    case KEY_KIND:
        tg_error_destroy(arguments->selection.error);
        arguments->selection.error = tg_selection_add_kinds(&arguments->selection, argument);
        return arguments->selection.error == NULL ? 0 : EINVAL;
    case KEY_OUTPUT:
        arguments->output = argument;
        return 0;
    case KEY_SYMBOLS:
        arguments->request.symbols = tg_symbols_option_parse(argument, arguments->services, state);
        return 0;
    case KEY_FORCE:
        arguments->force = true;
        return 0;
    case ARGP_KEY_ARG:
        if (arguments->request.path != NULL)
            argp_error(state, "one trace at a time");
        arguments->request.path = argument;
        return 0;
    case ARGP_KEY_NO_ARGS:
        argp_error(state, "name the TRACE to dump");
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp_option options[] = {
    {"json", KEY_JSON, NULL, 0, "One JSON object a line, as tollgate-dump(1) documents it", 0},
    {"chrome", KEY_CHROME, NULL, 0, "One JSON document that the Perfetto UI and chrome://tracing read", 0},
    {"meta", KEY_META, NULL, 0, "First say what the trace says about itself (text and --json)", 0},
    TG_SYMBOLS_OPTION(KEY_SYMBOLS),
    {"output", KEY_OUTPUT, "FILE", 0, "Write to FILE instead of standard output", 0},
    {"force", KEY_FORCE, NULL, 0, "Replace FILE where it exists", 0},
    {"kind", KEY_KIND, "KIND[,KIND...]", 0, "Only events of these kinds (names and globs like 'library_*')",
     1},
    {0},
};

static const struct argp_child children[] = {{&tg_selection_argp, 0, "What to show:", 1}, {0}};

static const struct argp argp = {
    .options = options,
    .parser = parse_option,
    .args_doc = "TRACE",
    .doc = "Show the events of a recorded trace: as text, one line an event, or for programs.",
    .children = children,
};

static struct tg_error *run_dump(struct dump_arguments *arguments)
{
    struct tg_output *output = NULL;
    struct tg_error *damage = NULL;
    bool interrupted = false;
    if (arguments->request.format == NULL)
        arguments->request.format = &tg_dump_text;
    arguments->request.selection = &arguments->selection;
    struct tg_error *error = tg_output_refuse_input(arguments->output, arguments->request.path);
    if (error == NULL)
        error = tg_output_open(arguments->output, arguments->force, &output);
    if (error == NULL)
        error = tg_dump_write(&arguments->request, output, &damage, &interrupted);
    bool whole = error == NULL && !tg_output_closed(output);
    if (error == NULL)
        error = tg_output_commit(output);
    tg_output_destroy(output);
    if (error == NULL)
        error = damage;
    else
        tg_error_destroy(damage);
    if (error == NULL && whole && interrupted) {
        fputs("tollgate: ", stderr);
        tg_printable_write(stderr, arguments->request.path);
        fputs(": the trace was interrupted; these are the events up to its last whole chunk\n", stderr);
    }
    return error;
}

static int run(int argc, char **argv, const struct tg_command_services *services)
{
    struct dump_arguments arguments = {.services = services, .request.symbols = services};
    argp_err_exit_status = 2;
    TG_AUTO_ERROR struct tg_error *error = NULL;
    if (argp_parse(&argp, argc, argv, ARGP_IN_ORDER, NULL, &arguments) != 0) {
        error = arguments.selection.error != NULL ? arguments.selection.error : tg_error_no_memory();
        arguments.selection.error = NULL;
    } else {
        error = run_dump(&arguments);
    }
    tg_selection_deinit(&arguments.selection);
    if (error != NULL)
        tg_printable_error(error);
    return tg_error_exit_status(error);
}

const struct tg_command tg_dump_command = {
    .name = "dump",
    .summary = "the events as text, JSON, or for the Perfetto UI",
    .run = run,
};
