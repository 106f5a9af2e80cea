/* Processes that did not end as they should. */
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

/* An error that all ranks notice. The libraries are at other addresses in each. */
static void ranks_that_abort_alike_are_one_finding(void **state)
{
    enum { RANKS = 4 };
    static const int order[RANKS] = {2, 0, 1, 3};
    (void)state;
    begin_job(RANKS);
    for (int i = 0; i < RANKS; i++)
        FEED(FIRST_PID + order[i], MPI_ENTER, mpi_enter, .call = "MPI_Abort", .comm = WORLD, .peer = -3,
             .tag = order[i] == 3 ? 8 : 7, .root = -3, .code = 0x401220 + ((uint64_t)order[i] << 20));
    for (int rank = 0; rank < RANKS; rank++)
        FEED(FIRST_PID + rank, PROCESS_EXIT, process_exit, .how = TG_EXIT_STATUS,
             .status = rank == 3 ? 8 : 7);
    const struct tg_verdict_input input = input_of_job();
    assert_null(tg_verdict_make(&input, &verdict));
    check_finding(0, TG_FINDING_CRASH, "0 1 2",
                  "Ranks 0-2 called MPI_Abort with error code 7, rank 2 first, at ");
    check_finding(1, TG_FINDING_CRASH, "3", "Rank 3 called MPI_Abort with error code 8 at ");
    assert_int_equal(verdict.count, 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(ranks_that_abort_alike_are_one_finding, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
