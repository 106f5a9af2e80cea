/* Waits that are not one call, or not within one job: polls, groups of windows, communicators between jobs. */
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

/* ---- polls */

struct poll {
    const char *call;
    int64_t peer, tag;
    uint64_t request;
    uint64_t permille;
    bool is_various;
    bool is_each_told; /* as with `record --every` */
};

static void poll_once(int rank, struct poll poll)
{
    FEED(FIRST_PID + rank, MPI_ENTER, mpi_enter, .call = poll.call, .comm = poll.request == 0 ? WORLD : 0,
         .peer = poll.peer, .tag = poll.tag, .root = -3, .code = 0x70, .request = poll.request);
    FEED(FIRST_PID + rank, MPI_LEAVE, mpi_leave, .call = poll.call, .peer = -3, .tag = -3,
         .poll = poll.is_each_told ? TG_MPI_POLL_IN_VAIN : TG_MPI_POLL_NONE_KNOWN);
}

/* RANK makes the first poll of a row, and goes on for SECONDS, told each half second. */
static void poll_for(int rank, struct poll poll, int seconds)
{
    poll_once(rank, poll);
    for (int i = 0; i < 2 * seconds; i++) {
        job.now_ns += 500 * MS;
        FEED(FIRST_PID + rank, MPI_POLL, mpi_poll, .call = poll.call, .comm = poll.request == 0 ? WORLD : 0,
             .peer = poll.peer, .tag = poll.tag, .code = 0x70, .request = poll.request,
             .polls = ((uint64_t)i + 1) * (poll.permille < 100 ? 1000 : 1000000), .permille = poll.permille,
             .various = poll.is_various);
        if (poll.is_each_told)
            poll_once(rank, poll);
    }
}

static void post_receive(int rank, int64_t from, int64_t tag, uint64_t request)
{
    POINT(rank, "MPI_Irecv", from, tag);
    LEAVE_WITH(rank, "MPI_Irecv", request);
}

static const struct poll test = {.call = "MPI_Test", .peer = -3, .tag = -3, .request = 9, .permille = 900};
static const struct poll probe = {.call = "MPI_Iprobe", .peer = 1, .tag = 7, .permille = 900};

/* Rank 1 computes for ever. */
static void who_polls_waits_for_what_it_asks_for(void **state)
{
    for (int is_each_told = 0; is_each_told < 2; is_each_told++) {
        struct poll poll = test;
        poll.is_each_told = is_each_told;
        begin_job(2);
        post_receive(0, 1, 7, 9);
        TOGETHER(1, "MPI_Init", 0, 0x50);
        LEAVE(1, "MPI_Init");
        poll_for(0, poll, 4);
        interrupt_after(0);
        check_first(
            TG_FINDING_RECEIVE, "1",
            "Rank 0 has been polling in vain (MPI_Test) for a message that nobody has sent: MPI_Irecv "
            "from rank 1 (tag 7)");
        if (!is_each_told)
            tear_down(state);
    }
}

static void a_poll_closes_a_cycle(void **state)
{
    for (int polls_both = 0; polls_both < 2; polls_both++) {
        begin_job(2);
        if (polls_both) {
            poll_for(1, (struct poll){.call = "MPI_Iprobe", .peer = 0, .tag = 8, .permille = 900}, 0);
            for (int i = 0; i < 8; i++) {
                job.now_ns += 400 * MS;
                FEED(FIRST_PID + 1, MPI_POLL, mpi_poll, .call = "MPI_Iprobe", .comm = WORLD, .peer = 0,
                     .tag = 8, .code = 0x80, .polls = ((uint64_t)i + 1) * 1000000, .permille = 900);
            }
            poll_for(0, probe, 0);
            for (int i = 0; i < 8; i++) {
                job.now_ns += 400 * MS;
                for (int rank = 0; rank < 2; rank++)
                    FEED(FIRST_PID + rank, MPI_POLL, mpi_poll, .call = "MPI_Iprobe", .comm = WORLD,
                         .peer = 1 - rank, .tag = rank == 0 ? 7 : 8, .code = 0x80,
                         .polls = ((uint64_t)i + 9) * 1000000, .permille = 900);
            }
        } else {
            POINT(1, "MPI_Recv", 0, 8);
            poll_for(0, probe, 4);
        }
        interrupt_after(0);
        check_first(TG_FINDING_DEADLOCK, "0 1", "polling in vain by MPI_Iprobe from rank 1 (tag 7)");
        if (!polls_both)
            tear_down(state);
    }
}

/* A thread of rank 0 has called MPI. Now it is in a pool of OpenMP, whose events may not say so; or in the program; or where it
 * computes cannot be seen (a script of an interpreter of an unknown release). */
static void who_is_in_a_pool_is_not_at_work(void **state)
{
    enum { IN_POOL, BACK_UNSEEN, IN_PROGRAM, IN_SCRIPT, WAYS, THREAD = FIRST_PID + 100, TEAM = 5 };
    for (int way = 0; way < WAYS; way++) {
        struct tg_stack_frame frame = {.pc = 0x10,
                                       .build_id = "",
                                       .function = "",
                                       .file = "",
                                       .module = way == IN_PROGRAM  ? "/home/a/program"
                                                 : way == IN_SCRIPT ? "/usr/lib/libpython3.14.so.1"
                                                                    : "/lib/libomp.so.5"};
        struct tg_stack_model *stacks;
        begin_job(2);
        if (way != IN_SCRIPT)
            feed(FIRST_PID, (struct tg_event){.tid = THREAD,
                                              .kind = TG_EVENT_OMP_IMPLICIT_BEGIN,
                                              .omp_implicit_begin = {.team = TEAM, .team_size = 2}});
        if (way == IN_POOL || way == IN_PROGRAM)
            feed(FIRST_PID, (struct tg_event){.tid = THREAD,
                                              .kind = TG_EVENT_OMP_IMPLICIT_END,
                                              .omp_implicit_end = {.team = TEAM}});
        feed(FIRST_PID,
             (struct tg_event){.tid = THREAD,
                               .kind = TG_EVENT_MPI_ENTER,
                               .mpi_enter = {.call = "MPI_Comm_free", .peer = -3, .tag = -3, .root = -3}});
        feed(FIRST_PID, (struct tg_event){.tid = THREAD,
                                          .kind = TG_EVENT_MPI_LEAVE,
                                          .mpi_leave = {.call = "MPI_Comm_free", .peer = -3, .tag = -3}});
        POINT(1, "MPI_Recv", 0, 8);
        poll_for(0, probe, 4);
        const struct tg_event stack = {.time_ns = job.now_ns,
                                       .pid = FIRST_PID,
                                       .tid = THREAD,
                                       .kind = TG_EVENT_STACK,
                                       .stack = {.reason = TG_STACK_JOB_SIGNAL, .frames = {&frame, 1}}};
        assert_null(tg_stack_model_create(&stacks));
        assert_null(tg_stack_model_feed(stacks, &stack, 1));
        struct tg_verdict_input input = input_of_job();
        input.stacks = stacks;
        FEED(LAUNCHER, SIGNAL, signal, .signal = SIGINT, .sender_pid = 7, .sender = "sh");
        assert_null(tg_verdict_make(&input, &verdict));
        tg_stack_model_destroy(stacks);
        if (way == IN_POOL || way == BACK_UNSEEN)
            check_first(TG_FINDING_DEADLOCK, "0 1", "polling in vain by MPI_Iprobe from rank 1 (tag 7)");
        else
            check_first(TG_FINDING_RECEIVE, "0", "The sender is rank 0: polling in vain");
        if (way + 1 < WAYS)
            tear_down(state);
    }
}

/* Two ranks wait for each other, and a thread of rank 1 has been made, which the machine gave no processor until the job was
 * interrupted: it may be the one that sends. If it has begun before, it is a deadlock. */
static void a_thread_that_has_not_run_yet_may_do_it(void **state)
{
    enum { THREAD = FIRST_PID + 100 };
    for (int has_begun = 0; has_begun < 2; has_begun++) {
        struct tg_stack_frame frame = {
            .pc = 0x10, .build_id = "", .function = "", .file = "", .module = "/lib/libc.so.6"};
        struct tg_stack_model *stacks;
        begin_job(2);
        POINT(0, "MPI_Recv", 1, 7);
        POINT(1, "MPI_Recv", 0, 8);
        assert_null(tg_stack_model_create(&stacks));
        job.now_ns += UINT64_C(4000) * MS;
        FEED(LAUNCHER, SIGNAL, signal, .signal = SIGINT, .sender_pid = 7, .sender = "sh");
        struct tg_event stack = {.time_ns = job.now_ns,
                                 .pid = FIRST_PID + 1,
                                 .tid = THREAD,
                                 .kind = TG_EVENT_STACK,
                                 .stack = {.reason = TG_STACK_JOB_SIGNAL, .frames = {&frame, 1}}};
        struct tg_event start = {.time_ns = job.now_ns + (has_begun ? -UINT64_C(1000) : 1000) * MS,
                                 .pid = FIRST_PID + 1,
                                 .tid = THREAD,
                                 .kind = TG_EVENT_THREAD_START};
        assert_null(tg_stack_model_feed(stacks, has_begun ? &start : &stack, 2));
        assert_null(tg_stack_model_feed(stacks, has_begun ? &stack : &start, 2));
        struct tg_verdict_input input = input_of_job();
        input.stacks = stacks;
        assert_null(tg_verdict_make(&input, &verdict));
        tg_stack_model_destroy(stacks);
        if (has_begun) {
            check_first(TG_FINDING_DEADLOCK, "0 1", "");
        } else {
            check_nobody_blamed();
            assert_non_null(strstr(verdict.busy, "A new thread of it had not run at all yet"));
            tear_down(state);
        }
    }
}

/* Rank 0 has polled since its row began, but computes in between, or does no more, or asks for other things, too; or it found
 * something shortly ago. */
static void who_does_other_things_does_not_wait(void **state)
{
    for (int way = 0; way < 4; way++) {
        struct poll other = probe;
        other.permille = way == 0 ? 20 : 900;
        other.is_various = way == 2;
        begin_job(2);
        POINT(1, "MPI_Recv", 0, 8);
        poll_for(0, other, way == 3 ? 1 : 4);
        if (way == 1)
            job.now_ns += UINT64_C(4000) * MS;
        interrupt_after(0);
        for (size_t i = 0; i < verdict.count; i++)
            assert_false(verdict.findings[i].kind == TG_FINDING_DEADLOCK ||
                         (verdict.findings[i].kind == TG_FINDING_RECEIVE &&
                          strstr(verdict.findings[i].text, "Rank 0 has been polling in vain (") != NULL));
        if (way < 3)
            tear_down(state);
    }
}

/* A server takes what comes, from anybody: nobody is missing while the others compute. */
static void who_serves_all_blames_nobody(void **state)
{
    (void)state;
    begin_job(3);
    for (int rank = 1; rank < 3; rank++) {
        TOGETHER(rank, "MPI_Init", 0, 0x50);
        LEAVE(rank, "MPI_Init");
    }
    poll_for(0, (struct poll){.call = "MPI_Iprobe", .peer = -1, .tag = 7, .permille = 900}, 6);
    interrupt_after(0);
    check_nobody_blamed();
}

/* A row of polls that ended is a wait that took so long: three times as long is not unusual. */
static void rows_of_polls_are_waits(void **state)
{
    (void)state;
    begin_job(2);
    TOGETHER(1, "MPI_Init", 0, 0x50);
    LEAVE(1, "MPI_Init");
    poll_for(0, probe, 2);
    FEED(FIRST_PID, MPI_ENTER, mpi_enter, .call = "MPI_Iprobe", .comm = WORLD, .peer = 1, .tag = 7,
         .root = -3, .code = 0x70);
    FEED(FIRST_PID, MPI_LEAVE, mpi_leave, .call = "MPI_Iprobe", .peer = 1, .tag = 7);
    assert_int_equal(tg_mpi_model_waits(job.mpi).longest_ns / MS, 2000);
    poll_for(0, probe, 4);
    interrupt_after(0);
    check_nobody_blamed();
}

/* One came after 4.5 s of work, another one is still at it: nobody is to blame before twice that has passed, in a collective or
 * by a message. */
static void who_may_be_at_what_others_have_done_is_not_blamed(void **state)
{
    (void)state;
    for (int way = 0; way < 4; way++) {
        bool is_message = way % 2 != 0, is_late = way >= 2;
        begin_job(3);
        for (int rank = 0; rank < 3; rank++) {
            TOGETHER(rank, "MPI_Init", 0, 0x50);
            LEAVE(rank, "MPI_Init");
        }
        job.now_ns += UINT64_C(4500) * MS;
        if (is_message)
            POINT(0, "MPI_Recv", 2, 7);
        else
            TOGETHER(0, "MPI_Barrier", 1, 0x40);
        interrupt_after(is_late ? 5500 : 3500);
        if (!is_late)
            check_nobody_blamed();
        if (!is_late)
            check_first(TG_FINDING_ASKED, "-1",
                        is_message ? " The sender is rank 2: outside MPI"
                                   : " Still to come was rank 1: outside MPI");
        else if (is_message)
            check_first(TG_FINDING_RECEIVE, "2",
                        "Rank 0 has been waiting for a message that nobody has sent");
        else
            check_first(TG_FINDING_COLLECTIVE, "1 2", "Rank 0 has been waiting in MPI_Barrier");
        if (way < 3)
            tear_down(state);
    }
}

static void a_collective_is_polled_for(void **state)
{
    (void)state;
    begin_job(2);
    TOGETHER(1, "MPI_Init", 0, 0x50);
    LEAVE(1, "MPI_Init");
    TOGETHER(0, "MPI_Ibarrier", 1, 0x40);
    LEAVE_WITH(0, "MPI_Ibarrier", 9);
    poll_for(0, test, 4);
    interrupt_after(0);
    check_first(TG_FINDING_COLLECTIVE, "1", "Rank 0 has been waiting for MPI_Ibarrier (number 1");
}

static void of_several_requests_all_have_to_come(void **state)
{
    const struct tg_mpi_request_item items[] = {{.request = 8}, {.request = 9}};
    (void)state;
    begin_job(3);
    post_receive(0, 1, 7, 8);
    post_receive(0, 2, 7, 9);
    POINT(1, "MPI_Send", 0, 7);
    LEAVE(1, "MPI_Send");
    TOGETHER(1, "MPI_Finalize", 1, 0x50);
    TOGETHER(2, "MPI_Init", 0, 0x50);
    LEAVE(2, "MPI_Init");
    poll_for(0, (struct poll){.call = "MPI_Testall", .peer = -3, .tag = -3, .permille = 900}, 4);
    FEED(FIRST_PID, MPI_REQUESTS, mpi_requests, .requests = {.items = items, .count = 2});
    interrupt_after(0);
    check_first(TG_FINDING_RECEIVE, "2",
                "(MPI_Testall) for a message that nobody has sent: MPI_Irecv from rank 2");
}

/* ---- groups of windows */

enum { WINDOW = 50 };

static void begin_window(int ranks)
{
    begin_job(ranks);
    for (int rank = 0; rank < ranks; rank++)
        FEED(FIRST_PID + rank, MPI_COMM, mpi_comm, .comm = WINDOW, .origin = TG_MPI_COMM_WINDOW, .rank = rank,
             .size = ranks);
}

static void at_window(int rank, const char *name, int64_t first, int64_t second)
{
    const struct tg_mpi_rank_item items[] = {{.rank = first}, {.rank = second}};
    FEED(FIRST_PID + rank, MPI_ENTER, mpi_enter, .call = name, .comm = WINDOW, .peer = -3, .tag = -3,
         .root = -3);
    if (first >= 0)
        FEED(FIRST_PID + rank, MPI_GROUP, mpi_group,
             .members = {.items = items, .count = second < 0 ? 1 : 2});
}

static void call_at_window(int rank, const char *name, int64_t first, int64_t second)
{
    at_window(rank, name, first, second);
    LEAVE(rank, name);
}

/* Rank 1 wants the memory of 2, which has opened it for rank 0 only; rank 3 has nothing to do with it. */
static void access_waits_for_its_group(void **state)
{
    (void)state;
    begin_window(4);
    for (int rank = 2; rank < 4; rank++) {
        TOGETHER(rank, "MPI_Init", 0, 0x50);
        LEAVE(rank, "MPI_Init");
    }
    call_at_window(2, "MPI_Win_post", 0, -1);
    call_at_window(3, "MPI_Win_post", 0, -1);
    TOGETHER(0, "MPI_Barrier", 1, 0x40);
    at_window(1, "MPI_Win_start", 2, -1);
    job.now_ns += UINT64_C(3000) * MS;
    interrupt_after(0);
    check_first(TG_FINDING_WINDOW, "2", "It needs rank 2");
}

/* Rank 0 has opened its memory for 1 and 2; 1 is through with it, and 3 never was to come. */
static void exposure_waits_for_who_has_not_ended_its_access(void **state)
{
    (void)state;
    begin_window(4);
    call_at_window(0, "MPI_Win_post", 1, 2);
    call_at_window(1, "MPI_Win_start", 0, -1);
    call_at_window(1, "MPI_Win_complete", -1, -1);
    TOGETHER(1, "MPI_Barrier", 1, 0x40);
    at_window(0, "MPI_Win_wait", -1, -1);
    TOGETHER(3, "MPI_Barrier", 1, 0x40);
    TOGETHER(2, "MPI_Init", 0, 0x50);
    LEAVE(2, "MPI_Init");
    job.now_ns += UINT64_C(3000) * MS;
    interrupt_after(0);
    check_first(TG_FINDING_WINDOW, "2", "It needs rank 2");
}

/* Ranks 0 and 2 are one group, 1 and 3 the other, and 3 does not come. */
static void who_is_missing_in_an_intercommunicator_is_told(void **state)
{
    (void)state;
    static const struct tg_mpi_member groups[2][2] = {{{.world_rank = 0}, {.world_rank = 2}},
                                                      {{.world_rank = 1}, {.world_rank = 3}}};
    begin_job(4);
    for (int rank = 0; rank < 4; rank++) {
        TOGETHER(rank, "MPI_Intercomm_create", 0, 0x50);
        FEED(FIRST_PID + rank, MPI_COMM, mpi_comm, .comm = 0x77, .origin = TG_MPI_COMM_INTERCOMM,
             .rank = rank / 2, .size = 2, .remote_size = 2, .members = {groups[rank % 2], rank < 2 ? 2 : 0});
        LEAVE(rank, "MPI_Intercomm_create");
    }
    for (int rank = 0; rank < 3; rank++)
        FEED(FIRST_PID + rank, MPI_ENTER, mpi_enter, .call = "MPI_Barrier", .comm = 0x77, .instance = 1,
             .peer = -3, .tag = -3, .root = -3, .code = 0x40);
    interrupt_after(3000);
    check_first(TG_FINDING_COLLECTIVE, "3", "Ranks 0-2 have been waiting in MPI_Barrier");
}

/* ---- communicators between jobs */

enum { PARENTS_INTER = 0x1000, CHILDRENS_INTER = 0x2000, FIRST_CHILD = 200 };

/* The hash of "j" that its children know. */
static uint64_t link_of_job(const char *name)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    for (; *name != '\0'; name++)
        hash = (hash ^ (unsigned char)*name) * UINT64_C(0x100000001b3);
    return hash | 2;
}

static void child_comes(int rank, uint64_t link)
{
    int32_t pid = FIRST_CHILD + rank;
    FEED(pid, PROCESS_START, process_start, .origin = TG_ORIGIN_FORK, .parent_pid = LAUNCHER);
    FEED(pid, IDENTITY, identity, .host = "h", .job = "k", .source = "R", .rank = rank, .size = 2);
    FEED(pid, MPI_ENTER, mpi_enter, .call = "MPI_Init", .peer = -3, .tag = -3, .root = -3);
    FEED(pid, MPI_LEAVE, mpi_leave, .call = "MPI_Init", .peer = -3, .tag = -3);
    FEED(pid, MPI_COMM, mpi_comm, .comm = WORLD, .origin = TG_MPI_COMM_WORLD, .rank = rank, .size = 2);
    FEED(pid, MPI_COMM, mpi_comm, .comm = CHILDRENS_INTER, .parent = WORLD, .origin = TG_MPI_COMM_SPAWN,
         .rank = rank, .size = 2, .remote_size = 1, .link = link);
}

static void parent_is_told(void)
{
    LEAVE(0, "MPI_Comm_spawn");
    FEED(FIRST_PID, MPI_COMM, mpi_comm, .comm = PARENTS_INTER, .parent = WORLD, .origin = TG_MPI_COMM_SPAWN,
         .rank = 0, .size = 1, .remote_size = 2, .link = 1);
}

/* Rank 0 spawns two; IS_LATE: their events come behind its own. */
static void spawn(bool is_late, uint64_t link)
{
    begin_job(1);
    TOGETHER(0, "MPI_Comm_spawn", 1, 0x40);
    if (is_late) {
        /* The ranks began within the call. */
        for (int rank = 0; rank < 2; rank++) {
            int32_t pid = FIRST_CHILD + rank;
            FEED(pid, PROCESS_START, process_start, .origin = TG_ORIGIN_FORK, .parent_pid = LAUNCHER);
            FEED(pid, IDENTITY, identity, .host = "h", .job = "k", .source = "R", .rank = rank, .size = 2);
            FEED(pid, MPI_ENTER, mpi_enter, .call = "MPI_Init", .peer = -3, .tag = -3, .root = -3);
        }
        parent_is_told();
        return;
    }
    for (int rank = 0; rank < 2; rank++)
        child_comes(rank, link);
    parent_is_told();
}

static void late_child_comes(int rank, uint64_t link)
{
    int32_t pid = FIRST_CHILD + rank;
    FEED(pid, MPI_LEAVE, mpi_leave, .call = "MPI_Init", .peer = -3, .tag = -3);
    FEED(pid, MPI_COMM, mpi_comm, .comm = WORLD, .origin = TG_MPI_COMM_WORLD, .rank = rank, .size = 2);
    FEED(pid, MPI_COMM, mpi_comm, .comm = CHILDRENS_INTER, .parent = WORLD, .origin = TG_MPI_COMM_SPAWN,
         .rank = rank, .size = 2, .remote_size = 1, .link = link);
}

static void between(int32_t pid, const char *name, uint64_t comm, int64_t peer, int64_t tag)
{
    FEED(pid, MPI_ENTER, mpi_enter, .call = name, .comm = comm, .peer = peer, .tag = tag, .root = -3);
}

static void a_deadlock_between_jobs_is_one(void **state)
{
    for (int is_late = 0; is_late < 2; is_late++) {
        spawn(is_late, link_of_job("j"));
        if (is_late) {
            between(FIRST_PID, "MPI_Send", PARENTS_INTER, 0, 1); /* before the other side is known */
            LEAVE(0, "MPI_Send");
            for (int rank = 0; rank < 2; rank++)
                late_child_comes(rank, link_of_job("j"));
            between(FIRST_CHILD, "MPI_Recv", CHILDRENS_INTER, 0, 1);
            FEED(FIRST_CHILD, MPI_LEAVE, mpi_leave, .call = "MPI_Recv", .peer = 0, .tag = 1);
        }
        between(FIRST_PID, "MPI_Recv", PARENTS_INTER, 1, 7);
        between(FIRST_CHILD + 1, "MPI_Recv", CHILDRENS_INTER, 0, 8);
        job.now_ns += UINT64_C(3000) * MS;
        interrupt_after(0);
        check_first(TG_FINDING_DEADLOCK, "0 1",
                    "from rank 1 of its communicator (tag 7), a rank of the other group,");
        if (!is_late)
            tear_down(state);
    }
}

/* What was sent is received by the other job: nobody lacks it; of what is still on its way nothing is said either. */
static void messages_between_jobs_meet(void **state)
{
    (void)state;
    spawn(false, link_of_job("j"));
    between(FIRST_PID, "MPI_Send", PARENTS_INTER, 1, 7);
    LEAVE(0, "MPI_Send");
    between(FIRST_CHILD + 1, "MPI_Recv", CHILDRENS_INTER, 0, 7);
    between(FIRST_PID, "MPI_Recv", PARENTS_INTER, 1, 9);
    job.now_ns += UINT64_C(3000) * MS;
    interrupt_after(0);
    for (size_t i = 0; i < verdict.count; i++)
        assert_int_not_equal(verdict.findings[i].kind, TG_FINDING_DEADLOCK);
}

/* Children of another job than this one: their communicator is not the one that rank 0 has. */
static void strangers_are_not_linked(void **state)
{
    (void)state;
    spawn(false, link_of_job("x"));
    between(FIRST_PID, "MPI_Recv", PARENTS_INTER, 1, 7);
    between(FIRST_CHILD + 1, "MPI_Recv", CHILDRENS_INTER, 0, 8);
    job.now_ns += UINT64_C(3000) * MS;
    interrupt_after(0);
    check_nobody_blamed();
}

/* All three merge what joins them, and rank 1 of the children is missing in the barrier of that. */
static void a_merged_communicator_has_the_ranks_of_both_jobs(void **state)
{
    (void)state;
    spawn(false, link_of_job("j"));
    for (int i = 0; i < 3; i++) {
        int32_t pid = i == 0 ? FIRST_PID : FIRST_CHILD + i - 1;
        uint64_t comm = i == 0 ? PARENTS_INTER : CHILDRENS_INTER;
        FEED(pid, MPI_ENTER, mpi_enter, .call = "MPI_Intercomm_merge", .comm = comm, .instance = 1,
             .peer = -3, .tag = -3, .root = -3);
        FEED(pid, MPI_LEAVE, mpi_leave, .call = "MPI_Intercomm_merge", .peer = -3, .tag = -3);
        FEED(pid, MPI_COMM, mpi_comm, .comm = comm + 1, .parent = comm, .origin = TG_MPI_COMM_MERGE,
             .rank = i, .size = 3);
    }
    for (int i = 0; i < 2; i++) {
        int32_t pid = i == 0 ? FIRST_PID : FIRST_CHILD;
        FEED(pid, MPI_ENTER, mpi_enter, .call = "MPI_Barrier",
             .comm = (i == 0 ? PARENTS_INTER : CHILDRENS_INTER) + 1, .instance = 1, .peer = -3, .tag = -3,
             .root = -3);
    }
    job.now_ns += UINT64_C(3000) * MS;
    interrupt_after(0);
    check_first(TG_FINDING_COLLECTIVE, "1", "Rank 1 of job k is missing");
    check_first(TG_FINDING_COLLECTIVE, "1", "Rank 0 of job j and rank 0 of job k have been waiting");
    assert_int_equal(verdict.findings[0].waiting, 2);
}

/* A child does not come to the end of what joins it to its parent; or rank 1 of the children is no root, and need not come. */
static void a_group_that_does_not_come_is_missing(void **state)
{
    for (int is_rooted = 0; is_rooted < 2; is_rooted++) {
        const char *name = is_rooted ? "MPI_Bcast" : "MPI_Comm_disconnect";
        spawn(false, link_of_job("j"));
        FEED(FIRST_PID, MPI_ENTER, mpi_enter, .call = name, .comm = PARENTS_INTER, .instance = 1, .peer = -3,
             .tag = -3, .root = is_rooted ? 0 : -3);
        if (!is_rooted)
            FEED(FIRST_CHILD, MPI_ENTER, mpi_enter, .call = name, .comm = CHILDRENS_INTER, .instance = 1,
                 .peer = -3, .tag = -3, .root = -3);
        job.now_ns += UINT64_C(3000) * MS;
        interrupt_after(0);
        check_first(TG_FINDING_COLLECTIVE, is_rooted ? "0" : "1",
                    is_rooted ? "Rank 0 of job k is missing" : "Rank 1 of job k is missing");
        if (!is_rooted)
            tear_down(state);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(who_polls_waits_for_what_it_asks_for, tear_down),
        cmocka_unit_test_teardown(a_poll_closes_a_cycle, tear_down),
        cmocka_unit_test_teardown(who_is_in_a_pool_is_not_at_work, tear_down),
        cmocka_unit_test_teardown(a_thread_that_has_not_run_yet_may_do_it, tear_down),
        cmocka_unit_test_teardown(who_does_other_things_does_not_wait, tear_down),
        cmocka_unit_test_teardown(who_serves_all_blames_nobody, tear_down),
        cmocka_unit_test_teardown(rows_of_polls_are_waits, tear_down),
        cmocka_unit_test_teardown(who_may_be_at_what_others_have_done_is_not_blamed, tear_down),
        cmocka_unit_test_teardown(a_collective_is_polled_for, tear_down),
        cmocka_unit_test_teardown(of_several_requests_all_have_to_come, tear_down),
        cmocka_unit_test_teardown(access_waits_for_its_group, tear_down),
        cmocka_unit_test_teardown(exposure_waits_for_who_has_not_ended_its_access, tear_down),
        cmocka_unit_test_teardown(who_is_missing_in_an_intercommunicator_is_told, tear_down),
        cmocka_unit_test_teardown(a_deadlock_between_jobs_is_one, tear_down),
        cmocka_unit_test_teardown(messages_between_jobs_meet, tear_down),
        cmocka_unit_test_teardown(strangers_are_not_linked, tear_down),
        cmocka_unit_test_teardown(a_group_that_does_not_come_is_missing, tear_down),
        cmocka_unit_test_teardown(a_merged_communicator_has_the_ranks_of_both_jobs, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
