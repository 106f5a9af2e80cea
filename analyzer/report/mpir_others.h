/* Ranks without an MPIR table entry, and how each was found. */
#ifndef TG_ANALYZER_REPORT_MPIR_OTHERS_H
#define TG_ANALYZER_REPORT_MPIR_OTHERS_H

#include "analyzer/models/mpir.h"
#include "analyzer/models/process.h"
#include "format/base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { TG_MPIR_MAX_OTHERS = 256 }; /* groups; the ranks of further ones are counted */

/* Ranks of one job that were found in one way. */
struct tg_mpir_other {
    const char *job;    /* "" unknown; the process model's, as the next ones */
    const char *source; /* the environment variable that the ranks came from */
    const char *host;   /* NULL: there is more than one */
    const char *way;    /* "following forks"; static */
    bool is_outside;    /* the recorder said that no table has them: started by MPI_Comm_spawn */
    bool is_let_go;     /* not asked for, and detached */
    int64_t *ranks;     /* sorted, each once */
    size_t n_ranks, capacity;
};

/* Caller's storage; zero-initialised is empty. */
struct tg_mpir_others {
    struct tg_mpir_other *groups; /* in order of first appearance */
    size_t count, capacity;
    uint64_t unkept; /* ranks of groups that found no room */
};

/* Reads the models as they are. Only error: NO_MEMORY, OTHERS is empty then. */
struct tg_error *tg_mpir_others_find(const struct tg_mpir_model *mpir,
                                     const struct tg_process_model *processes, struct tg_mpir_others *others);
void tg_mpir_others_deinit(struct tg_mpir_others *others);

#endif
