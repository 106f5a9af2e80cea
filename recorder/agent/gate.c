#include "recorder/agent/gate.h"

#include "recorder/agent/directory.h"
#include "recorder/agent/raw_call.h"
#include "recorder/agent/ring.h"

#include <errno.h>
#include <linux/futex.h>
#include <sys/syscall.h>

enum { LOOK_NS = 100000000 }; /* between looks whether the controller still lives */

__thread uint32_t tg_gate_due __attribute__((tls_model("initial-exec")));

static struct tg_agent_gate *gate_at(uint32_t i)
{
    return (struct tg_agent_gate *)(void *)((char *)tg_agent.control + TG_AGENT_GATES_OFFSET) + i;
}

static struct tg_agent_slot *slot_at(uint32_t i)
{
    return (struct tg_agent_slot *)(void *)((char *)tg_agent.control + TG_AGENT_SLOTS_OFFSET) + i;
}

/* ---- whether an event is one of a gate's */

static bool is_of_rule(const struct tg_agent_gate_rule *rule, const struct tg_gate_event *event)
{
    if ((rule->kinds >> (event->kind - TG_RECORD_OMP_PARALLEL_BEGIN) & 1) == 0 ||
        (rule->which >> event->which & 1) == 0)
        return false;
    switch (rule->match) {
    case TG_AGENT_GATE_ANY:
        return true;
    case TG_AGENT_GATE_AT_LEAST:
        return event->object >= rule->object;
    default:
        return event->object == rule->object;
    }
}

static bool is_of_gate(const struct tg_agent_gate *gate, const struct tg_gate_event *event, int32_t tid)
{
    if ((gate->instance != 0 && gate->instance != tg_agent_thread.header->instance) ||
        (gate->team != 0 && gate->team != event->team) || (gate->tid != 0 && gate->tid != tid) ||
        (event->in_task && gate->in_tasks == 0))
        return false;
    for (size_t i = 0; i < TG_AGENT_GATE_RULES; i++)
        if (is_of_rule(&gate->rules[i], event))
            return true;
    return false;
}

/* Whether EVENT is one of those that the gate lets pass before. */
static bool takes_skip(struct tg_agent_gate *gate)
{
    uint32_t left = __atomic_load_n(&gate->skip, __ATOMIC_RELAXED);
    while (left != 0)
        if (__atomic_compare_exchange_n(&gate->skip, &left, left - 1, false, __ATOMIC_RELAXED,
                                        __ATOMIC_RELAXED))
            return true;
    return false;
}

static uint32_t find_gate(const struct tg_gate_event *event, int32_t tid)
{
    uint32_t n_gates = __atomic_load_n(tg_agent.n_gates, __ATOMIC_ACQUIRE);
    for (uint32_t i = 0; i < n_gates && i < TG_AGENT_GATES; i++) {
        struct tg_agent_gate *gate = gate_at(i);
        uint32_t number = __atomic_load_n(&gate->number, __ATOMIC_ACQUIRE);
        if (number != 0 && is_of_gate(gate, event, tid) && !takes_skip(gate))
            return number;
    }
    return 0;
}

static struct tg_agent_gate *gate_of(uint32_t number)
{
    for (uint32_t i = 0; i < TG_AGENT_GATES; i++)
        if (__atomic_load_n(&gate_at(i)->number, __ATOMIC_ACQUIRE) == number)
            return gate_at(i);
    return NULL;
}

/* ---- waiting */

static struct tg_agent_slot *take_slot(int32_t tid, uint32_t number)
{
    for (uint32_t i = 0; i < TG_AGENT_SLOTS; i++) {
        struct tg_agent_slot *slot = slot_at(i);
        int32_t nobody = 0;
        if (__atomic_load_n(&slot->tid, __ATOMIC_RELAXED) != 0 ||
            !__atomic_compare_exchange_n(&slot->tid, &nobody, tid, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
            continue;
        slot->instance = tg_agent_thread.header->instance;
        __atomic_store_n(&slot->gate, number, __ATOMIC_SEQ_CST);
        uint32_t *n_slots = &tg_agent.control->n_slots, seen = __atomic_load_n(n_slots, __ATOMIC_RELAXED);
        while (seen < i + 1 &&
               !__atomic_compare_exchange_n(n_slots, &seen, i + 1, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
            ;
        return slot;
    }
    return NULL;
}

static void give_slot(struct tg_agent_slot *slot)
{
    __atomic_store_n(&slot->gate, 0, __ATOMIC_RELAXED);
    slot->instance = 0; /* until the next one has written its own, nobody takes the slot for a dead one's */
    __atomic_store_n(&slot->tid, 0, __ATOMIC_RELEASE);
}

static bool is_over(void)
{
    return __atomic_load_n(&tg_agent.control->over, __ATOMIC_RELAXED) != 0;
}

static void tell_controller(void)
{
    uint32_t *calls = &tg_agent.control->gate_calls;
    __atomic_fetch_add(calls, 1, __ATOMIC_RELEASE);
    (void)tg_raw_call(SYS_futex, (long)calls, FUTEX_WAKE, 1, 0, 0, 0);
}

static void wait_in(struct tg_agent_slot *slot, uint32_t number)
{
    const struct timespec pause = {.tv_nsec = LOOK_NS};
    while (__atomic_load_n(&slot->gate, __ATOMIC_ACQUIRE) == number && !is_over()) {
        /* here, not in libc: who is stopped in the agent is, for people, where the program called it */
        long result = tg_raw_call(SYS_futex, (long)&slot->gate, FUTEX_WAIT, number, (long)&pause, 0, 0);
        if (result == -ETIMEDOUT && tg_agent_directory_is_abandoned())
            return;
    }
}

void tg_gate_wait_slowly(void)
{
    uint32_t number = tg_gate_due;
    int saved = errno;
    tg_gate_due = 0;
    struct tg_agent_gate *gate = gate_of(number);
    if (gate == NULL)
        return; /* somebody closed the gate meanwhile */
    struct tg_agent_slot *slot =
        tg_agent.no_calls ? NULL : take_slot((int32_t)tg_raw_call(SYS_gettid, 0, 0, 0, 0, 0, 0), number);
    if (slot == NULL) {
        __atomic_fetch_add(&gate->unplaced, 1, __ATOMIC_RELAXED);
        return;
    }
    /* closed after it was found: who closes it looks at the slots after that */
    if (__atomic_load_n(&gate->number, __ATOMIC_SEQ_CST) == number) {
        tell_controller();
        wait_in(slot, number);
    }
    give_slot(slot);
    errno = saved;
}

void tg_gate_come_slowly(const struct tg_gate_event *event, bool now)
{
    const struct tg_agent_thread *thread = &tg_agent_thread;
    if (tg_agent.control == NULL || thread->header == NULL || thread->busy != NULL ||
        thread->generation != *tg_agent.generation || tg_gate_due != 0)
        return;
    int saved = errno;
    int32_t tid = tg_agent.no_calls ? 0 : (int32_t)tg_raw_call(SYS_gettid, 0, 0, 0, 0, 0, 0);
    tg_gate_due = find_gate(event, tid);
    errno = saved;
    if (now)
        tg_gate_wait();
}
