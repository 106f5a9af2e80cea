/* The heap model against what is known of made-up heaps by arithmetic, and against one that counts everything anew. */
#include "analyzer/models/heap/model.h"

#include "analyzer/models/heap/frees.h"

#include "tests/support/trace_fixture.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { PID = 100, B = 0x10000, SOLVE = 0x1111, LOAD = 0x2222 };

struct heap {
    struct tg_heap_model *model;
    uint64_t time_ns;
};

static struct heap begin(void)
{
    const struct tg_heap_options options = {.keeps_blocks = false};
    struct heap heap = {.time_ns = 1000};
    assert_fine(tg_heap_model_create(&options, &heap.model));
    return heap;
}

static void feed_of(struct heap *heap, size_t process, size_t parent, struct tg_event event)
{
    event.time_ns = heap->time_ns += 100;
    if (event.pid == 0)
        event.pid = PID + (int32_t)process;
    if (event.tid == 0)
        event.tid = event.pid;
    assert_fine(tg_heap_model_feed(heap->model, &event, process, parent, NULL));
}

static void feed(struct heap *heap, struct tg_event event)
{
    feed_of(heap, 0, SIZE_MAX, event);
}

static struct tg_event alloc(uint64_t address, uint64_t size, uint64_t stack)
{
    return (struct tg_event){.kind = TG_EVENT_HEAP_ALLOC,
                             .heap_alloc = {.address = address, .size_bytes = size, .stack = stack}};
}

static struct tg_event release(uint64_t address)
{
    return (struct tg_event){.kind = TG_EVENT_HEAP_FREE, .heap_free = {.address = address}};
}

static struct tg_event resize(uint64_t address, uint64_t size, uint64_t stack)
{
    return (struct tg_event){.kind = TG_EVENT_HEAP_RESIZE,
                             .heap_resize = {.address = address, .size_bytes = size, .stack = stack}};
}

/* A stack of one frame at CODE of the program, and behind it the frames of the stack OUTER, 0 none. */
static void tell_stack_in(struct heap *heap, size_t process, uint64_t stack, uint64_t code, uint64_t outer)
{
    struct tg_stack_frame frame = {
        .module = "/bin/app", .build_id = "", .address = code, .function = "", .file = ""};
    struct tg_event event = {
        .kind = TG_EVENT_HEAP_STACK,
        .heap_stack = {.stack = stack, .frames = {.items = &frame, .count = 1}, .outer = outer}};
    feed_of(heap, process, SIZE_MAX, event);
}

static void tell_stack(struct heap *heap, size_t process, uint64_t stack, uint64_t code)
{
    tell_stack_in(heap, process, stack, code, 0);
}

static const struct tg_heap_process *only(const struct heap *heap)
{
    assert_int_equal(tg_heap_model_count(heap->model), 1);
    return tg_heap_model_at(heap->model, 0);
}

/* What PROCESS has of the calls at CODE. */
static struct tg_heap_use use_at(const struct heap *heap, const struct tg_heap_process *process,
                                 uint64_t code)
{
    for (size_t i = 0; i < process->n_sites; i++) {
        const struct tg_heap_path *path =
            tg_heap_call_paths_at(tg_heap_model_paths(heap->model), process->sites[i].path);
        if ((path->count > 0 ? path->frames[0]->address : 0) == code)
            return tg_heap_model_use(heap->model, process, &process->sites[i].use);
    }
    fail_msg("no site at %" PRIx64, code);
    return (struct tg_heap_use){0};
}

static void expect_amount(struct tg_heap_amount amount, uint64_t blocks, uint64_t bytes)
{
    assert_int_equal(tg_heap_amount_blocks(&amount), blocks);
    assert_int_equal(amount.bytes, bytes);
}

/* 100 of SOLVE, 50 of LOAD; LOAD's is freed, then SOLVE gets 60 more: most are 160 + nothing of LOAD's. */
static void the_peak_has_what_was_live_then(void **state)
{
    (void)state;
    struct heap heap = begin();
    tell_stack(&heap, 0, 1, SOLVE);
    tell_stack(&heap, 0, 2, LOAD);
    feed(&heap, alloc(B, 100, 1));
    feed(&heap, alloc(B + 0x100, 50, 2));
    feed(&heap, release(B + 0x100));
    feed(&heap, alloc(B + 0x200, 60, 1));
    uint64_t peak_ns = heap.time_ns;
    feed(&heap, release(B));
    feed(&heap, alloc(B + 0x300, 20, 2));
    const struct tg_heap_process *process = only(&heap);
    struct tg_heap_use all = tg_heap_model_use(heap.model, process, &process->use);
    expect_amount(all.allocated, 4, 230);
    expect_amount(all.live, 2, 80);
    expect_amount(all.at_peak, 2, 160);
    assert_int_equal(process->peak_ns, peak_ns);
    struct tg_heap_use solve = use_at(&heap, process, SOLVE), load = use_at(&heap, process, LOAD);
    expect_amount(solve.allocated, 2, 160);
    expect_amount(solve.at_peak, 2, 160);
    expect_amount(solve.live, 1, 60);
    expect_amount(load.allocated, 2, 70);
    expect_amount(load.at_peak, 0, 0);
    expect_amount(load.live, 1, 20);
    assert_int_equal(process->freed, 2);
    assert_int_equal(process->growth->points[process->growth->count - 1].last, 80);
    tg_heap_model_destroy(heap.model);
}

/* Two ranks: 100 and 10 at first, 20 and 200 later. The job's peak is the later one, each process's its own. */
static void the_job_has_a_peak_of_its_own(void **state)
{
    (void)state;
    struct heap heap = begin();
    feed_of(&heap, 0, SIZE_MAX, alloc(B, 100, 0));
    feed_of(&heap, 1, SIZE_MAX, alloc(B, 10, 0));
    feed_of(&heap, 0, SIZE_MAX, release(B));
    feed_of(&heap, 0, SIZE_MAX, alloc(B, 20, 0));
    feed_of(&heap, 1, SIZE_MAX, alloc(B + 0x100, 190, 0));
    uint64_t peak_ns = heap.time_ns;
    feed_of(&heap, 1, SIZE_MAX, release(B + 0x100));
    struct tg_heap_job job = tg_heap_model_job(heap.model);
    expect_amount(job.peak, 3, 220);
    expect_amount(job.live, 2, 30);
    assert_int_equal(job.peak_ns, peak_ns);
    const struct tg_heap_process *first = tg_heap_model_at(heap.model, 0),
                                 *second = tg_heap_model_at(heap.model, 1);
    struct tg_heap_use of_first = tg_heap_model_use(heap.model, first, &first->use);
    struct tg_heap_use of_second = tg_heap_model_use(heap.model, second, &second->use);
    expect_amount(of_first.at_peak, 1, 100);
    expect_amount(of_first.at_job_peak, 1, 20);
    expect_amount(of_second.at_peak, 2, 200);
    expect_amount(of_second.at_job_peak, 2, 200);
    tg_heap_model_destroy(heap.model);
}

static void what_a_process_had_goes_with_it(void **state)
{
    (void)state;
    struct heap heap = begin();
    feed_of(&heap, 0, SIZE_MAX, alloc(B, 100, 0));
    feed_of(&heap, 0, SIZE_MAX, (struct tg_event){.kind = TG_EVENT_PROCESS_EXIT});
    feed_of(&heap, 1, SIZE_MAX, alloc(B, 90, 0));
    expect_amount(tg_heap_model_job(heap.model).peak, 1, 100);
    expect_amount(tg_heap_model_job(heap.model).live, 1, 90);
    const struct tg_heap_process *ended = tg_heap_model_at(heap.model, 0);
    expect_amount(tg_heap_model_use(heap.model, ended, &ended->use).live, 1, 100);
    assert_int_equal(ended->blocks.count, 0); /* memory follows what is live */
    /* another program: what the one before had is no leak */
    feed_of(&heap, 1, SIZE_MAX, (struct tg_event){.kind = TG_EVENT_EXEC, .exec = {.path = "/bin/other"}});
    const struct tg_heap_process *other = tg_heap_model_at(heap.model, 1);
    expect_amount(other->use.live, 0, 0);
    expect_amount(tg_heap_model_job(heap.model).live, 0, 0);
    expect_amount(tg_heap_model_use(heap.model, other, &other->use).at_peak, 1, 90);
    tg_heap_model_destroy(heap.model);
}

static void events_of_threads_may_pass_each_other(void **state)
{
    (void)state;
    struct heap heap = begin();
    struct tg_event event = alloc(B, 100, 0);
    feed(&heap, event);
    /* thread 7 gets the address again; the free between the two comes behind it in the trace, with its earlier time */
    uint64_t freed_ns = heap.time_ns + 50;
    event = alloc(B, 30, 0);
    event.tid = 7;
    feed(&heap, event);
    event = release(B);
    event.time_ns = freed_ns;
    event.pid = event.tid = PID;
    assert_fine(tg_heap_model_feed(heap.model, &event, 0, SIZE_MAX, NULL));
    const struct tg_heap_process *process = only(&heap);
    expect_amount(process->use.live, 1, 30);
    assert_int_equal(process->freed, 1);
    assert_int_equal(process->missed_frees, 0);
    assert_int_equal(process->unknown_frees, 0);
    /* a free that comes before its allocation */
    feed(&heap, release(B + 0x100));
    assert_int_equal(process->unknown_frees, 1);
    event = alloc(B + 0x100, 55, 0);
    event.time_ns = heap.time_ns - 10;
    event.pid = event.tid = PID;
    assert_fine(tg_heap_model_feed(heap.model, &event, 0, SIZE_MAX, NULL));
    expect_amount(process->use.live, 1, 30);
    expect_amount(process->use.allocated, 3, 185);
    assert_int_equal(process->unknown_frees, 0);
    assert_int_equal(process->freed, 2);
    /* one that was lost */
    feed(&heap, alloc(B, 40, 0));
    assert_int_equal(process->missed_frees, 1);
    expect_amount(process->use.live, 1, 40);
    /* one of a block from before */
    feed(&heap, release(0x77770));
    assert_int_equal(process->unknown_frees, 1);
    tg_heap_model_destroy(heap.model);
}

static void temporary_blocks_are_counted_by_thread(void **state)
{
    (void)state;
    struct heap heap = begin();
    tell_stack(&heap, 0, 1, SOLVE);
    struct tg_event of_other = alloc(B + 0x500, 8, 0);
    of_other.tid = 9;
    feed(&heap, alloc(B, 16, 1));
    feed(&heap, of_other); /* another thread's does not count */
    feed(&heap, release(B));
    feed(&heap, alloc(B, 16, 1));
    feed(&heap, alloc(B + 0x20, 16, 1));
    feed(&heap, release(B)); /* not the last one */
    feed(&heap, release(B + 0x20));
    const struct tg_heap_process *process = only(&heap);
    assert_int_equal(process->use.temporary, 1);
    assert_int_equal(use_at(&heap, process, SOLVE).temporary, 1);
    tg_heap_model_destroy(heap.model);
}

static void sizes_change(void **state)
{
    (void)state;
    struct heap heap = begin();
    tell_stack(&heap, 0, 1, SOLVE);
    tell_stack(&heap, 0, 2, LOAD);
    feed(&heap, alloc(B, 100, 1));
    feed(&heap, resize(B, 300, 2));
    struct tg_event moved = release(B);
    moved.heap_free.release = TG_HEAP_FREED_BY_REALLOC;
    feed(&heap, moved);
    moved = alloc(B + 0x1000, 500, 1);
    moved.heap_alloc.call = TG_HEAP_REALLOC;
    feed(&heap, moved);
    const struct tg_heap_process *process = only(&heap);
    expect_amount(process->use.live, 1, 500);
    expect_amount(process->use.allocated, 3, 900);
    expect_amount(use_at(&heap, process, LOAD).live, 0, 0);
    expect_amount(use_at(&heap, process, SOLVE).live, 1, 500);
    assert_int_equal(process->resized, 2);
    expect_amount(process->by_size[9].live, 1, 500); /* [256, 512) */
    expect_amount(process->by_size[9].allocated, 2, 800);
    expect_amount(process->by_size[7].allocated, 1, 100);
    tg_heap_model_destroy(heap.model);
}

static void a_fork_knows_its_parents_stacks(void **state)
{
    (void)state;
    struct heap heap = begin();
    tell_stack(&heap, 0, 1, SOLVE);
    feed_of(&heap, 1, 0, (struct tg_event){.kind = TG_EVENT_PROCESS_START});
    tell_stack(&heap, 0, 2, LOAD); /* the parent's alone */
    feed_of(&heap, 1, 0, alloc(B, 10, 1));
    feed_of(&heap, 1, 0, alloc(B + 0x20, 7, 2));
    feed_of(&heap, 1, 0, alloc(B + 0x40, 3, UINT64_MAX)); /* no such stack */
    const struct tg_heap_process *child = tg_heap_model_find(heap.model, 1);
    expect_amount(use_at(&heap, child, SOLVE).live, 1, 10);
    expect_amount(use_at(&heap, child, 0).live, 2, 10);
    assert_false(child->is_late);
    tg_heap_model_destroy(heap.model);
}

static struct tg_event fork_event(uint64_t origin)
{
    return (struct tg_event){.kind = TG_EVENT_PROCESS_START, .process_start = {.origin = origin}};
}

/* A forked child frees, resizes and keeps blocks of its parent: no free is unknown, nothing is counted twice, and the parent's
 * own are as they were. */
static void a_fork_has_its_parents_blocks(void **state)
{
    (void)state;
    struct heap heap = begin();
    tell_stack(&heap, 0, 1, SOLVE);
    for (uint64_t i = 0; i < 4; i++)
        feed(&heap, alloc(B + 0x100 * i, 10, 1));
    feed(&heap, release(B + 0x300));
    feed_of(&heap, 1, 0, fork_event(TG_ORIGIN_FORK));
    const struct tg_heap_process *child = tg_heap_model_find(heap.model, 1);
    expect_amount(child->inherited, 3, 30);
    expect_amount(child->inherited_live, 3, 30);
    feed_of(&heap, 1, 0,
            (struct tg_event){.kind = TG_EVENT_HEAP_ERROR,
                              .heap_error = {.error = TG_HEAP_GUARD_CORRUPTION, .block = B, .call = ""}});
    assert_int_not_equal(tg_heap_model_fault_at(heap.model, 0)->allocated_path, 0);
    feed_of(&heap, 1, 0, release(B));
    feed_of(&heap, 1, 0, resize(B + 0x100, 25, 1));
    feed_of(&heap, 1, 0, alloc(B + 0x300, 7, 1));
    feed_of(&heap, 1, 0, release(B + 0x300));
    expect_amount(child->inherited_live, 1, 10);
    expect_amount(child->use.live, 1, 25);
    expect_amount(child->use.allocated, 2, 32);
    expect_amount(use_at(&heap, child, SOLVE).live, 1, 25);
    assert_int_equal(child->unknown_frees, 0);
    assert_int_equal(child->missed_frees, 0);
    assert_int_equal(child->freed, 1);
    const struct tg_heap_process *parent = tg_heap_model_find(heap.model, 0);
    expect_amount(parent->use.live, 3, 30);
    expect_amount(parent->inherited, 0, 0);
    expect_amount(tg_heap_model_job(heap.model).live, 4, 55);
    feed_of(&heap, 2, 1, fork_event(TG_ORIGIN_FORK)); /* a grandchild: all that the child has */
    const struct tg_heap_process *grandchild = tg_heap_model_find(heap.model, 2);
    expect_amount(grandchild->inherited, 2, 35);
    feed_of(&heap, 1, 0, (struct tg_event){.kind = TG_EVENT_EXEC});
    expect_amount(child->inherited_live, 0, 0);
    expect_amount(child->use.live, 0, 0);
    feed_of(&heap, 2, 1, (struct tg_event){.kind = TG_EVENT_PROCESS_EXIT});
    expect_amount(tg_heap_model_job(heap.model).live, 3, 30);
    feed_of(&heap, 3, 0, fork_event(TG_ORIGIN_VFORK)); /* has no memory of its own */
    expect_amount(tg_heap_model_find(heap.model, 3)->inherited, 0, 0);
    tg_heap_model_destroy(heap.model);
}

static const struct tg_event twice = {
    .kind = TG_EVENT_HEAP_ERROR, .heap_error = {.error = TG_HEAP_DOUBLE_DEALLOC, .block = B, .call = ""}};

/* A process whose mistakes are told, and stack 1 of it. */
static struct heap begin_check(void)
{
    struct heap heap = begin();
    feed(&heap, (struct tg_event){.kind = TG_EVENT_HEAP_START,
                                  .heap_start = {.mode = TG_HEAP_CHECK, .allocator = ""}});
    tell_stack(&heap, 0, 1, SOLVE);
    return heap;
}

/* A forked child frees a block of its parent twice: where it was allocated is known; no more so when somebody else got its address. */
static void a_fork_frees_a_block_twice(void **state)
{
    (void)state;
    struct heap heap = begin_check();
    feed(&heap, alloc(B, 10, 1));
    feed_of(&heap, 1, 0, fork_event(TG_ORIGIN_FORK));
    feed_of(&heap, 1, 0, release(B));
    feed_of(&heap, 1, 0, twice);
    assert_int_not_equal(tg_heap_model_fault_at(heap.model, 0)->allocated_path, 0);
    feed_of(&heap, 1, 0, alloc(B, 20, 0));
    feed_of(&heap, 1, 0, release(B));
    feed_of(&heap, 1, 0, twice);
    assert_int_equal(tg_heap_model_fault_at(heap.model, 1)->allocated_path, 0);
    assert_int_equal(tg_heap_model_fault_at(heap.model, 1)->allocated_by, 0);
    struct tg_event array = alloc(B + 0x100, 20, 0), wrong = twice;
    array.heap_alloc.call = TG_HEAP_NEW_ARRAY;
    wrong.heap_error.block = B + 0x100;
    wrong.heap_error.error = TG_HEAP_MISMATCHED_DEALLOC;
    feed(&heap, array);
    feed(&heap, wrong); /* while the block is live: what gave it is known */
    assert_int_equal(tg_heap_model_fault_at(heap.model, 2)->allocated_by, TG_HEAP_NEW_ARRAY + 1);
    tg_heap_model_destroy(heap.model);
}

static struct tg_event release_at(uint64_t address, uint64_t stack)
{
    return (struct tg_event){.kind = TG_EVENT_HEAP_FREE, .heap_free = {.address = address, .stack = stack}};
}

static void expect_places(const struct heap *heap, size_t fault, uint64_t allocated, uint64_t freed)
{
    const struct tg_heap_fault *found = tg_heap_model_fault_at(heap->model, fault);
    const struct tg_heap_call_paths *paths = tg_heap_model_paths(heap->model);
    const uint32_t path[] = {found->allocated_path, found->freed_path};
    const uint64_t code[] = {allocated, freed};
    for (int i = 0; i < 2; i++) {
        assert_int_equal(path[i] != 0, code[i] != 0);
        if (path[i] != 0)
            assert_int_equal(tg_heap_call_paths_at(paths, path[i])->frames[0]->address, code[i]);
    }
}

/* A block that was freed before the fork, and is freed again by the child, or by its child: where it was allocated and freed is known;
 * no more so when it was given out again meanwhile, nor of a process that did not fork from there. */
static void a_fork_frees_what_its_parent_freed(void **state)
{
    (void)state;
    struct heap heap = begin_check();
    tell_stack(&heap, 0, 2, LOAD);
    feed(&heap, alloc(B, 10, 1));
    feed(&heap, release_at(B, 2));
    feed_of(&heap, 1, 0, fork_event(TG_ORIGIN_FORK));
    feed_of(&heap, 1, 0, twice);
    expect_places(&heap, 0, SOLVE, LOAD);
    feed_of(&heap, 2, 1, fork_event(TG_ORIGIN_FORK));
    feed_of(&heap, 2, 1, twice);
    expect_places(&heap, 1, SOLVE, LOAD);
    feed_of(&heap, 3, 1, fork_event(TG_ORIGIN_VFORK)); /* has no memory of its own */
    feed_of(&heap, 3, 1, twice);
    expect_places(&heap, 2, 0, 0);
    feed_of(&heap, 1, 0, alloc(B, 20, 0));
    feed_of(&heap, 1, 0, release_at(B, 0));
    feed_of(&heap, 1, 0, twice);
    expect_places(&heap, 3, 0, 0);
    for (uint64_t i = 1; i <= TG_HEAP_MAX_FREES; i++)
        feed_of(&heap, 2, 1, release_at(B + 0x100 * i, 0));
    feed_of(&heap, 2, 1, twice); /* so long ago that the agent does not have it any more */
    expect_places(&heap, 4, 0, 0);
    tg_heap_model_destroy(heap.model);
}

/* Told ahead of its allocation, which another thread's ring held: both places are known all the same. */
static void a_free_told_ahead_is_remembered(void **state)
{
    (void)state;
    struct heap heap = begin_check();
    tell_stack(&heap, 0, 2, LOAD);
    feed(&heap, release_at(B, 2));
    struct tg_event event = alloc(B, 10, 1);
    event.time_ns = heap.time_ns - 10;
    event.pid = event.tid = PID;
    assert_fine(tg_heap_model_feed(heap.model, &event, 0, SIZE_MAX, NULL));
    feed_of(&heap, 1, 0, fork_event(TG_ORIGIN_FORK));
    feed_of(&heap, 1, 0,
            (struct tg_event){.kind = TG_EVENT_HEAP_ERROR,
                              .heap_error = {.error = TG_HEAP_DOUBLE_DEALLOC, .block = B, .call = ""}});
    expect_places(&heap, 0, SOLVE, LOAD);
    tg_heap_model_destroy(heap.model);
}

static struct tg_event deep(uint64_t way, const char *library, const char *problem)
{
    return (struct tg_event){.kind = TG_EVENT_DEEP_BIND,
                             .deep_bind = {.way = way,
                                           .library = library,
                                           .problem = problem,
                                           .wrapper = "",
                                           .scope_before = "",
                                           .scope_after = ""}};
}

/* S12: a library into whose scope the agent did not come is not seen, and that is said. */
static void deep_bound_libraries_that_are_not_seen(void **state)
{
    (void)state;
    struct heap heap = begin();
    feed(&heap, deep(TG_DEEP_BIND_FAILED, "early.so", "of a process whose heap is not recorded"));
    assert_int_equal(tg_heap_model_gap_count(heap.model), 0);
    feed(&heap, (struct tg_event){.kind = TG_EVENT_HEAP_START, .heap_start = {.allocator = ""}});
    feed(&heap, deep(TG_DEEP_BIND_AUDIT, "seen.so", ""));
    feed(&heap, deep(TG_DEEP_BIND_WRAPPER, "seen.so", "by the second way"));
    feed(&heap, deep(TG_DEEP_BIND_LOADED, "seen.so", ""));
    feed(&heap, deep(TG_DEEP_BIND_NOT_NEEDED, "seen.so", ""));
    feed(&heap, deep(TG_DEEP_BIND_FAILED, "bad.so", "no wrapper in /none"));
    feed(&heap, deep(TG_DEEP_BIND_FAILED, "bad.so", "no wrapper in /none"));
    feed(&heap, deep(TG_DEEP_BIND_PASS_THROUGH, "passed.so", ""));
    assert_int_equal(tg_heap_model_gap_count(heap.model), 2);
    const struct tg_heap_gap *gap = tg_heap_model_gap_at(heap.model, 0);
    assert_string_equal(gap->module, "bad.so");
    assert_string_equal(gap->reason, "opened with RTLD_DEEPBIND: no wrapper in /none");
    gap = tg_heap_model_gap_at(heap.model, 1);
    assert_string_equal(gap->module, "passed.so");
    assert_string_equal(gap->reason, "opened with RTLD_DEEPBIND, and TVHEAP_DEEPBIND has pass_through");
    tg_heap_model_destroy(heap.model);
}

/* Numbers are those of the job: a process may begin with the 20,000th stack. One that no trace can have is refused. */
static void processes_share_numbers_of_stacks(void **state)
{
    (void)state;
    struct heap heap = begin();
    for (uint64_t stack = 1; stack < 20000; stack++)
        tell_stack(&heap, 0, stack, stack);
    tell_stack(&heap, 1, 20000, SOLVE);
    tell_stack(&heap, 1, UINT64_C(1) << 40, LOAD);
    feed_of(&heap, 1, SIZE_MAX, alloc(B, 10, 20000));
    feed_of(&heap, 1, SIZE_MAX, alloc(B + 0x20, 7, UINT64_C(1) << 40));
    const struct tg_heap_process *process = tg_heap_model_find(heap.model, 1);
    expect_amount(use_at(&heap, process, SOLVE).live, 1, 10);
    expect_amount(use_at(&heap, process, 0).live, 1, 7);
    tg_heap_model_destroy(heap.model);
}

static const struct tg_heap_path *path_at(const struct heap *heap, const struct tg_heap_process *process,
                                          uint64_t code)
{
    for (size_t i = 0; i < process->n_sites; i++) {
        const struct tg_heap_path *path =
            tg_heap_call_paths_at(tg_heap_model_paths(heap->model), process->sites[i].path);
        if (path->count > 0 && path->frames[0]->address == code)
            return path;
    }
    fail_msg("no site at %" PRIx64, code);
    return NULL;
}

/* 3 in 2 in 1, which is nobody's own; 5 in 4, of which nothing is known. */
static void stacks_go_on_in_others(void **state)
{
    (void)state;
    struct heap heap = begin();
    tell_stack(&heap, 0, 1, 0x1000);
    tell_stack_in(&heap, 0, 2, 0x2000, 1);
    tell_stack_in(&heap, 0, 3, 0x3000, 2);
    tell_stack_in(&heap, 0, 5, 0x5000, 4);
    feed(&heap, alloc(0x100, 10, 3));
    feed(&heap, alloc(0x200, 10, 5));
    const struct tg_heap_path *path = path_at(&heap, only(&heap), 0x3000);
    assert_int_equal(path->count, 3);
    assert_int_equal(path->frames[1]->address, 0x2000);
    assert_int_equal(path->frames[2]->address, 0x1000);
    assert_int_equal(path->end, TG_STACK_WHOLE);
    expect_amount(use_at(&heap, only(&heap), 0x3000).live, 1, 10);
    path = path_at(&heap, only(&heap), 0x5000);
    assert_int_equal(path->count, 1);
    assert_int_equal(path->end, TG_STACK_CUT);
    tg_heap_model_destroy(heap.model);
}

/* Blocks of 4,096 bytes, of which each is recorded with probability 1 - exp(-1/16), stand for all of them. */
static void samples_stand_for_all(void **state)
{
    (void)state;
    struct heap heap = begin();
    feed(&heap,
         (struct tg_event){.kind = TG_EVENT_HEAP_START,
                           .heap_start = {.mode = TG_HEAP_SAMPLE, .sample_bytes = 65536, .allocator = ""}});
    const uint64_t n = 200000, size = 4096;
    double hit = 1 - exp(-1.0 / 16);
    uint64_t random = 42, recorded = 0;
    for (uint64_t i = 0; i < n; i++) {
        random = random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        if ((double)(random >> 11) / 9007199254740992.0 >= hit)
            continue;
        recorded++;
        feed(&heap, alloc(B + i * size, size, 0));
    }
    const struct tg_heap_process *process = only(&heap);
    assert_int_equal(process->recorded, recorded);
    uint64_t error = tg_heap_amount_error(&process->use.allocated);
    /* the standard error by the binomial distribution: sqrt(n p (1 - p)) * size / p */
    double truth = sqrt((double)n * hit * (1 - hit)) * (double)size / hit;
    assert_true(fabs((double)error - truth) < 0.02 * truth);
    double off = (double)process->use.allocated.bytes - (double)(n * size);
    assert_true(fabs(off) < 4 * truth);
    double blocks_off = (double)tg_heap_amount_blocks(&process->use.live) - (double)n;
    assert_true(fabs(blocks_off) < 4 * truth / (double)size);
    /* a block far larger than the distance stands for itself */
    feed(&heap, alloc(0x70000000, UINT64_C(1) << 30, 0));
    struct tg_heap_use large = process->by_size[31];
    expect_amount(large.live, 1, UINT64_C(1) << 30);
    tg_heap_model_destroy(heap.model);
}

static void errors_gaps_and_leaks_are_kept(void **state)
{
    (void)state;
    struct heap heap = begin();
    tell_stack(&heap, 0, 1, SOLVE);
    tell_stack(&heap, 0, 2, LOAD);
    struct tg_event event = {.kind = TG_EVENT_HEAP_ERROR,
                             .heap_error = {.error = TG_HEAP_DOUBLE_DEALLOC,
                                            .address = B,
                                            .stack = 1,
                                            .allocated_stack = 2,
                                            .freed_stack = 1,
                                            .call = "free"}};
    feed(&heap, event);
    feed(&heap, event);
    event.heap_error.allocated_stack = 0;
    feed(&heap, event);
    assert_int_equal(tg_heap_model_fault_count(heap.model), 2);
    assert_int_equal(tg_heap_model_fault_at(heap.model, 0)->count, 2);
    assert_int_equal(tg_heap_model_fault_at(heap.model, 1)->allocated_path, 0);
    event = (struct tg_event){.kind = TG_EVENT_HEAP_UNSEEN, .heap_unseen = {"/lib/own.so", "its own malloc"}};
    feed(&heap, event);
    feed(&heap, event);
    assert_int_equal(tg_heap_model_gap_count(heap.model), 1);
    event = (struct tg_event){
        .kind = TG_EVENT_HEAP_LEAK,
        .heap_leak = {.leak = TG_HEAP_LEAK_LOST, .stack = 2, .blocks = 3, .size_bytes = 30}};
    feed(&heap, event);
    assert_int_equal(only(&heap)->scan.time_ns, 0);
    event = (struct tg_event){.kind = TG_EVENT_HEAP_LEAK_SCAN,
                              .heap_leak_scan = {.scan = 1, .leaked_blocks = 3, .problem = ""}};
    feed(&heap, event);
    assert_int_equal(only(&heap)->scan.n_leaks, 1);
    assert_int_equal(only(&heap)->scan.leaks[0].bytes, 30);
    event.heap_leak_scan.scan = 2;
    feed(&heap, event);
    assert_int_equal(only(&heap)->scan.n_leaks, 0);
    tg_heap_model_destroy(heap.model);
}

/* ---- the same heap, counted anew at every event */

enum { SLOTS = 64, STACKS = 5, PROCESSES = 3, STEPS = 20000 };

struct naive {
    uint64_t size[PROCESSES][SLOTS]; /* 0: not live */
    uint64_t stack[PROCESSES][SLOTS];
    uint64_t peak[PROCESSES], peak_of[PROCESSES][STACKS];
    uint64_t job_peak, job_peak_of[PROCESSES][STACKS];
};

static uint64_t sum(const struct naive *naive, size_t process, uint64_t stack)
{
    uint64_t bytes = 0;
    for (size_t i = 0; i < SLOTS; i++)
        if (stack == STACKS || naive->stack[process][i] == stack)
            bytes += naive->size[process][i];
    return bytes;
}

static void note_peaks(struct naive *naive, size_t process)
{
    uint64_t job = 0;
    for (size_t p = 0; p < PROCESSES; p++)
        job += sum(naive, p, STACKS);
    if (sum(naive, process, STACKS) > naive->peak[process]) {
        naive->peak[process] = sum(naive, process, STACKS);
        for (uint64_t s = 0; s < STACKS; s++)
            naive->peak_of[process][s] = sum(naive, process, s);
    }
    if (job <= naive->job_peak)
        return;
    naive->job_peak = job;
    for (size_t p = 0; p < PROCESSES; p++)
        for (uint64_t s = 0; s < STACKS; s++)
            naive->job_peak_of[p][s] = sum(naive, p, s);
}

static void compare(const struct heap *heap, const struct naive *naive)
{
    for (size_t p = 0; p < PROCESSES; p++) {
        const struct tg_heap_process *process = tg_heap_model_find(heap->model, p);
        if (process == NULL)
            continue;
        assert_int_equal(process->use.live.bytes, sum(naive, p, STACKS));
        assert_int_equal(process->use.at_peak.bytes, naive->peak[p]);
        for (uint64_t s = 0; s < STACKS; s++) {
            struct tg_heap_use use = use_at(heap, process, s * 16);
            assert_int_equal(use.live.bytes, sum(naive, p, s));
            assert_int_equal(use.at_peak.bytes, naive->peak_of[p][s]);
            assert_int_equal(use.at_job_peak.bytes, naive->job_peak_of[p][s]);
        }
    }
    assert_int_equal(tg_heap_model_job(heap->model).peak.bytes, naive->job_peak);
}

static void peaks_are_those_of_counting_anew(void **state)
{
    (void)state;
    struct heap heap = begin();
    struct naive *naive = calloc(1, sizeof *naive);
    assert_non_null(naive);
    for (size_t p = 0; p < PROCESSES; p++)
        for (uint64_t s = 1; s < STACKS; s++)
            tell_stack(&heap, p, s, s * 16);
    uint64_t random = 7;
    for (size_t step = 0; step < STEPS; step++) {
        random = random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        size_t process = (random >> 60) % PROCESSES, slot = (random >> 33) % SLOTS;
        uint64_t size = 1 + (random >> 40) % 1000, stack = (random >> 50) % STACKS,
                 address = B + slot * 0x1000;
        bool is_live = naive->size[process][slot] != 0;
        if (is_live && (random >> 20) % 4 == 0) {
            feed_of(&heap, process, SIZE_MAX, resize(address, size, stack));
        } else if (is_live) {
            feed_of(&heap, process, SIZE_MAX, release(address));
            size = 0;
        } else {
            feed_of(&heap, process, SIZE_MAX, alloc(address, size, stack));
        }
        naive->size[process][slot] = size;
        naive->stack[process][slot] = stack;
        note_peaks(naive, process);
        if (step % 997 == 0)
            compare(&heap, naive);
    }
    compare(&heap, naive);
    free(naive);
    tg_heap_model_destroy(heap.model);
}

static void growth_keeps_its_peaks(void **state)
{
    (void)state;
    struct tg_heap_growth growth = {0};
    for (uint64_t i = 0; i < 100000; i++)
        tg_heap_growth_add(&growth, 5 + i * 1000003, i == 77777 ? 1000000 : i);
    assert_true(growth.count <= TG_HEAP_GROWTH_POINTS && growth.count > TG_HEAP_GROWTH_POINTS / 2 - 1);
    assert_int_equal(growth.points[growth.count - 1].last, 99999);
    uint64_t at = UINT64_C(77777) * 1000003 / growth.step_ns;
    assert_int_equal(growth.points[at].highest, 1000000);
    assert_true(growth.points[at].last < 1000000);
    for (size_t i = 1; i < growth.count; i++)
        assert_true(growth.points[i].last > growth.points[i - 1].last);
    /* time that goes back */
    tg_heap_growth_add(&growth, 5, 3);
    assert_int_equal(growth.points[growth.count - 1].last, 3);
}

static void blocks_are_found_after_many_removals(void **state)
{
    (void)state;
    struct tg_heap_blocks blocks = {0};
    const uint64_t n = 5000;
    for (uint64_t i = 1; i <= n; i++)
        assert_fine(
            tg_heap_blocks_put(&blocks, &(struct tg_heap_block){.address = i * 16, .size_bytes = 16}));
    for (uint64_t i = 1; i <= n; i++)
        if (i % 3 != 0)
            tg_heap_blocks_remove(&blocks, tg_heap_blocks_find(&blocks, i * 16));
    for (uint64_t i = 1; i <= n; i++)
        assert_true((tg_heap_blocks_find(&blocks, i * 16) != NULL) == (i % 3 == 0));
    size_t count = 0;
    for (const struct tg_heap_block *block = NULL; (block = tg_heap_blocks_next(&blocks, block)) != NULL;)
        count++;
    assert_int_equal(count, n / 3);
    assert_null(tg_heap_blocks_find(&blocks, 0));
    tg_heap_blocks_deinit(&blocks);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_peak_has_what_was_live_then),
        cmocka_unit_test(the_job_has_a_peak_of_its_own),
        cmocka_unit_test(what_a_process_had_goes_with_it),
        cmocka_unit_test(events_of_threads_may_pass_each_other),
        cmocka_unit_test(temporary_blocks_are_counted_by_thread),
        cmocka_unit_test(sizes_change),
        cmocka_unit_test(a_fork_knows_its_parents_stacks),
        cmocka_unit_test(a_fork_has_its_parents_blocks),
        cmocka_unit_test(a_fork_frees_a_block_twice),
        cmocka_unit_test(a_fork_frees_what_its_parent_freed),
        cmocka_unit_test(a_free_told_ahead_is_remembered),
        cmocka_unit_test(deep_bound_libraries_that_are_not_seen),
        cmocka_unit_test(processes_share_numbers_of_stacks),
        cmocka_unit_test(stacks_go_on_in_others),
        cmocka_unit_test(samples_stand_for_all),
        cmocka_unit_test(errors_gaps_and_leaks_are_kept),
        cmocka_unit_test(peaks_are_those_of_counting_anew),
        cmocka_unit_test(growth_keeps_its_peaks),
        cmocka_unit_test(blocks_are_found_after_many_removals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
