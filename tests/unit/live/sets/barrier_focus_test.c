#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "live/sets/barrier_focus.h"

/* As in the documentation: control group 1, workers 2, share 3. Processes 1 to 3 with three threads each, of
 * which the third is a manager; process 4 runs another program (share 4); process 7 is another job's. */
static int set_up(void **state)
{
    struct tg_job_view *view = NULL;
    assert_null(tg_job_view_create(&view));
    for (uint32_t dpid = 1; dpid <= 7; dpid++) {
        if (dpid == 5 || dpid == 6)
            continue;
        const struct tg_job_process_info info = {.dpid = dpid,
                                                 .rank = -1,
                                                 .control_group = dpid == 7 ? 5 : 1,
                                                 .share_group = dpid == 7   ? 7
                                                                : dpid == 4 ? 4
                                                                            : 3,
                                                 .workers_group = dpid == 7 ? 6 : 2,
                                                 .exists = true};
        assert_null(tg_job_view_add_process(view, &info));
        for (uint32_t dtid = 1; dtid <= 3; dtid++) {
            const struct tg_job_thread thread = {
                .dtid = dtid, .state = TG_JOB_STOPPED, .pc = 0x100 * (dtid % 2), .is_manager = dtid == 3};
            assert_null(tg_job_view_add_thread(view, &thread));
        }
    }
    assert_null(tg_job_view_add_group(view, 9, "first"));
    assert_null(tg_job_view_add_member(view, 1, 0));
    assert_null(tg_job_view_add_member(view, 2, 0));
    assert_null(tg_job_view_add_group(view, 10, "some"));
    assert_null(tg_job_view_add_member(view, 1, 2));
    assert_null(tg_job_view_add_member(view, 3, 1));
    *state = view;
    return 0;
}

static int tear_down(void **state)
{
    tg_job_view_destroy(*state);
    return 0;
}

static struct tg_error *make(const struct tg_job_view *view, const char *text,
                             struct tg_barrier_focus *barrier, size_t *position)
{
    struct tg_ptset *set = NULL, *focus = NULL;
    assert_null(tg_ptset_parse(text, &set, NULL));
    assert_null(tg_ptset_complete(set, NULL, &focus, NULL));
    struct tg_error *error = tg_barrier_focus_make(focus, view, barrier, position);
    tg_ptset_destroy(set);
    tg_ptset_destroy(focus);
    return error;
}

/* "threads, shared, share 3, group 2, process 1, 1.1 2.1, group 2" without what is not there. */
static const char *shown(const struct tg_barrier_focus *barrier)
{
    static char text[512];
    int n = snprintf(text, sizeof text, "%s%s", barrier->of_threads ? "threads" : "processes",
                     barrier->shared ? ", shared" : "");
    size_t used = (size_t)n;
    used += (size_t)snprintf(text + used, sizeof text - used, ", share %u", barrier->share_group);
    if (barrier->group != 0)
        used += (size_t)snprintf(text + used, sizeof text - used, ", group %u", barrier->group);
    if (barrier->process != 0)
        used += (size_t)snprintf(text + used, sizeof text - used, ", process %u", barrier->process);
    for (size_t i = 0; i < barrier->n_list; i++)
        used += (size_t)snprintf(text + used, sizeof text - used, "%s%u.%u", i == 0 ? ", " : " ",
                                 barrier->list[i].dpid, barrier->list[i].dtid);
    snprintf(text + used, sizeof text - used, ": %s", barrier->satisfaction);
    return text;
}

static void the_focus_says_whom_a_barrier_is_over(void **state)
{
    static const struct {
        const char *focus, *expected;
    } cases[] = {
        /* the documentation's first block, where the control group has one program */
        {"d1.<", "processes, shared, share 3, group 1: group 1 in group 3"},
        {"pW", "threads, share 3, group 2, process 1: group 2"}, /* and its second one */
        {"gW", "threads, shared, share 3, group 2: group 2"},
        {"gC", "processes, shared, share 3, group 1: group 1 in group 3"},
        {"gS", "processes, shared, share 3, group 3: group 3"},
        {"gS4", "processes, shared, share 4, group 4: group 4"},
        {"aC", "processes, shared, share 3, group 1: group 1 in group 3"},
        {"aW7", "threads, shared, share 7, group 6: group 6"},
        {"p2", "processes, share 3, group 1, process 2: process 2"},
        {"{p1 p2 p3}", "processes, shared, share 3, 1.0 2.0 3.0: 3:9[p1-3.1-3]"},
        {"p1|p2", "processes, shared, share 3, 1.0 2.0: 2:6[p1-2.1-3]"},
        {"gC-p1", "processes, shared, share 3, 2.0 3.0: 2:6[p2-3.1-3]"},
        {"t1.2", "threads, share 3, process 1, 1.2: 1:1[p1.2]"},
        {"{t1.2 t2.1}", "threads, shared, share 3, 1.2 2.1: 2:2[p1.2, p2.1]"},
        {"{t1.2 t1.1}", "threads, share 3, process 1, 1.1 1.2: 1:2[p1.1-2]"},
        {"{pW1 pW2}", "threads, shared, share 3, 1.1 1.2 2.1 2.2: 2:4[p1-2.1-2]"},
        {"gL1.1", "threads, shared, share 3, 1.1 1.3 2.1 2.3 3.1 3.3: 3:6[p1-3.1,3]"},
        {"pL1.1", "threads, share 3, process 1, 1.1 1.3: 1:2[p1.1,3]"},
        {"g3/", "processes, shared, share 3, group 3: group 3"},
        {"g2/", "threads, shared, share 3, group 2: group 2"},
        {"p2/2", "threads, share 3, group 2, process 2: group 2"},
        {"g/first/", "processes, shared, share 3, 1.0 2.0: 2:6[p1-2.1-3]"},
        {"g/some/", "threads, shared, share 3, 1.2 3.1: 2:2[p1.2, p3.1]"},
        {"stopped(gW)-t1.1", "threads, shared, share 3, 1.2 2.1 2.2 3.1 3.2: 3:5[p1.2, p2-3.1-2]"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct tg_barrier_focus barrier = {0};
        struct tg_error *error = make(*state, cases[i].focus, &barrier, NULL);
        if (error != NULL)
            fail_msg("'%s': %s", cases[i].focus, tg_error_message(error));
        if (strcmp(shown(&barrier), cases[i].expected) != 0)
            fail_msg("'%s' is %s, not %s", cases[i].focus, shown(&barrier), cases[i].expected);
        struct tg_barrier_definition definition =
            tg_barrier_focus_definition(&barrier, 5, TG_BARRIER_STOP_GROUP, TG_BARRIER_STOP_PROCESS);
        assert_int_equal(definition.id, 5);
        assert_int_equal(definition.n_list, barrier.n_list);
        assert_int_equal(definition.stop_when_hit, TG_BARRIER_STOP_GROUP);
        tg_barrier_focus_deinit(&barrier);
    }
}

static void an_inconsistent_focus_is_refused(void **state)
{
    static const struct {
        const char *focus;
        size_t position;
        const char *says;
    } cases[] = {
        {"{p1 pW2}", 4, "begins the threads among processes"},
        {"{t1.1 p2}", 6, "begins the processes among threads"},
        {"gW|p2", 3, "begins the processes among threads"},
        {"{p1 p4}", 4, "share groups 3 and 4"},
        {"{t1.1 t7.1}", 6, "share groups 3 and 7"},
        {"g6/1", 0, "no thread in focus"},
        {"p9", 1, "no process 9"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct tg_barrier_focus barrier = {0};
        size_t position = 0;
        struct tg_error *error = make(*state, cases[i].focus, &barrier, &position);
        if (error == NULL)
            fail_msg("'%s' was taken", cases[i].focus);
        if (position != cases[i].position || strstr(tg_error_message(error), cases[i].says) == NULL)
            fail_msg("'%s': at %zu: %s", cases[i].focus, position, tg_error_message(error));
        tg_error_destroy(error);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(the_focus_says_whom_a_barrier_is_over, set_up, tear_down),
        cmocka_unit_test_setup_teardown(an_inconsistent_focus_is_refused, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
