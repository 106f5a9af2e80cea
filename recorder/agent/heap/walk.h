/* The calls that led to one of the library's functions, by unwind rows: no frame pointers are needed, and none is
 * guessed from. Async-signal-safe; reads nothing but the stack that the caller is on. */
#ifndef TG_RECORDER_AGENT_HEAP_WALK_H
#define TG_RECORDER_AGENT_HEAP_WALK_H

#include "format/event/event.h"

#include <stddef.h>
#include <stdint.h>

/* Return addresses from FRAME (__builtin_frame_address(0) of a function with a frame pointer) on, innermost
 * first, at most MAX, which is not 0. Behind the return address of a signal handler comes 0, then the address that
 * was interrupted. *END: why there are no more. UNLOADS: as tg_agent_unloads. */
size_t tg_heap_walk(const void *frame, uint64_t unloads, uint64_t *addresses, size_t max,
                    enum tg_stack_end *end);

/* Once, before the functions below; without memory they do without. */
void tg_heap_walk_prepare(void);

struct tg_heap_walk_memory;

/* A hash of the stack that tg_heap_walk would find, of how it ends and of UNLOADS. Each thread's last one is remembered,
 * and what of it is unchanged is not unwound again. *MEMORY: what is remembered of this one, until the caller gives it back with
 * tg_heap_walk_release (recorder/agent/heap/walk_memory.h); NULL: nothing. */
uint64_t tg_heap_walk_hash(const void *frame, uint64_t unloads, size_t max,
                           struct tg_heap_walk_memory **memory);

#endif
