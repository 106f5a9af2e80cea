#include "recorder/agent/heap/notes.h"

#include "recorder/agent/heap/heap.h"
#include "recorder/agent/heap/red_zones.h"
#include "recorder/agent/heap/region.h"
#include "recorder/agent/heap/sample.h"
#include "recorder/agent/heap/stacks.h"
#include "recorder/agent/record.h"

enum {
    CALL_SHIFT = 48,
    STACK_SHIFT = 32,
};

static inline uint64_t with_address(const void *block, unsigned what)
{
    return ((uint64_t)(uintptr_t)block & TG_AGENT_CODE_MASK) | (uint64_t)what << CALL_SHIFT;
}

/* Begins a record of the moment TICKS, 0: now. */
static uint64_t *begin_at(unsigned kind, size_t n_arguments, uint64_t ticks)
{
    uint64_t *arguments = tg_agent_begin(kind, n_arguments);
    if (arguments != NULL && ticks != 0)
        arguments[-2] = ticks;
    return arguments;
}

/* For debuggers, which may stop here. */
void tollgate_heap_error(void);
__attribute__((visibility("default"), noinline)) void tollgate_heap_error(void)
{
    __asm__ volatile("");
}

void tg_heap_note_mistake(const struct tg_heap_mistake *mistake, const void *frame)
{
    uint32_t stack = tg_heap_stack(frame);
    size_t n_words = tg_agent_string_words(mistake->call);
    uint64_t *arguments = tg_agent_begin(TG_RECORD_HEAP_ERROR, 11 + n_words);
    if (arguments != NULL) {
        const uint64_t words[] = {mistake->error,
                                  mistake->address,
                                  mistake->block,
                                  mistake->size,
                                  stack,
                                  mistake->allocated_stack,
                                  mistake->freed_stack,
                                  (uint64_t)mistake->allocated_tid,
                                  (uint64_t)mistake->freed_tid,
                                  (uint64_t)mistake->offset,
                                  mistake->wrong_bytes};
        for (unsigned i = 0; i < 11; i++)
            arguments[i] = words[i];
        tg_agent_put_string(arguments + 11, mistake->call, n_words);
        tg_agent_commit();
    }
    bool is_asked_for = mistake->error >= TG_HEAP_DEALLOC_NOTIFICATION; /* tagged blocks need no checks */
    uint32_t silent = __atomic_load_n(&tg_agent.control->heap_wishes.silent_errors, __ATOMIC_RELAXED);
    if ((tg_heap.settings.mode == TG_AGENT_HEAP_CHECK || is_asked_for) && (silent >> mistake->error & 1) == 0)
        tollgate_heap_error();
}

static void note_failure(size_t size, const char *call, const void *frame)
{
    const struct tg_heap_mistake mistake = {.error = TG_HEAP_ALLOC_NULL, .size = size, .call = call};
    tg_heap_note_mistake(&mistake, frame);
}

static const char *name_of(enum tg_heap_call call)
{
    static const char names[][16] = {
        [TG_HEAP_MALLOC] = "malloc",
        [TG_HEAP_CALLOC] = "calloc",
        [TG_HEAP_REALLOC] = "realloc",
        [TG_HEAP_REALLOCARRAY] = "reallocarray",
        [TG_HEAP_NEW] = "operator new",
        [TG_HEAP_NEW_ARRAY] = "operator new[]",
        [TG_HEAP_POSIX_MEMALIGN] = "posix_memalign",
        [TG_HEAP_ALIGNED_ALLOC] = "aligned_alloc",
        [TG_HEAP_MEMALIGN] = "memalign",
        [TG_HEAP_VALLOC] = "valloc",
        [TG_HEAP_PVALLOC] = "pvalloc",
    };
    return (size_t)call < sizeof names / sizeof names[0] ? names[call] : "";
}

/* A frame that was left by longjmp (a new handler's, a signal handler's) is overwritten sooner or later. It is read where
 * nothing but the thread's stack can be: within a page, or up to the end of the mapping. */
bool tg_heap_note_is_within_operator(const void *frame)
{
    enum { NEAR_BYTES = 4096 };
    const struct tg_heap_thread *thread = &tg_heap_thread;
    uintptr_t inner = (uintptr_t)frame, outer = (uintptr_t)thread->outer;
    if (inner >= outer || (outer - inner > NEAR_BYTES && outer >= tg_heap_region_end(inner)))
        return false;
    return ((const uintptr_t *)thread->outer)[1] == thread->caller;
}

/* The first allocation below an operator is the operator's. It has at most the size that is asked of the allocator: libstdc++'s
 * aligned operators round some sizes up beyond the largest number, to a block of none. */
static void take_over(struct tg_heap_thread *thread, size_t *size, enum tg_heap_call *call,
                      const void **frame)
{
    if (thread->told || !tg_heap_note_is_within_operator(*frame))
        return;
    thread->told = true;
    if (*size > thread->size)
        *size = thread->size;
    *call = (enum tg_heap_call)thread->call;
    *frame = thread->outer;
}

static inline void put_alloc(const void *block, size_t size, enum tg_heap_call call, uint64_t stack)
{
    if (TG_AGENT_LIKELY(size < UINT64_C(1) << STACK_SHIFT))
        tg_agent_record2(TG_RECORD_HEAP_ALLOC, with_address(block, call), size | stack << STACK_SHIFT);
    else
        tg_agent_record4(TG_RECORD_HEAP_ALLOC_LARGE, with_address(block, call), stack, size, 0);
}

struct tg_heap_noted tg_heap_note_alloc(const void *block, size_t size, enum tg_heap_call call,
                                        const void *frame)
{
    struct tg_heap_thread *thread = &tg_heap_thread;
    if (TG_AGENT_UNLIKELY(thread->outer != NULL))
        take_over(thread, &size, &call, &frame);
    struct tg_heap_noted noted = {.call = call, .size = size, .frame = frame};
    if (TG_AGENT_UNLIKELY(block == NULL)) {
        note_failure(size, name_of(call), frame);
        return noted;
    }
    if (tg_heap.settings.mode == TG_AGENT_HEAP_SAMPLE &&
        (!tg_heap_sample_hits(size) || !tg_heap_sample_keep(block)))
        return noted;
    noted.stack = tg_heap_stack(frame);
    put_alloc(block, size, call, noted.stack);
    return noted;
}

struct tg_heap_noted tg_heap_note_prepare(size_t size, enum tg_heap_call call, const void *frame)
{
    struct tg_heap_thread *thread = &tg_heap_thread;
    if (thread->outer != NULL)
        take_over(thread, &size, &call, &frame);
    size_t alignment = thread->outer != NULL && frame == thread->outer ? thread->alignment : 0;
    return (struct tg_heap_noted){
        .stack = tg_heap_stack(frame), .call = call, .size = size, .frame = frame, .alignment = alignment};
}

void tg_heap_note_prepared(const void *block, const struct tg_heap_noted *noted)
{
    if (block == NULL)
        note_failure(noted->size, name_of(noted->call), noted->frame);
    else
        put_alloc(block, noted->size, noted->call, noted->stack);
}

uint32_t tg_heap_note_stack(const void *frame)
{
    return tg_heap_stack(frame);
}

void tg_heap_note_free_at(const void *block, enum tg_heap_release release, uint32_t stack)
{
    tg_agent_record2(TG_RECORD_HEAP_FREE, with_address(block, release), stack);
}

void tg_heap_note_free(const void *block, enum tg_heap_release release, const void *frame)
{
    (void)frame;
    if (tg_heap.settings.mode == TG_AGENT_HEAP_SAMPLE && !tg_heap_sample_drop(block))
        return;
    tg_heap_note_free_at(block, release, 0);
}

uint64_t tg_heap_note_now(void)
{
    const struct tg_agent_thread *thread = &tg_agent_thread;
    return thread->limit != 0 && thread->generation == *tg_agent.generation ? tg_agent_ticks() : 0;
}

void tg_heap_note_freed(const void *block, enum tg_heap_release release, uint64_t ticks)
{
    uint64_t *arguments = begin_at(TG_RECORD_HEAP_FREE, 2, ticks);
    if (arguments == NULL)
        return;
    arguments[0] = with_address(block, release);
    arguments[1] = 0;
    tg_agent_commit();
}

struct tg_heap_realloc tg_heap_note_realloc_begin(const void *old)
{
    bool samples = tg_heap.settings.mode == TG_AGENT_HEAP_SAMPLE;
    struct tg_heap_realloc begun = {.old = old};
    if (samples) /* before another thread can get the address */
        begun.is_sampled = tg_heap_sample_drop(old);
    if (!samples || begun.is_sampled)
        begun.ticks = tg_heap_note_now();
    return begun;
}

static enum tg_heap_release release_by(enum tg_heap_call call)
{
    return call == TG_HEAP_REALLOCARRAY ? TG_HEAP_FREED_BY_REALLOCARRAY : TG_HEAP_FREED_BY_REALLOC;
}

/* The block is where it was, of another size. Of a sample it counts as one that was freed and one that was allocated, which is
 * hit or not, whatever the first one was. */
static void note_resized(const struct tg_heap_realloc *begun, size_t size, enum tg_heap_call call,
                         const void *frame)
{
    bool samples = tg_heap.settings.mode == TG_AGENT_HEAP_SAMPLE, was_told = begun->is_sampled || !samples;
    bool is_told = !samples || (tg_heap_sample_hits(size) && tg_heap_sample_keep(begun->old));
    if (was_told && is_told)
        tg_agent_record4(TG_RECORD_HEAP_RESIZE, with_address(begun->old, call), tg_heap_stack(frame), size,
                         0);
    else if (was_told)
        tg_heap_note_freed(begun->old, release_by(call), begun->ticks);
    else if (is_told)
        put_alloc(begun->old, size, call, tg_heap_stack(frame));
}

void tg_heap_note_realloc_end(const struct tg_heap_realloc *begun, const void *block, size_t size,
                              enum tg_heap_call call, const void *frame)
{
    bool failed = block == NULL && size != 0;
    if (failed)
        note_failure(size, name_of(call), frame);
    if (failed) {
        if (begun->is_sampled) /* and is what it was */
            (void)tg_heap_sample_keep(begun->old);
        return;
    }
    if (block == begun->old) {
        note_resized(begun, size, call, frame);
        return;
    }
    if (tg_heap.settings.mode != TG_AGENT_HEAP_SAMPLE || begun->is_sampled)
        tg_heap_note_freed(begun->old, release_by(call), begun->ticks);
    if (block != NULL)
        tg_heap_note_alloc(block, size, call, frame);
}

void tg_heap_note_start(const char *allocator)
{
    size_t n_words = tg_agent_string_words(allocator);
    uint64_t *arguments = tg_agent_begin(TG_RECORD_HEAP_START, 4 + n_words);
    if (arguments == NULL)
        return;
    arguments[0] = (tg_heap.settings.mode - TG_AGENT_HEAP_EVENTS) | (uint64_t)tg_heap.settings.depth << 32;
    arguments[1] = tg_heap.settings.sample_bytes;
    arguments[2] = tg_heap_red_room.start;
    arguments[3] = tg_heap_red_room.size;
    tg_agent_put_string(arguments + 4, allocator, n_words);
    tg_agent_commit();
}

void tg_heap_note_unseen(const char *path, const char *reason)
{
    size_t path_words = tg_agent_string_words(path), reason_words = tg_agent_string_words(reason);
    uint64_t *arguments = tg_agent_begin(TG_RECORD_HEAP_UNSEEN, path_words + reason_words);
    if (arguments == NULL)
        return;
    tg_agent_put_string(arguments, path, path_words);
    tg_agent_put_string(arguments + path_words, reason, reason_words);
    tg_agent_commit();
}
