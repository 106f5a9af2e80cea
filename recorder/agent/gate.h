/* Gates: where a worker waits because the controller of a job wants it to. Looked at with every OpenMP record
 * (recorder/agent/openmp.h); recorder/agent/contract.h says what a gate is. */
#ifndef TG_RECORDER_AGENT_GATE_H
#define TG_RECORDER_AGENT_GATE_H

#include "recorder/agent/process.h"

/* A thread that is at a gate, and must not wait there before the runtime's call is done: number of the gate,
 * 0 none. */
extern __thread uint32_t tg_gate_due __attribute__((tls_model("initial-exec")));

/* What of an event the rules of gates look at. */
struct tg_gate_event {
    unsigned kind;  /* enum tg_agent_record */
    unsigned which; /* enum of the zone, barrier or mutex; 0 */
    uint64_t object;
    uint64_t team;
    bool in_task; /* an explicit one */
};

/* The halves of those below that only run where there are gates. Waiting ends with the gate; errno stays. */
void tg_gate_come_slowly(const struct tg_gate_event *event, bool now);
void tg_gate_wait_slowly(void);

static inline bool tg_gate_is_any(void)
{
#ifdef TG_AGENT_WITHOUT_GATES /* what they cost is measured beside this: tests/bench/openmp_bench.py */
    return false;
#else
    return TG_AGENT_UNLIKELY(__atomic_load_n(tg_agent.n_gates, __ATOMIC_RELAXED) != 0);
#endif
}

/* Waits at the gate that the thread has come to, behind a call that had to be made first. */
static inline void tg_gate_wait(void)
{
    if (TG_AGENT_UNLIKELY(tg_gate_due != 0))
        tg_gate_wait_slowly();
}

#endif
