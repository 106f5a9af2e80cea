/* `tollgate heap` */
#include "analyzer/heap/command.h"

#include "analyzer/heap/format.h"
#include "analyzer/output/output_file.h"
#include "analyzer/output/trace_arguments.h"
#include "analyzer/output/trace_pass.h"
#include "format/base/near_name.h"
#include "format/settings/command_line.h"

#include <argp.h>
#include <stdlib.h>
#include <string.h>

enum { KEY_JSON = 'j', KEY_ALL = 'a', KEY_BY = 0x3000, KEY_SORT, KEY_AT, KEY_FLAME, KEY_FORMAT = 'f' };

struct heap_arguments {
    struct tg_trace_arguments trace;
    bool json, all;
    enum tg_heap_by by;
    enum tg_heap_cost cost;
    const struct tg_heap_format *format; /* NULL: text or JSON */
    const char *flame_path;              /* NULL: none */
};

static const char *const by_names[] = {"stack", "library", "rank", "size", NULL};

/* The index of WORD in NAMES, which end with NULL; a wrong word ends the parsing. */
static int choose(struct argp_state *state, const char *option, const char *const *names, const char *word)
{
    char hint[TG_NEAR_NAME_HINT], list[128] = "";
    struct tg_near_name near;
    tg_near_name_init(&near, word);
    for (int i = 0; names[i] != NULL; i++) {
        if (strcmp(names[i], word) == 0)
            return i;
        tg_near_name_offer(&near, names[i]);
        snprintf(list + strlen(list), sizeof list - strlen(list), "%s%s", i == 0 ? "" : ", ", names[i]);
    }
    if (near.best != NULL)
        tg_command_line_error(state, "--%s: invalid value '%s'%s", option, word,
                              tg_near_name_hint(&near, hint));
    else
        tg_command_line_error(state, "--%s: invalid value '%s'; use one of %s", option, word, list);
    return 0;
}

static enum tg_heap_cost parse_cost(struct argp_state *state, const char *word)
{
    const char *names[8] = {0};
    for (unsigned i = 0; tg_heap_cost_name((enum tg_heap_cost)i) != NULL; i++)
        names[i] = tg_heap_cost_name((enum tg_heap_cost)i);
    return (enum tg_heap_cost)choose(state, "sort", names, word);
}

static const struct tg_heap_format *parse_format(struct argp_state *state, const char *word)
{
    const char *names[8] = {0};
    for (size_t i = 0; i < tg_heap_format_count() && i < 7; i++)
        names[i] = tg_heap_format_at(i)->name;
    return tg_heap_format_at((size_t)choose(state, "format", names, word));
}

static error_t parse_at(struct heap_arguments *arguments, const char *word)
{
    struct tg_selection *selection = &arguments->trace.selection;
    tg_error_destroy(selection->error);
    selection->has_to = true;
    selection->error = tg_error_prefix(tg_selection_parse_time(word, &selection->to_ns), "--at");
    return selection->error == NULL ? 0 : EINVAL;
}

static void check(const struct heap_arguments *arguments, struct argp_state *state)
{
    if (arguments->trace.selection.has_from)
        tg_command_line_error(
            state, "--from cannot be used here: the heap at a moment is what all events before it left");
    if (arguments->json && arguments->format != NULL)
        tg_command_line_error(state, "--json and --format cannot be combined");
    if (arguments->format != NULL && arguments->by != TG_HEAP_BY_STACK)
        tg_command_line_error(state, "--format %s needs --by stack", arguments->format->name);
    if (arguments->flame_path != NULL && arguments->by != TG_HEAP_BY_STACK)
        tg_command_line_error(state, "--flamegraph needs --by stack");
}

static error_t parse_option(int key, char *argument, struct argp_state *state)
{
    struct heap_arguments *arguments = state->input;
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = state->child_inputs[1] = &arguments->trace;
        state->child_inputs[2] = &arguments->trace.selection;
        return 0;
    case KEY_JSON:
        arguments->json = true;
        return 0;
    case KEY_ALL:
        arguments->all = true;
        return 0;
    case KEY_BY:
        arguments->by = (enum tg_heap_by)choose(state, "by", by_names, argument);
        return 0;
    case KEY_SORT:
        arguments->cost = parse_cost(state, argument);
        return 0;
    case KEY_FORMAT:
        arguments->format = parse_format(state, argument);
        return 0;
    case KEY_FLAME:
        arguments->flame_path = argument;
        return 0;
    case KEY_AT:
        return parse_at(arguments, argument);
    case ARGP_KEY_END:
        check(arguments, state);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp_option options[] = {
    {"by", KEY_BY, "WHAT", 0, "A row for each stack (default), library, rank or size of blocks", 0},
    {"sort", KEY_SORT, "COST", 0,
     "Order rows by peak (default), live, bytes, calls or temporary; pictures show that cost", 0},
    {"at", KEY_AT, "TIME", 0, "The heap at TIME, seconds from the start, instead of at the end", 0},
    {"all", KEY_ALL, NULL, 0, "Show every row", 0},
    {"json", KEY_JSON, NULL, 0, "Write JSON (fields: see tollgate-heap(1))", 0},
    {"format", KEY_FORMAT, "FORMAT", 0,
     "Write massif (for ms_print and massif-visualizer), pprof, collapsed (for speedscope and flamegraph.pl) "
     "or svg (a flame graph)",
     0},
    {"flamegraph", KEY_FLAME, "FILE", 0, "Draw a flame graph as SVG to FILE, too", 0},
    {0},
};

static const struct argp_child children[] = {{.argp = &tg_trace_argp},
                                             {.argp = &tg_trace_output_argp},
                                             {&tg_selection_argp, 0, "Which processes:", 1},
                                             {0}};

static const struct argp argp = {
    .options = options,
    .parser = parse_option,
    .args_doc = "[TRACE]",
    .doc = "Show the heap of a job that was recorded with --heap: peaks, live blocks and call paths of all "
           "processes, as a table or in a format for other tools.",
    .children = children,
};

static struct tg_error *write_flame(const struct heap_arguments *arguments,
                                    const struct tg_heap_drawing *drawing)
{
    struct tg_output *output = NULL;
    struct tg_error *error = tg_output_refuse_input(arguments->flame_path, arguments->trace.path);
    if (error == NULL)
        error = tg_output_open(arguments->flame_path, arguments->trace.force, &output);
    if (error == NULL)
        error = tg_heap_write_svg(drawing, tg_output_stream(output));
    if (error == NULL)
        error = tg_output_commit(output);
    tg_output_destroy(output);
    return error;
}

static struct tg_error *write_heap(const struct heap_arguments *arguments,
                                   const struct tg_heap_reading *reading, struct tg_output *output)
{
    struct tg_heap_profile profile = {0};
    struct tg_error *error =
        tg_heap_profile_make(reading->heap, reading->processes, &arguments->trace.selection, arguments->by,
                             arguments->cost, &profile);
    if (error != NULL)
        return error;
    const struct tg_heap_drawing drawing = {
        .reading = reading,
        .selection = &arguments->trace.selection,
        .profile = &profile,
        .path = arguments->trace.path,
        .all = arguments->all,
        .colour = tg_output_colour(output),
        .columns = tg_output_is_terminal(output) ? tg_output_columns(output) : 0,
    };
    FILE *stream = tg_output_stream(output);
    if (arguments->format != NULL)
        error = arguments->format->write(&drawing, stream);
    else
        error = arguments->json ? tg_heap_write_json(&drawing, stream) : tg_heap_write_text(&drawing, stream);
    if (error == NULL)
        error = tg_output_commit(output);
    if (error == NULL && arguments->flame_path != NULL)
        error = write_flame(arguments, &drawing);
    tg_heap_profile_deinit(&profile);
    return error;
}

static struct tg_error *run_heap(void *context)
{
    struct heap_arguments *arguments = context;
    struct tg_trace_arguments *trace = &arguments->trace;
    struct tg_progress progress = {0};
    const struct tg_heap_reading_request request = {.path = trace->path,
                                                    .services = trace->symbols,
                                                    .selection = &trace->selection,
                                                    .progress = &progress};
    struct tg_heap_reading reading = {0};
    struct tg_output *output = NULL;
    struct tg_error *error = tg_output_refuse_input(trace->output, trace->path);
    if (error == NULL)
        error = tg_output_open(trace->output, trace->force, &output);
    if (error == NULL) {
        tg_progress_init(&progress, output, false, 1 + tg_selection_limits_processes(&trace->selection));
        error = tg_heap_reading_make(&request, &reading);
    }
    if (error == NULL)
        error = write_heap(arguments, &reading, output);
    if (error == NULL && reading.damage == NULL)
        tg_trace_write_extent(stderr, trace->path, &reading.summary, reading.start_ns);
    if (error == NULL) {
        error = reading.damage;
        reading.damage = NULL;
    }
    tg_heap_reading_deinit(&reading);
    tg_output_destroy(output);
    return error;
}

static int run(int argc, char **argv, const struct tg_command_services *services)
{
    struct heap_arguments arguments = {.trace = {.services = services, .command = "heap"}};
    return tg_trace_arguments_run(&argp, argc, argv, &arguments.trace, &arguments, run_heap);
}

const struct tg_command tg_heap_command = {
    .name = "heap",
    .summary = "memory of each process, and where it was allocated: peaks, live blocks, call paths",
    .run = run,
};
