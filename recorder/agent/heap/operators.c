/* operator new and delete in all their forms, under their mangled names: this is C, as the library needs nothing of
 * C++. They pass calls on to the program's own, which mostly come back as malloc and free: those are then recorded as
 * the operator's. */
#include "recorder/agent/heap/notes.h"
#include "recorder/agent/heap/objects.h"
#include "recorder/agent/heap/quick.h"
#include "recorder/agent/heap/real.h"
#include "recorder/agent/heap/setup.h"
#include "recorder/agent/heap/wishes.h"
#include "recorder/agent/next.h"
#include "recorder/agent/process.h"

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

/* Where a sample is recorded, most calls are only counted, and the malloc that an operator new of a C++ library makes counts as well:
 * it is left alone, so that a pair of new and delete costs little more than one of malloc and free. Not so others, which may have
 * memory of their own, or whose malloc is none of this library's. If there is no memory for a call that is left alone, it is the
 * malloc that has failed. */
enum way { UNDECIDED, LEFT_ALONE, WATCHED };

/* One of the operators. */
struct member {
    const char *name;
    operator_function *function; /* __atomic; the program's own; NULL: not looked for yet, or there is none */
    int way;                     /* enum way, __atomic */
    unsigned what;               /* enum tg_heap_call or enum tg_heap_release */
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

static bool is_of_a_library(const struct member *member)
{
    static const char *const libraries[] = {"/libstdc++.so", "/libc++.so", "/libc++abi.so"};
    const char *name = tg_heap_object_path((const void *)(uintptr_t)member->function);
    for (const char *at = name; *at != '\0'; at++)
        name = *at == '/' ? at : name;
    for (unsigned i = 0; i < sizeof libraries / sizeof libraries[0]; i++) {
        unsigned same = 0;
        while (libraries[i][same] != '\0' && libraries[i][same] == name[same])
            same++;
        if (libraries[i][same] == '\0')
            return true;
    }
    return false;
}

/* The first call that gave a block is over, TOLD by malloc or not. */
static void decide(struct member *member, bool told)
{
    __atomic_store_n(&member->way, told && is_of_a_library(member) ? LEFT_ALONE : WATCHED, __ATOMIC_RELAXED);
}

static inline __attribute__((always_inline)) bool is_left_alone(const struct member *member, size_t size)
{
    /* of no bytes they ask for one */
    return __atomic_load_n(&member->way, __ATOMIC_RELAXED) == LEFT_ALONE &&
           tg_heap_quick_would_pass(size | 1) && tg_heap_thread.outer == NULL;
}

/* What an operator new does. */
static __attribute__((noinline)) uintptr_t allocate(struct member *member, uintptr_t size, uintptr_t second,
                                                    uintptr_t third, const void *frame)
{
    struct tg_heap_thread *thread = &tg_heap_thread;
    operator_function *function = find(member);
    enum tg_heap_call call = (enum tg_heap_call)member->what;
    if (function == NULL) /* no C++ library in sight: nobody should get here */
        return (uintptr_t)tg_heap_real_get()->malloc(size);
    if (thread->outer != NULL && tg_heap_note_is_within_operator(frame))
        return function(size, second, third);
    thread->size = size;
    thread->call = call;
    thread->told = false;
    thread->caller = ((const uintptr_t *)frame)[1];
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    thread->outer = frame;
    uintptr_t block = tg_heap_guarded_call(size, second, third, function);
    thread->outer = NULL;
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    if (!thread->told && block != 0 && tg_heap_is_on())             /* by way of something that is not seen */
        tg_heap_note_alloc((const void *)block, size, call, frame); // NOLINT: an address
    if (TG_AGENT_UNLIKELY(member->way == UNDECIDED) && tg_heap.samples && block != 0)
        decide(member, thread->told);
    return block;
}

/* What an operator delete does. */
static __attribute__((noinline)) void release(struct member *member, uintptr_t freed, uintptr_t second,
                                              uintptr_t third, const void *frame)
{
    operator_function *function = find(member);
    enum tg_heap_release how = (enum tg_heap_release)member->what;
    struct tg_heap_thread *thread = &tg_heap_thread;
    const void *block = (const void *)freed; // NOLINT: an address
    if (block != NULL && thread->freed != block && tg_heap_is_on()) {
        if (tg_heap.settings.mode != TG_AGENT_HEAP_CHECK) {
            tg_heap_wishes_meet(block, TG_AGENT_HEAP_TAG_DEALLOC, "operator delete", frame);
            tg_heap_note_free(block, how, frame);
        }
        thread->release = how;
        thread->freed = block;
    }
    if (function != NULL)
        function(freed, second, third);
    else
        tg_heap_real_get()->free((void *)freed); // NOLINT: an address
    if (thread->freed == block)
        thread->freed = NULL;
}

#define OPERATOR_NEW(symbol, call, first_way)                                                                \
    TG_AGENT_EXPORT uintptr_t symbol(uintptr_t first, uintptr_t second, uintptr_t third);                    \
    uintptr_t symbol(uintptr_t first, uintptr_t second, uintptr_t third)                                     \
    {                                                                                                        \
        static struct member member = {.name = #symbol, .way = (first_way), .what = (call)};                 \
        return is_left_alone(&member, first)                                                                 \
                   ? member.function(first, second, third)                                                   \
                   : allocate(&member, first, second, third, __builtin_frame_address(0));                    \
    }

#define OPERATOR_DELETE(symbol, how)                                                                         \
    TG_AGENT_EXPORT void symbol(uintptr_t first, uintptr_t second, uintptr_t third);                         \
    void symbol(uintptr_t first, uintptr_t second, uintptr_t third)                                          \
    {                                                                                                        \
        static struct member member = {.name = #symbol, .what = (how)};                                      \
        operator_function *function = __atomic_load_n(&member.function, __ATOMIC_RELAXED);                   \
        if (function != NULL && tg_heap_quick_passes_free((const void *)first)) /* NOLINT: an address */     \
            function(first, second, third);                                                                  \
        else                                                                                                 \
            release(&member, first, second, third, __builtin_frame_address(0));                              \
    }

/* clang-format off */
OPERATOR_NEW(_Znwm, TG_HEAP_NEW, UNDECIDED)
OPERATOR_NEW(_Znam, TG_HEAP_NEW_ARRAY, UNDECIDED)
OPERATOR_NEW(_ZnwmRKSt9nothrow_t, TG_HEAP_NEW, UNDECIDED)
OPERATOR_NEW(_ZnamRKSt9nothrow_t, TG_HEAP_NEW_ARRAY, UNDECIDED)
OPERATOR_NEW(_ZnwmSt11align_val_t, TG_HEAP_NEW, WATCHED)
OPERATOR_NEW(_ZnamSt11align_val_t, TG_HEAP_NEW_ARRAY, WATCHED)
OPERATOR_NEW(_ZnwmSt11align_val_tRKSt9nothrow_t, TG_HEAP_NEW, WATCHED)
OPERATOR_NEW(_ZnamSt11align_val_tRKSt9nothrow_t, TG_HEAP_NEW_ARRAY, WATCHED)
OPERATOR_DELETE(_ZdlPv, TG_HEAP_DELETE)
OPERATOR_DELETE(_ZdaPv, TG_HEAP_DELETE_ARRAY)
OPERATOR_DELETE(_ZdlPvm, TG_HEAP_DELETE)
OPERATOR_DELETE(_ZdaPvm, TG_HEAP_DELETE_ARRAY)
OPERATOR_DELETE(_ZdlPvRKSt9nothrow_t, TG_HEAP_DELETE)
OPERATOR_DELETE(_ZdaPvRKSt9nothrow_t, TG_HEAP_DELETE_ARRAY)
OPERATOR_DELETE(_ZdlPvSt11align_val_t, TG_HEAP_DELETE)
OPERATOR_DELETE(_ZdaPvSt11align_val_t, TG_HEAP_DELETE_ARRAY)
OPERATOR_DELETE(_ZdlPvmSt11align_val_t, TG_HEAP_DELETE)
OPERATOR_DELETE(_ZdaPvmSt11align_val_t, TG_HEAP_DELETE_ARRAY)
OPERATOR_DELETE(_ZdlPvSt11align_val_tRKSt9nothrow_t, TG_HEAP_DELETE)
OPERATOR_DELETE(_ZdaPvSt11align_val_tRKSt9nothrow_t, TG_HEAP_DELETE_ARRAY)
