/* Gates of OpenMP workers: where they wait, inside of our agent and behind what they were to do, until they
 * are let go on. A gate is of one process, and of one team or thread in it, so that nobody waits at it who
 * came to something else. On the tracer thread, like the engine adapter. */
#ifndef TG_LIVE_CONTROL_WORKER_GATES_H
#define TG_LIVE_CONTROL_WORKER_GATES_H

#include "format/base/error.h"
#include "format/event/event.h"
#include "live/control/engine_adapter.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum tg_gate_match {
    TG_GATE_ANY,      /* whatever the event is about */
    TG_GATE_EQUAL,    /* lock of mutex events, code of zones, instance of barriers, id of teams and tasks */
    TG_GATE_AT_LEAST, /* the same */
};

/* Events behind which the gate is. */
struct tg_gate_rule {
    uint32_t kinds; /* bits tg_gate_kind() */
    uint16_t which; /* bits 1 << enum tg_omp_zone, tg_omp_sync or tg_omp_mutex; kinds without one: bit 0 */
    enum tg_gate_match match;
    uint64_t object;
};

enum { TG_GATE_RULES = 4 };

struct tg_worker_gate {
    int32_t pid;   /* 0: of any process, also of one that is still to come */
    uint64_t team; /* 0 any */
    int32_t tid;   /* 0 any */
    uint32_t skip; /* so many of the events are let pass before */
    bool in_tasks; /* explicit tasks count, too */
    size_t n_rules;
    struct tg_gate_rule rules[TG_GATE_RULES];
};

/* The bit of KIND, an OpenMP event's that an agent records. */
uint32_t tg_gate_kind(enum tg_event_kind kind);

/* Whether process PID, of which a thread is stopped, has an agent that OpenMP events come from. */
bool tg_worker_gates_has_agent(struct tg_engine_adapter *live, int32_t pid);

/* Opens GATE: *NUMBER, never 0. UNSUPPORTED where there is no agent; LIMIT where there are too many. */
struct tg_error *tg_worker_gates_open(struct tg_engine_adapter *live, const struct tg_worker_gate *gate,
                                      uint32_t *number);
/* Closes a gate: threads that wait at it go on as soon as they are resumed. */
void tg_worker_gates_close(struct tg_engine_adapter *live, uint32_t number);

/* How many threads wait at gate NUMBER. */
size_t tg_worker_gates_count(struct tg_engine_adapter *live, uint32_t number);
/* The number of the gate at which thread TID of process PID waits; 0 none. */
uint32_t tg_worker_gates_waits(struct tg_engine_adapter *live, int32_t pid, int32_t tid);
/* Lets that thread pass its gate, which stays for others. */
void tg_worker_gates_pass(struct tg_engine_adapter *live, int32_t pid, int32_t tid);
/* How many came to gate NUMBER and could not be made to wait. */
uint32_t tg_worker_gates_unplaced(struct tg_engine_adapter *live, uint32_t number);

/* What the kernel says of a thread that has not come. */
struct tg_gate_chance {
    bool is_ready;   /* runs, or waits for a processor */
    uint64_t run_ns; /* for which it has had one; 0 not known */
};
struct tg_gate_chance tg_worker_gates_chance(int32_t tid);

/* Whether thread TID of process PID waits for a child process to end: for CHILD, 0 any of them. False also where PID knows its
 * children by other numbers, in a pid namespace. */
bool tg_worker_gates_waits_for_child(int32_t pid, int32_t tid, int32_t *child);

/* Hands out the children of PID, those with them that are no part of the job, until TAKE says false. False: it did, or they are
 * not known. */
bool tg_worker_gates_each_child(int32_t pid, bool (*take)(void *context, int32_t child), void *context);

#endif
