#include "recorder/rings/agent_connection.h"

#include "recorder/rings/gate_bell.h"
#include "recorder/rings/process_notes.h"

#include <stdlib.h>

struct tg_agent_session {
    struct tg_agent_files files;
    struct tg_agent_directory *directory;
    struct tg_tick_clock *clock;
    struct tg_process_notes *notes;
    struct tg_agent_drain *drain; /* NULL: not started */
    struct tg_gate_bell *bell;    /* NULL: nobody wants to know of gates */
    bool may_be_late;
};

static struct tg_error *prepare(struct tg_agent_session *session,
                                const struct tg_agent_session_options *options)
{
    struct tg_error *error = tg_agent_files_find(&session->files);
    enum tg_agent_clock source = tg_tick_clock_best();
    if (error == NULL)
        error = tg_tick_clock_create(source, &session->clock);
    if (error != NULL)
        return error;
    tg_tick_clock_add(session->clock, tg_tick_clock_take(session->clock));
    const struct tg_agent_directory_options directory = {
        .flags = options->flags,
        .heap = options->heap,
        .clock = source,
        .ring_bytes = options->ring_bytes,
        .trace = options->trace,
    };
    error = tg_agent_directory_create(&directory, &session->directory);
    return error != NULL ? error
                         : tg_process_notes_create(tg_agent_directory_fd(session->directory),
                                                   !options->is_redacted, &session->notes);
}

struct tg_error *tg_agent_session_create(const struct tg_agent_session_options *options,
                                         struct tg_agent_session **session)
{
    struct tg_agent_session *made = calloc(1, sizeof *made);
    if (made == NULL)
        return tg_error_no_memory();
    made->may_be_late = options->may_be_late;
    struct tg_error *error = prepare(made, options);
    if (error != NULL) {
        tg_agent_session_destroy(made);
        return error;
    }
    *session = made;
    return NULL;
}

struct tg_error *tg_agent_session_describe(const struct tg_agent_session *session, struct tg_trace_meta *meta)
{
    bool tsc = tg_tick_clock_source(session->clock) == TG_AGENT_CLOCK_TSC;
    /* A pair is off by some 20 ns, and these two are about a millisecond apart: the relation is right to some
     * hundred-thousandths. Records are told between pairs that the drain takes later. */
    tg_tick_clock_add(session->clock, tg_tick_clock_take(session->clock));
    struct tg_error *error = tg_trace_meta_set(meta, "clock.source", tsc ? "tsc" : "monotonic");
    if (error == NULL)
        error = tg_trace_meta_set_number(meta, "clock.ticks_per_second",
                                         tg_tick_clock_ticks_per_second(session->clock));
    if (error == NULL)
        error = tg_trace_meta_set(meta, "agent.directory", tg_agent_directory_path(session->directory));
    return error;
}

struct tg_error *tg_agent_session_start(struct tg_agent_session *session, const struct tg_event_sink *sink,
                                        const struct tg_ring_set_file *file,
                                        void (*gates_called)(void *context))
{
    const struct tg_agent_drain_options drain = {
        .directory = session->directory,
        .clock = session->clock,
        .sink = *sink,
        .file = file,
        .growth_bytes = session->may_be_late ? tg_agent_directory_growth_bytes(session->directory) : 0,
    };
    struct tg_error *error = tg_agent_drain_create(&drain, &session->drain);
    return error != NULL || gates_called == NULL
               ? error
               : tg_gate_bell_create(session->directory, gates_called, sink->context, &session->bell);
}

void tg_agent_session_add(struct tg_agent_session *session, const struct tg_event *event)
{
    tg_process_notes_add(session->notes, event);
    tg_agent_drain_add(session->drain, event);
}

void tg_agent_session_seal(struct tg_agent_session *session, uint64_t n_events, bool with_last)
{
    if (session->drain != NULL)
        tg_agent_drain_seal(session->drain, n_events, with_last);
}

void tg_agent_session_hold(struct tg_agent_session *session, uint64_t from_ns)
{
    if (session->drain != NULL)
        tg_agent_drain_hold(session->drain, from_ns);
}

bool tg_agent_session_settle(struct tg_agent_session *session, uint64_t up_to_ns, uint64_t within_ns)
{
    return tg_agent_drain_settle(session->drain, up_to_ns, within_ns);
}

bool tg_agent_session_foresee(struct tg_agent_session *session, struct tg_ring_foresight *foresight,
                              uint64_t within_ns)
{
    return tg_agent_drain_foresee(session->drain, foresight, within_ns);
}

static void silence(struct tg_agent_session *session)
{
    tg_gate_bell_destroy(session->bell);
    session->bell = NULL;
}

void tg_agent_session_finish(struct tg_agent_session *session, struct tg_agent_drain_stats *stats)
{
    silence(session);
    tg_agent_drain_finish(session->drain, stats);
}

void tg_agent_session_destroy(struct tg_agent_session *session)
{
    if (session == NULL)
        return;
    silence(session);
    tg_agent_drain_destroy(session->drain);
    tg_process_notes_destroy(session->notes);
    tg_agent_directory_destroy(session->directory);
    tg_tick_clock_destroy(session->clock);
    tg_agent_files_deinit(&session->files);
    free(session);
}

const struct tg_agent_files *tg_agent_session_files(const struct tg_agent_session *session)
{
    return &session->files;
}

const struct tg_agent_directory *tg_agent_session_directory(const struct tg_agent_session *session)
{
    return session->directory;
}
