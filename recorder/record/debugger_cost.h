/* What a debugger takes from a program for each dlopen event: measured, by running it on a program that loads
 * libraries. */
#ifndef TG_RECORDER_RECORD_DEBUGGER_COST_H
#define TG_RECORDER_RECORD_DEBUGGER_COST_H

#include "format/settings/command.h"

enum { TG_DEBUGGER_COST_MAX_LIBRARIES = 1000 };

struct tg_debugger_cost {
    struct tg_quartiles event_ns;  /* of the events, less what the same dlopens take by themselves */
    struct tg_quartiles native_ns; /* a dlopen without the debugger */
    uint64_t libraries;
};

/* Runs DEBUGGER (gdb or lldb, a name or a path), with the user's own settings and one pending breakpoint, on
 * this program's tg_debugger_cost_load. Takes as long as the debugger does, at most two minutes; the libraries
 * are copies of the auditor in a directory of their own below TMPDIR, which is removed. LIBRARIES in
 * [2, TG_DEBUGGER_COST_MAX_LIBRARIES]. UNSUPPORTED: another debugger; TARGET: it gave no result; the OS's. */
struct tg_error *tg_debugger_cost_measure(const char *debugger, uint64_t libraries,
                                          struct tg_debugger_cost *cost);

/* The program that is measured: dlopens DIRECTORY's libraries one after the other, and writes how long each took
 * to DIRECTORY/result. Returns an exit status. */
int tg_debugger_cost_load(const char *directory, uint64_t libraries);

#endif
