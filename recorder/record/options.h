/* The command line of `tollgate record`, with the settings files that it builds on. */
#ifndef TG_RECORDER_RECORD_OPTIONS_H
#define TG_RECORDER_RECORD_OPTIONS_H

#include "format/base/error.h"
#include "format/settings/command.h"
#include "format/settings/dlopen_filter.h"
#include "format/settings/settings.h"
#include "recorder/agent/contract.h"
#include "recorder/loader/loader.h"
#include "recorder/mpir/wanted_ranks.h"

#include <argp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum tg_mpir_use {
    TG_MPIR_AUTO,   /* with launched starters the whole protocol; attached ones are read */
    TG_MPIR_INSIST, /* the whole protocol with attached ones, too */
    TG_MPIR_OFF,
};

struct tg_record_options {
    /* Tells the person who records: one line of text, without a newline. On any thread of the recording. */
    void (*say)(const char *text);
    char *trace; /* path to write */
    bool force;  /* replace it where it exists */
    bool quiet;  /* say errors alone */
    bool redact; /* names are replaced before they are written */
    struct tg_dlopen_filter filter;
    struct tg_settings settings; /* of the files; the filter's variables are in FILTER already */
    enum tg_loader_watch launched;
    enum tg_loader_watch attached;
    bool dlopen_given; /* --dlopen was: what it asks for is not to be replaced by something else */
    bool no_ptrace;    /* the agent alone */
    bool late;         /* MPI calls of attached processes are observed by breakpoints */
    bool no_stacks;    /* where threads were at crashes and interruptions is not recorded */
    uint32_t agent;    /* enum tg_agent_flag; without any of OPENMP, MPI, DLOPEN, HEAP there is no agent */
    struct tg_agent_heap heap;
    uint64_t ring_bytes; /* size of an agent's ring, a power of two; 0: as much as is reasonable */
    enum tg_mpir_use mpir;
    bool mpir_trust;              /* take what a starter's table names, whatever it runs and whose it is */
    struct tg_wanted_ranks ranks; /* to acquire */
    char *sattach[3];             /* --slurm-step: COMMAND is this; its second word into ARGV */
    char **breaks;                /* specifications as given; into ARGV */
    size_t n_breaks;
    pid_t *pids; /* to attach to; none: COMMAND is run */
    size_t n_pids;
    bool own_group; /* the command gets a process group of its own */
    bool has_standard_input;
    int standard_input;   /* standard input of the command */
    char *const *command; /* NULL-terminated, into ARGV; NULL where processes are attached */
};

/* A command that takes these options and some of its own: it controls the job while it records. */
struct tg_record_options_more {
    const struct argp *argp; /* options of the command; the parser gets INPUT and sees no arguments */
    void *input;
    const char *doc; /* in place of record's */
};

/* Reads ARGV (argv[0] is the program's name for messages) and the settings files: $HOME/.tvdrc, then
 * $HOME/.tollgaterc, then .tollgaterc in the current directory; or instead of these the file named by
 * --settings, or with --no-rc none. A later file overrides an earlier one, the command line overrides all. The option names of
 * the debugger whose settings these are may have one dash. `--help` and the like print and exit, as argp does. SAY becomes the
 * member `say`; it gets skipped lines of settings files, and a filter that nobody asked for on the command line, unless
 * --quiet is given. MORE: options of a command that controls the job, so that libraries are watched by stops; NULL: none. */
struct tg_error *tg_record_options_parse(int argc, char **argv, const struct tg_record_options_more *more,
                                         void (*say)(const char *text), struct tg_record_options *options);
void tg_record_options_deinit(struct tg_record_options *options);

#endif
