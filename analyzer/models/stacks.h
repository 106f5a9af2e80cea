/* The stack model: stack events in, the last stack of each thread and the names of its code out. */
#ifndef TG_ANALYZER_MODELS_STACKS_H
#define TG_ANALYZER_MODELS_STACKS_H

#include "format/base/error.h"
#include "format/event/event.h"

#include <stdbool.h>

/* What a thread waits for in the kernel. */
struct tg_stack_wait {
    enum tg_wait_what what;
    uint64_t address; /* of a futex */
    int32_t owner;    /* thread that it waits for, 0 unknown */
    int32_t partner;  /* the one process that has the other end, 0 unknown or several */
    bool writes;      /* to a pipe or socket */
};

/* One thread's. Strings are the model's. */
struct tg_last_stack {
    size_t process; /* index in the process model */
    int32_t pid, tid;
    uint64_t time_ns;
    uint64_t
        begun_ns; /* when the thread, which was made already, had its first turn on a processor; 0: before */
    uint64_t snapshot;
    uint64_t reason; /* enum tg_stack_reason */
    int64_t signal;
    uint64_t end;                        /* enum tg_stack_end */
    const struct tg_stack_frame *frames; /* innermost first */
    size_t count;
    bool waits; /* WAIT is known */
    struct tg_stack_wait wait;
    const struct tg_call_value *values; /* of the call of MPI that it is in, as far as they are known */
    size_t n_values;
};

/* A look at all threads of a process or of the job. */
struct tg_stack_look {
    uint64_t time_ns;
    struct tg_event_stack_snapshot is;
};

/* Calls at one address, innermost inlined copy first. */
struct tg_stack_names {
    const struct tg_named_call *calls;
    size_t count; /* 0: no name is known */
};

struct tg_stack_model;

struct tg_error *tg_stack_model_create(struct tg_stack_model **model);
/* NULL is accepted. */
void tg_stack_model_destroy(struct tg_stack_model *model);
/* A second one that says the same and goes on from there on its own. */
struct tg_error *tg_stack_model_copy(const struct tg_stack_model *model, struct tg_stack_model **copy);

/* MODEL, and what is copied from it, answers with the names of NAMES, which live longer, where it has none of its own. */
void tg_stack_model_lend_names(struct tg_stack_model *model, const struct tg_stack_model *names);

/* Takes one event; PROCESS is the index of its process, SIZE_MAX none. Events that are not about stacks are
 * ignored. Only error: NO_MEMORY. Memory follows the number of threads that have stacks, and of different
 * addresses in them. */
struct tg_error *tg_stack_model_feed(struct tg_stack_model *model, const struct tg_event *event,
                                     size_t process);

/* The last stacks, in the order in which threads had their first one. */
size_t tg_stack_model_count(const struct tg_stack_model *model);
const struct tg_last_stack *tg_stack_model_at(const struct tg_stack_model *model, size_t i);

/* The last stack of thread TID of PROCESS, NULL none. */
const struct tg_last_stack *tg_stack_model_find(const struct tg_stack_model *model, size_t process,
                                                int32_t tid);

/* A model of the first of several stacks of each thread alone, where it was taken in a look (of an attached process, at attach),
 * with the names of their code. */
struct tg_error *tg_stack_model_copy_first(const struct tg_stack_model *model, struct tg_stack_model **copy);

/* The looks, in the order of the trace; at most 4,096. */
size_t tg_stack_model_look_count(const struct tg_stack_model *model);
const struct tg_stack_look *tg_stack_model_look_at(const struct tg_stack_model *model, size_t i);

/* What the trace says of the code of FRAME. */
struct tg_stack_names tg_stack_model_names(const struct tg_stack_model *model,
                                           const struct tg_stack_frame *frame);

#endif
