/* A walk that compares what of a thread's stack is as it was finds what one finds that unwinds all of it. The functions here are
 * compiled without frame pointers; some have frames of one size, so that a call of one is where that of another was. */
#include "recorder/agent/heap/heap.h"
#include "recorder/agent/heap/walk.h"
#include "recorder/agent/heap/walk_memory.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

enum { VISITS = 200000, DEEPEST = 90, WIDEST = 4, VISITED = 8 };

static struct {
    uint64_t random, sum;
    unsigned n_visits, n_deep, n_cut, n_different;
    uint64_t last_hash;
} state = {.random = 1};

static uint64_t next_random(void)
{
    state.random ^= state.random << 13;
    state.random ^= state.random >> 7;
    state.random ^= state.random << 17;
    return state.random;
}

static uint64_t hash_of(const uint64_t *addresses, size_t count, enum tg_stack_end end)
{
    uint64_t sum = 0;
    for (size_t i = count; i-- > 0;)
        sum = tg_heap_walk_sum(sum, addresses[i]);
    return tg_heap_walk_sum_hash(sum, count, end, 0);
}

/* As the heap library's functions have it. */
static __attribute__((noinline)) void visit(void)
{
    static const size_t depths[] = {1, 5, 32, TG_AGENT_HEAP_MAX_DEPTH};
    const void *frame = __builtin_frame_address(0);
    size_t most = depths[next_random() % 64 < 61 ? 2 : next_random() % 4];
    uint64_t addresses[TG_AGENT_HEAP_MAX_DEPTH];
    enum tg_stack_end end;
    size_t count = tg_heap_walk(frame, 0, addresses, most, &end);
    struct tg_heap_walk_memory *memory;
    uint64_t hash = tg_heap_walk_hash(frame, 0, most, &memory);
    assert_int_equal(hash, hash_of(addresses, count, end));
    assert_non_null(memory);
    assert_int_equal(memory->count - memory->from, count);
    for (size_t i = 0; i < count; i++)
        assert_int_equal(memory->frames[memory->count - 1 - i].address, addresses[i]);
    tg_heap_walk_release(memory);
    state.n_visits++;
    state.n_deep += count >= 20;
    state.n_cut += end == TG_STACK_CUT;
    state.n_different += hash != state.last_hash;
    state.last_hash = hash;
}

static void descend(unsigned depth);

#define STEP(name, n_words)                                                                                  \
    static __attribute__((noinline)) void name(unsigned depth)                                               \
    {                                                                                                        \
        volatile uint64_t words[n_words];                                                                    \
        words[depth % (n_words)] = depth;                                                                    \
        descend(depth);                                                                                      \
        state.sum += words[depth % (n_words)];                                                               \
    }
/* clang-format off */
STEP(small, 1)
STEP(as_small, 1)
STEP(middle, 6)
STEP(as_middle, 6)
STEP(large, 100)
/* clang-format on */

/* Needs a frame pointer. */
static __attribute__((noinline)) void varying(unsigned depth)
{
    volatile uint64_t *words = __builtin_alloca((next_random() % 32 + 1) * sizeof *words);
    words[0] = depth;
    descend(depth);
    state.sum += words[0];
}

static void descend(unsigned depth)
{
    static void (*const steps[])(unsigned depth) = {small, as_small, middle, as_middle, large, varying};
    unsigned width = (unsigned)(next_random() % WIDEST);
    for (unsigned i = 0; i < width && state.n_visits < VISITS; i++) {
        if (depth < DEEPEST)
            steps[next_random() % (sizeof steps / sizeof steps[0])](depth + 1);
        if (next_random() % VISITED == 0) /* so that most calls come and go in between */
            visit();
    }
}

static void finds_what_a_full_walk_finds(void **unused)
{
    (void)unused;
    tg_heap.settings.depth = TG_AGENT_HEAP_MAX_DEPTH;
    tg_heap_walk_prepare();
    while (state.n_visits < VISITS)
        descend(0);
    assert_true(state.n_deep > VISITS / 4);
    assert_true(state.n_cut > VISITS / 4);
    assert_true(state.n_different > VISITS / 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(finds_what_a_full_walk_finds),
    };
    return cmocka_run_group_tests_name("recorder/agent/heap/walk", tests, NULL, NULL);
}
