/* The verdict's remark on leaks: whose, how much, from where; and when there is none. */
#include "analyzer/verdict/verdict.h"

#include "tests/support/trace_fixture.h"

#include <string.h>

enum { FIRST_PID = 100, RANKS = 3, MIB = 1 << 20, GROW = 0x1000, SOLVE = 0x2000, OTHER = 0x3000 };

static const char program[] = "/home/u/app", mpi_library[] = "/usr/lib/libmpi.so.40",
                  libc[] = "/lib/libc.so.6";

static struct tg_process_model *processes;
static struct tg_mpi_model *mpi;
static struct tg_openmp_model *openmp;
static struct tg_stack_model *stacks;
static struct tg_heap_model *heap;
static struct tg_verdict verdict;
static uint64_t now_ns;

static void feed(int rank, struct tg_event event)
{
    struct tg_process_entry *entry;
    event.pid = event.tid = FIRST_PID + rank;
    event.time_ns = now_ns += 10;
    assert_fine(tg_process_model_feed(processes, &event, &entry));
    assert_fine(tg_mpi_model_feed(mpi, &event, entry->index));
    assert_fine(tg_heap_model_feed(heap, &event, entry->index, SIZE_MAX, NULL));
    assert_fine(tg_stack_model_feed(stacks, &event, entry->index));
}

#define FEED(rank, symbol, member, ...)                                                                      \
    feed(rank, (struct tg_event){.kind = TG_EVENT_##symbol, .member = {__VA_ARGS__}})

static int set_up(void **state)
{
    (void)state;
    now_ns = 0;
    assert_fine(tg_process_model_create(&processes));
    assert_fine(tg_mpi_model_create(NULL, &mpi));
    assert_fine(tg_openmp_model_create(NULL, &openmp));
    assert_fine(tg_stack_model_create(&stacks));
    assert_fine(tg_heap_model_create(&(struct tg_heap_options){0}, &heap));
    for (int rank = 0; rank < RANKS; rank++) {
        FEED(rank, PROCESS_START, process_start, .origin = TG_ORIGIN_FORK, .parent_pid = 1);
        FEED(rank, IDENTITY, identity, .host = "h", .job = "j", .source = "R", .rank = rank, .size = RANKS);
        FEED(rank, HEAP_START, heap_start, .mode = TG_HEAP_EVENTS, .allocator = libc);
    }
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    tg_verdict_deinit(&verdict);
    tg_heap_model_destroy(heap);
    tg_stack_model_destroy(stacks);
    tg_openmp_model_destroy(openmp);
    tg_mpi_model_destroy(mpi);
    tg_process_model_destroy(processes);
    return 0;
}

static struct tg_stack_frame frame(const char *module, uint64_t address)
{
    return (struct tg_stack_frame){
        .module = module, .build_id = "aa", .address = address, .pc = address, .function = "", .file = ""};
}

/* Stack NUMBER of RANK: ADDRESS in MODULE, called by SOLVE in the program; a function of libc's lies before. */
static void tell_stack(int rank, uint64_t number, const char *module, uint64_t address)
{
    struct tg_stack_frame frames[] = {frame(libc, 0x500), frame(module, address), frame(program, SOLVE)};
    FEED(rank, HEAP_STACK, heap_stack, .stack = number, .frames = {.items = frames, .count = 3});
}

/* RANK has PEAK bytes at most. */
static void have(int rank, uint64_t peak)
{
    FEED(rank, HEAP_ALLOC, heap_alloc, .address = 0x100000, .size_bytes = peak);
    FEED(rank, HEAP_FREE, heap_free, .address = 0x100000);
}

static void leak(int rank, enum tg_heap_leak_kind kind, uint64_t stack, uint64_t blocks, uint64_t bytes)
{
    FEED(rank, HEAP_LEAK, heap_leak, .leak = kind, .stack = stack, .blocks = blocks, .size_bytes = bytes,
         .scan = 1);
}

static void scan(int rank, uint64_t leaked, const char *problem)
{
    FEED(rank, HEAP_LEAK_SCAN, heap_leak_scan, .scan = 1, .blocks = 100, .leaked_blocks = leaked,
         .leaked_bytes = leaked, .problem = problem);
}

/* All end, with STATUS. */
static void judge(int64_t status, bool has_losses)
{
    for (int rank = 0; rank < RANKS; rank++)
        FEED(rank, PROCESS_EXIT, process_exit, .status = status);
    const struct tg_verdict_input input = {.processes = processes,
                                           .mpi = mpi,
                                           .openmp = openmp,
                                           .stacks = stacks,
                                           .heap = heap,
                                           .has_losses = has_losses};
    assert_fine(tg_verdict_make(&input, &verdict));
}

static void expect_one(const char *text)
{
    assert_int_equal(verdict.count, 1);
    assert_int_equal(verdict.findings[0].kind, TG_FINDING_LEAK);
    assert_true(verdict.findings[0].is_warning);
    assert_string_equal(verdict.findings[0].text, text);
}

/* The head of a list is lost, and what it refers to with it: one place, one sum. */
static void a_list_is_one_leak_of_its_place(void **state)
{
    (void)state;
    for (int rank = 0; rank < 2; rank++) {
        have(rank, 64 * MIB);
        tell_stack(rank, 1, program, GROW);
        leak(rank, TG_HEAP_LEAK_LOST, 1, 1, MIB);
        leak(rank, TG_HEAP_LEAK_INDIRECT, 1, 99, 2 * MIB);
        scan(rank, 100, "");
    }
    have(2, MIB);
    scan(2, 0, "");
    judge(0, false);
    expect_one("Ranks 0-1 leaked 6.00 MiB in 200 blocks, to which nothing refers any more: from app+0x1000, "
               "called by app+0x2000.");
    assert_int_equal(verdict.findings[0].n_culprits, 2);
    assert_int_equal(verdict.findings[0].culprits[1].rank, 1);
}

static void places_are_told_by_size_with_their_ranks(void **state)
{
    (void)state;
    for (int rank = 0; rank < RANKS; rank++) {
        have(rank, 8 * MIB);
        tell_stack(rank, 1, program, GROW);
        tell_stack(rank, 2, program, OTHER);
        leak(rank, TG_HEAP_LEAK_LOST, 1, 1, 100 << 10);
        if (rank == 1)
            leak(rank, TG_HEAP_LEAK_LOST, 2, 3, 3 * MIB);
        scan(rank, 1, "");
    }
    judge(0, false);
    expect_one("Ranks 0-2 leaked 3.29 MiB in 6 blocks, to which nothing refers any more: 3.00 MiB from "
               "app+0x3000, called by app+0x2000 (rank 1); 300 KiB from app+0x1000, called by app+0x2000.");
}

/* A hundredth of the peak. */
static void next_to_nothing_is_no_remark(void **state)
{
    (void)state;
    have(0, 64 * MIB);
    tell_stack(0, 1, program, GROW);
    leak(0, TG_HEAP_LEAK_LOST, 1, 1, 64 * MIB / 100 - 1);
    scan(0, 1, "");
    judge(0, false);
    assert_int_equal(verdict.count, 0);
}

static void a_small_program_that_leaks_most_is_told(void **state)
{
    (void)state;
    have(0, 4000);
    tell_stack(0, 1, program, GROW);
    leak(0, TG_HEAP_LEAK_LOST, 1, 1, 400);
    scan(0, 1, "");
    judge(0, false);
    expect_one("Rank 0 leaked 400 B in 1 block, to which nothing refers any more: from app+0x1000, called by "
               "app+0x2000.");
}

/* What MPI_Init loses is not the program's; where it is much, it is told, as the library's. */
static void leaks_of_a_runtime_are_told_where_they_are_large(void **state)
{
    (void)state;
    have(0, 2 * MIB);
    tell_stack(0, 1, mpi_library, GROW);
    leak(0, TG_HEAP_LEAK_LOST, 1, 10, MIB - 1);
    scan(0, 10, "");
    judge(0, false);
    assert_int_equal(verdict.count, 0);
}

/* A library that MPI calls, and not the program. */
static void what_mpi_calls_is_not_the_programs(void **state)
{
    (void)state;
    have(0, 2 * MIB);
    struct tg_stack_frame frames[] = {frame("/usr/lib/libpciaccess.so.0", 0x100), frame(mpi_library, 0x200),
                                      frame(program, SOLVE)};
    FEED(0, HEAP_STACK, heap_stack, .stack = 1, .frames = {.items = frames, .count = 3});
    leak(0, TG_HEAP_LEAK_LOST, 1, 10, MIB / 2);
    scan(0, 10, "");
    judge(0, false);
    assert_int_equal(verdict.count, 0);
}

/* A reduction of the program's own that MPI calls. */
static void what_mpi_calls_back_is_the_programs(void **state)
{
    (void)state;
    have(0, 2 * MIB);
    struct tg_stack_frame frames[] = {frame(program, GROW), frame(mpi_library, 0x200), frame(program, SOLVE)};
    FEED(0, HEAP_STACK, heap_stack, .stack = 1, .frames = {.items = frames, .count = 3});
    leak(0, TG_HEAP_LEAK_LOST, 1, 10, MIB / 2);
    scan(0, 10, "");
    judge(0, false);
    expect_one(
        "Rank 0 leaked 512 KiB in 10 blocks, to which nothing refers any more: from app+0x1000, called by "
        "app+0x2000.");
}

/* Of the launcher's process, which is no rank. */
static void launchers_are_not_told(void **state)
{
    (void)state;
    FEED(RANKS, PROCESS_START, process_start, .origin = TG_ORIGIN_LAUNCHED, .parent_pid = 1);
    FEED(RANKS, HEAP_START, heap_start, .mode = TG_HEAP_EVENTS, .allocator = libc);
    have(RANKS, 2 * MIB);
    tell_stack(RANKS, 1, program, GROW);
    leak(RANKS, TG_HEAP_LEAK_LOST, 1, 10, MIB);
    scan(RANKS, 10, "");
    FEED(RANKS, PROCESS_EXIT, process_exit, .status = 0);
    judge(0, false);
    assert_int_equal(verdict.count, 0);
}

/* What pointers into it are left to, and what is still referred to, is none. */
static void interior_ones_are_none(void **state)
{
    (void)state;
    have(0, 2 * MIB);
    tell_stack(0, 1, program, GROW);
    leak(0, TG_HEAP_LEAK_INTERIOR, 1, 10, MIB);
    scan(0, 0, "");
    judge(0, false);
    assert_int_equal(verdict.count, 0);
}

static void nothing_is_said_where_not_all_is_known(void **state)
{
    (void)state;
    have(0, 2 * MIB);
    tell_stack(0, 1, program, GROW);
    leak(0, TG_HEAP_LEAK_LOST, 1, 10, MIB);
    scan(0, 10, "4096 bytes could not be read");
    judge(0, false);
    assert_int_equal(verdict.count, 0);
}

static void nothing_is_said_where_events_were_lost(void **state)
{
    (void)state;
    have(0, 2 * MIB);
    tell_stack(0, 1, program, GROW);
    leak(0, TG_HEAP_LEAK_LOST, 1, 10, MIB);
    scan(0, 10, "");
    judge(0, true);
    assert_int_equal(verdict.count, 0);
}

/* A job that failed has other troubles. */
static void nothing_is_said_of_a_job_that_failed(void **state)
{
    (void)state;
    have(0, 2 * MIB);
    tell_stack(0, 1, program, GROW);
    leak(0, TG_HEAP_LEAK_LOST, 1, 10, MIB);
    scan(0, 10, "");
    judge(1, false);
    for (size_t i = 0; i < verdict.count; i++)
        assert_int_not_equal(verdict.findings[i].kind, TG_FINDING_LEAK);
}

/* The library's name, and who called it. */
static void a_large_leak_of_a_runtime_says_whose(void **state)
{
    (void)state;
    have(0, 2 * MIB);
    tell_stack(0, 1, mpi_library, GROW);
    leak(0, TG_HEAP_LEAK_LOST, 1, 10, MIB);
    scan(0, 10, "");
    judge(0, false);
    expect_one(
        "Rank 0 leaked 1.00 MiB in 10 blocks, to which nothing refers any more: from libmpi.so.40, called by "
        "app+0x2000.");
}

static void name_code(const char *function, const char *file, uint64_t address)
{
    struct tg_named_call call = {.function = function, .file = file, .line = 7};
    FEED(0, CODE_NAME, code_name, .module = program, .build_id = "aa", .address = address,
         .calls = {.items = &call, .count = 1});
}

/* Variables of a main program in Fortran live to its end, and are on its stack: few blocks of a place are theirs, many are
 * none of theirs. */
static void variables_of_a_fortran_main_leak_nothing(void **state)
{
    (void)state;
    static const struct {
        const char *function, *file;
        uint64_t blocks;
        size_t findings;
    } cases[] = {
        {"solve", "solve.f90", 3, 0}, {"solve", "solve.f90", 300, 1}, {"MAIN__", "", 3, 0},
        {"main", "main.f90", 3, 1},   {"main", "solve.c", 3, 1},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct tg_stack_frame frames[] = {frame(program, GROW), frame(program, SOLVE), frame(program, OTHER)};
        name_code("grow", "grow.f90", GROW);
        name_code(cases[i].function, cases[i].file, SOLVE);
        name_code("main", "solve.f90", OTHER);
        have(0, MIB);
        FEED(0, HEAP_STACK, heap_stack, .stack = 1, .frames = {.items = frames, .count = 3});
        leak(0, TG_HEAP_LEAK_LOST, 1, cases[i].blocks, MIB);
        leak(0, TG_HEAP_LEAK_INDIRECT, 1, 500, MIB);
        scan(0, 1, "");
        judge(0, false);
        assert_int_equal(verdict.count, cases[i].findings);
        tear_down(NULL);
        verdict = (struct tg_verdict){0};
        set_up(NULL);
    }
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(a_list_is_one_leak_of_its_place),
        TEST(variables_of_a_fortran_main_leak_nothing),
        TEST(places_are_told_by_size_with_their_ranks),
        TEST(next_to_nothing_is_no_remark),
        TEST(a_small_program_that_leaks_most_is_told),
        TEST(leaks_of_a_runtime_are_told_where_they_are_large),
        TEST(a_large_leak_of_a_runtime_says_whose),
        TEST(what_mpi_calls_is_not_the_programs),
        TEST(what_mpi_calls_back_is_the_programs),
        TEST(launchers_are_not_told),
        TEST(interior_ones_are_none),
        TEST(nothing_is_said_where_not_all_is_known),
        TEST(nothing_is_said_where_events_were_lost),
        TEST(nothing_is_said_of_a_job_that_failed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
