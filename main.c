/* tollgate: the table of commands, and nothing else. */
#include "analyzer/dump/command.h"
#include "analyzer/dump/recover_command.h"
#include "analyzer/dump/redact_command.h"
#include "analyzer/filter/command.h"
#include "analyzer/heap/command.h"
#include "analyzer/report/command.h"
#include "analyzer/sequence/command.h"
#include "analyzer/where/command.h"
#include "format/base/near_name.h"
#include "format/base/printable.h"
#include "format/base/standard_files.h"
#include "format/image/break_finder.h"
#include "format/image/symbolizer.h"
#include "format/settings/command.h"
#include "live/commands/live_command.h"
#include "live/commands/replay_command.h"
#include "live/commands/web_command.h"
#include "recorder/look/core_look.h"
#include "recorder/look/jobs.h"
#include "recorder/look/look.h"
#include "recorder/look/return_watch.h"
#include "recorder/process/core_file.h"
#include "recorder/record/calibrate.h"
#include "recorder/record/calibrate_command.h"
#include "recorder/record/command.h"
#include "recorder/rings/salvage.h"

#include <argp.h>
#include <errno.h>
#include <locale.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifndef TG_VERSION
#define TG_VERSION "unknown"
#endif

/* To add a command see struct tg_command. Order is the order of `tollgate --help`. */
static const struct tg_command *const commands[] = {
    &tg_where_command,     &tg_record_command,
    &tg_report_command,    &tg_filter_command,
    &tg_heap_command,      &tg_sequence_command,
    &tg_dump_command,      &tg_replay_command,
    &tg_live_command,      &tg_web_command,
    &tg_recover_command,   &tg_redact_command,
    &tg_calibrate_command, NULL,
};

static const struct tg_command_services services = {
    .measure_stop_cost = tg_calibrate_stop_cost,
    .salvage_rings = tg_agent_salvage,
    .discard_rings = tg_agent_salvage_discard,
    .symbolizer_create = tg_symbolizer_create,
    .symbolizer_destroy = tg_symbolizer_destroy,
    .symbolizer_resolve = tg_symbolizer_resolve,
    .symbolizer_variable = tg_symbolizer_variable,
    .find_breaks = tg_break_finder_find,
    .look = tg_look,
    .look_at_cores = tg_core_look,
    .is_core = tg_core_file_is_one,
    .watch_create = tg_return_watch_create,
    .watch_destroy = tg_return_watch_destroy,
    .watch_refusal = tg_return_watch_refusal,
    .find_jobs = tg_jobs_find,
    .find_ranks = tg_jobs_find_ranks,
};

static void print_help(FILE *stream)
{
    fputs("Usage: tollgate COMMAND [OPTION...] [ARGUMENT...]\n\n"
          "Record what a debugger would see of an MPI + OpenMP job, and inspect the "
          "trace afterwards.\n\nCommands:\n",
          stream);
    for (size_t i = 0; commands[i] != NULL; i++)
        fprintf(stream, "  %-10s %s\n", commands[i]->name, commands[i]->summary);
    fputs(
        "\n'tollgate help COMMAND' shows the options of a command; 'man tollgate-COMMAND' has the details.\n",
        stream);
}

/* Says that nothing is called WORD, which is where a command or a general option is expected. */
static int refuse(const char *word)
{
    static const char *const options[] = {"--help", "--version"};
    bool is_option = word[0] == '-';
    char shown[64], hint[TG_NEAR_NAME_HINT];
    struct tg_near_name near;
    tg_near_name_init(&near, word);
    for (size_t i = 0; !is_option && commands[i] != NULL; i++)
        tg_near_name_offer(&near, commands[i]->name);
    if (!is_option)
        tg_near_name_offer(&near, "help");
    for (size_t i = 0; is_option && i < sizeof options / sizeof *options; i++)
        tg_near_name_offer(&near, options[i]);
    tg_near_name_hint(&near, hint);
    fprintf(stderr, "tollgate: unknown %s '%s'%s\nTry 'tollgate --help' for a list of commands.\n",
            is_option ? "option" : "command", tg_printable(word, shown, sizeof shown),
            is_option && *hint == '\0' ? "; options of a command come after it" : hint);
    return 2;
}

/* Runs the command that ARGV begins with. */
static int run_command(int argc, char **argv)
{
    static char program_name[64];
    for (size_t i = 0; commands[i] != NULL; i++) {
        if (strcmp(commands[i]->name, argv[0]) != 0)
            continue;
        /* Text is UTF-8 whatever the environment says: the same trace gives the same bytes everywhere. */
        if (!commands[i]->has_no_columns)
            setlocale(LC_CTYPE, "C.UTF-8");
        snprintf(program_name, sizeof program_name, "tollgate %s", commands[i]->name);
        argv[0] = program_name;
        return commands[i]->run(argc, argv, &services);
    }
    return refuse(argv[0]);
}

static int show_help(int argc, char **argv)
{
    if (argc > 0 && strcmp(argv[0], "help") != 0) {
        char help[] = "--help";
        char *of_command[] = {argv[0], help, NULL};
        return run_command(2, of_command);
    }
    print_help(stdout);
    return 0;
}

static bool is_one_of(const char *word, const char *a, const char *b)
{
    return strcmp(word, a) == 0 || strcmp(word, b) == 0;
}

/* Text that does not come to its reader is no success; a reader that went away is no error. */
static void close_output(void)
{
    errno = 0;
    if ((fflush(stdout) == 0 && ferror(stdout) == 0) || errno == EPIPE)
        return;
    struct tg_error *error =
        tg_error_create_errno(errno != 0 ? errno : EIO, "cannot write to standard output");
    tg_printable_error(error);
    _exit(tg_error_exit_status(error));
}

int main(int argc, char **argv)
{
    tg_standard_files_open();
    atexit(close_output);
    argp_program_version = "tollgate " TG_VERSION;
    if (argc < 2) {
        print_help(stderr);
        return 2;
    }
    if (strcmp(argv[1], "help") == 0)
        return show_help(argc - 2, argv + 2);
    if (is_one_of(argv[1], "--help", "-h"))
        return show_help(0, NULL);
    if (is_one_of(argv[1], "--version", "-V")) {
        puts(argp_program_version);
        return 0;
    }
    return run_command(argc - 1, argv + 1);
}
