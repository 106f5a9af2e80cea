/* `tollgate recover` */
#include "analyzer/dump/recover_command.h"
#include "analyzer/output/output_file.h"
#include "analyzer/output/quantity.h"
#include "analyzer/output/trace_choice.h"
#include "format/base/json_writer.h"
#include "format/base/printable.h"
#include "format/settings/command_line.h"
#include "format/trace/recovery.h"
#include "format/trace/redactor.h"

#include <argp.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

enum { KEY_JSON = 'j', KEY_OUTPUT = 'o', KEY_FORCE = 0x200, KEY_DRY_RUN };
enum { MAX_PROBLEM = 512 };

struct recover_arguments {
    const char *path;
    const char *output; /* the trace to write */
    bool json, force, dry_run;
};

/* Events that the agents of an interrupted recording left in their rings. */
struct rings {
    const struct tg_command_services *services;
    bool only_look;
    bool salvaged; /* STATS says what */
    bool removed;
    struct tg_salvage_stats stats;
    char *directory; /* NULL: the trace names none */
    char *problem;   /* why nothing was salvaged, or not all; NULL none */
};

static error_t parse_option(int key, char *argument, struct argp_state *state)
{
    struct recover_arguments *arguments = state->input;
    switch (key) {
    case KEY_JSON:
        arguments->json = true;
        return 0;
    case KEY_OUTPUT:
        arguments->output = argument;
        return 0;
    case KEY_FORCE:
        arguments->force = true;
        return 0;
    case KEY_DRY_RUN:
        arguments->dry_run = true;
        return 0;
    case ARGP_KEY_ARG:
        if (arguments->path != NULL)
            tg_command_line_error(state, "one trace at a time");
        arguments->path = argument;
        return 0;
    case ARGP_KEY_NO_ARGS:
        tg_command_line_error(state, "name the TRACE to recover");
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp_option options[] = {
    {"output", KEY_OUTPUT, "OUT", 0,
     "Write the repaired trace to OUT (default: TRACE without \".incomplete\", or TRACE.recovered)", 0},
    {"force", KEY_FORCE, NULL, 0, "Overwrite OUT if it exists; OUT may be TRACE itself", 0},
    {"dry-run", KEY_DRY_RUN, NULL, 0, "Only report what would be kept and what is missing; write nothing", 0},
    {"json", KEY_JSON, NULL, 0, "Write the report as JSON (fields: see tollgate-recover(1))", 0},
    {0},
};

static const struct argp argp = {
    .options = options,
    .parser = parse_option,
    .args_doc = "TRACE",
    .doc = "Repair a trace whose recording was interrupted or whose file was damaged: every intact chunk is "
           "kept, the "
           "index is rebuilt, and what is missing is reported, in the trace as well.",
};

/* The default name of the repaired trace; owned by the caller. */
static char *default_output(const char *path)
{
    static const char suffix[] = ".incomplete";
    size_t length = strlen(path), suffix_length = sizeof suffix - 1;
    if (length > suffix_length && strcmp(path + length - suffix_length, suffix) == 0 &&
        path[length - suffix_length - 1] != '/')
        return strndup(path, length - suffix_length);
    char *output = NULL;
    return asprintf(&output, "%s.recovered", path) < 0 ? NULL : output;
}

/* Never before the start of the recording: damaged headers may say so. */
static void print_moment(FILE *stream, const struct tg_recovery *recovery, uint64_t time_ns)
{
    char buffer[TG_QUANTITY_SIZE];
    uint64_t moment_ns = time_ns > recovery->start_ns ? time_ns : recovery->start_ns;
    fprintf(stream, "%s s", tg_quantity_moment(moment_ns, recovery->start_ns, 6, buffer));
}

static void print_gap(FILE *stream, const struct tg_recovery *recovery, const struct tg_recovery_gap *gap)
{
    char buffer[TG_QUANTITY_SIZE];
    fprintf(stream, "  at offset %" PRIu64 ": ", gap->offset);
    if (gap->size_bytes > 0)
        fprintf(stream, "%s bytes %s", tg_quantity_count(gap->size_bytes, buffer),
                gap->at_end ? "incomplete or damaged" : "damaged");
    else
        fputs("sections missing, nothing damaged", stream);
    if (gap->sections > 0)
        fprintf(stream, "; %s sections missing", tg_quantity_count(gap->sections, buffer));
    if (gap->events > 0)
        fprintf(stream, "; %s events lost", tg_quantity_count(gap->events, buffer));
    fputs(gap->has_after_ns ? "; after " : "; from the start", stream);
    if (gap->has_after_ns)
        print_moment(stream, recovery, gap->after_ns);
    if (gap->has_before_ns) {
        fputs(" and before ", stream);
        print_moment(stream, recovery, gap->before_ns);
    }
    fputc('\n', stream);
}

static void print_rings(FILE *stream, const struct rings *rings)
{
    char events[TG_QUANTITY_SIZE], number[TG_QUANTITY_SIZE];
    if (rings->salvaged)
        fprintf(stream, "  %s more events from %s agent ring%s%s\n",
                tg_quantity_count(rings->stats.events, events), tg_quantity_count(rings->stats.rings, number),
                rings->stats.rings == 1 ? "" : "s", rings->removed ? ", now removed" : "");
    if (rings->salvaged && rings->stats.lost_events > 0)
        fprintf(stream, "  %s events were lost in the rings\n",
                tg_quantity_count(rings->stats.lost_events, events));
    if (rings->salvaged && rings->stats.is_exact)
        fprintf(stream, "  %s that agents recorded%s is missing\n",
                rings->stats.lost_events > 0 ? "nothing else" : "nothing",
                rings->stats.goes_on ? " until now" : "");
    if (rings->problem != NULL) {
        fputs("  ", stream);
        tg_printable_write(stream, rings->problem);
        fputc('\n', stream);
    }
}

static void print_text(FILE *stream, const struct recover_arguments *arguments,
                       const struct tg_recovery *recovery, const struct rings *rings, const char *written)
{
    char chunks[TG_QUANTITY_SIZE], events[TG_QUANTITY_SIZE];
    tg_printable_write(stream, arguments->path);
    fprintf(stream, ": %s, %s events in %s chunk%s", recovery->was_whole ? "intact" : "kept",
            tg_quantity_count(recovery->events, events), tg_quantity_count(recovery->chunks, chunks),
            recovery->chunks == 1 ? "" : "s");
    if (recovery->events > 0) {
        fputs(", ", stream);
        print_moment(stream, recovery, recovery->first_time_ns);
        fputs(" to ", stream);
        print_moment(stream, recovery, recovery->file_last_ns);
    }
    fputc('\n', stream);
    if (recovery->meta_lost)
        fputs("  the description of the job (host, command, ...) is lost\n", stream);
    size_t shown = recovery->n_gaps < TG_RECOVERY_MAX_GAPS ? recovery->n_gaps : TG_RECOVERY_MAX_GAPS;
    for (size_t i = 0; i < shown; i++)
        print_gap(stream, recovery, &recovery->gaps[i]);
    if (shown < recovery->n_gaps)
        fprintf(stream, "  and %s more such places\n", tg_quantity_count(recovery->n_gaps - shown, events));
    if (!recovery->has_index) {
        fputs(recovery->recorder != 0
                  ? "  still recording: "
                  : "  the recording was interrupted, or the end of the file is missing: ",
              stream);
        if (recovery->events == 0) {
            fputs(recovery->recorder != 0 ? "no events yet\n" : "it has no events\n", stream);
        } else {
            fputs("no events after ", stream);
            print_moment(stream, recovery, recovery->file_last_ns);
            fputs(recovery->rest_events > 0 ? " in the file" : "", stream);
            fputc('\n', stream);
        }
    }
    if (recovery->lost_events > 0)
        fprintf(stream, "  %s events were lost while recording\n",
                tg_quantity_count(recovery->lost_events, events));
    print_rings(stream, rings);
    if (written == NULL && !arguments->dry_run)
        fputs("nothing to repair; nothing written\n", stream);
    if (written != NULL) {
        fputs("written: ", stream);
        tg_printable_write(stream, written);
        fputc('\n', stream);
    }
}

static void print_json_gap(struct tg_json *json, const struct tg_recovery_gap *gap)
{
    tg_json_begin_object(json);
    tg_json_member_unsigned(json, "offset", gap->offset);
    tg_json_member_unsigned(json, "size_bytes", gap->size_bytes);
    tg_json_member_unsigned(json, "sections", gap->sections);
    tg_json_member_unsigned(json, "events", gap->events);
    tg_json_key(json, "after_ns");
    if (gap->has_after_ns)
        tg_json_unsigned(json, gap->after_ns);
    else
        tg_json_null(json);
    tg_json_key(json, "before_ns");
    if (gap->has_before_ns)
        tg_json_unsigned(json, gap->before_ns);
    else
        tg_json_null(json);
    tg_json_member_bool(json, "at_end", gap->at_end);
    tg_json_end_object(json);
}

static void print_json(FILE *stream, const struct recover_arguments *arguments,
                       const struct tg_recovery *recovery, const struct rings *rings, const char *written)
{
    struct tg_json json;
    tg_json_init(&json, stream, true);
    tg_json_begin_object(&json);
    tg_json_member_string(&json, "input", arguments->path);
    tg_json_key(&json, "output");
    if (written != NULL)
        tg_json_string(&json, written);
    else
        tg_json_null(&json);
    tg_json_member_bool(&json, "whole", recovery->was_whole);
    tg_json_member_bool(&json, "closed", recovery->has_index);
    tg_json_member_bool(&json, "meta_lost", recovery->meta_lost);
    tg_json_member_unsigned(&json, "size_bytes", recovery->size_bytes);
    tg_json_member_unsigned(&json, "skipped_bytes", recovery->skipped_bytes);
    tg_json_member_unsigned(&json, "chunks", recovery->chunks);
    tg_json_member_unsigned(&json, "events", recovery->events);
    tg_json_member_unsigned(&json, "lost_events", recovery->lost_events);
    tg_json_member_unsigned(&json, "rings", rings->stats.rings);
    tg_json_member_unsigned(&json, "ring_events", rings->stats.events);
    tg_json_member_unsigned(&json, "ring_lost_events", rings->stats.lost_events);
    tg_json_member_bool(&json, "ring_exact", rings->salvaged && rings->stats.is_exact);
    tg_json_key(&json, "ring_directory");
    if (rings->directory != NULL)
        tg_json_string(&json, rings->directory);
    else
        tg_json_null(&json);
    tg_json_key(&json, "ring_problem");
    if (rings->problem != NULL)
        tg_json_string(&json, rings->problem);
    else
        tg_json_null(&json);
    tg_json_member_unsigned(&json, "first_ns", recovery->first_time_ns);
    tg_json_member_unsigned(&json, "last_ns", recovery->last_time_ns);
    tg_json_member_unsigned(&json, "n_gaps", recovery->n_gaps);
    tg_json_key(&json, "gaps");
    tg_json_begin_array(&json);
    for (size_t i = 0; i < recovery->n_gaps && i < TG_RECOVERY_MAX_GAPS; i++)
        print_json_gap(&json, &recovery->gaps[i]);
    tg_json_end_array(&json);
    tg_json_end_object(&json);
    tg_json_end_line(&json);
}

/* ---- what agents' rings still hold */

static struct tg_error *add_problem(struct rings *rings, const char *text)
{
    rings->problem = strdup(text);
    return rings->problem != NULL ? NULL : tg_error_no_memory();
}

/* Rings are memory of the machine that recorded. */
static bool is_of_another_host(const struct tg_trace_meta *meta, char text[MAX_PROBLEM])
{
    struct utsname here;
    const char *host = tg_trace_meta_get(meta, "host.name");
    if (host == NULL || uname(&here) != 0 || strcmp(host, here.nodename) == 0)
        return false;
    snprintf(text, MAX_PROBLEM,
             "events left in agent rings can be recovered only on the host that recorded, %s", host);
    return true;
}

/* What rings hold of a trace whose names are replaced: those of the recorder are not known any more. */
struct redacting {
    struct tg_redactor *redactor;
    void (*add)(void *context, const struct tg_event *event);
    void *context;
};

static void add_redacted(void *context, const struct tg_event *event)
{
    const struct redacting *redacting = context;
    struct tg_event redacted;
    struct tg_error *error = tg_redactor_event(redacting->redactor, event, &redacted);
    if (error == NULL)
        redacting->add(redacting->context, &redacted);
    tg_error_destroy(error);
}

static struct tg_error *salvage(struct rings *rings, const char *directory, bool is_redacted,
                                struct tg_recovery_place place,
                                void (*add)(void *add_context, const struct tg_event *event),
                                void *add_context)
{
    struct redacting redacting = {.add = add, .context = add_context};
    if (!is_redacted)
        return rings->services->salvage_rings(directory, place, add, add_context, &rings->stats);
    struct tg_error *error = tg_redactor_create(TG_REDACTOR_LATER, &redacting.redactor);
    if (error == NULL)
        error = rings->services->salvage_rings(directory, place, add_redacted, &redacting, &rings->stats);
    tg_redactor_destroy(redacting.redactor);
    return error;
}

static struct tg_error *tell_rings(void *context, const struct tg_trace_meta *meta,
                                   struct tg_recovery_place place,
                                   void (*add)(void *add_context, const struct tg_event *event),
                                   void *add_context, enum tg_recovery_extent *extent)
{
    struct rings *rings = context;
    char text[MAX_PROBLEM];
    const char *directory = tg_trace_meta_get(meta, "agent.directory");
    if (directory == NULL)
        return NULL;
    const char *redacted = tg_trace_meta_get(meta, "redacted");
    bool is_redacted = redacted != NULL && strcmp(redacted, "on") == 0; /* also the host's name */
    if (!is_redacted && is_of_another_host(meta, text))
        return add_problem(rings, text);
    rings->directory = strdup(directory);
    if (rings->directory == NULL)
        return tg_error_no_memory();
    TG_AUTO_ERROR struct tg_error *error = salvage(rings, directory, is_redacted, place, add, add_context);
    rings->salvaged = error == NULL;
    if (error == NULL && rings->stats.is_exact)
        *extent = rings->stats.goes_on ? TG_RECOVERY_SO_FAR : TG_RECOVERY_ALL;
    if (error == NULL)
        return NULL;
    if (tg_error_code(error) == TG_ERROR_EXISTS && !rings->only_look)
        return tg_error_create(TG_ERROR_EXISTS,
                               "the recorder of this trace is still running: end it first (%s)",
                               tg_error_message(error));
    if (tg_error_code(error) == TG_ERROR_NOT_FOUND)
        snprintf(text, sizeof text,
                 "events left in agent rings are lost: %s does not exist (the machine was rebooted, or the "
                 "trace was "
                 "recovered before)",
                 directory);
    else
        snprintf(text, sizeof text, "cannot recover the events left in agent rings: %s",
                 tg_error_message(error));
    return add_problem(rings, text);
}

/* Removes the rings: their events are in the new trace. */
static struct tg_error *discard_rings(struct rings *rings)
{
    if (!rings->salvaged || rings->only_look)
        return NULL;
    TG_AUTO_ERROR struct tg_error *error = rings->services->discard_rings(rings->directory);
    rings->removed = error == NULL;
    return error == NULL ? NULL : add_problem(rings, tg_error_message(error));
}

static bool is_intact(const struct tg_recovery *recovery)
{
    return recovery->was_whole && recovery->has_index && !recovery->meta_lost;
}

/* Whether there is nothing to do: a name was not asked for, and TRACE, which is not called ".incomplete", lacks nothing. */
static struct tg_error *look(const struct recover_arguments *arguments, const char *chosen,
                             struct tg_recovery *recovery, bool *is_done)
{
    size_t length = strlen(arguments->path);
    *is_done = false;
    if (arguments->output != NULL || arguments->dry_run || strlen(chosen) < length)
        return NULL;
    struct tg_error *error = tg_trace_recover(arguments->path, NULL, false, NULL, recovery);
    if (error == NULL && is_intact(recovery)) {
        *is_done = true;
        return NULL;
    }
    tg_recovery_deinit(recovery);
    *recovery = (struct tg_recovery){0};
    return error;
}

static struct tg_error *recover(const struct recover_arguments *arguments,
                                const struct tg_command_services *services)
{
    struct tg_recovery recovery = {0};
    struct tg_output *output = NULL;
    struct rings rings = {.services = services, .only_look = arguments->dry_run};
    const struct tg_recovery_rest rest = {.context = &rings, .tell = tell_rings};
    struct tg_error *error = tg_trace_choice_check(arguments->path);
    if (error != NULL)
        return error;
    char *chosen = arguments->output == NULL ? default_output(arguments->path) : strdup(arguments->output);
    if (chosen == NULL)
        return tg_error_no_memory();
    const char *written = arguments->dry_run ? NULL : chosen;
    bool is_done = false;
    error = tg_output_open(NULL, false, &output);
    if (error == NULL)
        error = look(arguments, chosen, &recovery, &is_done);
    if (is_done)
        written = NULL;
    if (error == NULL && !is_done)
        error = tg_trace_recover(arguments->path, written, arguments->force, &rest, &recovery);
    if (error == NULL)
        error = discard_rings(&rings);
    if (error == NULL) {
        if (arguments->json)
            print_json(tg_output_stream(output), arguments, &recovery, &rings, written);
        else
            print_text(tg_output_stream(output), arguments, &recovery, &rings, written);
        error = tg_output_commit(output);
    }
    tg_output_destroy(output);
    tg_recovery_deinit(&recovery);
    free(rings.directory);
    free(rings.problem);
    free(chosen);
    return error;
}

static int run(int argc, char **argv, const struct tg_command_services *services)
{
    struct recover_arguments arguments = {0};
    TG_AUTO_ERROR struct tg_error *error = NULL;
    if (tg_command_line_parse(&argp, TG_COMMAND_LINE_OPERANDS, argc, argv, &arguments) != 0)
        error = tg_error_no_memory();
    else
        error = recover(&arguments, services);
    if (error != NULL)
        tg_printable_error(error);
    return tg_error_exit_status(error);
}

const struct tg_command tg_recover_command = {
    .name = "recover",
    .summary = "repair an interrupted or damaged trace",
    .run = run,
};
