#include "analyzer/models/mpi/matching.h"

#include "analyzer/models/mpi/model.h"

/* clang-format off */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

enum { RANKS = 3, WORLD = 1, ANY = -1 };

static struct tg_mpi_model *model;
static struct tg_mpi_matching matching;
static uint64_t now_ns;

static void feed(size_t process, struct tg_event event)
{
    event.pid = event.tid = (int32_t)(100 + process);
    event.time_ns = now_ns += 10;
    assert_null(tg_mpi_model_feed(model, &event, process));
}

#define FEED(process, symbol, member, ...)                                                                   \
    feed(process, (struct tg_event){.kind = TG_EVENT_##symbol, .member = {__VA_ARGS__}})

static int set_up(void **state)
{
    (void)state;
    now_ns = 0;
    if (tg_mpi_model_create(NULL, &model) != NULL)
        return 1;
    for (size_t i = 0; i < RANKS; i++) {
        FEED(i, IDENTITY, identity, .host = "h", .job = "j", .source = "R", .rank = (int64_t)i,
             .size = RANKS);
        FEED(i, MPI_COMM, mpi_comm, .comm = WORLD, .origin = TG_MPI_COMM_WORLD, .rank = (int64_t)i,
             .size = RANKS);
    }
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    tg_mpi_matching_deinit(&matching);
    tg_mpi_model_destroy(model);
    return 0;
}

static void send(size_t from, int64_t to, int64_t tag)
{
    FEED(from, MPI_ENTER, mpi_enter, .call = "MPI_Send", .comm = WORLD, .peer = to, .tag = tag, .root = -3);
    FEED(from, MPI_LEAVE, mpi_leave, .call = "MPI_Send", .peer = -3);
}

static void post(size_t process, int64_t from, int64_t tag, uint64_t request)
{
    FEED(process, MPI_ENTER, mpi_enter, .call = "MPI_Irecv", .comm = WORLD, .peer = from, .tag = tag,
         .root = -3);
    FEED(process, MPI_LEAVE, mpi_leave, .call = "MPI_Irecv", .peer = -3, .request = request);
}

static void probe(size_t process, int64_t from, int64_t tag)
{
    FEED(process, MPI_ENTER, mpi_enter, .call = "MPI_Probe", .comm = WORLD, .peer = from, .tag = tag,
         .root = -3);
}

static void make(void)
{
    tg_mpi_matching_deinit(&matching);
    assert_null(tg_mpi_matching_make(model, &matching));
}

static bool send_matches(size_t nth)
{
    assert_true(nth < matching.n_sends);
    return matching.sends[nth].may_match;
}

static bool receive_matches(uint64_t request)
{
    for (size_t i = 0; i < matching.n_receives; i++)
        if (matching.receives[i].message.request == request)
            return matching.receives[i].may_match;
    fail();
    return false;
}

static void one_message_satisfies_one_receive(void **state)
{
    (void)state;
    send(0, 1, 5);
    post(1, 0, 5, 11);
    post(1, 0, 5, 12);
    make();
    assert_true(send_matches(0));
    assert_true(receive_matches(11));
    assert_false(receive_matches(12)); /* the first receive that was posted takes it */
}

static void tags_and_ranks_have_to_be_the_same(void **state)
{
    (void)state;
    send(0, 1, 5);
    post(1, 0, 6, 11);
    post(1, 2, 5, 12);
    post(2, 0, 5, 13);
    make();
    assert_false(send_matches(0));
    for (uint64_t request = 11; request <= 13; request++)
        assert_false(receive_matches(request));
}

static void a_receive_of_any_may_get_what_nobody_surely_takes(void **state)
{
    (void)state;
    send(0, 1, 5);
    post(1, ANY, ANY, 11);
    post(1, 0, 5, 12);
    make();
    assert_true(receive_matches(11)); /* 11 came first, and either may have it */
    assert_true(receive_matches(12));
}

static void a_receive_of_any_behind_one_that_takes_the_message_gets_nothing(void **state)
{
    (void)state;
    send(0, 1, 5);
    post(1, 0, 5, 11);
    post(1, ANY, 5, 12);
    make();
    assert_true(receive_matches(11));
    assert_false(receive_matches(12));
}

static void a_probe_takes_nothing(void **state)
{
    (void)state;
    send(0, 1, 5);
    probe(1, 0, 5);
    make();
    assert_int_equal(matching.n_receives, 1);
    assert_true(matching.receives[0].may_match);
    assert_false(send_matches(0)); /* the send waits for a receive all the same */
}

static void messages_on_unknown_communicators_may_match(void **state)
{
    (void)state;
    FEED(0, MPI_ENTER, mpi_enter, .call = "MPI_Ssend", .comm = 0, .peer = 1, .tag = 5, .root = -3);
    make();
    assert_true(send_matches(0));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(one_message_satisfies_one_receive, set_up, tear_down),
        cmocka_unit_test_setup_teardown(tags_and_ranks_have_to_be_the_same, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_receive_of_any_may_get_what_nobody_surely_takes, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_receive_of_any_behind_one_that_takes_the_message_gets_nothing,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_probe_takes_nothing, set_up, tear_down),
        cmocka_unit_test_setup_teardown(messages_on_unknown_communicators_may_match, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
