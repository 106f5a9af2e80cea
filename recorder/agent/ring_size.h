/* How long a thread's ring is, and how much of it is memory. All of this is for the thread itself, while it writes a record.
 *
 * The header is memory that the program may overwrite by mistake, as any other: what it says is never taken for a place in memory
 * without a look. Where it was overwritten, there is no room in the ring any more, and the thread's records are dropped. */
#ifndef TG_RECORDER_AGENT_RING_SIZE_H
#define TG_RECORDER_AGENT_RING_SIZE_H

#include "recorder/agent/thread_state.h"

/* Whether the data of a ring can be so many bytes. */
bool tg_ring_is_size(uint64_t bytes);

/* The positions of a ring from where it grew last. */
struct tg_ring_lap {
    uint64_t from, data_bytes;
    uint64_t before; /* position of place 0 before FROM: what is not read yet counts from here at most */
};
/* As HEADER says. False: it was overwritten. */
bool tg_ring_last_lap(const struct tg_agent_ring_header *header, struct tg_ring_lap *lap);
/* The same of THREAD's ring; false also where HEADER says something else than THREAD knows. */
bool tg_ring_own_lap(const struct tg_agent_thread *thread, struct tg_ring_lap *lap);

/* THREAD goes on at position WRITTEN of HEADER's ring, whose data are DATA_BYTES, and looks for room before its next record. */
void tg_ring_adopt(struct tg_agent_thread *thread, struct tg_agent_ring_header *header, uint64_t data_bytes,
                   uint64_t written);
/* THREAD goes on in its ring where a handler jumped away, which may have been while the ring changed its size. */
void tg_ring_go_on(struct tg_agent_thread *thread);

/* Whether the recorder lets the ring be longer than it is. */
bool tg_ring_can_grow(const struct tg_agent_thread *thread);
/* Makes it so long; where there is no address space for that, `stays` says so from now on. */
void tg_ring_grow(struct tg_agent_thread *thread);
/* The ring, which is empty, becomes so long that it is memory for certain. False: it was overwritten. */
bool tg_ring_shrink(struct tg_agent_thread *thread);

/* Has the bytes from `written` up to `limit` become memory, where need be fewer, but N_BYTES. False: there is none. */
bool tg_ring_touch(struct tg_agent_thread *thread, uint64_t n_bytes);
/* The same for all of it, as far as there is memory; rings that have grown stay as they are. */
void tg_ring_fill(struct tg_agent_thread *thread);

#endif
