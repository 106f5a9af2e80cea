#include "analyzer/where/call_values.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

/* "source 3, tag 98, comm MPI_COMM_WORLD" */
static void expect(const struct tg_mpi_call *call, const char *expected)
{
    struct tg_where_values values = {0};
    char text[200] = "";
    tg_where_values_of_call(call, &values);
    for (size_t i = 0; i < values.count; i++)
        snprintf(text + strlen(text), sizeof text - strlen(text), "%s%s %s", i == 0 ? "" : ", ",
                 values.items[i].name, values.items[i].text);
    assert_string_equal(text, expected);
}

static void recorded_calls_have_what_a_look_finds(void **state)
{
    (void)state;
    struct tg_mpi_call call = {.name = "MPI_Recv", .comm = 1, .peer = 3, .tag = 98, .root = -3};
    expect(&call, "source 3, tag 98, comm MPI_COMM_WORLD");
    call.name = "MPI_Irecv";
    call.peer = call.tag = -1;
    expect(&call, "source MPI_ANY_SOURCE, tag MPI_ANY_TAG, comm MPI_COMM_WORLD");
    call = (struct tg_mpi_call){
        .name = "MPI_Ssend", .comm = 5, .comm_name = "rows", .peer = 0, .tag = 7, .root = -3};
    expect(&call, "dest 0, tag 7, comm rows");
    call.peer = -2;
    expect(&call, "dest MPI_PROC_NULL, tag 7, comm rows");
    call = (struct tg_mpi_call){.name = "MPI_Sendrecv", .comm = 1, .peer = 4, .tag = 0, .root = -3};
    expect(&call, "dest 4, tag 0, comm MPI_COMM_WORLD");
    call = (struct tg_mpi_call){.name = "MPI_Bcast", .comm = 1, .peer = -3, .tag = -3, .root = 2};
    expect(&call, "root 2, comm MPI_COMM_WORLD");
    call = (struct tg_mpi_call){.name = "MPI_Init", .peer = -3, .tag = -3, .root = -3};
    expect(&call, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(recorded_calls_have_what_a_look_finds)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
