/* Receives that waited for messages sent later than they began, by pairs of places: fed with messages as they are received. */
#ifndef TG_ANALYZER_MODELS_MPI_LATE_SENDS_H
#define TG_ANALYZER_MODELS_MPI_LATE_SENDS_H

#include "analyzer/models/mpi/model.h"
#include "format/base/error.h"

#include <stddef.h>
#include <stdint.h>

/* A call at a place of a process. */
struct tg_mpi_late_end {
    size_t process;   /* index in the process model */
    const char *name; /* of the function, the model's */
    uint64_t code;    /* return address, 0 unknown */
};

/* Calls at one place that waited for messages sent at another one. */
struct tg_mpi_late_send {
    struct tg_mpi_late_end receive, send; /* RECEIVE: the call that waited, MPI_Recv or MPI_Wait */
    uint64_t calls, total_ns, longest_ns;
};

struct tg_mpi_late_sends;

struct tg_error *tg_mpi_late_sends_create(struct tg_mpi_late_sends **late);
void tg_mpi_late_sends_destroy(struct tg_mpi_late_sends *late); /* NULL is accepted */

/* A message was received. From the begin of a call until the last one of its messages was sent, it waited for the sender of that:
 * a call counts once. Only error: NO_MEMORY. */
struct tg_error *tg_mpi_late_sends_add(struct tg_mpi_late_sends *late,
                                       const struct tg_mpi_delivery *delivery);
/* Counts the last call of each thread, too: behind the last event. Only error: NO_MEMORY. */
struct tg_error *tg_mpi_late_sends_end(struct tg_mpi_late_sends *late);

/* In order of first appearance. */
size_t tg_mpi_late_sends_count(const struct tg_mpi_late_sends *late);
const struct tg_mpi_late_send *tg_mpi_late_sends_at(const struct tg_mpi_late_sends *late, size_t i);

/* Calls of pairs beyond those that are kept. */
void tg_mpi_late_sends_beyond(const struct tg_mpi_late_sends *late, uint64_t *calls, uint64_t *total_ns);

#endif
