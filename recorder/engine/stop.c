#include "recorder/engine/stop.h"
#include "recorder/engine/observers.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/wait.h>

uint64_t tg_engine_now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

struct tg_event *tg_engine_emit_as(struct tg_engine *engine, const struct tg_event *event)
{
    struct tg_event stamped = *event, *kept = NULL;
    stamped.stop_ns = 0;
    if (engine->in_stop)
        stamped.time_ns = engine->stop_time_ns;
    else if (stamped.time_ns == 0)
        stamped.time_ns = tg_engine_now_ns();
    if (engine->in_stop)
        kept = tg_stop_events_add(&engine->stop_events, &stamped);
    else
        engine->sink.add(engine->sink.context, &stamped);
    if (engine->emitted != NULL)
        engine->emitted(engine->sink.context, &stamped);
    return kept;
}

struct tg_event *tg_engine_emit(struct tg_engine *engine, struct tg_thread *thread,
                                const struct tg_event *event)
{
    struct tg_event named = *event;
    named.pid = thread == NULL ? 0 : thread->process->pid;
    named.tid = thread == NULL ? 0 : thread->tid;
    return tg_engine_emit_as(engine, &named);
}

struct tg_thread *tg_engine_stopped_thread(const struct tg_engine *engine)
{
    return engine->in_stop && engine->current != NULL ? &engine->current->thread : NULL;
}

void tg_stop_begin(struct tg_engine *engine, struct tg_tracee *tracee)
{
    struct tg_traced_process *traced = tg_traced_of(tracee);
    engine->in_stop = true;
    engine->stop_time_ns = tg_engine_now_ns();
    engine->resume_time_ns = 0;
    if (engine->hold != NULL)
        engine->hold(engine->sink.context, engine->stop_time_ns);
    engine->current = tracee;
    traced->process.previous_stop_ns = traced->last_stop_ns;
    traced->last_stop_ns = engine->stop_time_ns;
    tg_tracee_mark_stopped(tracee);
}

void tg_stop_end(struct tg_engine *engine)
{
    engine->in_stop = false;
    engine->current = NULL;
    if (engine->stop_events.first != NULL) {
        uint64_t end_ns = engine->resume_time_ns != 0 ? engine->resume_time_ns : tg_engine_now_ns();
        tg_stop_events_flush(&engine->stop_events, end_ns - engine->stop_time_ns, engine->sink.add,
                             engine->sink.context);
    }
    if (engine->stop_events.lost > 0) {
        struct tg_event event = {.kind = TG_EVENT_LOSS,
                                 .loss = {.source = TG_LOSS_LIMIT,
                                          .count = engine->stop_events.lost,
                                          .reason = "out of memory for the events of a stop"}};
        engine->stop_events.lost = 0;
        tg_engine_emit(engine, NULL, &event);
    }
    if (engine->hold != NULL)
        engine->hold(engine->sink.context, UINT64_MAX);
}

void tg_stop_note(struct tg_tracee *tracee, const char *format, ...)
{
    char *text = NULL;
    va_list args;
    va_start(args, format);
    int length = vasprintf(&text, format, args);
    va_end(args);
    if (length < 0)
        return;
    struct tg_event event = {.kind = TG_EVENT_NOTE, .note = {.text = text}};
    tg_engine_emit(tracee->thread.process->engine, &tracee->thread, &event);
    free(text);
}

bool tg_stop_is_current(pid_t tid, int status)
{
    siginfo_t info;
    if (!WIFSTOPPED(status))
        return true; /* an end is for good */
    if (ptrace(PTRACE_GETSIGINFO, tid, NULL, &info) != 0)
        return false;
    bool is_of_event = status >> 16 != 0, is_in_event = info.si_code > 0 && info.si_code >> 8 != 0;
    return is_of_event ? info.si_code == status >> 8 : !is_in_event && info.si_signo == WSTOPSIG(status);
}
