/* Ranks that MPI has not joined. */
#include "analyzer/verdict/verdict.h"

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

/* RANKS of SIZE by their environments, each alone; SOURCE NULL: these say nothing. */
static void begin_apart(int ranks, int size, const char *source)
{
    begin_part_of_job(0, 0);
    for (int rank = 0; rank < ranks; rank++) {
        FEED(FIRST_PID + rank, PROCESS_START, process_start, .origin = TG_ORIGIN_FORK,
             .parent_pid = LAUNCHER);
        FEED(FIRST_PID + rank, IDENTITY, identity, .host = "h", .job = source != NULL ? "j" : "",
             .source = source != NULL ? source : "", .rank = source != NULL ? rank : -1, .size = size);
        FEED(FIRST_PID + rank, MPI_COMM, mpi_comm, .comm = WORLD, .origin = TG_MPI_COMM_WORLD, .size = 1);
    }
}

static void check_apart_from_each_other(void)
{
    char words[64];
    for (int rank = 0; rank < 3; rank++)
        POINT(rank, "MPI_Recv", 0, 5);
    interrupt_after(3000);
    size_t first = verdict.findings[0].kind == TG_FINDING_APART;
    for (int rank = 0; rank < 3; rank++) {
        snprintf(words, sizeof words, "waiting for rank 0 of job singleton %d to send", FIRST_PID + rank);
        check_finding(first + (size_t)rank, TG_FINDING_DEADLOCK, "0", words);
    }
}

static void ranks_that_are_apart_do_not_wait_for_each_other(void **state)
{
    (void)state;
    begin_apart(3, 3, "OMPI_COMM_WORLD_RANK");
    check_apart_from_each_other();
    check_first(TG_FINDING_APART, "0 0 0",
                "MPI has not joined the ranks that the launcher started: its ranks 0-2 of 3 "
                "(OMPI_COMM_WORLD_RANK) are "
                "each rank 0 of an MPI_COMM_WORLD of their own.");
    assert_false(verdict.findings[0].is_warning);
}

static void so_are_those_without_a_launcher(void **state)
{
    (void)state;
    begin_apart(3, 0, NULL);
    check_apart_from_each_other();
    assert_int_equal(verdict.findings[0].kind, TG_FINDING_DEADLOCK);
}

static void one_of_a_job_is_told_as_well(void **state)
{
    (void)state;
    begin_apart(1, 4, "PMI_RANK");
    FEED(FIRST_PID, PROCESS_EXIT, process_exit, .how = TG_EXIT_STATUS);
    FEED(LAUNCHER, PROCESS_EXIT, process_exit, .how = TG_EXIT_STATUS);
    const struct tg_verdict_input input = input_of_job();
    assert_null(tg_verdict_make(&input, &verdict));
    check_first(TG_FINDING_APART, "0",
                "its rank 0 of 4 (PMI_RANK) is rank 0 of an MPI_COMM_WORLD of its own.");
    assert_true(verdict.findings[0].is_warning);
}

/* The launcher started one process. */
static void a_job_of_one_is_no_finding(void **state)
{
    (void)state;
    begin_apart(1, 1, "PMI_RANK");
    interrupt_after(3000);
    for (size_t i = 0; i < verdict.count; i++)
        assert_int_not_equal(verdict.findings[i].kind, TG_FINDING_APART);
}

/* A rank that MPI has joined started a program of another library, which has the rank's environment. */
static void what_a_rank_started_is_no_finding(void **state)
{
    (void)state;
    begin_part_of_job(0, 0);
    for (int rank = 0; rank < 2; rank++) {
        const int pid = FIRST_PID + rank, child = FIRST_PID + 10 + rank;
        FEED(pid, PROCESS_START, process_start, .origin = TG_ORIGIN_FORK, .parent_pid = LAUNCHER);
        FEED(pid, IDENTITY, identity, .host = "h", .job = "j", .source = "OMPI_COMM_WORLD_RANK", .rank = rank,
             .size = 2);
        if (rank == 0) /* of rank 1 the program is there before it calls MPI */
            FEED(pid, MPI_COMM, mpi_comm, .comm = WORLD, .origin = TG_MPI_COMM_WORLD, .rank = rank,
                 .size = 2);
        FEED(child, PROCESS_START, process_start, .origin = TG_ORIGIN_FORK, .parent_pid = pid);
        FEED(child, IDENTITY, identity, .host = "h", .job = "j", .source = "OMPI_COMM_WORLD_RANK",
             .rank = rank, .size = 2);
        FEED(child, MPI_COMM, mpi_comm, .comm = WORLD, .origin = TG_MPI_COMM_WORLD, .size = 1);
        if (rank == 1)
            FEED(pid, MPI_COMM, mpi_comm, .comm = WORLD, .origin = TG_MPI_COMM_WORLD, .rank = rank,
                 .size = 2);
    }
    interrupt_after(3000);
    for (size_t i = 0; i < verdict.count; i++)
        assert_int_not_equal(verdict.findings[i].kind, TG_FINDING_APART);
}

/* What is alone does not crash for that. */
static void a_crash_comes_first(void **state)
{
    (void)state;
    begin_apart(3, 3, "OMPI_COMM_WORLD_RANK");
    FEED(FIRST_PID + 1, PROCESS_EXIT, process_exit, .how = TG_EXIT_SIGNAL, .status = 11);
    interrupt_after(3000);
    assert_int_equal(verdict.findings[0].kind, TG_FINDING_CRASH);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(ranks_that_are_apart_do_not_wait_for_each_other, tear_down),
        cmocka_unit_test_teardown(so_are_those_without_a_launcher, tear_down),
        cmocka_unit_test_teardown(one_of_a_job_is_told_as_well, tear_down),
        cmocka_unit_test_teardown(a_job_of_one_is_no_finding, tear_down),
        cmocka_unit_test_teardown(what_a_rank_started_is_no_finding, tear_down),
        cmocka_unit_test_teardown(a_crash_comes_first, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
