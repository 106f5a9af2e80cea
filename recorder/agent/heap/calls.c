/* The C family, as the program calls it. */
#include "recorder/agent/heap/check.h"
#include "recorder/agent/heap/early.h"
#include "recorder/agent/heap/notes.h"
#include "recorder/agent/heap/quick.h"
#include "recorder/agent/heap/real.h"
#include "recorder/agent/heap/setup.h"
#include "recorder/agent/heap/wishes.h"
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
TG_AGENT_EXPORT size_t malloc_usable_size(void *block);

/* A name of this library's own free that nothing comes before, for who asks whether it is this one that was called. */
__asm__(".hidden tg_heap_own_free\n.globl tg_heap_own_free\n.set tg_heap_own_free, free");

enum { PAGE_BYTES = 4096 };

static inline __attribute__((always_inline)) void *allocated_at(void *block, size_t size,
                                                                enum tg_heap_call call, const void *frame)
{
    if (TG_AGENT_LIKELY(tg_heap_is_on()))
        tg_heap_note_alloc(block, size, call, frame);
    else if (tg_heap.state != TG_HEAP_OFF)
        tg_heap_early_alloc(block, size, call);
    return block;
}

static inline __attribute__((always_inline)) void *allocated(void *block, size_t size, enum tg_heap_call call)
{
    return allocated_at(block, size, call, __builtin_frame_address(0));
}

/* Whether blocks are checked: then they are not the allocator's own. */
static inline bool checks(void)
{
    return tg_heap_is_on() && TG_AGENT_UNLIKELY(tg_heap.settings.mode == TG_AGENT_HEAP_CHECK);
}

/* BLOCK, not NULL, is freed by RELEASE, or by the operator that this comes from. */
static void check_free(void *block, enum tg_heap_release release, const void *frame)
{
    struct tg_heap_thread *thread = &tg_heap_thread;
    struct tg_heap_told told = {.size = (size_t)TG_HEAP_NOT_TOLD};
    if (thread->freed == block) {
        thread->freed = NULL;
        release = (enum tg_heap_release)thread->release;
        told = thread->told_of_freed;
    }
    tg_heap_check_free(block, release, told, frame);
}

static inline __attribute__((always_inline)) void freeing_at(const void *block, enum tg_heap_release release,
                                                             const void *frame)
{
    if (block == NULL)
        return;
    if (TG_AGENT_UNLIKELY(tg_heap_thread.freed == block)) {
        tg_heap_thread.freed = NULL;
        return;
    }
    if (TG_AGENT_LIKELY(tg_heap_is_on())) {
        tg_heap_wishes_meet(block, TG_AGENT_HEAP_TAG_DEALLOC, "free", frame);
        tg_heap_note_free(block, release, frame);
    } else if (tg_heap.state != TG_HEAP_OFF) {
        tg_heap_early_free(block, release);
    }
}

static inline __attribute__((always_inline)) void freeing(const void *block, enum tg_heap_release release)
{
    freeing_at(block, release, __builtin_frame_address(0));
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

static bool is_alignment(size_t alignment)
{
    return alignment != 0 && (alignment & (alignment - 1)) == 0;
}

/* The allocator's answer where no block can have ALIGNMENT: some round it up. */
static inline __attribute__((always_inline)) void *oddly_aligned(void *block, size_t alignment, size_t size,
                                                                 enum tg_heap_call call, const char *name)
{
    const void *frame = __builtin_frame_address(0);
    if (checks())
        tg_heap_check_odd_alignment(alignment, size, name, frame);
    if (block == NULL)
        return NULL; /* not for want of memory */
    if (!checks())
        return allocated(block, size, call);
    tg_heap_check_unguarded(block, size, call, frame);
    return block;
}

/* The slow halves of malloc and free, which end with them: so the frame that is theirs is that of the function that the program
 * called, and the quick halves need none. */
static __attribute__((noinline)) void *malloc_slowly(size_t size)
{
    const void *frame = __builtin_frame_address(0);
    if (checks())
        return tg_heap_check_alloc(0, size, false, TG_HEAP_MALLOC, frame);
    return allocated_at(tg_heap_real_get()->malloc(size), size, TG_HEAP_MALLOC, frame);
}

static __attribute__((noinline)) void *malloc_failed(size_t size)
{
    const void *frame = __builtin_frame_address(0);
    tg_heap_quick_take_back(size);
    return allocated_at(NULL, size, TG_HEAP_MALLOC, frame);
}

static __attribute__((noinline)) void free_slowly(void *block)
{
    const void *frame = __builtin_frame_address(0);
    if (!checks()) {
        freeing_at(block, TG_HEAP_FREE, frame);
        tg_heap_real_get()->free(block);
    } else if (block != NULL) {
        check_free(block, TG_HEAP_FREE, frame);
    }
}

void *malloc(size_t size)
{
    if (!tg_heap_quick_passes_alloc(size))
        return malloc_slowly(size);
    void *block = tg_heap_real.malloc(size);
    return TG_AGENT_LIKELY(block != NULL) ? block : malloc_failed(size);
}

void *calloc(size_t count, size_t size)
{
    if (checks())
        return tg_heap_check_alloc(0, product(count, size), true, TG_HEAP_CALLOC, __builtin_frame_address(0));
    return allocated(tg_heap_real_get()->calloc(count, size), product(count, size), TG_HEAP_CALLOC);
}

void free(void *block)
{
    void (*quick)(void *) = __atomic_load_n(&tg_heap_quick.free, __ATOMIC_ACQUIRE);
    if (quick != NULL && tg_heap_quick_passes_free(block))
        quick(block);
    else
        free_slowly(block);
}

/* libc has it for old programs alone. */
void cfree(void *block)
{
    if (checks()) {
        if (block != NULL)
            check_free(block, TG_HEAP_CFREE, __builtin_frame_address(0));
        return;
    }
    freeing(block, TG_HEAP_CFREE);
    tg_heap_real_get()->free(block);
}

static inline __attribute__((always_inline)) void *resize(void *old, size_t size, enum tg_heap_call call)
{
    const struct tg_heap_real *real = tg_heap_real_get();
    if (checks())
        return old == NULL ? tg_heap_check_alloc(0, size, false, call, __builtin_frame_address(0))
                           : tg_heap_check_realloc(old, size, call, __builtin_frame_address(0));
    if (old == NULL)
        return allocated(real->realloc(NULL, size), size, call);
    const void *frame = __builtin_frame_address(0);
    if (TG_AGENT_LIKELY(tg_heap_is_on())) {
        tg_heap_wishes_meet(old, size == 0 ? TG_AGENT_HEAP_TAG_DEALLOC : TG_AGENT_HEAP_TAG_REALLOC, "realloc",
                            frame);
        const struct tg_heap_realloc begun = tg_heap_note_realloc_begin(old);
        void *block = real->realloc(old, size);
        tg_heap_note_realloc_end(&begun, block, size, call, frame);
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
    if (checks()) {
        if (!is_alignment(alignment) || alignment % sizeof(void *) != 0) {
            tg_heap_check_odd_alignment(alignment, size, "posix_memalign", __builtin_frame_address(0));
            return EINVAL;
        }
        int saved = errno;
        void *made =
            tg_heap_check_alloc(alignment, size, false, TG_HEAP_POSIX_MEMALIGN, __builtin_frame_address(0));
        errno = saved;
        if (made == NULL)
            return ENOMEM;
        *block = made;
        return 0;
    }
    const struct tg_heap_real *real = tg_heap_real_get();
    int result = real->posix_memalign(block, alignment, size);
    if (result != EINVAL)
        allocated(result == 0 ? *block : NULL, size, TG_HEAP_POSIX_MEMALIGN);
    return result;
}

void *aligned_alloc(size_t alignment, size_t size)
{
    if (is_alignment(alignment) && checks())
        return tg_heap_check_alloc(alignment, size, false, TG_HEAP_ALIGNED_ALLOC, __builtin_frame_address(0));
    void *block = tg_heap_real_get()->aligned_alloc(alignment, size);
    if (!is_alignment(alignment))
        return oddly_aligned(block, alignment, size, TG_HEAP_ALIGNED_ALLOC, "aligned_alloc");
    return allocated(block, size, TG_HEAP_ALIGNED_ALLOC);
}

void *memalign(size_t alignment, size_t size)
{
    if (is_alignment(alignment) && checks())
        return tg_heap_check_alloc(alignment, size, false, TG_HEAP_MEMALIGN, __builtin_frame_address(0));
    void *block = tg_heap_real_get()->memalign(alignment, size);
    if (!is_alignment(alignment))
        return oddly_aligned(block, alignment, size, TG_HEAP_MEMALIGN, "memalign");
    return allocated(block, size, TG_HEAP_MEMALIGN);
}

void *valloc(size_t size)
{
    if (checks())
        return tg_heap_check_alloc(PAGE_BYTES, size, false, TG_HEAP_VALLOC, __builtin_frame_address(0));
    return allocated(tg_heap_real_get()->valloc(size), size, TG_HEAP_VALLOC);
}

void *pvalloc(size_t size)
{
    if (checks())
        return tg_heap_check_whole_pages(size, __builtin_frame_address(0));
    return allocated(tg_heap_real_get()->pvalloc(size), size, TG_HEAP_PVALLOC);
}

size_t malloc_usable_size(void *block)
{
    if (block != NULL && checks())
        return tg_heap_check_usable_size(block);
    return tg_heap_real_get()->usable_size(block);
}
