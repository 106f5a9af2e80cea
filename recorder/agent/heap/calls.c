/* The C family, as the program calls it. */
#include "recorder/agent/heap/early.h"
#include "recorder/agent/heap/notes.h"
#include "recorder/agent/heap/real.h"
#include "recorder/agent/heap/setup.h"
#include "recorder/agent/process.h"

#include <errno.h>

TG_AGENT_EXPORT void *malloc(size_t size);
TG_AGENT_EXPORT void *calloc(size_t count, size_t size);
TG_AGENT_EXPORT void *realloc(void *block, size_t size);
TG_AGENT_EXPORT void *reallocarray(void *block, size_t count, size_t size);
TG_AGENT_EXPORT void free(void *block);
TG_AGENT_EXPORT void cfree(void *block);
TG_AGENT_EXPORT int posix_memalign(void **block, size_t alignment, size_t size);
TG_AGENT_EXPORT void *aligned_alloc(size_t alignment, size_t size);
TG_AGENT_EXPORT void *memalign(size_t alignment, size_t size);
TG_AGENT_EXPORT void *valloc(size_t size);
TG_AGENT_EXPORT void *pvalloc(size_t size);

static inline __attribute__((always_inline)) void *allocated(void *block, size_t size, enum tg_heap_call call)
{
    const void *frame = __builtin_frame_address(0);
    if (TG_AGENT_LIKELY(tg_heap_is_on()))
        tg_heap_note_alloc(block, size, call, frame);
    else if (tg_heap.state != TG_HEAP_OFF)
        tg_heap_early_alloc(block, size, call);
    return block;
}

static inline __attribute__((always_inline)) void freeing(const void *block, enum tg_heap_release release)
{
    if (block == NULL)
        return;
    if (TG_AGENT_UNLIKELY(tg_heap_thread.freed == block)) {
        tg_heap_thread.freed = NULL;
        return;
    }
    if (TG_AGENT_LIKELY(tg_heap_is_on()))
        tg_heap_note_free(block, release, __builtin_frame_address(0));
    else if (tg_heap.state != TG_HEAP_OFF)
        tg_heap_early_free(block, release);
}

static void *no_memory(void)
{
    errno = ENOMEM;
    return NULL;
}

static size_t product(size_t count, size_t size)
{
    size_t bytes;
    return __builtin_mul_overflow(count, size, &bytes) ? SIZE_MAX : bytes;
}

void *malloc(size_t size)
{
    return allocated(tg_heap_real_get()->malloc(size), size, TG_HEAP_MALLOC);
}

void *calloc(size_t count, size_t size)
{
    return allocated(tg_heap_real_get()->calloc(count, size), product(count, size), TG_HEAP_CALLOC);
}

void free(void *block)
{
    freeing(block, TG_HEAP_FREE);
    tg_heap_real_get()->free(block);
}

/* libc has it for old programs alone. */
void cfree(void *block)
{
    freeing(block, TG_HEAP_CFREE);
    tg_heap_real_get()->free(block);
}

static inline __attribute__((always_inline)) void *resize(void *old, size_t size, enum tg_heap_call call)
{
    const struct tg_heap_real *real = tg_heap_real_get();
    if (old == NULL)
        return allocated(real->realloc(NULL, size), size, call);
    const void *frame = __builtin_frame_address(0);
    if (TG_AGENT_LIKELY(tg_heap_is_on())) {
        uint64_t before = tg_heap_note_now();
        void *block = real->realloc(old, size);
        tg_heap_note_realloc(old, block, size, call, before, frame);
        return block;
    }
    void *block = real->realloc(old, size);
    if (tg_heap.state != TG_HEAP_OFF && (block != NULL || size == 0)) {
        tg_heap_early_free(old, TG_HEAP_FREED_BY_REALLOC);
        tg_heap_early_alloc(block, size, call);
    }
    return block;
}

void *realloc(void *block, size_t size)
{
    return resize(block, size, TG_HEAP_REALLOC);
}

/* libc's does nothing else. */
void *reallocarray(void *block, size_t count, size_t size)
{
    size_t bytes;
    if (__builtin_mul_overflow(count, size, &bytes)) {
        allocated(NULL, SIZE_MAX, TG_HEAP_REALLOCARRAY);
        return no_memory();
    }
    return resize(block, bytes, TG_HEAP_REALLOCARRAY);
}

int posix_memalign(void **block, size_t alignment, size_t size)
{
    const struct tg_heap_real *real = tg_heap_real_get();
    int result = real->posix_memalign(block, alignment, size);
    if (result != EINVAL)
        allocated(result == 0 ? *block : NULL, size, TG_HEAP_POSIX_MEMALIGN);
    return result;
}

void *aligned_alloc(size_t alignment, size_t size)
{
    return allocated(tg_heap_real_get()->aligned_alloc(alignment, size), size, TG_HEAP_ALIGNED_ALLOC);
}

void *memalign(size_t alignment, size_t size)
{
    return allocated(tg_heap_real_get()->memalign(alignment, size), size, TG_HEAP_MEMALIGN);
}

void *valloc(size_t size)
{
    return allocated(tg_heap_real_get()->valloc(size), size, TG_HEAP_VALLOC);
}

void *pvalloc(size_t size)
{
    return allocated(tg_heap_real_get()->pvalloc(size), size, TG_HEAP_PVALLOC);
}
