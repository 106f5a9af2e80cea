/* Which ranks are told as one: about equally large heaps, and of samples those that chance alone can have told apart. */
#include "analyzer/heap/groups.h"

#include "tests/support/trace_fixture.h"

enum { FIRST_PID = 100, RANKS = 6, SAMPLE_BYTES = 1 << 19, BLOCK_BYTES = 1 << 19, ADDRESSES_APART = 1 << 28 };

struct job {
    struct tg_process_model *processes;
    struct tg_heap_model *heap;
    uint64_t time_ns;
};

static void feed(struct job *job, size_t process, struct tg_event event)
{
    struct tg_process_entry *entry;
    event.time_ns = job->time_ns += 100;
    event.pid = event.tid = FIRST_PID + (int32_t)process;
    assert_fine(tg_process_model_feed(job->processes, &event, &entry));
    assert_fine(tg_heap_model_feed(job->heap, &event, process, SIZE_MAX, NULL));
}

/* Ranks with so many BLOCKS each. */
static void make(struct job *job, enum tg_heap_mode mode, const unsigned *blocks)
{
    const struct tg_heap_options options = {.keeps_blocks = false};
    *job = (struct job){.time_ns = 1000};
    assert_fine(tg_process_model_create(&job->processes));
    assert_fine(tg_heap_model_create(&options, &job->heap));
    for (size_t i = 0; i < RANKS; i++) {
        feed(job, i, (struct tg_event){.kind = TG_EVENT_PROCESS_START});
        feed(job, i,
             (struct tg_event){
                 .kind = TG_EVENT_IDENTITY,
                 .identity = {.host = "", .job = "", .source = "", .rank = (int64_t)i, .size = RANKS}});
        feed(job, i,
             (struct tg_event){.kind = TG_EVENT_HEAP_START,
                               .heap_start = {.mode = mode, .sample_bytes = SAMPLE_BYTES, .allocator = ""}});
        for (uint64_t block = 0; block < blocks[i]; block++)
            feed(job, i,
                 (struct tg_event){
                     .kind = TG_EVENT_HEAP_ALLOC,
                     .heap_alloc = {.address = (block + 1) * ADDRESSES_APART, .size_bytes = BLOCK_BYTES}});
    }
}

static void expect_groups(enum tg_heap_mode mode, const unsigned *blocks, const size_t *sizes, size_t n_sizes)
{
    struct job job;
    struct tg_heap_group *groups;
    size_t count;
    make(&job, mode, blocks);
    assert_fine(tg_heap_groups_make(job.heap, job.processes, NULL, &groups, &count));
    assert_int_equal(count, n_sizes);
    for (size_t i = 0; i < count; i++)
        assert_int_equal(groups[i].n_ranks, sizes[i]);
    tg_heap_groups_destroy(groups, count);
    tg_heap_model_destroy(job.heap);
    tg_process_model_destroy(job.processes);
}

static const unsigned few_blocks[RANKS] = {3, 4, 5, 3, 6, 90};

static void a_quarter_less_is_another_group(void **state)
{
    (void)state;
    static const size_t sizes[] = {1, 2, 3}; /* 90; 6 and 5; 4, 3 and 3 */
    expect_groups(TG_HEAP_EVENTS, few_blocks, sizes, 3);
}

static void who_differs_by_chance_is_not(void **state)
{
    (void)state;
    static const size_t sizes[] = {1, 5};
    expect_groups(TG_HEAP_SAMPLE, few_blocks, sizes, 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_quarter_less_is_another_group),
        cmocka_unit_test(who_differs_by_chance_is_not),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
