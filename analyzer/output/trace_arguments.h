/* Command-line arguments shared by the commands that read one trace. */
#ifndef TG_ANALYZER_OUTPUT_TRACE_ARGUMENTS_H
#define TG_ANALYZER_OUTPUT_TRACE_ARGUMENTS_H

#include "analyzer/output/selection.h"
#include "format/base/error.h"
#include "format/settings/command.h"

#include <argp.h>
#include <stdbool.h>

/* Caller's storage, kept as long as what is done with it; the first two are the caller's to fill. */
struct tg_trace_arguments {
    const struct tg_command_services *services;
    const char *command; /* "report" */

    const char *path;                          /* TRACE; the newest one here where none was given */
    const struct tg_command_services *symbols; /* for names of addresses; NULL: they stay numbers */
    const char *output;                        /* NULL: not given */
    bool force;
    struct tg_selection selection;
    char *own_path; /* storage of PATH */
};

/* Child parsers whose input is the struct: TRACE and --symbols; --output and --force. The selection has one
 * of its own (analyzer/output/selection.h). */
extern const struct argp tg_trace_argp;
extern const struct argp tg_trace_output_argp;

/* Parses the command line with ARGP, whose input is ARGUMENTS with TRACE as a part; chooses the trace
 * (analyzer/output/trace_choice.h); calls ACT; frees what TRACE owns. Prints errors; returns the exit
 * status. */
int tg_trace_arguments_run(const struct argp *argp, int argc, char **argv, struct tg_trace_arguments *trace,
                           void *arguments, struct tg_error *(*act)(void *arguments));

#endif
