/* Records of the agent's heap library, made into the heap events of the trace. */
#ifndef TG_RECORDER_RINGS_HEAP_RECORDS_H
#define TG_RECORDER_RINGS_HEAP_RECORDS_H

#include "format/base/error.h"
#include "format/event/event.h"
#include "recorder/agent/contract.h"
#include "recorder/engine/engine.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Numbers of stacks: the same calls in the same files, told in the same way, have the same number in all processes of a
 * recording. */
struct tg_heap_stacks;

/* Multiples of it are left for stacks that do not come from an agent. */
enum { TG_HEAP_STACK_OUTSIDE = 64 };

struct tg_error *tg_heap_stacks_create(struct tg_heap_stacks **stacks);
/* NULL is accepted. */
void tg_heap_stacks_destroy(struct tg_heap_stacks *stacks);

/* One program in a process: the objects that its stacks are in, and the numbers of the stacks it told. */
struct tg_heap_program;

/* NULL is accepted. */
void tg_heap_program_destroy(struct tg_heap_program *program);

/* A copy that goes its own way from now on; NULL without memory, or where PROGRAM is NULL. */
struct tg_heap_program *tg_heap_program_copy(const struct tg_heap_program *program);

/* How many stacks PROGRAM, NULL where it has told nothing, has told. */
size_t tg_heap_program_stacks(const struct tg_heap_program *program);

/* Whether KIND is one of these records. */
static inline bool tg_heap_records_have(enum tg_agent_record kind)
{
    return kind >= TG_RECORD_HEAP_START && kind <= TG_RECORD_HEAP_ERROR;
}

/* Blocks that are given out and freed: most records by far. */
static inline bool tg_heap_records_are_changes(enum tg_agent_record kind)
{
    return kind == TG_RECORD_HEAP_ALLOC || kind == TG_RECORD_HEAP_FREE;
}

/* What the ARGUMENTS of such a one of PROGRAM say, as the payload of EVENT, whose kind becomes that of the record. */
void tg_heap_records_put_change(const struct tg_heap_program *program, enum tg_agent_record kind,
                                const uint64_t *arguments, struct tg_event *event);

/* One record as the ring had it: well-formed in its size (N_ARGUMENTS, padding included, is at least what
 * TG_AGENT_RECORDS says), and otherwise as untrusted as the program; strings without an end get one. Events go to
 * SINK, which copies what it is given; EVENT has their time, process and thread, its payload need not be set. *PROGRAM, NULL at
 * first, is created. Stacks are told to each program that names them, before the events that do; a stack is left out whose outer
 * frames are those of one that is not known. Without memory events have no stacks, nothing else. */
void tg_heap_records_add(struct tg_heap_stacks *stacks, struct tg_heap_program **program,
                         enum tg_agent_record kind, uint64_t *arguments, size_t n_arguments,
                         struct tg_event *event, const struct tg_event_sink *sink);

#endif
