#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/job/call_tree.h"
#include "analyzer/job/list.h"
#include "analyzer/job/status.h"

/* Ranks 0 to 3 are processes 2 to 5 with threads 1 to 3; process 1, mpirun, has thread 1. */
static struct tg_job_view *job(void)
{
    struct tg_job_view *view = NULL;
    assert_null(tg_job_view_create(&view));
    for (uint32_t dpid = 1; dpid <= 5; dpid++) {
        const struct tg_job_process_info info = {.dpid = dpid,
                                                 .rank = (int64_t)dpid - 2,
                                                 .control_group = 1,
                                                 .share_group = dpid == 1 ? 4 : 3,
                                                 .workers_group = 2,
                                                 .exists = true,
                                                 .held = dpid == 4};
        assert_null(tg_job_view_add_process(view, &info));
        for (uint32_t dtid = 1; dtid <= (dpid == 1 ? 1 : 3); dtid++) {
            const struct tg_job_thread thread = {.dtid = dtid,
                                                 .state = dpid == 1   ? TG_JOB_RUNNING
                                                          : dtid == 1 ? TG_JOB_BREAKPOINT
                                                                      : TG_JOB_STOPPED,
                                                 .pc = dpid == 1 ? 0 : 0x1000 + dtid / 2,
                                                 .held = dpid == 5 && dtid == 3};
            assert_null(tg_job_view_add_thread(view, &thread));
        }
    }
    return view;
}

static struct tg_job_set everybody(const struct tg_job_view *view)
{
    struct tg_job_set set = {0};
    assert_null(tg_job_set_init(&set, view));
    for (size_t p = 0; p < tg_job_view_count(view); p++)
        for (size_t i = 0; i < tg_job_view_at(view, p)->n_threads; i++)
            tg_job_set_add(&set, tg_job_view_at(view, p), i);
    return set;
}

static void name(void *context, const struct tg_job_process *process, size_t i, enum tg_status_key key,
                 char *buffer, size_t size)
{
    (void)context;
    if (key == TG_STATUS_HOSTNAME)
        snprintf(buffer, size, "node%u\x1b[2J", process->info.dpid / 4);
    else if (key == TG_STATUS_FUNCTION && process->info.dpid > 1)
        snprintf(buffer, size, "%s", i == 0 ? "main" : "work");
}

static char *status(const char *group_by)
{
    struct tg_job_view *view = job();
    TG_AUTO_JOB_SET struct tg_job_set set = everybody(view);
    const struct tg_status_input input = {.view = view, .set = &set, .name = name};
    enum tg_status_key keys[TG_STATUS_KEY_COUNT];
    size_t n_keys, size;
    char *text = NULL;
    assert_null(tg_status_parse_keys(group_by, keys, &n_keys));
    FILE *stream = open_memstream(&text, &size);
    assert_null(tg_status_print(&input, keys, n_keys, stream));
    fclose(stream);
    tg_job_view_destroy(view);
    return text;
}

static void assert_status(const char *group_by, const char *expected)
{
    char *text = status(group_by);
    assert_string_equal(text, expected);
    free(text);
}

static void threads_come_together_by_what_is_asked_for(void **state)
{
    (void)state;
    assert_status("process_state", "running: 1:1[p1.1]\nmixed: 4:12[0-3.1-3]\n");
    assert_status("share_group,thread_state", "share group 4: 1:1[p1.1]\n"
                                              "  running: 1:1[p1.1]\n"
                                              "share group 3: 4:12[0-3.1-3]\n"
                                              "  breakpoint: 4:4[0-3.1]\n"
                                              "  stopped: 4:8[0-3.2-3]\n");
    assert_status("held", "not held: 4:9[0-1.1-3, 3.1-2, p1.1]\n"
                          "process held: 1:3[2.1-3]\n"
                          "thread held: 1:1[3.3]\n");
    assert_status("pc", "pc unknown: 1:1[p1.1]\n0x1000: 4:4[0-3.1]\n0x1001: 4:8[0-3.2-3]\n");
    assert_status("control_group", "control group 1: 5:13[0-3.1-3, p1.1]\n"); /* as documented */
    assert_status("dtid", "thread 1: 5:5[0-3.1, p1.1]\nthread 2: 4:4[0-3.2]\nthread 3: 4:4[0-3.3]\n");
    assert_status("function,hostname", "function unknown: 1:1[p1.1]\n"
                                       "  node0\\x1b[2J: 1:1[p1.1]\n"
                                       "main: 4:4[0-3.1]\n"
                                       "  node0\\x1b[2J: 2:2[0-1.1]\n"
                                       "  node1\\x1b[2J: 2:2[2-3.1]\n"
                                       "work: 4:8[0-3.2-3]\n"
                                       "  node0\\x1b[2J: 2:4[0-1.2-3]\n"
                                       "  node1\\x1b[2J: 2:4[2-3.2-3]\n");
    assert_status("line", "line unknown: 5:13[0-3.1-3, p1.1]\n");
    assert_status("stop_reason", "stop_reason unknown: 5:13[0-3.1-3, p1.1]\n");
    assert_status("thread_name", "thread_name unknown: 5:13[0-3.1-3, p1.1]\n");
    assert_status("rank", "no rank: 1:1[p1.1]\n"
                          "rank 0: 1:3[0.1-3]\nrank 1: 1:3[1.1-3]\nrank 2: 1:3[2.1-3]\nrank 3: 1:3[3.1-3]\n");
    assert_status("job", "job unknown: 5:13[0-3.1-3, p1.1]\n");
}

static void those_that_have_ended_are_one_line(void **state)
{
    (void)state;
    struct tg_job_view *view = NULL;
    struct tg_job_set set = {0};
    assert_null(tg_job_view_create(&view));
    for (uint32_t dpid = 1; dpid <= 3; dpid++) {
        const struct tg_job_process_info info = {.dpid = dpid,
                                                 .rank = -1,
                                                 .control_group = 1,
                                                 .share_group = dpid == 1 ? 4 : 3,
                                                 .exists = dpid == 2};
        assert_null(tg_job_view_add_process(view, &info));
        if (info.exists)
            assert_null(
                tg_job_view_add_thread(view, &(struct tg_job_thread){.dtid = 1, .state = TG_JOB_RUNNING}));
    }
    assert_null(tg_job_set_init(&set, view));
    for (size_t p = 0; p < 3; p++)
        tg_job_set_add(&set, tg_job_view_at(view, p), 0);
    const struct tg_status_input input = {.view = view, .set = &set};
    static const struct {
        const char *keys, *text;
    } cases[] = {
        {"control_group,process_state,thread_state,share_group,function",
         "control group 1: 3:1[p1,3, p2.1]\n"
         "  has ended: 2:0[p1,3]\n"
         "    share group 4: 1:0[p1]\n"
         "    share group 3: 1:0[p3]\n"
         "  running: 1:1[p2.1]\n"
         "    running: 1:1[p2.1]\n"
         "      share group 3: 1:1[p2.1]\n"
         "        function unknown: 1:1[p2.1]\n"},
        {"held,pc", "has ended: 2:0[p1,3]\nnot held: 1:1[p2.1]\n  pc unknown: 1:1[p2.1]\n"},
        {"dpid,line", "process 1: 1:0[p1]\n  has ended: 1:0[p1]\n"
                      "process 2: 1:1[p2.1]\n  line unknown: 1:1[p2.1]\n"
                      "process 3: 1:0[p3]\n  has ended: 1:0[p3]\n"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        enum tg_status_key keys[TG_STATUS_KEY_COUNT];
        size_t n_keys, size;
        char *text = NULL;
        assert_null(tg_status_parse_keys(cases[i].keys, keys, &n_keys));
        FILE *stream = open_memstream(&text, &size);
        assert_null(tg_status_print(&input, keys, n_keys, stream));
        fclose(stream);
        assert_string_equal(text, cases[i].text);
        free(text);
    }
    tg_job_set_deinit(&set);
    tg_job_view_destroy(view);
}

static void every_key_has_a_name(void **state)
{
    (void)state;
    enum tg_status_key keys[TG_STATUS_KEY_COUNT];
    size_t n_keys;
    for (unsigned key = 0; key < TG_STATUS_KEY_COUNT; key++) {
        assert_null(tg_status_parse_keys(tg_status_key_name(key), keys, &n_keys));
        assert_int_equal(n_keys, 1);
        assert_int_equal(keys[0], key);
    }
    assert_null(tg_status_parse_keys("dpid,dtid,line", keys, &n_keys));
    assert_int_equal(n_keys, 3);
    static const char *const bad[] = {"", "dpid,", ",dpid", "dpid,dpid", "dpi", "DPID", "dpid dtid"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct tg_error *error = tg_status_parse_keys(bad[i], keys, &n_keys);
        assert_non_null(error);
        assert_int_equal(tg_error_code(error), TG_ERROR_USAGE);
        tg_error_destroy(error);
    }
}

/* ---- lists */

static void numbers_become_ranges(void **state)
{
    (void)state;
    static const struct {
        uint32_t numbers[6];
        size_t count;
        const char *text;
    } cases[] = {{{0}, 0, ""},
                 {{5}, 1, "5"},
                 {{0, 1, 2, 3, 7}, 5, "0-3,7"},
                 {{1, 3, 5}, 3, "1,3,5"},
                 {{1, 2}, 2, "1-2"},
                 {{4294967294U, 4294967295U}, 2, "4294967294-4294967295"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char *text = NULL;
        size_t size;
        FILE *stream = open_memstream(&text, &size);
        tg_job_list_numbers(cases[i].numbers, cases[i].count, stream);
        fclose(stream);
        assert_string_equal(text, cases[i].text);
        free(text);
    }
}

/* Two jobs have a rank 0 each: only the first one is called so. */
static void a_rank_is_one_process(void **state)
{
    (void)state;
    struct tg_job_view *view = NULL;
    assert_null(tg_job_view_create(&view));
    for (uint32_t dpid = 1; dpid <= 4; dpid++) {
        const struct tg_job_process_info info = {.dpid = dpid, .rank = (dpid - 1) % 2, .exists = true};
        const struct tg_job_thread thread = {.dtid = 1, .state = TG_JOB_RUNNING};
        assert_null(tg_job_view_add_process(view, &info));
        assert_null(tg_job_view_add_thread(view, &thread));
    }
    TG_AUTO_JOB_SET struct tg_job_set set = everybody(view);
    char *text = NULL;
    size_t size;
    FILE *stream = open_memstream(&text, &size);
    assert_null(tg_job_list_print(view, &set, stream));
    fclose(stream);
    assert_string_equal(text, "4:4[0-1.1, p3-4.1]");
    free(text);
    tg_job_view_destroy(view);
}

/* ---- stacks */

#define CALL(name, where)                                                                                    \
    {                                                                                                        \
        .function = (name), .place = (where)                                                                 \
    }

static void stacks_are_merged(void **state)
{
    (void)state;
    struct tg_job_view *view = job();
    struct tg_call_tree *tree = NULL;
    assert_null(tg_call_tree_create(view, &tree));
    static const struct tg_call_tree_frame master[] = {CALL("_start", ""), CALL("main", "hybrid.c#40"),
                                                       CALL("MPI_Barrier", "")},
                                           worker[] = {CALL("clone", ""), CALL("start_thread", ""),
                                                       CALL("work", "hybrid.c#12")},
                                           other[] = {CALL("_start", ""), CALL("main", "hybrid.c#44\x1b")};
    for (uint32_t dpid = 2; dpid <= 5; dpid++) {
        const struct tg_job_process *process = tg_job_view_process(view, dpid);
        assert_null(tg_call_tree_add(tree, process, 0, dpid == 5 ? other : master, dpid == 5 ? 2 : 3));
        for (size_t i = 1; i < 3; i++)
            assert_null(tg_call_tree_add(tree, process, i, worker, dpid == 3 && i == 2 ? 2 : 3));
    }
    char *text = NULL;
    size_t size;
    FILE *stream = open_memstream(&text, &size);
    assert_null(tg_call_tree_print(tree, stream));
    fclose(stream);
    assert_string_equal(text, "4:12[0-3.1-3]\n"
                              "  _start: 4:4[0-3.1]\n"
                              "    main hybrid.c#40: 3:3[0-2.1]\n"
                              "      MPI_Barrier\n"
                              "    main hybrid.c#44\\x1b: 1:1[3.1]\n"
                              "  clone: 4:8[0-3.2-3]\n"
                              "    start_thread\n"
                              "      work hybrid.c#12: 4:7[0,2-3.2-3, 1.2]\n");
    free(text);
    tg_call_tree_destroy(tree);
    tg_job_view_destroy(view);
}

/* Variables that differ do not take calls apart. */
static void variables_of_merged_calls(void **state)
{
    (void)state;
    struct tg_job_view *view = job();
    struct tg_call_tree *tree = NULL;
    assert_null(tg_call_tree_create(view, &tree));
    for (uint32_t dpid = 2; dpid <= 5; dpid++) {
        char rank[2] = {(char)('0' + dpid), 0};
        const struct tg_call_variable variables[] = {{"n", "3", true},
                                                     {"rank", rank, true},
                                                     {"sum", dpid < 4 ? "0" : "1\x1b", false},
                                                     {"i", "1", false},
                                                     {"i", "7", false}};
        const struct tg_call_tree_frame frames[] = {
            {.function = "main", .place = "a.c#9", .has_arguments = true},
            {"work", "a.c#1", variables, dpid == 5 ? 4 : 5, true}};
        assert_null(tg_call_tree_add(tree, tg_job_view_process(view, dpid), 0, frames, 2));
    }
    char *text = NULL;
    size_t size;
    FILE *stream = open_memstream(&text, &size);
    assert_null(tg_call_tree_print(tree, stream));
    fclose(stream);
    assert_string_equal(text, "4:4[0-3.1]\n"
                              "  main() a.c#9\n"
                              "    work(n=3, rank) a.c#1\n"
                              "      | rank = 2: 1:1[0.1]\n"
                              "      | rank = 3: 1:1[1.1]\n"
                              "      | rank = 4: 1:1[2.1]\n"
                              "      | rank = 5: 1:1[3.1]\n"
                              "      | sum = 0: 2:2[0-1.1]\n"
                              "      | sum = 1\\x1b: 2:2[2-3.1]\n"
                              "      | i = 1\n"
                              "      | i = 7: 3:3[0-2.1]\n");
    free(text);
    tg_call_tree_destroy(tree);
    tg_job_view_destroy(view);
}

static void deep_stacks_are_cut(void **state)
{
    (void)state;
    struct tg_job_view *view = job();
    struct tg_call_tree *tree = NULL;
    static struct tg_call_tree_frame frames[TG_CALL_TREE_MAX_DEPTH * 4];
    for (size_t i = 0; i < sizeof frames / sizeof *frames; i++)
        frames[i] = (struct tg_call_tree_frame){.function = "recurse", .place = ""};
    assert_null(tg_call_tree_create(view, &tree));
    assert_null(tg_call_tree_add(tree, tg_job_view_at(view, 1), 0, frames, sizeof frames / sizeof *frames));
    char *text = NULL;
    size_t size, lines = 0;
    FILE *stream = open_memstream(&text, &size);
    assert_null(tg_call_tree_print(tree, stream));
    fclose(stream);
    for (const char *p = text; (p = strchr(p, '\n')) != NULL; p++)
        lines++;
    assert_int_equal(lines, TG_CALL_TREE_MAX_DEPTH + 2);
    assert_non_null(strstr(text, "...\n"));
    free(text);
    tg_call_tree_destroy(tree);
    tg_job_view_destroy(view);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(threads_come_together_by_what_is_asked_for),
        cmocka_unit_test(those_that_have_ended_are_one_line),
        cmocka_unit_test(every_key_has_a_name),
        cmocka_unit_test(numbers_become_ranges),
        cmocka_unit_test(a_rank_is_one_process),
        cmocka_unit_test(stacks_are_merged),
        cmocka_unit_test(variables_of_merged_calls),
        cmocka_unit_test(deep_stacks_are_cut),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
