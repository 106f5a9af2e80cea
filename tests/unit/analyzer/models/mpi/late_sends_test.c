#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "analyzer/models/mpi/late_sends.h"

#include <string.h>

static const char *const names[] = {"MPI_Recv", "MPI_Waitall", "MPI_Send"};

/* A call of thread TID of process 0 that began at SINCE_NS received what SENDER sent at SENT_NS from CODE. */
static void receive(struct tg_mpi_late_sends *late, int32_t tid, const char *name, uint64_t since_ns,
                    size_t sender, uint64_t sent_ns, uint64_t code)
{
    const struct tg_mpi_thread by = {
        .process = 0, .tid = tid, .call = {.name = name, .code = 0x10, .since_ns = since_ns}};
    const struct tg_mpi_message sent = {
        .process = sender, .name = names[2], .code = code, .since_ns = sent_ns};
    const struct tg_mpi_delivery delivery = {.sent = &sent, .by = &by, .time_ns = 1000};
    assert_null(tg_mpi_late_sends_add(late, &delivery));
}

static void check(const struct tg_mpi_late_sends *late, size_t i, const char *name, size_t sender,
                  uint64_t calls, uint64_t total_ns, uint64_t longest_ns)
{
    const struct tg_mpi_late_send *found = tg_mpi_late_sends_at(late, i);
    assert_string_equal(found->receive.name, name);
    assert_int_equal(found->send.process, sender);
    assert_int_equal(found->calls, calls);
    assert_int_equal(found->total_ns, total_ns);
    assert_int_equal(found->longest_ns, longest_ns);
}

static void a_call_waits_for_the_last_of_its_messages_once(void **state)
{
    struct tg_mpi_late_sends *late;
    (void)state;
    assert_null(tg_mpi_late_sends_create(&late));
    receive(late, 1, names[1], 100, 1, 130, 0x20);
    receive(late, 1, names[1], 100, 2, 150, 0x20); /* the last one */
    receive(late, 1, names[1], 100, 3, 140, 0x20);
    receive(late, 2, names[1], 105, 1, 107, 0x20); /* another thread meanwhile */
    receive(late, 1, names[0], 200, 1, 190, 0x20); /* was there already */
    receive(late, 1, names[0], 300, 1, 301, 0x20);
    receive(late, 1, names[0], 400, 1, 407, 0x20);
    receive(late, 1, names[0], 500, 1, 502, 0x28); /* from another place */
    assert_null(tg_mpi_late_sends_end(late));
    assert_null(tg_mpi_late_sends_end(late)); /* nothing counts twice */
    assert_int_equal(tg_mpi_late_sends_count(late), 4);
    check(late, 0, names[1], 2, 1, 50, 50);
    check(late, 1, names[0], 1, 2, 8, 7);
    uint64_t rest = tg_mpi_late_sends_at(late, 2)->total_ns + tg_mpi_late_sends_at(late, 3)->total_ns;
    assert_int_equal(rest, 2 + 2);
    uint64_t calls, total_ns;
    tg_mpi_late_sends_beyond(late, &calls, &total_ns);
    assert_int_equal(calls + total_ns, 0);
    tg_mpi_late_sends_destroy(late);
}

static void pairs_beyond_the_limit_are_counted_together(void **state)
{
    enum { LIMIT = 1 << 16, MORE = 10 };
    struct tg_mpi_late_sends *late;
    (void)state;
    assert_null(tg_mpi_late_sends_create(&late));
    for (uint64_t i = 0; i < LIMIT + MORE; i++)
        receive(late, 1, names[0], 1 + i % 2, 1, 11 + i % 2, i);
    assert_null(tg_mpi_late_sends_end(late));
    uint64_t calls, total_ns;
    tg_mpi_late_sends_beyond(late, &calls, &total_ns);
    assert_int_equal(tg_mpi_late_sends_count(late), LIMIT);
    assert_int_equal(calls, MORE);
    assert_int_equal(total_ns, MORE * 10);
    tg_mpi_late_sends_destroy(late);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_call_waits_for_the_last_of_its_messages_once),
                                       cmocka_unit_test(pairs_beyond_the_limit_are_counted_together)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
