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

#include "tests/unit/analyzer/verdict/job.h"

#include <stdlib.h>

static struct tg_verdict verdict;

static int tear_down(void **state)
{
    (void)state;
    tg_verdict_deinit(&verdict);
    end_job();
    return 0;
}

/* Rank 0 waits in a barrier for rank 1, of which two threads wait in the kernel when the job is interrupted. */

enum { RANK = FIRST_PID + 1, OTHER = RANK + 1000 };

static struct tg_stack_model *stacks;

static void feed_stacks(struct tg_event event)
{
    event.time_ns = job.now_ns;
    assert_null(tg_stack_model_feed(stacks, &event, 2));
}

/* Thread TID is at line LINE in snapshot NUMBER, and waits for WHAT of thread OWNER. */
static void add_wait(int32_t tid, uint64_t line, uint64_t number, enum tg_wait_what what, int32_t owner)
{
    const struct tg_named_call call = {.function = "take", .file = "a.c", .line = line};
    const struct tg_stack_frame frame = {.kind = TG_FRAME_CODE,
                                         .module = "/a/app",
                                         .build_id = "",
                                         .function = "",
                                         .file = "",
                                         .address = line,
                                         .pc = line};
    feed_stacks((struct tg_event){.pid = RANK,
                                  .tid = tid,
                                  .kind = TG_EVENT_STACK,
                                  .stack = {.reason = TG_STACK_JOB_SIGNAL,
                                            .signal = SIGINT,
                                            .snapshot = number,
                                            .end = TG_STACK_WHOLE,
                                            .frames = {&frame, 1}}});
    feed_stacks((struct tg_event){
        .kind = TG_EVENT_CODE_NAME,
        .code_name = {
            .module = "/a/app", .build_id = "", .address = line, .calls = {.items = &call, .count = 1}}});
    feed_stacks((struct tg_event){.pid = RANK,
                                  .tid = tid,
                                  .kind = TG_EVENT_THREAD_WAIT,
                                  .thread_wait = {.what = what, .address = line, .owner = owner}});
}

static void interrupt(void)
{
    FEED(LAUNCHER, SIGNAL, signal, .signal = SIGINT, .sender_pid = 7, .sender = "sh");
}

static void begin(void)
{
    begin_job(2);
    assert_null(tg_stack_model_create(&stacks));
    TOGETHER(1, "MPI_Init", 0, 0x30);
    LEAVE(1, "MPI_Init");
    TOGETHER(0, "MPI_Barrier", 1, 0x40);
    job.now_ns += 3000 * (uint64_t)MS;
}

static void judge(void)
{
    struct tg_verdict_input input = input_of_job();
    input.stacks = stacks;
    assert_null(tg_verdict_make(&input, &verdict));
    tg_stack_model_destroy(stacks);
}

static const struct tg_finding *find(enum tg_finding_kind kind)
{
    for (size_t i = 0; i < verdict.count; i++)
        if (verdict.findings[i].kind == kind)
            return &verdict.findings[i];
    return NULL;
}

/* Finding NTH is of KIND, blames so many threads of rank 1 and says WORDS. */
static void check_finding(size_t nth, enum tg_finding_kind kind, size_t n_culprits, const char *words)
{
    assert_true(nth < verdict.count);
    const struct tg_finding *finding = &verdict.findings[nth];
    if (finding->kind != kind || finding->n_culprits != n_culprits || strstr(finding->text, words) == NULL)
        fail_msg("%s, blames %zu: %s", tg_finding_kind_name(finding->kind), finding->n_culprits,
                 finding->text);
    for (size_t i = 0; i < n_culprits; i++)
        assert_int_equal(finding->culprits[i].rank, 1);
}

static void two_that_have_each_others_mutexes_are_a_deadlock(void **state)
{
    (void)state;
    begin();
    interrupt();
    add_wait(RANK, 10, 1, TG_WAIT_MUTEX, OTHER);
    add_wait(OTHER, 20, 1, TG_WAIT_MUTEX, RANK);
    judge();
    check_finding(0, TG_FINDING_DEADLOCK, 2,
                  "Deadlock in rank 1: thread 101 waits for a mutex that thread 1101 holds; it is in take "
                  "(a.c:10); thread 1101 waits for a mutex that thread 101 holds; it is in take (a.c:20).");
    check_finding(1, TG_FINDING_COLLECTIVE, 1, "Rank 1 is missing (see 1).");
    assert_non_null(strstr(find(TG_FINDING_ASKED)->text, "The job was interrupted"));
}

static void whose_first_thread_goes_on_is_missing_for_another_reason(void **state)
{
    (void)state;
    begin();
    interrupt();
    add_wait(OTHER, 20, 1, TG_WAIT_MUTEX, OTHER);
    add_wait(RANK, 10, 1, TG_WAIT_FUTEX, 0);
    judge();
    check_finding(0, TG_FINDING_DEADLOCK, 1, "thread 1101 waits for a mutex that it holds itself");
    assert_null(strstr(verdict.findings[1].text, "(see 1)"));
}

static void waits_of_different_moments_are_no_deadlock(void **state)
{
    (void)state;
    begin();
    interrupt();
    add_wait(RANK, 10, 1, TG_WAIT_MUTEX, OTHER);
    add_wait(OTHER, 20, 2, TG_WAIT_MUTEX, RANK);
    judge();
    assert_null(find(TG_FINDING_DEADLOCK));
}

static void who_waits_for_a_lock_is_told_with_who_has_it(void **state)
{
    (void)state;
    begin();
    interrupt();
    add_wait(RANK, 10, 1, TG_WAIT_MUTEX, OTHER);
    add_wait(OTHER, 20, 1, TG_WAIT_FUTEX, 0);
    judge();
    assert_null(find(TG_FINDING_DEADLOCK));
    assert_non_null(strstr(
        find(TG_FINDING_ASKED)->text,
        ". In rank 1, thread 101 waits for a mutex that thread 1101 holds, which is in take (a.c:20)."));
}

/* A rank that was stopped is continued by its launcher when the job is to end. */
static void what_a_rank_does_once_it_is_continued_is_not_told(void **state)
{
    (void)state;
    for (int goes_on = 0; goes_on < 2; goes_on++) {
        begin();
        FEED(RANK, GROUP_STOP, group_stop, .signal = SIGSTOP);
        job.now_ns += 2000 * (uint64_t)MS;
        interrupt();
        if (goes_on)
            TOGETHER(1, "MPI_Finalize", 1, 0x50);
        judge();
        const char *text = find(TG_FINDING_STOPPED)->text;
        assert_non_null(strstr(text, "and was not continued."));
        assert_int_equal(strstr(text, "It had been outside MPI") != NULL, !goes_on);
        assert_null(strstr(text, "MPI_Finalize"));
        if (!goes_on)
            tear_down(state);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(two_that_have_each_others_mutexes_are_a_deadlock, tear_down),
        cmocka_unit_test_teardown(whose_first_thread_goes_on_is_missing_for_another_reason, tear_down),
        cmocka_unit_test_teardown(waits_of_different_moments_are_no_deadlock, tear_down),
        cmocka_unit_test_teardown(who_waits_for_a_lock_is_told_with_who_has_it, tear_down),
        cmocka_unit_test_teardown(what_a_rank_does_once_it_is_continued_is_not_told, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
