#include "analyzer/output/trace_arguments.h"

#include "analyzer/output/trace_choice.h"
#include "format/base/printable.h"
#include "format/settings/command_line.h"

#include <stdlib.h>
#include <string.h>

enum { KEY_OUTPUT = 'o', KEY_SYMBOLS = 0x1000, KEY_FORCE };

static error_t parse_trace(int key, char *argument, struct argp_state *state)
{
    struct tg_trace_arguments *trace = state->input;
    switch (key) {
    case ARGP_KEY_INIT:
        trace->symbols = trace->services;
        return 0;
    case KEY_SYMBOLS:
        if (strcmp(argument, "auto") != 0 && strcmp(argument, "off") != 0)
            tg_command_line_error(state, "--symbols takes auto or off, not '%s'", argument);
        trace->symbols = strcmp(argument, "auto") == 0 ? trace->services : NULL;
        return 0;
    case ARGP_KEY_ARG:
        if (trace->path != NULL)
            tg_command_line_error(state, "give one TRACE, not several");
        trace->path = argument;
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp_option trace_options[] = {
    {"symbols", KEY_SYMBOLS, "auto|off", 0,
     "Show functions and source lines for code addresses (default: auto, from the files on this machine)", 0},
    {0},
};

const struct argp tg_trace_argp = {.options = trace_options, .parser = parse_trace};

static error_t parse_output(int key, char *argument, struct argp_state *state)
{
    struct tg_trace_arguments *trace = state->input;
    switch (key) {
    case KEY_OUTPUT:
        trace->output = argument;
        return 0;
    case KEY_FORCE:
        trace->force = true;
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp_option output_options[] = {
    {"output", KEY_OUTPUT, "FILE", 0, "Write to FILE instead of standard output", 0},
    {"force", KEY_FORCE, NULL, 0, "Overwrite FILE if it exists", 0},
    {0},
};

const struct argp tg_trace_output_argp = {.options = output_options, .parser = parse_output};

int tg_trace_arguments_run(const struct argp *argp, int argc, char **argv, struct tg_trace_arguments *trace,
                           void *arguments, struct tg_error *(*act)(void *arguments))
{
    TG_AUTO_ERROR struct tg_error *error = NULL;
    if (tg_command_line_parse(argp, TG_COMMAND_LINE_OPERANDS, argc, argv, arguments) != 0) {
        error = trace->selection.error != NULL ? trace->selection.error : tg_error_no_memory();
        trace->selection.error = NULL;
    } else {
        error = tg_trace_choice_make(trace->command, trace->path, &trace->own_path);
        trace->path = trace->own_path;
        if (error == NULL)
            error = act(arguments);
    }
    tg_selection_deinit(&trace->selection);
    free(trace->own_path);
    if (error != NULL)
        tg_printable_error(error);
    return tg_error_exit_status(error);
}
