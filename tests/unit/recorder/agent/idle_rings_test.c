/* Rings that go from one thread to another, of a program that the agent's core is linked into: the test plays the recorder.
 * The tests share the agent's one state and run in their order. */
#include "recorder/agent/record.h"
#include "tests/support/agent_recorder.h"

#include <limits.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>
/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
/* clang-format on */

static pthread_key_t late_key;

static void record_late(void *value)
{
    (void)value;
    tg_agent_record2(TG_RECORD_OMP_SECTION, 99, 99);
}

static void *record_and_end(void *argument)
{
    *(int *)argument = gettid();
    tg_agent_record2(TG_RECORD_OMP_SECTION, 1, 1);
    pthread_setspecific(late_key, argument);
    return NULL;
}

static void threads_hand_their_rings_on(void **state)
{
    (void)state;
    agent_recorder_skip_all();
    size_t n_rings = 0;
    pthread_key_create(&late_key, record_late);
    for (int i = 0; i < 20; i++) {
        pthread_t thread;
        int tid = 0;
        assert_int_equal(pthread_create(&thread, NULL, record_and_end, &tid), 0);
        pthread_join(thread, NULL);
        struct agent_ring *ring = agent_recorder_ring_of(tid);
        const uint64_t *record = agent_ring_next(ring);
        assert_int_equal(agent_record_kind(record), TG_RECORD_THREAD);
        assert_int_equal(record[2], tid);
        assert_int_equal(agent_ring_next(ring)[2], 1);
        assert_int_equal(agent_ring_next(ring)[2], 99); /* by a destructor of somebody else */
        assert_null(agent_ring_next(ring));
        assert_int_equal(ring->header->state, TG_AGENT_RING_IDLE);
        n_rings = i == 0 ? agent_recorder.n_rings : n_rings;
    }
    assert_int_equal(agent_recorder.n_rings, n_rings);
}

/* ---- a program that writes where it should not */

struct spoiler {
    size_t from, to; /* of the ring's header page */
    unsigned char *header;
    unsigned char before[TG_AGENT_RING_HEADER_BYTES];
};

static void spoil(const struct spoiler *spoiler)
{
    memset(spoiler->header + spoiler->from, 0x55, spoiler->to - spoiler->from);
}

static void *spoil_own_ring(void *argument)
{
    struct spoiler *spoiler = argument;
    tg_agent_record2(TG_RECORD_OMP_SECTION, 1, 1);
    spoiler->header = (unsigned char *)tg_agent_thread.header;
    memcpy(spoiler->before, spoiler->header, sizeof spoiler->before);
    spoil(spoiler);
    for (uint64_t i = 0; i < 3 * TG_AGENT_RING_MIN_BYTES / 32; i++)
        tg_agent_record2(TG_RECORD_OMP_SECTION, i, i);
    return NULL;
}

static void what_the_program_writes_over_a_ring_is_no_place_in_memory(void **state)
{
    (void)state;
    static struct spoiler spoilers[] = {
        {.from = offsetof(struct tg_agent_ring_header, n_growths), .to = TG_AGENT_RING_PRIVATE_OFFSET},
        {.from = offsetof(struct tg_agent_ring_header, data_bytes), .to = TG_AGENT_RING_PRIVATE_OFFSET},
        {.from = TG_AGENT_RING_PRIVATE_OFFSET, .to = TG_AGENT_RING_HEADER_BYTES},
        {.from = 0, .to = TG_AGENT_RING_HEADER_BYTES},
    };
    agent_recorder_skip_all();
    tg_agent.flags |= TG_AGENT_LOSSY; /* nobody reads meanwhile */
    for (size_t i = 0; i < sizeof spoilers / sizeof spoilers[0]; i++) {
        struct spoiler *spoiler = &spoilers[i];
        pthread_t thread;
        int tid = 0;
        assert_int_equal(pthread_create(&thread, NULL, spoil_own_ring, spoiler), 0);
        pthread_join(thread, NULL);
        spoil(spoiler); /* the next thread does not take it over */
        assert_int_equal(pthread_create(&thread, NULL, record_and_end, &tid), 0);
        pthread_join(thread, NULL);
        memcpy(spoiler->header, spoiler->before,
               sizeof spoiler->before); /* for the recorder of these tests */
        struct agent_ring *ring = agent_recorder_ring_of(tid);
        assert_ptr_not_equal(ring->header, spoiler->header);
        agent_recorder_skip_all();
    }
    tg_agent.flags &= ~(uint32_t)TG_AGENT_LOSSY;
}

static pthread_key_t last_key;

/* Each round of destructors has it again, the last one after the agent's, whose key is older. */
static void record_in_last_round(void *ring)
{
    static __thread int rounds;
    if (++rounds < _POSIX_THREAD_DESTRUCTOR_ITERATIONS)
        pthread_setspecific(last_key, ring);
    else
        tg_agent_record2(TG_RECORD_OMP_SECTION, 98, 98);
}

struct filled {
    struct agent_ring *ring;
    uint64_t lost;
};

static void *fill_and_end(void *argument)
{
    struct filled *filled = argument;
    tg_agent_record2(TG_RECORD_OMP_SECTION, 1, 1);
    filled->ring = agent_recorder_ring_of(gettid());
    uint64_t before = filled->ring->header->lost;
    while (filled->ring->header->lost == before)
        tg_agent_record2(TG_RECORD_OMP_SECTION, 2, 2);
    filled->lost = filled->ring->header->lost;
    pthread_setspecific(last_key, argument);
    return NULL;
}

/* In a ring that is full when it takes it over. */
static void *record_until_there_is_room(void *argument)
{
    const struct filled *filled = argument;
    tg_agent_record2(TG_RECORD_OMP_SECTION, 3, 3);
    tg_agent_record2(TG_RECORD_OMP_SECTION, 4, 4);
    assert_int_equal(filled->ring->header->lost, filled->lost + 3);
    agent_ring_skip(filled->ring);
    tg_agent_record2(TG_RECORD_OMP_SECTION, 5, 5);
    const uint64_t *record = agent_ring_next(filled->ring);
    assert_int_equal(agent_record_kind(record), TG_RECORD_THREAD);
    assert_int_equal(record[2], gettid());
    record = agent_ring_next(filled->ring);
    assert_int_equal(agent_record_kind(record), TG_RECORD_LOST);
    assert_int_equal(record[2], 2);
    assert_int_equal(agent_ring_next(filled->ring)[2], 5);
    return NULL;
}

static void a_full_ring_is_handed_on_as_well(void **state)
{
    (void)state;
    struct filled filled;
    pthread_t thread;
    agent_recorder_skip_all();
    size_t n_rings = agent_recorder.n_rings;
    uint32_t unkept = agent_recorder.control->unkept;
    pthread_key_create(&last_key, record_in_last_round);
    tg_agent.flags |= TG_AGENT_LOSSY;
    assert_int_equal(pthread_create(&thread, NULL, fill_and_end, &filled), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(filled.ring->header->state,
                     TG_AGENT_RING_IDLE); /* also when a record had no room in it */
    assert_int_equal(filled.ring->header->lost, filled.lost + 1);
    assert_int_equal(agent_recorder.control->unkept, unkept);
    assert_int_equal(pthread_create(&thread, NULL, record_until_there_is_room, &filled), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    tg_agent.flags &= ~(uint32_t)TG_AGENT_LOSSY;
    agent_recorder_skip_all();
    assert_int_equal(agent_recorder.n_rings, n_rings);
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
        cmocka_unit_test(threads_hand_their_rings_on),
        cmocka_unit_test(a_full_ring_is_handed_on_as_well),
        cmocka_unit_test(what_the_program_writes_over_a_ring_is_no_place_in_memory),
    };
    return cmocka_run_group_tests(tests, open_with_ring, agent_recorder_remove);
}

int main(int argc, char **argv)
{
    (void)argc;
    return agent_recorder_run(argv, run);
}
