/* `tollgate redact` */
#include "analyzer/dump/redact_command.h"

#include "analyzer/dump/code_sites.h"
#include "analyzer/output/progress.h"
#include "analyzer/output/trace_choice.h"
#include "format/base/printable.h"
#include "format/settings/command_line.h"
#include "format/trace/event_appender.h"
#include "format/trace/file.h"
#include "format/trace/reader.h"
#include "format/trace/redactor.h"

#include <argp.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { KEY_OUTPUT = 'o', KEY_FORCE = 0x200 };

struct redact_arguments {
    const char *path, *output;
    bool force;
};

static error_t parse_option(int key, char *argument, struct argp_state *state)
{
    struct redact_arguments *arguments = state->input;
    switch (key) {
    case KEY_OUTPUT:
        arguments->output = argument;
        return 0;
    case KEY_FORCE:
        arguments->force = true;
        return 0;
    case ARGP_KEY_ARG:
        if (arguments->path != NULL)
            tg_command_line_error(state, "one trace at a time");
        arguments->path = argument;
        return 0;
    case ARGP_KEY_NO_ARGS:
        tg_command_line_error(state, "name the TRACE to redact");
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp_option options[] = {
    {"output", KEY_OUTPUT, "OUT", 0, "Write the copy to OUT (default: TRACE with \"-redacted\" in its name)",
     0},
    {"force", KEY_FORCE, NULL, 0, "Overwrite OUT if it exists", 0},
    {0},
};

static const struct argp argp = {
    .options = options,
    .parser = parse_option,
    .args_doc = "TRACE",
    .doc = "Copy a trace without the names in it: arguments, paths, hosts, users, job ids, values of the "
           "environment "
           "and texts of the program are replaced, each by the same word wherever it occurs. Numbers, times, "
           "names of "
           "functions and system libraries stay: a report of the copy says the same with other names.",
};

/* run-redacted.tgt for run.tgt; owned by the caller. */
static char *default_output(const char *path)
{
    const char *slash = strrchr(path, '/'), *dot = strrchr(path, '.');
    size_t stem = dot == NULL || (slash != NULL && dot < slash) ? strlen(path) : (size_t)(dot - path);
    char *output = NULL;
    return asprintf(&output, "%.*s-redacted%s", (int)stem, path, path + stem) < 0 ? NULL : output;
}

/* A copy on its way. */
struct copy {
    struct tg_trace_reader *reader;
    struct tg_redactor *redactor;
    struct tg_trace_meta *meta;
    struct tg_trace_file *file;
    struct tg_event_appender *appender;
    struct tg_code_sites *sites;
    struct tg_progress progress; /* of both passes */
    uint64_t events, last_ns;
};

static struct tg_error *begin(struct copy *copy, const struct redact_arguments *arguments,
                              const struct tg_command_services *services, const char *output)
{
    struct tg_trace_units units = {0};
    struct tg_error *error = tg_trace_reader_open(arguments->path, &copy->reader);
    if (error == NULL)
        error = tg_redactor_create(0, &copy->redactor);
    if (error == NULL)
        error = tg_code_sites_create(services, &copy->sites);
    if (error == NULL)
        error = tg_trace_meta_create(&copy->meta);
    if (error == NULL)
        error = tg_redactor_meta(copy->redactor, tg_trace_reader_meta(copy->reader), copy->meta);
    if (error == NULL)
        error = tg_trace_meta_units(copy->meta, &units);
    if (error == NULL)
        error = tg_trace_file_create(output, ".redacting", arguments->force, 0, copy->meta, &copy->file);
    return error != NULL ? error : tg_event_appender_create(copy->file, units, &copy->appender);
}

static struct tg_error *add(void *context, const struct tg_event *event)
{
    struct copy *copy = context;
    struct tg_event redacted;
    struct tg_error *error = tg_redactor_event(copy->redactor, event, &redacted);
    if (error != NULL)
        return error;
    tg_event_appender_add(copy->appender, &redacted);
    copy->events++;
    return NULL;
}

/* Reads all events; those of the second time are written. The first time makes known which hosts and users there
 * are, so that each has one replacement from the first event on, and what code is called, whose files nobody finds by the
 * copy. */
static struct tg_error *pass(struct copy *copy, bool is_second)
{
    tg_progress_watch(&copy->progress, copy->reader);
    for (;;) {
        const struct tg_event *event = NULL;
        struct tg_event redacted;
        struct tg_error *error = tg_trace_reader_next(copy->reader, &event);
        if (error == NULL && event == NULL)
            return NULL;
        if (error != NULL)
            return error;
        if (event->time_ns > copy->last_ns)
            copy->last_ns = event->time_ns;
        if (is_second) {
            error = add(copy, event);
        } else {
            error = tg_redactor_event(copy->redactor, event, &redacted);
            if (error == NULL)
                error = tg_code_sites_feed(copy->sites, event);
        }
        if (error != NULL)
            return error;
    }
}

static struct tg_error *copy_events(struct copy *copy, const char *path)
{
    struct tg_error *error = pass(copy, false);
    tg_trace_reader_close(copy->reader);
    copy->reader = NULL;
    if (error == NULL)
        error = tg_trace_reader_open(path, &copy->reader);
    if (error == NULL)
        error = pass(copy, true);
    return error != NULL ? error : tg_code_sites_tell(copy->sites, copy->last_ns, add, copy);
}

/* What is not there, or not understood, would be missing from the copy without a word. */
static struct tg_error *check_whole(const struct copy *copy, const char *path)
{
    struct tg_trace_summary summary = tg_trace_reader_summary(copy->reader);
    if (summary.unknown_events > 0)
        return tg_error_create(TG_ERROR_UNSUPPORTED,
                               "%s: has %" PRIu64
                               " events of kinds that this version of tollgate does not know",
                               path, summary.unknown_events);
    if (!summary.complete || summary.truncated)
        return tg_error_create(TG_ERROR_INPUT, "%s: %s", path,
                               summary.is_recording ? "still being recorded"
                                                    : "not complete; `tollgate recover` repairs it");
    return NULL;
}

static struct tg_error *finish(struct copy *copy)
{
    struct tg_error *error = tg_event_appender_flush(copy->appender);
    if (error != NULL)
        return error;
    uint64_t left_out = tg_event_appender_stats(copy->appender).left_out;
    return tg_trace_file_finish(copy->file, tg_trace_reader_summary(copy->reader).lost_events + left_out);
}

static struct tg_error *redact(const struct redact_arguments *arguments,
                               const struct tg_command_services *services)
{
    struct copy copy = {0};
    struct tg_error *error = tg_trace_choice_check(arguments->path);
    if (error != NULL)
        return error;
    char *output = arguments->output != NULL ? strdup(arguments->output) : default_output(arguments->path);
    tg_progress_init(&copy.progress, NULL, false, 2);
    error = output == NULL ? tg_error_no_memory() : begin(&copy, arguments, services, output);
    if (error == NULL)
        error = copy_events(&copy, arguments->path);
    tg_progress_end(&copy.progress);
    if (error == NULL)
        error = check_whole(&copy, arguments->path);
    if (error == NULL)
        error = finish(&copy);
    if (error != NULL && copy.file != NULL)
        tg_trace_file_discard(copy.file);
    if (error == NULL) {
        fputs("tollgate: ", stderr);
        tg_printable_write(stderr, output);
        fprintf(stderr, ": %" PRIu64 " events, redacted\n", copy.events);
    }
    tg_code_sites_destroy(copy.sites);
    tg_event_appender_destroy(copy.appender);
    tg_trace_file_destroy(copy.file);
    tg_trace_meta_destroy(copy.meta);
    tg_redactor_destroy(copy.redactor);
    tg_trace_reader_close(copy.reader);
    free(output);
    return error;
}

static int run(int argc, char **argv, const struct tg_command_services *services)
{
    struct redact_arguments arguments = {0};
    TG_AUTO_ERROR struct tg_error *error = NULL;
    if (tg_command_line_parse(&argp, TG_COMMAND_LINE_OPERANDS, argc, argv, &arguments) != 0)
        error = tg_error_no_memory();
    else
        error = redact(&arguments, services);
    if (error != NULL)
        tg_printable_error(error);
    return tg_error_exit_status(error);
}

const struct tg_command tg_redact_command = {
    .name = "redact",
    .summary = "copy a trace with its names replaced, to be shown to others",
    .run = run,
};
