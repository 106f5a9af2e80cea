/* The rings of this process: one for each thread that records something, and the slow halves of a record. */
#ifndef TG_RECORDER_AGENT_RING_H
#define TG_RECORDER_AGENT_RING_H

#include "recorder/agent/thread_state.h"

/* OpenMP: from here on this thread is number THREAD_NUM of TEAM. */
static inline void tg_agent_set_place(uint64_t team, uint64_t thread_num)
{
    tg_agent_thread.place = (team & TG_AGENT_TEAM_MASK) << TG_AGENT_TEAM_SHIFT |
                            (thread_num & 0xffff) << TG_AGENT_THREAD_NUM_SHIFT;
}

/* Where the recorder finds, when the process ends, whether this thread has called MPI_Init and not MPI_Finalize. */
static inline void tg_agent_set_in_mpi(bool in_mpi)
{
    if (tg_agent_thread.header != NULL)
        __atomic_store_n(&tg_agent_thread.header->in_mpi, in_mpi, __ATOMIC_RELAXED);
}

/* Slow halves of tg_agent_begin and tg_agent_commit: where a handler interrupted a record of the same thread
 * (FRAME is the handler's); where there is no room, no ring, another process. */
uint64_t *tg_agent_begin_nested(unsigned kind, size_t n_words, const void *frame)
    TG_AGENT_SHARED(tg_agent_begin_nested);
uint64_t *tg_agent_begin_slowly(unsigned kind, size_t n_words) TG_AGENT_SHARED(tg_agent_begin_slowly);
void tg_agent_commit_slowly(void) TG_AGENT_SHARED(tg_agent_commit_slowly);

/* Prepares for thread ends; once, from the constructor (pthread keys made early need no memory later). */
void tg_agent_rings_prepare(void);

/* Called by each thread that has a ring, before it has none any more, for what it has not recorded yet; NULL: nothing. */
extern void (*tg_agent_at_thread_end)(void);

/* Room of the calling thread for what it has not recorded yet, as thread-local storage is scarce; NULL: it has no ring. It has
 * TG_AGENT_ROOM_BYTES; what a thread that has ended left there may be in it. */
void *tg_agent_room(void);

/* Gives the calling thread its ring, if it has none yet. False: it can have none. */
bool tg_agent_take_ring(void);

/* Makes all of the calling thread's ring memory, as far as there is some: later it cannot be asked for. */
void tg_agent_fill_ring(void);

/* While UNRECORDED, what the calling thread does is the agent's own, and not recorded. Precondition: the caller has
 * blocked all signals; what a handler does is the program's. */
void tg_agent_set_unrecorded(bool unrecorded);

/* The calling thread can no longer read the clock: what it records from here on is counted as lost.
 * WITH_NEW_THREADS: the threads that it starts cannot either. */
void tg_agent_stop_thread(bool with_new_threads);

#endif
