/* The controller of a live job: what an engine tells and what people command go in; orders to the engine and
 * events for the record come out. It waits for nothing, and knows neither ptrace nor threads of its own:
 * everything is called by one thread, and every call returns at once. */
#ifndef TG_LIVE_CONTROL_CONTROLLER_H
#define TG_LIVE_CONTROL_CONTROLLER_H

#include "analyzer/job/action_points.h"
#include "analyzer/job/model.h"
#include "analyzer/job/run_model.h"
#include "analyzer/job/set.h"
#include "analyzer/job/view.h"
#include "format/base/error.h"
#include "format/event/event.h"
#include "live/sets/ptset.h"
#include "live/source/news.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What an engine must be able to do. Each begins what it says and returns; ENGINE is what it was created
 * with. Errors end the call of the controller's that led to them; the controller stays usable. */
struct tg_controller_engine {
    /* Makes a thread stop, others run on; tg_controller_stopped or tg_controller_hit tells when it stands. A
     * second time does nothing; a thread that has just ended is no error. */
    struct tg_error *(*stop)(void *engine, int32_t pid, int32_t tid);
    /* Lets a thread run that stands, over whatever is planted there; where its stop is under way, after that,
     * without telling of it. */
    struct tg_error *(*resume)(void *engine, int32_t pid, int32_t tid);
    /* Plants action point ID at LOCATION (as it was given) in process PID. *ADDRESS 0: it is not there yet.
     * *PLACE: FILE#LINE, "" not known; lives until the next call. INPUT error for a location that is none. */
    struct tg_error *(*plant)(void *engine, int32_t pid, uint32_t id, const char *location, uint64_t *address,
                              const char **place);
    /* The last line with code of the file of LOCATION, a FILE:LINE, in process PID; 0: it has none. NULL:
     * nobody knows. */
    uint64_t (*last_line)(void *engine, int32_t pid, const char *location);
    /* The opposite; the process may be gone, or never have had it. */
    struct tg_error *(*unplant)(void *engine, int32_t pid, uint32_t id);
    /* Whether a thread is a library's own, no worker: *IS_MANAGER. False: it cannot be told yet, and is asked
     * again when the thread stands. */
    bool (*ask_manager)(void *engine, int32_t pid, int32_t tid, bool *is_manager);
    /* Writes EVENT, whose time is the engine's to fill in, to the trace. */
    struct tg_error *(*record)(void *engine, const struct tg_event *event);
    /* Something that people should know: of barriers. */
    void (*tell)(void *engine, const struct tg_news *news);
};

struct tg_controller;

/* OPERATIONS and ENGINE live as long as the controller. */
struct tg_error *tg_controller_create(const struct tg_controller_engine *operations, void *engine,
                                      struct tg_controller **controller);
void tg_controller_destroy(struct tg_controller *controller); /* NULL is accepted */

/* ---- what the engine tells */

/* An event that it records, in order: those that begin and end processes and threads, exec, program,
 * identity. New processes and threads run, as far as nothing holds them; action points of their groups are
 * planted in them. */
struct tg_error *tg_controller_event(struct tg_controller *controller, const struct tg_event *event);
/* Libraries came: what was pending is looked for again in PID. */
struct tg_error *tg_controller_libraries_changed(struct tg_controller *controller, int32_t pid);
/* What action point ID was in is gone (a library, a program, a process), and it is in no process any more. */
struct tg_error *tg_controller_lost(struct tg_controller *controller, uint32_t id);
/* A thread stands still, at PC, because of STATE: it was told to stop, or something made it. */
struct tg_error *tg_controller_stopped(struct tg_controller *controller, int32_t pid, int32_t tid,
                                       enum tg_job_state state, uint64_t pc);
/* A thread stands at the action points IDS, whose conditions hold. Where none of them concerns it, it is
 * resumed. */
struct tg_error *tg_controller_hit(struct tg_controller *controller, int32_t pid, int32_t tid, uint64_t pc,
                                   const uint32_t *ids, size_t n_ids);

/* Process PID, a fork with memory of its own, has everything that was planted in its parent: takes out what
 * is unshared there. */
struct tg_error *tg_controller_forked(struct tg_controller *controller, int32_t pid);
/* Whether action point ID is one of process PID's. */
bool tg_controller_is_meant(const struct tg_controller *controller, uint32_t id, int32_t pid);

/* Stops a thread, or with dtid 0 a process, because of what the engine has seen of it. */
struct tg_error *tg_controller_halt_unit(struct tg_controller *controller, struct tg_thread_id unit);

/* Process PID was killed: until its end comes its threads count as such that run. */
void tg_controller_killed(struct tg_controller *controller, int32_t pid);

/* ---- what people command. Sets are over a view that was taken since the last call of anything above. */

/* Processes with their pid as tag, threads with their tid. VIEW is empty. */
struct tg_error *tg_controller_fill_view(const struct tg_controller *controller, struct tg_job_view *view);
/* A new one, the caller's to destroy. */
struct tg_error *tg_controller_view(const struct tg_controller *controller, struct tg_job_view **view);

/* Who is held is left out; *N_HELD, which may be NULL, says how many threads that was. */
struct tg_error *tg_controller_go(struct tg_controller *controller, const struct tg_job_view *view,
                                  const struct tg_job_set *set, size_t *n_held);
struct tg_error *tg_controller_halt(struct tg_controller *controller, const struct tg_job_view *view,
                                    const struct tg_job_set *set);
/* The processes that have threads in SET, or the threads. */
struct tg_error *tg_controller_hold(struct tg_controller *controller, const struct tg_job_view *view,
                                    const struct tg_job_set *set, bool of_processes);
struct tg_error *tg_controller_unhold(struct tg_controller *controller, const struct tg_job_view *view,
                                      const struct tg_job_set *set, bool of_processes);

/* A breakpoint or barrier at LOCATION for FOCUS, a complete set; where POSITION is written, see
 * tg_barrier_focus_make. A location that is in no process yet is refused (NOT_FOUND) unless PENDING. */
struct tg_error *tg_controller_break(struct tg_controller *controller, const struct tg_ptset *focus,
                                     const char *location, const char *condition,
                                     enum tg_barrier_stop stop_when_hit, bool pending, uint32_t *id,
                                     size_t *position);
struct tg_error *tg_controller_barrier(struct tg_controller *controller, const struct tg_ptset *focus,
                                       const char *location, enum tg_barrier_stop stop_when_hit,
                                       enum tg_barrier_stop stop_when_done, bool pending, uint32_t *id,
                                       size_t *position);
/* NOT_FOUND errors. What a barrier holds is released by both; nobody runs on by it. */
struct tg_error *tg_controller_delete(struct tg_controller *controller, uint32_t id);
struct tg_error *tg_controller_enable(struct tg_controller *controller, uint32_t id, bool enabled);
/* Suppressed action points stay as they are, but stop nobody, and barriers release whom they hold. */
struct tg_error *tg_controller_suppress(struct tg_controller *controller, bool suppressed);

/* ---- questions; read-only, named groups of the job model excepted */
const struct tg_action_points *tg_controller_points(const struct tg_controller *controller);
const struct tg_run_model *tg_controller_barriers(const struct tg_controller *controller);
struct tg_job_model *tg_controller_job(struct tg_controller *controller);

#endif
