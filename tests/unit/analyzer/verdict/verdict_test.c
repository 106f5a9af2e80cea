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

static struct tg_verdict verdict;

static void judge(void)
{
    const struct tg_verdict_input input = input_of_job();
    assert_null(tg_verdict_make(&input, &verdict));
}

static int tear_down(void **state)
{
    (void)state;
    tg_verdict_deinit(&verdict);
    end_job();
    return 0;
}

/* The finding number NTH is of KIND, blames RANK alone and says WORDS. */
static void check_finding(size_t nth, enum tg_finding_kind kind, int64_t rank, const char *words)
{
    assert_true(nth < verdict.count);
    const struct tg_finding *finding = &verdict.findings[nth];
    if (finding->kind != kind || strstr(finding->text, words) == NULL)
        fail_msg("%s: %s", tg_finding_kind_name(finding->kind), finding->text);
    assert_int_equal(finding->n_culprits, 1);
    assert_int_equal(finding->culprits[0].rank, rank);
}

/* RANK comes to collective number NTH on MPI_COMM_WORLD, and leaves it if all have come. */
static void barrier_of(int ranks, uint64_t nth)
{
    for (int rank = 0; rank < ranks; rank++)
        TOGETHER(rank, "MPI_Barrier", nth, 0x40);
    for (int rank = 0; rank < ranks; rank++)
        LEAVE(rank, "MPI_Barrier");
}

static void interrupt_after(uint64_t ms)
{
    job.now_ns += ms * MS;
    FEED(LAUNCHER, SIGNAL, signal, .signal = SIGINT, .sender_pid = 7, .sender = "sh");
}

static void finish(int ranks)
{
    for (int rank = 0; rank < ranks; rank++) {
        TOGETHER(rank, "MPI_Finalize", 100, 0);
        LEAVE(rank, "MPI_Finalize");
    }
    for (int rank = 0; rank < ranks; rank++)
        FEED(FIRST_PID + rank, PROCESS_EXIT, process_exit, .how = TG_EXIT_STATUS);
    FEED(LAUNCHER, PROCESS_EXIT, process_exit, .how = TG_EXIT_STATUS);
}

static void of_two_ranks_the_one_in_finalize_has_left_the_loop(void **state)
{
    (void)state;
    begin_job(2);
    barrier_of(2, 1);
    TOGETHER(0, "MPI_Barrier", 2, 0x40);
    TOGETHER(1, "MPI_Finalize", 2, 0x50);
    interrupt_after(3000);
    judge();
    check_finding(0, TG_FINDING_MISMATCH, 1, "rank 1 called MPI_Finalize");
}

static void a_call_that_the_one_in_finalize_never_made_may_be_too_many(void **state)
{
    (void)state;
    begin_job(2);
    TOGETHER(0, "MPI_Barrier", 1, 0x40);
    TOGETHER(1, "MPI_Finalize", 1, 0x50);
    interrupt_after(3000);
    judge();
    assert_int_equal(verdict.findings[0].n_culprits, 2);
}

static void a_receive_from_a_rank_in_finalize_is_no_deadlock(void **state)
{
    (void)state;
    begin_job(2);
    POINT(0, "MPI_Recv", 1, 5);
    TOGETHER(1, "MPI_Finalize", 1, 0);
    interrupt_after(3000);
    judge();
    check_finding(0, TG_FINDING_RECEIVE, 1, "The sender is rank 1: in MPI_Finalize");
}

static void a_ring_by_choice_comes_of_who_is_gone(void **state)
{
    (void)state;
    begin_job(3);
    POINT(0, "MPI_Recv", -1, 5); /* from 1 or 2 */
    POINT(1, "MPI_Recv", 0, 6);
    TOGETHER(2, "MPI_Finalize", 1, 0);
    interrupt_after(3000);
    judge();
    for (size_t i = 0; i < verdict.count; i++)
        assert_int_not_equal(verdict.findings[i].kind, TG_FINDING_DEADLOCK);
}

/* Rank 1 meets a rank in MPI_Finalize, as rank 0 does: what rank 3 sends it is no mistake of either. */
static void one_in_finalize_whom_two_need_has_left_too_early(void **state)
{
    (void)state;
    begin_job(4);
    POINT(0, "MPI_Recv", 2, 5);
    POINT(1, "MPI_Recv", 2, 6);
    POINT(3, "MPI_Send", 1, 6);
    TOGETHER(2, "MPI_Finalize", 1, 0);
    interrupt_after(3000);
    judge();
    check_finding(0, TG_FINDING_RECEIVE, 2, "The sender is rank 2: in MPI_Finalize");
    check_finding(1, TG_FINDING_RECEIVE, 2, "The sender is rank 2: in MPI_Finalize");
}

/* Rank 1 waits in MPI too, for an earlier collective that it has begun. */
static void of_two_missing_the_one_outside_of_mpi_is_the_culprit(void **state)
{
    (void)state;
    begin_job(3);
    TOGETHER(0, "MPI_Barrier", 1, 0x40);
    POINT(1, "MPI_Wait", -3, -3);
    interrupt_after(3000);
    judge();
    check_finding(0, TG_FINDING_COLLECTIVE, 2, "Rank 2 is missing");
}

/* Rank 0 needs rank 1 for its lock; rank 2 needs rank 0, which is no culprit. */
static void a_lock_of_a_window_needs_its_rank(void **state)
{
    for (int is_busy = 0; is_busy < 2; is_busy++) {
        begin_job(3);
        if (is_busy) {
            POINT(1, "MPI_Send", 0, 5);
            LEAVE(1, "MPI_Send");
        } else {
            TOGETHER(1, "MPI_Finalize", 2, 0);
        }
        POINT(0, "MPI_Win_lock", 1, -3);
        TOGETHER(2, "MPI_Barrier", 1, 0x40);
        interrupt_after(3000);
        judge();
        check_finding(0, TG_FINDING_WINDOW, 1, "MPI_Win_lock of rank 1 since");
        check_finding(0, TG_FINDING_WINDOW, 1, is_busy ? "outside MPI" : "in MPI_Finalize");
        if (!is_busy)
            tear_down(state);
    }
}

static void a_lock_of_a_window_that_somebody_keeps_blames_nobody(void **state)
{
    (void)state;
    begin_job(3);
    POINT(0, "MPI_Win_lock", 1, -3);
    POINT(1, "MPI_Recv", 2, 5);
    interrupt_after(3000);
    judge();
    for (size_t i = 0; i < verdict.count; i++)
        assert_int_not_equal(verdict.findings[i].kind, TG_FINDING_WINDOW);
}

/* Rank 0 has locked the memory of rank 1, which rank 2 wants: who has it is the culprit, not who waits. */
static void who_has_locked_memory_is_told(void **state)
{
    for (int waits = 0; waits < 2; waits++) {
        begin_job(4);
        POINT(0, "MPI_Win_lock", 1, -3);
        LEAVE(0, "MPI_Win_lock");
        POINT(3, "MPI_Win_lock", 3, -3); /* of other memory */
        LEAVE(3, "MPI_Win_lock");
        if (waits)
            POINT(0, "MPI_Recv", 2, 5);
        TOGETHER(1, "MPI_Barrier", 1, 0x40);
        POINT(2, "MPI_Win_lock", 1, -3);
        interrupt_after(3000);
        FEED(FIRST_PID, PROCESS_EXIT, process_exit, .how = TG_EXIT_SIGNAL, .status = SIGTERM);
        judge();
        if (waits) {
            assert_int_equal(verdict.findings[0].kind, TG_FINDING_DEADLOCK);
            assert_int_equal(verdict.findings[0].n_culprits, 2);
            assert_non_null(strstr(verdict.findings[0].text,
                                   "waiting for rank 0, which has locked that memory, to unlock it"));
        } else {
            check_finding(0, TG_FINDING_WINDOW, 0,
                          "It waits for rank 0, which has locked that memory (MPI_Win_lock)");
            tear_down(state);
        }
    }
}

/* Of two that have locked it, the one whose use was completed has it; else it is not known which. */
static void of_two_locks_the_one_that_was_used_is_held(void **state)
{
    for (int is_used = 0; is_used < 2; is_used++) {
        begin_job(4);
        for (int rank = 2; rank < 4; rank++) {
            POINT(rank, "MPI_Win_lock", 1, -3);
            LEAVE(rank, "MPI_Win_lock");
        }
        if (is_used) {
            POINT(3, "MPI_Win_flush", 1, -3);
            LEAVE(3, "MPI_Win_flush");
        }
        POINT(1, "MPI_Recv", 3, 5);
        POINT(0, "MPI_Win_lock", 1, -3);
        interrupt_after(3000);
        judge();
        bool is_told = false;
        for (size_t i = 0; i < verdict.count; i++)
            if (verdict.findings[i].kind == TG_FINDING_WINDOW) {
                is_told = true;
                check_finding(i, TG_FINDING_WINDOW, 3, "It waits for rank 3, which has locked that memory");
            }
        assert_true(is_told == (bool)is_used);
        if (!is_used)
            tear_down(state);
    }
}

static void a_lock_that_was_released_is_in_nobodys_way(void **state)
{
    (void)state;
    begin_job(3);
    POINT(2, "MPI_Win_lock", 1, -3);
    LEAVE(2, "MPI_Win_lock");
    POINT(2, "MPI_Win_unlock", 1, -3);
    LEAVE(2, "MPI_Win_unlock");
    POINT(1, "MPI_Recv", 0, 5);
    POINT(0, "MPI_Win_unlock", 1, -3);
    interrupt_after(3000);
    judge();
    for (size_t i = 0; i < verdict.count; i++)
        assert_int_not_equal(verdict.findings[i].kind, TG_FINDING_WINDOW);
}

/* Rank 0 has posted; rank 1 has begun access and not completed it, but waits for rank 0. */
static void access_that_does_not_end_is_told(void **state)
{
    (void)state;
    begin_job(2);
    POINT(1, "MPI_Win_start", -3, -3);
    LEAVE(1, "MPI_Win_start");
    TOGETHER(1, "MPI_Barrier", 1, 0x40);
    POINT(0, "MPI_Win_wait", -3, -3);
    interrupt_after(3000);
    judge();
    assert_int_equal(verdict.findings[0].kind, TG_FINDING_DEADLOCK);
    assert_non_null(strstr(verdict.findings[0].text, "to call MPI_Win_complete"));
}

/* Ranks 0 and 1 are one group, 2 and 3 the other; in it rank 2 is number 0. */
static void a_root_of_the_other_group_that_is_none_is_told(void **state)
{
    static const int64_t told[2][4] = {{-2, -2, 0, 0}, {-4, -2, 0, 0}};
    for (int is_right = 0; is_right < 2; is_right++) {
        begin_job(4);
        const struct tg_mpi_member members[] = {{.world_rank = 0}, {.world_rank = 1}};
        for (int rank = 0; rank < 4; rank++) { /* the first ones leave before the others are known */
            FEED(FIRST_PID + rank, MPI_COMM, mpi_comm, .comm = 0x77, .origin = TG_MPI_COMM_INTERCOMM,
                 .rank = rank % 2, .size = 2, .members = {members, rank == 0 ? 2 : 0});
            FEED(FIRST_PID + rank, MPI_ENTER, mpi_enter, .call = "MPI_Bcast", .comm = 0x77, .instance = 1,
                 .peer = -3, .tag = -3, .root = told[is_right][rank], .code = 0x40);
            if (rank < 2)
                LEAVE(rank, "MPI_Bcast");
        }
        TOGETHER(0, "MPI_Barrier", 1, 0x50);
        TOGETHER(1, "MPI_Barrier", 1, 0x50);
        interrupt_after(3000);
        judge();
        if (is_right) {
            for (size_t i = 0; i < verdict.count; i++)
                assert_int_not_equal(verdict.findings[i].kind, TG_FINDING_MISMATCH);
        } else {
            check_finding(0, TG_FINDING_MISMATCH, 0,
                          "with root 0 of the other group, which is rank 0; but that one");
            assert_non_null(strstr(verdict.findings[0].text, "Ranks 2-3 called MPI_Bcast"));
            tear_down(state);
        }
    }
}

/* The stack of a rank that waits has Python's own line. */
static void a_wait_in_python_has_its_line(void **state)
{
    (void)state;
    struct tg_stack_model *stacks;
    begin_job(2);
    TOGETHER(0, "MPI_Barrier", 1, 0x40);
    interrupt_after(3000);
    const struct tg_stack_frame frames[] = {{.kind = TG_FRAME_CODE,
                                             .module = "/lib/libmpi.so.40",
                                             .build_id = "",
                                             .function = "",
                                             .file = "",
                                             .pc = 0x7000},
                                            {.kind = TG_FRAME_PYTHON,
                                             .module = "",
                                             .build_id = "",
                                             .function = "exchange",
                                             .file = "/w/wait.py",
                                             .line = 6}};
    const struct tg_event stack = {.time_ns = job.now_ns,
                                   .pid = FIRST_PID,
                                   .tid = FIRST_PID,
                                   .kind = TG_EVENT_STACK,
                                   .stack = {.reason = TG_STACK_JOB_SIGNAL, .frames = {frames, 2}}};
    assert_null(tg_stack_model_create(&stacks));
    assert_null(tg_stack_model_feed(stacks, &stack, 1));
    struct tg_verdict_input input = input_of_job();
    input.stacks = stacks;
    assert_null(tg_verdict_make(&input, &verdict));
    tg_stack_model_destroy(stacks);
    check_finding(0, TG_FINDING_COLLECTIVE, 1, "in exchange (wait.py:6) since");
}

static void who_waits_for_a_sleeper_is_no_culprit(void **state)
{
    (void)state;
    begin_job(3);
    POINT(1, "MPI_Isend", 0, 5);
    LEAVE_WITH(1, "MPI_Isend", 7); /* and sleeps: rank 0 has posted the receive, and gets nothing */
    POINT(0, "MPI_Recv", 1, 5);
    POINT(2, "MPI_Recv", 0, 6);
    interrupt_after(3000);
    judge();
    check_finding(0, TG_FINDING_RECEIVE, 1, "The sender is rank 1: outside MPI");
}

static void a_busy_partner_is_not_missing(void **state)
{
    (void)state;
    begin_job(3);
    POINT(0, "MPI_Recv", 1, 5);
    job.now_ns += UINT64_C(5000) * MS;
    POINT(1, "MPI_Ssend", 2, 7); /* rank 1 is at work */
    POINT(2, "MPI_Recv", 1, 7);
    FEED(FIRST_PID + 2, MPI_LEAVE, mpi_leave, .call = "MPI_Recv", .peer = 1, .tag = 7);
    LEAVE(1, "MPI_Ssend");
    interrupt_after(100);
    judge();
    for (size_t i = 0; i < verdict.count; i++)
        assert_int_equal(verdict.findings[i].kind, TG_FINDING_ASKED);
}

static void messages_and_requests_that_are_left_are_warnings(void **state)
{
    (void)state;
    begin_job(2);
    for (int i = 0; i < 2; i++) {
        POINT(0, "MPI_Send", 1, 5);
        LEAVE(0, "MPI_Send");
    }
    POINT(1, "MPI_Irecv", 0, 9);
    LEAVE_WITH(1, "MPI_Irecv", 7);
    finish(2);
    judge();
    assert_int_equal(verdict.count, 2);
    check_finding(0, TG_FINDING_UNRECEIVED, 0, "2 messages were never received: rank 0 sent 2 to rank 1");
    check_finding(1, TG_FINDING_INCOMPLETE, 1, "1 request was never completed");
    assert_true(verdict.findings[0].is_warning && verdict.findings[1].is_warning);
}

/* Ranks 1 and 2 are numbers 1 and 0 of a communicator of theirs. */
static void begin_turned_pair(void)
{
    static const struct tg_mpi_member members[] = {{.world_rank = 2}, {.world_rank = 1}};
    begin_job(3);
    for (int rank = 1; rank < 3; rank++)
        FEED(FIRST_PID + rank, MPI_COMM, mpi_comm, .comm = 0x77, .parent = WORLD, .origin = TG_MPI_COMM_SPLIT,
             .rank = 2 - rank, .size = 2, .members = {members, 2});
}

static void enter_pair(int rank, const char *name, int64_t peer, int64_t tag)
{
    FEED(FIRST_PID + rank, MPI_ENTER, mpi_enter, .call = name, .comm = 0x77, .peer = peer, .tag = tag,
         .root = -3);
}

static void leftovers_of_other_communicators_name_ranks_of_the_job(void **state)
{
    (void)state;
    begin_turned_pair();
    for (int i = 0; i < 3; i++) {
        enter_pair(1, "MPI_Send", 0, 5 + i);
        LEAVE(1, "MPI_Send");
    }
    POINT(1, "MPI_Send", 2, 9); /* the same two */
    LEAVE(1, "MPI_Send");
    finish(3);
    judge();
    assert_int_equal(verdict.count, 1);
    check_finding(0, TG_FINDING_UNRECEIVED, 1,
                  "4 messages were never received: rank 1 sent 4 to rank 2 (MPI_Send, tags 5 to 9)");
}

static void a_call_says_that_its_rank_is_one_of_its_communicator(void **state)
{
    (void)state;
    begin_turned_pair();
    enter_pair(1, "MPI_Recv", 0, 5);
    interrupt_after(3000);
    judge();
    check_finding(0, TG_FINDING_RECEIVE, 2, "MPI_Recv from rank 0 of its communicator (tag 5)");
    assert_non_null(strstr(verdict.findings[0].text, "The sender is rank 2"));
}

static void what_a_freed_receive_got_is_not_known(void **state)
{
    (void)state;
    begin_job(2);
    POINT(1, "MPI_Irecv", 0, 5);
    LEAVE_WITH(1, "MPI_Irecv", 7);
    TOGETHER(1, "MPI_Request_free", 0, 0);
    LEAVE_WITH(1, "MPI_Request_free", 7);
    POINT(0, "MPI_Send", 1, 5);
    LEAVE(0, "MPI_Send");
    finish(2);
    judge();
    assert_int_equal(verdict.count, 0);
}

static void a_signal_that_kills_has_its_sender(void **state)
{
    (void)state;
    begin_job(2);
    FEED(FIRST_PID + 1, SIGNAL, signal, .signal = SIGUSR1, .sender_pid = 7, .sender = "watch\x1b");
    FEED(FIRST_PID + 1, PROCESS_EXIT, process_exit, .how = TG_EXIT_SIGNAL, .status = SIGUSR1);
    FEED(FIRST_PID, SIGNAL, signal, .signal = SIGTERM, .sender_pid = LAUNCHER, .sender = "mpirun");
    FEED(FIRST_PID, PROCESS_EXIT, process_exit, .how = TG_EXIT_SIGNAL, .status = SIGTERM);
    judge();
    check_finding(0, TG_FINDING_KILL, 1, "Rank 1 was killed by SIGUSR1 from watch\\x1b (pid 7)");
    assert_int_equal(verdict.count, 1);
}

/* Evidence is needed to say that the kernel killed it because memory ran out. */
static void a_kill_for_memory_needs_evidence(void **state)
{
    (void)state;
    static const struct {
        bool is_told;
        uint64_t named;
        int64_t machine, group;
        uint64_t others;
        const char *words;
    } cases[] = {
        {false, 0, 0, 0, 0,
         ", sender unknown: a user, a batch system that enforces a limit, another process, or the kernel "
         "when memory runs out."},
        {true, 0, -1, -1, 0,
         ", sender unknown: a user, a batch system that enforces a limit, another process, or the kernel "
         "when memory runs out."},
        {true, 0, 0, 0, 0, "The kernel has killed nothing for lack of memory since the recording began."},
        {true, 0, 2, 0, 0,
         "or the kernel, which killed 2 processes of this machine for lack of memory since"},
        {true, 0, 1, 1, 0,
         ", probably by the kernel, because memory ran out: it killed 1 process of this control group"},
        {true, 1, 1, 0, 0, " by the kernel, because memory ran out: its log says so."},
        {true, 0, 1, 1, 1,
         "or another process. The kernel killed 1 process for lack of memory since the recording began, and "
         "not this one: its log names others."},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        begin_job(2);
        barrier_of(2, 1);
        if (cases[i].is_told)
            FEED(FIRST_PID + 1, MEMORY_KILLS, memory_kills, .named = cases[i].named,
                 .machine = cases[i].machine, .group = cases[i].group, .others = cases[i].others);
        FEED(FIRST_PID + 1, PROCESS_EXIT, process_exit, .how = TG_EXIT_SIGNAL, .status = SIGKILL);
        judge();
        check_finding(0, TG_FINDING_KILL, 1, cases[i].words);
        if (i + 1 < sizeof cases / sizeof cases[0])
            tear_down(state);
    }
}

static void a_signal_that_the_launcher_passes_on_is_not_its_own(void **state)
{
    (void)state;
    begin_job(2);
    FEED(LAUNCHER, SIGNAL, signal, .signal = SIGUSR2, .sender_pid = 7, .sender = "batch");
    for (int rank = 0; rank < 2; rank++) {
        FEED(FIRST_PID + rank, SIGNAL, signal, .signal = SIGUSR2, .sender_pid = LAUNCHER, .sender = "mpirun");
        FEED(FIRST_PID + rank, PROCESS_EXIT, process_exit, .how = TG_EXIT_SIGNAL, .status = SIGUSR2);
    }
    judge();
    assert_int_equal(verdict.count, 1); /* one for all */
    assert_non_null(strstr(verdict.findings[0].text, "Ranks 0-1 were killed by SIGUSR2"));
    assert_non_null(strstr(verdict.findings[0].text, "which passed it on from batch (pid 7)"));
}

static void one_rank_that_is_asked_to_end_is_killed(void **state)
{
    (void)state;
    begin_job(2);
    FEED(FIRST_PID + 1, SIGNAL, signal, .signal = SIGTERM, .sender_pid = 7, .sender = "sh");
    FEED(FIRST_PID + 1, PROCESS_EXIT, process_exit, .how = TG_EXIT_SIGNAL, .status = SIGTERM);
    judge();
    check_finding(0, TG_FINDING_KILL, 1, "SIGTERM from sh (pid 7)");
}

static void a_launcher_that_crashes_when_it_is_ended_comes_last(void **state)
{
    (void)state;
    begin_job(2);
    POINT(0, "MPI_Recv", 1, 5);
    POINT(1, "MPI_Recv", 0, 5);
    interrupt_after(3000);
    FEED(LAUNCHER, SIGNAL, signal, .signal = SIGSEGV, .address = 8);
    FEED(LAUNCHER, PROCESS_EXIT, process_exit, .how = TG_EXIT_SIGNAL, .status = SIGSEGV);
    judge();
    assert_int_equal(verdict.findings[0].kind, TG_FINDING_DEADLOCK);
}

static void who_asked_a_launcher_that_crashes_comes_first(void **state)
{
    (void)state;
    begin_job(2);
    barrier_of(2, 1);
    interrupt_after(3);
    FEED(LAUNCHER, SIGNAL, signal, .signal = SIGSEGV, .address = 8);
    FEED(LAUNCHER, PROCESS_EXIT, process_exit, .how = TG_EXIT_SIGNAL, .status = SIGSEGV);
    judge();
    assert_int_equal(verdict.count, 2);
    assert_int_equal(verdict.findings[0].kind, TG_FINDING_ASKED);
    assert_int_equal(verdict.findings[1].kind, TG_FINDING_CRASH);
    assert_true(verdict.findings[1].is_consequence);
}

enum { TEAM = 4, HERE = 0x10, ELSEWHERE = 0x20 };

#define OF_THREAD(thread, symbol, member, ...)                                                               \
    feed(FIRST_PID,                                                                                          \
         (struct tg_event){.kind = TG_EVENT_##symbol,                                                        \
                           .tid = FIRST_PID + (thread),                                                      \
                           .member = {.team = TEAM, .thread_num = (uint64_t)(thread), __VA_ARGS__}})

#define OF_THREAD_ENDS(thread, status_)                                                                      \
    feed(FIRST_PID, (struct tg_event){.kind = TG_EVENT_THREAD_EXIT,                                          \
                                      .tid = FIRST_PID + (thread),                                           \
                                      .thread_exit = {.status = (status_)}})

/* A team of THREADS comes to a barrier, thread ODD of it at ELSEWHERE; then thread 0 crashes. */
static void crash_of_a_team(int threads, int odd)
{
    begin_job(1);
    FEED(FIRST_PID, OMP_PARALLEL_BEGIN, omp_parallel_begin, .new_team = TEAM);
    for (int thread = 0; thread < threads; thread++)
        OF_THREAD(thread, OMP_IMPLICIT_BEGIN, omp_implicit_begin, .team_size = (uint64_t)threads);
    for (int thread = threads; thread-- > 0;)
        OF_THREAD(thread, OMP_SYNC_BEGIN, omp_sync_begin, .sync = TG_OMP_SYNC_BARRIER_IMPLICIT, .instance = 1,
                  .code = thread == odd ? ELSEWHERE : HERE);
    FEED(FIRST_PID, SIGNAL, signal, .signal = SIGSEGV, .address = 8);
    FEED(FIRST_PID, PROCESS_EXIT, process_exit, .how = TG_EXIT_SIGNAL, .status = SIGSEGV);
    judge();
    assert_true(verdict.count > 0);
    assert_int_equal(verdict.findings[0].kind, TG_FINDING_CRASH);
}

/* With libomp a thread that skips a `single copyprivate` makes another one crash where the values are copied. */
static void a_crash_says_who_was_at_another_barrier_before(void **state)
{
    (void)state;
    for (int odd = 0; odd < 4; odd++) {
        char words[160];
        crash_of_a_team(4, odd);
        const struct tg_finding *finding = &verdict.findings[0];
        snprintf(words, sizeof words,
                 "(thread %d) was at the barrier at 0x20 when 3 others were at the one at 0x10.",
                 FIRST_PID + odd);
        if (strstr(finding->text, words) == NULL)
            fail_msg("%s", finding->text);
        assert_int_equal(finding->n_culprits, odd == 0 ? 1 : 2);
        assert_int_equal(finding->culprits[finding->n_culprits - 1].tid, FIRST_PID + odd);
        tg_verdict_deinit(&verdict);
        end_job();
    }
    crash_of_a_team(4, -1);
    assert_null(strstr(verdict.findings[0].text, "out of step"));
    assert_int_equal(verdict.findings[0].n_culprits, 1);
}

static void of_two_at_different_barriers_either_may_be_wrong(void **state)
{
    (void)state;
    crash_of_a_team(2, 1);
    const char *text = verdict.findings[0].text;
    if (strstr(
            text,
            "(thread 100) was at the barrier at 0x10 when worker 2 (thread 101) was at the one at 0x20.") ==
        NULL)
        fail_msg("%s", text);
    assert_int_equal(verdict.findings[0].n_culprits, 2);
}

/* libgomp has no wait of its own at the end of a taskloop, and threads execute tasks at the end of the region. */
static void a_taskloop_waits_for_whoever_executes_its_tasks(void **state)
{
    (void)state;
    begin_job(1);
    FEED(FIRST_PID, OMP_PARALLEL_BEGIN, omp_parallel_begin, .new_team = TEAM);
    for (int thread = 0; thread < 2; thread++)
        OF_THREAD(thread, OMP_IMPLICIT_BEGIN, omp_implicit_begin, .team_size = 2);
    OF_THREAD(0, OMP_ZONE_BEGIN, omp_zone_begin, .zone = TG_OMP_ZONE_TASKLOOP, .code = HERE);
    OF_THREAD(1, OMP_IMPLICIT_END, omp_implicit_end, .code = 0);
    OF_THREAD(0, OMP_TASK_CREATE, omp_task_create, .task = 1, .code = HERE);
    OF_THREAD(1, OMP_TASK_BEGIN, omp_task_begin, .task = 1, .code = HERE);
    interrupt_after(3000);
    judge();
    assert_true(verdict.count > 0);
    const struct tg_finding *finding = &verdict.findings[0];
    if (finding->kind != TG_FINDING_TASK || strstr(finding->text, "at the end of a taskloop") == NULL ||
        strstr(finding->text, "executed by worker 2 (thread 101)") == NULL)
        fail_msg("%s: %s", tg_finding_kind_name(finding->kind), finding->text);
    assert_int_equal(finding->n_culprits, 1);
    assert_int_equal(finding->culprits[0].tid, FIRST_PID + 1);
}

/* Thread 0 waits for a lock that thread 1 holds, who ends with STATUS, AFTER_MS behind the interruption (less than 0:
 * before it); the process ends with SIGINT, so much later that threads which end together would not. */
static void holder_ends(int64_t status, int after_ms)
{
    begin_job(1);
    FEED(FIRST_PID, OMP_PARALLEL_BEGIN, omp_parallel_begin, .new_team = TEAM);
    for (int thread = 0; thread < 2; thread++)
        OF_THREAD(thread, OMP_IMPLICIT_BEGIN, omp_implicit_begin, .team_size = 2);
    OF_THREAD(1, OMP_MUTEX_ENTER, omp_mutex_enter, .mutex = TG_OMP_MUTEX_LOCK, .lock = 9, .code = HERE);
    OF_THREAD(0, OMP_MUTEX_WAIT, omp_mutex_wait, .mutex = TG_OMP_MUTEX_LOCK, .lock = 9, .code = ELSEWHERE);
    if (after_ms < 0)
        OF_THREAD_ENDS(1, status);
    interrupt_after(3000);
    tg_verdict_deinit(&verdict);
    job.now_ns += after_ms < 0 ? 0 : (uint64_t)after_ms * MS;
    if (after_ms >= 0)
        OF_THREAD_ENDS(1, status);
    job.now_ns += 200 * (uint64_t)MS;
    FEED(FIRST_PID, PROCESS_EXIT, process_exit, .how = TG_EXIT_SIGNAL, .status = SIGINT);
    judge();
    assert_true(verdict.count > 0);
    const struct tg_finding *finding = &verdict.findings[0];
    assert_int_equal(finding->kind, TG_FINDING_LOCK);
    assert_int_equal(finding->n_culprits, 1);
    assert_int_equal(finding->culprits[0].tid, FIRST_PID + 1);
}

static void who_is_ended_with_its_process_held_the_lock_until_then(void **state)
{
    static const struct {
        int64_t status;
        int after_ms;
        bool ended_alone;
    } ways[] = {{0, -1, true}, {SIGINT, 60, false}, {0, 60, false}, {3 << 8, -1, false}};
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        holder_ends(ways[i].status, ways[i].after_ms);
        const char *text = verdict.findings[0].text;
        const char *words =
            ways[i].ended_alone ? "(thread 101) ended" : "It is held by worker 2 (thread 101)";
        if (strstr(text, words) == NULL)
            fail_msg("%zu: %s", i, text);
        if (i + 1 < sizeof ways / sizeof *ways)
            tear_down(state);
    }
}

/* A rank has waited in MPI for long for one whose master has waited at the end of a region, for less long: that is the
 * cause, and its missing thread is named. Alone it is no hang yet. */
static void what_a_rank_is_waited_for_is_told_first(void **state)
{
    for (int is_waited_for = 0; is_waited_for < 2; is_waited_for++) {
        begin_job(2);
        FEED(FIRST_PID, OMP_PARALLEL_BEGIN, omp_parallel_begin, .new_team = TEAM);
        for (int thread = 0; thread < 2; thread++)
            OF_THREAD(thread, OMP_IMPLICIT_BEGIN, omp_implicit_begin, .team_size = 2);
        TOGETHER(0, "MPI_Initialized", 0, 0x50);
        LEAVE(0, "MPI_Initialized");
        if (is_waited_for)
            TOGETHER(1, "MPI_Barrier", 1, 0x40);
        job.now_ns += UINT64_C(1500) * 1000000;
        OF_THREAD(0, OMP_IMPLICIT_END, omp_implicit_end, .code = 0);
        interrupt_after(1000);
        judge();
        assert_int_equal(verdict.findings[0].kind, is_waited_for ? TG_FINDING_BARRIER : TG_FINDING_ASKED);
        if (is_waited_for)
            assert_non_null(strstr(verdict.findings[0].text, "number 1 of its team) is missing"));
        else
            tear_down(state);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(of_two_ranks_the_one_in_finalize_has_left_the_loop, tear_down),
        cmocka_unit_test_teardown(a_call_that_the_one_in_finalize_never_made_may_be_too_many, tear_down),
        cmocka_unit_test_teardown(a_receive_from_a_rank_in_finalize_is_no_deadlock, tear_down),
        cmocka_unit_test_teardown(a_ring_by_choice_comes_of_who_is_gone, tear_down),
        cmocka_unit_test_teardown(who_has_locked_memory_is_told, tear_down),
        cmocka_unit_test_teardown(of_two_locks_the_one_that_was_used_is_held, tear_down),
        cmocka_unit_test_teardown(a_lock_that_was_released_is_in_nobodys_way, tear_down),
        cmocka_unit_test_teardown(access_that_does_not_end_is_told, tear_down),
        cmocka_unit_test_teardown(a_root_of_the_other_group_that_is_none_is_told, tear_down),
        cmocka_unit_test_teardown(a_wait_in_python_has_its_line, tear_down),
        cmocka_unit_test_teardown(who_waits_for_a_sleeper_is_no_culprit, tear_down),
        cmocka_unit_test_teardown(one_in_finalize_whom_two_need_has_left_too_early, tear_down),
        cmocka_unit_test_teardown(of_two_missing_the_one_outside_of_mpi_is_the_culprit, tear_down),
        cmocka_unit_test_teardown(a_lock_of_a_window_needs_its_rank, tear_down),
        cmocka_unit_test_teardown(a_lock_of_a_window_that_somebody_keeps_blames_nobody, tear_down),
        cmocka_unit_test_teardown(a_busy_partner_is_not_missing, tear_down),
        cmocka_unit_test_teardown(messages_and_requests_that_are_left_are_warnings, tear_down),
        cmocka_unit_test_teardown(leftovers_of_other_communicators_name_ranks_of_the_job, tear_down),
        cmocka_unit_test_teardown(a_call_says_that_its_rank_is_one_of_its_communicator, tear_down),
        cmocka_unit_test_teardown(what_a_freed_receive_got_is_not_known, tear_down),
        cmocka_unit_test_teardown(a_signal_that_kills_has_its_sender, tear_down),
        cmocka_unit_test_teardown(a_kill_for_memory_needs_evidence, tear_down),
        cmocka_unit_test_teardown(a_signal_that_the_launcher_passes_on_is_not_its_own, tear_down),
        cmocka_unit_test_teardown(one_rank_that_is_asked_to_end_is_killed, tear_down),
        cmocka_unit_test_teardown(a_launcher_that_crashes_when_it_is_ended_comes_last, tear_down),
        cmocka_unit_test_teardown(who_asked_a_launcher_that_crashes_comes_first, tear_down),
        cmocka_unit_test_teardown(a_crash_says_who_was_at_another_barrier_before, tear_down),
        cmocka_unit_test_teardown(of_two_at_different_barriers_either_may_be_wrong, tear_down),
        cmocka_unit_test_teardown(a_taskloop_waits_for_whoever_executes_its_tasks, tear_down),
        cmocka_unit_test_teardown(who_is_ended_with_its_process_held_the_lock_until_then, tear_down),
        cmocka_unit_test_teardown(what_a_rank_is_waited_for_is_told_first, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
