/* The agent's core, linked into this program: it is observed by a recorder that the test plays. The tests share the agent's
 * one state and run in their order. */
#include "recorder/agent/openmp.h"
#include "recorder/agent/record.h"
#include "tests/support/agent_recorder.h"

#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sys/file.h>
#include <sys/syscall.h>
#include <unistd.h>
/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
/* clang-format on */

enum { TEAM = 77, INSTANCE = 3 };

/* The recorder's part: a gate behind barrier INSTANCE, or a later one, of TEAM. */
static struct tg_agent_gate *open_gate(uint32_t number)
{
    struct tg_agent_gate *gate = (void *)((char *)agent_recorder.control + TG_AGENT_GATES_OFFSET);
    *gate = (struct tg_agent_gate){
        .instance = tg_agent_thread.header->instance,
        .team = TEAM,
        .rules = {
            {TG_AGENT_GATE_KIND(OMP_SYNC_END), 1 << TG_OMP_SYNC_BARRIER, TG_AGENT_GATE_AT_LEAST, INSTANCE},
            {TG_AGENT_GATE_KIND(OMP_MUTEX_LEAVE), UINT16_MAX, TG_AGENT_GATE_EQUAL, 0x4711}}};
    __atomic_store_n(&gate->number, number, __ATOMIC_RELEASE);
    __atomic_store_n(&agent_recorder.control->n_gates, 1, __ATOMIC_RELEASE);
    return gate;
}

static struct tg_agent_slot *slots(void)
{
    return (void *)((char *)agent_recorder.control + TG_AGENT_SLOTS_OFFSET);
}

static void close_gate(struct tg_agent_gate *gate)
{
    __atomic_store_n(&gate->number, 0, __ATOMIC_SEQ_CST);
    __atomic_store_n(&agent_recorder.control->n_gates, 0, __ATOMIC_SEQ_CST);
    for (uint32_t i = 0; i < agent_recorder.control->n_slots; i++) {
        __atomic_store_n(&slots()[i].gate, 0, __ATOMIC_SEQ_CST);
        syscall(SYS_futex, &slots()[i].gate, FUTEX_WAKE, INT32_MAX, NULL, NULL, 0);
    }
}

static int n_waiting(uint32_t number)
{
    int count = 0;
    for (uint32_t i = 0; i < __atomic_load_n(&agent_recorder.control->n_slots, __ATOMIC_ACQUIRE); i++)
        count += __atomic_load_n(&slots()[i].gate, __ATOMIC_ACQUIRE) == number && slots()[i].tid != 0;
    return count;
}

static void await_waiting(uint32_t number, int count)
{
    while (n_waiting(number) != count)
        usleep(1000);
}

static int n_through; /* __atomic */

static void *leave_barrier(void *instance)
{
    tg_openmp_frame.team = TEAM;
    errno = EDOM;
    tg_openmp_sync_end(NULL, TG_OMP_WRAPPED, TG_OMP_SYNC_BARRIER, (uintptr_t)instance, false);
    __atomic_fetch_add(&n_through, 1, __ATOMIC_SEQ_CST);
    return (void *)(uintptr_t)(errno == EDOM);
}

static void *leave_lock(void *lock)
{
    tg_openmp_frame.team = TEAM;
    tg_openmp_mutex_leave(NULL, TG_OMP_WRAPPED, TG_OMP_MUTEX_LOCK, lock);
    __atomic_fetch_add(&n_through, 1, __ATOMIC_SEQ_CST); /* the release comes between the two */
    tg_gate_wait();
    __atomic_fetch_add(&n_through, 1, __ATOMIC_SEQ_CST);
    return NULL;
}

static void join(pthread_t thread, bool kept_errno)
{
    void *result;
    assert_int_equal(pthread_join(thread, &result), 0);
    if (kept_errno)
        assert_non_null(result);
}

/* A thread that leaves the barrier that a gate is behind waits there until the gate is closed, behind a later one as well. */
static void waits_at_a_gate(void **state)
{
    (void)state;
    pthread_t threads[2];
    tg_agent_record2(TG_RECORD_OMP_ZONE_END, 0, 0); /* gives this thread its ring */
    n_through = 0;
    struct tg_agent_gate *gate = open_gate(5);
    for (uintptr_t i = 0; i < 2; i++)
        pthread_create(&threads[i], NULL, leave_barrier, (void *)(INSTANCE + i)); // NOLINT: a number
    await_waiting(5, 2);
    assert_int_equal(n_through, 0);
    close_gate(gate);
    for (int i = 0; i < 2; i++)
        join(threads[i], true);
    assert_int_equal(n_through, 2);
    for (int i = 0; i < 2;
         i++) /* given back: nobody's, or the recorder could take one that is being taken for a dead one's */
        assert_true(slots()[i].instance == 0 && slots()[i].tid == 0);
    assert_int_equal(n_waiting(5), 0);
    assert_int_equal(gate->unplaced, 0);
}

/* Another instance, another team, an explicit task, the gate of another program: nobody waits. */
static void passes_gates_of_others(void **state)
{
    (void)state;
    struct tg_agent_gate *gate = open_gate(6);
    tg_openmp_frame.team = TEAM;
    tg_openmp_sync_end(NULL, TG_OMP_WRAPPED, TG_OMP_SYNC_BARRIER, INSTANCE - 1, false);
    tg_openmp_sync_end(NULL, TG_OMP_WRAPPED, TG_OMP_SYNC_TASKWAIT, INSTANCE, false);
    tg_openmp_frame.task = 9;
    tg_openmp_sync_end(NULL, TG_OMP_WRAPPED, TG_OMP_SYNC_BARRIER, INSTANCE, false);
    tg_openmp_frame.task = 0;
    gate->tid = 1;
    tg_openmp_sync_end(NULL, TG_OMP_WRAPPED, TG_OMP_SYNC_BARRIER, INSTANCE, false);
    gate->tid = 0;
    gate->skip = 1;
    tg_openmp_sync_end(NULL, TG_OMP_WRAPPED, TG_OMP_SYNC_BARRIER, INSTANCE, false);
    assert_int_equal(gate->skip, 0);
    gate->instance++;
    tg_openmp_sync_end(NULL, TG_OMP_WRAPPED, TG_OMP_SYNC_BARRIER, INSTANCE, false);
    tg_openmp_frame.team = TEAM + 1;
    gate->instance--;
    tg_openmp_sync_end(NULL, TG_OMP_WRAPPED, TG_OMP_SYNC_BARRIER, INSTANCE, false);
    tg_openmp_frame.team = 0;
    close_gate(gate);
}

/* A lock is released before its thread waits. */
static void waits_behind_a_release(void **state)
{
    (void)state;
    pthread_t thread;
    n_through = 0;
    struct tg_agent_gate *gate = open_gate(7);
    pthread_create(&thread, NULL, leave_lock, (void *)0x4711); // NOLINT: a number
    await_waiting(7, 1);
    assert_int_equal(n_through, 1);
    close_gate(gate);
    join(thread, false);
    assert_int_equal(n_through, 2);
}

/* A controller that was killed leaves its gates: they hold nobody for longer than it takes to see that. */
static void no_gate_of_the_dead_holds(void **state)
{
    (void)state;
    pthread_t thread;
    n_through = 0;
    struct tg_agent_gate *gate = open_gate(8);
    pthread_create(&thread, NULL, leave_barrier, (void *)INSTANCE); // NOLINT: a number
    await_waiting(8, 1);
    assert_int_equal(flock(agent_recorder.control_fd, LOCK_UN), 0);
    join(thread, true);
    assert_int_equal(n_through, 1);
    assert_int_equal(flock(agent_recorder.control_fd, LOCK_EX), 0);
    pthread_create(&thread, NULL, leave_barrier, (void *)INSTANCE); // NOLINT: a number
    await_waiting(8, 1);
    __atomic_store_n(&agent_recorder.control->over, 1, __ATOMIC_SEQ_CST);
    join(thread, true);
    __atomic_store_n(&agent_recorder.control->over, 0, __ATOMIC_SEQ_CST);
    close_gate(gate);
}

static int run(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(waits_at_a_gate),
        cmocka_unit_test(passes_gates_of_others),
        cmocka_unit_test(waits_behind_a_release),
        cmocka_unit_test(no_gate_of_the_dead_holds),
    };
    return cmocka_run_group_tests(tests, agent_recorder_open, agent_recorder_remove);
}

int main(int argc, char **argv)
{
    (void)argc;
    return agent_recorder_run(argv, run);
}
