#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "analyzer/filter/simulation.h"

static void add(struct tg_timeline *timeline, uint64_t run_ns, uint64_t overhead_ns, uint64_t service_ns)
{
    assert_null(tg_timeline_append(timeline, &(struct tg_timeline_request){run_ns, overhead_ns, service_ns}));
}

static struct tg_simulation_result simulate(const struct tg_timeline *timelines, size_t n, uint64_t processes,
                                            uint64_t clients, uint64_t round_trip_ns)
{
    struct tg_simulation_result result = {0};
    assert_null(tg_simulate(timelines, n, &(struct tg_simulation_options){processes, clients, round_trip_ns},
                            &result));
    return result;
}

static void one_process_pays_each_part_once(void **state)
{
    (void)state;
    struct tg_timeline timeline = {.tail_run_ns = 70, .tail_overhead_ns = 5};
    add(&timeline, 100, 10, 20);
    add(&timeline, 200, 0, 30);
    struct tg_simulation_result result = simulate(&timeline, 1, 1, 1, 7);
    assert_int_equal(result.native_ns, 370);
    assert_int_equal(result.completion_ns, 370 + 10 + 20 + 30 + 5 + 2 * 7);
    assert_int_equal(result.requests, 2);
    assert_int_equal(result.max_queue, 0);
    assert_int_equal(result.max_wait_ns, 0);
    assert_true(result.client_busy > 64.0 / 449 - 1e-9 && result.client_busy < 64.0 / 449 + 1e-9);
    tg_timeline_deinit(&timeline);
}

static void simultaneous_requests_queue_at_one_client(void **state)
{
    (void)state;
    struct tg_timeline timeline = {0};
    add(&timeline, 100, 0, 10);
    struct tg_simulation_result result = simulate(&timeline, 1, 4, 1, 0);
    assert_int_equal(result.completion_ns, 140); /* served at 100, 110, 120, 130 */
    assert_int_equal(result.max_queue, 3);
    assert_int_equal(result.max_wait_ns, 30);
    assert_true(result.mean_wait_ns == 15.0);
    tg_timeline_deinit(&timeline);
}

static void clients_work_side_by_side(void **state)
{
    (void)state;
    struct tg_timeline timeline = {0};
    add(&timeline, 100, 0, 10);
    struct tg_simulation_result result = simulate(&timeline, 1, 4, 2, 0);
    assert_int_equal(result.completion_ns, 120);
    assert_int_equal(result.max_queue, 2);
    assert_int_equal(simulate(&timeline, 1, 4, 9, 0).completion_ns, 110);
    tg_timeline_deinit(&timeline);
}

static void a_blocked_process_asks_later(void **state)
{
    (void)state;
    struct tg_timeline timelines[2] = {0};
    add(&timelines[0], 0, 0, 100); /* holds the client until 100 */
    add(&timelines[0], 10, 0, 5);  /* arrives at 110, waits for the other's 50 */
    add(&timelines[1], 50, 0, 50); /* arrives at 50, served from 100 to 150 */
    struct tg_simulation_result result = simulate(timelines, 2, 2, 1, 0);
    assert_int_equal(result.completion_ns, 155);
    assert_int_equal(result.max_wait_ns, 50);
    assert_int_equal(result.max_queue, 1);
    assert_int_equal(result.native_ns, 50);
    tg_timeline_deinit(&timelines[0]);
    tg_timeline_deinit(&timelines[1]);
}

static void timelines_are_replicated_in_turn(void **state)
{
    (void)state;
    struct tg_timeline timelines[2] = {{.tail_run_ns = 1000}, {0}};
    add(&timelines[1], 1, 0, 1);
    assert_int_equal(simulate(timelines, 2, 5, 1, 0).requests, 2);
    assert_int_equal(simulate(timelines, 2, 1, 1, 0).requests, 0);
    assert_int_equal(simulate(timelines, 2, 1, 1, 0).completion_ns, 1000);
    tg_timeline_deinit(&timelines[1]);
}

static void limits_are_errors(void **state)
{
    (void)state;
    struct tg_timeline timeline = {0};
    for (int i = 0; i < 1000; i++)
        add(&timeline, 1, 1, 1);
    const struct tg_simulation_options bad[] = {
        {0, 1, 0}, {1, 0, 0}, {TG_SIMULATION_MAX_PROCESSES + UINT64_C(1), 1, 0}, {1000000, 1, 0}};
    for (size_t i = 0; i < 4; i++) {
        struct tg_simulation_result result = {.requests = 42};
        struct tg_error *error = tg_simulate(&timeline, 1, &bad[i], &result);
        assert_non_null(error);
        assert_int_equal(tg_error_code(error), TG_ERROR_LIMIT);
        assert_int_equal(result.requests, 42); /* untouched on failure */
        tg_error_destroy(error);
    }
    tg_timeline_deinit(&timeline);
}

static void huge_times_saturate(void **state)
{
    (void)state;
    struct tg_timeline timeline = {.tail_run_ns = UINT64_MAX};
    add(&timeline, UINT64_MAX, UINT64_MAX, UINT64_MAX);
    assert_int_equal(simulate(&timeline, 1, 3, 1, UINT64_MAX).completion_ns, UINT64_MAX);
    tg_timeline_deinit(&timeline);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_process_pays_each_part_once),
        cmocka_unit_test(simultaneous_requests_queue_at_one_client),
        cmocka_unit_test(clients_work_side_by_side),
        cmocka_unit_test(a_blocked_process_asks_later),
        cmocka_unit_test(timelines_are_replicated_in_turn),
        cmocka_unit_test(limits_are_errors),
        cmocka_unit_test(huge_times_saturate),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
