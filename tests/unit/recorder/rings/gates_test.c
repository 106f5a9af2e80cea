#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "recorder/rings/gates.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <unistd.h>

static struct tg_agent_directory *directory;
static struct tg_gates *gates;

static int make(void **state)
{
    (void)state;
    const struct tg_agent_directory_options options = {.flags = TG_AGENT_OPENMP, .trace = "none"};
    return tg_agent_directory_create(&options, &directory) != NULL ||
           tg_gates_create(directory, &gates) != NULL;
}

static int destroy(void **state)
{
    (void)state;
    tg_gates_destroy(gates);
    tg_agent_directory_destroy(directory);
    return 0;
}

static struct tg_agent_gate gate_at(size_t place)
{
    struct tg_agent_gate gate;
    assert_true(
        tg_agent_directory_read(directory, TG_AGENT_GATES_OFFSET + place * sizeof gate, &gate, sizeof gate));
    return gate;
}

/* What an agent does whose thread TID comes to gate NUMBER. */
static void come(size_t slot, int32_t tid, uint32_t number)
{
    const uint32_t n_slots = (uint32_t)slot + 1;
    const struct tg_agent_slot waiting = {.instance = 42, .tid = tid, .gate = number};
    assert_true(tg_agent_directory_write(directory, TG_AGENT_SLOTS_OFFSET + slot * sizeof waiting, &waiting,
                                         sizeof waiting));
    assert_true(tg_agent_directory_write(directory, offsetof(struct tg_agent_control, n_slots), &n_slots,
                                         sizeof n_slots));
}

static void tells_agents(void **state)
{
    (void)state;
    uint32_t first, second;
    const struct tg_agent_gate gate = {.number = 99, .instance = 42, .team = 7};
    assert_null(tg_gates_open(gates, &gate, &first));
    assert_null(tg_gates_open(gates, &gate, &second));
    assert_int_not_equal(first, second);
    assert_int_equal(gate_at(0).number, first);
    assert_int_equal(gate_at(1).number, second);
    assert_int_equal(gate_at(1).team, 7);
    assert_int_equal(tg_agent_directory_control(directory).n_gates, 2);
    tg_gates_close(gates, first);
    assert_int_equal(gate_at(0).number, 0);
    assert_int_equal(tg_agent_directory_control(directory).n_gates, 2);
    tg_gates_close(gates, second);
    assert_int_equal(tg_agent_directory_control(directory).n_gates, 0);
}

static uint64_t control_memory(void)
{
    char path[4096];
    struct stat status;
    snprintf(path, sizeof path, "%s/control", tg_agent_directory_path(directory));
    assert_int_equal(stat(path, &status), 0);
    assert_int_equal(status.st_size, TG_AGENT_CONTROL_BYTES);
    return (uint64_t)status.st_blocks * 512;
}

/* Programs that look there would end by SIGBUS where the file system is full; most recordings open none. */
static void are_memory_from_the_first_on(void **state)
{
    (void)state;
    uint32_t number;
    assert_true(control_memory() < TG_AGENT_SLOTS_OFFSET);
    assert_null(tg_gates_open(gates, &(struct tg_agent_gate){.instance = 42}, &number));
    assert_true(control_memory() >= TG_AGENT_CONTROL_BYTES);
    tg_gates_close(gates, number);
}

static void lets_go_whom_it_meant(void **state)
{
    (void)state;
    uint32_t here, there;
    assert_null(tg_gates_open(gates, &(struct tg_agent_gate){.instance = 42}, &here));
    assert_null(tg_gates_open(gates, &(struct tg_agent_gate){.instance = 42}, &there));
    come(0, 100, here);
    come(1, 101, there);
    come(2, 102, here);
    assert_int_equal(tg_gates_count(gates, here), 2);
    size_t n_waiters;
    struct tg_gate_waiter *waiters = tg_gates_list(gates, &n_waiters);
    assert_int_equal(n_waiters, 3);
    assert_int_equal(waiters[1].tid, 101);
    assert_int_equal(waiters[1].gate, there);
    free(waiters);
    struct tg_gate_waiter waiter = {.instance = 42, .tid = 101};
    assert_true(tg_gates_find(gates, &waiter));
    assert_int_equal(waiter.gate, there);
    assert_false(tg_gates_find(gates, &(struct tg_gate_waiter){.instance = 43, .tid = 101}));
    tg_gates_pass(gates, &(struct tg_gate_waiter){.instance = 42, .tid = 102});
    assert_int_equal(tg_gates_count(gates, here), 1);
    tg_gates_close(gates, here);
    assert_int_equal(tg_gates_count(gates, here), 0);
    assert_int_equal(tg_gates_count(gates, there), 1);
    tg_gates_close_all(gates);
    assert_int_equal(tg_gates_count(gates, there), 0);
}

static void has_an_end(void **state)
{
    (void)state;
    uint32_t number;
    for (int i = 0; i < TG_AGENT_GATES; i++)
        assert_null(tg_gates_open(gates, &(struct tg_agent_gate){.instance = 1}, &number));
    struct tg_error *error = tg_gates_open(gates, &(struct tg_agent_gate){.instance = 1}, &number);
    assert_int_equal(tg_error_code(error), TG_ERROR_LIMIT);
    tg_error_destroy(error);
    tg_gates_close_all(gates);
    assert_null(tg_gates_open(gates, &(struct tg_agent_gate){.instance = 1}, &number));
    tg_gates_close_all(gates);
}

/* Slots that say what cannot be: a program can write there. */
static void believes_nothing(void **state)
{
    (void)state;
    const uint32_t n_slots = UINT32_MAX;
    assert_true(tg_agent_directory_write(directory, offsetof(struct tg_agent_control, n_slots), &n_slots,
                                         sizeof n_slots));
    assert_int_equal(tg_gates_count(gates, 12345), 0);
    assert_false(tg_gates_find(gates, &(struct tg_gate_waiter){.instance = 42, .tid = 999}));
}

static void knows_programs(void **state)
{
    (void)state;
    const unsigned char *random = (const unsigned char *)getauxval(AT_RANDOM); // NOLINT: an address
    assert_int_equal(tg_gates_instance(getpid()), tg_agent_instance(random, getpid()));
    assert_int_equal(tg_gates_instance(0), 0);
}

/* Whoever was killed where it waited gives its slot back to nobody. */
static void forgets_who_is_gone(void **state)
{
    (void)state;
    const struct tg_agent_slot ours = {.instance = tg_gates_instance(getpid()), .tid = 200};
    struct tg_agent_slot slot;
    uint32_t number;
    assert_null(tg_gates_open(gates, &(struct tg_agent_gate){.instance = ours.instance}, &number));
    come(0, 100, number); /* of another program */
    come(1, 200, number);
    come(2, 201, 0); /* let go, and killed before it went */
    for (size_t i = 1; i < 3; i++)
        assert_true(tg_agent_directory_write(directory, TG_AGENT_SLOTS_OFFSET + i * sizeof slot,
                                             &ours.instance, sizeof ours.instance));
    assert_null(tg_gates_meet(gates, getpid()));
    assert_null(tg_gates_meet(gates, getpid())); /* the same program still */
    assert_int_equal(tg_gates_count(gates, number), 2);
    tg_gates_forget(gates, getpid());
    assert_int_equal(tg_gates_count(gates, number), 1);
    for (size_t i = 0; i < 3; i++) {
        assert_true(
            tg_agent_directory_read(directory, TG_AGENT_SLOTS_OFFSET + i * sizeof slot, &slot, sizeof slot));
        assert_int_equal(slot.tid, i == 0 ? 100 : 0);
    }
    tg_gates_forget(gates, getpid()); /* known no more */
    tg_gates_close_all(gates);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(are_memory_from_the_first_on),
        cmocka_unit_test(tells_agents),
        cmocka_unit_test(lets_go_whom_it_meant),
        cmocka_unit_test(has_an_end),
        cmocka_unit_test(believes_nothing),
        cmocka_unit_test(knows_programs),
        cmocka_unit_test(forgets_who_is_gone),
    };
    return cmocka_run_group_tests(tests, make, destroy);
}
