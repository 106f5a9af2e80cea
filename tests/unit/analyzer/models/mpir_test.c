#include "analyzer/models/mpir.h"

#include "analyzer/output/rank_ranges.h"

#include <string.h>
/* clang-format off */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

enum { STARTER = 7, FIRST_RANK = 10 }; /* indices of processes; a pid is 100 more */

static struct tg_mpir_model *model;
static uint64_t now_ns;

static void feed(size_t process, struct tg_event event)
{
    event.pid = event.tid = (int32_t)(100 + process);
    event.time_ns = now_ns += 10;
    assert_null(tg_mpir_model_feed(model, &event, process));
}

#define FEED(process, symbol, member, ...)                                                                   \
    feed(process, (struct tg_event){.kind = TG_EVENT_##symbol, .member = {__VA_ARGS__}})

static int set_up(void **state)
{
    (void)state;
    now_ns = 0;
    return tg_mpir_model_create(&model) != NULL;
}

static int tear_down(void **state)
{
    (void)state;
    tg_mpir_model_destroy(model);
    return 0;
}

static uint64_t impossible(void)
{
    uint64_t first_ns;
    const char *first;
    return tg_mpir_model_impossible(model, &first_ns, &first);
}

static void feed_symbols(size_t process)
{
    static const struct tg_mpir_symbol symbols[] = {
        {.name = "MPIR_proctable", .address = 8, .size_bytes = 8, .text = ""},
        {.name = "MPIR_dll_name", .address = 80, .size_bytes = 512, .text = "libqueues.so"}};
    FEED(process, MPIR_SYMBOLS, mpir_symbols, .object = "/usr/lib/librte.so",
         .layout = TG_MPIR_LAYOUT_ELF_CLASS, .stride_bytes = 24, .executable_offset = 8, .pid_offset = 16,
         .symbols = {symbols, 2});
}

static void feed_job(void)
{
    FEED(STARTER, MPIR_JOB, mpir_job, .launcher = "Open MPI", .acquisition = TG_MPIR_BY_LAUNCH, .reason = "",
         .partial_attach_ok = 1, .job = "");
}

/* [first, last) of a table of SIZE in the reading SNAPSHOT, all on host "h" with pids from BASE on. */
static void feed_table(uint64_t snapshot, uint64_t first, uint64_t last, int64_t size, int64_t base)
{
    struct tg_mpir_entry entries[32];
    for (uint64_t i = first; i < last; i++)
        entries[i - first] = (struct tg_mpir_entry){
            .rank = i, .host = "h", .executable = "/a", .pid = base + (int64_t)i, .problem = ""};
    FEED(STARTER, MPIR_TABLE, mpir_table, .snapshot = snapshot, .first = first, .claimed_size = size,
         .read_ns = 5, .last = (int64_t)last == size, .reason = "", .entries = {entries, last - first});
}

static void feed_rank(size_t process, int64_t rank, uint64_t state, uint64_t way, const char *reason)
{
    FEED(process, MPIR_RANK, mpir_rank, .starter_pid = 100 + STARTER, .rank = rank, .host = "h",
         .executable = "/a", .table_pid = 100 + FIRST_RANK + rank, .state = state, .way = way,
         .gate = TG_MPIR_GATE_SET, .reason = reason);
}

static const struct tg_mpir_rank *rank_at(size_t i)
{
    size_t count;
    const struct tg_mpir_rank *ranks = tg_mpir_model_ranks(model, 0, &count);
    assert_true(i < count);
    return &ranks[i];
}

static struct tg_mpir_tally tally(void)
{
    size_t count;
    const struct tg_mpir_rank *ranks = tg_mpir_model_ranks(model, 0, &count);
    return tg_mpir_ranks_tally(ranks, count);
}

/* ---- */

static void symbols_alone_make_no_starter(void **state)
{
    (void)state;
    feed_symbols(STARTER);
    feed_symbols(FIRST_RANK);
    assert_int_equal(tg_mpir_model_count(model), 2);
    assert_int_equal(tg_mpir_model_starter_count(model), 0);
    feed_job();
    assert_int_equal(tg_mpir_model_starter_count(model), 1);
    const struct tg_mpir_starter *starter = tg_mpir_model_at(model, 0);
    assert_true(starter->is_starter && starter->is_recognised && starter->partial_attach_ok);
    assert_false(tg_mpir_model_at(model, 1)->is_starter);
    assert_int_equal(starter->n_objects, 1);
    assert_int_equal(starter->objects[0].stride_bytes, 24);
    assert_string_equal(starter->objects[0].dll_name, "libqueues.so");
    FEED(STARTER, EXEC, exec, .path = "/usr/bin/other");
    assert_int_equal(starter->n_objects, 0); /* of the program that was */
    assert_int_equal(impossible(), 0);
}

static void a_launch(void **state)
{
    (void)state;
    feed_symbols(STARTER);
    feed_job();
    FEED(STARTER, MPIR_WRITE, mpir_write, .symbol = "MPIR_being_debugged", .value = 1, .error = "");
    FEED(STARTER, MPIR_STATE, mpir_state, .seen = TG_MPIR_AT_BREAKPOINT, .state = TG_MPIR_STATE_SPAWNED,
         .raw_state = 1, .abort_string = "", .table_size = 4);
    feed_table(1, 0, 3, 4, 110);
    assert_false(tg_mpir_model_at(model, 0)->is_whole);
    feed_table(1, 3, 4, 4, 110);
    assert_true(tg_mpir_model_at(model, 0)->is_whole);
    assert_int_equal(tg_mpir_model_at(model, 0)->read_entries, 4);
    assert_int_equal(tally().untold, 4);
    feed_rank(FIRST_RANK, 0, TG_MPIR_ACQUIRED, TG_MPIR_WAY_FORK, "");
    feed_rank(FIRST_RANK + 1, 1, TG_MPIR_ACQUIRED, TG_MPIR_WAY_ATTACHED, "");
    feed_rank(STARTER, 2, TG_MPIR_REMOTE, TG_MPIR_WAY_NONE, "");
    feed_rank(STARTER, 3, TG_MPIR_MISSED, TG_MPIR_WAY_NONE, "gone");
    feed_rank(STARTER, 0, TG_MPIR_ACQUIRED, TG_MPIR_WAY_FORK, "had ended");
    assert_int_equal(rank_at(0)->process, SIZE_MAX); /* the event is the starter's */
    feed_rank(FIRST_RANK, 0, TG_MPIR_ACQUIRED, TG_MPIR_WAY_FORK, "");
    assert_int_equal(rank_at(1)->process, FIRST_RANK + 1);
    assert_int_equal(rank_at(2)->process, SIZE_MAX);
    assert_string_equal(rank_at(3)->reason, "gone");
    assert_int_equal(tally().states[TG_MPIR_ACQUIRED], 2);
    assert_int_equal(tally().states[TG_MPIR_REMOTE], 1);
    assert_int_equal(tally().states[TG_MPIR_MISSED], 1);
    assert_int_equal(tally().untold, 0);
    assert_int_equal(impossible(), 0);
    size_t count;
    uint64_t unkept;
    const struct tg_mpir_step *steps = tg_mpir_model_steps(model, 0, &count, &unkept);
    static const enum tg_mpir_step_kind expected[] = {
        TG_MPIR_STEP_SYMBOLS, TG_MPIR_STEP_RECOGNISED, TG_MPIR_STEP_WRITE,
        TG_MPIR_STEP_STATE,   TG_MPIR_STEP_TABLE,      TG_MPIR_STEP_RANKS,
        TG_MPIR_STEP_RANKS,   TG_MPIR_STEP_RANKS,      TG_MPIR_STEP_RANKS};
    assert_int_equal(count, sizeof expected / sizeof *expected);
    for (size_t i = 0; i < count; i++)
        assert_int_equal(steps[i].kind, expected[i]);
    assert_int_equal(steps[5].count, 2); /* in a row */
    assert_int_equal(unkept, 0);
}

static void a_table_that_is_read_again(void **state)
{
    (void)state;
    feed_symbols(STARTER);
    feed_table(1, 0, 3, 3, 110);
    for (int64_t rank = 0; rank < 3; rank++)
        feed_rank(FIRST_RANK + (size_t)rank, rank, TG_MPIR_ACQUIRED, TG_MPIR_WAY_FORK, "");
    feed_table(2, 0, 5, 5, 110); /* grows: former ranks stay as they were */
    assert_int_equal(tally().states[TG_MPIR_ACQUIRED], 3);
    assert_int_equal(tally().untold, 2);
    feed_table(3, 0, 2, 2, 500); /* others take their places: nothing is known of these */
    assert_int_equal(tally().untold, 2);
    assert_int_equal(tally().states[TG_MPIR_ACQUIRED], 1);
    assert_int_equal(tally().gone, 2);
    assert_int_equal(rank_at(0)->process, SIZE_MAX);
    assert_int_equal(rank_at(0)->table_pid, 500);
    assert_true(rank_at(2)->is_told && !rank_at(2)->in_table);
    assert_int_equal(impossible(), 0);
}

static void aborting_and_an_end(void **state)
{
    (void)state;
    feed_symbols(STARTER);
    feed_job();
    FEED(STARTER, MPIR_STATE, mpir_state, .state = TG_MPIR_STATE_ABORTING, .raw_state = 2,
         .abort_string = "out of cheese", .table_size = 0);
    uint64_t aborted_ns = now_ns;
    FEED(STARTER, MPIR_STATE, mpir_state, .seen = TG_MPIR_AT_EXIT, .state = TG_MPIR_STATE_ABORTING,
         .raw_state = 2, .abort_string = "");
    FEED(STARTER, PROCESS_EXIT, process_exit, .how = TG_EXIT_SIGNAL, .status = 6);
    const struct tg_mpir_starter *starter = tg_mpir_model_at(model, 0);
    assert_true(starter->has_aborted && starter->has_ended);
    assert_int_equal(starter->aborted_ns, aborted_ns);
    assert_string_equal(starter->abort_string, "out of cheese");
    assert_int_equal(starter->ended_how, TG_EXIT_SIGNAL);
    assert_int_equal(impossible(), 0);
}

static void spawned_ranks_are_outside_of_tables(void **state)
{
    (void)state;
    size_t count;
    for (size_t process = 20; process < 24; process++)
        FEED(process, MPIR_RANK, mpir_rank, .starter_pid = 0, .rank = (int64_t)process % 2, .host = "h",
             .executable = "/child", .table_pid = 0, .state = TG_MPIR_OUTSIDE, .way = TG_MPIR_WAY_FORK,
             .reason = "spawned");
    FEED(21, MPIR_RANK, mpir_rank, .rank = 1, .host = "h", .executable = "/child", .state = TG_MPIR_OUTSIDE,
         .way = TG_MPIR_WAY_ALREADY, .reason = "");
    const struct tg_mpir_rank *ranks = tg_mpir_model_outside(model, &count);
    assert_int_equal(count, 4);
    assert_int_equal(ranks[1].process, 21);
    assert_int_equal(ranks[1].way, TG_MPIR_WAY_ALREADY);
    assert_int_equal(ranks[2].rank, 0);
    assert_int_equal(impossible(), 0);
    assert_int_equal(tg_mpir_model_count(model), 0);
}

static void what_cannot_be_is_counted(void **state)
{
    (void)state;
    static const struct tg_mpir_entry out_of_order[] = {
        {.rank = 1, .host = "", .executable = "", .problem = ""},
        {.rank = UINT64_MAX, .host = "", .executable = "", .problem = ""}};
    uint64_t before = 0;
#define IS_IMPOSSIBLE(n)                                                                                     \
    assert_int_equal(impossible(), before + (n));                                                            \
    before = impossible()
    feed_rank(FIRST_RANK, 0, TG_MPIR_ACQUIRED, TG_MPIR_WAY_FORK, "");
    IS_IMPOSSIBLE(1); /* no such starter */
    feed_symbols(STARTER);
    feed_table(1, 4, 6, 10, 110);
    IS_IMPOSSIBLE(1); /* the beginning of the table is missing */
    feed_table(2, 0, 2, 10, 110);
    IS_IMPOSSIBLE(1); /* the end of the one before is */
    feed_table(2, 2, 10, 10, 110);
    IS_IMPOSSIBLE(0);
    feed_table(2, 0, 10, 10, 110);
    IS_IMPOSSIBLE(1); /* the same again */
    FEED(STARTER, MPIR_TABLE, mpir_table, .snapshot = 3, .claimed_size = 2, .last = 1, .reason = "",
         .entries = {out_of_order, 2});
    IS_IMPOSSIBLE(2); /* none is where it belongs */
    FEED(STARTER, MPIR_TABLE, mpir_table, .snapshot = 4, .claimed_size = -1, .last = 1, .reason = "",
         .entries = {out_of_order, 1});
    IS_IMPOSSIBLE(2); /* and more than there are */
    feed_rank(FIRST_RANK, 77, TG_MPIR_ACQUIRED, TG_MPIR_WAY_FORK, "");
    IS_IMPOSSIBLE(1); /* in no table */
    feed_rank(FIRST_RANK, 0, TG_MPIR_ACQUIRED, TG_MPIR_WAY_NONE, "");
    IS_IMPOSSIBLE(1);
    feed_rank(FIRST_RANK, 0, TG_MPIR_REMOTE, TG_MPIR_WAY_FORK, "");
    IS_IMPOSSIBLE(1);
    feed_rank(FIRST_RANK, 0, 99, TG_MPIR_WAY_FORK, "");
    IS_IMPOSSIBLE(1);
    FEED(STARTER, PROCESS_EXIT, process_exit, .how = TG_EXIT_STATUS);
    FEED(STARTER, MPIR_STATE, mpir_state, .seen = TG_MPIR_AT_BREAKPOINT, .abort_string = "");
    IS_IMPOSSIBLE(1);
    feed_table(5, 0, 1, 1, 110);
    IS_IMPOSSIBLE(1);
#undef IS_IMPOSSIBLE
}

static void a_pid_that_is_used_again(void **state)
{
    (void)state;
    feed_symbols(STARTER);
    feed_job();
    FEED(STARTER, PROCESS_EXIT, process_exit, .how = TG_EXIT_STATUS);
    struct tg_event job = {.kind = TG_EVENT_MPIR_JOB,
                           .pid = 100 + STARTER,
                           .mpir_job = {.launcher = "Slurm", .reason = "", .job = "1.0"}};
    assert_null(tg_mpir_model_feed(model, &job, 50));
    feed_rank(FIRST_RANK, 3, TG_MPIR_ACQUIRED, TG_MPIR_WAY_FORK, "");
    size_t count;
    tg_mpir_model_ranks(model, 0, &count);
    assert_int_equal(count, 0);
    tg_mpir_model_ranks(model, 1, &count);
    assert_int_equal(count, 1); /* the second one's */
    assert_string_equal(tg_mpir_model_at(model, 1)->job, "1.0");
}

static void steps_are_bounded(void **state)
{
    (void)state;
    size_t count;
    uint64_t unkept;
    feed_job();
    for (int i = 0; i < TG_MPIR_MAX_STEPS + 9; i++)
        FEED(STARTER, MPIR_STATE, mpir_state, .abort_string = "");
    tg_mpir_model_steps(model, 0, &count, &unkept);
    assert_int_equal(count, TG_MPIR_MAX_STEPS);
    assert_int_equal(unkept, 10);
}

/* A copy says the same, and neither sees what the other is fed. */
static void copies_go_their_own_way(void **state)
{
    (void)state;
    feed_symbols(STARTER);
    feed_job();
    feed_table(1, 0, 2, 4, 110);
    feed_rank(FIRST_RANK, 900, TG_MPIR_ACQUIRED, TG_MPIR_WAY_FORK, ""); /* at another place than its number */
    struct tg_mpir_model *original = model, *copy;
    assert_null(tg_mpir_model_copy(original, &copy));
    model = copy;
    feed_table(1, 2, 4, 4, 110);
    feed_rank(FIRST_RANK + 1, 900, TG_MPIR_MISSED, TG_MPIR_WAY_NONE, "later");
    feed_symbols(STARTER + 1);
    FEED(STARTER, PROCESS_EXIT, process_exit, .how = TG_EXIT_STATUS);
    size_t count, n_steps;
    uint64_t unkept;
    tg_mpir_model_ranks(copy, 0, &count);
    assert_int_equal(count, 5);
    assert_true(tg_mpir_model_at(copy, 0)->has_ended);
    model = original;
    tg_mpir_model_ranks(original, 0, &count);
    assert_int_equal(count, 3);
    assert_int_equal(rank_at(2)->state, TG_MPIR_ACQUIRED);
    assert_int_equal(tg_mpir_model_count(original), 1);
    assert_false(tg_mpir_model_at(original, 0)->has_ended);
    tg_mpir_model_steps(original, 0, &n_steps, &unkept);
    assert_int_equal(n_steps, 3);
    tg_mpir_model_destroy(original);
    model = copy; /* lives on without it */
    assert_string_equal(tg_mpir_model_at(model, 0)->launcher, "Open MPI");
    assert_string_equal(rank_at(2)->reason, "later");
}

static void lists_of_ranks(void **state)
{
    (void)state;
    int64_t ranks[] = {7, 0, 2, 1, 7, 9, INT64_MAX, -3, INT64_MIN};
    char buffer[96];
    size_t count = tg_rank_ranges_sort(ranks, sizeof ranks / sizeof *ranks);
    assert_int_equal(count, 8);
    assert_string_equal(tg_rank_ranges_print(ranks, count, buffer, sizeof buffer),
                        "-9223372036854775808,-3,0-2,7,9,9223372036854775807");
    assert_string_equal(tg_rank_ranges_print(ranks + 1, count - 1, buffer, 14), "-3,0-2,7,...");
    assert_string_equal(tg_rank_ranges_print(ranks, count, buffer, 8), "...");
    assert_string_equal(tg_rank_ranges_print(ranks, 0, buffer, sizeof buffer), "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(symbols_alone_make_no_starter, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_launch, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_table_that_is_read_again, set_up, tear_down),
        cmocka_unit_test_setup_teardown(aborting_and_an_end, set_up, tear_down),
        cmocka_unit_test_setup_teardown(spawned_ranks_are_outside_of_tables, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_cannot_be_is_counted, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_pid_that_is_used_again, set_up, tear_down),
        cmocka_unit_test_setup_teardown(steps_are_bounded, set_up, tear_down),
        cmocka_unit_test_setup_teardown(copies_go_their_own_way, set_up, tear_down),
        cmocka_unit_test(lists_of_ranks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
