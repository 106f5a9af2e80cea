/* An agent's end of a ring, as recorder/agent/contract.h has it, for tests of the recorder's end. Aborts
 * where a file cannot be made. */
#ifndef TG_TESTS_RING_PRODUCER_H
#define TG_TESTS_RING_PRODUCER_H

#include "recorder/agent/contract.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ring_producer {
    struct tg_agent_ring_header *header; /* shared: tests may lie here */
    unsigned char *data;
    uint64_t data_bytes;
    uint64_t written;
    unsigned grows_at; /* the ring grows, if it may, when the GROWS_AT-th part of it is used; 2 at first */
    char name[64];
};

/* Makes "ring.PID.N" in DIRECTORY. */
void ring_producer_init(struct ring_producer *producer, int directory, int32_t pid, unsigned n,
                        uint64_t data_bytes, uint64_t instance);
/* The file stays. */
void ring_producer_deinit(struct ring_producer *producer);

/* Writes a record and publishes it; false where there is no room. The ring grows by what the recorder allows, as agents' rings
 * do. PLACE is the thread number and team of the second word. */
bool ring_producer_put(struct ring_producer *producer, unsigned kind, uint64_t ticks, uint64_t place,
                       const uint64_t *arguments, size_t n_arguments);

/* The same with the arguments written out. */
#define RING_PUT(producer, kind, ticks, ...)                                                                 \
    ring_producer_put(producer, kind, ticks, 0, (const uint64_t[]){__VA_ARGS__},                             \
                      sizeof((const uint64_t[]){__VA_ARGS__}) / sizeof(uint64_t))

/* Fills repeat PLACE with a record of KIND, outside of all teams. */
void ring_producer_fill(struct ring_producer *producer, size_t place, uint64_t serial, unsigned kind,
                        const uint64_t *arguments, size_t n_arguments);
/* The same where its thread is at ring_place() WHERE. */
void ring_producer_fill_at(struct ring_producer *producer, size_t place, uint64_t serial, unsigned kind,
                           uint64_t where, const uint64_t *arguments, size_t n_arguments);
/* As ring_producer_put, of a record that names repeat PLACE and NUMBER. */
bool ring_producer_again(struct ring_producer *producer, size_t place, uint64_t serial, uint64_t number,
                         uint64_t ticks);

/* The bits that say where OpenMP says the thread is. */
uint64_t ring_place(uint64_t team, uint64_t thread_num);

/* Words of TEXT at WORDS; returns how many. */
size_t ring_string(uint64_t *words, const char *text);

#endif
