#include "recorder/look/telling.h"

#include "recorder/engine/engine.h"

void tg_look_tell(const struct tg_look_sink *sink, pid_t pid, pid_t tid, struct tg_event event)
{
    event.time_ns = tg_engine_now_ns();
    event.pid = pid;
    event.tid = tid;
    sink->add(sink->context, &event);
}

void tg_look_tell_values(const struct tg_look_sink *sink, pid_t pid, pid_t tid,
                         const struct tg_mpi_values *values)
{
    struct tg_call_value told[TG_MPI_MAX_VALUES];
    if (values->count == 0)
        return;
    for (size_t i = 0; i < values->count; i++) {
        told[i] = values->values[i];
        told[i].text = values->texts[i];
    }
    tg_look_tell(sink, pid, tid,
                 (struct tg_event){.kind = TG_EVENT_CALL_VALUES,
                                   .call_values = {.function = values->function,
                                                   .values = {.items = told, .count = values->count}}});
}

void tg_look_tell_waits(const struct tg_look_sink *sink, const struct tg_wait *waits, size_t count,
                        const pid_t *pids, size_t n_pids)
{
    enum { MAX_PARTNERS = 16 };
    for (size_t i = 0; i < count; i++) {
        struct tg_wait_partner partners[MAX_PARTNERS];
        struct tg_event_thread_wait is = waits[i].is;
        is.partners.count = tg_wait_partners(&waits[i], pids, n_pids, partners, MAX_PARTNERS);
        is.partners.items = partners;
        tg_look_tell(sink, waits[i].pid, waits[i].tid,
                     (struct tg_event){.kind = TG_EVENT_THREAD_WAIT, .thread_wait = is});
    }
}
