/* MPI calls of processes that were attached, from then on: an engine observer that plants breakpoints on the entry points of
 * their MPI library, and where the calls return to. Only where it was asked for (--late): each call costs two stops.
 *
 * Known of a call are partner, tag, root, MPI_COMM_WORLD, and the place in the program. Not known are other communicators, what
 * the number of a collective is, requests, and the call that a thread was in when it was attached. */
#ifndef TG_RECORDER_LATE_MPI_CALLS_H
#define TG_RECORDER_LATE_MPI_CALLS_H

#include "format/base/error.h"
#include "recorder/engine/engine.h"
#include "recorder/process/image_cache.h"

struct tg_late_mpi;

/* Adds itself to ENGINE and must outlive it; IMAGES likewise. */
struct tg_error *tg_late_mpi_create(struct tg_engine *engine, struct tg_image_cache *images,
                                    struct tg_late_mpi **late);
void tg_late_mpi_destroy(struct tg_late_mpi *late); /* NULL is accepted */

#endif
