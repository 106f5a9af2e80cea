/* Errors of MPI, as they are recorded: once for each call of the program that fails. */
#ifndef TG_RECORDER_AGENT_MPI_ERROR_H
#define TG_RECORDER_AGENT_MPI_ERROR_H

#include "recorder/agent/mpi/library.h"

/* A request that a call waits for. */
struct tg_mpi_pending {
    tg_mpi_handle request; /* 0: none, or one that is not active */
    unsigned kind;         /* see recorder/agent/mpi/request.h */
};

/* The requests of a call that completes some, while the library is in it. */
struct tg_mpi_waiting {
    const struct tg_mpi_pending *pending; /* NULL: not known */
    const void *statuses;                 /* one for each in their order, NULL: of some only */
    size_t n;
};

/* The call that a thread is in. */
struct tg_mpi_failure {
    const struct tg_mpi_waiting *waiting; /* what it waits for, NULL none */
    bool is_told;                         /* the call has failed, and its error is recorded */
    bool is_handed_on; /* what is raised is recorded, and the library's error handler is called */
    bool is_telling;   /* asks the library for words about one: what it raises then is not the program's */
};
extern __thread struct tg_mpi_failure tg_mpi_failure __attribute__((tls_model("initial-exec")));

/* Records CODE, which FUNCTION of the library raises in that call. */
void tg_mpi_error_tell(int code, const char *function);

#endif
