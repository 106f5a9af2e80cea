/* operator new and delete in all their forms, under their mangled names: this is C, as the library needs nothing of
 * C++. They pass calls on to the program's own, which mostly come back as malloc and free: those are then recorded as
 * the operator's. */
#include "recorder/agent/heap/notes.h"
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

static operator_function *find(operator_function **known, const char *name)
{
    operator_function *function = __atomic_load_n(known, __ATOMIC_RELAXED);
    if (TG_AGENT_LIKELY(function != NULL))
        return function;
    function = (operator_function *)(uintptr_t)tg_agent_next(name);
    __atomic_store_n(known, function, __ATOMIC_RELAXED);
    return function;
}

/* What an operator new does: ARGUMENTS are its own, the size first. */
static uintptr_t allocate(operator_function *function, const uintptr_t arguments[3], enum tg_heap_call call,
                          const void *frame)
{
    struct tg_heap_thread *thread = &tg_heap_thread;
    if (function == NULL) /* no C++ library in sight: nobody should get here */
        return (uintptr_t)tg_heap_real_get()->malloc(arguments[0]);
    if (thread->outer != NULL && tg_heap_note_is_within_operator(frame))
        return function(arguments[0], arguments[1], arguments[2]);
    thread->size = arguments[0];
    thread->call = call;
    thread->told = false;
    thread->caller = ((const uintptr_t *)frame)[1];
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    thread->outer = frame;
    uintptr_t block = tg_heap_guarded_call(arguments[0], arguments[1], arguments[2], function);
    thread->outer = NULL;
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    if (!thread->told && block != 0 && tg_heap_is_on()) /* by way of something that is not seen */
        tg_heap_note_alloc((const void *)block, arguments[0], call, frame); // NOLINT: an address
    return block;
}

static void release(operator_function *function, const uintptr_t arguments[3], enum tg_heap_release how,
                    const void *frame)
{
    struct tg_heap_thread *thread = &tg_heap_thread;
    const void *block = (const void *)arguments[0]; // NOLINT: an address
    if (block != NULL && thread->freed != block && tg_heap_is_on()) {
        if (tg_heap.settings.mode != TG_AGENT_HEAP_CHECK) {
            tg_heap_wishes_meet(block, TG_AGENT_HEAP_TAG_DEALLOC, "operator delete", frame);
            tg_heap_note_free(block, how, frame);
        }
        thread->release = how;
        thread->freed = block;
    }
    if (function != NULL)
        function(arguments[0], arguments[1], arguments[2]);
    else
        tg_heap_real_get()->free((void *)arguments[0]); // NOLINT: an address
    if (thread->freed == block)
        thread->freed = NULL;
}

#define OPERATOR_NEW(symbol, call)                                                                           \
    TG_AGENT_EXPORT uintptr_t symbol(uintptr_t first, uintptr_t second, uintptr_t third);                    \
    uintptr_t symbol(uintptr_t first, uintptr_t second, uintptr_t third)                                     \
    {                                                                                                        \
        static operator_function *known;                                                                     \
        const uintptr_t arguments[] = {first, second, third};                                                \
        return allocate(find(&known, #symbol), arguments, call, __builtin_frame_address(0));                 \
    }

#define OPERATOR_DELETE(symbol, how)                                                                         \
    TG_AGENT_EXPORT void symbol(uintptr_t first, uintptr_t second, uintptr_t third);                         \
    void symbol(uintptr_t first, uintptr_t second, uintptr_t third)                                          \
    {                                                                                                        \
        static operator_function *known;                                                                     \
        const uintptr_t arguments[] = {first, second, third};                                                \
        release(find(&known, #symbol), arguments, how, __builtin_frame_address(0));                          \
    }

/* clang-format off */
OPERATOR_NEW(_Znwm, TG_HEAP_NEW)
OPERATOR_NEW(_Znam, TG_HEAP_NEW_ARRAY)
OPERATOR_NEW(_ZnwmRKSt9nothrow_t, TG_HEAP_NEW)
OPERATOR_NEW(_ZnamRKSt9nothrow_t, TG_HEAP_NEW_ARRAY)
OPERATOR_NEW(_ZnwmSt11align_val_t, TG_HEAP_NEW)
OPERATOR_NEW(_ZnamSt11align_val_t, TG_HEAP_NEW_ARRAY)
OPERATOR_NEW(_ZnwmSt11align_val_tRKSt9nothrow_t, TG_HEAP_NEW)
OPERATOR_NEW(_ZnamSt11align_val_tRKSt9nothrow_t, TG_HEAP_NEW_ARRAY)
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
