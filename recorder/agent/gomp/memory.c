#include "recorder/agent/gomp/memory.h"

#include <errno.h>
#include <sys/mman.h>

void *tg_gomp_memory(size_t n_bytes)
{
    int saved = errno;
    void *memory = mmap(NULL, n_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    errno = saved;
    return memory == MAP_FAILED ? NULL : memory;
}

void tg_gomp_memory_free(void *memory, size_t n_bytes)
{
    if (memory != NULL)
        munmap(memory, n_bytes);
}
