/* With a sample: calls that are only counted, which is most of them. */
#ifndef TG_RECORDER_AGENT_HEAP_QUICK_H
#define TG_RECORDER_AGENT_HEAP_QUICK_H

#include "recorder/agent/heap/real.h"
#include "recorder/agent/heap/sample.h"
#include "recorder/agent/process.h"

/* Whether an allocation of SIZE bytes would be hit by no sample. False: there is no sample, or none drawn yet. */
static inline __attribute__((always_inline)) bool tg_heap_quick_would_pass(size_t size)
{
    return size < (uint64_t)tg_heap_thread.left; /* which is never negative */
}

/* Whether the call that the program made for SIZE bytes is none for the records, if the allocator has them: then it is counted,
 * and there is nothing else to do. It may be the one that the thread's operator new makes, whatever became of that one. */
static inline __attribute__((always_inline)) bool tg_heap_quick_passes_alloc(size_t size)
{
    struct tg_heap_thread *thread = &tg_heap_thread;
    if (!tg_heap_quick_would_pass(size))
        return false;
    if (TG_AGENT_UNLIKELY(thread->outer != NULL)) {
        if (size != thread->size)
            return false;
        thread->told = true;
    }
    thread->left -= (int64_t)size;
    return true;
}

/* The allocator does not have them: as if the call had not been counted. */
static inline void tg_heap_quick_take_back(size_t size)
{
    tg_heap_thread.told = false;
    tg_heap_thread.left += (int64_t)size;
}

/* Whether an operator new of SIZE bytes is none for the records, if the allocator has them: then it is counted. (Where it has
 * not, a byte too many is: a sample is due a little sooner.) */
static inline __attribute__((always_inline)) bool tg_heap_quick_passes_new(size_t size)
{
    struct tg_heap_thread *thread = &tg_heap_thread;
    if (!tg_heap_quick_would_pass(size) || thread->outer != NULL)
        return false;
    thread->left -= (int64_t)size;
    return true;
}

/* Where there is a sample, and all of the library is ready. */
struct tg_heap_quick {
    void (*free)(void *);   /* the allocator's; __atomic, NULL: it is not so */
    const uint32_t *n_tags; /* __atomic */
};
extern struct tg_heap_quick tg_heap_quick;

/* Whether the call that frees BLOCK, which may be NULL, is none for the records. Where tg_heap_quick is ready. */
static inline __attribute__((always_inline)) bool tg_heap_quick_passes_free(const void *block)
{
    return tg_heap_thread.freed == NULL && tg_heap_sample_lacks(block) &&
           __atomic_load_n(tg_heap_quick.n_tags, __ATOMIC_RELAXED) == 0;
}

#endif
