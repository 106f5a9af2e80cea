/* The places in the program from which a process makes its collective calls on one communicator, and how often.
 * Internal to the MPI model, but for struct tg_mpi_site. */
#ifndef TG_ANALYZER_MODELS_MPI_SITES_H
#define TG_ANALYZER_MODELS_MPI_SITES_H

#include "format/base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A place: the function that is called and the low bits of the return address, which are the same in every
 * process of a program, wherever its code is mapped. */
struct tg_mpi_site {
    const char *name; /* the model's */
    uint64_t code;    /* of the first call */
    uint64_t count;   /* of calls */
    uint64_t last_instance;
    /* Other MPI calls that the thread made since the collective call before: a number that was found MOST of
     * the time, and the latest other one, with the number of the call that it was found at. */
    uint64_t usual, n_usual, odd, n_odd, odd_nth, odd_ns;
};

/* All zero is an empty one. */
struct tg_mpi_sites {
    struct tg_mpi_site *items;
    size_t count, capacity;
    size_t last;        /* index of the one that was called last */
    uint64_t calls;     /* of the thread, at its last collective call here */
    bool is_incomplete; /* there are more: counts are not all there */
};

enum { TG_MPI_MAX_SITES = 128 };

/* What of a return address tells places apart. */
static inline uint64_t tg_mpi_site_low(uint64_t code)
{
    enum { PAGE_BYTES = 4096 };
    return code % PAGE_BYTES;
}

/* A call of NAME from CODE for collective INSTANCE at TIME_NS, by a thread that has made CALLS calls of MPI.
 * *NTH: how many there were from there, with this one; 0: not known. Only error: NO_MEMORY. */
struct tg_error *tg_mpi_sites_come(struct tg_mpi_sites *sites, const char *name, uint64_t code,
                                   uint64_t instance, uint64_t calls, uint64_t time_ns, uint64_t *nth);
/* NULL: never called from there, as far as known. */
const struct tg_mpi_site *tg_mpi_sites_find(const struct tg_mpi_sites *sites, const char *name,
                                            uint64_t code);
void tg_mpi_sites_deinit(struct tg_mpi_sites *sites);
/* TO is empty. Only error: NO_MEMORY. */
struct tg_error *tg_mpi_sites_copy(const struct tg_mpi_sites *from, struct tg_mpi_sites *to);

#endif
