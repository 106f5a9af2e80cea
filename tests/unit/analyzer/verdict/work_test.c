/* Ranks that wait for each other, and a thread beside them that has not called MPI: whether that one may end the wait. */
#include "analyzer/verdict/verdict.h"

#include <stdio.h>
#include <string.h>
/* clang-format off */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include "tests/unit/analyzer/verdict/judged.h"

enum { THREAD = FIRST_PID + 50, TEAM = 5, SINGLE = 0, FUNNELED, SERIALIZED, MULTIPLE, UNKNOWN = -3 };
#define PROGRAM "/home/a/program"
#define LIBC    "/usr/lib/libc.so.6"

/* Two frames, the innermost first; the first one is in FUNCTION. */
struct seen {
    const char *module, *function;
    uint64_t end, before_ms; /* how long before the interruption */
};

static struct tg_stack_model *stacks;

/* N_RANKS that got LEVEL. */
static void begin_ranks(int n_ranks, int level)
{
    begin_job(n_ranks);
    for (int rank = 0; rank < n_ranks; rank++) {
        TOGETHER(rank, "MPI_Init_thread", 0, 0x50);
        FEED(FIRST_PID + rank, MPI_LEAVE, mpi_leave, .call = "MPI_Init_thread", .peer = -3, .tag = level);
    }
}

static void begin(int level)
{
    begin_ranks(2, level);
    assert_null(tg_stack_model_create(&stacks));
}

/* Thread THREAD of rank 0 was SEEN there. */
static void see(const struct seen *seen)
{
    struct tg_named_call call = {.function = seen->function, .file = ""};
    const struct tg_event name = {
        .kind = TG_EVENT_CODE_NAME,
        .code_name = {
            .module = seen->module, .build_id = "", .address = 0x10, .calls = {.items = &call, .count = 1}}};
    struct tg_stack_frame frames[] = {
        {.pc = 0x10, .module = seen->module, .build_id = "", .address = 0x10, .function = "", .file = ""},
        {.pc = 0x20,
         .module = strcmp(seen->module, LIBC) == 0 && strstr(seen->function, "worker") == NULL ? PROGRAM
                                                                                               : seen->module,
         .build_id = "",
         .address = 0x20,
         .function = "",
         .file = ""}};
    const struct tg_event stack = {
        .time_ns = job.now_ns - seen->before_ms * MS,
        .pid = FIRST_PID,
        .tid = THREAD,
        .kind = TG_EVENT_STACK,
        .stack = {.reason = TG_STACK_JOB_SIGNAL, .end = seen->end, .frames = {frames, 2}}};
    assert_null(tg_stack_model_feed(stacks, &name, SIZE_MAX));
    assert_null(tg_stack_model_feed(stacks, &stack, 1));
}

/* The job is interrupted after WAIT_MS, when THREAD was SEEN; NULL: no stacks were taken. */
static void interrupt(uint64_t wait_ms, const struct seen *seen)
{
    struct tg_verdict_input input = input_of_job();
    job.now_ns += wait_ms * MS;
    FEED(LAUNCHER, SIGNAL, signal, .signal = SIGINT, .sender_pid = 7, .sender = "sh");
    if (seen != NULL)
        see(seen);
    input.stacks = stacks;
    assert_null(tg_verdict_make(&input, &verdict));
    tg_stack_model_destroy(stacks);
}

static void wait_for_each_other(void)
{
    POINT(0, "MPI_Recv", 1, 7);
    POINT(1, "MPI_Recv", 0, 8);
}

/* Rank 0 is not stuck, and rank 1 has waited for it for long: that alone is said. */
static void check_no_deadlock(void)
{
    for (size_t i = 0; i < verdict.count; i++)
        if (verdict.findings[i].kind == TG_FINDING_DEADLOCK)
            fail_msg("%s", verdict.findings[i].text);
}

static const struct seen at_work = {.module = PROGRAM, .function = "solve"},
                         asleep = {.module = LIBC, .function = "clock_nanosleep"},
                         waits = {.module = LIBC, .function = "pthread_cond_wait"},
                         waits_for_a_time = {.module = LIBC, .function = "pthread_cond_timedwait"},
                         helper = {.module = LIBC, .function = "worker of MPI"},
                         unknown = {.module = LIBC,
                                    .function = "worker of something",
                                    .end = TG_STACK_NO_RULE},
                         seen_before = {.module = PROGRAM, .function = "solve", .before_ms = 2500};

/* Ranks 0 and 1 wait for each other; or nobody is said to. */
static void check_deadlock(bool is_one)
{
    if (is_one)
        check_first(TG_FINDING_DEADLOCK, "0 1", "");
    else
        check_no_deadlock();
}

static void the_level_tells_who_may_call(void **state)
{
    (void)state;
    static const struct {
        int level;
        bool may;
    } levels[] = {{SINGLE, false}, {FUNNELED, false}, {SERIALIZED, true}, {MULTIPLE, true}, {UNKNOWN, true}};
    for (size_t i = 0; i < sizeof levels / sizeof *levels; i++) {
        begin(levels[i].level);
        wait_for_each_other();
        interrupt(3000, &at_work);
        check_deadlock(!levels[i].may);
        if (i + 1 < sizeof levels / sizeof *levels)
            tear_down(state);
    }
}

static void its_stack_tells_whether_it_waits(void **state)
{
    const struct {
        const struct seen *seen;
        bool may;
    } ways[] = {{&at_work, true}, {&asleep, true},  {&waits_for_a_time, true}, {&unknown, true},
                {&waits, false},  {&helper, false}, {&seen_before, false},     {NULL, false}};
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        begin(MULTIPLE);
        wait_for_each_other();
        interrupt(3000, ways[i].seen);
        check_deadlock(!ways[i].may);
        if (i + 1 < sizeof ways / sizeof *ways)
            tear_down(state);
    }
}

/* Shortly after both ranks began to WAIT, and THREAD was SEEN: their deadlock is one only at the level that lets nobody
 * else call. */
static void check_soon(void **state, void (*wait)(void), const struct seen *seen)
{
    for (int level = FUNNELED; level <= MULTIPLE; level++) {
        begin(level);
        wait();
        interrupt(100, seen);
        if (level <= FUNNELED)
            check_first(TG_FINDING_DEADLOCK, "0 1", "");
        else
            check_nobody_blamed();
        if (level < MULTIPLE)
            tear_down(state);
    }
}

/* A message may be about to be sent by a thread that waits for something else: time has to tell, where it is no proof alone. */
static void a_wait_counts_after_a_time_where_others_may_call(void **state)
{
    check_soon(state, wait_for_each_other, &waits);
}

static void wait_in_a_collective(void)
{
    TOGETHER(0, "MPI_Barrier", 1, 0x40);
    POINT(1, "MPI_Recv", 0, 8);
}

/* What rank 0 does beside its wait in a collective may be what rank 1 waits for. */
static void a_collective_is_no_proof_either(void **state)
{
    check_soon(state, wait_in_a_collective, &at_work);
}

/* By OpenMP's events alone: no stacks were taken. */
static void a_worker_in_a_region_is_at_work(void **state)
{
    for (int waits_there = 0; waits_there < 2; waits_there++) {
        begin(SERIALIZED);
        feed(FIRST_PID, (struct tg_event){.tid = THREAD,
                                          .kind = TG_EVENT_OMP_IMPLICIT_BEGIN,
                                          .omp_implicit_begin = {.team = TEAM, .team_size = 2}});
        if (waits_there)
            feed(FIRST_PID, (struct tg_event){.tid = THREAD,
                                              .kind = TG_EVENT_OMP_MUTEX_WAIT,
                                              .omp_mutex_wait = {.mutex = TG_OMP_MUTEX_LOCK, .lock = 9}});
        wait_for_each_other();
        interrupt(3000, NULL);
        check_deadlock(waits_there);
        if (!waits_there)
            tear_down(state);
    }
}

/* Both threads of rank 0 are in MPI: one waits for rank 1, which waits for rank 0; the other for rank 2, which computes,
 * and then rank 0 may go on. With rank 2 waiting for rank 0 as well there is no way out. */
static void every_thread_of_a_process_has_to_be_stuck(void **state)
{
    for (int is_stuck = 0; is_stuck < 2; is_stuck++) {
        begin_ranks(3, MULTIPLE);
        stacks = NULL;
        wait_for_each_other();
        feed(FIRST_PID,
             (struct tg_event){
                 .tid = THREAD,
                 .kind = TG_EVENT_MPI_ENTER,
                 .mpi_enter = {.call = "MPI_Recv", .comm = WORLD, .peer = 2, .tag = 9, .root = -3}});
        if (is_stuck)
            POINT(2, "MPI_Recv", 0, 9);
        interrupt_after(1000);
        if (is_stuck)
            assert_int_equal(verdict.findings[0].kind, TG_FINDING_DEADLOCK);
        else
            check_nobody_blamed();
        if (!is_stuck)
            tear_down(state);
    }
}

/* Nobody is blamed, but for rank 0 by who has waited for it alone. */
static void why_it_is_not_known_is_said(void **state)
{
    (void)state;
    begin(MULTIPLE);
    POINT(0, "MPI_Recv", 1, 7);
    POINT(1, "MPI_Send", 0, 8);
    LEAVE(1, "MPI_Send");
    struct tg_event ready = {
        .kind = TG_EVENT_MPI_ENTER,
        .mpi_enter = {.call = "MPI_Recv", .comm = WORLD, .peer = 0, .tag = 9, .root = -3}};
    feed(FIRST_PID + 1, ready);
    const struct seen of_other = at_work;
    struct tg_verdict_input input = input_of_job();
    job.now_ns += UINT64_C(3000) * MS;
    FEED(LAUNCHER, SIGNAL, signal, .signal = SIGINT, .sender_pid = 7, .sender = "sh");
    see(&of_other);
    const struct tg_event stack = {
        .time_ns = job.now_ns,
        .pid = FIRST_PID + 1,
        .tid = THREAD + 1,
        .kind = TG_EVENT_STACK,
        .stack = {.reason = TG_STACK_JOB_SIGNAL,
                  .frames = {&(struct tg_stack_frame){
                                 .pc = 0x20, .module = PROGRAM, .build_id = "", .function = "", .file = ""},
                             1}}};
    assert_null(tg_stack_model_feed(stacks, &stack, 2));
    input.stacks = stacks;
    assert_null(tg_verdict_make(&input, &verdict));
    tg_stack_model_destroy(stacks);
    check_nobody_blamed();
    assert_int_equal(verdict.count, 1);
    if (strstr(verdict.findings[0].text,
               "Other threads of rank 0 and rank 1 were at work, and may call MPI as "
               "well: whether what waits in MPI there could have gone on is not "
               "known.") == NULL)
        fail_msg("%s", verdict.findings[0].text);
}

/* Rank 2 sends to rank 1, that one waits for rank 0, and another thread of rank 0 is at work: the message may be received yet,
 * and was not meant for rank 3. */
static void a_chain_by_who_is_at_work_makes_no_stray(void **state)
{
    (void)state;
    for (int is_at_work = 0; is_at_work < 2; is_at_work++) {
        begin_ranks(4, MULTIPLE);
        assert_null(tg_stack_model_create(&stacks));
        POINT(1, "MPI_Recv", 0, 5);
        POINT(0, "MPI_Recv", 2, 9);
        POINT(2, "MPI_Ssend", 1, 7);
        POINT(3, "MPI_Recv", 2, 7);
        interrupt(3000, is_at_work ? &at_work : &waits);
        bool is_told = false;
        for (size_t i = 0; i < verdict.count; i++)
            is_told |= strstr(verdict.findings[i].text, "rank 3 waits for tag 7") != NULL;
        assert_int_equal(is_told, !is_at_work);
        if (!is_at_work)
            tear_down(state);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(the_level_tells_who_may_call, tear_down),
        cmocka_unit_test_teardown(its_stack_tells_whether_it_waits, tear_down),
        cmocka_unit_test_teardown(a_wait_counts_after_a_time_where_others_may_call, tear_down),
        cmocka_unit_test_teardown(a_collective_is_no_proof_either, tear_down),
        cmocka_unit_test_teardown(a_worker_in_a_region_is_at_work, tear_down),
        cmocka_unit_test_teardown(every_thread_of_a_process_has_to_be_stuck, tear_down),
        cmocka_unit_test_teardown(why_it_is_not_known_is_said, tear_down),
        cmocka_unit_test_teardown(a_chain_by_who_is_at_work_makes_no_stray, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
