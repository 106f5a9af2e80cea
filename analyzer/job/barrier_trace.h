/* The barrier model and traces: decisions become events, and the events of a trace feed the model again,
 * whose decisions must then be those that the trace has. */
#ifndef TG_ANALYZER_JOB_BARRIER_TRACE_H
#define TG_ANALYZER_JOB_BARRIER_TRACE_H

#include "analyzer/job/run_model.h"
#include "format/base/error.h"
#include "format/event/event.h"

#include <stdbool.h>
#include <stdint.h>

/* Fills kind and payload of *EVENT with what DECISION says. False: it is not recorded; that somebody is told
 * to stop is seen when it has (control_stopped, barrier_arrival), and arrivals, resumptions of what was
 * stopped and holds by command are what happened, not what was decided: see tg_barrier_trace_feed. */
bool tg_barrier_trace_event(const struct tg_run_decision *decision, struct tg_event *event);

/* The event that tells of a new barrier. Its list lives as long as DEFINITION's and UNITS, which has room for
 * DEFINITION->n_list. */
void tg_barrier_trace_created(const struct tg_barrier_definition *definition, const char *location,
                              struct tg_control_unit *units, struct tg_event *event);

struct tg_barrier_trace;

struct tg_error *tg_barrier_trace_create(struct tg_barrier_trace **trace);
void tg_barrier_trace_destroy(struct tg_barrier_trace *trace); /* NULL is accepted */

/* A second one that goes on from there on its own. Only error: NO_MEMORY. */
struct tg_error *tg_barrier_trace_copy(const struct tg_barrier_trace *trace, struct tg_barrier_trace **copy);

/* Takes the events of a session in their order; those of other families that end threads and processes too.
 * What happened: control_process, control_thread, control_stopped, control_resumed, control_unhold,
 * barrier_created, barrier_deleted, barrier_enabled, barrier_arrival, barrier_held by somebody, control_end,
 * exec, ends of threads and processes. What was decided then comes behind it: barrier_held, barrier_satisfied,
 * barrier_released, barrier_left, barrier_stuck. Only error: NO_MEMORY; what makes no sense in a trace is
 * counted and passed over. */
struct tg_error *tg_barrier_trace_feed(struct tg_barrier_trace *trace, const struct tg_event *event);

const struct tg_run_model *tg_barrier_trace_model(const struct tg_barrier_trace *trace);

/* The location of barrier ID as requested, until it is deleted; "" not known. */
const char *tg_barrier_trace_location(const struct tg_barrier_trace *trace, uint32_t id);

struct tg_barrier_trace_verdict {
    uint64_t n_decisions;   /* in the trace and of the model alike */
    uint64_t n_differences; /* decisions that only one of them has */
    uint64_t n_ignored;     /* events that made no sense: threads that there are not, numbers that are none */
    char first[160];        /* the first difference in words, "" none */
};

/* So far; decisions that the trace's end cut off are no differences before the next thing happens. */
void tg_barrier_trace_verdict(const struct tg_barrier_trace *trace, struct tg_barrier_trace_verdict *verdict);

#endif
