/* The recorder that a test plays, whose program has the agent's core linked into it and is observed. One of a program. */
#ifndef TG_TESTS_AGENT_RECORDER_H
#define TG_TESTS_AGENT_RECORDER_H

#include "recorder/agent/contract.h"

#include <stddef.h>
#include <stdint.h>

enum { AGENT_RECORDER_MAX_RINGS = 256 };

struct agent_ring {
    char name[256];
    struct tg_agent_ring_header *header;
    uint64_t seen;                             /* position up to which agent_ring_next has read */
    uint64_t tid;                              /* of the last THREAD record that it returned */
    uint64_t again[1 + TG_AGENT_REPEAT_WORDS]; /* what an AGAIN record stands for */
};

extern struct agent_recorder {
    char path[64];
    struct tg_agent_control *control;
    int control_fd;
    struct agent_ring rings[AGENT_RECORDER_MAX_RINGS];
    size_t n_rings;
} agent_recorder;

/* For main: makes the directory and executes the program anew, or, in that one, calls RUN. The directory must be there before the
 * agent, which is part of the program. Returns the exit status. */
int agent_recorder_run(char **argv, int (*run)(void));
/* Setup and teardown of the group of tests that RUN runs. */
int agent_recorder_open(void **state);
int agent_recorder_remove(void **state);

/* Takes the rings that were made since. */
void agent_recorder_find_rings(void);
/* The ring that TID writes to. */
struct agent_ring *agent_recorder_ring_of(int tid);
/* Everything that was recorded so far is read and given back; of RING alone. */
void agent_recorder_skip_all(void);
void agent_ring_skip(struct agent_ring *ring);

/* The next record that RING holds, PADs left out; NULL where there is none. Valid until it is given back, or the next call. */
const uint64_t *agent_ring_next(struct agent_ring *ring);
unsigned agent_record_kind(const uint64_t *record);
/* How long RING's data are at its head. */
uint64_t agent_ring_size(const struct agent_ring *ring);
/* What was read of RING is room again, also for a thread that waits for it. */
void agent_ring_give_back(struct agent_ring *ring);
/* Allows RING to become DATA_BYTES long, as the recorder does. */
void agent_ring_let_grow(struct agent_ring *ring, uint64_t data_bytes);
/* The same; only the first REAL_BYTES of them can be memory. */
void agent_ring_promise(struct agent_ring *ring, uint64_t data_bytes, uint64_t real_bytes);

#endif
