/* A made-up stream of OpenMP events, as the agent would see a hydrodynamics program. */
#ifndef TG_BENCH_OPENMP_LOAD_H
#define TG_BENCH_OPENMP_LOAD_H

#include "format/event.h"

#include <stdbool.h>
#include <stdint.h>

/*
 * Fills EVENTS with the first N events of N_PROCESSES processes with N_THREADS threads each (1,024 at most)
 * that walk through time steps: six parallel regions each, with static and dynamic loops, a single, explicit
 * barriers, and short uncontended criticals. Each thread works for WORK_NS in a loop, more or less, and waits
 * for the others at barriers. In the order of time, threads interleaved as it comes. Returns 0, or -1 where
 * memory is short.
 */
int openmp_load(struct tg_event *events, uint64_t n, unsigned n_processes, unsigned n_threads, double work_ns,
                uint64_t seed);

#endif
