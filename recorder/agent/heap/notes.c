#include "recorder/agent/heap/notes.h"

#include "recorder/agent/heap/heap.h"
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

static void note_failure(size_t size, const char *call, const void *frame)
{
    uint32_t stack = tg_heap_stack(frame);
    size_t n_words = tg_agent_string_words(call);
    uint64_t *arguments = tg_agent_begin(TG_RECORD_HEAP_ERROR, 11 + n_words);
    if (arguments == NULL)
        return;
    for (unsigned i = 0; i < 11; i++)
        arguments[i] = 0;
    arguments[0] = TG_HEAP_ALLOC_NULL;
    arguments[3] = size;
    arguments[4] = stack;
    tg_agent_put_string(arguments + 11, call, n_words);
    tg_agent_commit();
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

/* The first allocation below an operator is the operator's. */
static void take_over(struct tg_heap_thread *thread, size_t *size, enum tg_heap_call *call,
                      const void **frame)
{
    if (thread->told || (uintptr_t)*frame >= (uintptr_t)thread->outer)
        return;
    thread->told = true;
    *size = thread->size;
    *call = (enum tg_heap_call)thread->call;
    *frame = thread->outer;
}

void tg_heap_note_alloc(const void *block, size_t size, enum tg_heap_call call, const void *frame)
{
    struct tg_heap_thread *thread = &tg_heap_thread;
    if (TG_AGENT_UNLIKELY(thread->outer != NULL))
        take_over(thread, &size, &call, &frame);
    if (TG_AGENT_UNLIKELY(block == NULL)) {
        note_failure(size, name_of(call), frame);
        return;
    }
    uint64_t stack = tg_heap_stack(frame);
    if (TG_AGENT_LIKELY(size < UINT64_C(1) << STACK_SHIFT))
        tg_agent_record2(TG_RECORD_HEAP_ALLOC, with_address(block, call), size | stack << STACK_SHIFT);
    else
        tg_agent_record4(TG_RECORD_HEAP_ALLOC_LARGE, with_address(block, call), stack, size, 0);
}

void tg_heap_note_free(const void *block, enum tg_heap_release release, const void *frame)
{
    (void)frame;
    tg_agent_record2(TG_RECORD_HEAP_FREE, with_address(block, release), 0);
}

/* A thread that has no ring, or may not read the clock, has none. */
uint64_t tg_heap_note_now(void)
{
    const struct tg_agent_thread *thread = &tg_agent_thread;
    return thread->limit != 0 && thread->generation == *tg_agent.generation ? tg_agent_ticks() : 0;
}

void tg_heap_note_realloc(const void *old, const void *block, size_t size, enum tg_heap_call call,
                          uint64_t before, const void *frame)
{
    enum tg_heap_release release =
        call == TG_HEAP_REALLOCARRAY ? TG_HEAP_FREED_BY_REALLOCARRAY : TG_HEAP_FREED_BY_REALLOC;
    if (block == old) {
        uint64_t stack = tg_heap_stack(frame);
        tg_agent_record4(TG_RECORD_HEAP_RESIZE, with_address(block, call), stack, size, 0);
        return;
    }
    if (block == NULL && size != 0) {
        note_failure(size, name_of(call), frame);
        return;
    }
    uint64_t *arguments = begin_at(TG_RECORD_HEAP_FREE, 2, before);
    if (arguments != NULL) {
        arguments[0] = with_address(old, release);
        arguments[1] = 0;
        tg_agent_commit();
    }
    if (block != NULL)
        tg_heap_note_alloc(block, size, call, frame);
}

void tg_heap_note_start(const char *allocator)
{
    size_t n_words = tg_agent_string_words(allocator);
    uint64_t *arguments = tg_agent_begin(TG_RECORD_HEAP_START, 2 + n_words);
    if (arguments == NULL)
        return;
    arguments[0] = (tg_heap.settings.mode - TG_AGENT_HEAP_EVENTS) | (uint64_t)tg_heap.settings.depth << 32;
    arguments[1] = tg_heap.settings.sample_bytes;
    tg_agent_put_string(arguments + 2, allocator, n_words);
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
