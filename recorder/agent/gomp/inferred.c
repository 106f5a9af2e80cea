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

/* Address where the function that called from SITE with the stack pointer OUTER will go on, for a function called there that has
 * STACK; 0: not to be seen. */
static uintptr_t resumed_at(uintptr_t site, const void *outer, const void *stack)
{
    if ((uintptr_t)outer - (uintptr_t)stack > MAX_STACK_BYTES)
        return 0; /* may be two stacks */
    uintptr_t code = ((const uintptr_t *)outer)[-1];
    /* arguments on the stack lie between */
    return code - site + MAX_FUNCTION_BYTES < 2 * (uintptr_t)MAX_FUNCTION_BYTES ? code : 0;
}

bool tg_gomp_inferred_holds(const void *caller, const void *stack)
{
    const struct tg_gomp_inferred *inferred = &tg_gomp_inferred;
    if ((uintptr_t)stack > (uintptr_t)inferred->stack)
        return false;
    if (stack != inferred->stack) {
        uintptr_t code = resumed_at((uintptr_t)inferred->site, inferred->stack, stack);
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

/* ---- functions that keep the thread number */

/* How many are further out than one with STACK, or are that one. */
static unsigned count_keepers(const void *stack)
{
    const struct tg_gomp_keeper *keepers = tg_gomp_inferred.keepers;
    unsigned count = 0;
    while (count < TG_GOMP_KEEPERS && keepers[count].stack != NULL &&
           (uintptr_t)keepers[count].stack >= (uintptr_t)stack)
        count++;
    return count;
}

void tg_gomp_inferred_keep(const void *stack, uint32_t numbers)
{
    struct tg_gomp_keeper *keepers = tg_gomp_inferred.keepers;
    unsigned count = count_keepers(stack);
    if (count > 0 && keepers[count - 1].stack == stack)
        count--;
    if (count == TG_GOMP_KEEPERS) {
        for (unsigned i = 1; i < TG_GOMP_KEEPERS; i++)
            keepers[i - 1] = keepers[i];
        count--;
    }
    keepers[count] = (struct tg_gomp_keeper){stack, numbers};
    if (count + 1 < TG_GOMP_KEEPERS)
        keepers[count + 1].stack = NULL;
}

uint32_t tg_gomp_inferred_kept(const void *stack)
{
    unsigned count = count_keepers(stack);
    const struct tg_gomp_keeper *keeper = &tg_gomp_inferred.keepers[count == 0 ? 0 : count - 1];
    return count > 0 && keeper->stack == stack ? keeper->numbers : 0;
}

/* ---- a single without an end */

void tg_gomp_inferred_pass_single(const void *caller, const void *stack)
{
    struct tg_gomp_inferred *inferred = &tg_gomp_inferred;
    uintptr_t code = (uintptr_t)caller;
    if (inferred->single_start == inferred->single_end)
        return;
    if ((uintptr_t)stack < (uintptr_t)inferred->single_stack)
        code = resumed_at(inferred->single_start, inferred->single_stack, stack);
    bool is_out = (uintptr_t)stack > (uintptr_t)inferred->single_stack ||
                  (code != 0 && (code <= inferred->single_start || code > inferred->single_end));
    if (!is_out)
        return;
    tg_openmp_frame.single = TG_GOMP_SINGLE_NONE; /* there was no barrier at its end */
    tg_openmp_zone_end(tg_gomp_inferred_leave(), NULL, TG_OMP_INFERRED, TG_OMP_ZONE_SINGLE);
}
