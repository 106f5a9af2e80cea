#include "analyzer/models/openmp/barrier.h"
#include "analyzer/models/openmp/model.h"

#include <string.h>
/* clang-format off */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

enum { PROCESS = 3, MAX_LEFT = 64 };

/* The model's reports of places that were left. */
struct left {
    struct tg_openmp_place places[MAX_LEFT];
    uint64_t times[MAX_LEFT];
    size_t count;
};

static struct tg_openmp_model *model;
static struct left left;
static uint64_t now_ns;

static struct tg_error *on_left(void *context, const struct tg_openmp_worker *worker,
                                const struct tg_openmp_place *place, uint64_t time_ns)
{
    struct left *to = context;
    (void)worker;
    assert_true(to->count < MAX_LEFT);
    to->places[to->count] = *place;
    to->times[to->count++] = time_ns;
    return NULL;
}

static int set_up(void **state)
{
    (void)state;
    const struct tg_openmp_model_options options = {.left = on_left, .context = &left};
    left = (struct left){0};
    now_ns = 1000;
    return tg_openmp_model_create(&options, &model) != NULL;
}

static int tear_down(void **state)
{
    (void)state;
    tg_openmp_model_destroy(model);
    return 0;
}

static void feed(int32_t tid, struct tg_event event)
{
    event.tid = tid;
    event.pid = 100;
    event.time_ns = now_ns += 10;
    assert_null(tg_openmp_model_feed(model, &event, PROCESS));
}

#include "tests/unit/analyzer/models/openmp/events.h"

static const struct tg_openmp_worker *worker(int32_t tid)
{
    const struct tg_openmp_worker *found = tg_openmp_model_worker(model, PROCESS, tid);
    assert_non_null(found);
    return found;
}

static void assert_possible(void)
{
    uint64_t first_ns;
    const char *first;
    assert_int_equal(tg_openmp_model_impossible(model, &first_ns, &first), 0);
    assert_null(first);
}

static void a_region_begins_and_ends(void **state)
{
    (void)state;
    begin_region(7, 2);
    const struct tg_openmp_team *team = tg_openmp_model_team(model, PROCESS, 7);
    assert_non_null(team);
    assert_int_equal(team->n_members, 2);
    assert_int_equal(team->owner, worker(1)->index);
    assert_int_equal(worker(2)->number, 2);
    assert_int_equal(worker(2)->n_places, 1);
    assert_int_equal(worker(2)->places[0].kind, TG_OPENMP_IN_REGION);
    FEED(1, OMP_IMPLICIT_END, omp_implicit_end, AT(7, 0));
    assert_int_equal(worker(1)->places[0].what, TG_OMP_SYNC_BARRIER_JOIN); /* waits for the other one */
    struct tg_openmp_barrier barrier;
    assert_true(tg_openmp_barrier_of(team, &barrier));
    assert_int_equal(barrier.sync, TG_OMP_SYNC_BARRIER_JOIN);
    assert_int_equal(barrier.waiting, 1);
    assert_int_equal(barrier.missing, 1);
    FEED(2, OMP_IMPLICIT_END, omp_implicit_end, AT(7, 1));
    FEED(1, OMP_PARALLEL_END, omp_parallel_end, AT(0, 0), .ended_team = 7);
    assert_null(tg_openmp_model_team(model, PROCESS, 7));
    assert_int_equal(worker(1)->n_places, 0);
    assert_int_equal(worker(2)->n_places, 0);
    assert_int_equal(left.count, 4); /* two bodies and two waits at the end */
    assert_possible();
}

/* Nobody who has not come to a barrier is ever behind it. */
static void who_is_missing_at_a_barrier(void **state)
{
    (void)state;
    begin_region(1, 4);
    struct tg_openmp_barrier barrier;
    const struct tg_openmp_team *team = tg_openmp_model_team(model, PROCESS, 1);
    assert_false(tg_openmp_barrier_of(team, &barrier));
    come(1, 1, 1);
    uint64_t since_ns = now_ns;
    come(3, 1, 1);
    come(4, 1, 1);
    assert_true(tg_openmp_barrier_of(team, &barrier));
    assert_int_equal(barrier.instance, 1);
    assert_int_equal(barrier.since_ns, since_ns);
    assert_false(barrier.is_open);
    assert_int_equal(barrier.waiting, 3);
    assert_int_equal(barrier.missing, 1);
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(tg_openmp_barrier_standing(&team->members[i], &barrier),
                         i == 1 ? TG_OPENMP_MISSING : TG_OPENMP_WAITING);
    come(2, 1, 1);
    go_on(2, 1, 1);
    assert_true(tg_openmp_barrier_of(team, &barrier));
    assert_true(barrier.is_open);
    assert_int_equal(barrier.passed, 1);
    come(2, 1, 2); /* at the next one, while others are still leaving this one */
    assert_true(tg_openmp_barrier_of(team, &barrier));
    assert_int_equal(barrier.instance, 1);
    assert_int_equal(barrier.passed, 1);
    assert_int_equal(barrier.waiting, 3);
    /* A worker that is to pass one means its own, or the newest: the others are on their way to it. */
    assert_true(tg_openmp_barrier_to_pass(team, worker(2)->index, &barrier));
    assert_int_equal(barrier.instance, 2);
    assert_int_equal(barrier.missing, 3);
    assert_true(tg_openmp_barrier_to_pass(team, worker(1)->index, &barrier));
    assert_int_equal(barrier.instance, 1);
    assert_true(tg_openmp_barrier_to_pass(team, SIZE_MAX, &barrier));
    assert_int_equal(barrier.instance, 2);
    go_on(1, 1, 1);
    go_on(3, 1, 1);
    go_on(4, 1, 1);
    assert_true(tg_openmp_barrier_of(team, &barrier));
    assert_int_equal(barrier.instance, 2);
    assert_int_equal(barrier.waiting, 1);
    assert_int_equal(barrier.missing, 3);
    come(1, 1, 2);
    come(3, 1, 2);
    come(4, 1, 2);
    go_on(2, 1, 2);
    FEED(2, OMP_IMPLICIT_END, omp_implicit_end, AT(1, 1));
    assert_true(tg_openmp_barrier_to_pass(team, worker(2)->index, &barrier));
    assert_int_equal(barrier.sync, TG_OMP_SYNC_BARRIER_JOIN);
    assert_int_equal(barrier.waiting, 1);
    assert_true(tg_openmp_barrier_to_pass(team, worker(1)->index, &barrier));
    assert_int_equal(barrier.instance, 2);
    assert_possible();
}

static void a_member_that_never_began_is_missing(void **state)
{
    (void)state;
    FEED(1, OMP_PARALLEL_BEGIN, omp_parallel_begin, AT(0, 0), .new_team = 1);
    FEED(1, OMP_IMPLICIT_BEGIN, omp_implicit_begin, AT(1, 0), .level = 1, .team_size = 3);
    come(1, 1, 1);
    struct tg_openmp_barrier barrier;
    assert_true(tg_openmp_barrier_of(tg_openmp_model_team(model, PROCESS, 1), &barrier));
    assert_int_equal(barrier.missing, 2);
}

static void zones_nest(void **state)
{
    (void)state;
    begin_region(1, 1);
    FEED(1, OMP_ZONE_BEGIN, omp_zone_begin, AT(1, 0), .zone = TG_OMP_ZONE_SECTIONS, .count = 2);
    FEED(1, OMP_SECTION, omp_section, AT(1, 0), .section = 2);
    FEED(1, OMP_MUTEX_WAIT, omp_mutex_wait, AT(1, 0), .mutex = TG_OMP_MUTEX_CRITICAL);
    assert_int_equal(worker(1)->n_places, 3);
    assert_int_equal(worker(1)->places[1].section, 2);
    assert_int_equal(worker(1)->places[2].kind, TG_OPENMP_IN_MUTEX_WAIT);
    FEED(1, OMP_MUTEX_ENTER, omp_mutex_enter, AT(1, 0), .mutex = TG_OMP_MUTEX_CRITICAL);
    assert_int_equal(worker(1)->n_places, 3);
    assert_int_equal(worker(1)->places[2].kind, TG_OPENMP_IN_MUTEX);
    FEED(1, OMP_MUTEX_LEAVE, omp_mutex_leave, AT(1, 0), .mutex = TG_OMP_MUTEX_CRITICAL);
    FEED(1, OMP_ZONE_END, omp_zone_end, AT(1, 0), .zone = TG_OMP_ZONE_SECTIONS);
    assert_int_equal(worker(1)->n_places, 1);
    assert_int_equal(left.count, 3);
    assert_int_equal(left.times[2], now_ns);
    assert_possible();
}

static void locks_may_cross(void **state)
{
    (void)state;
    static const uint64_t locks[] = {0xa0, 0xb0};
    for (size_t i = 0; i < 2; i++)
        FEED(1, OMP_MUTEX_ENTER, omp_mutex_enter, AT(0, 0), .mutex = TG_OMP_MUTEX_LOCK, .lock = locks[i]);
    for (size_t i = 0; i < 2; i++)
        FEED(1, OMP_MUTEX_LEAVE, omp_mutex_leave, AT(0, 0), .mutex = TG_OMP_MUTEX_LOCK, .lock = locks[i]);
    assert_int_equal(worker(1)->n_places, 0);
    assert_int_equal(left.places[0].id, 0xa0);
    assert_possible();
}

static void regions_nest(void **state)
{
    (void)state;
    begin_region(1, 2);
    FEED(2, OMP_PARALLEL_BEGIN, omp_parallel_begin, AT(1, 1), .level = 1, .new_team = 2);
    FEED(2, OMP_IMPLICIT_BEGIN, omp_implicit_begin, AT(2, 0), .level = 2, .parent_team = 1, .team_size = 2);
    FEED(9, OMP_IMPLICIT_BEGIN, omp_implicit_begin, AT(2, 1), .level = 2, .parent_team = 1, .team_size = 2);
    const struct tg_openmp_team *inner = tg_openmp_model_team(model, PROCESS, 2);
    assert_int_equal(inner->parent, 1);
    assert_int_equal(inner->level, 2);
    assert_int_equal(worker(2)->n_places, 2);
    assert_int_equal(worker(2)->places[1].team, 2);
    assert_int_equal(worker(9)->n_places, 1);
    /* a zone of the outer region cannot end from inside of the inner one */
    FEED(2, OMP_ZONE_END, omp_zone_end, AT(1, 1), .zone = TG_OMP_ZONE_LOOP);
    uint64_t first_ns;
    const char *first;
    assert_int_equal(tg_openmp_model_impossible(model, &first_ns, &first), 1);
    assert_int_equal(first_ns, now_ns);
    assert_int_equal(worker(2)->n_places, 2);
}

static void the_dead_stay_where_they_died(void **state)
{
    (void)state;
    begin_region(1, 2);
    FEED(2, OMP_MUTEX_ENTER, omp_mutex_enter, AT(1, 1), .mutex = TG_OMP_MUTEX_CRITICAL);
    const struct tg_openmp_worker *second = worker(2);
    FEED(2, THREAD_EXIT, thread_exit, .status = 0);
    assert_null(tg_openmp_model_worker(model, PROCESS, 2));
    assert_false(second->alive);
    assert_int_equal(second->n_places, 2);
    /* the kernel gives its number to another thread */
    FEED(2, OMP_ZONE_BEGIN, omp_zone_begin, AT(0, 0), .zone = TG_OMP_ZONE_SINGLE);
    assert_int_equal(worker(2)->number, 3);
    FEED(100, EXEC, exec, .path = "/bin/true");
    assert_null(tg_openmp_model_team(model, PROCESS, 1));
    FEED(100, OMP_ZONE_BEGIN, omp_zone_begin, AT(0, 0), .zone = TG_OMP_ZONE_SINGLE);
    assert_int_equal(worker(100)->number, 1);
    assert_int_equal(tg_openmp_model_worker_count(model), 4);
}

static void impossible_events_are_counted(void **state)
{
    (void)state;
    FEED(1, OMP_IMPLICIT_END, omp_implicit_end, AT(5, 0));
    uint64_t at_ns = now_ns;
    FEED(1, OMP_PARALLEL_END, omp_parallel_end, AT(0, 0), .ended_team = 9);
    FEED(1, OMP_SYNC_END, omp_sync_end, AT(1, 0), .sync = TG_OMP_SYNC_TASKWAIT);
    FEED(1, OMP_MUTEX_LEAVE, omp_mutex_leave, AT(1, 0), .mutex = TG_OMP_MUTEX_LOCK, .lock = 1);
    FEED(1, OMP_TASK_END, omp_task_end, AT(1, 0), .task = 4);
    FEED(1, OMP_SECTION, omp_section, AT(1, 0), .section = 4);
    for (size_t i = 0; i < TG_OPENMP_MAX_PLACES + 5; i++)
        FEED(2, OMP_ZONE_BEGIN, omp_zone_begin, AT(0, 0), .zone = TG_OMP_ZONE_SCOPE);
    uint64_t first_ns;
    const char *first;
    assert_int_equal(tg_openmp_model_impossible(model, &first_ns, &first), 6 + 5);
    assert_int_equal(first_ns, at_ns);
    assert_non_null(first);
    assert_int_equal(worker(2)->n_places, TG_OPENMP_MAX_PLACES);
}

/* LLVM's runtime tells of untied tasks that are executed at once, each within the one before, that they go on, and not that they
 * were suspended: one place each, and the lock that the last one has is known. */
static void untied_tasks_at_once_are_one_place_each(void **state)
{
    (void)state;
    enum { DEPTH = 600 };
    begin_region(1, 1);
    for (uint64_t task = 1; task <= DEPTH; task++) {
        FEED(1, OMP_TASK_CREATE, omp_task_create, AT(1, 0), .task = task, .parent_task = task - 1);
        FEED(1, OMP_TASK_BEGIN, omp_task_begin, AT(1, 0), .task = task);
        FEED(1, OMP_TASK_BEGIN, omp_task_begin, AT(1, 0), .task = task, .resumed = 1);
    }
    FEED(1, OMP_MUTEX_ENTER, omp_mutex_enter, AT(1, 0), .mutex = TG_OMP_MUTEX_CRITICAL, .lock = 7);
    assert_int_equal(worker(1)->n_places, 1 + DEPTH + 1);
    assert_int_equal(worker(1)->places[1 + DEPTH].kind, TG_OPENMP_IN_MUTEX);
}

/* Inferred spans may begin and end in the wrong place: observed ones stay as they were observed. */
static void inferred_zones_do_no_harm(void **state)
{
    (void)state;
    begin_region(1, 1);
    FEED(1, OMP_ZONE_BEGIN, omp_zone_begin, AT(1, 0), .zone = TG_OMP_ZONE_LOOP, .seen = TG_OMP_INFERRED);
    FEED(1, OMP_MUTEX_ENTER, omp_mutex_enter, AT(1, 0), .mutex = TG_OMP_MUTEX_CRITICAL);
    FEED(1, OMP_ZONE_END, omp_zone_end, AT(1, 0), .zone = TG_OMP_ZONE_LOOP, .seen = TG_OMP_INFERRED);
    assert_int_equal(worker(1)->n_places, 2);
    assert_int_equal(worker(1)->places[1].kind, TG_OPENMP_IN_MUTEX);
    FEED(1, OMP_MUTEX_LEAVE, omp_mutex_leave, AT(1, 0), .mutex = TG_OMP_MUTEX_CRITICAL);
    /* an end without a beginning */
    FEED(1, OMP_ZONE_END, omp_zone_end, AT(1, 0), .zone = TG_OMP_ZONE_MASKED, .seen = TG_OMP_INFERRED);
    assert_int_equal(worker(1)->n_places, 1);
    /* a beginning without an end is over at the next loop, and at a barrier */
    for (size_t i = 0; i < 2; i++)
        FEED(1, OMP_ZONE_BEGIN, omp_zone_begin, AT(1, 0), .zone = TG_OMP_ZONE_LOOP, .seen = TG_OMP_INFERRED);
    assert_int_equal(worker(1)->n_places, 2);
    come(1, 1, 1);
    assert_int_equal(worker(1)->n_places, 2);
    assert_int_equal(worker(1)->places[1].kind, TG_OPENMP_IN_SYNC);
    assert_possible();
}

/* Of some runtimes nobody says that a worker has left a region: it has when it begins another one. */
static void who_begins_a_region_has_left_the_last_one(void **state)
{
    (void)state;
    for (uint64_t team = 1; team <= 300; team++) {
        begin_region(team, 2);
        FEED(1, OMP_IMPLICIT_END, omp_implicit_end, AT(team, 0));
        FEED(1, OMP_PARALLEL_END, omp_parallel_end, AT(0, 0), .ended_team = team);
        left.count = 0;
    }
    assert_int_equal(worker(2)->n_places, 1);
    assert_int_equal(worker(2)->places[0].team, 300);
    assert_possible();
}

/* A cancelled barrier lets threads go that others need not come to any more. */
static void a_cancelled_barrier_holds_nobody_up(void **state)
{
    (void)state;
    begin_region(1, 3);
    come(1, 1, 1);
    FEED(1, OMP_SYNC_END, omp_sync_end, AT(1, 0), .sync = TG_OMP_SYNC_BARRIER, .instance = 1, .cancelled = 1);
    struct tg_openmp_barrier barrier;
    const struct tg_openmp_team *team = tg_openmp_model_team(model, PROCESS, 1);
    assert_true(team->cancelled);
    assert_false(tg_openmp_barrier_of(team, &barrier));
    come(2, 1, 1); /* one that has not noticed yet: it will be let go */
    assert_false(tg_openmp_barrier_of(team, &barrier));
    FEED(2, OMP_SYNC_END, omp_sync_end, AT(1, 1), .sync = TG_OMP_SYNC_BARRIER, .instance = 1, .cancelled = 1);
    FEED(1, OMP_IMPLICIT_END, omp_implicit_end, AT(1, 0));
    assert_true(tg_openmp_barrier_of(team, &barrier));
    assert_int_equal(barrier.sync, TG_OMP_SYNC_BARRIER_JOIN);
    assert_int_equal(barrier.missing, 2);
}

/* A worker that cancels a region goes to its end; the others may be at a barrier then. */
static void a_cancelled_region_has_no_barriers(void **state)
{
    (void)state;
    begin_region(1, 2);
    come(2, 1, 1);
    struct tg_openmp_barrier barrier;
    const struct tg_openmp_team *team = tg_openmp_model_team(model, PROCESS, 1);
    FEED(1, OMP_CANCEL, omp_cancel, AT(1, 0), .construct = TG_OMP_CANCEL_LOOP, .activated = 1);
    assert_true(tg_openmp_barrier_of(team, &barrier)); /* a loop's cancellation is another thing */
    FEED(1, OMP_CANCEL, omp_cancel, AT(1, 0), .construct = TG_OMP_CANCEL_PARALLEL, .activated = 1);
    assert_true(team->cancelled);
    assert_int_equal(team->cancelled_ns, now_ns);
    assert_int_equal(team->canceller, worker(1)->index);
    assert_false(tg_openmp_barrier_of(team, &barrier));
}

/* One of three goes to the end of the region without a barrier that the others are at. */
static void who_is_through_has_not_passed_what_it_left_out(void **state)
{
    (void)state;
    for (int32_t skipper = 1; skipper <= 3; skipper++) {
        uint64_t id = (uint64_t)skipper;
        begin_region(id, 3);
        for (int32_t tid = 1; tid <= 3; tid++)
            come(tid, id, 1);
        for (int32_t tid = 1; tid <= 3; tid++)
            go_on(tid, id, 1);
        FEED(skipper, OMP_IMPLICIT_END, omp_implicit_end, AT(id, (uint64_t)skipper - 1));
        for (int32_t tid = 1; tid <= 3; tid++)
            if (tid != skipper)
                come(tid, id, 2);
        struct tg_openmp_barrier barrier;
        const struct tg_openmp_team *team = tg_openmp_model_team(model, PROCESS, id);
        assert_true(tg_openmp_barrier_of(team, &barrier));
        assert_int_equal(barrier.instance, 2);
        assert_int_equal(barrier.passed, 0);
        assert_int_equal(barrier.waiting, 2);
        assert_int_equal(barrier.missing, 1);
        for (int32_t i = 0; i < 3; i++)
            assert_int_equal(tg_openmp_barrier_is_skipped(&team->members[i], &barrier), i == skipper - 1);
        for (int32_t tid = 1; tid <= 3; tid++) {
            if (tid != skipper)
                FEED(tid, OMP_IMPLICIT_END, omp_implicit_end, AT(id, (uint64_t)tid - 1));
        }
        FEED(1, OMP_PARALLEL_END, omp_parallel_end, AT(0, 0), .ended_team = id);
    }
}

static void come_from(int32_t tid, uint64_t team, uint64_t instance, uint64_t code)
{
    FEED(tid, OMP_SYNC_BEGIN, omp_sync_begin, .team = team, .thread_num = (uint64_t)tid - 1, .code = code,
         .sync = TG_OMP_SYNC_BARRIER, .instance = instance);
}

/* Where members come to one barrier from several places, the first two of them are kept, each pair once. */
static void barriers_of_several_places_are_noted(void **state)
{
    (void)state;
    begin_region(1, 3);
    const struct tg_openmp_team *team = tg_openmp_model_team(model, PROCESS, 1);
    for (uint64_t instance = 1; instance <= 100; instance++) {
        come_from(1, 1, instance, 0x10);
        come_from(2, 1, instance, instance == 7 ? 0x20 : 0x10);
        come_from(3, 1, instance, instance < 9 ? 0 : 0x20);
        left.count = 0;
        for (int32_t tid = 1; tid <= 3; tid++)
            go_on(tid, 1, instance);
    }
    assert_int_equal(team->n_differences, 1);
    assert_int_equal(team->differences[0].instance, 7);
    assert_int_equal(team->differences[0].first, worker(1)->index);
    assert_int_equal(team->differences[0].second, worker(2)->index);
    assert_int_equal(team->differences[0].second_code, 0x20);
    assert_int_equal(team->differences[0].n_first, 1); /* where the third one came from is not known */
    assert_int_equal(team->differences[0].n_second, 1);
    for (uint64_t instance = 101; instance <= 120; instance++) {
        come_from(1, 1, instance, 0x10);
        come_from(2, 1, instance, 0x1000 + instance);
    }
    assert_int_equal(team->n_differences, TG_OPENMP_MAX_DIFFERENCES);
}

static void who_came_from_which_place_is_counted(void **state)
{
    (void)state;
    const uint64_t from[] = {0x10, 0x20, 0x10, 0x20, 0x20};
    begin_region(1, 5);
    for (int32_t tid = 1; tid <= 5; tid++)
        come_from(tid, 1, 1, from[tid - 1]);
    const struct tg_openmp_team *team = tg_openmp_model_team(model, PROCESS, 1);
    assert_int_equal(team->n_differences, 1);
    assert_int_equal(team->differences[0].n_first, 2);
    assert_int_equal(team->differences[0].n_second, 3);
}

/* Some runtimes tell that a lock is free when the next one is inside already, and a leave may be lost. */
static void who_enters_a_lock_takes_it_over(void **state)
{
    (void)state;
    begin_region(1, 3);
    for (int32_t tid = 1; tid <= 2; tid++) {
        FEED(tid, OMP_MUTEX_WAIT, omp_mutex_wait, AT(1, 0), .mutex = TG_OMP_MUTEX_CRITICAL, .lock = 8);
        FEED(tid, OMP_MUTEX_ENTER, omp_mutex_enter, AT(1, 0), .mutex = TG_OMP_MUTEX_CRITICAL, .lock = 8);
    }
    assert_int_equal(worker(1)->n_places, 1);
    assert_int_equal(worker(2)->n_places, 2);
    FEED(1, OMP_MUTEX_LEAVE, omp_mutex_leave, AT(1, 0), .mutex = TG_OMP_MUTEX_CRITICAL, .lock = 8);
    assert_int_equal(worker(2)->n_places, 2);
    assert_possible();
    FEED(2, OMP_MUTEX_LEAVE, omp_mutex_leave, AT(1, 0), .mutex = TG_OMP_MUTEX_CRITICAL, .lock = 8);
    assert_int_equal(worker(2)->n_places, 1);
    FEED(3, OMP_MUTEX_ENTER, omp_mutex_enter, AT(1, 0), .mutex = TG_OMP_MUTEX_CRITICAL, .lock = 8);
    assert_int_equal(worker(3)->n_places, 2);
    assert_possible();
    FEED(1, OMP_MUTEX_LEAVE, omp_mutex_leave, AT(1, 0), .mutex = TG_OMP_MUTEX_CRITICAL, .lock = 8);
    uint64_t first_ns;
    const char *first;
    assert_int_equal(tg_openmp_model_impossible(model, &first_ns, &first), 1);
}

/* A lock that is not given back is its thread's beyond the region in which it was taken. */
static void a_lock_outlives_the_region(void **state)
{
    (void)state;
    begin_region(1, 2);
    FEED(2, OMP_MUTEX_ENTER, omp_mutex_enter, AT(1, 1), .mutex = TG_OMP_MUTEX_LOCK, .lock = 8);
    FEED(2, OMP_MUTEX_ENTER, omp_mutex_enter, AT(1, 1), .mutex = TG_OMP_MUTEX_CRITICAL);
    for (int32_t tid = 2; tid >= 1; tid--)
        FEED(tid, OMP_IMPLICIT_END, omp_implicit_end, AT(1, (uint64_t)tid - 1));
    FEED(1, OMP_PARALLEL_END, omp_parallel_end, AT(0, 0), .ended_team = 1);
    assert_int_equal(worker(1)->n_places, 0);
    assert_int_equal(worker(2)->n_places, 1);
    assert_int_equal(worker(2)->places[0].kind, TG_OPENMP_IN_MUTEX);
    assert_int_equal(worker(2)->places[0].id, 8);
    begin_region(2, 2);
    FEED(2, OMP_MUTEX_LEAVE, omp_mutex_leave, AT(2, 1), .mutex = TG_OMP_MUTEX_LOCK, .lock = 8);
    assert_int_equal(worker(2)->n_places, 1);
    assert_possible();
}

/* `if (omp_get_thread_num() == 2)` is compiled as `masked filter(2)` is. */
static void not_every_if_is_a_masked_section(void **state)
{
    (void)state;
    begin_region(1, 3);
    for (int32_t tid = 1; tid <= 3; tid++)
        FEED(tid, OMP_ZONE_BEGIN, omp_zone_begin, AT(1, (uint64_t)tid - 1), .zone = TG_OMP_ZONE_MASKED,
             .seen = TG_OMP_INFERRED);
    assert_int_equal(worker(1)->n_places, 2);
    assert_int_equal(worker(3)->n_places, 1);
    FEED(3, OMP_ZONE_END, omp_zone_end, AT(1, 2), .zone = TG_OMP_ZONE_MASKED, .seen = TG_OMP_INFERRED);
    FEED(3, OMP_ZONE_BEGIN, omp_zone_begin, AT(1, 2), .zone = TG_OMP_ZONE_MASKED); /* told by the runtime */
    assert_int_equal(worker(3)->n_places, 2);
    assert_possible();
}

static struct tg_error *count_task(void *context, const struct tg_openmp_task *task)
{
    struct tg_openmp_task *tasks = context;
    assert_true(task->id >= 1 && task->id <= 3);
    tasks[task->id] = *task;
    return NULL;
}

static void tasks_are_known_until_they_are_over(void **state)
{
    (void)state;
    begin_region(1, 2);
    const struct tg_omp_dependence dependences[] = {{0x88, TG_OMP_DEPEND_OUT}, {0x90, TG_OMP_DEPEND_IN}};
    for (uint64_t id = 1; id <= 3; id++)
        FEED(1, OMP_TASK_CREATE, omp_task_create, .team = 1, .code = 0x500 + id, .task = id,
             .parent_task = id == 3 ? 1 : 0, .dependences = {.items = dependences, .count = 2});
    FEED(2, OMP_TASK_BEGIN, omp_task_begin, .team = 1, .task = 1);
    assert_int_equal(worker(2)->places[1].code, 0x501); /* of its creation */
    FEED(2, OMP_TASK_END, omp_task_end, .team = 1, .task = 1, .how = TG_OMP_TASK_SUSPENDED);
    FEED(2, OMP_TASK_BEGIN, omp_task_begin, .team = 1, .task = 2);
    struct tg_openmp_task tasks[4] = {0};
    struct tg_openmp_model *copy;
    assert_null(tg_openmp_model_copy(model, &copy));
    assert_null(tg_openmp_model_visit_tasks(copy, count_task, tasks));
    assert_int_equal(tasks[1].state, TG_OPENMP_TASK_SUSPENDED);
    assert_int_equal(tasks[1].n_places, 1);
    assert_int_equal(tasks[1].n_dependences, 2);
    assert_int_equal(tasks[1].dependences[1].address, 0x90);
    assert_int_equal(tasks[2].state, TG_OPENMP_TASK_RUNNING);
    assert_int_equal(tasks[2].runner, worker(2)->index);
    assert_int_equal(tasks[3].state, TG_OPENMP_TASK_CREATED);
    assert_int_equal(tasks[3].parent, 1);
    assert_int_equal(tasks[3].creator, worker(1)->index);
    tg_openmp_model_destroy(copy);
    FEED(2, OMP_TASK_END, omp_task_end, .team = 1, .task = 2, .how = TG_OMP_TASK_DETACHED);
    FEED(2, OMP_TASK_BEGIN, omp_task_begin, .team = 1, .task = 1, .resumed = 1);
    FEED(2, OMP_TASK_END, omp_task_end, .team = 1, .task = 1);
    FEED(9, OMP_TASK_END, omp_task_end, .task = 2, .how = TG_OMP_TASK_FULFILLED);
    struct tg_openmp_task rest[4] = {0};
    assert_null(tg_openmp_model_visit_tasks(model, count_task, rest));
    assert_int_equal(rest[1].id + rest[2].id, 0);
    assert_int_equal(rest[3].id, 3);
    assert_possible();
}

/* A task that waits for its own tasks executes others meanwhile. */
static void a_task_that_goes_on_is_where_it_was(void **state)
{
    (void)state;
    uint64_t first_ns;
    const char *first;
    struct tg_openmp_model *copy;
    begin_region(1, 2);
    FEED(1, OMP_TASK_BEGIN, omp_task_begin, AT(1, 0), .task = 7);
    FEED(1, OMP_SYNC_BEGIN, omp_sync_begin, AT(1, 0), .sync = TG_OMP_SYNC_TASKWAIT);
    FEED(1, OMP_TASK_END, omp_task_end, AT(1, 0), .task = 7, .how = TG_OMP_TASK_SUSPENDED);
    FEED(1, OMP_TASK_BEGIN, omp_task_begin, AT(1, 0), .task = 8);
    assert_null(tg_openmp_model_copy(model, &copy));
    tg_openmp_model_destroy(copy);
    FEED(1, OMP_TASK_END, omp_task_end, AT(1, 0), .task = 8);
    FEED(2, OMP_TASK_BEGIN, omp_task_begin, AT(1, 1), .task = 7, .resumed = 1); /* by another thread */
    const struct tg_openmp_worker *worker = tg_openmp_model_worker(model, PROCESS, 2);
    assert_int_equal(worker->n_places, 3);
    assert_int_equal(worker->places[1].kind, TG_OPENMP_IN_TASK);
    assert_int_equal(worker->places[2].what, TG_OMP_SYNC_TASKWAIT);
    FEED(2, OMP_SYNC_END, omp_sync_end, AT(1, 1), .sync = TG_OMP_SYNC_TASKWAIT);
    FEED(2, OMP_TASK_END, omp_task_end, AT(1, 1), .task = 7);
    assert_int_equal(tg_openmp_model_impossible(model, &first_ns, &first), 0);
    /* One whose end was lost: its number begins anew, inside of nothing. */
    FEED(1, OMP_TASK_BEGIN, omp_task_begin, AT(1, 0), .task = 9);
    FEED(1, OMP_SYNC_BEGIN, omp_sync_begin, AT(1, 0), .sync = TG_OMP_SYNC_TASKWAIT);
    FEED(1, OMP_TASK_END, omp_task_end, AT(1, 0), .task = 9, .how = TG_OMP_TASK_SUSPENDED);
    FEED(1, OMP_TASK_BEGIN, omp_task_begin, AT(1, 0), .task = 9);
    assert_int_equal(tg_openmp_model_worker(model, PROCESS, 1)->n_places, 2);
}

/* LLVM's runtime tells of the workers that they come to the end of a region, never that they go on from
 * it. */
static void nobody_waits_at_the_end_of_a_region_that_is_over(void **state)
{
    (void)state;
    begin_region(7, 2);
    for (int32_t tid = 2; tid >= 1; tid--) {
        FEED(tid, OMP_IMPLICIT_END, omp_implicit_end, AT(7, (uint64_t)tid - 1));
        FEED(tid, OMP_SYNC_BEGIN, omp_sync_begin, AT(7, (uint64_t)tid - 1), .sync = TG_OMP_SYNC_BARRIER_JOIN,
             .instance = 1);
        assert_int_equal(worker(tid)->n_places, 1);
    }
    FEED(1, OMP_SYNC_END, omp_sync_end, AT(7, 0), .sync = TG_OMP_SYNC_BARRIER_JOIN, .instance = 1);
    FEED(1, OMP_PARALLEL_END, omp_parallel_end, AT(0, 0), .ended_team = 7);
    assert_int_equal(worker(1)->n_places, 0);
    assert_int_equal(worker(2)->n_places, 0);
    assert_possible();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_region_begins_and_ends, set_up, tear_down),
        cmocka_unit_test_setup_teardown(who_is_missing_at_a_barrier, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_member_that_never_began_is_missing, set_up, tear_down),
        cmocka_unit_test_setup_teardown(zones_nest, set_up, tear_down),
        cmocka_unit_test_setup_teardown(locks_may_cross, set_up, tear_down),
        cmocka_unit_test_setup_teardown(regions_nest, set_up, tear_down),
        cmocka_unit_test_setup_teardown(the_dead_stay_where_they_died, set_up, tear_down),
        cmocka_unit_test_setup_teardown(impossible_events_are_counted, set_up, tear_down),
        cmocka_unit_test_setup_teardown(untied_tasks_at_once_are_one_place_each, set_up, tear_down),
        cmocka_unit_test_setup_teardown(inferred_zones_do_no_harm, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_task_that_goes_on_is_where_it_was, set_up, tear_down),
        cmocka_unit_test_setup_teardown(who_begins_a_region_has_left_the_last_one, set_up, tear_down),
        cmocka_unit_test_setup_teardown(nobody_waits_at_the_end_of_a_region_that_is_over, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_cancelled_barrier_holds_nobody_up, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_cancelled_region_has_no_barriers, set_up, tear_down),
        cmocka_unit_test_setup_teardown(who_is_through_has_not_passed_what_it_left_out, set_up, tear_down),
        cmocka_unit_test_setup_teardown(barriers_of_several_places_are_noted, set_up, tear_down),
        cmocka_unit_test_setup_teardown(who_came_from_which_place_is_counted, set_up, tear_down),
        cmocka_unit_test_setup_teardown(who_enters_a_lock_takes_it_over, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_lock_outlives_the_region, set_up, tear_down),
        cmocka_unit_test_setup_teardown(not_every_if_is_a_masked_section, set_up, tear_down),
        cmocka_unit_test_setup_teardown(tasks_are_known_until_they_are_over, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
