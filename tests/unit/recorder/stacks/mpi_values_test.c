#include "recorder/stacks/mpi_values.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* Libraries have one function for Fortran under several names, of which any may be found. */
static void test_names(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        bool is_of_fortran;
    } names[] = {
        {"MPI_Barrier", false},     {"PMPI_Barrier", false},   {"MPI_Comm_f2c", false},
        {"MPI_Comm_c2f", false},    {"mpi_barrier_", true},    {"mpi_barrier", true},
        {"pmpi_barrier__", true},   {"MPI_BARRIER", true},     {"PMPI_BARRIER", true},
        {"MPI_Barrier_f", true},    {"MPI_Barrier_f08", true}, {"PMPI_Barrier_f08ts", true},
        {"mpi_barrier_f08_", true},
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        assert_int_equal(tg_mpi_is_of_fortran(names[i].name), names[i].is_of_fortran);
        const struct tg_mpi_shape *shape = tg_mpi_shape_of(names[i].name);
        assert_true(shape == NULL ? strstr(names[i].name, "Comm") != NULL : shape->comm == 0);
    }
}

/* Calls of all ranks of a communicator have it among their arguments. */
static void test_comms(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        int comm;
    } calls[] = {
        {"MPI_Reduce_scatter", 5}, {"PMPI_Reduce_scatter_block", 5},
        {"mpi_alltoallw_", 8},     {"MPI_Comm_split_type", 0},
        {"MPI_Cart_create", 0},    {"MPI_Win_create", 4},
        {"MPI_Win_allocate", 3},   {"MPI_File_open", 0},
    };
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        const struct tg_mpi_shape *shape = tg_mpi_shape_of(calls[i].name);
        assert_non_null(shape);
        assert_int_equal(shape->comm, calls[i].comm);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_comms),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
