/* Commands of the console. To add one:
 *   1. write `const struct tg_console_command tg_console_NAME` in a file of live/ that fits, or a new one;
 *   2. add it to the table in live/commands/table.c (`help` and completion know it then);
 *   3. describe it in docs/man/tollgate-replay.1 (a test compares), show it in a golden test. */
#ifndef TG_LIVE_CONSOLE_COMMAND_H
#define TG_LIVE_CONSOLE_COMMAND_H

#include "analyzer/verdict/verdict.h"
#include "format/base/error.h"
#include "live/console/auto_sequence.h"
#include "live/console/catches.h"
#include "live/console/console.h"
#include "live/console/data.h"
#include "live/console/live_filter.h"
#include "live/console/remade_points.h"
#include "live/console/script_trace.h"
#include "live/console/settings.h"
#include "live/sets/focus.h"
#include "live/source/source.h"

#include <stdio.h>
#include <tcl.h>

struct tg_console {
    Tcl_Interp *interp;
    struct tg_source *source;
    struct tg_console_options options;
    struct tg_focus focus;
    uint64_t focus_changes; /* how often it was set */
    struct tg_catches catches;
    struct tg_auto_sequence auto_sequence;
    struct tg_symbolizer *symbolizer;       /* NULL: code stays numbers */
    Tcl_Obj *result;                        /* that a command gives instead of text, NULL none */
    struct tg_console_data data;            /* that a command gives beside text; of Tcl's RESULT it is made */
    const char *error_text;                 /* what the error of a command points into, NULL nothing */
    size_t error_offset;                    /* where, in bytes */
    struct tg_procedure_places *procedures; /* of scripts */
    struct tg_console_settings *settings;   /* of dset */
    struct tg_listing *listing;             /* of dlist */
    struct tg_examination *examination;     /* of dexamine */
    struct tg_live_filter *filter;          /* sets a live job's dlopen filter, NULL: it is none */
    struct tg_remade_points remade;         /* of drun */
    Tcl_AsyncHandler interrupt;
    bool is_stopped; /* the running script is being ended */
    bool has_quit;
    int quit_status; /* -1: none was given */
    enum tg_console_leaving leaving;
};

/* Where a command has something to go on. */
enum tg_console_needs {
    TG_CONSOLE_NEEDS_NOTHING,
    TG_CONSOLE_NEEDS_LIVE,  /* a job that is controlled */
    TG_CONSOLE_NEEDS_TRACE, /* a trace, which goes back and forth */
};

struct tg_console_command {
    const char *name;      /* one word, or two: a subcommand */
    const char *arguments; /* "?N?", "" none */
    const char *summary;   /* one line */
    const char *example;
    const char *more;         /* further lines for `help COMMAND`, NULL none */
    const char *const *words; /* arguments to complete, NULL-terminated; NULL none */
    enum tg_console_needs needs;
    /* ARGC arguments behind the command's name. What is written to OUT becomes the command's result (without
     * the last line end), unless it sets console->result. An error becomes Tcl's. */
    struct tg_error *(*run)(struct tg_console *console, int argc, Tcl_Obj *const *argv, FILE *out);
    /* Writes what RUN has answered, as TEXT, as data: one value. Called behind it where somebody wants data
     * and it has given none itself. NULL: it has no data, or gives it. */
    struct tg_error *(*data)(struct tg_console *console, int argc, Tcl_Obj *const *argv, const char *text,
                             struct tg_json *json);
};

/* In the order of `help`; ends with NULL. */
extern const struct tg_console_command *const tg_console_commands[];

extern const struct tg_console_command tg_console_info_workers, tg_console_info_barrier, tg_console_info_mpi,
    tg_console_info_mpir, tg_console_info_libraries, tg_console_info_processes, tg_console_info_event,
    tg_console_info_dlopen, tg_console_dinfo_dlopen, tg_console_dinfo_libraries;
extern const struct tg_console_command tg_console_next, tg_console_step, tg_console_back, tg_console_goto,
    tg_console_find;
extern const struct tg_console_command tg_console_opm_next, tg_console_opm_step, tg_console_opm_start,
    tg_console_opm_all_out, tg_console_opm_sections, tg_console_opm_critical, tg_console_opm_barrier,
    tg_console_dcont, tg_console_opm_sequence;
extern const struct tg_console_command tg_console_dgo, tg_console_dhalt, tg_console_dwait, tg_console_dhold,
    tg_console_dunhold, tg_console_dbreak, tg_console_dbarrier, tg_console_dactions, tg_console_denable,
    tg_console_ddisable, tg_console_ddelete, tg_console_dstatus, tg_console_dptsets, tg_console_dgroups,
    tg_console_dkill, tg_console_ddetach, tg_console_drun, tg_console_dattach;
extern const struct tg_console_command tg_console_dset, tg_console_dunset, tg_console_alias, tg_console_dlist,
    tg_console_dexamine, tg_console_dprint;
extern const struct tg_console_command tg_console_dwhere, tg_console_dstep, tg_console_dnext,
    tg_console_dstepi, tg_console_dnexti, tg_console_dout, tg_console_duntil;
extern const struct tg_console_command tg_console_focus, tg_console_dfocus, tg_console_where, tg_console_help,
    tg_console_quit, tg_console_exit;

/* Makes ERROR, which is destroyed, Tcl's result. Returns TCL_ERROR. */
int tg_console_fail(struct tg_console *console, struct tg_error *error);

/* Ends the running script; no `catch` of it helps. */
void tg_console_stop(struct tg_console *console);

/* The USAGE error of a command that was called with other arguments than it has. */
struct tg_error *tg_console_usage(const struct tg_console_command *command);

/* What the words of analyzer/ are said with: the moment's models and names of code. */
struct tg_verdict_input tg_console_words(const struct tg_console *console);

/* The error of a command is about the character at OFFSET of TEXT, a word of it: what programs are told
 * beside the message. TEXT must live until the command returns. */
void tg_console_point(struct tg_console *console, const char *text, size_t offset);

/* Makes the RESULT that a command has set its data: its text remains what it answers. */
void tg_console_result_as_data(struct tg_console *console);

/* ERROR with TEXT below it and a mark below the byte POSITION, which programs are told as well; SIZE_MAX: as
 * it is. Takes ERROR. */
struct tg_error *tg_console_pointed(struct tg_console *console, struct tg_error *error, const char *text,
                                    size_t position);
/* The same for a TEXT that is no word of the command: programs are told nothing of it. */
struct tg_error *tg_console_marked(struct tg_error *error, const char *text, size_t position);

/* The focus as a prompt shows it: "all", "r1.3"; of a live job the whole set, "d1.<". BUFFER has room for
 * TG_FOCUS_TEXT bytes and is returned. */
char *tg_console_focus_text(const struct tg_console *console, char *buffer);

/* Says where the source is: "event 34 of 51, 0.003300 s: rank 1, worker 1: ...", and gives that as data. Only
 * error: NO_MEMORY. */
struct tg_error *tg_console_print_place(struct tg_console *console, FILE *out);

/* The value of FIELD of RECORD as data: numbers, names of enum values, addresses in hex, printable texts; of
 * a list how long it is. */
Tcl_Obj *tg_console_field(const struct tg_field *field, const void *record);

/* Writes TEXT as a terminal may be given it: lines stay lines, what would deceive is shown by number. */
void tg_console_print_safely(FILE *stream, const char *text);

#endif
