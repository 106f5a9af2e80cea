#include "analyzer/job/hit.h"

/* clang-format off */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

enum { THREADS = 3 };

/* Processes 1 and 2 of one control group, process 3 of another one; each has three threads, which are stopped with others but
 * thread DTID of process DPID, which is in STATE. */
static struct tg_job_view *make_view(uint32_t dpid, uint32_t dtid, enum tg_job_state state)
{
    struct tg_job_view *view;
    assert_null(tg_job_view_create(&view));
    for (uint32_t p = 1; p <= 3; p++) {
        const struct tg_job_process_info info = {
            .dpid = p, .rank = p - 1, .control_group = p < 3 ? 1 : 2, .exists = true};
        assert_null(tg_job_view_add_process(view, &info));
        for (uint32_t t = 1; t <= THREADS; t++) {
            const struct tg_job_thread thread = {.dtid = t,
                                                 .state = p == dpid && t == dtid ? state : TG_JOB_STOPPED};
            assert_null(tg_job_view_add_thread(view, &thread));
        }
    }
    return view;
}

/* Of a set of thread 1 of process 1: who is in it after all. */
static void check(uint32_t dpid, uint32_t dtid, enum tg_job_state state, size_t process, size_t thread)
{
    struct tg_job_view *view = make_view(dpid, dtid, state);
    TG_AUTO_JOB_SET struct tg_job_set set = {0};
    size_t n_processes, n_threads;
    assert_null(tg_job_set_init(&set, view));
    tg_job_set_add(&set, tg_job_view_at(view, 0), 0);
    assert_int_equal(tg_job_hit_follow(view, &set), process != 0 || thread != 0);
    assert_true(tg_job_set_has(&set, tg_job_view_at(view, process), thread));
    tg_job_set_count(&set, view, &n_processes, &n_threads);
    assert_int_equal(n_threads, 1);
    tg_job_view_destroy(view);
}

static void a_thread_that_hit_is_meant(void **state)
{
    (void)state;
    check(1, 3, TG_JOB_BREAKPOINT, 0, 2);
    check(1, 2, TG_JOB_ERROR, 0, 1);
    check(2, 2, TG_JOB_WATCHPOINT, 1, 1);
}

static void others_are_not(void **state)
{
    (void)state;
    check(1, 1, TG_JOB_BREAKPOINT, 0, 0);
    check(3, 2, TG_JOB_BREAKPOINT, 0, 0); /* another job */
    check(1, 2, TG_JOB_RUNNING, 0, 0);
}

static void several_threads_stay_as_they_are(void **state)
{
    (void)state;
    struct tg_job_view *view = make_view(1, 3, TG_JOB_BREAKPOINT);
    TG_AUTO_JOB_SET struct tg_job_set set = {0};
    assert_null(tg_job_set_init(&set, view));
    assert_false(tg_job_hit_follow(view, &set));
    tg_job_set_add(&set, tg_job_view_at(view, 0), 0);
    tg_job_set_add(&set, tg_job_view_at(view, 0), 1);
    assert_false(tg_job_hit_follow(view, &set));
    assert_false(tg_job_set_has(&set, tg_job_view_at(view, 0), 2));
    tg_job_view_destroy(view);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_thread_that_hit_is_meant),
        cmocka_unit_test(others_are_not),
        cmocka_unit_test(several_threads_stay_as_they_are),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
