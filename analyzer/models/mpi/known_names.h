/* Strings of MPI events that were seen lately: the same few come again and again, at the same addresses. */
#ifndef TG_ANALYZER_MODELS_MPI_KNOWN_NAMES_H
#define TG_ANALYZER_MODELS_MPI_KNOWN_NAMES_H

#include "analyzer/models/mpi/call.h"
#include "format/base/string_pool.h"

/* A string, and what it says as the name of a call. */
struct tg_mpi_known_name {
    const char *told; /* where the event had it; what is there now may be another one */
    const char *name; /* interned; NULL: none */
    struct tg_mpi_call_traits traits;
};

/* Caller's storage; zero-initialised is empty. Needs no end. */
struct tg_mpi_known_names {
    struct tg_mpi_known_name places[64]; /* by address */
};

/* TEXT, interned in NAMES, always the same pool: of the few that a program has, most are found where they were last.
 * *KNOWN is valid until the next call. Only error: NO_MEMORY. */
struct tg_error *tg_mpi_known_names_get(struct tg_mpi_known_names *known_names, struct tg_string_pool *names,
                                        const char *text, const struct tg_mpi_known_name **known);

#endif
