#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "analyzer/job/barrier_trace.h"

/* A session of chance: threads come and go, run into barriers, are held and let go, stops take their time.
 * What a controller would write of it must lead a model that knows the events alone to the same decisions. */
enum { MAX_EVENTS = 60000, PROCESSES = 5, THREADS = 6, BARRIERS = 4 };

struct session {
    struct tg_run_model *model;
    uint64_t random;
    struct tg_event *events;
    size_t n_events;
    uint32_t generation[PROCESSES]; /* how many processes had this place before */
    uint32_t late;
    uint32_t several; /* stops at two barriers */
};

static uint32_t draw(struct session *session, uint32_t below)
{
    session->random = session->random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)(session->random >> 33) % below;
}

static void write_event(struct session *session, struct tg_event event)
{
    assert_true(session->n_events < MAX_EVENTS);
    session->events[session->n_events++] = event;
}

static uint32_t dpid_of(const struct session *session, uint32_t process)
{
    return process + 1 + PROCESSES * session->generation[process];
}

/* The thread at a place, by what the system would call it. */
static struct tg_event event_of(const struct session *session, uint32_t process, uint32_t thread)
{
    return (struct tg_event){.pid = (int32_t)(1000 + process),
                             .tid = (int32_t)(1000 + process + 100 * (thread + 1)),
                             .time_ns = session->n_events};
}

/* Writes what the model decided. */
static void write_decisions(struct session *session)
{
    size_t count;
    const struct tg_run_decision *decisions = tg_run_model_decisions(session->model, &count);
    for (size_t i = 0; i < count; i++) {
        struct tg_event event = {0};
        if (tg_barrier_trace_event(&decisions[i], &event))
            write_event(session, event);
    }
}

static void add_thread(struct session *session, uint32_t process, uint32_t thread)
{
    struct tg_thread_id unit = {dpid_of(session, process), thread + 1};
    struct tg_event event = event_of(session, process, thread);
    if (tg_run_model_has_thread(session->model, unit))
        return;
    bool is_manager = thread == 5;
    assert_null(tg_run_model_add_thread(session->model, unit, is_manager));
    event.kind = TG_EVENT_CONTROL_THREAD;
    event.control_thread = (struct tg_event_control_thread){unit.dpid, unit.dtid, is_manager};
    write_event(session, event);
    write_decisions(session);
}

static void tell_process(struct session *session, uint32_t process, uint32_t share, bool is_new)
{
    const struct tg_process_groups groups = {dpid_of(session, process), 1, share, 2};
    struct tg_event event = event_of(session, process, 0);
    event.kind = TG_EVENT_CONTROL_PROCESS;
    event.control_process = (struct tg_event_control_process){groups.dpid, 1, share, 2};
    if (is_new)
        assert_null(tg_run_model_add_process(session->model, &groups));
    else
        assert_null(tg_run_model_change_process(session->model, &groups));
    write_event(session, event);
    write_decisions(session);
}

static void end_process(struct session *session, uint32_t process)
{
    struct tg_event event = event_of(session, process, 0);
    bool is_detached = draw(session, 2) == 0;
    event.kind = is_detached ? TG_EVENT_DETACH : TG_EVENT_PROCESS_EXIT;
    assert_null(tg_run_model_remove_process(session->model, dpid_of(session, process),
                                            is_detached ? TG_BARRIER_BY_DETACH : TG_BARRIER_BY_EXIT));
    write_event(session, event);
    write_decisions(session);
    session->generation[process]++;
    tell_process(session, process, 3, true);
    for (uint32_t thread = 0; thread < 3; thread++)
        add_thread(session, process, thread);
}

static void add_barrier(struct session *session, uint32_t id)
{
    struct tg_thread_id list[2] = {{dpid_of(session, draw(session, PROCESSES)), 0},
                                   {dpid_of(session, draw(session, PROCESSES)), 0}};
    struct tg_control_unit units[2];
    const struct tg_barrier_definition definition = {
        .id = id,
        .of_threads = draw(session, 2) == 0,
        .stop_when_hit = (enum tg_barrier_stop)draw(session, 3),
        .stop_when_done = (enum tg_barrier_stop)draw(session, 3),
        .share_group = 3,
        .group = draw(session, 3),
        .process = draw(session, 4) == 0 ? dpid_of(session, draw(session, PROCESSES)) : 0,
        .list = list,
        .n_list = draw(session, 3) == 0 ? 2 : 0,
    };
    struct tg_event event = {0};
    assert_null(tg_barriers_add(session->model, &definition));
    tg_barrier_trace_created(&definition, "x.c#1", units, &event);
    struct tg_control_unit *kept = calloc(2, sizeof *kept); /* the event's, freed with it */
    assert_non_null(kept);
    memcpy(kept, units, sizeof units);
    event.barrier_created.members.items = kept;
    write_event(session, event);
    write_decisions(session);
}

static void change_barrier(struct session *session)
{
    uint32_t id = 1 + draw(session, BARRIERS);
    struct tg_barrier_status status;
    struct tg_event event = {0};
    if (!tg_barriers_status(session->model, id, &status)) {
        add_barrier(session, id);
        return;
    }
    if (draw(session, 3) == 0) {
        assert_null(tg_barriers_delete(session->model, id));
        event.kind = TG_EVENT_BARRIER_DELETED;
        event.barrier_deleted.barrier = id;
    } else {
        assert_null(tg_barriers_enable(session->model, id, !status.enabled));
        event.kind = TG_EVENT_BARRIER_ENABLED;
        event.barrier_enabled = (struct tg_event_barrier_enabled){id, !status.enabled};
    }
    write_event(session, event);
    write_decisions(session);
}

static bool is_member(const struct session *session, uint32_t id, struct tg_thread_id unit)
{
    struct tg_barrier_status status;
    if (!tg_barriers_status(session->model, id, &status) || !status.enabled)
        return false;
    unit.dtid = status.of_threads ? unit.dtid : 0;
    return tg_barriers_membership(session->model, id, unit).is_member;
}

/* The first one of two that it is a member of. */
static void arrive_on(struct session *session, struct tg_thread_id unit, struct tg_event event, uint32_t id)
{
    size_t count;
    assert_null(tg_barriers_arrive_on(session->model, id, unit));
    const struct tg_run_decision *decisions = tg_run_model_decisions(session->model, &count);
    assert_int_equal(tg_run_model_state(session->model, unit), TG_RUN_STOPPING);
    event.kind = TG_EVENT_BARRIER_ARRIVAL;
    event.barrier_arrival =
        (struct tg_event_barrier_arrival){id, unit.dpid, unit.dtid, decisions[0].kind == TG_DECIDE_LATE, 1};
    write_event(session, event);
    write_decisions(session);
    session->several++;
}

static void arrive(struct session *session, struct tg_thread_id unit, struct tg_event event)
{
    uint32_t id = 1 + draw(session, BARRIERS), other = 1 + draw(session, BARRIERS);
    size_t count;
    if (tg_run_model_state(session->model, unit) == TG_RUN_STOPPED)
        return;
    if (other != id && is_member(session, id, unit) && is_member(session, other, unit))
        arrive_on(session, unit, event, other);
    assert_null(tg_barriers_arrive(session->model, id, unit));
    const struct tg_run_decision *decisions = tg_run_model_decisions(session->model, &count);
    bool has_arrived = count > 0 && decisions[0].kind == TG_DECIDE_ARRIVED;
    bool is_late = count > 0 && decisions[0].kind == TG_DECIDE_LATE;
    session->late += is_late;
    event.kind = TG_EVENT_BARRIER_ARRIVAL;
    event.barrier_arrival = (struct tg_event_barrier_arrival){id, unit.dpid, unit.dtid, is_late, 0};
    if (!has_arrived && !is_late) { /* no member: it went on, or stopped because it had been told to */
        event.kind = TG_EVENT_CONTROL_STOPPED;
        event.control_stopped = (struct tg_event_control_stopped){unit.dpid, unit.dtid};
        if (tg_run_model_state(session->model, unit) != TG_RUN_STOPPED)
            return;
    }
    write_event(session, event);
    write_decisions(session);
}

static void stop(struct session *session, struct tg_thread_id unit, struct tg_event event)
{
    if (tg_run_model_state(session->model, unit) != TG_RUN_STOPPING)
        return;
    assert_null(tg_run_model_stopped(session->model, unit));
    event.kind = TG_EVENT_CONTROL_STOPPED;
    event.control_stopped = (struct tg_event_control_stopped){unit.dpid, unit.dtid};
    write_event(session, event);
    write_decisions(session);
}

static void go(struct session *session, struct tg_thread_id unit, struct tg_event event)
{
    size_t count;
    if (draw(session, 2) == 0)
        unit.dtid = 0;
    assert_null(tg_run_model_go(session->model, unit));
    const struct tg_run_decision *decisions = tg_run_model_decisions(session->model, &count);
    for (size_t i = 0; i < count; i++) {
        if (decisions[i].kind != TG_DECIDE_RESUME_THREAD)
            continue;
        event.kind = TG_EVENT_CONTROL_RESUMED;
        event.control_resumed =
            (struct tg_event_control_resumed){decisions[i].thread.dpid, decisions[i].thread.dtid};
        write_event(session, event);
    }
    write_decisions(session);
}

static void hold(struct session *session, struct tg_thread_id unit, struct tg_event event)
{
    if (draw(session, 3) == 0)
        unit.dtid = 0;
    if (draw(session, 2) == 0) {
        assert_null(tg_run_model_hold(session->model, unit));
        event.kind = TG_EVENT_BARRIER_HELD;
        event.barrier_held = (struct tg_event_barrier_held){0, unit.dpid, unit.dtid};
    } else {
        assert_null(tg_run_model_unhold(session->model, unit));
        event.kind = TG_EVENT_CONTROL_UNHOLD;
        event.control_unhold = (struct tg_event_control_unhold){unit.dpid, unit.dtid};
    }
    write_event(session, event);
    write_decisions(session);
}

static void remove_thread(struct session *session, struct tg_thread_id unit, struct tg_event event)
{
    assert_null(tg_run_model_remove_thread(session->model, unit, TG_BARRIER_BY_EXIT));
    event.kind = TG_EVENT_THREAD_EXIT;
    write_event(session, event);
    write_decisions(session);
}

static void do_something(struct session *session)
{
    uint32_t process = draw(session, PROCESSES), thread = draw(session, THREADS), what = draw(session, 100);
    struct tg_thread_id unit = {dpid_of(session, process), thread + 1};
    const struct tg_event event = event_of(session, process, thread);
    if (what < 2)
        end_process(session, process);
    else if (what < 4)
        tell_process(session, process, 3 + draw(session, 2), false);
    else if (what < 8)
        change_barrier(session);
    else if (!tg_run_model_has_thread(session->model, unit))
        add_thread(session, process, thread);
    else if (what < 12)
        remove_thread(session, unit, event);
    else if (what < 20)
        hold(session, unit, event);
    else if (what < 40)
        go(session, unit, event);
    else if (what < 60)
        stop(session, unit, event);
    else
        arrive(session, unit, event);
}

static struct session run_session(uint64_t seed, size_t n_steps)
{
    struct session session = {.random = seed, .events = calloc(MAX_EVENTS, sizeof *session.events)};
    assert_non_null(session.events);
    assert_null(tg_run_model_create(&session.model));
    for (uint32_t process = 0; process < PROCESSES; process++) {
        tell_process(&session, process, 3, true);
        for (uint32_t thread = 0; thread < 3; thread++)
            add_thread(&session, process, thread);
    }
    for (size_t i = 0; i < n_steps; i++)
        do_something(&session);
    return session;
}

static void end_session(struct session *session)
{
    for (size_t i = 0; i < session->n_events; i++)
        if (session->events[i].kind == TG_EVENT_BARRIER_CREATED)
            free((void *)(uintptr_t)session->events[i].barrier_created.members.items);
    free(session->events);
    tg_run_model_destroy(session->model);
}

/* The verdict on SESSION's events without event LEFT_OUT. */
static struct tg_barrier_trace_verdict judge(const struct session *session, size_t left_out)
{
    struct tg_barrier_trace *trace = NULL, *copy = NULL;
    struct tg_barrier_trace_verdict verdict;
    const struct tg_event nothing = {.kind = TG_EVENT_CONTROL_STOPPED};
    assert_null(tg_barrier_trace_create(&trace));
    for (size_t i = 0; i < session->n_events; i++) {
        if (i != left_out)
            assert_null(tg_barrier_trace_feed(trace, &session->events[i]));
        if (i % 97 != 0)
            continue;
        assert_null(tg_barrier_trace_copy(trace, &copy)); /* goes on as the one that it was made of */
        tg_barrier_trace_destroy(trace);
        trace = copy;
    }
    assert_null(tg_barrier_trace_feed(trace, &nothing)); /* whatever is missing at the end is missing */
    tg_barrier_trace_verdict(trace, &verdict);
    tg_barrier_trace_destroy(trace);
    return verdict;
}

static bool is_decision(const struct tg_event *event)
{
    return event->kind == TG_EVENT_BARRIER_SATISFIED || event->kind == TG_EVENT_BARRIER_RELEASED ||
           event->kind == TG_EVENT_BARRIER_LEFT || event->kind == TG_EVENT_BARRIER_STUCK ||
           (event->kind == TG_EVENT_BARRIER_HELD && event->barrier_held.barrier != 0);
}

static void a_trace_leads_to_the_decisions_of_its_session(void **state)
{
    (void)state;
    uint64_t kinds[8] = {0};
    uint32_t late = 0, several = 0;
    for (uint64_t seed = 1; seed <= 40; seed++) {
        struct session session = run_session(seed, 2000);
        struct tg_barrier_trace_verdict verdict = judge(&session, SIZE_MAX);
        uint64_t decisions = 0;
        for (size_t i = 0; i < session.n_events; i++) {
            decisions += is_decision(&session.events[i]);
            if (is_decision(&session.events[i]))
                kinds[session.events[i].kind & 7]++;
        }
        if (verdict.n_differences > 0)
            fail_msg("seed %u: %s", (unsigned)seed, verdict.first);
        assert_int_equal(verdict.n_decisions, decisions);
        assert_int_equal(verdict.n_ignored, 1); /* judge's own */
        assert_string_equal(verdict.first, "");
        late += session.late;
        several += session.several;
        end_session(&session);
    }
    /* the sessions had everything in them */
    assert_true(late > 0 && several > 100);
    assert_true(kinds[TG_EVENT_BARRIER_SATISFIED & 7] > 100);
    assert_true(kinds[TG_EVENT_BARRIER_RELEASED & 7] > 100);
    assert_true(kinds[TG_EVENT_BARRIER_STUCK & 7] > 10);
    assert_true(kinds[TG_EVENT_BARRIER_LEFT & 7] > 10);
    assert_true(kinds[TG_EVENT_BARRIER_HELD & 7] > 100);
}

static void a_decision_that_is_missing_or_made_up_is_seen(void **state)
{
    (void)state;
    struct session session = run_session(7, 600);
    size_t tried = 0;
    for (size_t i = 0; i < session.n_events; i++) {
        if (!is_decision(&session.events[i]))
            continue;
        struct tg_barrier_trace_verdict verdict = judge(&session, i);
        assert_true(verdict.n_differences > 0);
        assert_string_not_equal(verdict.first, "");
        session.events[i].barrier_held.barrier += 100;
        assert_true(judge(&session, SIZE_MAX).n_differences > 0);
        session.events[i].barrier_held.barrier -= 100;
        tried++;
    }
    assert_true(tried > 20);
    end_session(&session);
}

static void nonsense_is_passed_over(void **state)
{
    (void)state;
    static const struct tg_event events[] = {
        {.kind = TG_EVENT_CONTROL_PROCESS, .pid = 1, .control_process = {.dpid = UINT64_MAX}},
        {.kind = TG_EVENT_CONTROL_PROCESS, .pid = 1, .control_process = {.dpid = 0}},
        {.kind = TG_EVENT_CONTROL_THREAD, .pid = 1, .tid = 1, .control_thread = {.dpid = 1, .dtid = 1}},
        {.kind = TG_EVENT_CONTROL_THREAD, .pid = 1, .tid = 1, .control_thread = {.dpid = 1}},
        {.kind = TG_EVENT_CONTROL_UNHOLD, .control_unhold = {.dpid = 3}},
        {.kind = TG_EVENT_BARRIER_HELD, .barrier_held = {.dpid = 1, .dtid = UINT64_MAX}},
        {.kind = TG_EVENT_BARRIER_DELETED, .barrier_deleted = {.barrier = 1}},
        {.kind = TG_EVENT_BARRIER_ENABLED, .barrier_enabled = {.barrier = UINT64_C(1) << 32}},
        {.kind = TG_EVENT_BARRIER_CREATED, .barrier_created = {.barrier = 1, .stop_when_hit = 77}},
        {.kind = TG_EVENT_BARRIER_ARRIVAL, .barrier_arrival = {.barrier = 1, .dpid = 1, .dtid = 1}},
    };
    struct tg_barrier_trace *trace = NULL;
    struct tg_barrier_trace_verdict verdict;
    assert_null(tg_barrier_trace_create(&trace));
    for (size_t i = 0; i < sizeof events / sizeof *events; i++) {
        assert_null(tg_barrier_trace_feed(trace, &events[i]));
        tg_barrier_trace_verdict(trace, &verdict);
        assert_int_equal(verdict.n_ignored, i + 1);
    }
    assert_int_equal(verdict.n_differences, 0);
    tg_barrier_trace_destroy(trace);
}

static void barriers_are_somewhere_until_they_are_deleted(void **state)
{
    (void)state;
    const struct tg_event created = {.kind = TG_EVENT_BARRIER_CREATED,
                                     .barrier_created = {.barrier = 4, .location = "solver.c#12"}};
    const struct tg_event deleted = {.kind = TG_EVENT_BARRIER_DELETED, .barrier_deleted = {4}};
    struct tg_barrier_trace *trace = NULL, *copy = NULL;
    assert_null(tg_barrier_trace_create(&trace));
    assert_string_equal(tg_barrier_trace_location(trace, 4), "");
    assert_null(tg_barrier_trace_feed(trace, &created));
    assert_null(tg_barrier_trace_copy(trace, &copy));
    assert_null(tg_barrier_trace_feed(trace, &deleted));
    assert_string_equal(tg_barrier_trace_location(trace, 4), "");
    assert_string_equal(tg_barrier_trace_location(copy, 4), "solver.c#12");
    assert_null(tg_barrier_trace_feed(trace, &created));
    assert_string_equal(tg_barrier_trace_location(trace, 4), "solver.c#12");
    tg_barrier_trace_destroy(trace);
    tg_barrier_trace_destroy(copy);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_trace_leads_to_the_decisions_of_its_session),
        cmocka_unit_test(a_decision_that_is_missing_or_made_up_is_seen),
        cmocka_unit_test(nonsense_is_passed_over),
        cmocka_unit_test(barriers_are_somewhere_until_they_are_deleted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
