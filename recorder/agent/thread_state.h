/* Where each thread of the program has its ring, and where it is in it. */
#ifndef TG_RECORDER_AGENT_THREAD_STATE_H
#define TG_RECORDER_AGENT_THREAD_STATE_H

#include "recorder/agent/process.h"

/* The rings' own (ring.h) but for `place`. */
struct tg_agent_thread {
    unsigned char *data;       /* the ring's */
    uint64_t mask;             /* data bytes - 1 */
    uint64_t written;          /* position behind what was written */
    uint64_t limit;            /* up to here a record may be written without another look; 0: look */
    uint64_t generation;       /* generation of the process that the ring belongs to */
    uint64_t place;            /* bits of a record's second word that say where OpenMP says the thread is */
    const void *volatile busy; /* the frame that is writing a record */
    struct tg_agent_ring_header *header;
};
extern __thread struct tg_agent_thread tg_agent_thread TG_AGENT_SHARED(tg_agent_thread)
    __attribute__((tls_model("initial-exec")));

/* Keeps the compiler from moving memory accesses across: a signal handler sees them in this order. */
static inline void tg_agent_signal_fence(void)
{
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
}

enum { TG_AGENT_ROOM_BYTES = 384 }; /* of tg_agent_room */

#endif
