/* The callbacks of an OpenMP runtime, made records of. */
#ifndef TG_RECORDER_AGENT_OMPT_EVENTS_H
#define TG_RECORDER_AGENT_OMPT_EVENTS_H

#include "recorder/agent/ompt/words.h"

/* The runtime, as the callbacks know it; set before the first one comes, constant then. */
struct tg_ompt_runtime {
    tg_ompt_get_task_info get_task_info; /* NULL: it has none */
    uintptr_t start, end;                /* bounds of the runtime's code; equal: among the program's */
    bool has_dependences;                /* the runtime tells dependences behind the creation of a task */
    bool watches_releases; /* the agent is in front of what releases locks, and the runtime does not tell */
};
extern struct tg_ompt_runtime tg_ompt_runtime;

struct tg_ompt_event {
    enum tg_ompt_callback callback;
    tg_ompt_function function;
};

/* Callbacks that the agent registers; a NULL function ends the list. */
extern const struct tg_ompt_event tg_ompt_events[];

/* The thread leaves the mutex ID, from CODE in the program. */
void tg_ompt_leave_mutex(enum tg_omp_mutex mutex, uint64_t id, const void *code);

#endif
