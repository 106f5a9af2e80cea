/* A made-up stream of OpenMP events, as the agent would see a hydrodynamics program. */
#ifndef TG_BENCH_OPENMP_LOAD_H
#define TG_BENCH_OPENMP_LOAD_H

#include "format/event/event.h"

#include <stdbool.h>
#include <stdint.h>

struct openmp_load;

/* N_PROCESSES processes with N_THREADS threads each (1,024 at most) walk through time steps: six parallel
 * regions each, with static and dynamic loops, a single, explicit barriers, and short uncontended criticals.
 * Each thread works for WORK_NS in a loop, more or less, and waits for the others at barriers. WITH_MPI: they
 * are ranks of a job, exchange halos with their neighbours after each time step and sum over all. Returns 0,
 * or -1 where memory is short or a number is wrong. */
int openmp_load_create(unsigned n_processes, unsigned n_threads, double work_ns, uint64_t seed, bool with_mpi,
                       struct openmp_load **load);
void openmp_load_destroy(struct openmp_load *load); /* NULL is accepted */

/* The next event, in the order of time, threads and processes interleaved as it comes; there is no end. Its
 * strings are static. Returns 0, or -1 where memory is short. */
int openmp_load_next(struct openmp_load *load, struct tg_event *event);

#endif
