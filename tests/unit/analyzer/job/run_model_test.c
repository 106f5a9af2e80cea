#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/job/run_ending.h"

/* Processes 1 to 3 of control group 1, share group 3, workers 2, each with threads 1 and 2, all running. */
static int set_up(void **state)
{
    struct tg_run_model *model = NULL;
    assert_null(tg_run_model_create(&model));
    for (uint32_t dpid = 1; dpid <= 3; dpid++) {
        const struct tg_process_groups process = {dpid, 1, 3, 2};
        assert_null(tg_run_model_add_process(model, &process));
        for (uint32_t dtid = 1; dtid <= 2; dtid++)
            assert_null(tg_run_model_add_thread(model, (struct tg_thread_id){dpid, dtid}, false));
    }
    *state = model;
    return 0;
}

static int tear_down(void **state)
{
    tg_run_model_destroy(*state);
    return 0;
}

static int put_unit(char *to, size_t size, struct tg_thread_id unit)
{
    return unit.dtid == 0 ? snprintf(to, size, " %u", unit.dpid)
                          : snprintf(to, size, " %u.%u", unit.dpid, unit.dtid);
}

/* The last change's decisions: "held 1.2 at 1; ...". */
static const char *decided(const struct tg_run_model *model)
{
    static char text[1024];
    size_t count, used = 0;
    const struct tg_run_decision *decisions = tg_run_model_decisions(model, &count);
    text[0] = '\0';
    for (size_t i = 0; i < count; i++) {
        const struct tg_run_decision *d = &decisions[i];
        char *to = text + used;
        size_t room = sizeof text - used;
        int n = snprintf(to, room, "%s%s", i == 0 ? "" : "; ", tg_run_decision_name(d->kind));
        if (d->thread.dpid != 0)
            n += put_unit(to + n, room - (size_t)n, d->thread);
        if (d->kind == TG_DECIDE_STOP_GROUP)
            n += snprintf(to + n, room - (size_t)n, " %u", d->number);
        if (d->barrier != 0)
            n += snprintf(to + n, room - (size_t)n, " at %u", d->barrier);
        if (d->kind == TG_DECIDE_SATISFIED)
            n += snprintf(to + n, room - (size_t)n, " by %u, %u lost", (unsigned)d->count, d->number);
        if (d->kind == TG_DECIDE_STUCK)
            n += snprintf(to + n, room - (size_t)n, " for %u of %u", d->number, (unsigned)d->count);
        if (d->kind == TG_DECIDE_LEFT || d->kind == TG_DECIDE_RELEASED)
            n += snprintf(to + n, room - (size_t)n, " %s", tg_barrier_reason_name(d->reason));
        if (d->kind == TG_DECIDE_LEFT && d->count == 1)
            n += snprintf(to + n, room - (size_t)n, " arrived");
        used += (size_t)n;
        assert_true(used < sizeof text);
    }
    return text;
}

#define DECIDES(call, expected)                                                                              \
    do {                                                                                                     \
        assert_null(call);                                                                                   \
        assert_string_equal(decided(model), expected);                                                       \
    } while (0)

#define UNIT(p, t)                                                                                           \
    (struct tg_thread_id)                                                                                    \
    {                                                                                                        \
        p, t                                                                                                 \
    }

static void add_barrier(struct tg_run_model *model, struct tg_barrier_definition definition)
{
    if (definition.share_group == 0)
        definition.share_group = 3;
    assert_null(tg_barriers_add(model, &definition));
}

static void process_barrier_holds_processes(void **state)
{
    struct tg_run_model *model = *state;
    add_barrier(model, (struct tg_barrier_definition){.id = 1,
                                                      .stop_when_hit = TG_BARRIER_STOP_NONE,
                                                      .stop_when_done = TG_BARRIER_STOP_NONE});
    DECIDES(tg_barriers_arrive(model, 1, UNIT(1, 2)), "arrived 1.2 at 1; stop_process 1; held 1 at 1");
    assert_true(tg_run_model_holds(model, UNIT(1, 0)));
    assert_false(tg_run_model_holds(model, UNIT(1, 2)));
    assert_true(tg_run_model_is_held(model, UNIT(1, 1)));
    assert_int_equal(tg_run_model_state(model, UNIT(1, 1)), TG_RUN_STOPPING);
    DECIDES(tg_run_model_stopped(model, UNIT(1, 1)), "");
    DECIDES(tg_run_model_go(model, UNIT(1, 0)), ""); /* a held thread does not go */
    DECIDES(tg_run_model_go(model, UNIT(1, 1)), "");
    DECIDES(tg_barriers_arrive(model, 1, UNIT(2, 1)), "arrived 2.1 at 1; stop_process 2; held 2 at 1");
    DECIDES(tg_barriers_arrive(model, 1, UNIT(3, 1)),
            "arrived 3.1 at 1; stop_process 3; satisfied at 1 by 3, 0 lost; released 1 at 1 satisfied; "
            "released 2 at 1 satisfied");
    /* released, not continued */
    assert_int_equal(tg_run_model_state(model, UNIT(1, 2)), TG_RUN_STOPPED);
    DECIDES(tg_run_model_go(model, UNIT(1, 0)), "resume_thread 1.1; resume_thread 1.2");
    DECIDES(tg_barriers_arrive(model, 1, UNIT(1, 2)), "arrived 1.2 at 1; stop_process 1; held 1 at 1");
}

static void who_was_at_the_place_before_the_stop_came_is_late(void **state)
{
    struct tg_run_model *model = *state;
    add_barrier(model, (struct tg_barrier_definition){.id = 1});
    assert_null(tg_barriers_arrive(model, 1, UNIT(1, 1)));
    DECIDES(tg_barriers_arrive(model, 1, UNIT(1, 2)), "arrived 1.2 at 1"); /* once more, in the same round */
    assert_null(tg_barriers_arrive(model, 1, UNIT(2, 1)));
    assert_null(tg_barriers_arrive(model, 1, UNIT(3, 1)));
    DECIDES(tg_barriers_arrive(model, 1, UNIT(2, 2)), "late 2.2 at 1");
    DECIDES(tg_barriers_arrive(model, 1, UNIT(3, 2)), "late 3.2 at 1");
    assert_false(tg_run_model_is_held(model, UNIT(3, 2)));
    DECIDES(tg_run_model_go(model, UNIT(3, 2)), "resume_thread 3.2");
    DECIDES(tg_barriers_arrive(model, 1, UNIT(3, 2)), "arrived 3.2 at 1; held 3 at 1");
}

static void thread_barrier_holds_threads(void **state)
{
    struct tg_run_model *model = *state;
    add_barrier(model, (struct tg_barrier_definition){.id = 4,
                                                      .of_threads = true,
                                                      .group = 2,
                                                      .process = 2,
                                                      .stop_when_hit = TG_BARRIER_STOP_NONE,
                                                      .stop_when_done = TG_BARRIER_STOP_PROCESS});
    DECIDES(tg_barriers_arrive(model, 4, UNIT(2, 1)), "arrived 2.1 at 4; held 2.1 at 4");
    assert_int_equal(tg_run_model_state(model, UNIT(2, 2)), TG_RUN_RUNNING);
    DECIDES(tg_barriers_arrive(model, 4, UNIT(1, 1)), "resume_thread 1.1"); /* no member: goes on */
    DECIDES(tg_barriers_arrive(model, 9, UNIT(1, 1)), "resume_thread 1.1"); /* a barrier deleted meanwhile */
    assert_null(tg_run_model_add_thread(model, UNIT(2, 7), false));
    assert_null(tg_run_model_add_thread(model, UNIT(2, 8), true)); /* a manager */
    DECIDES(tg_barriers_arrive(model, 4, UNIT(2, 2)), "arrived 2.2 at 4; held 2.2 at 4");
    DECIDES(tg_barriers_arrive(model, 4, UNIT(2, 7)),
            "arrived 2.7 at 4; satisfied at 4 by 3, 0 lost; released 2.1 at 4 satisfied; released 2.2 at 4 "
            "satisfied; stop_process 2");
    assert_int_equal(tg_run_model_state(model, UNIT(2, 8)), TG_RUN_STOPPING);
    assert_int_equal(tg_run_model_state(model, UNIT(1, 1)), TG_RUN_RUNNING);
}

static void widths_say_what_else_stops(void **state)
{
    struct tg_run_model *model = *state;
    const struct tg_process_groups other = {7, 9, 11, 10}, program = {8, 1, 4, 2};
    assert_null(tg_run_model_add_process(model, &other));
    assert_null(tg_run_model_add_thread(model, UNIT(7, 1), false));
    assert_null(tg_run_model_add_process(model, &program));
    assert_null(tg_run_model_add_thread(model, UNIT(8, 1), false));
    const struct tg_thread_id two[] = {{2, 1}, {1, 1}};
    add_barrier(model, (struct tg_barrier_definition){.id = 1,
                                                      .of_threads = true,
                                                      .list = two,
                                                      .n_list = 2,
                                                      .stop_when_hit = TG_BARRIER_STOP_PROCESS,
                                                      .stop_when_done = TG_BARRIER_STOP_GROUP});
    DECIDES(tg_barriers_arrive(model, 1, UNIT(1, 1)), "arrived 1.1 at 1; stop_process 1; held 1.1 at 1");
    assert_false(tg_run_model_is_held(model, UNIT(1, 2))); /* stopped, not held */
    DECIDES(tg_run_model_go(model, UNIT(1, 0)), "resume_thread 1.2");
    DECIDES(tg_barriers_arrive(model, 1, UNIT(2, 1)),
            "arrived 2.1 at 1; stop_process 2; satisfied at 1 by 2, 0 lost; released 1.1 at 1 satisfied; "
            "stop_group 1");
    assert_int_equal(tg_run_model_state(model, UNIT(8, 1)), TG_RUN_STOPPING);
    assert_int_equal(tg_run_model_state(model, UNIT(7, 1)), TG_RUN_RUNNING);
    assert_null(tg_barriers_delete(model, 1));
    for (uint32_t dpid = 1; dpid <= 3; dpid++)
        assert_null(tg_run_model_go(model, UNIT(dpid, 0)));
    add_barrier(model, (struct tg_barrier_definition){.id = 1,
                                                      .stop_when_hit = TG_BARRIER_STOP_GROUP,
                                                      .stop_when_done = TG_BARRIER_STOP_GROUP});
    DECIDES(tg_barriers_arrive(model, 1, UNIT(3, 2)), "arrived 3.2 at 1; stop_group 1; held 3 at 1");
}

/* Of a process barrier: its processes are stopped anyway. */
static void process_and_none_are_the_same_when_done(void **state)
{
    static const enum tg_barrier_stop stops[] = {TG_BARRIER_STOP_PROCESS, TG_BARRIER_STOP_NONE};
    static const struct tg_thread_id two[] = {{1, 0}, {2, 0}};
    struct tg_run_model *model = *state;
    for (size_t i = 0; i < sizeof stops / sizeof *stops; i++) {
        add_barrier(
            model,
            (struct tg_barrier_definition){
                .id = 1, .list = two, .n_list = 2, .stop_when_hit = stops[i], .stop_when_done = stops[i]});
        DECIDES(tg_barriers_arrive(model, 1, UNIT(1, 1)), "arrived 1.1 at 1; stop_process 1; held 1 at 1");
        DECIDES(tg_barriers_arrive(model, 1, UNIT(2, 1)),
                "arrived 2.1 at 1; stop_process 2; satisfied at 1 by 2, 0 lost; released 1 at 1 satisfied");
        assert_int_not_equal(tg_run_model_state(model, UNIT(1, 2)), TG_RUN_RUNNING);
        assert_int_not_equal(tg_run_model_state(model, UNIT(2, 2)), TG_RUN_RUNNING);
        assert_null(tg_barriers_delete(model, 1));
        for (uint32_t dpid = 1; dpid <= 2; dpid++)
            assert_null(tg_run_model_go(model, UNIT(dpid, 0)));
    }
}

static void holds_of_thread_and_process_are_two(void **state)
{
    struct tg_run_model *model = *state;
    DECIDES(tg_run_model_hold(model, UNIT(1, 0)), "stop_process 1; held 1");
    DECIDES(tg_run_model_hold(model, UNIT(1, 1)), "held 1.1");
    DECIDES(tg_run_model_hold(model, UNIT(1, 1)), "");
    DECIDES(tg_run_model_unhold(model, UNIT(1, 0)), "released 1 unheld");
    DECIDES(tg_run_model_go(model, UNIT(1, 0)), "resume_thread 1.2");
    DECIDES(tg_run_model_unhold(model, UNIT(1, 1)), "released 1.1 unheld");
    assert_int_not_equal(tg_run_model_state(model, UNIT(1, 1)), TG_RUN_RUNNING);
    DECIDES(tg_run_model_halt(model, UNIT(1, 0)), "stop_process 1");
    DECIDES(tg_run_model_halt(model, UNIT(1, 0)), "");
    /* a thread that begins in a held process is stopped */
    assert_null(tg_run_model_hold(model, UNIT(2, 0)));
    DECIDES(tg_run_model_add_thread(model, UNIT(2, 3), false), "stop_thread 2.3");
}

static void a_person_can_let_go_of_what_a_barrier_holds(void **state)
{
    struct tg_run_model *model = *state;
    add_barrier(model, (struct tg_barrier_definition){.id = 1, .of_threads = true, .process = 1});
    assert_null(tg_run_model_hold(model, UNIT(1, 1)));
    assert_null(tg_barriers_arrive(model, 1, UNIT(1, 1)));
    DECIDES(tg_run_model_unhold(model, UNIT(1, 1)), "released 1.1 unheld; released 1.1 at 1 unheld");
    DECIDES(tg_run_model_go(model, UNIT(1, 1)), "resume_thread 1.1");
    /* arrived all the same */
    DECIDES(tg_barriers_arrive(model, 1, UNIT(1, 2)), "arrived 1.2 at 1; satisfied at 1 by 2, 0 lost");
    /* a barrier does not let go of what a person holds */
    assert_null(tg_run_model_go(model, UNIT(1, 0)));
    assert_null(tg_barriers_arrive(model, 1, UNIT(1, 1)));
    assert_null(tg_run_model_hold(model, UNIT(1, 1)));
    DECIDES(tg_barriers_arrive(model, 1, UNIT(1, 2)),
            "arrived 1.2 at 1; satisfied at 1 by 2, 0 lost; released 1.1 at 1 satisfied");
    assert_true(tg_run_model_is_held(model, UNIT(1, 1)));
}

static void deleting_and_disabling_let_go(void **state)
{
    struct tg_run_model *model = *state;
    add_barrier(model, (struct tg_barrier_definition){.id = 2, .of_threads = true, .group = 2});
    add_barrier(model, (struct tg_barrier_definition){.id = 1});
    assert_null(tg_barriers_arrive(model, 2, UNIT(1, 1)));
    assert_null(tg_barriers_arrive(model, 1, UNIT(1, 2)));
    DECIDES(tg_barriers_enable(model, 2, false), "released 1.1 at 2 disabled");
    DECIDES(tg_barriers_arrive(model, 2, UNIT(2, 2)), "resume_thread 2.2");
    DECIDES(tg_barriers_enable(model, 2, true), "");
    DECIDES(tg_barriers_arrive(model, 2, UNIT(2, 2)), "arrived 2.2 at 2; held 2.2 at 2");
    DECIDES(tg_barriers_delete(model, 1), "released 1 at 1 deleted");
    DECIDES(tg_barriers_delete(model, 2), "released 2.2 at 2 deleted");
    assert_false(tg_run_model_is_held(model, UNIT(1, 1)) || tg_run_model_is_held(model, UNIT(2, 2)));
}

static void who_exits_is_waited_for_no_more(void **state)
{
    struct tg_run_model *model = *state;
    add_barrier(model, (struct tg_barrier_definition){.id = 1});
    DECIDES(tg_run_model_remove_thread(model, UNIT(3, 2), TG_BARRIER_BY_EXIT), "");
    assert_null(tg_barriers_arrive(model, 1, UNIT(1, 1)));
    assert_null(tg_barriers_arrive(model, 1, UNIT(2, 1)));
    DECIDES(tg_run_model_remove_process(model, 2, TG_BARRIER_BY_EXIT), "left 2 at 1 exited arrived");
    DECIDES(tg_run_model_remove_process(model, 3, TG_BARRIER_BY_DETACH),
            "left 3 at 1 detached; satisfied at 1 by 1, 1 lost; released 1 at 1 satisfied");
    DECIDES(tg_run_model_remove_process(model, 1, TG_BARRIER_BY_EXIT), ""); /* nobody waits */
}

static void threads_of_a_process_leave_together(void **state)
{
    struct tg_run_model *model = *state;
    add_barrier(model, (struct tg_barrier_definition){.id = 1, .of_threads = true, .group = 2});
    for (uint32_t dpid = 1; dpid <= 2; dpid++)
        assert_null(tg_run_model_remove_thread(model, UNIT(dpid, 2), TG_BARRIER_BY_EXIT));
    assert_null(tg_barriers_arrive(model, 1, UNIT(1, 1)));
    assert_null(tg_barriers_arrive(model, 1, UNIT(3, 1)));
    assert_null(tg_barriers_arrive(model, 1, UNIT(2, 1)));
    /* 3.2 is the last that is missing, but 3.1 is gone as well when it is */
    DECIDES(
        tg_run_model_remove_process(model, 3, TG_BARRIER_BY_EXIT),
        "left 3.1 at 1 exited arrived; left 3.2 at 1 exited; satisfied at 1 by 2, 1 lost; released 1.1 at 1 "
        "satisfied; released 2.1 at 1 satisfied");
}

static bool ends_with_process(int64_t status, enum tg_thread_ending ending)
{
    return tg_thread_ends_with_process(&(struct tg_event){
        .kind = TG_EVENT_THREAD_EXIT, .thread_exit = {.status = status, .ending = ending}});
}

/* Threads that are about to end as well satisfy nothing. */
static void a_process_that_ends_leaves_at_once(void **state)
{
    struct tg_run_model *model = *state;
    struct tg_barrier_status status;
    add_barrier(model, (struct tg_barrier_definition){.id = 1,
                                                      .of_threads = true,
                                                      .group = 2,
                                                      .process = 1,
                                                      .stop_when_hit = TG_BARRIER_STOP_NONE,
                                                      .stop_when_done = TG_BARRIER_STOP_GROUP});
    assert_null(tg_barriers_arrive(model, 1, UNIT(1, 2)));
    assert_true(ends_with_process(9, TG_THREAD_ENDING_UNKNOWN) &&
                ends_with_process(0x400, TG_THREAD_ENDING_UNKNOWN));
    assert_false(ends_with_process(0, TG_THREAD_ENDING_UNKNOWN) ||
                 ends_with_process(-1, TG_THREAD_ENDING_UNKNOWN));
    assert_true(ends_with_process(0, TG_THREAD_ENDING_WITH_PROCESS)); /* exit(0) while others wait */
    assert_false(ends_with_process(0x400, TG_THREAD_ENDING_ALONE));
    DECIDES(tg_run_model_set_ending(model, 1, true), "left 1.1 at 1 exited; left 1.2 at 1 exited arrived");
    DECIDES(tg_run_model_set_ending(model, 1, true), "");
    DECIDES(tg_run_model_remove_thread(model, UNIT(1, 2), TG_BARRIER_BY_EXIT), "");
    /* it was an exec: the thread that is left is waited for again, and nobody was lost to what it meets now */
    DECIDES(tg_run_model_set_ending(model, 1, false), "");
    assert_true(tg_barriers_status(model, 1, &status));
    assert_true(status.n_members == 1 && status.n_arrived == 0 && status.round == 0);
    DECIDES(tg_barriers_arrive(model, 1, UNIT(1, 1)),
            "arrived 1.1 at 1; satisfied at 1 by 1, 0 lost; stop_group 1");

    add_barrier(model, (struct tg_barrier_definition){.id = 2});
    assert_null(tg_barriers_arrive(model, 2, UNIT(2, 1)));
    assert_null(tg_barriers_arrive(model, 2, UNIT(3, 1)));
    DECIDES(tg_run_model_set_ending(model, 1, true), "left 1 at 2 exited; satisfied at 2 by 2, 1 lost; "
                                                     "released 2 at 2 satisfied; released 3 at 2 satisfied");
}

static void another_program_is_another_share_group(void **state)
{
    struct tg_run_model *model = *state;
    add_barrier(model, (struct tg_barrier_definition){.id = 1});
    assert_null(tg_barriers_arrive(model, 1, UNIT(1, 1)));
    const struct tg_process_groups other = {2, 1, 4, 2}, back = {2, 1, 3, 2};
    DECIDES(tg_run_model_change_process(model, &other), "left 2 at 1 exec");
    DECIDES(tg_run_model_change_process(model, &back), "");
    DECIDES(tg_barriers_arrive(model, 1, UNIT(3, 1)), "arrived 3.1 at 1; stop_process 3; held 3 at 1");
    assert_null(tg_run_model_change_process(model, &other));
    assert_string_equal(decided(model),
                        "left 2 at 1 exec; satisfied at 1 by 2, 2 lost; released 1 at 1 satisfied; "
                        "released 3 at 1 satisfied");
    /* one who joins is waited for */
    const struct tg_process_groups fourth = {4, 1, 3, 2};
    assert_null(tg_run_model_add_process(model, &fourth));
    struct tg_barrier_status status;
    assert_true(tg_barriers_status(model, 1, &status));
    assert_int_equal(status.n_members, 3);
    assert_int_equal(status.round, 1);
}

static void two_barriers_that_wait_for_each_other_are_stuck(void **state)
{
    struct tg_run_model *model = *state;
    const struct tg_thread_id two[] = {{1, 1}, {2, 1}};
    add_barrier(model, (struct tg_barrier_definition){.id = 1, .of_threads = true, .list = two, .n_list = 2});
    add_barrier(model, (struct tg_barrier_definition){.id = 2, .of_threads = true, .list = two, .n_list = 2});
    add_barrier(model, (struct tg_barrier_definition){.id = 3, .of_threads = true, .group = 2});
    assert_null(tg_barriers_arrive(model, 1, UNIT(1, 1)));
    DECIDES(tg_barriers_arrive(model, 3, UNIT(3, 1)),
            "arrived 3.1 at 3; held 3.1 at 3"); /* can be satisfied */
    DECIDES(tg_barriers_arrive(model, 2, UNIT(2, 1)),
            "arrived 2.1 at 2; held 2.1 at 2; stuck 2.1 at 1 for 2 of 1; stuck 1.1 at 2 for 1 of 1; "
            "stuck 1.1 at 3 for 1 of 2");
    DECIDES(tg_barriers_delete(model, 1), "released 1.1 at 1 deleted");
    struct tg_barrier_status status;
    assert_true(tg_barriers_status(model, 2, &status));
    assert_false(status.stuck);
    assert_null(tg_run_model_go(model, UNIT(1, 1)));
    DECIDES(tg_barriers_arrive(model, 2, UNIT(1, 1)),
            "arrived 1.1 at 2; satisfied at 2 by 2, 0 lost; released 2.1 at 2 satisfied");
}

static void two_barriers_at_one_place_hold_twice(void **state)
{
    struct tg_run_model *model = *state;
    add_barrier(model, (struct tg_barrier_definition){.id = 1, .of_threads = true, .process = 1});
    add_barrier(model, (struct tg_barrier_definition){.id = 2, .of_threads = true, .process = 1});
    assert_null(tg_barriers_arrive(model, 1, UNIT(1, 1)));
    assert_null(tg_barriers_arrive(model, 2, UNIT(1, 1)));
    assert_null(tg_barriers_delete(model, 1));
    assert_true(tg_run_model_is_held(model, UNIT(1, 1)));
    assert_null(tg_barriers_delete(model, 2));
    assert_false(tg_run_model_is_held(model, UNIT(1, 1)));
}

/* Threads of a process that were at the place before its stop came are late for both. */
static void one_stop_at_two_barriers(void **state)
{
    struct tg_run_model *model = *state;
    add_barrier(model, (struct tg_barrier_definition){.id = 1});
    add_barrier(model, (struct tg_barrier_definition){.id = 2});
    for (uint32_t dpid = 1; dpid <= 3; dpid++) {
        assert_null(tg_barriers_arrive_on(model, 1, UNIT(dpid, 1)));
        assert_int_equal(tg_run_model_state(model, UNIT(dpid, 1)), TG_RUN_STOPPING);
        assert_null(tg_barriers_arrive(model, 2, UNIT(dpid, 1)));
        assert_int_equal(tg_run_model_state(model, UNIT(dpid, 1)), TG_RUN_STOPPED);
    }
    DECIDES(tg_barriers_arrive_on(model, 1, UNIT(2, 2)), "late 2.2 at 1");
    DECIDES(tg_barriers_arrive(model, 2, UNIT(2, 2)), "late 2.2 at 2");
    assert_false(tg_run_model_is_held(model, UNIT(2, 2)));
}

/* A barrier that was made where somebody waits already: who comes satisfies the old one, and no dead end is
 * told of between its two arrivals. */
static void no_dead_end_between_two_arrivals(void **state)
{
    struct tg_run_model *model = *state;
    const struct tg_thread_id two[] = {{1, 1}, {2, 1}};
    struct tg_barrier_definition definition = {.id = 2, .of_threads = true, .list = two, .n_list = 2};
    add_barrier(model, definition);
    assert_null(tg_barriers_arrive(model, 2, UNIT(1, 1)));
    definition.id = 1;
    add_barrier(model, definition);
    DECIDES(tg_barriers_arrive_on(model, 1, UNIT(2, 1)), "arrived 2.1 at 1; held 2.1 at 1");
    DECIDES(tg_barriers_arrive(model, 2, UNIT(2, 1)),
            "arrived 2.1 at 2; satisfied at 2 by 2, 0 lost; released 1.1 at 2 satisfied");
}

static void why_a_barrier_is_stuck(void **state)
{
    struct tg_run_model *model = *state;
    const struct tg_thread_id two[] = {{1, 1}, {2, 1}};
    struct tg_barrier_definition definition = {.id = 1, .of_threads = true, .list = two, .n_list = 2};
    struct tg_run_decision why;
    add_barrier(model, definition);
    definition.id = 2;
    add_barrier(model, definition);
    assert_int_equal(tg_barriers_count(model), 2);
    assert_int_equal(tg_barriers_at(model, 1)->id, 2);
    assert_int_equal(tg_barriers_at(model, 1)->n_list, 2);
    assert_null(tg_barriers_arrive(model, 1, UNIT(1, 1)));
    assert_false(tg_barriers_why_stuck(model, 1, &why));
    assert_null(tg_barriers_arrive(model, 2, UNIT(2, 1)));
    assert_true(tg_barriers_why_stuck(model, 1, &why));
    assert_true(why.thread.dpid == 2 && why.thread.dtid == 1 && why.number == 2 && why.count == 1);
    assert_null(tg_barriers_delete(model, 2));
    assert_false(tg_barriers_why_stuck(model, 1, &why));
    assert_false(tg_barriers_why_stuck(model, 2, &why));
}

static void assert_fails(struct tg_error *error, enum tg_error_code code)
{
    assert_non_null(error);
    assert_int_equal(tg_error_code(error), code);
    tg_error_destroy(error);
}

static void what_there_is_not_is_said(void **state)
{
    struct tg_run_model *model = *state;
    const struct tg_process_groups first = {1, 1, 3, 2}, ninth = {9, 1, 3, 2};
    const struct tg_barrier_definition barrier = {.id = 1, .share_group = 3};
    assert_fails(tg_run_model_add_process(model, &first), TG_ERROR_EXISTS);
    assert_fails(tg_run_model_change_process(model, &ninth), TG_ERROR_NOT_FOUND);
    assert_fails(tg_run_model_remove_process(model, 9, TG_BARRIER_BY_EXIT), TG_ERROR_NOT_FOUND);
    assert_fails(tg_run_model_add_thread(model, UNIT(1, 1), false), TG_ERROR_EXISTS);
    assert_fails(tg_run_model_add_thread(model, UNIT(9, 1), false), TG_ERROR_NOT_FOUND);
    assert_fails(tg_run_model_remove_thread(model, UNIT(1, 9), TG_BARRIER_BY_EXIT), TG_ERROR_NOT_FOUND);
    assert_fails(tg_run_model_stopped(model, UNIT(9, 1)), TG_ERROR_NOT_FOUND);
    assert_fails(tg_run_model_go(model, UNIT(9, 0)), TG_ERROR_NOT_FOUND);
    assert_fails(tg_run_model_hold(model, UNIT(1, 9)), TG_ERROR_NOT_FOUND);
    assert_fails(tg_run_model_unhold(model, UNIT(9, 0)), TG_ERROR_NOT_FOUND);
    assert_fails(tg_barriers_delete(model, 1), TG_ERROR_NOT_FOUND);
    assert_fails(tg_barriers_enable(model, 1, true), TG_ERROR_NOT_FOUND);
    assert_null(tg_barriers_add(model, &barrier));
    assert_fails(tg_barriers_add(model, &barrier), TG_ERROR_EXISTS);
    assert_fails(tg_barriers_arrive(model, 1, UNIT(1, 9)), TG_ERROR_NOT_FOUND);
    assert_false(tg_barriers_membership(model, 1, UNIT(9, 0)).is_member);
    assert_false(tg_barriers_membership(model, 7, UNIT(1, 0)).is_member);
    assert_true(tg_barriers_membership(model, 1, UNIT(1, 0)).is_member);
}

/* Threads and processes come and go by the thousand: their slots are used again, also in a copy. */
static void slots_are_used_again(void **state)
{
    struct tg_run_model *model = *state, *copy = NULL;
    add_barrier(model, (struct tg_barrier_definition){.id = 1, .of_threads = true, .group = 2});
    for (uint32_t round = 0; round < 1000; round++) {
        uint32_t dpid = 100 + round;
        const struct tg_process_groups process = {dpid, 1, 3, 2};
        assert_null(tg_run_model_add_process(model, &process));
        for (uint32_t i = 1; i <= 20; i++)
            assert_null(tg_run_model_add_thread(model, UNIT(dpid, i), false));
        assert_null(tg_barriers_arrive(model, 1, UNIT(dpid, 20)));
        if (round % 100 == 0) {
            assert_null(tg_run_model_copy(model, &copy));
            tg_run_model_destroy(model);
            *state = model = copy;
        }
        for (uint32_t i = 1; i <= 20; i++)
            assert_null(tg_run_model_remove_thread(model, UNIT(dpid, i), TG_BARRIER_BY_EXIT));
        assert_null(tg_run_model_remove_process(model, dpid, TG_BARRIER_BY_EXIT));
    }
    struct tg_barrier_status status;
    assert_true(tg_barriers_status(model, 1, &status));
    assert_int_equal(status.n_members, 6);
    assert_int_equal(status.n_arrived, 0);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(process_barrier_holds_processes),
        TEST(who_was_at_the_place_before_the_stop_came_is_late),
        TEST(thread_barrier_holds_threads),
        TEST(widths_say_what_else_stops),
        TEST(process_and_none_are_the_same_when_done),
        TEST(holds_of_thread_and_process_are_two),
        TEST(a_person_can_let_go_of_what_a_barrier_holds),
        TEST(deleting_and_disabling_let_go),
        TEST(who_exits_is_waited_for_no_more),
        TEST(threads_of_a_process_leave_together),
        TEST(a_process_that_ends_leaves_at_once),
        TEST(another_program_is_another_share_group),
        TEST(two_barriers_that_wait_for_each_other_are_stuck),
        TEST(two_barriers_at_one_place_hold_twice),
        TEST(one_stop_at_two_barriers),
        TEST(no_dead_end_between_two_arrivals),
        TEST(why_a_barrier_is_stuck),
        TEST(what_there_is_not_is_said),
        TEST(slots_are_used_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
