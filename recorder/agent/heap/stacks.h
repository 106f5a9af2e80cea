/* Stacks, each told to the recorder once. */
#ifndef TG_RECORDER_AGENT_HEAP_STACKS_H
#define TG_RECORDER_AGENT_HEAP_STACKS_H

#include <stdbool.h>
#include <stdint.h>

/* Once, before the first one. False: there is no memory for it, and there will be no stacks. */
bool tg_heap_stacks_prepare(void);

/* The id of the calling thread's stack from FRAME on (NULL: none is known), which the recorder was told; 0: none. */
uint32_t tg_heap_stack(const void *frame);

#endif
