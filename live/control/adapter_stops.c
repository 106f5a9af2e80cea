/* Stops of threads, and hits of action points with scripts, until somebody takes them. */
#include "live/control/adapter_state.h"

#include "format/base/array.h"

#include <stdio.h>

/* Drops stops of threads that run again or have ended. Of two stops of one thread the later one counts. */
static void forget_passed(struct tg_engine_adapter *live)
{
    size_t n_left = 0;
    for (size_t i = 0; i < live->n_stops; i++) {
        const struct tg_thread_stop *stop = &live->stops[i];
        const struct tg_thread *thread = tg_adapter_find_thread(live, stop->pid, stop->tid);
        if (thread != NULL && tg_thread_is_kept(thread))
            live->stops[n_left++] = *stop;
    }
    live->n_stops = n_left;
}

const struct tg_thread_stop *tg_engine_adapter_take_stops(struct tg_engine_adapter *live, size_t *count)
{
    forget_passed(live);
    for (size_t i = 0; i < live->n_stops; i++) {
        struct tg_thread_stop *stop = &live->stops[i];
        struct tg_thread *thread = tg_adapter_find_thread(live, stop->pid, stop->tid);
        if (thread != NULL)
            (void)tg_engine_adapter_look(live, thread, &stop->pc, &stop->code);
    }
    *count = live->n_stops;
    live->n_stops = 0;
    return live->stops;
}

void tg_adapter_add_stop(struct tg_engine_adapter *live, struct tg_thread *thread,
                         const struct tg_stop_reason *reason, uint64_t pc, bool stepped)
{
    struct tg_thread_stop stop = {.pid = thread->process->pid,
                                  .tid = thread->tid,
                                  .state = (enum tg_job_state)reason->state,
                                  .signal = reason->signal,
                                  .point = reason->n_hits > 0 ? reason->hits[0] : 0,
                                  .pc = pc,
                                  .stepped = stepped};
    if (!tg_thread_is_kept(thread) ||
        !tg_job_model_thread_id(tg_controller_job(live->controller), stop.pid, stop.tid, &stop.thread))
        return;
    if (live->n_stops == live->max_stops)
        forget_passed(live);
    (void)TG_ARRAY_APPEND(live->stops, live->n_stops, live->max_stops, stop);
}

void tg_adapter_add_write(struct tg_engine_adapter *live, struct tg_thread *thread,
                          const struct tg_watch_write *write)
{
    uint64_t stop_number = tg_thread_stop_number(thread);
    if (live->writer != thread->tid || (live->n_writes > 0 && live->writes[0].stop_number != stop_number))
        live->n_writes = 0;
    live->writer = thread->tid;
    if (live->n_writes == TG_WATCH_REGISTERS)
        return;
    struct tg_script_hit *hit = &live->writes[live->n_writes++];
    *hit = (struct tg_script_hit){.point = write->id, .stop_number = stop_number, .is_write = true};
    snprintf(hit->before, sizeof hit->before, "%s", write->before);
    snprintf(hit->after, sizeof hit->after, "%s", write->after);
}

/* HIT of THREAD was a write: which values. */
static void add_values(const struct tg_engine_adapter *live, const struct tg_thread *thread,
                       struct tg_script_hit *hit)
{
    for (size_t i = 0; i < live->n_writes; i++)
        if (live->writer == thread->tid && live->writes[i].point == hit->point &&
            live->writes[i].stop_number == hit->stop_number)
            *hit = live->writes[i];
}

void tg_adapter_add_script_hits(struct tg_engine_adapter *live, struct tg_thread *thread,
                                const struct tg_stop_reason *reason)
{
    const struct tg_action_points *points = tg_controller_points(live->controller);
    for (size_t i = 0; i < reason->n_hits; i++) {
        const struct tg_action_point *point = tg_action_points_get(points, reason->hits[i]);
        struct tg_script_hit hit = {.point = reason->hits[i], .stop_number = tg_thread_stop_number(thread)};
        add_values(live, thread, &hit);
        if (point != NULL && *point->script != '\0' &&
            tg_job_model_thread_id(tg_controller_job(live->controller), thread->process->pid, thread->tid,
                                   &hit.thread))
            (void)TG_ARRAY_APPEND(live->script_hits, live->n_script_hits, live->max_script_hits, hit);
    }
}

bool tg_engine_adapter_has_script_hit(const struct tg_engine_adapter *live, struct tg_thread_id thread)
{
    for (size_t i = 0; i < live->n_script_hits; i++)
        if (live->script_hits[i].thread.dpid == thread.dpid &&
            live->script_hits[i].thread.dtid == thread.dtid)
            return true;
    return false;
}

const struct tg_script_hit *tg_engine_adapter_take_script_hits(struct tg_engine_adapter *live, size_t *count)
{
    *count = live->n_script_hits;
    live->n_script_hits = 0;
    return live->script_hits;
}
