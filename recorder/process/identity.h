/* The rank and job of a process, by the variables that its runtime put into its environment. */
#ifndef TG_RECORDER_PROCESS_IDENTITY_H
#define TG_RECORDER_PROCESS_IDENTITY_H

#include "recorder/process/environment.h"

enum { TG_IDENTITY_MAX_JOB = 256 };

struct tg_identity {
    char job[TG_IDENTITY_MAX_JOB]; /* "" unknown; ranks are unique per (job, rank) */
    const char *source;            /* the variable that the rank came from, "" where it is no rank; static */
    int64_t rank;                  /* -1: not a rank */
    int64_t size;                  /* ranks of the job, 0 unknown */
};

/* MPI runtimes come before launchers, launchers before batch systems: under `srun mpirun` a rank has the
 * variables of both. A variable whose value is no rank number counts as not set. */
void tg_identity_find(const struct tg_environment *environment, struct tg_identity *identity);

#endif
