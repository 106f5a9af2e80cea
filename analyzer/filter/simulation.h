/* Many processes reporting to few clients, as a discrete-event simulation: each process runs, asks a client
 * to handle its libraries, is stopped until that is done, runs on. Deterministic, no clock, no
 * randomness. */
#ifndef TG_ANALYZER_FILTER_SIMULATION_H
#define TG_ANALYZER_FILTER_SIMULATION_H

#include "format/base/error.h"

#include <stddef.h>
#include <stdint.h>

/* One request to the client, behind RUN_NS of the program's own running and OVERHEAD_NS of stops that need no
   client. */
struct tg_timeline_request {
    uint64_t run_ns;
    uint64_t overhead_ns;
    uint64_t service_ns; /* client work, without the round trip */
};

/* The actions of one observed process. Zero-initialised: none. */
struct tg_timeline {
    struct tg_timeline_request *requests;
    size_t count, capacity;
    uint64_t tail_run_ns; /* after the last request */
    uint64_t tail_overhead_ns;
};

void tg_timeline_deinit(struct tg_timeline *timeline);
struct tg_error *tg_timeline_append(struct tg_timeline *timeline, const struct tg_timeline_request *request);

enum { TG_SIMULATION_MAX_PROCESSES = 10000000, TG_SIMULATION_MAX_CLIENTS = 100000 };
/* Requests in one simulation: about a minute of computing. */
#define TG_SIMULATION_MAX_REQUESTS UINT64_C(400000000)

struct tg_simulation_options {
    uint64_t processes; /* [1, TG_SIMULATION_MAX_PROCESSES]; process i does what timeline i mod n does */
    uint64_t clients; /* [1, TG_SIMULATION_MAX_CLIENTS]; one event at a time each, first come first served */
    uint64_t round_trip_ns; /* the client's time for a request in addition to its work */
};

struct tg_simulation_result {
    uint64_t requests;
    uint64_t native_ns;     /* the longest process without any stop */
    uint64_t completion_ns; /* the last process's end; all start together at 0 */
    double client_busy;     /* share of completion_ns in which a client worked, mean over clients, [0, 1] */
    uint64_t max_queue;     /* most requests waiting for a client */
    double mean_wait_ns;    /* in the queue, before service */
    uint64_t max_wait_ns;
};

/* Timelines: N of them, at least 1. LIMIT error beyond the bounds above. */
struct tg_error *tg_simulate(const struct tg_timeline *timelines, size_t n,
                             const struct tg_simulation_options *options,
                             struct tg_simulation_result *result);

#endif
