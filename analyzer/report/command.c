/* `tollgate report` */
#include "analyzer/report/command.h"
#include "analyzer/output/output_file.h"
#include "analyzer/output/trace_arguments.h"
#include "analyzer/report/html.h"
#include "analyzer/report/report.h"

#include <argp.h>
#include <string.h>

enum { KEY_JSON = 'j', KEY_ALL = 'a', KEY_NO_PAGER = 0x2000, KEY_HTML };

struct report_arguments {
    struct tg_trace_arguments trace;
    const char *html; /* the page's file */
    bool json, all, no_pager;
};

static error_t parse_option(int key, char *argument, struct argp_state *state)
{
    struct report_arguments *arguments = state->input;
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = state->child_inputs[1] = &arguments->trace;
        state->child_inputs[2] = &arguments->trace.selection;
        return 0;
    case KEY_JSON:
        arguments->json = true;
        return 0;
    case KEY_HTML:
        arguments->html = argument;
        return 0;
    case KEY_ALL:
        arguments->all = true;
        return 0;
    case KEY_NO_PAGER:
        arguments->no_pager = true;
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp_option options[] = {
    {"json", KEY_JSON, NULL, 0, "Write JSON (fields: see tollgate-report(1))", 0},
    {"html", KEY_HTML, "FILE", 0,
     "Write a page for a browser to FILE, \"-\" standard output: verdict, time strip, stacks; it needs no "
     "network",
     0},
    {"all", KEY_ALL, NULL, 0, "Show everything: each process on a line of its own, and every library", 0},
    {"no-pager", KEY_NO_PAGER, NULL, 0, "Write to the terminal without a pager", 0},
    {0},
};

static const struct argp_child children[] = {{.argp = &tg_trace_argp},
                                             {.argp = &tg_trace_output_argp},
                                             {&tg_selection_argp, 0, "What to report on:", 1},
                                             {0}};

static const struct argp argp = {
    .options = options,
    .parser = parse_option,
    .args_doc = "[TRACE]",
    .doc = "Show what happened in a recorded job: what went wrong and where, then processes and ranks, MPI "
           "calls, OpenMP "
           "zones, libraries and their cost. On a terminal this is a summary of one screen; --all shows "
           "everything.",
    .children = children,
};

static struct tg_error *write_report(const struct tg_report *report, const struct report_arguments *arguments,
                                     struct tg_progress *progress, struct tg_output *output)
{
    if (arguments->html != NULL)
        return tg_report_write_html(report, arguments->trace.symbols, progress, tg_output_stream(output));
    if (arguments->json)
        return tg_report_write_json(report, tg_output_stream(output));
    bool is_terminal = tg_output_is_terminal(output);
    const struct tg_report_text_options text = {.all = arguments->all,
                                                .summary = is_terminal && !arguments->all,
                                                .colour = tg_output_colour(output),
                                                .columns = is_terminal ? tg_output_columns(output) : 0,
                                                .lines = tg_output_lines(output)};
    struct tg_error *error = arguments->no_pager ? NULL : tg_output_page(output);
    return error != NULL ? error : tg_report_write_text(report, &text, tg_output_stream(output));
}

/* The page's own: its time line's, and two of its diagram. */
enum { OF_PAGE = 3 };

static struct tg_error *run_report(void *context)
{
    struct report_arguments *arguments = context;
    struct tg_trace_arguments *trace = &arguments->trace;
    struct tg_output *output = NULL;
    struct tg_report *report = NULL;
    struct tg_progress progress = {0};
    struct tg_error *error = NULL;
    if (arguments->html != NULL && trace->output != NULL)
        error =
            tg_error_create(TG_ERROR_USAGE, "--html names a file, and so does --output: give one of them");
    if (error == NULL && arguments->html != NULL)
        trace->output = arguments->html;
    if (error == NULL && arguments->html != NULL && strcmp(trace->path, "-") == 0)
        error = tg_error_create(
            TG_ERROR_USAGE,
            "--html reads the trace twice, so it cannot come from standard input; name a file");
    if (error == NULL)
        error = tg_output_refuse_input(trace->output, trace->path);
    if (error == NULL)
        error = tg_output_open(trace->output, trace->force, &output);
    if (error == NULL) {
        unsigned passes = 1 + tg_selection_limits_processes(&trace->selection);
        tg_progress_init(&progress, output, false, passes + (arguments->html != NULL ? OF_PAGE : 0));
        error = tg_report_read(trace->path, &trace->selection, trace->symbols, &progress, &report);
    }
    if (error == NULL)
        error = write_report(report, arguments, &progress, output);
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
    struct report_arguments arguments = {.trace = {.services = services, .command = "report"}};
    return tg_trace_arguments_run(&argp, argc, argv, &arguments.trace, &arguments, run_report);
}

const struct tg_command tg_report_command = {
    .name = "report",
    .summary = "what went wrong, and what happened: processes, MPI, OpenMP, libraries, losses",
    .run = run,
};
