/* Zeroed memory for what the program's stack cannot hold. Not for hot paths. */
#ifndef TG_RECORDER_AGENT_GOMP_MEMORY_H
#define TG_RECORDER_AGENT_GOMP_MEMORY_H

#include <stddef.h>

/* NULL: there is none. Does not change errno. */
void *tg_gomp_memory(size_t n_bytes);
void tg_gomp_memory_free(void *memory, size_t n_bytes);

#endif
