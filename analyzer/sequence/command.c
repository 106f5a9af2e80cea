/* `tollgate sequence` */
#include "analyzer/sequence/command.h"

#include "analyzer/output/output_file.h"
#include "analyzer/output/quantity.h"
#include "analyzer/output/trace_arguments.h"
#include "analyzer/output/trace_pass.h"
#include "analyzer/sequence/format.h"
#include "analyzer/sequence/read.h"
#include "format/base/near_name.h"
#include "format/base/printable.h"
#include "format/settings/command_line.h"

#include <argp.h>
#include <errno.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    KEY_FORMAT = 'f',
    KEY_ALL = 'a',
    KEY_OUTPUT = 'o',
    KEY_FORCE = 0x200,
    KEY_BY,
    KEY_TEAM,
    KEY_AROUND,
    KEY_PRINT,
    KEY_OPEN,
    KEY_NO_GEN,
};

struct sequence_arguments {
    struct tg_trace_arguments trace;
    struct tg_sequence_request request;
    const struct tg_sequence_format *format;
    char *own_output; /* named after the trace */
    const char *around;
    bool print, open;
    uint64_t n_characters; /* written */
};

static void parse_by(struct sequence_arguments *arguments, const char *word, struct argp_state *state)
{
    if (strcmp(word, "worker") == 0)
        arguments->request.by = TG_SEQUENCE_BY_WORKER;
    else if (strcmp(word, "rank") == 0)
        arguments->request.by = TG_SEQUENCE_BY_RANK;
    else
        tg_command_line_error(state, "--by: invalid value '%s' (worker or rank)", word);
}

static void parse_format(struct sequence_arguments *arguments, const char *word, struct argp_state *state)
{
    const struct tg_sequence_format *format = tg_sequence_format_find(word);
    char names[128] = "", hint[TG_NEAR_NAME_HINT];
    struct tg_near_name near;
    tg_near_name_init(&near, word);
    for (size_t i = 0; format == NULL && i < tg_sequence_format_count(); i++) {
        tg_near_name_offer(&near, tg_sequence_format_at(i)->name);
        snprintf(names + strlen(names), sizeof names - strlen(names), "%s%s", i == 0 ? "" : ", ",
                 tg_sequence_format_at(i)->name);
    }
    if (format == NULL && near.best != NULL)
        tg_command_line_error(state, "--format: unknown format '%s'%s", word, tg_near_name_hint(&near, hint));
    else if (format == NULL)
        tg_command_line_error(state, "--format: unknown format '%s'; use one of %s", word, names);
    arguments->format = format;
}

static void parse_team(struct sequence_arguments *arguments, const char *word, struct argp_state *state)
{
    char *end;
    errno = 0;
    unsigned long long number = strtoull(word, &end, 0);
    if (errno != 0 || *word < '0' || *word > '9' || *end != '\0' || number == 0)
        tg_command_line_error(
            state,
            "--team: invalid region number '%s' (`tollgate dump --kind omp_parallel_begin` lists them)",
            word);
    arguments->request.team = number;
}

static error_t parse_around(struct sequence_arguments *arguments)
{
    struct tg_selection *selection = &arguments->trace.selection;
    if (arguments->around == NULL || strcmp(arguments->around, "last") == 0)
        return 0;
    tg_error_destroy(selection->error);
    selection->error = NULL;
    if (selection->has_from || selection->has_to) {
        selection->error = tg_error_create(TG_ERROR_USAGE, "--around cannot be combined with --from or --to");
        return EINVAL;
    }
    selection->has_to = true;
    selection->error =
        tg_error_prefix(tg_selection_parse_time(arguments->around, &selection->to_ns), "--around");
    return selection->error == NULL ? 0 : EINVAL;
}

static void check(struct sequence_arguments *arguments, struct argp_state *state)
{
    if (arguments->print && arguments->trace.output != NULL)
        tg_command_line_error(state, "--print and --output cannot be combined");
    if (arguments->open &&
        (arguments->print || (arguments->trace.output != NULL && strcmp(arguments->trace.output, "-") == 0)))
        tg_command_line_error(state, "--open needs an output file");
    if (arguments->request.team != 0 && arguments->request.by == TG_SEQUENCE_BY_RANK)
        tg_command_line_error(state, "--team cannot be combined with --by rank");
}

static error_t parse_option(int key, char *argument, struct argp_state *state)
{
    struct sequence_arguments *arguments = state->input;
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &arguments->trace;
        state->child_inputs[1] = &arguments->trace.selection;
        return 0;
    case KEY_FORMAT:
        parse_format(arguments, argument, state);
        return 0;
    case KEY_BY:
        parse_by(arguments, argument, state);
        return 0;
    case KEY_TEAM:
        parse_team(arguments, argument, state);
        return 0;
    case KEY_AROUND:
        arguments->around = argument;
        return 0;
    case KEY_ALL:
        arguments->request.all = true;
        return 0;
    case KEY_NO_GEN:
        arguments->format = &tg_sequence_seqdiag;
        return 0;
    case KEY_PRINT:
        arguments->print = true;
        return 0;
    case KEY_OPEN:
        arguments->open = true;
        return 0;
    case KEY_OUTPUT:
        arguments->trace.output = argument;
        return 0;
    case KEY_FORCE:
        arguments->trace.force = true;
        return 0;
    case ARGP_KEY_END:
        check(arguments, state);
        return parse_around(arguments);
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp_option options[] = {
    {"format", KEY_FORMAT, "FORMAT", 0, "svg (default), html, seqdiag, mermaid or plantuml", 0},
    {"output", KEY_OUTPUT, "FILE", 0, "Write to FILE (default: named after the trace); - is standard output",
     0},
    {"force", KEY_FORCE, NULL, 0, "Overwrite the file if it exists", 0},
    {"print", KEY_PRINT, NULL, 0, "Write to standard output, as seqdiag unless --format says otherwise", 0},
    {"show", KEY_PRINT, NULL, OPTION_ALIAS, NULL, 0},
    {"no-gen", KEY_NO_GEN, NULL, 0, "Write only the description: the same as --format seqdiag", 0},
    {"open", KEY_OPEN, NULL, 0, "Open the file with xdg-open", 0},
    {"all", KEY_ALL, NULL, 0, "Draw everything, not just the final state", 1},
    {"by", KEY_BY, "WHAT", 0,
     "One lifeline for each worker (of one process) or each rank (of the job); default: whichever fits", 1},
    {"team", KEY_TEAM, "NUMBER", 0, "Only the parallel region with this number", 1},
    {"around", KEY_AROUND, "TIME", 0, "Draw the state at TIME instead of the final one ('last')", 1},
    {0},
};

static const struct argp_child children[] = {
    {.argp = &tg_trace_argp}, {&tg_selection_argp, 0, "What to draw:", 2}, {0}};

static const struct argp argp = {
    .options = options,
    .parser = parse_option,
    .args_doc = "[TRACE]",
    .doc = "Draw the sequence diagram of a recorded job: who was in which region, single, critical or "
           "collective, "
           "who passed which barrier, and where each thread or rank is at the end.",
    .children = children,
};

/* run.tgt -> run.svg, beside it. */
static struct tg_error *name_output(struct sequence_arguments *arguments)
{
    size_t length = strlen(arguments->trace.path);
    if (length > 4 && strcmp(arguments->trace.path + length - 4, ".tgt") == 0)
        length -= 4;
    if (asprintf(&arguments->own_output, "%.*s%s", (int)length, arguments->trace.path,
                 arguments->format->suffix) < 0) {
        arguments->own_output = NULL;
        return tg_error_no_memory();
    }
    arguments->trace.output = arguments->own_output;
    return NULL;
}

struct tg_error *tg_sequence_open(const char *path)
{
    extern char **environ;
    char *const command[] = {(char[]){"xdg-open"}, (char *)path, NULL};
    pid_t pid;
    int status, failure = posix_spawnp(&pid, command[0], NULL, NULL, command, environ);
    if (failure != 0)
        return tg_error_create_errno(failure, "xdg-open");
    while (waitpid(pid, &status, 0) < 0)
        if (errno != EINTR)
            return tg_error_create_errno(errno, "xdg-open");
    if (status != 0)
        return tg_error_create(TG_ERROR_OS, "xdg-open could not open %s", path);
    return NULL;
}

static void tell(const struct sequence_arguments *arguments, const struct tg_sequence_reading *reading)
{
    char count[TG_QUANTITY_SIZE];
    if (!arguments->print && strcmp(arguments->trace.output, "-") != 0) {
        tg_printable_write(stdout, arguments->trace.output);
        putchar('\n');
        fflush(stdout);
    }
    if (*reading->note != '\0')
        fprintf(stderr, "tollgate: %s\n", reading->note);
    if (arguments->format->max_characters != 0 && arguments->n_characters > arguments->format->max_characters)
        fprintf(stderr, "tollgate: %s characters; %s\n", tg_quantity_count(arguments->n_characters, count),
                arguments->format->how_more);
    if (reading->damage == NULL)
        tg_trace_write_extent(stderr, arguments->trace.path, &reading->summary, reading->start_ns);
}

static struct tg_error *write_diagram(struct sequence_arguments *arguments,
                                      const struct tg_sequence_reading *reading, struct tg_output *output)
{
    const struct tg_sequence_drawing drawing = {.sequence = reading->sequence,
                                                .rows = &reading->rows,
                                                .title = reading->title,
                                                .note = reading->note};
    struct tg_error *error = tg_sequence_format_write(arguments->format, &drawing, tg_output_stream(output),
                                                      &arguments->n_characters);
    return error != NULL ? error : tg_output_commit(output);
}

static struct tg_error *run_sequence(void *context)
{
    struct sequence_arguments *arguments = context;
    struct tg_output *output = NULL;
    struct tg_sequence_reading reading = {0};
    struct tg_progress progress = {0};
    struct tg_error *error = NULL;
    if (arguments->format == NULL)
        arguments->format = arguments->print ? &tg_sequence_seqdiag : tg_sequence_format_at(0);
    if (!arguments->print && arguments->trace.output == NULL)
        error = name_output(arguments);
    if (error == NULL)
        error = tg_output_refuse_input(arguments->trace.output, arguments->trace.path);
    arguments->request.path = arguments->trace.path;
    arguments->request.services = arguments->trace.symbols;
    arguments->request.selection = &arguments->trace.selection;
    arguments->request.progress = &progress;
    if (error == NULL)
        error = tg_output_open(arguments->trace.output, arguments->trace.force, &output);
    if (error == NULL) {
        tg_progress_init(&progress, output, false, 2);
        error = tg_sequence_read(&arguments->request, &reading);
    }
    if (error == NULL)
        error = write_diagram(arguments, &reading, output);
    tg_output_destroy(output);
    if (error == NULL) {
        tell(arguments, &reading);
        if (arguments->open)
            error = tg_sequence_open(arguments->trace.output);
    }
    if (error == NULL) {
        error = reading.damage;
        reading.damage = NULL;
    }
    tg_sequence_reading_deinit(&reading);
    return error;
}

static int run(int argc, char **argv, const struct tg_command_services *services)
{
    struct sequence_arguments arguments = {.trace = {.services = services, .command = "sequence"}};
    int status = tg_trace_arguments_run(&argp, argc, argv, &arguments.trace, &arguments, run_sequence);
    free(arguments.own_output);
    return status;
}

const struct tg_command tg_sequence_command = {
    .name = "sequence",
    .summary = "draw who is in which region, barrier or collective",
    .run = run,
};
