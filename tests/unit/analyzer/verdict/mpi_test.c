#include "analyzer/verdict/verdict.h"

#include "analyzer/finding/words.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
/* clang-format off */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include "tests/unit/analyzer/verdict/judged.h"

static void interrupt_and_judge(void)
{
    interrupt_after(3000);
}

static void finish_and_judge(int ranks)
{
    const struct tg_verdict_input input = input_of_job();
    for (int rank = 0; rank < ranks; rank++) {
        TOGETHER(rank, "MPI_Finalize", 100, 0);
        LEAVE(rank, "MPI_Finalize");
    }
    for (int rank = 0; rank < ranks; rank++)
        FEED(FIRST_PID + rank, PROCESS_EXIT, process_exit, .how = TG_EXIT_STATUS);
    FEED(LAUNCHER, PROCESS_EXIT, process_exit, .how = TG_EXIT_STATUS);
    assert_null(tg_verdict_make(&input, &verdict));
}

/* RANK calls NAME at CODE for collective number NTH, which comes back at once: with REQUEST, or all have come. */
static void call(int rank, const char *name, uint64_t nth, uint64_t code, uint64_t request)
{
    TOGETHER(rank, name, nth, code);
    LEAVE_WITH(rank, name, request);
}

static void enter_with(int rank, const char *name, uint64_t request)
{
    FEED(FIRST_PID + rank, MPI_ENTER, mpi_enter, .call = name, .peer = -3, .tag = -3, .root = -3,
         .request = request);
}

static void start(int rank, uint64_t request)
{
    enter_with(rank, "MPI_Start", request);
    LEAVE_WITH(rank, "MPI_Start", request);
}

static void wait_whole(int rank, uint64_t request)
{
    enter_with(rank, "MPI_Wait", request);
    FEED(FIRST_PID + rank, MPI_COMPLETE, mpi_complete, .request = request, .peer = -3, .tag = -3);
    LEAVE(rank, "MPI_Wait");
}

/* ---- collectives that do not block */

/* All have begun it; one waits, the other computes for ever. One that tests may be at work for it. */
static void a_collective_that_one_neglects_has_a_culprit(void **state)
{
    for (int tests = 0; tests < 2; tests++) {
        begin_job(2);
        for (int rank = 0; rank < 2; rank++)
            call(rank, "MPI_Iallreduce", 1, 0x40, 7);
        if (tests) {
            enter_with(0, "MPI_Test", 7);
            LEAVE(0, "MPI_Test");
        }
        enter_with(1, "MPI_Wait", 7);
        interrupt_and_judge();
        if (!tests) {
            check_first(TG_FINDING_COLLECTIVE, "0", "All ranks have begun it; rank 0 did");
            tear_down(state);
        }
        for (size_t i = 0; tests && i < verdict.count; i++)
            assert_true(verdict.findings[i].kind == TG_FINDING_ASKED);
    }
}

/* Rank 1 loops; of rank 2, which another trace has, nobody knows whether it has come. Where rank 1 has come, too, rank 2
 * has not. */
static void of_who_is_not_in_the_trace_little_is_known(void **state)
{
    for (int all_come = 0; all_come < 2; all_come++) {
        begin_part_of_job(2, 3);
        TOGETHER(1, "MPI_Init", 0, 0x50);
        LEAVE(1, "MPI_Init");
        TOGETHER(0, "MPI_Barrier", 1, 0x40);
        if (all_come)
            TOGETHER(1, "MPI_Barrier", 1, 0x40);
        interrupt_and_judge();
        if (all_come)
            check_first(TG_FINDING_COLLECTIVE, "2", "Rank 2 is missing and not in the trace.");
        else
            check_first(TG_FINDING_COLLECTIVE, "1",
                        "Whether rank 2 has come is not known: it is not in the trace.");
        if (!all_come)
            tear_down(state);
    }
}

/* Rank 2 is through with it, and waits for rank 1, which is not, because of rank 0. */
static void who_waits_for_a_neglected_collective_is_no_culprit(void **state)
{
    (void)state;
    begin_job(3);
    for (int rank = 0; rank < 3; rank++)
        call(rank, "MPI_Iallreduce", 1, 0x40, 7);
    enter_with(2, "MPI_Wait", 7);
    LEAVE(2, "MPI_Wait");
    POINT(2, "MPI_Recv", 1, 5);
    enter_with(1, "MPI_Wait", 7);
    interrupt_and_judge();
    check_first(TG_FINDING_COLLECTIVE, "0", "All ranks have begun it; rank 0 did");
}

static void a_wait_for_a_collective_closes_a_cycle(void **state)
{
    (void)state;
    begin_job(2);
    call(0, "MPI_Iallreduce", 1, 0x40, 7);
    enter_with(0, "MPI_Wait", 7);
    POINT(1, "MPI_Recv", 0, 5);
    interrupt_and_judge();
    check_first(TG_FINDING_DEADLOCK, "0 1",
                "in MPI_Wait for MPI_Iallreduce (number 1 on MPI_COMM_WORLD) since");
}

/* Rank 0 has begun a barrier and waits for a message: it is not waiting in the barrier. */
static void a_wait_for_something_else_is_none_in_a_collective(void **state)
{
    (void)state;
    begin_job(3);
    call(0, "MPI_Ibarrier", 1, 0x40, 7);
    POINT(0, "MPI_Irecv", 2, 5);
    LEAVE_WITH(0, "MPI_Irecv", 9);
    enter_with(0, "MPI_Wait", 9);
    TOGETHER(1, "MPI_Init", 0, 0);
    LEAVE(1, "MPI_Init");
    interrupt_and_judge();
    for (size_t i = 0; i < verdict.count; i++)
        assert_int_not_equal(verdict.findings[i].kind, TG_FINDING_COLLECTIVE);
}

/* Two starts of a persistent one; the third is missing on rank 1. */
static void a_start_of_a_persistent_collective_that_is_missing(void **state)
{
    (void)state;
    begin_job(3);
    for (int rank = 0; rank < 3; rank++)
        call(rank, "MPI_Bcast_init", 1, 0x40, 7);
    for (int times = 0; times < 2; times++) {
        for (int rank = 0; rank < 3; rank++)
            start(rank, 7);
        for (int rank = 0; rank < 3; rank++)
            wait_whole(rank, 7);
    }
    for (int rank = 0; rank < 3; rank += 2) {
        start(rank, 7);
        enter_with(rank, "MPI_Wait", 7);
    }
    interrupt_and_judge();
    check_first(TG_FINDING_COLLECTIVE, "1",
                "Ranks 0 and 2 have been waiting for MPI_Bcast_init (start 3 of number 1 on MPI_COMM_WORLD)");
}

static void requests_that_are_no_messages_are_left_too(void **state)
{
    (void)state;
    begin_job(2);
    for (int rank = 0; rank < 2; rank++) {
        call(rank, "MPI_Ibarrier", 1, 0x40, 7);
        call(rank, "MPI_Barrier_init", 2, 0x50, 8);
    }
    wait_whole(0, 7);
    POINT(1, "MPI_Rput", 0, -3);
    LEAVE_WITH(1, "MPI_Rput", 9);
    POINT(0, "MPI_Rget", 1, -3);
    LEAVE_WITH(0, "MPI_Rget", 9);
    wait_whole(0, 9);
    finish_and_judge(2);
    assert_int_equal(verdict.count, 1);
    check_first(TG_FINDING_INCOMPLETE, "1",
                "2 requests were never completed: rank 1 started 1 (MPI_Ibarrier)");
    assert_non_null(strstr(verdict.findings[0].text, "(MPI_Rput)"));
}

/* ---- a call that one alone made before */

/* Rank 1 calls one more barrier, at 0x30, which the others take for theirs at 0x40. When it comes to that, one of the others
 * has come to the next scan: of these two it is the one that is ahead. */
static void of_two_that_differ_the_one_with_a_call_of_its_own_is_wrong(void **state)
{
    (void)state;
    begin_job(4);
    for (uint64_t nth = 1; nth <= 4; nth += 2) {
        for (int rank = 0; rank < 4; rank++)
            TOGETHER(rank, "MPI_Scan", nth, 0x20);
        for (int rank = 0; rank < 4; rank++)
            LEAVE(rank, "MPI_Scan");
        for (int rank = 0; rank < 4; rank++)
            TOGETHER(rank, "MPI_Barrier", nth + 1, nth == 3 && rank == 1 ? 0x30 : 0x40);
        for (int rank = 0; rank < 4; rank++)
            LEAVE(rank, "MPI_Barrier");
    }
    TOGETHER(1, "MPI_Barrier", 5, 0x40);
    TOGETHER(3, "MPI_Scan", 5, 0x20);
    POINT(0, "MPI_Recv", 1, 5);
    POINT(2, "MPI_Recv", 1, 5);
    interrupt_and_judge();
    check_first(TG_FINDING_MISMATCH, "1", "Rank 1 alone had called MPI_Barrier at 0x30 before, once.");
    assert_int_equal(verdict.findings[0].culprits[0].code, 0x30);
}

/* Rank 1 has taken another communicator than the others have. */
static void take_another_communicator(int64_t rank_told)
{
    enum { OTHER = 0x77 };
    begin_job(3);
    FEED(FIRST_PID + 1, IDENTITY, identity, .host = "h", .job = "j", .source = "R", .rank = rank_told,
         .size = 3);
    for (int rank = 0; rank < 3; rank++)
        FEED(FIRST_PID + rank, MPI_COMM, mpi_comm, .comm = OTHER, .parent = WORLD, .origin = TG_MPI_COMM_DUP,
             .rank = rank, .size = 3);
    TOGETHER(0, "MPI_Barrier", 1, 0x40);
    FEED(FIRST_PID + 1, MPI_ENTER, mpi_enter, .call = "MPI_Barrier", .comm = OTHER, .instance = 1, .peer = -3,
         .tag = -3, .root = -3, .code = 0x40);
    TOGETHER(2, "MPI_Barrier", 1, 0x40);
    interrupt_and_judge();
}

/* It comes first; of one without a rank that is not said. */
static void who_is_alone_on_a_communicator_comes_first(void **state)
{
    take_another_communicator(-1);
    for (size_t i = 0; i < verdict.count; i++)
        if (strstr(verdict.findings[i].text, "-1") != NULL)
            fail_msg("%s", verdict.findings[i].text);
    tear_down(state);
    take_another_communicator(1);
    check_first(TG_FINDING_DEADLOCK, "1 0",
                "Deadlock between rank 1 and rank 0: rank 1 has been in MPI_Barrier");
    check_first(TG_FINDING_DEADLOCK, "1 0",
                "used in another order. Only rank 1 is in it on communicator 0x77; ranks 0 and 2 are on "
                "MPI_COMM_WORLD.");
}

/* Rank 1 leaves out the broadcast at 0x30, and the others of rank 0 have not come there yet: it may as well be one that rank 0
 * made too often. */
static void of_two_alone_either_may_be_wrong(void **state)
{
    (void)state;
    begin_job(4);
    for (int rank = 0; rank < 4; rank++)
        TOGETHER(rank, "MPI_Barrier", 1, 0x20);
    LEAVE(0, "MPI_Barrier");
    LEAVE(1, "MPI_Barrier");
    TOGETHER(0, "MPI_Bcast", 2, 0x30);
    LEAVE(0, "MPI_Bcast");
    TOGETHER(1, "MPI_Bcast", 2, 0x40);
    LEAVE(1, "MPI_Bcast");
    TOGETHER(0, "MPI_Bcast", 3, 0x40);
    TOGETHER(1, "MPI_Reduce", 3, 0x50);
    interrupt_and_judge();
    check_first(TG_FINDING_MISMATCH, "0 1", "Mismatched collective calls (number 3 on MPI_COMM_WORLD)");
}

/* ---- messages that went astray */

/* Rank 0 takes whatever comes; rank 2 waits for its message, which went to rank 1; rank 1 waits for all. */
static void a_ring_by_choice_comes_of_a_message_that_went_astray(void **state)
{
    (void)state;
    begin_job(3);
    POINT(0, "MPI_Send", 1, 7);
    LEAVE(0, "MPI_Send");
    POINT(2, "MPI_Recv", 0, 7);
    TOGETHER(1, "MPI_Barrier", 1, 0x40);
    POINT(0, "MPI_Recv", -1, -1);
    interrupt_and_judge();
    check_first(TG_FINDING_RECEIVE, "0 2",
                "Rank 0 sent tag 7 to rank 1 by MPI_Send at 0.000000 s, but rank 2 waits for tag 7.");
}

/* No finding has WORDS. */
static void check_not_said(const char *words)
{
    assert_true(verdict.count > 0);
    for (size_t i = 0; i < verdict.count; i++)
        if (strstr(verdict.findings[i].text, words) != NULL)
            fail_msg("%s", verdict.findings[i].text);
}

static void be_outside(int rank)
{
    POINT(rank, "MPI_Initialized", -3, -3);
    LEAVE(rank, "MPI_Initialized");
}

/* Rank 0 loops, rank 1 sends to it, and rank 2 waits for rank 1: what rank 1 sends is not meant for rank 2. */
static void a_send_that_is_held_up_is_no_stray(void **state)
{
    (void)state;
    begin_job(4);
    POINT(1, "MPI_Ssend", 0, 7);
    POINT(2, "MPI_Recv", 1, 7);
    POINT(3, "MPI_Recv", 2, 7);
    be_outside(0);
    job.now_ns += UINT64_C(5000) * MS;
    interrupt_and_judge();
    check_first(TG_FINDING_SEND, "0", "The receiver is rank 0: outside MPI");
    check_not_said("rank 2 waits for tag 7");
}

/* The same where rank 0 waits for a message with a wrong tag, in a deadlock with itself. */
static void a_send_to_one_in_a_deadlock_is_no_stray(void **state)
{
    (void)state;
    begin_job(3);
    FEED(FIRST_PID + 0, MPI_ENTER, mpi_enter, .call = "MPI_Sendrecv", .comm = WORLD, .peer = 0, .tag = 777,
         .root = -3, .receives = 1, .from = 0, .from_tag = 7);
    POINT(1, "MPI_Ssend", 0, 7);
    POINT(2, "MPI_Recv", 1, 7);
    interrupt_and_judge();
    check_first(TG_FINDING_DEADLOCK, "0", "Rank 0 is sending tag 777, but rank 0 waits for tag 7");
    check_not_said("rank 2 waits for tag 7");
}

/* Rank 1 has sent tag 98 and loops: it may be about to send tag 99. */
static void who_is_outside_may_yet_send_the_right_tag(void **state)
{
    (void)state;
    begin_job(2);
    POINT(1, "MPI_Send", 0, 98);
    LEAVE(1, "MPI_Send");
    POINT(0, "MPI_Recv", 1, 99);
    job.now_ns += UINT64_C(5000) * MS;
    interrupt_and_judge();
    check_first(TG_FINDING_RECEIVE, "1", "The sender is rank 1: outside MPI");
    check_not_said("sent tag 98");
}

/* Rank 0 waits for tag 99 of anybody, and rank 2, which loops, may send it. */
static void what_comes_from_any_may_come_from_who_is_outside(void **state)
{
    (void)state;
    begin_job(3);
    POINT(1, "MPI_Send", 0, 98);
    LEAVE(1, "MPI_Send");
    POINT(1, "MPI_Recv", 0, 1);
    POINT(0, "MPI_Recv", -1, 99);
    be_outside(2);
    job.now_ns += UINT64_C(5000) * MS;
    interrupt_and_judge();
    check_not_said("sent tag 98");
    check_first(TG_FINDING_RECEIVE, "2", "It may come from rank 2: outside MPI");
}

/* Rank 2 sends to rank 1, which waits for rank 3; and that one for anybody's message, which rank 0 may send. */
static void a_send_is_not_for_any_who_may_get_another(void **state)
{
    (void)state;
    begin_job(4);
    POINT(2, "MPI_Ssend", 1, 7);
    POINT(1, "MPI_Recv", 3, 9);
    POINT(3, "MPI_Recv", -1, 7);
    be_outside(0);
    job.now_ns += UINT64_C(5000) * MS;
    interrupt_and_judge();
    check_not_said("rank 3 waits for tag 7");
}

/* Both wait, one to send with a tag that the other one does not take: that is said once. */
static void a_wrong_tag_between_two_is_told_once(void **state)
{
    (void)state;
    begin_job(2);
    POINT(0, "MPI_Recv", 1, 99);
    POINT(1, "MPI_Ssend", 0, 98);
    interrupt_and_judge();
    check_first(TG_FINDING_DEADLOCK, "0 1",
                "Rank 1 is sending tag 98, but rank 0 waits for tag 99: MPI_Ssend since");
    assert_non_null(strstr(verdict.findings[0].text, " So there is a deadlock between rank 0 and rank 1"));
    const char *said = strstr(verdict.findings[0].text, "is sending");
    assert_null(strstr(said + 1, "is sending"));
}

/* Rank 1 exchanges with both neighbours, and rank 0 does not come: that half is named which is waited for. */
static void of_an_exchange_the_missing_half_is_told(void **state)
{
    (void)state;
    begin_job(3);
    POINT(2, "MPI_Recv", 1, 6);
    FEED(FIRST_PID + 1, MPI_ENTER, mpi_enter, .call = "MPI_Sendrecv", .comm = WORLD, .peer = 2, .tag = 6,
         .root = -3, .receives = 1, .from = 0, .from_tag = 5);
    FEED(FIRST_PID + 2, MPI_LEAVE, mpi_leave, .call = "MPI_Recv", .peer = 1, .tag = 6);
    POINT(0, "MPI_Initialized", -3, -3);
    LEAVE(0, "MPI_Initialized");
    job.now_ns += UINT64_C(5000) * MS;
    interrupt_and_judge();
    check_first(TG_FINDING_RECEIVE, "0", "nobody has sent: MPI_Sendrecv from rank 0 (tag 5) since");
    const struct tg_verdict_input input = input_of_job();
    char *text = NULL;
    size_t size;
    FILE *stream = open_memstream(&text, &size);
    assert_non_null(stream);
    tg_words_process_state(stream, &input, 2);
    fclose(stream);
    if (strstr(text, "in MPI_Sendrecv to rank 2 (tag 6) and from rank 0 (tag 5) since") == NULL)
        fail_msg("%s", text);
    free(text);
}

/* A message with another tag than the one that is waited for has been sent: that is the cause, and comes first. */
static void a_wrong_tag_that_was_sent_comes_first(void **state)
{
    (void)state;
    begin_job(2);
    POINT(1, "MPI_Send", 0, 98);
    LEAVE(1, "MPI_Send");
    POINT(1, "MPI_Recv", 0, 1);
    POINT(0, "MPI_Recv", 1, 99);
    interrupt_and_judge();
    bool is_told = false;
    for (size_t i = 0; i < verdict.count; i++)
        is_told |= strstr(verdict.findings[i].text, "ank 1 sent tag 98 by MPI_Send at") != NULL;
    if (!is_told)
        fail_msg("%s", verdict.findings[0].text);
}

/* Rank 2 has waited for long, but rank 0, which serves rank 1 as well, is at work: nobody is blamed, and both are named. */
static void a_wait_for_one_who_is_at_work_is_told_with_him(void **state)
{
    (void)state;
    begin_job(3);
    POINT(2, "MPI_Recv", 0, 7);
    job.now_ns += UINT64_C(6000) * MS;
    POINT(0, "MPI_Send", 1, 7);
    LEAVE(0, "MPI_Send");
    interrupt_after(1);
    check_first(TG_FINDING_ASKED, "-1", "At that time rank 2 had been in MPI_Recv from rank 0 (tag 7)");
    assert_non_null(strstr(verdict.findings[0].text, "The sender is rank 0: outside MPI"));
    assert_null(strstr(verdict.findings[0].text, "not known"));
}

/* Of a choice the one that waits for a message is told, not one that waits for all. */
static void a_cycle_is_told_by_its_messages(void **state)
{
    (void)state;
    begin_job(3);
    TOGETHER(1, "MPI_Barrier", 1, 0x40);
    POINT(2, "MPI_Recv", 0, 2);
    POINT(0, "MPI_Recv", -1, 1);
    interrupt_and_judge();
    check_first(TG_FINDING_DEADLOCK, "0 2", "waiting for any of ranks 1-2, which are all waiting, to send");
}

/* The same where the one that waits for all began that before, and waits for its completion. */
static void a_cycle_is_told_by_its_messages_beside_a_collective_that_was_begun(void **state)
{
    (void)state;
    begin_job(3);
    call(1, "MPI_Iallreduce", 1, 0x40, 7);
    enter_with(1, "MPI_Wait", 7);
    POINT(2, "MPI_Recv", 0, 2);
    POINT(0, "MPI_Recv", -1, 1);
    interrupt_and_judge();
    check_first(TG_FINDING_DEADLOCK, "0 2", "rank 2 has been in MPI_Recv from rank 0 (tag 2)");
}

/* RANK begins to send to PEER or to receive from it, by REQUEST. */
static void begin(int rank, const char *name, int64_t peer, uint64_t request)
{
    POINT(rank, name, peer, rank);
    LEAVE_WITH(rank, name, request);
}

/* Who waits for both halves of a halo exchange waits for what it receives: a small send is over without its receiver. */
static void of_an_exchange_by_requests_the_receive_is_told(void **state)
{
    (void)state;
    const struct tg_mpi_request_item items[] = {{.request = 7}, {.request = 8}};
    begin_job(3);
    for (int rank = 0; rank < 3; rank += 2) {
        begin(rank, "MPI_Isend", rank == 0, 7);
        begin(rank, "MPI_Irecv", rank == 0, 8);
        enter_with(rank, "MPI_Waitall", 0);
        FEED(FIRST_PID + rank, MPI_REQUESTS, mpi_requests, .requests = {.items = items, .count = 2});
    }
    TOGETHER(1, "MPI_Allreduce", 1, 0x40);
    interrupt_and_judge();
    check_first(TG_FINDING_DEADLOCK, "0 1", "waiting for rank 1 to send;");
    check_finding(1, TG_FINDING_RECEIVE, "0", "nobody has sent: MPI_Irecv from rank 0");
}

/* Rank 1 has freed the communicator, as at its end, in which rank 0 waits for it. */
static void who_has_freed_a_communicator_is_still_known(void **state)
{
    enum { OTHER = 0x77 };
    (void)state;
    struct tg_mpi_member members[] = {{.world_rank = 0}, {.world_rank = 1}};
    begin_job(2);
    FEED(FIRST_PID, MPI_COMM, mpi_comm, .comm = OTHER, .parent = WORLD, .origin = TG_MPI_COMM_DUP, .rank = 0,
         .size = 2, .members = {.items = members, .count = 2});
    FEED(FIRST_PID + 1, MPI_COMM, mpi_comm, .comm = OTHER, .parent = WORLD, .origin = TG_MPI_COMM_DUP,
         .rank = 1, .size = 2);
    FEED(FIRST_PID, MPI_ENTER, mpi_enter, .call = "MPI_Recv", .comm = OTHER, .peer = 1, .tag = 5, .root = -3);
    FEED(FIRST_PID + 1, MPI_COMM, mpi_comm, .comm = OTHER, .origin = TG_MPI_COMM_FREED, .rank = 1, .size = 2);
    TOGETHER(1, "MPI_Finalize", 1, 0x40);
    interrupt_and_judge();
    check_first(TG_FINDING_RECEIVE, "1", "The sender is rank 1: in MPI_Finalize since");
}

/* A wait that is no longer than earlier ones is one all the same. */
static void a_wait_as_usual_is_told_with_its_length(void **state)
{
    (void)state;
    begin_job(2);
    POINT(0, "MPI_Recv", 1, 5);
    job.now_ns += UINT64_C(1000) * MS;
    POINT(1, "MPI_Send", 0, 5);
    LEAVE(1, "MPI_Send");
    LEAVE(0, "MPI_Recv");
    enter_with(0, "MPI_Wait", 0);
    interrupt_after(500);
    check_first(
        TG_FINDING_ASKED, "-1",
        "At that time it was busy. Waits in MPI had lasted at most 500.0 ms; earlier ones took up to");
}

/* Who went on after the job had been asked to end may have waited at that moment, which its later calls hide. */
static void a_wait_that_later_calls_hide_is_not_denied(void **state)
{
    (void)state;
    begin_job(2);
    POINT(0, "MPI_Recv", 1, 5);
    FEED(LAUNCHER, SIGNAL, signal, .signal = SIGINT, .sender_pid = 7, .sender = "sh");
    POINT(1, "MPI_Send", 0, 5);
    LEAVE(1, "MPI_Send");
    LEAVE(0, "MPI_Recv");
    POINT(0, "MPI_Recv", 1, 5);
    const struct tg_verdict_input input = input_of_job();
    assert_null(tg_verdict_make(&input, &verdict));
    check_first(TG_FINDING_ASKED, "-1", "No process had been waiting for another for long.");
}

/* ---- windows */

enum { WINDOW = 50 };
#define AT_WINDOW(rank, name, peer_)                                                                         \
    FEED(FIRST_PID + (rank), MPI_ENTER, mpi_enter, .call = (name), .comm = WINDOW, .peer = (peer_),          \
         .tag = -3, .root = -3)

static void at_window(int rank, const char *name, int64_t peer)
{
    AT_WINDOW(rank, name, peer);
    LEAVE(rank, name);
}

static void begin_window(int ranks)
{
    begin_job(ranks);
    for (int rank = 0; rank < ranks; rank++)
        FEED(FIRST_PID + rank, MPI_COMM, mpi_comm, .comm = WINDOW, .origin = TG_MPI_COMM_WINDOW, .rank = rank,
             .size = ranks);
}

static void a_lock_of_all_waits_for_whoever_has_locked_one(void **state)
{
    (void)state;
    begin_window(3);
    at_window(1, "MPI_Win_lock", 0);
    at_window(1, "MPI_Win_flush", 0);
    for (int rank = 0; rank < 3; rank += 2)
        AT_WINDOW(rank, "MPI_Win_lock_all", -3);
    interrupt_and_judge();
    check_first(TG_FINDING_WINDOW, "1", "They wait for rank 1, which has locked that memory (MPI_Win_lock)");
}

/* However many want one lock, it is one finding. */
static void all_who_want_one_lock_are_one_finding(void **state)
{
    (void)state;
    begin_window(5);
    at_window(1, "MPI_Win_lock", 0);
    at_window(1, "MPI_Win_flush", 0);
    for (int rank = 2; rank < 5; rank++)
        AT_WINDOW(rank, "MPI_Win_lock", 0);
    TOGETHER(0, "MPI_Barrier", 1, 0x40);
    interrupt_and_judge();
    check_first(TG_FINDING_WINDOW, "1",
                "Ranks 2-4 have been waiting for the memory of another rank: MPI_Win_lock of rank 0");
    assert_int_equal(verdict.findings[0].waiting, 3);
    assert_non_null(strstr(verdict.findings[0].text, "They wait for rank 1, which has locked that memory"));
    for (size_t i = 1; i < verdict.count; i++)
        assert_int_not_equal(verdict.findings[i].kind, TG_FINDING_WINDOW);
}

/* ---- polls: of those in vain only the first is recorded */

/* Rank 1 polls for what rank 2, which is away, does not send; alone it is said to be outside MPI or polling. */
static void who_polls_is_not_blamed_beside_who_is_away(void **state)
{
    for (int is_alone = 0; is_alone < 2; is_alone++) {
        begin_job(3);
        POINT(2, "MPI_Send", 0, 5);
        LEAVE(2, "MPI_Send");
        POINT(1, "MPI_Iprobe", 2, 7);
        LEAVE(1, "MPI_Iprobe");
        TOGETHER(0, "MPI_Barrier", 1, 0x40);
        if (is_alone)
            TOGETHER(2, "MPI_Barrier", 1, 0x40);
        interrupt_and_judge();
        check_first(TG_FINDING_COLLECTIVE, is_alone ? "1" : "2",
                    "Rank 1 is missing: outside MPI or polling since");
        assert_non_null(
            strstr(verdict.findings[0].text, "last recorded call MPI_Iprobe from rank 2 (tag 7)"));
        if (!is_alone)
            tear_down(state);
    }
}

/* ---- calls whose partners are not recorded */

static void a_client_whose_server_never_accepts_is_told(void **state)
{
    for (int accepts = 0; accepts < 2; accepts++) {
        begin_job(2);
        TOGETHER(0, "MPI_Comm_connect", 0, 0x40);
        if (accepts)
            TOGETHER(1, "MPI_Comm_accept", 0, 0x50);
        interrupt_and_judge();
        const char *text = verdict.findings[0].text;
        assert_non_null(
            strstr(text, "It is not known who was waited for then: rank 0 had been in MPI_Comm_connect"));
        assert_int_equal(strstr(text, "No process in this trace was in MPI_Comm_accept then.") == NULL,
                         accepts);
        if (!accepts)
            tear_down(state);
    }
}

static void who_is_not_in_the_making_of_a_communicator_is_told(void **state)
{
    (void)state;
    begin_job(3);
    TOGETHER(0, "MPI_Comm_create_from_group", 0, 0x40);
    TOGETHER(2, "MPI_Comm_create_from_group", 0, 0x40);
    interrupt_and_judge();
    const char *text = verdict.findings[0].text;
    assert_non_null(strstr(text, "It is not known who was waited for then"));
    assert_non_null(strstr(text, "which ones those are is not recorded. Rank 1 was not in it."));
}

/* ---- the end of a Python program */

static char *name_python(void *context, size_t process, uint64_t address, char *buffer, size_t size)
{
    (void)process;
    snprintf(buffer, size, "%s+0x%x", (const char *)context, (unsigned)address);
    return buffer;
}

static void an_end_that_python_calls_has_no_place_in_it(void **state)
{
    static const char *const modules[] = {"python3.11", "libpython3.11.so.1.0", "solver"};
    for (size_t i = 0; i < 3; i++) {
        begin_job(2);
        POINT(0, "MPI_Send", 1, 5);
        LEAVE(0, "MPI_Send");
        TOGETHER(1, "MPI_Finalize", 1, 0x458f30);
        struct tg_verdict_input input = input_of_job();
        input.namer = (struct tg_code_namer){.context = (void *)(uintptr_t)modules[i], .name = name_python};
        job.now_ns += UINT64_C(3000) * MS;
        FEED(LAUNCHER, SIGNAL, signal, .signal = SIGINT, .sender_pid = 7, .sender = "sh");
        assert_null(tg_verdict_make(&input, &verdict));
        check_first(TG_FINDING_COLLECTIVE, "0",
                    i < 2 ? " at the end of the program (called by Python as it exits)"
                          : " in solver+0x458f30");
        if (i < 2)
            tear_down(state);
    }
}

static void a_lock_waits_for_whoever_has_locked_all(void **state)
{
    (void)state;
    begin_window(3);
    at_window(1, "MPI_Win_lock_all", -3);
    AT_WINDOW(0, "MPI_Win_lock", 2);
    TOGETHER(2, "MPI_Barrier", 1, 0x40);
    interrupt_and_judge();
    check_first(TG_FINDING_WINDOW, "1", "which has locked the memory of all (MPI_Win_lock_all)");
}

static void a_flush_of_all_needs_whoever_is_outside_of_mpi(void **state)
{
    (void)state;
    begin_window(3);
    for (int rank = 0; rank < 3; rank++)
        at_window(rank, "MPI_Win_lock_all", -3);
    TOGETHER(1, "MPI_Barrier", 1, 0x40);
    AT_WINDOW(2, "MPI_Win_flush_all", -3);
    interrupt_and_judge();
    check_first(TG_FINDING_WINDOW, "0", "memory of all ranks: MPI_Win_flush_all since");
}

static void locks_in_opposite_order_are_a_deadlock(void **state)
{
    (void)state;
    begin_window(2);
    for (int rank = 0; rank < 2; rank++) {
        at_window(rank, "MPI_Win_lock", rank);
        at_window(rank, "MPI_Win_flush", rank);
    }
    for (int rank = 0; rank < 2; rank++)
        AT_WINDOW(rank, "MPI_Win_lock", 1 - rank);
    interrupt_and_judge();
    check_first(TG_FINDING_DEADLOCK, "0 1", "waiting for rank 1, which has locked that memory, to unlock it");
}

/* A rank that has opened its memory is not waited for; a rank that waits in MPI is less likely than one that is outside. */
static void access_waits_for_memory_that_nobody_opened(void **state)
{
    (void)state;
    begin_window(4);
    at_window(2, "MPI_Win_post", -3);
    TOGETHER(3, "MPI_Barrier", 1, 0x40);
    AT_WINDOW(1, "MPI_Win_start", -3);
    interrupt_and_judge();
    check_first(TG_FINDING_WINDOW, "0", "It may be waiting for rank 0");
}

/* Nobody has begun access, and all others wait for the one that waits for it. */
static void access_that_nobody_begins_is_a_deadlock(void **state)
{
    (void)state;
    begin_window(2);
    at_window(0, "MPI_Win_post", -3);
    AT_WINDOW(0, "MPI_Win_wait", -3);
    TOGETHER(1, "MPI_Barrier", 1, 0x40);
    interrupt_and_judge();
    check_first(TG_FINDING_DEADLOCK, "0 1", "to end its access to that memory (MPI_Win_complete)");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(a_collective_that_one_neglects_has_a_culprit, tear_down),
        cmocka_unit_test_teardown(of_who_is_not_in_the_trace_little_is_known, tear_down),
        cmocka_unit_test_teardown(who_waits_for_a_neglected_collective_is_no_culprit, tear_down),
        cmocka_unit_test_teardown(a_wait_for_a_collective_closes_a_cycle, tear_down),
        cmocka_unit_test_teardown(a_wait_for_something_else_is_none_in_a_collective, tear_down),
        cmocka_unit_test_teardown(a_start_of_a_persistent_collective_that_is_missing, tear_down),
        cmocka_unit_test_teardown(requests_that_are_no_messages_are_left_too, tear_down),
        cmocka_unit_test_teardown(of_two_that_differ_the_one_with_a_call_of_its_own_is_wrong, tear_down),
        cmocka_unit_test_teardown(of_two_alone_either_may_be_wrong, tear_down),
        cmocka_unit_test_teardown(who_is_alone_on_a_communicator_comes_first, tear_down),
        cmocka_unit_test_teardown(a_ring_by_choice_comes_of_a_message_that_went_astray, tear_down),
        cmocka_unit_test_teardown(a_send_that_is_held_up_is_no_stray, tear_down),
        cmocka_unit_test_teardown(a_send_to_one_in_a_deadlock_is_no_stray, tear_down),
        cmocka_unit_test_teardown(who_is_outside_may_yet_send_the_right_tag, tear_down),
        cmocka_unit_test_teardown(what_comes_from_any_may_come_from_who_is_outside, tear_down),
        cmocka_unit_test_teardown(a_send_is_not_for_any_who_may_get_another, tear_down),
        cmocka_unit_test_teardown(a_wrong_tag_between_two_is_told_once, tear_down),
        cmocka_unit_test_teardown(of_an_exchange_the_missing_half_is_told, tear_down),
        cmocka_unit_test_teardown(a_wrong_tag_that_was_sent_comes_first, tear_down),
        cmocka_unit_test_teardown(a_wait_for_one_who_is_at_work_is_told_with_him, tear_down),
        cmocka_unit_test_teardown(a_cycle_is_told_by_its_messages, tear_down),
        cmocka_unit_test_teardown(a_cycle_is_told_by_its_messages_beside_a_collective_that_was_begun,
                                  tear_down),
        cmocka_unit_test_teardown(of_an_exchange_by_requests_the_receive_is_told, tear_down),
        cmocka_unit_test_teardown(who_has_freed_a_communicator_is_still_known, tear_down),
        cmocka_unit_test_teardown(a_wait_as_usual_is_told_with_its_length, tear_down),
        cmocka_unit_test_teardown(a_wait_that_later_calls_hide_is_not_denied, tear_down),
        cmocka_unit_test_teardown(a_lock_of_all_waits_for_whoever_has_locked_one, tear_down),
        cmocka_unit_test_teardown(a_lock_waits_for_whoever_has_locked_all, tear_down),
        cmocka_unit_test_teardown(all_who_want_one_lock_are_one_finding, tear_down),
        cmocka_unit_test_teardown(who_polls_is_not_blamed_beside_who_is_away, tear_down),
        cmocka_unit_test_teardown(a_client_whose_server_never_accepts_is_told, tear_down),
        cmocka_unit_test_teardown(who_is_not_in_the_making_of_a_communicator_is_told, tear_down),
        cmocka_unit_test_teardown(an_end_that_python_calls_has_no_place_in_it, tear_down),
        cmocka_unit_test_teardown(a_flush_of_all_needs_whoever_is_outside_of_mpi, tear_down),
        cmocka_unit_test_teardown(locks_in_opposite_order_are_a_deadlock, tear_down),
        cmocka_unit_test_teardown(access_waits_for_memory_that_nobody_opened, tear_down),
        cmocka_unit_test_teardown(access_that_nobody_begins_is_a_deadlock, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
