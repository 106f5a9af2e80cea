/* The agent's core, linked into this program: it is observed by a recorder that the test plays. The tests share the agent's
 * one state and run in their order. */
#include "recorder/agent/record.h"
#include "tests/support/agent_recorder.h"

#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>
/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
/* clang-format on */

struct consumer {
    struct agent_ring *ring;
    uint64_t expected;
    uint64_t last;
};

/* Reads slowly enough for the ring to be full most of the time. */
static void *consume(void *argument)
{
    struct consumer *consumer = argument;
    while (consumer->expected < consumer->last) {
        const uint64_t *record = agent_ring_next(consumer->ring);
        if (record == NULL) {
            sched_yield();
            continue;
        }
        if (agent_record_kind(record) != TG_RECORD_OMP_SECTION || record[2] != consumer->expected)
            return consumer;
        consumer->expected++;
        if (consumer->expected % 64 == 0 || consumer->expected == consumer->last)
            agent_ring_give_back(consumer->ring);
    }
    return NULL;
}

static void waits_for_room(void **state)
{
    (void)state;
    agent_recorder_skip_all();
    struct consumer consumer = {.ring = agent_recorder_ring_of(gettid()), .last = 100000};
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, consume, &consumer), 0);
    for (uint64_t i = 0; i < consumer.last; i++) {
        uint64_t *arguments = tg_agent_begin(TG_RECORD_OMP_SECTION, 1 + i % 37); /* sizes that need PADs */
        assert_non_null(arguments);
        arguments[0] = i;
        tg_agent_commit();
    }
    void *result;
    pthread_join(thread, &result);
    assert_null(result);
    assert_int_equal(consumer.ring->header->lost, 0);
}

static void counts_what_it_drops(void **state)
{
    (void)state;
    agent_recorder_skip_all();
    struct agent_ring *ring = agent_recorder_ring_of(gettid());
    tg_agent.flags |= TG_AGENT_LOSSY;
    uint64_t tried = 3 * TG_AGENT_RING_MIN_BYTES / 32, kept = 0, told = 0;
    for (uint64_t i = 0; i < tried; i++)
        tg_agent_record2(TG_RECORD_OMP_SECTION, i, i);
    uint64_t lost = ring->header->lost;
    assert_true(lost > 0);
    while (agent_ring_next(ring) != NULL)
        kept++;
    assert_int_equal(kept + lost, tried);
    agent_ring_give_back(ring);
    tg_agent_record2(TG_RECORD_OMP_SECTION, 1, 1);
    const uint64_t *record = agent_ring_next(ring);
    assert_int_equal(agent_record_kind(record), TG_RECORD_LOST);
    told = record[2];
    assert_int_equal(told, lost);
    assert_int_equal(agent_record_kind(agent_ring_next(ring)), TG_RECORD_OMP_SECTION);
    tg_agent.flags &= ~(uint32_t)TG_AGENT_LOSSY;
}

static void drops_when_the_recorder_is_gone(void **state)
{
    (void)state;
    agent_recorder_skip_all();
    struct agent_ring *ring = agent_recorder_ring_of(gettid());
    uint64_t before = ring->header->lost;
    assert_int_equal(flock(agent_recorder.control_fd, LOCK_UN), 0);
    for (uint64_t i = 0; i < 2 * TG_AGENT_RING_MIN_BYTES / 32; i++)
        tg_agent_record2(TG_RECORD_OMP_SECTION, i, i); /* a hang here is the failure */
    assert_true(ring->header->lost > before);
    assert_int_equal(flock(agent_recorder.control_fd, LOCK_EX), 0);
}

static void a_child_has_rings_of_its_own(void **state)
{
    (void)state;
    agent_recorder_skip_all();
    struct agent_ring *ours = agent_recorder_ring_of(gettid());
    uint64_t head = ours->header->head, instance = ours->header->instance;
    /* a clone() of its own: fork() would run the agent's handlers */
    pid_t child = (pid_t)syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, 0);
    assert_true(child >= 0);
    if (child == 0) {
        tg_agent_record2(TG_RECORD_OMP_SECTION, 77, 77);
        _exit(0);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_int_equal(ours->header->head, head);
    struct agent_ring *theirs = agent_recorder_ring_of(child);
    assert_int_equal(theirs->header->pid, child);
    assert_true(theirs->header->instance != instance);
    assert_int_equal(agent_record_kind(agent_ring_next(theirs)), TG_RECORD_THREAD);
    assert_int_equal(agent_ring_next(theirs)[2], 77);
}

/* In another pid namespace its ids are not those by which the recorder knows it. */
static void a_child_with_other_ids_has_none(void **state)
{
    (void)state;
    uint32_t before = agent_recorder.control->rings_made, unkept = agent_recorder.control->unkept;
    pid_t child = (pid_t)syscall(SYS_clone, CLONE_NEWPID | SIGCHLD, NULL, NULL, NULL, 0);
    if (child < 0) /* only root may */
        skip();
    if (child == 0) {
        tg_agent_record2(TG_RECORD_OMP_SECTION, 78, 78);
        _exit(0);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_int_equal(agent_recorder.control->rings_made, before);
    assert_int_equal(agent_recorder.control->unkept, unkept + 1);
}

/* To PLACE of the data, with nothing in them. */
static void go_to(struct agent_ring *ring, uint64_t place)
{
    agent_ring_skip(ring);
    while ((ring->header->head & (agent_ring_size(ring) - 1)) != place) {
        tg_agent_record1(TG_RECORD_OMP_CANCEL, 0);
        agent_ring_skip(ring);
    }
}

static void record_numbers(uint64_t from, uint64_t to)
{
    for (uint64_t i = from; i < to; i++)
        tg_agent_record2(TG_RECORD_OMP_TASK_BEGIN, i, ~i);
}

static void expect_numbers(struct agent_ring *ring, uint64_t from, uint64_t to)
{
    for (uint64_t i = from; i < to; i++) {
        const uint64_t *record = agent_ring_next(ring);
        assert_non_null(record);
        assert_int_equal(agent_record_kind(record), TG_RECORD_OMP_TASK_BEGIN);
        assert_int_equal(record[2], i);
        assert_int_equal(record[3], ~i);
    }
    assert_null(agent_ring_next(ring));
}

/* Allowed to be FACTOR times as long, with UNREAD bytes that were recorded from PLACE on: nothing is given back until it is. */
static void grow_at(uint64_t place, uint64_t unread, uint64_t factor)
{
    struct agent_ring *ring = agent_recorder_ring_of(gettid());
    uint64_t size = agent_ring_size(ring), lost = ring->header->lost;
    go_to(ring, place);
    record_numbers(0, unread / 32);
    agent_ring_let_grow(ring, factor * size);
    assert_int_equal(agent_ring_size(ring), size);
    uint64_t fit = (unread + (factor - 1) * size) / 32;
    record_numbers(unread / 32, fit);
    assert_int_equal(agent_ring_size(ring), factor * size);
    expect_numbers(ring, 0, fit);
    agent_ring_give_back(ring);
    uint64_t more = factor * size / 32 + 100; /* from the end to the beginning */
    for (uint64_t i = 0; i < more; i += 100) {
        record_numbers(i, i + 100);
        expect_numbers(ring, i, i + 100);
        agent_ring_give_back(ring);
    }
    assert_int_equal(ring->header->lost, lost);
}

static void *grow_often(void *unused)
{
    (void)unused;
    tg_agent_record1(TG_RECORD_OMP_CANCEL, 0);
    uint64_t size = agent_ring_size(agent_recorder_ring_of(gettid()));
    grow_at(size / 2, size / 4, 2);     /* within the data */
    grow_at(3 * size / 2, size, 2);     /* what is not read goes from their end to their beginning */
    grow_at(0, 4 * size - 32, 4);       /* they are full but for a record */
    grow_at(16 * size - 2048, 4096, 2); /* hardly anything */
    return NULL;
}

static void a_ring_grows_wherever_its_thread_is(void **state)
{
    (void)state;
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, grow_often, NULL), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
}

/* How often a thread with a ring of its own asks its recorder to look: that ring grows, and is then nearly filled. */
static uint32_t asked_by_a_grown_ring(void)
{
    enum { FACTOR = 64 };
    tg_agent_record1(TG_RECORD_OMP_CANCEL, 0);
    struct agent_ring *ring = agent_recorder_ring_of(gettid());
    uint64_t size = agent_ring_size(ring), n = FACTOR * size / 8 * 7 / 32;
    go_to(ring, 0);
    record_numbers(0, size / 2 / 32);
    agent_ring_let_grow(ring, FACTOR * size);
    uint32_t before = tg_agent.control->attention;
    record_numbers(size / 2 / 32, n);
    return agent_ring_size(ring) == FACTOR * size ? tg_agent.control->attention - before : UINT32_MAX;
}

/* As a ring fills its recorder is asked to look, but not at each step of memory. */
static void a_recorder_is_not_asked_to_look_at_each_step(void **state)
{
    (void)state;
    int status = 0;
    pid_t child = fork();
    if (child == 0)
        _exit((int)asked_by_a_grown_ring());
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_in_range(WEXITSTATUS(status), 1, 6);
}

/* A record that names a repeat is read while it is in the ring: its repeat stays what it is, however much longer that gets. */
static void *repeat_and_grow(void *unused)
{
    (void)unused;
    tg_agent_record1(TG_RECORD_OMP_CANCEL, 0);
    struct agent_ring *ring = agent_recorder_ring_of(gettid());
    uint64_t size = agent_ring_size(ring), n = 2 * size / 16;
    go_to(ring, size / 2);
    for (uint64_t i = 0; i < n; i++) { /* as many different ones as there are places for repeats, and more */
        if (i == size / 4 / 16)
            agent_ring_let_grow(ring, 8 * size);
        tg_agent_record2(TG_RECORD_MPI_COMPLETE, i / 8 % 300, i / 8 % 300);
    }
    for (uint64_t i = 0; i < n; i++) {
        const uint64_t *record = agent_ring_next(ring);
        assert_non_null(record);
        assert_int_equal(agent_record_kind(record), TG_RECORD_MPI_COMPLETE);
        assert_int_equal(record[2], i / 8 % 300);
    }
    assert_null(agent_ring_next(ring));
    agent_ring_give_back(ring);
    return NULL;
}

static void repeats_outlive_the_growth_of_their_ring(void **state)
{
    (void)state;
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, repeat_and_grow, NULL), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
}

static void *wait_full(void *ring)
{
    (void)ring;
    tg_agent_record1(TG_RECORD_OMP_CANCEL, 0);
    struct agent_ring *own = agent_recorder_ring_of(gettid());
    uint64_t size = agent_ring_size(own);
    go_to(own, 0);
    __atomic_store_n((struct agent_ring **)ring, own, __ATOMIC_RELEASE);
    record_numbers(0, size / 32 + 10);
    return NULL;
}

/* Starts a thread, and returns its ring when it waits for room at the end of a lap. */
static struct agent_ring *start_full(pthread_t *thread)
{
    static struct agent_ring *ring;
    __atomic_store_n(&ring, NULL, __ATOMIC_RELAXED);
    assert_int_equal(pthread_create(thread, NULL, wait_full, &ring), 0);
    while (__atomic_load_n(&ring, __ATOMIC_ACQUIRE) == NULL)
        usleep(100);
    while (__atomic_load_n(&ring->header->waiting, __ATOMIC_SEQ_CST) == 0)
        usleep(100);
    return ring;
}

static void a_ring_stays_as_it_is_where_address_space_is_limited(void **state)
{
    (void)state;
    const struct rlimit none = {RLIM_INFINITY, RLIM_INFINITY}, limited = {UINT64_C(1) << 46, RLIM_INFINITY};
    pthread_t thread;
    struct agent_ring *ring = start_full(&thread);
    uint64_t size = agent_ring_size(ring);
    assert_int_equal(setrlimit(RLIMIT_AS, &limited), 0);
    agent_ring_let_grow(ring, 2 * size);
    while (__atomic_load_n(&ring->header->stays, __ATOMIC_ACQUIRE) == 0)
        usleep(100);
    assert_int_equal(agent_ring_size(ring), size);
    expect_numbers(ring, 0, size / 32);
    agent_ring_give_back(ring);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(setrlimit(RLIMIT_AS, &none), 0);
    expect_numbers(ring, size / 32, size / 32 + 10);
    agent_ring_give_back(ring);
    ring->header->stays = 0; /* for the tests that get it next */
    ring->header->granted_bytes = 0;
}

static void a_thread_that_waits_for_room_goes_on_when_its_ring_may_grow(void **state)
{
    (void)state;
    pthread_t thread;
    struct agent_ring *ring = start_full(&thread);
    uint64_t tail = ring->header->tail, size = agent_ring_size(ring);
    agent_ring_let_grow(ring, 2 * size);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(ring->header->tail, tail);
    expect_numbers(ring, 0, size / 32 + 10);
    agent_ring_give_back(ring);
}

static void *record_long(void *ring)
{
    tg_agent_record1(TG_RECORD_OMP_CANCEL, 0);
    struct agent_ring *own = agent_recorder_ring_of(gettid());
    uint64_t size = agent_ring_size(own);
    go_to(own, 0);
    agent_ring_promise(own, 4 * size, 2 * size);
    __atomic_store_n((struct agent_ring **)ring, own, __ATOMIC_RELEASE);
    record_numbers(0, 10 * size / 32);
    return NULL;
}

static void a_ring_that_gets_no_memory_is_as_short_as_it_was_made(void **state)
{
    (void)state;
    static struct agent_ring *ring;
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, record_long, &ring), 0);
    while (__atomic_load_n(&ring, __ATOMIC_ACQUIRE) == NULL)
        usleep(100);
    while (__atomic_load_n(&ring->header->waiting, __ATOMIC_SEQ_CST) == 0)
        usleep(100);
    uint64_t size = agent_ring_size(ring) / 4, n = 10 * size / 32, seen = 0, lost = ring->header->lost;
    assert_int_equal(ring->header->stays, 1);
    while (seen < n) {
        const uint64_t *record = agent_ring_next(ring);
        if (record == NULL) {
            agent_ring_give_back(ring);
            usleep(100);
            continue;
        }
        assert_int_equal(agent_record_kind(record), TG_RECORD_OMP_TASK_BEGIN);
        assert_int_equal(record[2], seen);
        seen++;
    }
    assert_int_equal(pthread_join(thread, NULL), 0);
    agent_ring_give_back(ring);
    assert_int_equal(agent_ring_size(ring), ring->header->data_bytes);
    assert_int_equal(ring->header->lost, lost);
    ring->header->stays = 0; /* for the tests that get it next */
    ring->header->granted_bytes = 0;
}

struct interruption {
    int signal;
    struct agent_ring *ring;
    uint64_t n; /* records before the handler's */
};

static void record_one(int signal)
{
    (void)signal;
    record_numbers(1000, 1001);
}

static void record_in_handler(int signal)
{
    record_numbers(1000, 1002);
    if (signal == SIGUSR2)
        pthread_exit(NULL);
}

/* What the handler leaves behind is put into the ring where that grows. */
static void *grow_behind_a_handler(void *argument)
{
    struct interruption *interruption = argument;
    tg_agent_record1(TG_RECORD_OMP_CANCEL, 0);
    struct agent_ring *ring = interruption->ring = agent_recorder_ring_of(gettid());
    uint64_t n = interruption->n = agent_ring_size(ring) / 2 / 32 - 1;
    go_to(ring, 0);
    agent_ring_let_grow(ring, 2 * agent_ring_size(ring));
    record_numbers(0, n);
    uint64_t *arguments = tg_agent_begin(TG_RECORD_OMP_TASK_BEGIN, 2);
    assert_non_null(arguments);
    arguments[0] = n;
    arguments[1] = ~n;
    raise(interruption->signal);
    interruption->n++;
    tg_agent_commit();
    return NULL;
}

/* In a process of its own TEST has a ring that has not grown yet. Returns what it returned. */
static int run_in_child(int (*test)(uint64_t argument), uint64_t argument)
{
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        setenv("CMOCKA_TEST_ABORT", "1", 1);
        int result = test(argument);
        char path[512];
        agent_recorder_find_rings();
        for (size_t i = 0; i < agent_recorder.n_rings; i++) {
            snprintf(path, sizeof path, "%s/%s", agent_recorder.path, agent_recorder.rings[i].name);
            if (agent_recorder.rings[i].header->pid == getpid())
                unlink(path);
        }
        _exit(result);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

/* From a ring's beginning on no system call is to be made: the program forbids itself that. */
static int record_without_calls(uint64_t n_laps)
{
    tg_agent_record1(TG_RECORD_OMP_CANCEL, 0);
    struct agent_ring *ring = agent_recorder_ring_of(gettid());
    agent_ring_skip(ring);
    tg_agent.flags |= TG_AGENT_LOSSY;
    tg_agent.no_calls = true;
    for (uint64_t i = 0; i < n_laps * TG_AGENT_RING_MIN_BYTES / 32; i += 100) {
        record_numbers(i, i + 100);
        expect_numbers(ring, i, i + 100);
        agent_ring_give_back(ring);
    }
    assert_int_equal(ring->header->lost, 0);
    return ring->header->n_growths == 0;
}

static void a_ring_that_is_memory_is_one_without_calls_too(void **state)
{
    (void)state;
    assert_int_equal(run_in_child(record_without_calls, 3), 1);
}

static int interrupt(uint64_t number)
{
    struct interruption interruption = {.signal = (int)number};
    pthread_t thread;
    signal(interruption.signal, record_in_handler);
    assert_int_equal(pthread_create(&thread, NULL, grow_behind_a_handler, &interruption), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    for (uint64_t i = 0; i < interruption.n + 2; i++) {
        const uint64_t *record = agent_ring_next(interruption.ring);
        assert_non_null(record);
        assert_int_equal(record[2], i < interruption.n ? i : 1000 + i - interruption.n);
    }
    assert_null(agent_ring_next(interruption.ring));
    assert_int_equal(interruption.ring->header->n_growths, 1);
    assert_int_equal(interruption.ring->header->state, TG_AGENT_RING_IDLE);
    return 0;
}

static void a_ring_grows_for_what_a_handler_left(void **state)
{
    (void)state;
    assert_int_equal(run_in_child(interrupt, SIGUSR1), 0); /* the record is completed */
    assert_int_equal(run_in_child(interrupt, SIGUSR2), 0); /* its thread ends instead */
}

static sigjmp_buf away;
static volatile bool steps;
static volatile uint64_t steps_left;

/* After a SIGTRAP with `steps` each instruction is one, until one of them jumps away. */
static void count_step(int number, siginfo_t *information, void *context)
{
    const greg_t trap_flag = 0x100;
    greg_t *flags = &((ucontext_t *)context)->uc_mcontext.gregs[REG_EFL];
    (void)number;
    (void)information;
    *flags = steps ? *flags | trap_flag : *flags & ~trap_flag;
    if (steps && steps_left-- == 0)
        siglongjmp(away, 1);
}

static __attribute__((noinline)) void record_stepped(uint64_t number)
{
    steps = true;
    raise(SIGTRAP);
    record_numbers(number, number + 1);
    steps = false;
}

/* Lets the ring grow, and jumps away N_STEPS instructions later. Returns whether it had grown by then, as others see it. */
static int grow_and_jump(uint64_t n_steps)
{
    const struct sigaction action = {.sa_sigaction = count_step, .sa_flags = SA_SIGINFO};
    tg_agent_record1(TG_RECORD_OMP_CANCEL, 0);
    struct agent_ring *ring = agent_recorder_ring_of(gettid());
    uint64_t size = agent_ring_size(ring), n = size / 2 / 32, more = n + size / 32;
    go_to(ring, 0);
    agent_ring_let_grow(ring, 2 * size);
    record_numbers(0, n);
    sigaction(SIGTRAP, &action, NULL);
    steps_left = n_steps;
    if (sigsetjmp(away, 1) == 0)
        record_stepped(n);
    bool has_jumped = steps, had_grown = ring->header->n_growths > 0;
    steps = false;
    record_numbers(n + 1, more);
    for (uint64_t i = 0; i < more; i++) {
        const uint64_t *record = agent_ring_next(ring);
        assert_non_null(record);
        if (i == n && record[2] == n + 1) /* it was left before it was complete */
            i++;
        assert_int_equal(record[2], i);
    }
    assert_null(agent_ring_next(ring));
    assert_true(has_jumped);
    return had_grown;
}

static void a_handler_may_jump_away_while_the_ring_grows(void **state)
{
    (void)state;
    enum { STRIDE = 3, BEHIND = 8 }; /* all instructions would take long */
    uint64_t n_steps = 0;
    agent_recorder_skip_all();
    for (int n_behind = 0; n_behind < BEHIND; n_steps += STRIDE)
        n_behind += run_in_child(grow_and_jump, n_steps);
    assert_true(n_steps > 2 * STRIDE * BEHIND);
}

static volatile bool has_recorded;

/* As count_step, but the last step's handler records, and the steps end. */
static void record_at_step(int number, siginfo_t *information, void *context)
{
    const greg_t trap_flag = 0x100;
    greg_t *flags = &((ucontext_t *)context)->uc_mcontext.gregs[REG_EFL];
    (void)number;
    (void)information;
    if (steps && steps_left-- == 0) {
        steps = false;
        has_recorded = true;
        record_numbers(7000, 7001);
    }
    *flags = steps ? *flags | trap_flag : *flags & ~trap_flag;
}

/* A record that a handler interrupted before, whose records are put into the ring behind it. */
static void record_after_steps(void)
{
    uint64_t *arguments = tg_agent_begin(TG_RECORD_OMP_TASK_BEGIN, 2);
    assert_non_null(arguments);
    arguments[0] = 1;
    arguments[1] = ~(uint64_t)1;
    raise(SIGUSR1);
    steps = true;
    raise(SIGTRAP);
    tg_agent_commit();
    steps = false;
}

static void a_handler_may_record_at_any_instruction(void **state)
{
    (void)state;
    const struct sigaction action = {.sa_sigaction = record_at_step, .sa_flags = SA_SIGINFO};
    agent_recorder_skip_all();
    struct agent_ring *ring = agent_recorder_ring_of(gettid());
    sigaction(SIGTRAP, &action, NULL);
    signal(SIGUSR1, record_one);
    uint64_t n_steps = 0;
    do {
        uint64_t lost = ring->header->lost, kept = 0;
        steps_left = n_steps;
        has_recorded = false;
        record_after_steps();
        record_numbers(3, 4);
        for (const uint64_t *record; (record = agent_ring_next(ring)) != NULL;)
            kept += agent_record_kind(record) == TG_RECORD_OMP_TASK_BEGIN;
        agent_ring_give_back(ring);
        assert_int_equal(kept + ring->header->lost - lost, 3U + has_recorded);
        n_steps += 2; /* all of them would take long */
    } while (has_recorded);
    assert_true(n_steps > 50);
}

/* The thread that it interrupts cannot read the clock any more. */
static void take_clock_away(int signal)
{
    (void)signal;
    tg_agent_stop_thread(false);
    prctl(PR_SET_TSC, PR_TSC_SIGSEGV);
    record_numbers(8000, 8002);
}

static void *record_without_clock(void *unused)
{
    (void)unused;
    tg_agent_record1(TG_RECORD_OMP_CANCEL, 0);
    uint32_t unkept = agent_recorder.control->unkept;
    uint64_t *arguments = tg_agent_begin(TG_RECORD_OMP_TASK_BEGIN, 2);
    assert_non_null(arguments);
    arguments[0] = arguments[1] = 0;
    raise(SIGUSR1);
    tg_agent_commit();
    assert_int_equal(agent_recorder.control->unkept, unkept + 2);
    return NULL;
}

static void a_handler_may_take_the_clock_away(void **state)
{
    (void)state;
    pthread_t thread;
    signal(SIGUSR1, take_clock_away);
    assert_int_equal(pthread_create(&thread, NULL, record_without_clock, NULL), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
}

/* This thread has its ring before the first test. */
static int open_with_ring(void **state)
{
    int result = agent_recorder_open(state);
    tg_agent_record1(TG_RECORD_OMP_CANCEL, 0);
    return result;
}

static int run(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(waits_for_room),
        cmocka_unit_test(a_thread_that_waits_for_room_goes_on_when_its_ring_may_grow),
        cmocka_unit_test(a_ring_stays_as_it_is_where_address_space_is_limited),
        cmocka_unit_test(a_ring_that_gets_no_memory_is_as_short_as_it_was_made),
        cmocka_unit_test(counts_what_it_drops),
        cmocka_unit_test(drops_when_the_recorder_is_gone),
        cmocka_unit_test(a_child_has_rings_of_its_own),
        cmocka_unit_test(a_child_with_other_ids_has_none),
        cmocka_unit_test(a_ring_grows_wherever_its_thread_is),
        cmocka_unit_test(a_ring_grows_for_what_a_handler_left),
        cmocka_unit_test(a_handler_may_jump_away_while_the_ring_grows),
        cmocka_unit_test(a_handler_may_record_at_any_instruction),
        cmocka_unit_test(a_handler_may_take_the_clock_away),
        cmocka_unit_test(repeats_outlive_the_growth_of_their_ring),
        cmocka_unit_test(a_recorder_is_not_asked_to_look_at_each_step),
        cmocka_unit_test(a_ring_that_is_memory_is_one_without_calls_too),
    };
    return cmocka_run_group_tests(tests, open_with_ring, agent_recorder_remove);
}

int main(int argc, char **argv)
{
    (void)argc;
    return agent_recorder_run(argv, run);
}
