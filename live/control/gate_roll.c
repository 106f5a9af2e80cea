#include "live/control/gate_roll.h"

#include "format/base/array.h"
#include "live/control/adapter_state.h"
#include "recorder/process/proc_status.h"
#include "recorder/rings/gates.h"

#include <stdlib.h>

struct expected {
    uint64_t instance; /* with OWN_TID as the agents know it */
    int32_t own_tid;
    int32_t pid, tid;
    bool has_rested;
};

struct tg_gate_roll {
    struct expected *expected;
    size_t n_expected, max_expected;
    bool is_sorted, is_over;
};

struct tg_error *tg_gate_roll_create(struct tg_gate_roll **roll)
{
    struct tg_gate_roll *made = calloc(1, sizeof *made);
    if (made == NULL)
        return tg_error_no_memory();
    *roll = made;
    return NULL;
}

void tg_gate_roll_destroy(struct tg_gate_roll *roll)
{
    if (roll == NULL)
        return;
    free(roll->expected);
    free(roll);
}

struct tg_error *tg_gate_roll_add(struct tg_gate_roll *roll, int32_t pid, int32_t tid)
{
    const struct expected *last = roll->n_expected == 0 ? NULL : &roll->expected[roll->n_expected - 1];
    const struct expected added = {.instance = last != NULL && last->pid == pid ? last->instance
                                                                                : tg_gates_instance(pid),
                                   .own_tid = tg_proc_status_own_pid(tid),
                                   .pid = pid,
                                   .tid = tid};
    roll->is_sorted = false;
    return TG_ARRAY_APPEND(roll->expected, roll->n_expected, roll->max_expected, added);
}

static int compare(const void *a, const void *b)
{
    const struct expected *one = a, *other = b;
    if (one->own_tid != other->own_tid)
        return one->own_tid < other->own_tid ? -1 : 1;
    return (one->instance > other->instance) - (one->instance < other->instance);
}

static bool is_among(const uint32_t *numbers, size_t n_numbers, uint32_t number)
{
    for (size_t i = 0; i < n_numbers; i++)
        if (numbers[i] == number)
            return true;
    return false;
}

static void have_rest(struct tg_gate_roll *roll, struct tg_engine_adapter *live,
                      const struct tg_gate_waiter *waiter)
{
    const struct expected wanted = {.instance = waiter->instance, .own_tid = waiter->tid};
    struct expected *found = bsearch(&wanted, roll->expected, roll->n_expected, sizeof wanted, compare);
    if (found == NULL || found->has_rested)
        return;
    found->has_rested = true;
    struct tg_thread *thread = tg_adapter_find_thread(live, found->pid, found->tid);
    if (thread != NULL)
        tg_thread_rest(thread);
}

size_t tg_gate_roll_call(struct tg_gate_roll *roll, struct tg_engine_adapter *live, const uint32_t *numbers,
                         size_t n_numbers)
{
    size_t n_waiters = 0, count = 0;
    const struct tg_gates *gates = tg_engine_adapter_gates(live);
    struct tg_gate_waiter *waiters = gates == NULL ? NULL : tg_gates_list(gates, &n_waiters);
    if (!roll->is_sorted)
        qsort(roll->expected, roll->n_expected, sizeof *roll->expected, compare);
    roll->is_sorted = true;
    for (size_t i = 0; i < n_waiters; i++) {
        if (!is_among(numbers, n_numbers, waiters[i].gate))
            continue;
        count++;
        if (!roll->is_over)
            have_rest(roll, live, &waiters[i]);
    }
    free(waiters);
    return count;
}

void tg_gate_roll_end_rests(struct tg_gate_roll *roll, struct tg_engine_adapter *live)
{
    roll->is_over = true;
    tg_engine_end_rests(live->parts.engine);
}

void tg_gate_roll_collect(const struct tg_engine_adapter *live)
{
    if (live->parts.rings != NULL)
        tg_agent_directory_call(live->parts.rings);
}
