/* Sequence diagrams as data: folding, merging, and that nobody is behind a barrier it has not come to. */
#include "analyzer/sequence/builder.h"
#include "analyzer/sequence/team.h"

#include "format/event/event.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define OK(expression) assert_null(expression)

static uint64_t now_ns;
static struct tg_sequence_builder *builder;

static void feed(int32_t tid, struct tg_event event)
{
    event.time_ns = now_ns++;
    event.pid = 1;
    event.tid = tid;
    OK(tg_sequence_builder_feed(builder, &event, 0));
}

#include "tests/unit/analyzer/models/openmp/events.h"
#include "tests/unit/analyzer/models/openmp/random.h"

static void start(void)
{
    const struct tg_sequence_options options = {.all = true};
    now_ns = 1000;
    OK(tg_sequence_builder_create(&options, &builder));
}

static struct tg_sequence *finish(void)
{
    struct tg_sequence *sequence;
    OK(tg_sequence_builder_finish(builder, &sequence));
    tg_sequence_builder_destroy(builder);
    builder = NULL;
    return sequence;
}

/* ---- lists */

static struct tg_sequence_node *step(uint64_t what, uint32_t lane)
{
    struct tg_sequence_node *node = tg_sequence_node_create(TG_SEQUENCE_SYNC, lane, ++now_ns);
    assert_non_null(node);
    node->what = what;
    tg_sequence_node_finish(node, now_ns + 1);
    return node;
}

static void append(struct tg_sequence_list *list, const char *steps, uint32_t lane)
{
    for (; *steps != '\0'; steps++)
        OK(tg_sequence_list_append(list, step((uint64_t)*steps, lane)));
}

/* A list as text: "a3" is three times a in a row, "(ab)2" two times a, b; "*" something left out. */
static void print(const struct tg_sequence_list *list, char *text)
{
    for (size_t i = 0; i < list->count; i++) {
        const struct tg_sequence_node *node = list->items[i];
        text += strlen(text);
        if (node->kind == TG_SEQUENCE_GROUP) {
            strcat(text, "(");
            print(&node->children, text);
            strcat(text, ")");
        } else {
            sprintf(text, "%c", node->kind == TG_SEQUENCE_ELIDED ? '*' : (char)node->what);
        }
        if (node->most > 1)
            sprintf(text + strlen(text), "%d", (int)node->most);
    }
}

static void expect(const struct tg_sequence_list *list, const char *expected)
{
    char text[4096] = "";
    print(list, text);
    assert_string_equal(text, expected);
}

static void expect_folded(const char *steps, const char *expected)
{
    struct tg_sequence_list list = {0};
    append(&list, steps, 0);
    expect(&list, expected);
    tg_sequence_list_deinit(&list);
}

static void equal_things_become_one_with_a_count(void **state)
{
    (void)state;
    expect_folded("", "");
    expect_folded("abc", "abc");
    expect_folded("aaaa", "a4");
    expect_folded("abab", "(ab)2");
    expect_folded("abababab", "(ab)4");
    expect_folded("xabcabcabcy", "x(abc)3y");
    expect_folded("aabaabaab", "(a2b)3");
    expect_folded("abcabcdabcabcd", "((abc)2d)2");
}

static void one_that_differs_stands_by_itself(void **state)
{
    (void)state;
    expect_folded("ababacababab", "(ab)2ac(ab)3");
}

static void a_million_iterations_are_a_handful_of_things(void **state)
{
    (void)state;
    struct tg_sequence_list list = {0};
    for (int i = 0; i < 100000; i++)
        append(&list, i == 77777 ? "abcdx" : "abcd", 0);
    expect(&list, "(abcd)77778x(abcd)22222");
    assert_int_equal(list.items[0]->executions, 77778);
    assert_int_equal(list.items[0]->children.items[2]->executions, 77778);
    tg_sequence_list_deinit(&list);
}

static void what_never_repeats_is_left_out_of_the_middle(void **state)
{
    (void)state;
    struct tg_sequence_list list = {0};
    uint64_t told = 0;
    for (uint64_t i = 0; i < 50000; i++)
        OK(tg_sequence_list_append(&list, step(1000 + i, 0)));
    assert_true(list.weight <= 2 * TG_SEQUENCE_MAX_WEIGHT);
    assert_int_equal(list.items[0]->what, 1000);
    assert_int_equal(list.items[list.count - 1]->what, 1000 + 49999);
    size_t n_elided = 0;
    for (size_t i = 0; i < list.count; i++) {
        n_elided += list.items[i]->kind == TG_SEQUENCE_ELIDED;
        told += list.items[i]->executions;
    }
    assert_int_equal(n_elided, 1);
    assert_int_equal(told, 50000); /* nothing is silently gone */
    tg_sequence_list_deinit(&list);
}

static void merging_keeps_everybodys_order(void **state)
{
    (void)state;
    struct tg_sequence_list lists[3] = {{0}}, merged = {0};
    append(&lists[0], "ab", 0);
    append(&lists[1], "acb", 1);
    append(&lists[2], "cd", 2);
    OK(tg_sequence_merge(lists, 3, &merged));
    expect(&merged, "acbd");
    assert_int_equal(merged.items[0]->n_parts, 2);
    assert_int_equal(merged.items[1]->n_parts, 2);
    assert_int_equal(merged.items[1]->parts[1].lane, 2);
    tg_sequence_list_deinit(&merged);
}

static void orders_that_contradict_are_merged_all_the_same(void **state)
{
    (void)state;
    struct tg_sequence_list lists[2] = {{0}}, merged = {0};
    append(&lists[0], "ab", 0);
    append(&lists[1], "ba", 1);
    OK(tg_sequence_merge(lists, 2, &merged));
    size_t parts = 0;
    for (size_t i = 0; i < merged.count; i++)
        parts += merged.items[i]->n_parts;
    assert_int_equal(merged.count, 3);
    assert_int_equal(parts, 4);
    tg_sequence_list_deinit(&merged);
}

static void counts_of_lifelines_become_a_range(void **state)
{
    (void)state;
    struct tg_sequence_list lists[2] = {{0}}, merged = {0};
    append(&lists[0], "aaaaaaa", 0);
    append(&lists[1], "aaa", 1);
    OK(tg_sequence_merge(lists, 2, &merged));
    assert_int_equal(merged.count, 1);
    assert_int_equal(merged.items[0]->least, 3);
    assert_int_equal(merged.items[0]->most, 7);
    assert_int_equal(merged.items[0]->executions, 10);
    tg_sequence_list_deinit(&merged);
}

/* ---- diagrams */

static const struct tg_sequence_node *only_region(const struct tg_sequence *sequence)
{
    const struct tg_sequence_node *found = NULL;
    for (size_t i = 0; i < sequence->list.count; i++)
        if (sequence->list.items[i]->kind == TG_SEQUENCE_REGION)
            found = sequence->list.items[i];
    assert_non_null(found);
    return found;
}

static void a_critical_tells_who_got_in_when(void **state)
{
    (void)state;
    start();
    begin_region(1, 4);
    critical(1, true);
    critical(3, true);
    critical(2, true);
    critical(4, false);
    struct tg_sequence *sequence = finish();
    const struct tg_sequence_node *phase = only_region(sequence)->children.items[0];
    const struct tg_sequence_node *mutex = phase->children.items[0];
    assert_int_equal(mutex->kind, TG_SEQUENCE_MUTEX);
    assert_int_equal(mutex->n_parts, 4);
    for (size_t i = 0; i < 4; i++) {
        static const uint32_t order[] = {0, 2, 1, 3};
        size_t before = 0;
        for (size_t other = 0; other < 4; other++)
            before += mutex->parts[other].begin_ns < mutex->parts[i].begin_ns;
        assert_int_equal(mutex->parts[i].lane, order[before]);
    }
    assert_int_equal(mutex->children.items[0]->kind, TG_SEQUENCE_HERE);
    assert_int_equal(mutex->children.items[0]->parts[0].lane, 3);
    tg_sequence_destroy(sequence);
}

/* Lanes that do anything in LIST, but for regions inside: those have members of their own. */
static void lanes_in(const struct tg_sequence_list *list, bool *lanes)
{
    for (size_t i = 0; i < list->count; i++) {
        const struct tg_sequence_node *node = list->items[i];
        for (size_t part = 0; node->kind != TG_SEQUENCE_REGION && part < node->n_parts; part++)
            if (node->parts[part].role != TG_SEQUENCE_MISSING)
                lanes[node->parts[part].lane] = true;
        if (node->kind != TG_SEQUENCE_REGION)
            lanes_in(&node->children, lanes);
    }
}

static void check_regions(const struct tg_sequence *sequence, const struct tg_sequence_list *list,
                          struct truth truths[LANES][TEAMS + 1])
{
    for (size_t i = 0; i < list->count; i++) {
        const struct tg_sequence_node *node = list->items[i];
        check_regions(sequence, &node->children, truths);
        if (node->kind != TG_SEQUENCE_REGION)
            continue;
        uint64_t behind = 0;
        for (size_t at = 0; at < node->children.count; at++) {
            bool lanes[LANES] = {false};
            const struct tg_sequence_node *phase = node->children.items[at];
            const struct tg_sequence_list alone = {.items = &node->children.items[at], .count = 1};
            lanes_in(&alone, lanes);
            for (size_t lane = 0; lane < sequence->n_lanes; lane++) {
                int32_t tid = sequence->lanes[lane].tid;
                const struct truth *truth = &truths[tid - 1][node->team];
                if (lanes[lane] && !truth->ended && truth->came < behind)
                    fail_msg("worker %d is drawn behind barrier %d of team %d", (int)tid, (int)behind,
                             (int)node->team);
            }
            if (phase->has_barrier && phase->what != TG_OMP_SYNC_BARRIER_JOIN && phase->most == 1)
                behind = phase->id;
        }
    }
}

static void nobody_is_behind_a_barrier_that_it_has_not_come_to(void **state)
{
    (void)state;
    for (unsigned seed = 1; seed <= 400; seed++) {
        unsigned next = seed;
        struct truth truths[LANES][TEAMS + 1] = {{{0}}};
        start();
        for (unsigned i = 0; i < 20 + seed; i++)
            random_event(&next, truths);
        struct tg_sequence *sequence = finish();
        check_regions(sequence, &sequence->list, truths);
        tg_sequence_destroy(sequence);
    }
}

static void a_member_far_behind_keeps_its_place(void **state)
{
    (void)state;
    start();
    begin_region(1, 2);
    for (uint64_t i = 1; i <= 2 * TG_SEQUENCE_MAX_APART; i++) {
        come(1, 1, i);
        go_on(1, 1, i); /* as after the loss of what the other one did */
        FEED(1, OMP_ZONE_BEGIN, omp_zone_begin, .team = 1, .code = i % 7 + 1);
        FEED(1, OMP_ZONE_END, omp_zone_end, .team = 1);
    }
    FEED(2, OMP_ZONE_BEGIN, omp_zone_begin, .team = 1, .code = 99);
    struct tg_sequence *sequence = finish();
    const struct tg_sequence_node *region = only_region(sequence), *first = region->children.items[0];
    bool found = false;
    assert_true(sequence->left_out > 0);
    for (size_t i = 0; i < first->children.count; i++)
        found |= first->children.items[i]->code == 99;
    assert_true(found); /* in front of the first barrier */
    tg_sequence_destroy(sequence);
}

static void a_barrier_knows_who_waits_and_who_is_missing(void **state)
{
    (void)state;
    start();
    begin_region(1, 4);
    come(2, 1, 1);
    come(4, 1, 1);
    struct tg_sequence *sequence = finish();
    const struct tg_sequence_node *phase = only_region(sequence)->children.items[0];
    assert_true(phase->has_barrier);
    assert_true(phase->is_open);
    assert_int_equal(phase->n_parts, 4);
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(phase->parts[i].role,
                         phase->parts[i].lane % 2 == 1 ? TG_SEQUENCE_WAITS : TG_SEQUENCE_MISSING);
    tg_sequence_destroy(sequence);
}

static void the_last_state_forgets_what_is_over(void **state)
{
    (void)state;
    const struct tg_sequence_options options = {0};
    now_ns = 1000;
    OK(tg_sequence_builder_create(&options, &builder));
    for (uint64_t team = 1; team <= 3; team++) {
        FEED(1, OMP_PARALLEL_BEGIN, omp_parallel_begin, .new_team = team, .code = team);
        FEED(1, OMP_IMPLICIT_BEGIN, omp_implicit_begin, .team = team, .level = 1, .team_size = 1);
        FEED(1, OMP_IMPLICIT_END, omp_implicit_end, .team = team, .level = 1);
        if (team < 3)
            FEED(1, OMP_PARALLEL_END, omp_parallel_end, .ended_team = team);
    }
    struct tg_sequence *sequence = finish();
    assert_int_equal(sequence->list.count, 1);
    assert_int_equal(sequence->list.items[0]->team, 3);
    assert_true(sequence->list.items[0]->is_open);
    tg_sequence_destroy(sequence);
}

/* ---- tasks */

static uint64_t n_tasks;

static uint64_t create_task(int32_t tid, uint64_t line, uint64_t parent)
{
    FEED(tid, OMP_TASK_CREATE, omp_task_create, .team = 1, .thread_num = (uint64_t)tid - 1, .code = line,
         .task = ++n_tasks, .parent_task = parent, .body = 16 * line);
    return n_tasks;
}

static void begin_task(int32_t tid, uint64_t task, bool resumed)
{
    FEED(tid, OMP_TASK_BEGIN, omp_task_begin, AT(1, (uint64_t)tid - 1), .task = task, .resumed = resumed);
}

static void end_task(int32_t tid, uint64_t task, uint64_t how)
{
    FEED(tid, OMP_TASK_END, omp_task_end, AT(1, (uint64_t)tid - 1), .task = task, .how = how);
}

/* A task of line 5 and one of line 7 for each inner call, as libgomp does it: who waits for tasks is suspended. */
static void fib(int32_t tid, int n, uint64_t caller)
{
    if (n < 2)
        return;
    uint64_t left = create_task(tid, 5, caller), right = create_task(tid, 7, caller);
    if (caller != 0)
        end_task(tid, caller, TG_OMP_TASK_SUSPENDED);
    begin_task(tid, right, false);
    fib(tid, n - 2, right);
    end_task(tid, right, TG_OMP_TASK_COMPLETED);
    begin_task(3 - tid, left, false); /* the other worker */
    fib(3 - tid, n - 1, left);
    end_task(3 - tid, left, TG_OMP_TASK_COMPLETED);
    if (caller != 0)
        begin_task(tid, caller, true);
}

static void tasks_that_are_many_are_one_thing_for_each_line(void **state)
{
    (void)state;
    start();
    n_tasks = 0;
    begin_region(1, 2);
    come(2, 1, 1);
    fib(1, 8, 0);
    come(1, 1, 1);
    go_on(1, 1, 1);
    go_on(2, 1, 1);
    struct tg_sequence *sequence = finish();
    assert_int_equal(n_tasks, 2 * 33); /* calls of fib(8) that make calls */
    const struct tg_sequence_list *phases = &sequence->list.items[0]->children;
    assert_int_equal(phases->items[0]->kind, TG_SEQUENCE_PHASE);
    const struct tg_sequence_list *in_phase = &phases->items[0]->children;
    assert_int_equal(in_phase->count, 2);
    for (size_t i = 0; i < 2; i++) {
        assert_true(in_phase->items[i]->is_sum);
        assert_false(in_phase->items[i]->is_at_least);
        assert_int_equal(in_phase->items[i]->tasks, 33);
        assert_int_equal(in_phase->items[i]->n_parts, 2);
        assert_int_equal(in_phase->items[i]->body, 16 * in_phase->items[i]->code);
    }
    tg_sequence_destroy(sequence);
}

static void a_task_that_is_not_over_is_in_no_sum(void **state)
{
    (void)state;
    start();
    n_tasks = 0;
    begin_region(1, 2);
    come(2, 1, 1);
    fib(1, 6, 0);
    begin_task(1, create_task(1, 5, 0), false);
    struct tg_sequence *sequence = finish();
    const struct tg_sequence_list *in_phase = &sequence->list.items[0]->children.items[0]->children;
    size_t n_open = 0, total = 0;
    for (size_t i = 0; i < in_phase->count; i++) {
        const struct tg_sequence_node *node = in_phase->items[i];
        n_open += node->kind == TG_SEQUENCE_TASK && node->is_open;
        assert_false(node->is_sum && node->is_open);
        total += node->tasks;
    }
    assert_int_equal(n_open, 1);
    assert_int_equal(total, 2 * 12 + 1); /* 12 calls of fib(6) make calls; nothing is lost, or twice there */
    tg_sequence_destroy(sequence);
}

static void a_region_that_never_was_is_an_error(void **state)
{
    (void)state;
    const struct tg_sequence_options options = {.team = 5};
    struct tg_sequence *sequence;
    OK(tg_sequence_builder_create(&options, &builder));
    struct tg_error *error = tg_sequence_builder_finish(builder, &sequence);
    assert_non_null(error);
    assert_int_equal(tg_error_code(error), TG_ERROR_NOT_FOUND);
    tg_error_destroy(error);
    tg_sequence_builder_destroy(builder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equal_things_become_one_with_a_count),
        cmocka_unit_test(one_that_differs_stands_by_itself),
        cmocka_unit_test(a_million_iterations_are_a_handful_of_things),
        cmocka_unit_test(what_never_repeats_is_left_out_of_the_middle),
        cmocka_unit_test(merging_keeps_everybodys_order),
        cmocka_unit_test(orders_that_contradict_are_merged_all_the_same),
        cmocka_unit_test(counts_of_lifelines_become_a_range),
        cmocka_unit_test(a_critical_tells_who_got_in_when),
        cmocka_unit_test(nobody_is_behind_a_barrier_that_it_has_not_come_to),
        cmocka_unit_test(a_member_far_behind_keeps_its_place),
        cmocka_unit_test(a_barrier_knows_who_waits_and_who_is_missing),
        cmocka_unit_test(the_last_state_forgets_what_is_over),
        cmocka_unit_test(tasks_that_are_many_are_one_thing_for_each_line),
        cmocka_unit_test(a_task_that_is_not_over_is_in_no_sum),
        cmocka_unit_test(a_region_that_never_was_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
