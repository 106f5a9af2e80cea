/* Watchpoints in the processes of a live job: planted, written to, ended. The tracer thread's. */
#ifndef TG_LIVE_CONTROL_WATCHES_H
#define TG_LIVE_CONTROL_WATCHES_H

#include "format/base/error.h"
#include "live/control/modules.h"
#include "live/control/watch_plan.h"

#include <stdbool.h>
#include <stdint.h>

enum { TG_WATCH_TEXT_SIZE = 256 }; /* bytes of a value's text */

struct tg_job_watches;

/* What is asked for. TEXT is an expression, or an address with a LENGTH. */
struct tg_watch_definition {
    const char *text;
    uint64_t length; /* 0: the size of what TEXT is */
    /* Not static: only in process PID, where PLAN says. Else the text means what it does in each process, and PLAN is
     * of nobody. */
    bool is_bound;
    int32_t pid, tid; /* TID: the thread whose frame it was found in */
    struct tg_watch_plan plan;
};

/* A write that has changed the value of watchpoint ID. Texts live while it is told. */
struct tg_watch_write {
    uint32_t id;
    const char *text;
    const char *before, *after;
    uint64_t address;
    unsigned n_others; /* threads that have written between these two values as well: each has such a write */
};

struct tg_job_watches_callbacks {
    void *context;
    /* Whether watchpoint ID is to stop THREAD, which has changed the value: its condition holds and so on. */
    bool (*wants)(void *context, struct tg_thread *thread, uint32_t id);
    /* Takes a write that was wanted. */
    void (*written)(void *context, struct tg_thread *thread, const struct tg_watch_write *write);
    /* The frame that watchpoint ID's variable belonged to has been left by THREAD; FUNCTION "" not known. */
    void (*left)(void *context, struct tg_thread *thread, uint32_t id, const char *function);
};

struct tg_error *tg_job_watches_create(struct tg_job_modules *modules,
                                       const struct tg_job_watches_callbacks *callbacks,
                                       struct tg_job_watches **watches);
void tg_job_watches_destroy(struct tg_job_watches *watches); /* NULL is accepted; after the engine's run */

/* ID is a watchpoint as DEFINITION says, which is copied. Errors: of its text. */
struct tg_error *tg_job_watches_define(struct tg_job_watches *watches, uint32_t id,
                                       const struct tg_watch_definition *definition);
/* ID, which is planted nowhere, is to be none: its number is used again. */
void tg_job_watches_undefine(struct tg_job_watches *watches, uint32_t id);
bool tg_job_watches_is_defined(const struct tg_job_watches *watches, uint32_t id);

/* Plants ID in PROCESS, where it is not yet and what it means is there. *ADDRESS: where, 0 not; *PLACE, until the next
 * call: what, as people read it. Errors: LIMIT where no debug register is left, UNSUPPORTED where there is none. */
struct tg_error *tg_job_watches_plant(struct tg_job_watches *watches, struct tg_process *process, uint32_t id,
                                      uint64_t *address, const char **place);
void tg_job_watches_unplant(struct tg_job_watches *watches, struct tg_process *process, uint32_t id);
/* Whether ID is planted in PROCESS. */
bool tg_job_watches_has(const struct tg_job_watches *watches, const struct tg_process *process, uint32_t id);

/* As of action points (live/control/points.h). */
void tg_job_watches_begin(struct tg_job_watches *watches, const struct tg_process *process);
struct tg_error *tg_job_watches_copy(struct tg_job_watches *watches, const struct tg_process *parent,
                                     const struct tg_process *child);
void tg_job_watches_forget(struct tg_job_watches *watches, const struct tg_process *process);

#endif
