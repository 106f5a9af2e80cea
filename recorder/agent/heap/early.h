/* Calls that come before the agent knows its recorder: kept, and recorded when it does. */
#ifndef TG_RECORDER_AGENT_HEAP_EARLY_H
#define TG_RECORDER_AGENT_HEAP_EARLY_H

#include "format/event/event.h"

#include <stddef.h>
#include <stdint.h>

void tg_heap_early_alloc(const void *block, size_t size, enum tg_heap_call call);
void tg_heap_early_free(const void *block, enum tg_heap_release release);

/* Records those that are kept, in their order. */
void tg_heap_early_tell(void);

/* Tells TAKE of each block of these calls that is left. */
void tg_heap_early_each(void (*take)(const void *block, size_t size, enum tg_heap_call call));

#endif
