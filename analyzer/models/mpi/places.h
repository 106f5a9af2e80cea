/* The places in the program that call MPI, and what their calls took: fed with calls that came back. */
#ifndef TG_ANALYZER_MODELS_MPI_PLACES_H
#define TG_ANALYZER_MODELS_MPI_PLACES_H

#include "format/base/error.h"
#include "format/event/event.h"

#include <stddef.h>
#include <stdint.h>

/* The calls of one function of MPI from one place of one process. */
struct tg_mpi_place {
    size_t process;   /* index in the process model */
    const char *name; /* of the function, as it was fed */
    uint64_t code;    /* return address, 0 unknown */
    uint64_t calls, total_ns, longest_ns;
    uint64_t bytes; /* of all calls, as they say: of a receive, the room for what comes */
};

struct tg_mpi_places;

struct tg_error *tg_mpi_places_create(struct tg_mpi_places **places);
void tg_mpi_places_destroy(struct tg_mpi_places *places); /* NULL is accepted */

/* A call of NAME (one pointer for each name; must outlive PLACES) from CODE of PROCESS came back after LASTED_NS. BYTES as in
 * mpi_enter. Only error: NO_MEMORY. */
struct tg_error *tg_mpi_places_add(struct tg_mpi_places *places, size_t process, const char *name,
                                   uint64_t code, uint64_t lasted_ns, uint64_t bytes);

/* So do polls of NAME that were told by their SUM. */
struct tg_error *tg_mpi_places_add_polls(struct tg_mpi_places *places, size_t process, const char *name,
                                         const struct tg_event_mpi_poll_sum *sum);

/* In order of first appearance. */
size_t tg_mpi_places_count(const struct tg_mpi_places *places);
const struct tg_mpi_place *tg_mpi_places_at(const struct tg_mpi_places *places, size_t i);

/* Calls from places beyond those that are kept, and their time. */
struct tg_mpi_place tg_mpi_places_beyond(const struct tg_mpi_places *places);

#endif
