/* `tollgate calibrate` */
#include "recorder/record/calibrate_command.h"

#include "format/base/json_writer.h"
#include "format/base/printable.h"
#include "format/settings/command_line.h"
#include "recorder/record/calibrate.h"
#include "recorder/record/debugger_cost.h"

#include <argp.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum { KEY_DEBUGGER = 0x100, KEY_LIBRARIES, KEY_LOAD, KEY_JSON, DEFAULT_LIBRARIES = 50 };

struct calibrate_arguments {
    const char *debugger; /* NULL: none */
    const char *load;     /* directory of the libraries, in the program that is measured */
    uint64_t libraries;
    bool json;
};

static const struct argp_option options[] = {
    {"debugger", KEY_DEBUGGER, "DEBUGGER", 0, "Measure what gdb or lldb takes for each dlopen event", 0},
    {"libraries", KEY_LIBRARIES, "N", 0, "Number of libraries to load under the debugger (default: 50)", 0},
    {"load-libraries", KEY_LOAD, "DIRECTORY", OPTION_HIDDEN, NULL, 0},
    {"json", KEY_JSON, NULL, 0, "Write JSON (fields: see tollgate-calibrate(1))", 0},
    {0},
};

static error_t parse_option(int key, char *argument, struct argp_state *state)
{
    struct calibrate_arguments *arguments = state->input;
    char *end;
    switch (key) {
    case KEY_DEBUGGER:
        arguments->debugger = argument;
        return 0;
    case KEY_LIBRARIES:
        errno = 0;
        arguments->libraries = strtoull(argument, &end, 10);
        if (errno != 0 || argument[0] < '0' || argument[0] > '9' || *end != '\0' ||
            arguments->libraries < 2 || arguments->libraries > TG_DEBUGGER_COST_MAX_LIBRARIES)
            tg_command_line_error(state, "--libraries: give a number from 2 to %d",
                                  TG_DEBUGGER_COST_MAX_LIBRARIES);
        return 0;
    case KEY_LOAD:
        arguments->load = argument;
        return 0;
    case KEY_JSON:
        arguments->json = true;
        return 0;
    case ARGP_KEY_ARG:
        tg_command_line_error(state, "no argument is expected");
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp argp = {
    .options = options,
    .parser = parse_option,
    .doc = "Measure on this machine what a stop costs and, with --debugger, what a debugger takes from a "
           "program for "
           "each dlopen event: the number for `tollgate filter --round-trip-us`.",
};

/* ---- output */

static void print_quartiles(const struct tg_quartiles *ns, double unit, const char *name)
{
    printf("%.1f %s (%.1f to %.1f)", (double)ns->median / unit, name, (double)ns->low / unit,
           (double)ns->high / unit);
}

static void print_text(const struct calibrate_arguments *arguments, const struct tg_stop_cost *stop,
                       const struct tg_debugger_cost *debugger)
{
    fputs("A stop: ", stdout);
    print_quartiles(&stop->stop, 1e3, "us");
    fputs("; where stops are far apart: ", stdout);
    print_quartiles(&stop->sparse_stop, 1e3, "us");
    printf(". %" PRIu64 " samples.\n", stop->samples);
    if (arguments->debugger == NULL)
        return;
    tg_printable_write(stdout, arguments->debugger);
    fputs(": ", stdout);
    print_quartiles(&debugger->event_ns, 1e6, "ms");
    printf(" a dlopen event, in a program that loads %" PRIu64 " libraries, with one pending breakpoint.\n"
           "next: tollgate filter TRACE --suggest --processes N --round-trip-us %.0f\n",
           debugger->libraries, (double)debugger->event_ns.median / 1e3);
}

static void write_quartiles(struct tg_json *json, const char *name, const struct tg_quartiles *quartiles)
{
    tg_json_key(json, name);
    tg_json_begin_array(json);
    tg_json_unsigned(json, quartiles->low);
    tg_json_unsigned(json, quartiles->median);
    tg_json_unsigned(json, quartiles->high);
    tg_json_end_array(json);
}

static void write_json(const struct calibrate_arguments *arguments, const struct tg_stop_cost *stop,
                       const struct tg_debugger_cost *debugger)
{
    struct tg_json json;
    tg_json_init(&json, stdout, true);
    tg_json_begin_object(&json);
    write_quartiles(&json, "stop_ns", &stop->stop);
    write_quartiles(&json, "hidden_ns", &stop->hidden);
    write_quartiles(&json, "sparse_stop_ns", &stop->sparse_stop);
    write_quartiles(&json, "sparse_hidden_ns", &stop->sparse_hidden);
    tg_json_member_unsigned(&json, "samples", stop->samples);
    if (arguments->debugger != NULL) {
        tg_json_member_string(&json, "debugger", arguments->debugger);
        tg_json_member_unsigned(&json, "libraries", debugger->libraries);
        write_quartiles(&json, "event_ns", &debugger->event_ns);
        write_quartiles(&json, "native_ns", &debugger->native_ns);
    }
    tg_json_end_object(&json);
    tg_json_end_line(&json);
}

static int run(int argc, char **argv, const struct tg_command_services *services)
{
    struct calibrate_arguments arguments = {.libraries = DEFAULT_LIBRARIES};
    struct tg_stop_cost stop;
    struct tg_debugger_cost debugger = {0};
    struct tg_error *error = NULL;
    if (tg_command_line_parse(&argp, TG_COMMAND_LINE_OPERANDS, argc, argv, &arguments) != 0)
        return 2;
    if (arguments.load != NULL)
        return tg_debugger_cost_load(arguments.load, arguments.libraries);
    error = services->measure_stop_cost(&stop);
    if (error == NULL && arguments.debugger != NULL)
        error = tg_debugger_cost_measure(arguments.debugger, arguments.libraries, &debugger);
    if (error != NULL) {
        int status = tg_error_exit_status(error);
        tg_printable_error(error);
        tg_error_destroy(error);
        return status;
    }
    if (arguments.json)
        write_json(&arguments, &stop, &debugger);
    else
        print_text(&arguments, &stop, &debugger);
    return 0;
}

const struct tg_command tg_calibrate_command = {
    .name = "calibrate",
    .summary = "measure what a stop costs on this machine, and what a debugger takes",
    .run = run,
};
