/* Gets the agent into the programs of a recording: an engine observer that, at every exec, puts the
 * variables which make the dynamic loader load it behind all others on the new program's stack
 * (recorder/process/initial_stack.h). The agent takes them away again when it starts, so that program and
 * children never see them.
 *
 * Where the agent cannot be, the program is left as it was, and an agent event says why. */
#ifndef TG_RECORDER_INJECT_INJECTOR_H
#define TG_RECORDER_INJECT_INJECTOR_H

#include "format/base/error.h"
#include "recorder/engine/engine.h"
#include "recorder/inject/files.h"
#include "recorder/process/image_cache.h"
#include "recorder/process/initial_stack.h"

#include <stdbool.h>

struct tg_agent_injector;

struct tg_agent_injector_options {
    const struct tg_agent_files *files;
    const char *directory; /* directory of the rings: absolute */
    int directory_fd;      /* open on it, -1: whether the agent comes up is not looked at */
    bool audit;            /* load the audit library too: libraries are to be observed; see set_audit */
    bool heap;             /* load the heap's library too */
    struct tg_image_cache *images;
    /* A further variable (NAME=VALUE) for the program that THREAD is about to run, which the agent leaves
     * there; NULL none. STACK is its initial one. May be NULL. */
    const char *(*further)(void *context, struct tg_thread *thread, const struct tg_initial_stack *stack);
    /* Why nothing of the program that THREAD is about to run is to be recorded (static), NULL: it is. May be NULL. */
    const char *(*leaves_out)(void *context, const struct tg_thread *thread);
    void *context;
};

/* Adds itself to ENGINE, before the observers that ask tg_agent_injector_is_in, and must outlive it; what
 * OPTIONS points to must outlive both. */
struct tg_error *tg_agent_injector_create(struct tg_engine *engine,
                                          const struct tg_agent_injector_options *options,
                                          struct tg_agent_injector **injector);
void tg_agent_injector_destroy(struct tg_agent_injector *injector); /* NULL is accepted */

/* Whether the agent was put into the program that PROCESS runs, or into the one that it was forked from, and,
 * from its entry point on, came up there. What was attached to has none. */
bool tg_agent_injector_is_in(const struct tg_agent_injector *injector, const struct tg_process *process);

/* Whether PATH is one of the agent's libraries. */
bool tg_agent_injector_owns(const struct tg_agent_injector *injector, const char *path);

/* Whether a thread of PROCESS, which is about to end, has called MPI_Init and not MPI_Finalize, as far as its agent knows. */
bool tg_agent_injector_is_in_mpi(const struct tg_agent_injector *injector, const struct tg_process *process);

/* From now on, whether the audit library goes into programs. */
void tg_agent_injector_set_audit(struct tg_agent_injector *injector, bool audit);

/* Whether the program of THREAD now has the audit library, or has it not, as set_audit says: it has the agent, THREAD is
 * stopped, and its first instruction is still to come. */
bool tg_agent_injector_renew(struct tg_agent_injector *injector, struct tg_thread *thread);

/* As is_in, before the entry point, when all auditors were loaded: looks whether the audit library records anything there.
 * Where it does not, the agent is in the program no more, and an event says so. */
bool tg_agent_injector_came_up(struct tg_agent_injector *injector, struct tg_thread *thread);

#endif
