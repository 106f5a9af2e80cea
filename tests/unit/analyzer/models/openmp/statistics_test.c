#include "analyzer/models/openmp/statistics.h"

/* clang-format off */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

static struct tg_openmp_statistics *statistics;
static uint64_t now_ns;

enum { MAX_FED = 20000 };
static struct tg_event fed[MAX_FED]; /* the last ones */
static size_t n_fed;

static void feed(int32_t tid, struct tg_event event)
{
    event.tid = tid;
    event.pid = 100;
    event.time_ns = now_ns += 10;
    fed[n_fed++ % MAX_FED] = event;
    assert_null(tg_openmp_statistics_feed(statistics, &event, 0));
}

#include "tests/unit/analyzer/models/openmp/events.h"
#include "tests/unit/analyzer/models/openmp/random.h"

static int set_up(void **state)
{
    (void)state;
    now_ns = 1000;
    n_fed = 0;
    return tg_openmp_statistics_create(&statistics) != NULL;
}

static int tear_down(void **state)
{
    (void)state;
    tg_openmp_statistics_destroy(statistics);
    return 0;
}

static struct tg_openmp_worker_use use_of(int32_t tid)
{
    const struct tg_openmp_worker *worker =
        tg_openmp_model_worker(tg_openmp_statistics_model(statistics), 0, tid);
    assert_non_null(worker);
    return tg_openmp_statistics_worker(statistics, worker->index);
}

static void mutex(int32_t tid, enum tg_event_kind kind)
{
    struct tg_event event = {
        .kind = kind, .omp_mutex_wait = {AT(1, 0), .mutex = TG_OMP_MUTEX_CRITICAL_NAMED, .lock = 0x44}};
    event.omp_mutex_wait.code = 0x500;
    feed(tid, event);
}

static void locks_are_counted_by_contention(void **state)
{
    (void)state;
    begin_region(1, 2);
    mutex(1, TG_EVENT_OMP_MUTEX_WAIT);
    mutex(1, TG_EVENT_OMP_MUTEX_ENTER);
    mutex(2, TG_EVENT_OMP_MUTEX_WAIT); /* finds it taken */
    now_ns += 100;
    mutex(1, TG_EVENT_OMP_MUTEX_LEAVE);
    mutex(2, TG_EVENT_OMP_MUTEX_ENTER);
    mutex(2, TG_EVENT_OMP_MUTEX_LEAVE);
    size_t count;
    const struct tg_openmp_lock_use *locks = tg_openmp_statistics_locks(statistics, &count);
    assert_int_equal(count, 1);
    assert_int_equal(locks[0].lock, 0x44);
    assert_int_equal(locks[0].code, 0x500);
    assert_int_equal(locks[0].entries, 2);
    assert_int_equal(locks[0].contended, 1);
    assert_int_equal(locks[0].wait_ns, 10 + 120);
    assert_int_equal(locks[0].max_wait_ns, 120);
    assert_int_equal(locks[0].hold_ns, 120 + 10);
    assert_int_equal(use_of(2).lock_ns, 120);
}

static void barriers_and_imbalance(void **state)
{
    (void)state;
    begin_region(1, 2); /* bodies begin at 1020 and 1030, the construct at 1010 */
    come(1, 1, 1);
    now_ns += 1000; /* the other one works */
    come(2, 1, 1);
    go_on(1, 1, 1);
    go_on(2, 1, 1);
    FEED(1, OMP_IMPLICIT_END, omp_implicit_end, AT(1, 0));
    FEED(2, OMP_IMPLICIT_END, omp_implicit_end, AT(1, 1));
    feed(1, (struct tg_event){.kind = TG_EVENT_OMP_PARALLEL_END, .omp_parallel_end = {.ended_team = 1}});
    size_t count;
    const struct tg_openmp_region_use *regions = tg_openmp_statistics_regions(statistics, &count);
    assert_int_equal(count, 1);
    assert_int_equal(regions[0].count, 1);
    assert_int_equal(regions[0].threads, 2);
    assert_int_equal(regions[0].total_ns, now_ns - 1010);
    /* first: 20 up to the barrier, 20 behind it; second: 1020 and 20 */
    assert_int_equal(regions[0].max_busy_ns, 1040);
    assert_int_equal(regions[0].busy_ns, (40 + 1040) / 2);
    assert_int_equal(use_of(1).barrier_ns, 1020 + 20); /* the barrier, and the join */
    assert_int_equal(use_of(2).barrier_ns, 20);        /* the last at the join */
    const struct tg_openmp_zone_use *zones = tg_openmp_statistics_zones(statistics, &count);
    assert_true(count > 0);
    uint64_t bodies = 0;
    for (size_t i = 0; i < count; i++)
        bodies += zones[i].kind == TG_OPENMP_IN_REGION ? zones[i].count : 0;
    assert_int_equal(bodies, 2);
}

/* A thread that works on tasks while it is at a barrier does not wait for that long, and the regions inside
 * of a region have waits of their own. */
static void tasks_at_a_barrier_are_no_waiting(void **state)
{
    (void)state;
    begin_region(1, 2);
    come(1, 1, 1);
    FEED(1, OMP_TASK_BEGIN, omp_task_begin, AT(1, 0), .task = 5);
    FEED(1, OMP_SYNC_BEGIN, omp_sync_begin, AT(1, 0), .sync = TG_OMP_SYNC_TASKWAIT);
    FEED(1, OMP_TASK_BEGIN, omp_task_begin, AT(1, 0), .task = 6);
    now_ns += 300;
    FEED(1, OMP_TASK_END, omp_task_end, AT(1, 0), .task = 6);
    FEED(1, OMP_SYNC_END, omp_sync_end, AT(1, 0), .sync = TG_OMP_SYNC_TASKWAIT);
    FEED(1, OMP_TASK_END, omp_task_end, AT(1, 0), .task = 5); /* 350 behind its beginning */
    come(2, 1, 1);
    go_on(1, 1, 1); /* 380 behind its coming */
    go_on(2, 1, 1);
    assert_int_equal(use_of(1).barrier_ns, 30);
    assert_int_equal(use_of(1).tasks, 2);
    assert_int_equal(use_of(2).barrier_ns, 20);
}

/* What a suspended task is inside of goes on with it: each counts once, with the time of all its parts. */
static void a_task_that_goes_on_is_no_new_one(void **state)
{
    (void)state;
    begin_region(1, 1);
    FEED(1, OMP_TASK_CREATE, omp_task_create, .team = 1, .code = 0x700, .task = 5);
    FEED(1, OMP_TASK_BEGIN, omp_task_begin, .team = 1, .task = 5);
    FEED(1, OMP_SYNC_BEGIN, omp_sync_begin, .team = 1, .code = 0x708, .sync = TG_OMP_SYNC_TASKWAIT);
    for (int i = 0; i < 3; i++) {
        FEED(1, OMP_TASK_END, omp_task_end, .team = 1, .task = 5, .how = TG_OMP_TASK_SUSPENDED);
        FEED(1, OMP_TASK_BEGIN, omp_task_begin, .team = 1, .task = 5, .resumed = 1);
    }
    FEED(1, OMP_SYNC_END, omp_sync_end, .team = 1, .sync = TG_OMP_SYNC_TASKWAIT);
    FEED(1, OMP_TASK_END, omp_task_end, .team = 1, .task = 5);
    size_t count;
    const struct tg_openmp_zone_use *zones = tg_openmp_statistics_zones(statistics, &count);
    assert_int_equal(count, 2);
    assert_int_equal(zones[0].kind, TG_OPENMP_IN_TASK);
    assert_int_equal(zones[0].code, 0x700);
    assert_int_equal(zones[0].count, 1);
    assert_int_equal(zones[0].total_ns, 60);
    assert_int_equal(zones[0].max_ns, 60);
    assert_int_equal(zones[1].code, 0x708);
    assert_int_equal(zones[1].count, 1);
    assert_int_equal(zones[1].total_ns, 40);
    assert_int_equal(use_of(1).tasks, 1);
}

static void a_lock_that_one_has_is_not_taken(void **state)
{
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        FEED(1, OMP_MUTEX_WAIT, omp_mutex_wait, AT(0, 0), .mutex = TG_OMP_MUTEX_NEST_LOCK, .lock = 8);
        FEED(1, OMP_MUTEX_ENTER, omp_mutex_enter, AT(0, 0), .mutex = TG_OMP_MUTEX_NEST_LOCK, .lock = 8);
    }
    FEED(2, OMP_MUTEX_WAIT, omp_mutex_wait, AT(0, 0), .mutex = TG_OMP_MUTEX_NEST_LOCK, .lock = 8);
    for (size_t i = 0; i < 2; i++)
        FEED(1, OMP_MUTEX_LEAVE, omp_mutex_leave, AT(0, 0), .mutex = TG_OMP_MUTEX_NEST_LOCK, .lock = 8);
    FEED(2, OMP_MUTEX_ENTER, omp_mutex_enter, AT(0, 0), .mutex = TG_OMP_MUTEX_NEST_LOCK, .lock = 8);
    size_t count;
    const struct tg_openmp_lock_use *locks = tg_openmp_statistics_locks(statistics, &count);
    assert_int_equal(count, 1);
    assert_int_equal(locks[0].entries, 3);
    assert_int_equal(locks[0].contended, 1);
}

/* Both want it while nobody has it: one of them has to wait for the other. */
static void who_comes_second_found_it_taken(void **state)
{
    (void)state;
    begin_region(1, 2);
    mutex(1, TG_EVENT_OMP_MUTEX_WAIT);
    mutex(2, TG_EVENT_OMP_MUTEX_WAIT);
    mutex(1, TG_EVENT_OMP_MUTEX_ENTER);
    mutex(1, TG_EVENT_OMP_MUTEX_LEAVE);
    mutex(2, TG_EVENT_OMP_MUTEX_ENTER);
    size_t count;
    assert_int_equal(tg_openmp_statistics_locks(statistics, &count)->contended, 1);
}

static void runs_of_events_come_to_the_same_as_each_event(void **state)
{
    (void)state;
    static const size_t processes[MAX_FED];
    struct truth truths[LANES][TEAMS + 1] = {0};
    unsigned seed = 7;
    while (n_fed < MAX_FED - 100) {
        random_event(&seed, truths);
        if (n_fed % 500 < 2)
            feed(3, (struct tg_event){.kind = TG_EVENT_THREAD_EXIT});
    }
    struct tg_openmp_statistics *by_runs = NULL;
    assert_null(tg_openmp_statistics_create(&by_runs));
    for (size_t i = 0, n; i < n_fed; i += n) {
        n = i * 13 % 131 < n_fed - i ? i * 13 % 131 + 1 : n_fed - i;
        assert_null(tg_openmp_statistics_feed_run(by_runs, fed + i, processes + i, n));
    }
    size_t n_a, n_b;
    const struct tg_openmp_zone_use *zones_a = tg_openmp_statistics_zones(statistics, &n_a);
    const struct tg_openmp_zone_use *zones_b = tg_openmp_statistics_zones(by_runs, &n_b);
    assert_int_equal(n_a, n_b);
    assert_in_range(n_a, 10, 1000);
    assert_memory_equal(zones_a, zones_b, n_a * sizeof *zones_a);
    const struct tg_openmp_lock_use *locks_a = tg_openmp_statistics_locks(statistics, &n_a);
    const struct tg_openmp_lock_use *locks_b = tg_openmp_statistics_locks(by_runs, &n_b);
    assert_int_equal(n_a, n_b);
    assert_memory_equal(locks_a, locks_b, n_a * sizeof *locks_a);
    const struct tg_openmp_region_use *regions_a = tg_openmp_statistics_regions(statistics, &n_a);
    const struct tg_openmp_region_use *regions_b = tg_openmp_statistics_regions(by_runs, &n_b);
    assert_int_equal(n_a, n_b);
    assert_memory_equal(regions_a, regions_b, n_a * sizeof *regions_a);
    const struct tg_openmp_model *a = tg_openmp_statistics_model(statistics);
    const struct tg_openmp_model *b = tg_openmp_statistics_model(by_runs);
    uint64_t first_a, first_b;
    const char *what_a, *what_b;
    assert_int_equal(tg_openmp_model_impossible(a, &first_a, &what_a),
                     tg_openmp_model_impossible(b, &first_b, &what_b));
    assert_int_equal(first_a, first_b);
    assert_string_equal(what_a, what_b);
    assert_int_equal(tg_openmp_model_worker_count(a), tg_openmp_model_worker_count(b));
    for (size_t i = 0; i < tg_openmp_model_worker_count(a); i++) {
        const struct tg_openmp_worker *x = tg_openmp_model_worker_at(a, i);
        const struct tg_openmp_worker *y = tg_openmp_model_worker_at(b, i);
        assert_int_equal(x->n_places, y->n_places);
        assert_int_equal(x->last_ns, y->last_ns);
        assert_int_equal(x->alive, y->alive);
    }
    tg_openmp_statistics_destroy(by_runs);
}

static void nothing_gives_nothing(void **state)
{
    (void)state;
    size_t count = 1;
    assert_null(tg_openmp_statistics_zones(statistics, &count));
    assert_int_equal(count, 0);
    assert_int_equal(tg_openmp_statistics_worker(statistics, 7).region_ns, 0);
    FEED(1, OMP_PARALLEL_END, omp_parallel_end, AT(0, 0), .ended_team = 4); /* never begun */
    assert_null(tg_openmp_statistics_regions(statistics, &count));
    assert_int_equal(count, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(locks_are_counted_by_contention, set_up, tear_down),
        cmocka_unit_test_setup_teardown(barriers_and_imbalance, set_up, tear_down),
        cmocka_unit_test_setup_teardown(tasks_at_a_barrier_are_no_waiting, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_task_that_goes_on_is_no_new_one, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_lock_that_one_has_is_not_taken, set_up, tear_down),
        cmocka_unit_test_setup_teardown(who_comes_second_found_it_taken, set_up, tear_down),
        cmocka_unit_test_setup_teardown(runs_of_events_come_to_the_same_as_each_event, set_up, tear_down),
        cmocka_unit_test_setup_teardown(nothing_gives_nothing, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
