/* `tollgate filter` */
#include "analyzer/filter/command.h"

#include "analyzer/filter/explain.h"
#include "analyzer/filter/report.h"
#include "analyzer/output/output_file.h"
#include "analyzer/output/trace_choice.h"
#include "format/base/printable.h"
#include "format/settings/command_line.h"
#include "format/settings/dlopen_filter.h"
#include "format/settings/settings.h"
#include "format/trace/reader.h"

#include <argp.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

enum {
    KEY_MATCH = 0x100,
    KEY_BREAK,
    KEY_MODE,
    KEY_SETTINGS,
    KEY_EXPLAIN,
    KEY_JSON,
    KEY_DECISIONS,
    KEY_CHECK,
    KEY_CALIBRATE,
    KEY_PROCESSES,
    KEY_CLIENTS,
    KEY_ROUND_TRIP,
    KEY_SUGGEST,
    KEY_ALWAYS,
    KEY_NOT_ALWAYS,
    KEY_ON_MATCH,
};

struct filter_arguments {
    struct tg_filter_request request;
    const char **texts; /* storage for matches, breaks and libraries: argc entries each */
    const char **matches, **breaks, **operands;
    size_t n_operands;
    char *trace; /* owned */
    struct tg_settings settings;
    bool has_always, always; /* -dlopen_always_recalculate and its negation, last one wins */
    const char *on_match;    /* -dlopen_recalculate_on_match, NULL not given */
    bool explain, json, decisions, check, calibrate, has_clients;
    struct tg_error *error;
};

/* ---- options ---- */

static const struct argp_option options[] = {
    {"match", KEY_MATCH, "GLOBLIST", 0, "Evaluate Medium with this glob-list; repeat it to compare several",
     1},
    {"break", KEY_BREAK, "SPEC", 0,
     "Plan for this breakpoint too, besides the recorded ones; may be repeated", 1},
    {"mode", KEY_MODE, "MODE", 0,
     "Show only slow, medium, in-process (medium, decided about in the process) or fast; may be repeated", 1},
    {"settings", KEY_SETTINGS, "FILE", 0, "Read the filter from the dset lines of a settings file", 1},
    {"dlopen_always_recalculate", KEY_ALWAYS, NULL, 0, "Slow (one dash works too, also for the next two)", 2},
    {"no_dlopen_always_recalculate", KEY_NOT_ALWAYS, NULL, 0, "Medium, or Fast if the glob-list is empty", 2},
    {"dlopen_recalculate_on_match", KEY_ON_MATCH, "GLOBLIST", 0, "Same as --match; \"\" means Fast", 2},
    {"suggest", KEY_SUGGEST, NULL, 0, "Find the cheapest setting that plants every breakpoint in time", 3},
    {"calibrate", KEY_CALIBRATE, NULL, 0, "Measure the cost of a stop on this machine", 3},
    {"check", KEY_CHECK, NULL, 0, "Exit with 1 if the recorded decisions differ from the model's", 3},
    {"processes", KEY_PROCESSES, "N", 0, "Simulate N processes that report to the clients", 4},
    {"clients", KEY_CLIENTS, "M", 0, "Number of clients (default: 1)", 4},
    {"round-trip-us", KEY_ROUND_TRIP, "US", 0,
     "Client's time per request besides its work (default: the cost of a stop)", 4},
    {"explain", KEY_EXPLAIN, NULL, 0, "Decide on one event that loads the LIBs, and say why", 5},
    {"decisions", KEY_DECISIONS, NULL, 0, "Print what each setting would decide, event by event", 5},
    {"json", KEY_JSON, NULL, 0, "Write JSON (fields: see tollgate-filter(1))", 5},
    {0},
};

static bool parse_count(const char *text, uint64_t *count)
{
    char *end = NULL;
    errno = 0;
    unsigned long long value = strtoull(text, &end, 10);
    if (text[0] < '0' || text[0] > '9' || *end != '\0' || errno != 0)
        return false;
    *count = value;
    return true;
}

static bool parse_microseconds(const char *text, uint64_t *ns)
{
    char *end = NULL;
    double us = strtod(text, &end);
    if (end == text || *end != '\0' || !(us >= 0) || us > 1e12)
        return false;
    *ns = (uint64_t)(us * 1e3 + 0.5);
    return true;
}

/* Keeps the first error of the command line. */
__attribute__((format(printf, 2, 0))) static void refuse(struct filter_arguments *arguments,
                                                         const char *format, const char *text)
{
    if (arguments->error == NULL)
        arguments->error = tg_error_create(TG_ERROR_USAGE, format, text);
}

static void parse_mode(struct filter_arguments *arguments, const char *text)
{
    for (enum tg_filter_mode mode = TG_FILTER_SLOW; mode <= TG_FILTER_FAST; mode++) {
        if (strcmp(tg_dlopen_filter_mode_name(mode), text) == 0) {
            arguments->request.modes[mode] = true;
            return;
        }
    }
    if (strcmp(text, "in-process") == 0)
        arguments->request.in_process = true;
    else if (arguments->error == NULL)
        arguments->error = tg_dlopen_filter_refuse_mode(text);
}

static void read_settings(struct filter_arguments *arguments, const char *path)
{
    if (arguments->error != NULL)
        return;
    arguments->error = tg_settings_read(path, &arguments->settings);
}

static error_t parse_number_option(struct filter_arguments *arguments, int key, const char *argument)
{
    struct tg_simulation_options *simulation = &arguments->request.simulation;
    switch (key) {
    case KEY_PROCESSES:
        arguments->request.has_simulation = true;
        if (!parse_count(argument, &simulation->processes) || simulation->processes == 0)
            refuse(arguments, "--processes: invalid number '%s'; give 1 or more", argument);
        return 0;
    case KEY_CLIENTS:
        arguments->has_clients = true;
        if (!parse_count(argument, &simulation->clients) || simulation->clients == 0)
            refuse(arguments, "--clients: invalid number '%s'; give 1 or more", argument);
        return 0;
    case KEY_ROUND_TRIP:
        if (!parse_microseconds(argument, &simulation->round_trip_ns))
            refuse(arguments, "--round-trip-us: invalid time '%s'; give microseconds", argument);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static error_t parse_option(int key, char *argument, struct argp_state *state)
{
    struct filter_arguments *arguments = state->input;
    struct tg_filter_request *request = &arguments->request;
    switch (key) {
    case KEY_MATCH:
        arguments->matches[request->n_matches++] = argument;
        return 0;
    case KEY_ON_MATCH:
        arguments->on_match = argument;
        return 0;
    case KEY_ALWAYS:
    case KEY_NOT_ALWAYS:
        arguments->has_always = true;
        arguments->always = key == KEY_ALWAYS;
        return 0;
    case KEY_BREAK:
        arguments->breaks[request->n_breaks++] = argument;
        return 0;
    case KEY_MODE:
        parse_mode(arguments, argument);
        return 0;
    case KEY_SETTINGS:
        read_settings(arguments, argument);
        return 0;
    case KEY_EXPLAIN:
        return arguments->explain = true, 0;
    case KEY_JSON:
        return arguments->json = true, 0;
    case KEY_DECISIONS:
        return arguments->decisions = true, 0;
    case KEY_CHECK:
        return arguments->check = true, 0;
    case KEY_CALIBRATE:
        return arguments->calibrate = true, 0;
    case KEY_SUGGEST:
        return request->suggest = true, 0;
    case ARGP_KEY_ARG:
        arguments->operands[arguments->n_operands++] = argument;
        return 0;
    default:
        return parse_number_option(arguments, key, argument);
    }
}

static const struct argp argp = {
    .options = options,
    .parser = parse_option,
    .args_doc = "[TRACE]\n--match GLOBLIST --explain LIB...",
    .doc = "Show what each dlopen filter mode would have cost a recorded job, and which setting to use. With "
           "--explain, say whether an event that loads the LIBs is reported (exit status 0) or deferred (1).",
};

/* Adds the second dash to options that the debugger they come from writes with one. */
static void lengthen_dashes(int argc, char **argv)
{
    static char *const spellings[] = {"--dlopen_always_recalculate", "--no_dlopen_always_recalculate",
                                      "--dlopen_recalculate_on_match"};
    for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++)
        for (size_t s = 0; s < sizeof spellings / sizeof *spellings; s++)
            if (strcmp(argv[i], spellings[s] + 1) == 0)
                argv[i] = spellings[s];
}

/* ---- the filter given by options and settings file ---- */

static const char *match_in_force(const struct filter_arguments *arguments)
{
    if (arguments->on_match != NULL)
        return arguments->on_match;
    if (arguments->request.n_matches > 0)
        return arguments->matches[arguments->request.n_matches - 1];
    return arguments->settings.match;
}

/* Makes a column of -dlopen_… and settings, or narrows the columns to Slow. */
static void add_columns(struct filter_arguments *arguments)
{
    struct tg_filter_request *request = &arguments->request;
    const struct tg_settings *settings = &arguments->settings;
    if (settings->match != NULL)
        arguments->matches[request->n_matches++] = settings->match;
    if (arguments->on_match != NULL)
        arguments->matches[request->n_matches++] = arguments->on_match;
    if (arguments->has_always && arguments->always)
        request->modes[TG_FILTER_SLOW] = true;
    if (arguments->has_always && !arguments->always)
        request->modes[request->n_matches > 0 && arguments->matches[request->n_matches - 1][0] != '\0'
                           ? TG_FILTER_MEDIUM
                           : TG_FILTER_FAST] = true;
}

static struct tg_error *check_usage(const struct filter_arguments *arguments)
{
    const struct tg_filter_request *request = &arguments->request;
    if (arguments->explain) {
        if (arguments->n_operands == 0)
            return tg_error_create(TG_ERROR_USAGE,
                                   "--explain needs the names of the libraries that one event loads");
        if (request->n_matches > 1)
            return tg_error_create(TG_ERROR_USAGE, "--explain takes one glob-list; give --match once");
        if (request->n_matches == 0 && arguments->on_match == NULL && arguments->settings.match == NULL &&
            !arguments->has_always && !arguments->settings.has_always_recalculate)
            return tg_error_create(TG_ERROR_USAGE, "--explain needs a glob-list; add --match GLOBLIST");
        return NULL;
    }
    if (arguments->n_operands > 1)
        return tg_error_create(TG_ERROR_USAGE, "give one TRACE, not several");
    if (arguments->has_clients && !request->has_simulation)
        return tg_error_create(TG_ERROR_USAGE, "--clients needs --processes N");
    if (request->simulation.round_trip_ns != UINT64_MAX && !request->has_simulation)
        return tg_error_create(TG_ERROR_USAGE, "--round-trip-us needs --processes N");
    return NULL;
}

static void print_notes(const struct tg_settings *settings)
{
    for (size_t i = 0; i < settings->n_notes; i++) {
        fputs("tollgate: note: ", stderr);
        tg_printable_write(stderr, settings->notes[i]);
        putc('\n', stderr);
    }
}

/* ---- actions ---- */

static struct tg_error *explain(const struct filter_arguments *arguments, FILE *stream, int *status)
{
    const struct tg_settings *settings = &arguments->settings;
    const char *match = match_in_force(arguments);
    /* a glob-list alone implies always_recalculate false */
    bool always = arguments->has_always              ? arguments->always
                  : settings->has_always_recalculate ? settings->always_recalculate
                                                     : false;
    if (!arguments->has_always && (arguments->on_match != NULL || arguments->request.n_matches > 0))
        always = false;
    struct tg_dlopen_filter filter;
    struct tg_error *error = tg_dlopen_filter_init(&filter);
    if (error != NULL)
        return error;
    error = tg_dlopen_filter_set(&filter, always, match != NULL ? match : "");
    if (error == NULL)
        *status =
            tg_filter_explain(&filter, arguments->operands, arguments->n_operands, arguments->json, stream)
                ? 0
                : 1;
    tg_dlopen_filter_deinit(&filter);
    return error;
}

/* The destination of predictions, each of which names its setting. */
struct decision_writer {
    const struct tg_filter_evaluation *evaluation;
    struct tg_output *output;
    bool json;
};

static struct tg_error *write_decision(void *context, const struct tg_filter_prediction *prediction)
{
    const struct decision_writer *writer = context;
    const struct tg_filter_column *column = &writer->evaluation->columns[prediction->lane];
    if (!tg_output_closed(writer->output))
        tg_filter_explain_prediction(prediction, column->mode, column->match, writer->json,
                                     tg_output_stream(writer->output));
    return NULL;
}

static struct tg_error *write_evaluation(const struct filter_arguments *arguments,
                                         const struct tg_filter_evaluation *evaluation,
                                         struct tg_output *output)
{
    if (arguments->decisions)
        return NULL;
    if (arguments->json)
        return tg_filter_write_json(evaluation, arguments->request.trace, tg_output_stream(output));
    const struct tg_filter_text_options text = {
        .colour = tg_output_colour(output),
        .columns = tg_output_is_terminal(output) ? tg_output_columns(output) : 0};
    return tg_filter_write_text(evaluation, &text, tg_output_stream(output));
}

/* Whether TRACE was recorded on this machine, so that the price of a stop can be measured now where it has none. */
static bool can_measure_now(const char *trace)
{
    struct utsname here;
    struct tg_trace_reader *reader = NULL;
    struct tg_error *error = tg_trace_reader_open(trace, &reader);
    bool can = false;
    if (error == NULL && uname(&here) == 0) {
        const struct tg_trace_meta *meta = tg_trace_reader_meta(reader);
        const char *name = tg_trace_meta_get(meta, "host.name"),
                   *kernel = tg_trace_meta_get(meta, "host.kernel");
        can = name != NULL && kernel != NULL && strcmp(name, here.nodename) == 0 &&
              strcmp(kernel, here.release) == 0;
    }
    tg_error_destroy(error); /* the next reader of the trace says so */
    tg_trace_reader_close(reader);
    return can;
}

static struct tg_error *evaluate(struct filter_arguments *arguments, struct tg_output *output,
                                 const struct tg_command_services *services, int *status)
{
    struct tg_filter_request *request = &arguments->request;
    struct tg_stop_cost floor;
    struct tg_error *error = NULL;
    struct tg_filter_evaluation evaluation = {0};
    struct decision_writer writer = {&evaluation, output, arguments->json};
    add_columns(arguments);
    error = tg_trace_choice_make("filter", arguments->n_operands > 0 ? arguments->operands[0] : NULL,
                                 &arguments->trace);
    if (error != NULL)
        return error;
    request->trace = arguments->trace;
    if (arguments->calibrate) {
        if (services->measure_stop_cost == NULL)
            return tg_error_create(TG_ERROR_UNSUPPORTED, "this build cannot measure the cost of a stop");
        error = services->measure_stop_cost(&floor);
        if (error != NULL)
            return tg_error_prefix(error, "--calibrate");
        request->floor = &floor;
    } else if (can_measure_now(request->trace)) {
        request->measure_floor = services->measure_stop_cost;
    }
    if (arguments->decisions) {
        request->predict = write_decision;
        request->context = &writer;
    }
    request->find_breaks = services->find_breaks;
    struct tg_progress progress;
    tg_progress_init(&progress, output, arguments->decisions, 2 + request->suggest);
    request->progress = &progress;
    error = tg_filter_evaluate(request, &evaluation);
    tg_progress_end(&progress);
    if (error == NULL)
        error = write_evaluation(arguments, &evaluation, output);
    if (error == NULL && arguments->check)
        *status = evaluation.check.decisions_differ > 0 || evaluation.check.handlings_differ > 0;
    if (error == NULL && evaluation.damage != NULL) { /* the readable part was shown */
        error = evaluation.damage;
        evaluation.damage = NULL;
    }
    tg_filter_evaluation_deinit(&evaluation);
    return error;
}

static struct tg_error *run_filter(struct filter_arguments *arguments,
                                   const struct tg_command_services *services, int *status)
{
    struct tg_error *error = check_usage(arguments);
    if (error != NULL)
        return error;
    print_notes(&arguments->settings);
    struct tg_output *output = NULL;
    error = tg_output_open(NULL, false, &output);
    if (error == NULL)
        error = arguments->explain ? explain(arguments, tg_output_stream(output), status)
                                   : evaluate(arguments, output, services, status);
    struct tg_error *written = output != NULL ? tg_output_commit(output) : NULL;
    if (error == NULL)
        error = written;
    else
        tg_error_destroy(written);
    tg_output_destroy(output);
    return error;
}

static int run(int argc, char **argv, const struct tg_command_services *services)
{
    size_t room = (size_t)argc + 2; /* the settings file and -dlopen_recalculate_on_match add a list each */
    struct filter_arguments arguments = {.texts = calloc(3 * room, sizeof *arguments.texts)};
    int status = 0;
    if (arguments.texts == NULL) {
        arguments.error = tg_error_no_memory();
    } else {
        arguments.matches = arguments.texts;
        arguments.breaks = arguments.texts + room;
        arguments.operands = arguments.texts + 2 * room;
        arguments.request.matches = arguments.matches;
        arguments.request.breaks = arguments.breaks;
        arguments.request.simulation =
            (struct tg_simulation_options){.processes = 1, .clients = 1, .round_trip_ns = UINT64_MAX};
        lengthen_dashes(argc, argv);
        if (tg_command_line_parse(&argp, TG_COMMAND_LINE_OPERANDS, argc, argv, &arguments) != 0)
            arguments.error = tg_error_no_memory();
    }
    if (arguments.error == NULL)
        arguments.error = run_filter(&arguments, services, &status);
    if (arguments.error != NULL) {
        tg_printable_error(arguments.error);
        status = tg_error_exit_status(arguments.error);
    }
    tg_error_destroy(arguments.error);
    tg_settings_deinit(&arguments.settings);
    free(arguments.texts);
    free(arguments.trace);
    return status;
}

const struct tg_command tg_filter_command = {
    .name = "filter",
    .summary = "compare dlopen filters (Slow, Medium, Fast): what each would have cost",
    .run = run,
};
