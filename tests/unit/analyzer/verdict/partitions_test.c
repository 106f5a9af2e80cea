/* Partitioned messages: which half lacks what, and when nobody may be blamed. */
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

enum { PARTITIONS = 4, SEND = 8, RECEIVE = 9, TAG = 5, MARK_CODE = 0x30 };

/* ---- what ranks do */

static void tell(int rank, uint64_t first, uint64_t last)
{
    struct tg_mpi_partition_range range = {first, last};
    FEED(FIRST_PID + rank, MPI_PARTITIONS, mpi_partitions, .ranges = {.items = &range, .count = 1});
}

static void make(int rank, const char *name, int64_t peer, uint64_t request)
{
    POINT(rank, name, peer, TAG);
    tell(rank, 0, PARTITIONS - 1);
    LEAVE_WITH(rank, name, request);
}

static void enter(int rank, const char *name, int64_t tag, uint64_t request)
{
    FEED(FIRST_PID + rank, MPI_ENTER, mpi_enter, .call = name, .peer = -3, .tag = tag, .root = -3,
         .code = MARK_CODE, .request = request);
}

static void start(int rank, uint64_t request)
{
    enter(rank, "MPI_Start", -3, request);
    LEAVE_WITH(rank, "MPI_Start", request);
}

static void mark(int64_t partition)
{
    enter(0, "MPI_Pready", partition, SEND);
    LEAVE(0, "MPI_Pready");
}

static void finish(int rank, uint64_t request)
{
    enter(rank, "MPI_Wait", -3, request);
    FEED(FIRST_PID + rank, MPI_COMPLETE, mpi_complete, .request = request, .peer = -3, .tag = -3);
    LEAVE(rank, "MPI_Wait");
}

/* Rank 0 sends to rank 1, which waits. One message has come before. */
static void begin_transfer(int ranks)
{
    begin_job(ranks);
    make(0, "MPI_Psend_init", 1, SEND);
    make(1, "MPI_Precv_init", 0, RECEIVE);
    start(0, SEND);
    start(1, RECEIVE);
    for (int i = 0; i < PARTITIONS; i++)
        mark(i);
    finish(0, SEND);
    finish(1, RECEIVE);
    start(1, RECEIVE);
    enter(1, "MPI_Wait", -3, RECEIVE);
}

/* ---- tests */

static void who_waits_for_its_own_partition_is_the_culprit(void **state)
{
    (void)state;
    begin_transfer(2);
    start(0, SEND);
    mark(3);
    mark(0);
    mark(1);
    enter(0, "MPI_Wait", -3, SEND);
    interrupt_after(4000);
    check_finding(
        0, TG_FINDING_SEND, "0",
        "Rank 0 has been waiting (MPI_Wait) for a partitioned message of its own that is not complete: "
        "MPI_Psend_init to rank 1 (tag 5)");
    check_finding(0, TG_FINDING_SEND, "0",
                  "Partition 2 of 4 has not been marked as ready (MPI_Pready) by rank 0 since");
    check_finding(0, TG_FINDING_SEND, "0", "; it marked the last one at");
    check_finding(1, TG_FINDING_RECEIVE, "0", "The sender is rank 0 (see 1).");
    assert_true(verdict.findings[1].is_consequence);
}

static void a_sender_that_is_elsewhere_is_named_by_its_partitions(void **state)
{
    (void)state;
    begin_transfer(2);
    start(0, SEND);
    mark(0);
    interrupt_after(4000);
    check_finding(0, TG_FINDING_RECEIVE, "0", "Partitions 1 to 3 of 4 have not been marked as ready");
    assert_int_equal(verdict.findings[0].culprits[0].code, MARK_CODE);
}

static void a_partition_closes_a_cycle(void **state)
{
    (void)state;
    begin_transfer(2);
    start(0, SEND);
    mark(0);
    mark(2);
    TOGETHER(0, "MPI_Barrier", 1, 0x40);
    interrupt_after(4000);
    check_finding(0, TG_FINDING_DEADLOCK, "0 1",
                  "waiting for rank 0 to mark all partitions as ready (MPI_Pready)");
    check_finding(0, TG_FINDING_DEADLOCK, "0 1", "Partitions 1, 3 of 4 have not been marked as ready");
}

static void a_half_that_was_not_started_or_not_made_is_missing(void **state)
{
    (void)state;
    begin_transfer(2);
    interrupt_after(4000);
    check_finding(0, TG_FINDING_RECEIVE, "0",
                  "The sender is rank 0, which has not started its half, by MPI_Start, of MPI_Psend_init: ");
    tear_down(state);

    begin_job(2);
    make(0, "MPI_Psend_init", 1, SEND);
    start(0, SEND);
    enter(0, "MPI_Pready_range", -3, SEND);
    tell(0, 0, PARTITIONS - 1);
    LEAVE(0, "MPI_Pready_range");
    enter(0, "MPI_Wait", -3, SEND);
    TOGETHER(1, "MPI_Init", 0, 0x50);
    LEAVE(1, "MPI_Init");
    interrupt_after(4000);
    check_finding(0, TG_FINDING_SEND, "1", "The receiver is rank 1, which has not called MPI_Precv_init: ");
}

/* Who polls by MPI_Parrived waits as well. */
static void a_poll_in_vain_is_a_wait(void **state)
{
    (void)state;
    begin_transfer(2);
    FEED(FIRST_PID + 1, MPI_COMPLETE, mpi_complete, .request = RECEIVE, .peer = -3, .tag = -3);
    LEAVE(1, "MPI_Wait");
    start(1, RECEIVE);
    start(0, SEND);
    start(0, SEND); /* the end of the last but one went unseen */
    mark(1);
    enter(1, "MPI_Parrived", 2, RECEIVE);
    LEAVE(1, "MPI_Parrived");
    for (int i = 0; i < 8; i++) {
        job.now_ns += 500 * MS;
        FEED(FIRST_PID + 1, MPI_POLL, mpi_poll, .call = "MPI_Parrived", .peer = -3, .tag = 2,
             .code = MARK_CODE, .request = RECEIVE, .polls = ((uint64_t)i + 1) * 1000000, .permille = 900);
    }
    interrupt_after(0);
    check_finding(0, TG_FINDING_RECEIVE, "0",
                  "Rank 1 has been polling in vain (MPI_Parrived) for the other half");
    check_finding(0, TG_FINDING_RECEIVE, "0", "Partitions 0, 2 to 3 of 4 have not been marked as ready");
}

/* All is ready, and the sender computes, where its library does not send it. Who waits for the receiver does so because of
 * that. */
static void who_leaves_mpi_before_the_message_has_gone_is_named(void **state)
{
    (void)state;
    begin_transfer(3);
    POINT(2, "MPI_Recv", 1, 7);
    start(0, SEND);
    for (int i = 0; i < PARTITIONS; i++)
        mark(i);
    interrupt_after(4000);
    check_finding(0, TG_FINDING_RECEIVE, "0",
                  "The sender is rank 0, which has done its part and does nothing more for it");
    check_finding(1, TG_FINDING_RECEIVE, "1", "The sender is rank 1");
    assert_true(verdict.findings[1].is_consequence);
}

/* The receiver asks for a partition again and again, and does other things in between: it calls MPI all the same. */
static void who_asks_now_and_then_is_not_said_to_do_nothing(void **state)
{
    (void)state;
    begin_transfer(2);
    FEED(FIRST_PID + 1, MPI_COMPLETE, mpi_complete, .request = RECEIVE, .peer = -3, .tag = -3);
    LEAVE(1, "MPI_Wait");
    start(1, RECEIVE);
    start(0, SEND);
    for (int i = 0; i < PARTITIONS; i++)
        mark(i);
    enter(0, "MPI_Wait", -3, SEND);
    enter(1, "MPI_Parrived", 2, RECEIVE);
    LEAVE(1, "MPI_Parrived");
    for (int i = 0; i < 8; i++) {
        job.now_ns += 500 * MS;
        FEED(FIRST_PID + 1, MPI_POLL, mpi_poll, .call = "MPI_Parrived", .peer = -3, .tag = 2,
             .code = MARK_CODE, .request = RECEIVE, .polls = ((uint64_t)i + 1) * 100000, .permille = 9);
    }
    interrupt_after(0);
    check_nobody_blamed();
}

/* In a job that hangs, as another partition was meant, and in one that ends well. A message that was started again has no
 * marks. */
static void a_partition_that_is_marked_twice_is_named(void **state)
{
    (void)state;
    begin_transfer(2);
    start(0, SEND);
    for (int i = 0; i < PARTITIONS - 1; i++)
        mark(i);
    mark(1);
    mark(1);
    enter(0, "MPI_Wait", -3, SEND);
    interrupt_after(4000);
    check_finding(0, TG_FINDING_MISUSE, "0",
                  "Rank 0 marked partition 1 of 4 as ready (MPI_Pready) a second time");
    check_finding(
        0, TG_FINDING_MISUSE, "0",
        "(2 such calls from there in all), which MPI does not allow before the message is complete: "
        "MPI_Psend_init to rank 1 (tag 5), started");
    check_finding(1, TG_FINDING_SEND, "0", "Partition 3 of 4 has not been marked as ready");
    tear_down(state);

    begin_transfer(2);
    start(0, SEND);
    enter(0, "MPI_Pready_range", -3, SEND);
    tell(0, 0, 2);
    LEAVE(0, "MPI_Pready_range");
    enter(0, "MPI_Pready_list", -3, SEND);
    tell(0, 3, 3);
    tell(0, 2, 2);
    LEAVE(0, "MPI_Pready_list");
    finish(0, SEND);
    FEED(FIRST_PID + 1, MPI_COMPLETE, mpi_complete, .request = RECEIVE, .peer = -3, .tag = -3);
    LEAVE(1, "MPI_Wait");
    for (int rank = 0; rank < 2; rank++) {
        TOGETHER(rank, "MPI_Finalize", 0, 0x60);
        LEAVE(rank, "MPI_Finalize");
        FEED(FIRST_PID + rank, PROCESS_EXIT, process_exit, .how = TG_EXIT_STATUS);
    }
    FEED(LAUNCHER, PROCESS_EXIT, process_exit, .how = TG_EXIT_STATUS);
    struct tg_verdict_input input = input_of_job();
    assert_null(tg_verdict_make(&input, &verdict));
    check_finding(0, TG_FINDING_MISUSE, "0",
                  "Rank 0 marked partition 2 of 4 as ready (MPI_Pready_list) a second time");
    assert_true(verdict.findings[0].is_warning);
    assert_int_equal(verdict.count, 1);
    tg_verdict_deinit(&verdict);
    input.has_losses = true;
    assert_null(tg_verdict_make(&input, &verdict));
    check_nobody_blamed();
}

enum quiet {
    ALL_ARE_READY,     /* the message is on its way, between two that are in MPI */
    LIST_IS_NOT_KNOWN, /* of too many ranges */
    IS_SHORT,
    GOES_ON, /* a partition was marked lately */
    LOST_EVENTS,
    GIVEN_UP, /* the other half was freed */
    WAYS,
};

static void nobody_is_blamed_where_it_may_be_complete(void **state)
{
    for (int way = 0; way < WAYS; way++) {
        begin_transfer(2);
        start(0, SEND);
        if (way == ALL_ARE_READY) {
            mark(1);
            enter(0, "MPI_Pready_range", -3, SEND);
            tell(0, 2, 3);
            LEAVE(0, "MPI_Pready_range");
            mark(0);
            enter(0, "MPI_Wait", -3, SEND);
        } else if (way == LIST_IS_NOT_KNOWN) {
            enter(0, "MPI_Pready_list", -3, SEND);
            LEAVE(0, "MPI_Pready_list");
        } else if (way == GOES_ON) {
            job.now_ns += UINT64_C(4000) * MS;
            mark(0);
        } else if (way == GIVEN_UP) {
            enter(0, "MPI_Request_free", -3, 0);
            LEAVE_WITH(0, "MPI_Request_free", SEND);
        }
        struct tg_verdict_input input = input_of_job();
        job.now_ns += (way == IS_SHORT || way == GOES_ON ? 300 : UINT64_C(4000)) * MS;
        input.has_losses = way == LOST_EVENTS;
        FEED(LAUNCHER, SIGNAL, signal, .signal = SIGINT, .sender_pid = 7, .sender = "sh");
        assert_null(tg_verdict_make(&input, &verdict));
        check_nobody_blamed();
        if (way + 1 < WAYS)
            tear_down(state);
    }
}

static void a_copy_goes_on_by_itself(void **state)
{
    struct tg_mpi_model *copy;
    (void)state;
    begin_transfer(2);
    start(0, SEND);
    mark(2);
    assert_null(tg_mpi_model_copy(job.mpi, &copy));
    mark(3);
    const struct tg_mpi_partitioned *of = tg_mpi_model_partitioned(copy, 1, SEND);
    assert_non_null(of);
    assert_int_equal(of->n_ready, 1);
    assert_true(tg_mpi_partition_is_ready(of, 2));
    assert_false(tg_mpi_partition_is_ready(of, 3));
    bool was_made;
    const struct tg_mpi_partitioned *other = tg_mpi_model_other_half(copy, of, &was_made);
    assert_non_null(other);
    assert_false(other->sends);
    tg_mpi_model_destroy(copy);
}

static void what_is_never_completed_is_a_warning(void **state)
{
    (void)state;
    begin_job(2);
    make(0, "MPI_Psend_init", 1, SEND);
    start(0, SEND);
    for (int rank = 0; rank < 2; rank++) {
        TOGETHER(rank, "MPI_Finalize", 0, 0x60);
        LEAVE(rank, "MPI_Finalize");
        FEED(FIRST_PID + rank, PROCESS_EXIT, process_exit, .how = TG_EXIT_STATUS);
    }
    FEED(LAUNCHER, PROCESS_EXIT, process_exit, .how = TG_EXIT_STATUS);
    const struct tg_verdict_input input = input_of_job();
    assert_null(tg_verdict_make(&input, &verdict));
    check_finding(0, TG_FINDING_INCOMPLETE, "0",
                  "1 request was never completed: rank 0 started 1 to rank 1 (MPI_Psend_init, tag 5)");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(who_waits_for_its_own_partition_is_the_culprit, tear_down),
        cmocka_unit_test_teardown(a_sender_that_is_elsewhere_is_named_by_its_partitions, tear_down),
        cmocka_unit_test_teardown(a_partition_closes_a_cycle, tear_down),
        cmocka_unit_test_teardown(a_half_that_was_not_started_or_not_made_is_missing, tear_down),
        cmocka_unit_test_teardown(a_poll_in_vain_is_a_wait, tear_down),
        cmocka_unit_test_teardown(who_leaves_mpi_before_the_message_has_gone_is_named, tear_down),
        cmocka_unit_test_teardown(who_asks_now_and_then_is_not_said_to_do_nothing, tear_down),
        cmocka_unit_test_teardown(a_partition_that_is_marked_twice_is_named, tear_down),
        cmocka_unit_test_teardown(nobody_is_blamed_where_it_may_be_complete, tear_down),
        cmocka_unit_test_teardown(a_copy_goes_on_by_itself, tear_down),
        cmocka_unit_test_teardown(what_is_never_completed_is_a_warning, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
