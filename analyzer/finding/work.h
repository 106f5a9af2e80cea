/* Work: what other threads of a process may yet do in MPI while one of them waits there. */
#ifndef TG_ANALYZER_FINDING_WORK_H
#define TG_ANALYZER_FINDING_WORK_H

#include "analyzer/finding/finding.h"

enum tg_work {
    TG_WORK_NONE,     /* one thread alone calls MPI, by the level of MPI_Init_thread or as far as is known */
    TG_WORK_POSSIBLE, /* others may as well, and all of them wait for something */
    TG_WORK_GOES_ON,  /* one of these waits for nothing that is known: it may be about to call MPI */
};

/* By process, into WORK. Threads that called MPI before count, and where the level allows it (MPI_THREAD_SERIALIZED,
 * MPI_THREAD_MULTIPLE, or not known) all that are in the program's code. Only error:
 * NO_MEMORY. */
struct tg_error *tg_work_find(const struct tg_verdict_input *input, enum tg_work *work);

#endif
