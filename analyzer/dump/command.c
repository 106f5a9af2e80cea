/* `tollgate dump` */
#include "analyzer/dump/command.h"
#include "analyzer/dump/dump.h"
#include "analyzer/output/output_file.h"
#include "analyzer/output/trace_arguments.h"
#include "analyzer/output/trace_pass.h"
#include "format/settings/command_line.h"

#include <argp.h>
#include <errno.h>

enum { KEY_JSON = 'j', KEY_KIND = 'k', KEY_CHROME = 0x200, KEY_META, KEY_UNLIMITED };

struct dump_arguments {
    struct tg_trace_arguments trace;
    struct tg_dump_request request;
};

static void choose_format(struct dump_arguments *arguments, const struct tg_dump_format *format,
                          struct argp_state *state)
{
    if (arguments->request.format != NULL && arguments->request.format != format)
        tg_command_line_error(state, "--json and --chrome cannot be combined");
    arguments->request.format = format;
}

static error_t parse_option(int key, char *argument, struct argp_state *state)
{
    struct dump_arguments *arguments = state->input;
    struct tg_selection *selection = &arguments->trace.selection;
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = state->child_inputs[1] = &arguments->trace;
        state->child_inputs[2] = selection;
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
    case KEY_UNLIMITED:
        arguments->request.unlimited = true;
        return 0;
    case KEY_KIND:
        tg_error_destroy(selection->error);
        selection->error = tg_selection_add_kinds(selection, argument);
        return selection->error == NULL ? 0 : EINVAL;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp_option options[] = {
    {"json", KEY_JSON, NULL, 0, "Write one JSON object per line (fields: see tollgate-dump(1))", 0},
    {"chrome", KEY_CHROME, NULL, 0, "Write one JSON document for the Perfetto UI and chrome://tracing", 0},
    {"meta", KEY_META, NULL, 0, "Print the metadata of the trace first (text and --json)", 0},
    {"unlimited", KEY_UNLIMITED, NULL, 0,
     "Go on where the output is out of all proportion to the trace's size", 2},
    {"kind", KEY_KIND, "KIND[,KIND...]", 0, "Only events of these kinds (names and globs like 'library_*')",
     1},
    {0},
};

static const struct argp_child children[] = {{.argp = &tg_trace_argp},
                                             {.argp = &tg_trace_output_argp},
                                             {&tg_selection_argp, 0, "What to show:", 1},
                                             {0}};

static const struct argp argp = {
    .options = options,
    .parser = parse_option,
    .args_doc = "[TRACE]",
    .doc = "Print the events of a recorded trace: as text, one line per event, or in JSON.",
    .children = children,
};

static struct tg_error *run_dump(void *context)
{
    struct dump_arguments *arguments = context;
    const struct tg_trace_arguments *trace = &arguments->trace;
    struct tg_output *output = NULL;
    struct tg_error *damage = NULL;
    struct tg_trace_summary summary;
    uint64_t start_ns = 0;
    struct tg_progress progress = {0};
    if (arguments->request.format == NULL)
        arguments->request.format = &tg_dump_text;
    arguments->request.path = trace->path;
    arguments->request.symbols = trace->symbols;
    arguments->request.selection = &arguments->trace.selection;
    arguments->request.progress = &progress;
    struct tg_error *error = tg_output_refuse_input(trace->output, trace->path);
    if (error == NULL)
        error = tg_output_open(trace->output, trace->force, &output);
    if (error == NULL) {
        tg_progress_init(&progress, output, true, 1 + tg_selection_limits_processes(&trace->selection));
        error = tg_dump_write(&arguments->request, output, &damage, &summary, &start_ns);
    }
    bool whole = error == NULL && !tg_output_closed(output);
    if (error == NULL)
        error = tg_output_commit(output);
    tg_output_destroy(output);
    if (error == NULL)
        error = damage;
    else
        tg_error_destroy(damage);
    if (error == NULL && whole)
        tg_trace_write_extent(stderr, trace->path, &summary, start_ns);
    return error;
}

static int run(int argc, char **argv, const struct tg_command_services *services)
{
    struct dump_arguments arguments = {.trace = {.services = services, .command = "dump"}};
    return tg_trace_arguments_run(&argp, argc, argv, &arguments.trace, &arguments, run_dump);
}

const struct tg_command tg_dump_command = {
    .name = "dump",
    .summary = "the events as text, JSON, or for the Perfetto UI",
    .run = run,
};
