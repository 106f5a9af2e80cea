#include "live/control/worker_gates.h"

#include "recorder/agent/contract.h"
#include "recorder/process/child_wait.h"
#include "recorder/process/proc_status.h"
#include "recorder/rings/gates.h"

_Static_assert((int)TG_GATE_RULES == (int)TG_AGENT_GATE_RULES, "one for one");

static const struct {
    enum tg_event_kind kind;
    uint32_t bit;
} kinds[] = {
#define KIND(symbol)                                                                                         \
    {                                                                                                        \
        TG_EVENT_##symbol, TG_AGENT_GATE_KIND(symbol)                                                        \
    }
    KIND(OMP_PARALLEL_BEGIN), KIND(OMP_PARALLEL_END), KIND(OMP_IMPLICIT_BEGIN), KIND(OMP_IMPLICIT_END),
    KIND(OMP_ZONE_BEGIN),     KIND(OMP_ZONE_END),     KIND(OMP_SECTION),        KIND(OMP_SYNC_BEGIN),
    KIND(OMP_SYNC_END),       KIND(OMP_MUTEX_WAIT),   KIND(OMP_MUTEX_ENTER),    KIND(OMP_MUTEX_LEAVE),
    KIND(OMP_TASK_CREATE),    KIND(OMP_TASK_BEGIN),   KIND(OMP_TASK_END),
#undef KIND
};

uint32_t tg_gate_kind(enum tg_event_kind kind)
{
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        if (kinds[i].kind == kind)
            return kinds[i].bit;
    return 0;
}

bool tg_worker_gates_has_agent(struct tg_engine_adapter *live, int32_t pid)
{
    const struct tg_modules *modules = tg_engine_adapter_modules_of(live, pid);
    if (tg_engine_adapter_gates(live) == NULL || modules == NULL)
        return false;
    for (size_t i = 0; i < tg_modules_count(modules); i++)
        if (tg_module_is_agent(tg_modules_at(modules, i)))
            return true;
    return false;
}

static struct tg_agent_gate gate_for_agents(const struct tg_worker_gate *gate)
{
    struct tg_agent_gate made = {.instance = gate->pid == 0 ? 0 : tg_gates_instance(gate->pid),
                                 .team = gate->team,
                                 .tid = gate->tid == 0 ? 0 : tg_proc_status_own_pid(gate->tid),
                                 .skip = gate->skip,
                                 .in_tasks = gate->in_tasks};
    for (size_t i = 0; i < gate->n_rules; i++)
        made.rules[i] = (struct tg_agent_gate_rule){gate->rules[i].kinds, gate->rules[i].which,
                                                    (uint16_t)gate->rules[i].match, gate->rules[i].object};
    return made;
}

struct tg_error *tg_worker_gates_open(struct tg_engine_adapter *live, const struct tg_worker_gate *gate,
                                      uint32_t *number)
{
    const struct tg_agent_gate made = gate_for_agents(gate);
    if (gate->pid == 0 && tg_engine_adapter_gates(live) == NULL)
        return tg_error_create(TG_ERROR_UNSUPPORTED, "there are no agents in this session");
    if (gate->pid != 0 && tg_engine_adapter_modules_of(live, gate->pid) == NULL)
        return tg_error_create(TG_ERROR_TARGET, "process %d has ended", (int)gate->pid);
    if (gate->pid != 0 && (!tg_worker_gates_has_agent(live, gate->pid) || made.instance == 0))
        return tg_error_create(TG_ERROR_UNSUPPORTED, "there is no agent in process %d", (int)gate->pid);
    return tg_gates_open(tg_engine_adapter_gates(live), &made, number);
}

void tg_worker_gates_close(struct tg_engine_adapter *live, uint32_t number)
{
    struct tg_gates *gates = tg_engine_adapter_gates(live);
    if (gates != NULL)
        tg_gates_close(gates, number);
}

size_t tg_worker_gates_count(struct tg_engine_adapter *live, uint32_t number)
{
    const struct tg_gates *gates = tg_engine_adapter_gates(live);
    return gates == NULL ? 0 : tg_gates_count(gates, number);
}

/* As the agents of process PID know it. */
static struct tg_gate_waiter waiter_of(int32_t pid, int32_t tid)
{
    return (struct tg_gate_waiter){tg_gates_instance(pid), tg_proc_status_own_pid(tid), 0};
}

uint32_t tg_worker_gates_waits(struct tg_engine_adapter *live, int32_t pid, int32_t tid)
{
    const struct tg_gates *gates = tg_engine_adapter_gates(live);
    struct tg_gate_waiter waiter = waiter_of(pid, tid);
    return gates != NULL && tg_gates_find(gates, &waiter) ? waiter.gate : 0;
}

void tg_worker_gates_pass(struct tg_engine_adapter *live, int32_t pid, int32_t tid)
{
    const struct tg_gates *gates = tg_engine_adapter_gates(live);
    const struct tg_gate_waiter waiter = waiter_of(pid, tid);
    if (gates != NULL)
        tg_gates_pass(gates, &waiter);
}

uint32_t tg_worker_gates_unplaced(struct tg_engine_adapter *live, uint32_t number)
{
    const struct tg_gates *gates = tg_engine_adapter_gates(live);
    return gates == NULL ? 0 : tg_gates_unplaced(gates, number);
}

struct tg_gate_chance tg_worker_gates_chance(int32_t tid)
{
    struct tg_proc_status status;
    return (struct tg_gate_chance){tg_proc_status_read(tid, &status) && status.state == 'R',
                                   tg_proc_status_run_time(tid)};
}

bool tg_worker_gates_waits_for_child(int32_t pid, int32_t tid, int32_t *child)
{
    return tg_child_wait_find(tid, child) && tg_proc_status_own_pid(pid) == pid;
}

bool tg_worker_gates_each_child(int32_t pid, bool (*take)(void *context, int32_t child), void *context)
{
    return tg_child_wait_each_child(pid, take, context);
}
