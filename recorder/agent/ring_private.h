/* What the agent keeps of a ring for itself, in the page of its header. */
#ifndef TG_RECORDER_AGENT_RING_PRIVATE_H
#define TG_RECORDER_AGENT_RING_PRIVATE_H

#include "recorder/agent/thread_state.h"

/* Room for records that handlers made while a record was being written. */
enum { TG_RING_NESTED_BYTES = 1536 };

/* In the header page of a ring, where only this process looks; a program that writes where it should not may have written there,
 * too. */
struct tg_ring_private {
    /* Of an idle ring: what its last thread knew of it. CHECK goes with the other three, which are not to be used without. */
    struct tg_idle_ring {
        struct tg_agent_ring_header *next;
        uint64_t data_bytes, written;
        uint64_t check;
    } idle;
    /* The mapping's places are memory of this process up to position TOUCHED, and all of them from TOUCH_END on. */
    uint64_t touched, touch_end;
    uint64_t real_bytes; /* a power of two: the first so many of the data are memory for certain */
    uint64_t asked;      /* the position at which the recorder was last asked to look */
    /* Records by handlers of the ring's thread while the thread was writing a record, and a header that takes
     * the stores which go to a ring's: here and not in thread-local storage, of which programs have little.
     * */
    unsigned char nested[TG_RING_NESTED_BYTES];
    struct tg_agent_ring_header nested_header;
    uint64_t room[TG_AGENT_ROOM_BYTES / sizeof(uint64_t)]; /* tg_agent_room's */
};
_Static_assert(TG_AGENT_RING_PRIVATE_OFFSET + sizeof(struct tg_ring_private) <= TG_AGENT_RING_HEADER_BYTES,
               "beyond the header page");

static inline struct tg_ring_private *tg_ring_private(struct tg_agent_ring_header *header)
{
    return (struct tg_ring_private *)(void *)((unsigned char *)header + TG_AGENT_RING_PRIVATE_OFFSET);
}

#endif
