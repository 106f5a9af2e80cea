#include "analyzer/models/mpi/places.h"

/* clang-format off */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

static const char send[] = "MPI_Send", recv[] = "MPI_Recv";

static void expect(const struct tg_mpi_places *places, size_t i, size_t process, const char *name,
                   uint64_t code, uint64_t calls, uint64_t total_ns, uint64_t longest_ns)
{
    const struct tg_mpi_place *place = tg_mpi_places_at(places, i);
    assert_int_equal(place->process, process);
    assert_ptr_equal(place->name, name);
    assert_int_equal(place->code, code);
    assert_int_equal(place->calls, calls);
    assert_int_equal(place->total_ns, total_ns);
    assert_int_equal(place->longest_ns, longest_ns);
}

static void calls_are_told_apart_by_process_function_and_place(void **state)
{
    struct tg_mpi_places *places;
    (void)state;
    assert_null(tg_mpi_places_create(&places));
    for (int round = 0; round < 3; round++) {
        assert_null(tg_mpi_places_add(places, 0, send, 0x1000, 10, 100));
        assert_null(tg_mpi_places_add(places, 0, recv, 0x1000, 5, 0)); /* a macro's, or one by a pointer */
        assert_null(tg_mpi_places_add(places, 1, send, 0x1000, round == 1 ? 70 : 20, 8));
        assert_null(tg_mpi_places_add(places, 0, send, 0x2000, 0, 0));
    }
    assert_int_equal(tg_mpi_places_count(places), 4);
    expect(places, 0, 0, send, 0x1000, 3, 30, 10);
    assert_int_equal(tg_mpi_places_at(places, 0)->bytes, 300);
    expect(places, 1, 0, recv, 0x1000, 3, 15, 5);
    expect(places, 2, 1, send, 0x1000, 3, 110, 70);
    expect(places, 3, 0, send, 0x2000, 3, 0, 0);
    assert_int_equal(tg_mpi_places_beyond(places).calls, 0);
    tg_mpi_places_destroy(places);
}

static void polls_that_are_told_together_are_calls_of_their_place(void **state)
{
    struct tg_mpi_places *places;
    (void)state;
    assert_null(tg_mpi_places_create(&places));
    assert_null(tg_mpi_places_add(places, 0, send, 0x1000, 10, 100));
    assert_null(tg_mpi_places_add_polls(
        places, 0, send,
        &(struct tg_event_mpi_poll_sum){.code = 0x1000, .polls = 50, .inside_ns = 90, .longest_ns = 12}));
    expect(places, 0, 0, send, 0x1000, 51, 100, 12);
    assert_int_equal(tg_mpi_places_at(places, 0)->bytes, 100);
    tg_mpi_places_destroy(places);
}

/* A trace may claim as many as it likes. */
static void what_is_too_many_is_counted_together(void **state)
{
    enum { KEPT = 1 << 18, MORE = 1000 };
    struct tg_mpi_places *places;
    (void)state;
    assert_null(tg_mpi_places_create(&places));
    for (uint64_t i = 0; i < KEPT + MORE; i++)
        assert_null(tg_mpi_places_add(places, i % 7, send, 0x1000 + i, 3, 0));
    assert_null(
        tg_mpi_places_add(places, 0, send, 0x1000, 4, 0)); /* one that is known is found all the same */
    assert_int_equal(tg_mpi_places_count(places), KEPT);
    expect(places, 0, 0, send, 0x1000, 2, 7, 4);
    assert_int_equal(tg_mpi_places_beyond(places).calls, MORE);
    assert_int_equal(tg_mpi_places_beyond(places).total_ns, 3 * MORE);
    tg_mpi_places_destroy(places);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(calls_are_told_apart_by_process_function_and_place),
        cmocka_unit_test(polls_that_are_told_together_are_calls_of_their_place),
        cmocka_unit_test(what_is_too_many_is_counted_together),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
