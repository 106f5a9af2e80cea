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
#include "live/control/orders.h"
#include "live/sets/ptset.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tg_controller;

/* ORDERS and ENGINE, which they are given to, live as long as the controller. */
struct tg_error *tg_controller_create(const struct tg_controller_orders *orders, void *engine,
                                      struct tg_controller **controller);
void tg_controller_destroy(struct tg_controller *controller); /* NULL is accepted */

/* ---- what the engine tells */

/* An event that it records, in order: those that begin and end processes and threads, exec, program,
 * identity. New processes and threads run, as far as nothing holds them; action points of their groups are
 * planted in them. */
struct tg_error *tg_controller_event(struct tg_controller *controller, const struct tg_event *event);
/* Libraries came: what was pending is looked for again in PID. */
struct tg_error *tg_controller_libraries_changed(struct tg_controller *controller, int32_t pid);
/* The code of action point ID is gone (a library, a program, a process): it is pending again. */
struct tg_error *tg_controller_lost(struct tg_controller *controller, uint32_t id);
/* A thread is stopped, at PC, because of STATE: it was told to stop, or something made it. */
struct tg_error *tg_controller_stopped(struct tg_controller *controller, int32_t pid, int32_t tid,
                                       enum tg_job_state state, uint64_t pc);
/* A thread is stopped at the action points IDS, whose conditions hold. Where none of them concerns it, it is
 * resumed. */
struct tg_error *tg_controller_hit(struct tg_controller *controller, int32_t pid, int32_t tid, uint64_t pc,
                                   const uint32_t *ids, size_t n_ids);

/* Process PID, a fork with memory of its own, has everything that was planted in its parent: takes out what
 * is unshared there. */
void tg_controller_forked(struct tg_controller *controller, int32_t pid);
/* Whether action point ID is one of process PID's. */
bool tg_controller_is_meant(const struct tg_controller *controller, uint32_t id, int32_t pid);

/* Stops a thread, or with dtid 0 a process, because of what the engine has seen of it. */
struct tg_error *tg_controller_halt_thread(struct tg_controller *controller, struct tg_thread_id thread_id);

/* The session ends: what ends from here on is not waited for, and nobody is told that it left a barrier.
 * KILLS: what the session has started is killed; else all is let go. */
struct tg_error *tg_controller_end(struct tg_controller *controller, bool kills);

/* Process PID was killed: until its end comes its threads count as such that run. */
void tg_controller_killed(struct tg_controller *controller, int32_t pid);

/* ---- what people command. Sets are over a view that was taken since the last call of anything above. */

/* Processes with their pid as tag, threads with their tid. VIEW is empty. */
struct tg_error *tg_controller_fill_view(const struct tg_controller *controller, struct tg_job_view *view);
/* A new one, the caller's to destroy. */
struct tg_error *tg_controller_view(const struct tg_controller *controller, struct tg_job_view **view);
/* The controller's own, which is made anew only where something has changed since the last call; valid
 * until the next one. */
struct tg_error *tg_controller_latest_view(struct tg_controller *controller, struct tg_job_view **view);
/* A number that grows whenever something changes of what a view says. */
uint64_t tg_controller_version(const struct tg_controller *controller);

/* Resumes SET except held threads, of which there are *N_HELD (may be NULL). Managers of a process of which
 * anybody is resumed run as well, unless they are held. */
struct tg_error *tg_controller_go(struct tg_controller *controller, const struct tg_job_view *view,
                                  const struct tg_job_set *set, size_t *n_held);
struct tg_error *tg_controller_halt(struct tg_controller *controller, const struct tg_job_view *view,
                                    const struct tg_job_set *set);
/* The processes that have threads in SET, or the threads. */
struct tg_error *tg_controller_hold(struct tg_controller *controller, const struct tg_job_view *view,
                                    const struct tg_job_set *set, bool of_processes);
struct tg_error *tg_controller_unhold(struct tg_controller *controller, const struct tg_job_view *view,
                                      const struct tg_job_set *set, bool of_processes);

/* How a breakpoint or barrier is made. */
enum tg_point_option {
    TG_POINT_PENDING = 1, /* a location that is in no process yet is accepted, else refused (NOT_FOUND) */
    TG_POINT_OF_RANKS =
        2, /* nobody has said for whom: it is for the ranks, too, which may be still to come */
};

/* What the errors end with that TG_POINT_PENDING avoids. */
#define TG_POINT_PENDING_ADVICE "; use -pending to plant it once it is loaded"

/* A breakpoint or barrier at LOCATION for FOCUS, a complete set; where POSITION is written, see
 * tg_barrier_focus_make. OPTIONS: bits of enum tg_point_option. Threads that are stopped where a barrier is
 * made have arrived at it. */
struct tg_error *tg_controller_break(struct tg_controller *controller, const struct tg_ptset *focus,
                                     const char *location, const char *condition,
                                     enum tg_barrier_stop stop_when_hit, unsigned options, uint32_t *id,
                                     size_t *position);
struct tg_error *tg_controller_barrier(struct tg_controller *controller, const struct tg_ptset *focus,
                                       const char *location, enum tg_barrier_stop stop_when_hit,
                                       enum tg_barrier_stop stop_when_done, unsigned options, uint32_t *id,
                                       size_t *position);
/* A watchpoint on TEXT, which WATCH defines: see the order define_watch. DPID: in that process alone, 0: as
 * breakpoints of FOCUS. Errors: also LIMIT and UNSUPPORTED, of debug registers. */
struct tg_watch_request {
    const char *text, *condition;
    uint64_t size_bytes; /* 0 not known */
    uint32_t dpid;
    const void *watch;
};
struct tg_error *tg_controller_watch(struct tg_controller *controller, const struct tg_ptset *focus,
                                     const struct tg_watch_request *request,
                                     enum tg_barrier_stop stop_when_hit, unsigned options, uint32_t *id,
                                     size_t *position);
/* NOT_FOUND errors. What a barrier holds is released by both; nobody runs on by it. */
struct tg_error *tg_controller_delete(struct tg_controller *controller, uint32_t id);
/* SCRIPT, the console's, is run at hits of breakpoint ID: it is kept with the point, and the controller does
 * nothing with it. */
struct tg_error *tg_controller_set_script(struct tg_controller *controller, uint32_t id, const char *script);
struct tg_error *tg_controller_enable(struct tg_controller *controller, uint32_t id, bool enabled);
/* Suppressed action points stay as they are, but stop nobody, and barriers release whom they hold. */
struct tg_error *tg_controller_suppress(struct tg_controller *controller, bool suppressed);

/* ---- questions */
const struct tg_action_points *tg_controller_points(const struct tg_controller *controller);
const struct tg_run_model *tg_controller_runs(const struct tg_controller *controller);
const struct tg_job_model *tg_controller_job(const struct tg_controller *controller);
/* The same to change named groups in it. */
struct tg_job_model *tg_controller_change_job(struct tg_controller *controller);

#endif
