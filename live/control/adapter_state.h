/* What the adapter keeps, for the files that it is made of: adapter.c (what the engine tells), adapter_orders.c
 * (what the controller orders), adapter_stops.c (stops until somebody takes them), adapter_places.c (what code is
 * called, and where it is). The tracer thread's. */
#ifndef TG_LIVE_CONTROL_ADAPTER_STATE_H
#define TG_LIVE_CONTROL_ADAPTER_STATE_H

#include "live/control/conditions.h"
#include "live/control/engine_adapter.h"
#include "live/control/manager_threads.h"
#include "live/control/modules.h"
#include "live/control/points.h"
#include "live/control/watches.h"
#include "recorder/rings/gates.h"

struct tg_engine_adapter {
    struct tg_engine_adapter_options options;
    struct tg_recording_parts parts;
    struct tg_observer observer;
    struct tg_job_points *points;
    struct tg_job_watches *watches;
    struct tg_job_modules *modules;
    struct tg_manager_threads *managers;
    struct tg_point_conditions *conditions;
    struct tg_job_steps *steps;
    struct tg_controller *controller;
    struct tg_gates *gates;       /* NULL: none were needed yet, or there are no agents */
    struct tg_thread_stop *stops; /* not told to anybody yet */
    size_t n_stops, max_stops;
    struct tg_script_hit *script_hits; /* not taken yet */
    size_t n_script_hits, max_script_hits;
    struct tg_script_hit
        writes[TG_WATCH_REGISTERS]; /* to watchpoints, in the stop in progress, of thread WRITER */
    size_t n_writes;
    int32_t writer;
    bool has_run;   /* somebody was let go */
    bool has_begun; /* a program was loaded */
    bool kills;     /* children that killed processes fork meanwhile are killed, too */
    struct tg_event_mark latest;
    pid_t rank;             /* the process that the last identity event called a rank, 0 none */
    int64_t local_ranks;    /* ranks that the last environment told of, 0 none */
    int64_t expected_ranks; /* on this host, 0 not known */
};

/* NULL: it has ended. */
struct tg_thread *tg_adapter_find_thread(const struct tg_engine_adapter *live, int32_t pid, int32_t tid);

/* What the controller orders; their context is the adapter. */
extern const struct tg_controller_orders tg_adapter_orders;

/* THREAD, which stays at PC, stopped for REASON, maybe at the end of a step. Without memory the
 * stop is not reported. */
void tg_adapter_add_stop(struct tg_engine_adapter *live, struct tg_thread *thread,
                         const struct tg_stop_reason *reason, uint64_t pc, bool stepped);
/* THREAD, in a stop, has hit a watchpoint. */
void tg_adapter_add_write(struct tg_engine_adapter *live, struct tg_thread *thread,
                          const struct tg_watch_write *write);
/* Keeps those of REASON's action points that have a script; without memory it is not run. */
void tg_adapter_add_script_hits(struct tg_engine_adapter *live, struct tg_thread *thread,
                                const struct tg_stop_reason *reason);

#endif
