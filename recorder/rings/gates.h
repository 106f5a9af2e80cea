/* Gates of a recording's agents, as its controller sees them: where workers of OpenMP programs wait until they
 * are let go on (recorder/agent/contract.h). One thread. */
#ifndef TG_RECORDER_RINGS_GATES_H
#define TG_RECORDER_RINGS_GATES_H

#include "format/base/error.h"
#include "recorder/agent/contract.h"
#include "recorder/rings/directory.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct tg_gates;

/* DIRECTORY outlives it. */
struct tg_error *tg_gates_create(const struct tg_agent_directory *directory, struct tg_gates **gates);
void tg_gates_destroy(struct tg_gates *gates); /* leaves the gates as they are; NULL is accepted */

/* Puts GATE up, whose number is chosen: *NUMBER. Errors: LIMIT (TG_AGENT_GATES are up already), OS. */
struct tg_error *tg_gates_open(struct tg_gates *gates, const struct tg_agent_gate *gate, uint32_t *number);
/* Takes gate NUMBER away; who waits there goes on, if nothing else stops him. */
void tg_gates_close(struct tg_gates *gates, uint32_t number);
void tg_gates_close_all(struct tg_gates *gates);

/* Process PID has a program whose threads may come to gates: a new one, where it had another before. Only error: NO_MEMORY. */
struct tg_error *tg_gates_meet(struct tg_gates *gates, pid_t pid);
/* Process PID has none any more: whoever waited there is gone, and waits at no gate. */
void tg_gates_forget(struct tg_gates *gates, pid_t pid);

/* A thread that waits. */
struct tg_gate_waiter {
    uint64_t instance;
    int32_t tid; /* as its process sees it */
    uint32_t gate;
};
/* Whether the thread that WAITER names waits at a gate: then that is filled in. What is found there the
 * program could have written. */
bool tg_gates_find(const struct tg_gates *gates, struct tg_gate_waiter *waiter);
/* All threads that wait at gates, *COUNT of them, for the caller to free; NULL: none, or no memory. */
struct tg_gate_waiter *tg_gates_list(const struct tg_gates *gates, size_t *count);
/* How many threads wait at gate NUMBER. */
size_t tg_gates_count(const struct tg_gates *gates, uint32_t number);
/* Lets it pass; the gate stays. */
void tg_gates_pass(const struct tg_gates *gates, const struct tg_gate_waiter *waiter);
/* How many threads came to gate NUMBER and could not wait there. */
uint32_t tg_gates_unplaced(const struct tg_gates *gates, uint32_t number);

/* The instance of the program that process PID is, which is ours to look into; 0 not known. */
uint64_t tg_gates_instance(pid_t pid);

#endif
