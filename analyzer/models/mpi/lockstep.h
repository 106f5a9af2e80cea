/* Whether the processes of a communicator make their collective calls in the same order of places.
 *
 * One collective may be called from several places, by rank or by data: no rule forbids that. But where two places
 * have each had collectives of their own, and then meet in one, some process has left a call out or made one too
 * many: until they have one of their own again, which a mere shift of a regular order does not let happen.
 * Internal to the MPI model. */
#ifndef TG_ANALYZER_MODELS_MPI_LOCKSTEP_H
#define TG_ANALYZER_MODELS_MPI_LOCKSTEP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { TG_MPI_LOCKSTEP_PLACES = 64 };

struct tg_mpi_lockstep_place {
    const char *name;
    uint64_t low;   /* of the code address */
    uint32_t class; /* places that meet are of one class: index of its first */
    uint32_t whole; /* collectives of its class alone, counted at the first place of the class, saturating */
};

/* All zero is one without calls. Copied by assignment. */
struct tg_mpi_lockstep {
    struct tg_mpi_lockstep_place places[TG_MPI_LOCKSTEP_PLACES];
    uint32_t count;
    bool is_lost;     /* too many places: nothing is said */
    uint64_t broken;  /* the collective in which two classes met, 0: none did */
    uint32_t with[2]; /* the two classes */
};

/* In collective INSTANCE a process calls NAME from CODE, which the first one called as FIRST_NAME from FIRST_CODE.
 * True: this is where the order is broken. */
bool tg_mpi_lockstep_meet(struct tg_mpi_lockstep *lockstep, uint64_t instance, const char *name,
                          uint64_t code, const char *first_name, uint64_t first_code);
/* All have left collective INSTANCE, which all called from places of one class (IS_ONE), that of NAME and CODE. */
void tg_mpi_lockstep_whole(struct tg_mpi_lockstep *lockstep, uint64_t instance, const char *name,
                           uint64_t code, bool is_one);

#endif
