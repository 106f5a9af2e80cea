#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "tests/unit/live/control/fake_engine.h"

static void what_is_unshared_stops_no_child(void **state)
{
    struct fake *fake = *state;
    struct tg_ptset *focus = focus_of("p1");
    uint32_t id = 0, shared = 0;
    assert_null(
        tg_controller_break(fake->controller, focus, "work", NULL, TG_BARRIER_STOP_GROUP, false, &id, NULL));
    tg_ptset_destroy(focus);
    focus = focus_of("g");
    assert_null(tg_controller_break(fake->controller, focus, "work", NULL, TG_BARRIER_STOP_NONE, false,
                                    &shared, NULL));
    tg_ptset_destroy(focus);
    /* a child's memory is a copy of its parent's */
    fake->planted[1][id] = fake->planted[1][shared] = true;
    tg_controller_forked(fake->controller, pid_of(1));
    assert_true(!fake->planted[1][id] && fake->planted[1][shared]);
    assert_true(fake->planted[0][id]);
    /* one that has come to it before that goes on, and nobody counts it */
    hit(fake, 1, 1, id);
    assert_is(fake, "running(a)", "3:6[p1-3.1-2]");
    const struct tg_action_point *point = NULL;
    assert_null(tg_action_points_find(tg_controller_points(fake->controller), id, &point));
    assert_int_equal(point->hits, 0);
    assert_true(tg_controller_is_meant(fake->controller, id, pid_of(0)));
    assert_false(tg_controller_is_meant(fake->controller, id, pid_of(1)));
    assert_true(tg_controller_is_meant(fake->controller, shared, pid_of(1)));
    hit(fake, 0, 1, id);
    assert_int_equal(point->hits, 1);
}

/* ERROR is the fake engine's refusal. */
static void assert_refused(struct tg_error *error)
{
    assert_non_null(error);
    assert_int_equal(tg_error_code(error), TG_ERROR_LIMIT);
    tg_error_destroy(error);
}

static size_t planted_count(const struct fake *fake, uint32_t id)
{
    size_t count = 0;
    for (size_t i = 0; i < PROCESSES; i++)
        count += fake->planted[i][id];
    return count;
}

static void points_that_cannot_be_planted_are_not_made(void **state)
{
    struct fake *fake = *state;
    const struct tg_action_points *points = tg_controller_points(fake->controller);
    struct tg_ptset *focus = focus_of("g");
    uint32_t id = 0;
    fake->refuses = pid_of(1);
    assert_refused(
        tg_controller_break(fake->controller, focus, "work", NULL, TG_BARRIER_STOP_GROUP, false, &id, NULL));
    assert_int_equal(planted_count(fake, id), 0); /* nor left in those that were planted before */
    assert_refused(tg_controller_barrier(fake->controller, focus, "580", TG_BARRIER_STOP_NONE,
                                         TG_BARRIER_STOP_NONE, false, &id, NULL));
    assert_int_equal(planted_count(fake, id), 0);
    assert_int_equal(tg_action_points_count(points), 0);
    assert_int_equal(tg_barriers_count(tg_controller_runs(fake->controller)), 0);
    tg_ptset_destroy(focus);
    fake->refuses = 0;
    barrier(fake, "gW", TG_BARRIER_STOP_NONE, TG_BARRIER_STOP_NONE);
    assert_int_equal(tg_action_points_count(points), 1);
    assert_trace_agrees(fake);
}

static void what_refuses_a_point_is_controlled_all_the_same(void **state)
{
    struct fake *fake = *state;
    struct tg_ptset *focus = focus_of("g");
    uint32_t id = 0;
    assert_null(
        tg_controller_break(fake->controller, focus, "work", NULL, TG_BARRIER_STOP_GROUP, false, &id, NULL));
    tg_ptset_destroy(focus);
    fake->refuses = pid_of(3); /* a new process; and libraries that come into it */
    fake->exists[3] = true;
    fake->threads[3][0] = (struct fake_thread){.exists = true, .runs = true};
    struct tg_event start = {.kind = TG_EVENT_PROCESS_START,
                             .pid = pid_of(3),
                             .tid = pid_of(3),
                             .process_start = {.parent_pid = 100}};
    assert_null(tg_barrier_trace_feed(fake->trace, &start));
    assert_refused(tg_controller_event(fake->controller, &start));
    assert_refused(tg_controller_libraries_changed(fake->controller, pid_of(3)));
    assert_is(fake, "running(a)", "4:7[p1-3.1-2, p4.1]");
    command(fake, tg_controller_halt, "a");
    let_stops_come(fake);
    assert_is(fake, "stopped(a)", "4:7[p1-3.1-2, p4.1]");
    assert_trace_agrees(fake);
}

static void enabling_that_is_refused_can_be_tried_again(void **state)
{
    struct fake *fake = *state;
    uint32_t id = barrier(fake, "gW", TG_BARRIER_STOP_NONE, TG_BARRIER_STOP_NONE);
    assert_null(tg_controller_enable(fake->controller, id, false));
    assert_int_equal(planted_count(fake, id), 0);
    fake->refuses = pid_of(2);
    assert_refused(tg_controller_enable(fake->controller, id, true));
    assert_null(tg_controller_enable(fake->controller, id, false));
    assert_int_equal(planted_count(fake, id), 0);
    assert_null(tg_controller_suppress(fake->controller, true));
    fake->refuses = 0;
    assert_null(tg_controller_enable(fake->controller, id, true));
    fake->refuses = pid_of(2);
    assert_refused(tg_controller_suppress(fake->controller, false));
    fake->refuses = 0;
    assert_null(tg_controller_suppress(fake->controller, true));
    assert_null(tg_controller_suppress(fake->controller, false));
    assert_int_equal(planted_count(fake, id), 3);
    assert_trace_agrees(fake);
}

static void a_view_is_made_anew_only_after_changes(void **state)
{
    struct fake *fake = *state;
    const struct tg_job_view *view = latest_view(fake);
    uint64_t version = tg_controller_version(fake->controller);
    for (unsigned round = 0; round < 1000; round++) /* of a wait */
        assert_ptr_equal(latest_view(fake), view);
    assert_int_equal(tg_controller_version(fake->controller), version);
    command(fake, tg_controller_halt, "p1");
    let_stops_come(fake);
    assert_true(tg_controller_version(fake->controller) > version);
    assert_is(fake, "stopped(a)", "1:2[p1.1-2]");
    uint32_t number;
    struct tg_job_group group;
    view = latest_view(fake);
    assert_false(tg_job_view_named_group(view, "mine", &group));
    assert_null(tg_job_model_add_group(tg_controller_change_job(fake->controller), "mine", &number));
    assert_true(tg_job_view_named_group(latest_view(fake), "mine", &group));
}

static void suppressed_points_stop_nobody(void **state)
{
    struct fake *fake = *state;
    uint32_t id = barrier(fake, "pW", TG_BARRIER_STOP_NONE, TG_BARRIER_STOP_NONE);
    hit(fake, 0, 1, id);
    assert_is(fake, "held(p1)", "1:1[p1.2]");
    assert_null(tg_controller_suppress(fake->controller, true));
    assert_is(fake, "held(p1)", "0:0[]");
    assert_false(fake->planted[0][id]);
    uint32_t later = barrier(fake, "pW", TG_BARRIER_STOP_NONE, TG_BARRIER_STOP_NONE);
    assert_false(fake->planted[0][later]);
    assert_null(tg_controller_enable(fake->controller, id, false));
    assert_null(tg_controller_suppress(fake->controller, false));
    assert_true(!fake->planted[0][id] && fake->planted[0][later]);
    hit(fake, 0, 0, later);
    assert_is(fake, "held(p1)", "1:1[p1.1]");
    assert_trace_agrees(fake);
}

static void libraries_threads_are_no_workers(void **state)
{
    struct fake *fake = *state;
    begin_library_thread(fake, 0, 2, true);
    begin_library_thread(fake, 0, 3, false);
    uint32_t id = barrier(fake, "pW", TG_BARRIER_STOP_NONE, TG_BARRIER_STOP_NONE);
    struct tg_barrier_status status;
    assert_true(tg_barriers_status(tg_controller_runs(fake->controller), id, &status));
    assert_int_equal(status.n_members, 3); /* of one it is not known */
    hit(fake, 0, 0, id);
    hit(fake, 0, 1, id);
    assert_is(fake, "held(p1)", "1:2[p1.1-2]");
    fake->threads[0][3].runs = false;
    assert_null(tg_controller_stopped(fake->controller, pid_of(0), tid_of(0, 3), TG_JOB_STOPPED, 0x100));
    assert_is(fake, "held(p1)", "0:0[]"); /* nobody else is to come */
    assert_is(fake, "pW", "1:2[p1.1-2]");
    assert_trace_agrees(fake);
}

static void the_documentations_barriers(void **state)
{
    struct fake *fake = *state;
    barrier(fake, "pW", TG_BARRIER_STOP_NONE, TG_BARRIER_STOP_PROCESS);
    barrier(fake, "d1.<", TG_BARRIER_STOP_NONE, TG_BARRIER_STOP_NONE);
    assert_shown(fake, 2,
                 "1 shared action point for group 3:\n2 addr=0x120005598 [../regress/fork_loop.cxx#580]\n"
                 "Enabled (barrier)\nShare in group: true\nStop when hit: process\nStop when done: process\n"
                 "process barrier; satisfaction set = group 1\n");
    assert_shown(fake, 1,
                 "1 unshared action point for process 1:\n1 addr=0x120005598 [../regress/fork_loop.cxx#580]\n"
                 "Enabled (barrier)\nShare in group: false\nStop when hit: thread\nStop when done: process\n"
                 "thread barrier; satisfaction set = group 2\n");
    assert_true(fake->planted[0][1] && !fake->planted[1][1]);
    assert_true(fake->planted[0][2] && fake->planted[1][2] && fake->planted[2][2]);
    begin_process(fake, 3); /* later processes are in the group, too */
    assert_true(fake->planted[3][2] && !fake->planted[3][1]);
}

/* dbarrier 123: each process in the control group stops when it arrives; then all are released. */
static void a_process_barrier_over_the_control_group(void **state)
{
    struct fake *fake = *state;
    uint32_t id = barrier(fake, "d1.<", TG_BARRIER_STOP_PROCESS, TG_BARRIER_STOP_NONE);
    hit(fake, 0, 1, id);
    let_stops_come(fake);
    assert_is(fake, "held(a)", "1:2[p1.1-2]");
    assert_is(fake, "breakpoint(a)", "1:1[p1.2]");
    assert_is(fake, "running(a)", "2:4[p2-3.1-2]");
    command(fake, go, "a"); /* a held thread does not go */
    assert_is(fake, "stopped(a)", "1:2[p1.1-2]");
    hit(fake, 1, 0, id);
    hit(fake, 2, 0, id);
    let_stops_come(fake);
    assert_string_equal(fake->told, "barrier 1 is satisfied: all 3 arrived\n");
    assert_is(fake, "held(a)", "0:0[]");
    assert_is(fake, "stopped(a)", "3:6[p1-3.1-2]"); /* released, not continued */
    command(fake, go, "a");
    assert_is(fake, "running(a)", "3:6[p1-3.1-2]");
    assert_trace_agrees(fake);
}

/* dfocus {p1 p2} dbarrier: the third process does not stop there. */
static void a_barrier_over_a_list(void **state)
{
    struct fake *fake = *state;
    uint32_t id = barrier(fake, "{p1 p2}", TG_BARRIER_STOP_NONE, TG_BARRIER_STOP_NONE);
    hit(fake, 2, 0, id);
    assert_true(fake->threads[2][0].runs);
    hit(fake, 0, 0, id);
    hit(fake, 1, 0, id);
    let_stops_come(fake);
    assert_is(fake, "stopped(a)", "2:4[p1-2.1-2]");
    assert_trace_agrees(fake);
}

/* dfocus gW dbarrier 642 -stop_when_hit none: who is not at the line goes on. */
static void a_thread_barrier_that_stops_nobody_else(void **state)
{
    struct fake *fake = *state;
    uint32_t id = barrier(fake, "gW", TG_BARRIER_STOP_NONE, TG_BARRIER_STOP_GROUP);
    hit(fake, 0, 0, id);
    hit(fake, 2, 1, id);
    assert_is(fake, "running(a)", "3:4[p1.2, p2.1-2, p3.1]");
    begin_thread(fake, 1, 2); /* one more to wait for */
    hit(fake, 0, 1, id);
    hit(fake, 1, 0, id);
    hit(fake, 1, 1, id);
    hit(fake, 2, 0, id);
    assert_is(fake, "held(a)", "3:6[p1-3.1-2]");
    happen(fake, (struct tg_event){.kind = TG_EVENT_THREAD_EXIT, .pid = pid_of(1), .tid = tid_of(1, 2)});
    fake->threads[1][2].exists = false;
    assert_string_equal(fake->told, "thread 2.3 will not arrive at barrier 1 (exited)\n"
                                    "barrier 1 is satisfied by the remaining 6; 1 never arrived\n");
    assert_is(fake, "held(a)", "0:0[]");
    assert_trace_agrees(fake);
}

static void deleting_lets_go(void **state)
{
    struct fake *fake = *state;
    uint32_t id = barrier(fake, "gW", TG_BARRIER_STOP_NONE, TG_BARRIER_STOP_NONE);
    hit(fake, 0, 0, id);
    assert_is(fake, "held(a)", "1:1[p1.1]");
    assert_null(tg_controller_enable(fake->controller, id, false));
    assert_is(fake, "held(a)", "0:0[]");
    assert_false(fake->planted[0][id]);
    assert_null(tg_controller_enable(fake->controller, id, true));
    assert_true(fake->planted[0][id]);
    command(fake, go, "a");
    hit(fake, 0, 0, id);
    assert_null(tg_controller_delete(fake->controller, id));
    assert_is(fake, "held(a)", "0:0[]");
    assert_is(fake, "stopped(a)", "1:1[p1.1]");
    assert_false(fake->planted[0][id]);
    struct tg_error *error = tg_controller_delete(fake->controller, id);
    assert_non_null(error);
    tg_error_destroy(error);
    command(fake, go, "a");
    hit(fake, 0, 0, id); /* one that was on its way */
    assert_true(fake->threads[0][0].runs);
    assert_trace_agrees(fake);
}

static void breakpoints_stop_by_their_width(void **state)
{
    struct fake *fake = *state;
    struct tg_ptset *focus = focus_of("d1.<"), *second = focus_of("p2");
    uint32_t group = 0, process = 0, thread = 0;
    assert_null(
        tg_controller_break(fake->controller, focus, "580", "", TG_BARRIER_STOP_GROUP, false, &group, NULL));
    assert_null(tg_controller_break(fake->controller, focus, "580", "", TG_BARRIER_STOP_PROCESS, false,
                                    &process, NULL));
    assert_null(
        tg_controller_break(fake->controller, second, "580", "", TG_BARRIER_STOP_NONE, false, &thread, NULL));
    assert_true(fake->planted[1][thread] && !fake->planted[0][thread]);
    hit(fake, 1, 1, thread);
    let_stops_come(fake);
    assert_is(fake, "stopped(a)", "1:1[p2.2]");
    hit(fake, 0, 0, process);
    let_stops_come(fake);
    assert_is(fake, "stopped(a)", "2:3[p1.1-2, p2.2]");
    hit(fake, 2, 0, group);
    let_stops_come(fake);
    assert_is(fake, "stopped(a)", "3:6[p1-3.1-2]");
    assert_is(fake, "held(a)", "0:0[]");
    assert_int_equal(tg_action_points_at(tg_controller_points(fake->controller), 0)->hits, 1);
    tg_ptset_destroy(focus);
    tg_ptset_destroy(second);
    assert_trace_agrees(fake);
}

static void what_is_not_there_yet_is_pending(void **state)
{
    struct fake *fake = *state;
    struct tg_ptset *focus = focus_of("d1.<");
    uint32_t id = 0, own = 0;
    struct tg_error *error =
        tg_controller_break(fake->controller, focus, "lib.c#1", "", TG_BARRIER_STOP_GROUP, false, &id, NULL);
    assert_non_null(error);
    assert_int_equal(tg_error_code(error), TG_ERROR_NOT_FOUND);
    tg_error_destroy(error);
    error = tg_controller_barrier(fake->controller, focus, "bad", TG_BARRIER_STOP_GROUP, TG_BARRIER_STOP_NONE,
                                  true, &id, NULL);
    assert_non_null(error);
    assert_int_equal(tg_error_code(error), TG_ERROR_INPUT);
    tg_error_destroy(error);
    assert_int_equal(tg_action_points_count(tg_controller_points(fake->controller)), 0);
    error =
        tg_controller_break(fake->controller, focus, "lib.c:99", "", TG_BARRIER_STOP_GROUP, false, &id, NULL);
    assert_string_equal(tg_error_message(error),
                        "'lib.c' has no code at or after line 99: its last line with code is 3");
    tg_error_destroy(error);
    error =
        tg_controller_break(fake->controller, focus, "lib:99", "", TG_BARRIER_STOP_GROUP, false, &id, NULL);
    assert_string_equal(tg_error_message(error), "'lib#99' not found in any process; use -pending to "
                                                 "plant it once it is loaded");
    tg_error_destroy(error);
    assert_null(tg_controller_barrier(fake->controller, focus, "lib.c#1", TG_BARRIER_STOP_GROUP,
                                      TG_BARRIER_STOP_NONE, true, &id, NULL));
    assert_int_equal(id, 1); /* refused ones have used up none */
    assert_true(tg_action_points_at(tg_controller_points(fake->controller), 0)->pending);
    /* a place inside of the tool is no news to people */
    assert_null(tg_controller_break(fake->controller, focus, "tollgate_heap_error", "", TG_BARRIER_STOP_GROUP,
                                    true, &own, NULL));
    fake->library = true;
    assert_null(tg_controller_libraries_changed(fake->controller, pid_of(1)));
    assert_true(fake->planted[1][own]);
    assert_non_null(strstr(fake->told, "action point 1 is planted in process 2"));
    assert_null(strstr(fake->told, "action point 2"));
    assert_false(tg_action_points_at(tg_controller_points(fake->controller), 0)->pending);
    assert_true(fake->planted[1][id]);
    tg_ptset_destroy(focus);
}

static void another_program_is_another_group(void **state)
{
    struct fake *fake = *state;
    uint32_t id = barrier(fake, "d1.<", TG_BARRIER_STOP_NONE, TG_BARRIER_STOP_NONE);
    hit(fake, 0, 0, id);
    hit(fake, 1, 0, id);
    let_stops_come(fake);
    fake->threads[2][1].exists = false;
    happen(fake, (struct tg_event){.kind = TG_EVENT_THREAD_EXIT, .pid = pid_of(2), .tid = tid_of(2, 1)});
    memset(fake->planted[2], 0, sizeof fake->planted[2]);
    happen(fake,
           (struct tg_event){
               .kind = TG_EVENT_EXEC, .pid = pid_of(2), .tid = pid_of(2), .exec = {.path = "/bin/true"}});
    happen(fake, (struct tg_event){.kind = TG_EVENT_PROGRAM,
                                   .pid = pid_of(2),
                                   .tid = pid_of(2),
                                   .program = {.path = "/bin/true"}});
    assert_false(fake->planted[2][id]);
    assert_string_equal(fake->told, "process 3 will not arrive at barrier 1 (exec)\n"
                                    "barrier 1 is satisfied by the remaining 2; 1 never arrived\n");
    assert_is(fake, "held(a)", "0:0[]");
    assert_trace_agrees(fake);
}

/* Threads that exec takes away are not waited for, whether or not their ends are told. */
static void exec_takes_threads_away(void **state)
{
    struct fake *fake = *state;
    uint32_t id = barrier(fake, "{t1.1 t2.1 t2.2 t3.1}", TG_BARRIER_STOP_NONE, TG_BARRIER_STOP_NONE);
    begin_thread(fake, 1, 2);
    hit(fake, 0, 0, id);
    hit(fake, 1, 1, id);
    happen(fake,
           (struct tg_event){
               .kind = TG_EVENT_EXEC, .pid = pid_of(1), .tid = pid_of(1), .exec = {.path = "/bin/true"}});
    fake->threads[1][1].exists = fake->threads[1][2].exists = false;
    assert_is(fake, "p2", "1:1[p2.1]");
    hit(fake, 2, 0, id);
    assert_string_equal(fake->told, "thread 2.1 will not arrive at barrier 1 (exec)\n"
                                    "barrier 1 is satisfied by the remaining 2; 1 never arrived\n");
    assert_trace_agrees(fake);
}

static void a_dead_end_is_told(void **state)
{
    struct fake *fake = *state;
    uint32_t one = barrier(fake, "gW", TG_BARRIER_STOP_NONE, TG_BARRIER_STOP_NONE);
    uint32_t two = barrier(fake, "{t1.1 t1.2}", TG_BARRIER_STOP_NONE, TG_BARRIER_STOP_NONE);
    hit(fake, 0, 0, one);
    hit(fake, 0, 1, two);
    assert_non_null(
        strstr(fake->told, "barrier 1 can no longer be satisfied: thread 1.2 is held at barrier 2"));
    assert_non_null(
        strstr(fake->told, "barrier 2 can no longer be satisfied: thread 1.1 is held at barrier 1"));
    assert_trace_agrees(fake);
}

/* ---- anything at all */

static uint32_t draw(struct fake *fake, uint32_t below)
{
    fake->random = fake->random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)(fake->random >> 33) % below;
}

static void command_something(struct fake *fake)
{
    static set_command *const commands[] = {
        go, go, tg_controller_halt, hold_threads, unhold_threads, hold_processes, unhold_processes};
    static const char *const sets[] = {"a", "gW", "p1", "p2.2", "t2.1", "{p1 t3.1}", "held(a)", "a-p3"};
    command(fake, commands[draw(fake, 7)], sets[draw(fake, 8)]);
}

/* There are MAX_POINTS at most. */
static void change_points(struct fake *fake, size_t max_points)
{
    static const char *const sets[] = {"d1.<", "gW", "pW", "p2", "{t1.1 t2.1}"};
    const struct tg_action_points *points = tg_controller_points(fake->controller);
    size_t count = tg_action_points_count(points);
    uint32_t id = count == 0 ? 0 : tg_action_points_at(points, draw(fake, (uint32_t)count))->id;
    struct tg_ptset *focus = focus_of(sets[draw(fake, 5)]);
    uint32_t added = 0;
    if (count + 2 > max_points || (count > 0 && draw(fake, 3) == 0))
        assert_null(tg_controller_delete(fake->controller, id));
    else if (count > 0 && draw(fake, 3) == 0)
        assert_null(tg_controller_enable(fake->controller, id, draw(fake, 2) == 0));
    else if (draw(fake, 3) == 0)
        tg_error_destroy(tg_controller_break(fake->controller, focus, "580", "",
                                             (enum tg_barrier_stop)draw(fake, 3), false, &added, NULL));
    else
        tg_error_destroy(tg_controller_barrier(fake->controller, focus, "580",
                                               (enum tg_barrier_stop)draw(fake, 3),
                                               (enum tg_barrier_stop)draw(fake, 3), false, &added, NULL));
    tg_ptset_destroy(focus);
}

/* A running thread comes to where all that is planted in its process is, or ends, or stops as it was told. */
static void run_thread(struct fake *fake, size_t process, size_t i)
{
    struct fake_thread *thread = &fake->threads[process][i];
    const struct tg_action_points *points = tg_controller_points(fake->controller);
    uint32_t ids[64];
    size_t n = 0;
    if (i > 0 && draw(fake, 20) == 0) {
        *thread = (struct fake_thread){0};
        happen(fake, (struct tg_event){
                         .kind = TG_EVENT_THREAD_EXIT, .pid = pid_of(process), .tid = tid_of(process, i)});
    } else if (thread->told_to_stop && draw(fake, 2) == 0) {
        thread->runs = thread->told_to_stop = false;
        assert_null(tg_controller_stopped(fake->controller, pid_of(process), tid_of(process, i),
                                          TG_JOB_STOPPED, 0x100));
    } else {
        for (size_t at = 0; at < tg_action_points_count(points) && n < 64; at++)
            if (fake->planted[process][tg_action_points_at(points, at)->id] && draw(fake, 2) == 0)
                ids[n++] = tg_action_points_at(points, at)->id;
        if (n == 0)
            return;
        thread->runs = thread->told_to_stop = false;
        assert_null(tg_controller_hit(fake->controller, pid_of(process), tid_of(process, i), 0x580, ids, n));
    }
}

/* The engine and the model say the same of who runs. */
static void check(struct fake *fake)
{
    for (size_t process = 0; process < PROCESSES; process++) {
        for (size_t i = 0; i < THREADS; i++) {
            const struct fake_thread *thread = &fake->threads[process][i];
            struct tg_thread_id unit;
            if (!fake->exists[process] || !thread->exists)
                continue;
            assert_true(tg_job_model_thread_id(tg_controller_job(fake->controller), pid_of(process),
                                               tid_of(process, i), &unit));
            enum tg_run_state run = tg_run_model_state(tg_controller_runs(fake->controller), unit);
            assert_int_equal(run == TG_RUN_STOPPED, !thread->runs);
            if (run == TG_RUN_STOPPING)
                assert_true(thread->told_to_stop);
        }
    }
}

static void run_session(struct fake *fake, size_t max_points, size_t changes, size_t steps)
{
    for (size_t step = 0; step < steps; step++) {
        size_t process = draw(fake, PROCESSES), i = draw(fake, THREADS);
        struct fake_thread *thread = &fake->threads[process][i];
        uint32_t what = draw(fake, 100);
        if (!fake->exists[process]) {
            begin_process(fake, process);
        } else if (what < 2 && process > 0) {
            fake->exists[process] = false;
            happen(fake, (struct tg_event){
                             .kind = TG_EVENT_PROCESS_EXIT, .pid = pid_of(process), .tid = pid_of(process)});
        } else if (what < 4 && tg_action_points_count(tg_controller_points(fake->controller)) < max_points &&
                   step < changes) {
            change_points(fake, max_points);
        } else if (what < 20) {
            command_something(fake);
        } else if (!thread->exists) {
            begin_thread(fake, process, i);
        } else if (thread->runs) {
            run_thread(fake, process, i);
        }
        check(fake);
        fake->told[0] = '\0';
    }
    assert_trace_agrees(fake);
    struct tg_barrier_trace_verdict verdict;
    tg_barrier_trace_verdict(fake->trace, &verdict);
    assert_true(verdict.n_decisions > 100);
}

static void any_session_agrees_with_its_trace(void **state)
{
    run_session(*state, 6, 1500, 4000);
}

/* Many at one place, of every kind, over sets that overlap. */
static void many_barriers_at_once(void **state)
{
    static const char *const sets[] = {"d1.<",    "gW",      "pW1",         "pW2",
                                       "{p1 p2}", "{p2 p3}", "{t1.1 t2.1}", "gW-t1.1"};
    struct fake *fake = *state;
    for (size_t process = 0; process < 3; process++)
        if (!fake->exists[process])
            begin_process(fake, process);
    for (size_t i = 0; i < 32; i++)
        barrier(fake, sets[i % 8], (enum tg_barrier_stop)(i % 3), (enum tg_barrier_stop)(i / 8 % 3));
    run_session(fake, 40, 1000, 3000);
}

/* A thread that is stopped where a barrier is made has arrived; of several of a process one. */
static void who_stands_there_has_arrived(void **state)
{
    struct fake *fake = *state;
    struct tg_ptset *focus = focus_of("g");
    uint32_t id = 0, there = 0;
    assert_null(tg_controller_break(fake->controller, focus, "work", NULL, TG_BARRIER_STOP_NONE, false,
                                    &there, NULL));
    tg_ptset_destroy(focus);
    hit(fake, 0, 0, there);
    hit(fake, 0, 1, there);
    hit(fake, 1, 1, there);
    id = barrier(fake, "gW", TG_BARRIER_STOP_NONE, TG_BARRIER_STOP_NONE);
    assert_is(fake, "held(a)", "2:3[p1.1-2, p2.2]");
    assert_null(tg_controller_delete(fake->controller, id));
    assert_is(fake, "held(a)", "0:0[]");
    id = barrier(fake, "g", TG_BARRIER_STOP_NONE, TG_BARRIER_STOP_NONE);
    let_stops_come(fake);
    assert_is(fake, "held(a)", "2:4[p1-2.1-2]");
    hit(fake, 2, 0, id);
    let_stops_come(fake);
    assert_is(fake, "held(a)", "0:0[]"); /* satisfied once, by the three */
    struct tg_barrier_status status;
    assert_true(tg_barriers_status(tg_controller_runs(fake->controller), id, &status));
    assert_int_equal(status.round, 1);
    assert_int_equal(status.n_arrived, 0);
    assert_trace_agrees(fake);
}

/* A library's threads run where one of the program's does, unless they are held. */
static void managers_run_with_workers(void **state)
{
    struct fake *fake = *state;
    begin_library_thread(fake, 1, 2, true);
    begin_library_thread(fake, 2, 2, true);
    command(fake, tg_controller_halt, "a");
    let_stops_come(fake);
    assert_is(fake, "running(a)", "0:0[]");
    command(fake, hold_threads, "t3.3");
    command(fake, go, "{pW2 pW3}");
    assert_is(fake, "running(a)", "2:5[p2.1-3, p3.1-2]");
    command(fake, tg_controller_halt, "a");
    let_stops_come(fake);
    command(fake, go, "t2.3"); /* and nobody runs for them */
    assert_is(fake, "running(a)", "1:1[p2.3]");
}

static void identify(struct fake *fake, size_t process, int64_t rank)
{
    happen(fake, (struct tg_event){.kind = TG_EVENT_IDENTITY,
                                   .pid = pid_of(process),
                                   .tid = pid_of(process),
                                   .identity = {.host = "", .job = "", .source = "", .rank = rank}});
}

/* Made before there are ranks, and found in them. */
static void points_of_nobody_reach_the_ranks(void **state)
{
    struct fake *fake = *state;
    const unsigned options = TG_POINT_PENDING | TG_POINT_OF_RANKS;
    struct tg_ptset *focus = focus_of("d");
    uint32_t id = 0, over = 0;
    struct tg_barrier_status status;
    assert_null(tg_controller_break(fake->controller, focus, "lib.c#1", NULL, TG_BARRIER_STOP_NONE, options,
                                    &id, NULL));
    assert_null(tg_controller_barrier(fake->controller, focus, "lib.c#2", TG_BARRIER_STOP_NONE,
                                      TG_BARRIER_STOP_NONE, options, &over, NULL));
    tg_ptset_destroy(focus);
    assert_int_equal(tg_barriers_count(tg_controller_runs(fake->controller)), 0);
    assert_null(tg_controller_enable(fake->controller, over, false)); /* there is nothing to it yet */
    assert_null(tg_controller_enable(fake->controller, over, true));
    for (size_t process = 1; process < 3; process++) {
        happen(fake, (struct tg_event){.kind = TG_EVENT_EXEC,
                                       .pid = pid_of(process),
                                       .tid = pid_of(process),
                                       .exec = {.path = "/home/u/solver"}});
        fake->threads[process][1].exists = false;
        identify(fake, process, (int64_t)process - 1);
    }
    fake->library = true;
    fake->refuses = 0;
    assert_null(tg_controller_libraries_changed(fake->controller, pid_of(1)));
    assert_null(tg_controller_libraries_changed(fake->controller, pid_of(2)));
    assert_true(fake->planted[1][id] && fake->planted[2][id]);
    assert_true(fake->planted[1][over] && fake->planted[2][over]);
    assert_true(tg_barriers_status(tg_controller_runs(fake->controller), over, &status));
    assert_int_equal(status.n_members, 2); /* the ranks, and nobody else */
    assert_false(tg_controller_is_meant(fake->controller, over, pid_of(0)));
    hit(fake, 1, 0, over);
    hit(fake, 2, 0, over);
    assert_true(tg_barriers_status(tg_controller_runs(fake->controller), over, &status));
    assert_int_equal(status.round, 1);
    assert_trace_agrees(fake);
}

/* Threads of a process that is killed, or calls exit, end one by one: who of them still waits at a barrier has not met
 * anybody. */
static void a_dying_process_satisfies_nothing(void **state)
{
    struct fake *fake = *state;
    uint32_t id = barrier(fake, "pW", TG_BARRIER_STOP_NONE, TG_BARRIER_STOP_GROUP);
    struct tg_barrier_status status;
    hit(fake, 0, 0, id);
    fake->threads[0][1].exists = false;
    happen(fake, (struct tg_event){.kind = TG_EVENT_THREAD_EXIT,
                                   .pid = pid_of(0),
                                   .tid = tid_of(0, 1),
                                   .thread_exit = {.status = 9}});
    assert_true(tg_barriers_status(tg_controller_runs(fake->controller), id, &status));
    assert_int_equal(status.round, 0);
    assert_null(strstr(fake->told, "satisfied"));
    assert_is(fake, "running(p2|p3)", "2:4[p2-3.1-2]");
    /* the first thread was executing a program, and lives on */
    happen(fake,
           (struct tg_event){
               .kind = TG_EVENT_EXEC, .pid = pid_of(0), .tid = pid_of(0), .exec = {.path = "/bin/team"}});
    happen(fake, (struct tg_event){.kind = TG_EVENT_PROGRAM,
                                   .pid = pid_of(0),
                                   .tid = pid_of(0),
                                   .program = {.path = "/bin/team"}});
    assert_trace_agrees(fake);
}

/* Processes that the session kills at its end satisfy no barrier. */
static void the_end_satisfies_nothing(void **state)
{
    struct fake *fake = *state;
    uint32_t id = barrier(fake, "g", TG_BARRIER_STOP_NONE, TG_BARRIER_STOP_NONE);
    struct tg_barrier_status status;
    hit(fake, 0, 0, id);
    assert_null(tg_controller_end(fake->controller, true));
    for (size_t process = 3; process-- > 1;)
        happen(fake, (struct tg_event){.kind = TG_EVENT_PROCESS_EXIT,
                                       .pid = pid_of(process),
                                       .tid = pid_of(process),
                                       .process_exit = {TG_EXIT_SIGNAL, 9, false}});
    assert_true(tg_barriers_status(tg_controller_runs(fake->controller), id, &status));
    assert_int_equal(status.round, 0);
    assert_null(strstr(fake->told, "satisfied"));
    assert_null(strstr(fake->told, "will not arrive"));
    assert_trace_agrees(fake);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(the_documentations_barriers),
        TEST(libraries_threads_are_no_workers),
        TEST(what_is_unshared_stops_no_child),
        TEST(suppressed_points_stop_nobody),
        TEST(points_that_cannot_be_planted_are_not_made),
        TEST(what_refuses_a_point_is_controlled_all_the_same),
        TEST(enabling_that_is_refused_can_be_tried_again),
        TEST(a_view_is_made_anew_only_after_changes),
        TEST(a_process_barrier_over_the_control_group),
        TEST(a_barrier_over_a_list),
        TEST(a_thread_barrier_that_stops_nobody_else),
        TEST(deleting_lets_go),
        TEST(breakpoints_stop_by_their_width),
        TEST(what_is_not_there_yet_is_pending),
        TEST(another_program_is_another_group),
        TEST(exec_takes_threads_away),
        TEST(a_dead_end_is_told),
        TEST(any_session_agrees_with_its_trace),
        TEST(many_barriers_at_once),
        TEST(who_stands_there_has_arrived),
        TEST(managers_run_with_workers),
        TEST(points_of_nobody_reach_the_ranks),
        TEST(a_dying_process_satisfies_nothing),
        TEST(the_end_satisfies_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
