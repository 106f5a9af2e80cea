#include "recorder/agent/gomp/inferred.h"

enum {
    MAX_STACK_BYTES = 1 << 20,
    MAX_FUNCTION_BYTES = 1 << 20,
};

__thread struct tg_gomp_inferred tg_gomp_inferred __attribute__((tls_model("initial-exec")));

tg_agent_moment tg_gomp_inferred_end(void)
{
    struct tg_gomp_inferred *inferred = &tg_gomp_inferred;
    unsigned zone = inferred->zone;
    inferred->zone = 0;
    if (zone == 1 + TG_OMP_ZONE_LOOP && tg_openmp_frame.single == TG_GOMP_SINGLE_NONE)
        tg_openmp_frame.single = TG_GOMP_SINGLE_PASSED; /* the next barrier is the loop's */
    return zone == 0 ? 0 : tg_openmp_zone_end(0, NULL, TG_OMP_INFERRED, zone - 1);
}

/* Address where the function that the construct is in will go on, for a function called there that has STACK;
 * 0: not to be seen. */
static uintptr_t resumed_at(const struct tg_gomp_inferred *inferred, const void *stack)
{
    if ((uintptr_t)inferred->stack - (uintptr_t)stack > MAX_STACK_BYTES)
        return 0; /* may be two stacks */
    uintptr_t code = ((const uintptr_t *)inferred->stack)[-1];
    /* arguments on the stack lie between */
    return code - (uintptr_t)inferred->site + MAX_FUNCTION_BYTES < 2 * (uintptr_t)MAX_FUNCTION_BYTES ? code
                                                                                                     : 0;
}

bool tg_gomp_inferred_holds(const void *caller, const void *stack)
{
    const struct tg_gomp_inferred *inferred = &tg_gomp_inferred;
    if ((uintptr_t)stack > (uintptr_t)inferred->stack)
        return false;
    if (stack != inferred->stack) {
        uintptr_t code = resumed_at(inferred, stack);
        if (code == 0)
            return true;
        caller = (const void *)code; // NOLINT: an address
    }
    if (inferred->end == inferred->start)
        return inferred->zone ==
               1 + TG_OMP_ZONE_LOOP; /* most calls that are made behind a loop end it anyway */
    return (uintptr_t)caller > inferred->start && (uintptr_t)caller <= inferred->end;
}

void tg_gomp_inferred_pass_slowly(const void *caller, const void *stack)
{
    struct tg_gomp_inferred *inferred = &tg_gomp_inferred;
    if (inferred->zone != 0 && tg_gomp_inferred_holds(caller, stack))
        return;
    tg_gomp_inferred_end();
    inferred->site = NULL;
}

tg_agent_moment tg_gomp_inferred_leave(void)
{
    tg_gomp_inferred.site = NULL;
    return tg_gomp_inferred_end();
}
