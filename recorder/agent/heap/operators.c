/* operator new and delete in all their forms, under their mangled names: this is C, as the library needs nothing of
 * C++. They pass calls on to the program's own, which mostly come back as malloc and free: those are then recorded as
 * the operator's. */
#include "recorder/agent/heap/check.h"
#include "recorder/agent/heap/notes.h"
#include "recorder/agent/heap/objects.h"
#include "recorder/agent/heap/quick.h"
#include "recorder/agent/heap/real.h"
#include "recorder/agent/heap/setup.h"
#include "recorder/agent/heap/wishes.h"
#include "recorder/agent/next.h"
#include "recorder/agent/process.h"
#include "recorder/agent/record.h"

#include <dlfcn.h>
#include <link.h>

enum { FORCED_TO_CLEAN_UP = 2, CONTINUE_UNWINDING = 8 }; /* _UA_CLEANUP_PHASE, _URC_CONTINUE_UNWIND */

/* Any of the operators: what they take beyond what they have is ignored by the callee. */
typedef uintptr_t operator_function(uintptr_t first, uintptr_t second, uintptr_t third);

/* FUNCTION(FIRST, SECOND, THIRD); where it throws, the personality routine is called on the way. */
uintptr_t tg_heap_guarded_call(uintptr_t first, uintptr_t second, uintptr_t third,
                               operator_function *function);
int tg_heap_personality(int version, int actions, uint64_t exception_class, void *exception, void *context);

int tg_heap_personality(int version, int actions, uint64_t exception_class, void *exception, void *context)
{
    (void)version;
    (void)exception_class;
    (void)exception;
    (void)context;
    if ((actions & FORCED_TO_CLEAN_UP) != 0)
        tg_heap_thread.outer = NULL;
    return CONTINUE_UNWINDING;
}

/* Where a sample is recorded, most calls are only counted, and the malloc that an operator new of a C++ library makes counts as
 * well: it is left alone, so that a pair of new and delete costs little more than one of malloc and free. Where nobody can have a
 * breakpoint in it, and it does nothing else, it is stood in for: the block comes from malloc, and is given back with free,
 * without it. Not so others, which may have memory of their own, or whose malloc is none of this library's. If there is no memory
 * for a call that is left alone, it is the malloc that has failed. */
enum way { UNDECIDED, LEFT_ALONE, STOOD_IN_FOR, WATCHED };

/* One of the operators. */
struct member {
    const char *name;
    operator_function *function; /* __atomic; the program's own; NULL: not looked for yet, or there is none */
    operator_function *
        quick; /* __atomic; an operator delete's: what calls go to that are none for the records; NULL: it is undecided */
    int way;            /* enum way, __atomic */
    unsigned what;      /* enum tg_heap_call or enum tg_heap_release */
    bool has_size;      /* an operator delete's: it is told the size, as its second argument */
    bool has_alignment; /* likewise, as the last number before that of nothrow */
    char is_allocators; /* __atomic; is_checked_as_malloc's */
};

static operator_function *find(struct member *member)
{
    operator_function *function = __atomic_load_n(&member->function, __ATOMIC_RELAXED);
    if (TG_AGENT_LIKELY(function != NULL))
        return function;
    function = (operator_function *)(uintptr_t)tg_agent_next(member->name);
    __atomic_store_n(&member->function, function, __ATOMIC_RELAXED);
    return function;
}

/* Whether blocks are checked, and MEMBER's function is of an allocator whose malloc and free have the same blocks, and come
 * instead: by itself it calls neither, so that nothing of its blocks could be checked. */
static bool is_checked_as_malloc(struct member *member)
{
    static const char *const allocators[] = {"/libjemalloc.so", "/libmimalloc.so", "/libtcmalloc.so",
                                             "/libtcmalloc_minimal.so", "/libtcmalloc_and_profiler.so"};
    enum { UNKNOWN, NO, YES };
    if (TG_AGENT_LIKELY(tg_heap.settings.mode != TG_AGENT_HEAP_CHECK) || !tg_heap_is_on())
        return false;
    char known = __atomic_load_n(&member->is_allocators, __ATOMIC_RELAXED);
    if (known == UNKNOWN) {
        struct dl_find_object own, other;
        known = find(member) != NULL &&
                        tg_heap_object_is_named((const void *)(uintptr_t)member->function, allocators,
                                                sizeof allocators / sizeof allocators[0]) &&
                        _dl_find_object((void *)(uintptr_t)member->function, &own) == 0 &&
                        _dl_find_object((void *)(uintptr_t)tg_heap_real_get()->malloc, &other) == 0 &&
                        own.dlfo_link_map == other.dlfo_link_map
                    ? YES
                    : NO;
        __atomic_store_n(&member->is_allocators, known, __ATOMIC_RELAXED);
    }
    return known == YES;
}

/* Whether what MEMBER, of a C++ library, does is to call malloc or free: others of the library's it may call are those that it
 * has itself. */
static bool may_be_stood_in_for(const struct member *member)
{
    static const char *const plain[] = {"_Znwm", "_Znam", "_ZdlPv", "_ZdaPv"};
    struct dl_find_object own, other;
    if (tg_heap.settings.may_stand_in == 0 || tg_heap.operators_in_front ||
        _dl_find_object((void *)(uintptr_t)member->function, &own) != 0)
        return false;
    for (unsigned i = 0; i < sizeof plain / sizeof plain[0]; i++)
        if (_dl_find_object(tg_agent_next(plain[i]), &other) != 0 || other.dlfo_link_map != own.dlfo_link_map)
            return false;
    return true;
}

/* The first call that gave a block is over, TOLD by malloc or not. */
static void decide(struct member *member, bool told)
{
    enum way way = WATCHED;
    if (told && tg_heap_object_is_cxx_library((const void *)(uintptr_t)member->function))
        way = may_be_stood_in_for(member) ? STOOD_IN_FOR : LEFT_ALONE;
    __atomic_store_n(&member->way, way, __ATOMIC_RELAXED);
}

/* The first call that freed a block is over, TOLD by free or not. */
static void decide_release(struct member *member, bool told)
{
    bool stands_in = told && tg_heap_object_is_cxx_library((const void *)(uintptr_t)member->function) &&
                     may_be_stood_in_for(member);
    __atomic_store_n(&member->way, stands_in ? STOOD_IN_FOR : WATCHED, __ATOMIC_RELAXED);
    if (tg_heap.settings.mode == TG_AGENT_HEAP_SAMPLE)
        __atomic_store_n(&member->quick,
                         stands_in ? (operator_function *)(uintptr_t)tg_heap_quick.free : member->function,
                         __ATOMIC_RELAXED);
}

static inline __attribute__((always_inline)) bool is_left_alone(const struct member *member, size_t size)
{
    /* of no bytes they ask for one */
    return __atomic_load_n(&member->way, __ATOMIC_RELAXED) == LEFT_ALONE &&
           tg_heap_quick_would_pass(size | 1) && tg_heap_thread.outer == NULL;
}

static void say_unchecked(void)
{
    static bool said; /* __atomic */
    if (tg_heap.settings.mode == TG_AGENT_HEAP_CHECK && !__atomic_exchange_n(&said, true, __ATOMIC_RELAXED))
        tg_agent_say(
            TG_RECORD_NOTE,
            "heap: blocks of an operator new that does not call malloc are recorded, but not checked");
}

/* What an operator new does whose function is called. */
static __attribute__((noinline)) uintptr_t allocate_by(struct member *member, uintptr_t size,
                                                       uintptr_t second, uintptr_t third, const void *frame)
{
    struct tg_heap_thread *thread = &tg_heap_thread;
    operator_function *function = find(member);
    enum tg_heap_call call = (enum tg_heap_call)member->what;
    if (function == NULL) /* no C++ library in sight: nobody should get here */
        return (uintptr_t)tg_heap_real_get()->malloc(size);
    if (thread->outer != NULL && tg_heap_note_is_within_operator(frame))
        return function(size, second, third);
    bool is_checked =
        is_checked_as_malloc(member); /* what its function calls of malloc is then an exception's */
    if (is_checked) {
        void *checked = tg_heap_check_alloc(member->has_alignment ? second : 0, size, false, call, frame);
        if (checked != NULL)
            return (uintptr_t)checked;
    }
    thread->size = size;
    thread->alignment = member->has_alignment ? second : 0;
    thread->call = call;
    thread->told = is_checked;
    thread->caller = ((const uintptr_t *)frame)[1];
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    thread->outer = frame;
    uintptr_t block = tg_heap_guarded_call(size, second, third, function);
    thread->outer = NULL;
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    if ((is_checked || !thread->told) && block != 0 &&
        tg_heap_is_on()) {                                          /* by way of something that is not seen */
        tg_heap_note_alloc((const void *)block, size, call, frame); // NOLINT: an address
        say_unchecked();
    }
    if (TG_AGENT_UNLIKELY(member->way == UNDECIDED) && block != 0 &&
        __atomic_load_n(&tg_heap.decides, __ATOMIC_ACQUIRE))
        decide(member, thread->told);
    return block;
}

/* What an operator new does, which ends with it: the frame is the operator's, as in calls.c. */
static __attribute__((noinline)) uintptr_t allocate(struct member *member, uintptr_t size, uintptr_t second,
                                                    uintptr_t third)
{
    const void *frame = __builtin_frame_address(0);
    if (__atomic_load_n(&member->way, __ATOMIC_RELAXED) != STOOD_IN_FOR || tg_heap_thread.outer != NULL)
        return allocate_by(member, size, second, third, frame);
    void *block = tg_heap_real.malloc(size != 0 ? size : 1);
    if (block == NULL)
        return allocate_by(member, size, second, third, frame);
    (void)tg_heap_note_alloc(block, size, (enum tg_heap_call)member->what, frame);
    return (uintptr_t)block;
}

/* What an operator delete does, which ends with it. */
static __attribute__((noinline)) void release(struct member *member, uintptr_t freed, uintptr_t second,
                                              uintptr_t third)
{
    const void *frame = __builtin_frame_address(0);
    operator_function *function = find(member);
    enum tg_heap_release how = (enum tg_heap_release)member->what;
    struct tg_heap_thread *thread = &tg_heap_thread;
    const void *block = (const void *)freed; // NOLINT: an address
    const struct tg_heap_told told = {member->has_size ? second : (size_t)TG_HEAP_NOT_TOLD,
                                      !member->has_alignment ? 0
                                      : member->has_size     ? third
                                                             : second};
    bool is_outer = block != NULL && thread->freed != block && tg_heap_is_on();
    uint64_t begun = 0;
    if (is_outer && is_checked_as_malloc(member)) {
        tg_heap_check_free((void *)freed, how, told, frame); // NOLINT: an address
        return;
    }
    if (is_outer) {
        if (tg_heap.settings.mode != TG_AGENT_HEAP_CHECK) {
            tg_heap_wishes_meet(block, TG_AGENT_HEAP_TAG_DEALLOC, "operator delete", frame);
            tg_heap_note_free(block, how, frame);
        }
        if (TG_AGENT_LIKELY(__atomic_load_n(&member->way, __ATOMIC_RELAXED) == STOOD_IN_FOR)) {
            tg_heap_real.free((void *)freed); // NOLINT: an address
            return;
        }
        begun = tg_heap_note_now();
        thread->release = how;
        thread->told_of_freed = told;
        thread->freed = block;
    }
    if (function != NULL)
        function(freed, second, third);
    else
        tg_heap_real_get()->free((void *)freed); // NOLINT: an address
    bool is_told = thread->freed != block;
    if (!is_told)
        thread->freed = NULL;
    if (!is_told && is_outer && tg_heap.settings.mode == TG_AGENT_HEAP_CHECK) {
        tg_heap_note_freed(block, how, begun);
        tg_heap_wishes_meet(block, TG_AGENT_HEAP_TAG_DEALLOC, "operator delete", frame);
    }
    if (TG_AGENT_UNLIKELY(member->way == UNDECIDED) && is_outer &&
        __atomic_load_n(&tg_heap.decides, __ATOMIC_ACQUIRE))
        decide_release(member, is_told);
}

#define OPERATOR_NEW(symbol, call, first_way, is_aligned)                                                    \
    TG_AGENT_EXPORT uintptr_t symbol(uintptr_t first, uintptr_t second, uintptr_t third);                    \
    uintptr_t symbol(uintptr_t first, uintptr_t second, uintptr_t third)                                     \
    {                                                                                                        \
        static struct member member = {                                                                      \
            .name = #symbol, .way = (first_way), .what = (call), .has_alignment = (is_aligned)};             \
        return is_left_alone(&member, first) ? member.function(first, second, third)                         \
                                             : allocate(&member, first, second, third);                      \
    }

/* The same where it is only asked for bytes. */
#define OPERATOR_PLAIN_NEW(symbol, call)                                                                     \
    TG_AGENT_EXPORT uintptr_t symbol(uintptr_t size);                                                        \
    uintptr_t symbol(uintptr_t size)                                                                         \
    {                                                                                                        \
        static struct member member = {.name = #symbol, .what = (call)};                                     \
        int way = __atomic_load_n(&member.way, __ATOMIC_RELAXED);                                            \
        if (TG_AGENT_LIKELY(way == STOOD_IN_FOR) && TG_AGENT_LIKELY(tg_heap_quick_passes_new(size))) {       \
            void *block = tg_heap_real.malloc(size != 0 ? size : 1);                                         \
            return TG_AGENT_LIKELY(block != NULL) ? (uintptr_t)block : allocate(&member, size, 0, 0);        \
        }                                                                                                    \
        return is_left_alone(&member, size) ? member.function(size, 0, 0) : allocate(&member, size, 0, 0);   \
    }

#define OPERATOR_DELETE(symbol, how, is_sized, is_aligned)                                                   \
    TG_AGENT_EXPORT void symbol(uintptr_t first, uintptr_t second, uintptr_t third);                         \
    void symbol(uintptr_t first, uintptr_t second, uintptr_t third)                                          \
    {                                                                                                        \
        static struct member member = {                                                                      \
            .name = #symbol, .what = (how), .has_size = (is_sized), .has_alignment = (is_aligned)};          \
        operator_function *quick = __atomic_load_n(&member.quick, __ATOMIC_RELAXED);                         \
        if (quick != NULL && tg_heap_quick_passes_free((const void *)first)) /* NOLINT: an address */        \
            quick(first, second, third);                                                                     \
        else                                                                                                 \
            release(&member, first, second, third);                                                          \
    }

/* clang-format off */
OPERATOR_PLAIN_NEW(_Znwm, TG_HEAP_NEW)
OPERATOR_PLAIN_NEW(_Znam, TG_HEAP_NEW_ARRAY)
OPERATOR_NEW(_ZnwmRKSt9nothrow_t, TG_HEAP_NEW, UNDECIDED, false)
OPERATOR_NEW(_ZnamRKSt9nothrow_t, TG_HEAP_NEW_ARRAY, UNDECIDED, false)
OPERATOR_NEW(_ZnwmSt11align_val_t, TG_HEAP_NEW, WATCHED, true)
OPERATOR_NEW(_ZnamSt11align_val_t, TG_HEAP_NEW_ARRAY, WATCHED, true)
OPERATOR_NEW(_ZnwmSt11align_val_tRKSt9nothrow_t, TG_HEAP_NEW, WATCHED, true)
OPERATOR_NEW(_ZnamSt11align_val_tRKSt9nothrow_t, TG_HEAP_NEW_ARRAY, WATCHED, true)
OPERATOR_DELETE(_ZdlPv, TG_HEAP_DELETE, false, false)
OPERATOR_DELETE(_ZdaPv, TG_HEAP_DELETE_ARRAY, false, false)
OPERATOR_DELETE(_ZdlPvm, TG_HEAP_DELETE, true, false)
OPERATOR_DELETE(_ZdaPvm, TG_HEAP_DELETE_ARRAY, true, false)
OPERATOR_DELETE(_ZdlPvRKSt9nothrow_t, TG_HEAP_DELETE, false, false)
OPERATOR_DELETE(_ZdaPvRKSt9nothrow_t, TG_HEAP_DELETE_ARRAY, false, false)
OPERATOR_DELETE(_ZdlPvSt11align_val_t, TG_HEAP_DELETE, false, true)
OPERATOR_DELETE(_ZdaPvSt11align_val_t, TG_HEAP_DELETE_ARRAY, false, true)
OPERATOR_DELETE(_ZdlPvmSt11align_val_t, TG_HEAP_DELETE, true, true)
OPERATOR_DELETE(_ZdaPvmSt11align_val_t, TG_HEAP_DELETE_ARRAY, true, true)
OPERATOR_DELETE(_ZdlPvSt11align_val_tRKSt9nothrow_t, TG_HEAP_DELETE, false, true)
OPERATOR_DELETE(_ZdaPvSt11align_val_tRKSt9nothrow_t, TG_HEAP_DELETE_ARRAY, false, true)
