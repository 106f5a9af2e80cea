/* tollgate: the table of commands, and nothing else. */
#include "analyzer/dump/command.h"
#include "analyzer/dump/recover_command.h"
#include "analyzer/filter/command.h"
#include "analyzer/report/command.h"
#include "analyzer/sequence/command.h"
#include "format/base/printable.h"
#include "format/image/symbolizer.h"
#include "format/settings/command.h"
#include "live/console/live_command.h"
#include "live/console/replay_command.h"
#include "recorder/record/calibrate.h"
#include "recorder/record/command.h"
#include "recorder/rings/salvage.h"

#include <locale.h>
#include <stdio.h>
#include <string.h>

#ifndef TG_VERSION
#define TG_VERSION "unknown"
#endif

/* To add a command see struct tg_command. Order is the order of `tollgate --help`. */
static const struct tg_command *const commands[] = {
    &tg_record_command,   &tg_report_command,  &tg_filter_command,
    &tg_sequence_command, &tg_dump_command,    &tg_replay_command,
    &tg_live_command,     &tg_recover_command, NULL,
};

static const struct tg_command_services services = {
    .measure_stop_cost = tg_calibrate_stop_cost,
    .salvage_rings = tg_agent_salvage,
    .discard_rings = tg_agent_salvage_discard,
    .symbolizer_create = tg_symbolizer_create,
    .symbolizer_destroy = tg_symbolizer_destroy,
    .symbolizer_resolve = tg_symbolizer_resolve,
};

static void print_help(FILE *stream)
{
    fputs("Usage: tollgate COMMAND [OPTION...] [ARGUMENT...]\n\n"
          "Record what a debugger would see of an MPI + OpenMP job, and ask the trace "
          "afterwards.\n\nCommands:\n",
          stream);
    for (size_t i = 0; commands[i] != NULL; i++)
        fprintf(stream, "  %-10s %s\n", commands[i]->name, commands[i]->summary);
    fputs("\n`tollgate COMMAND --help` and `man tollgate-COMMAND` tell more.\n", stream);
}

int main(int argc, char **argv)
{
    /* Text is UTF-8 whatever the environment says: the same trace gives the same bytes everywhere. */
    setlocale(LC_CTYPE, "C.UTF-8");
    if (argc < 2) {
        print_help(stderr);
        return 2;
    }
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0 || strcmp(argv[1], "help") == 0) {
        print_help(stdout);
        return 0;
    }
    if (strcmp(argv[1], "--version") == 0 || strcmp(argv[1], "-V") == 0) {
        puts("tollgate " TG_VERSION);
        return 0;
    }
    for (size_t i = 0; commands[i] != NULL; i++) {
        if (strcmp(commands[i]->name, argv[1]) != 0)
            continue;
        static char program_name[64];
        snprintf(program_name, sizeof program_name, "tollgate %s", commands[i]->name);
        argv[1] = program_name;
        return commands[i]->run(argc - 1, argv + 1, &services);
    }
    char name[64];
    fprintf(stderr, "tollgate: there is no command '%s'; `tollgate --help` lists them\n",
            tg_printable(argv[1], name, sizeof name));
    return 2;
}
