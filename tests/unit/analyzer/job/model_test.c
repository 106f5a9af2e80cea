#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "analyzer/job/list.h"
#include "analyzer/job/model.h"

static int set_up(void **state)
{
    struct tg_job_model *model = NULL;
    assert_null(tg_job_model_create(&model));
    *state = model;
    return 0;
}

static int tear_down(void **state)
{
    tg_job_model_destroy(*state);
    return 0;
}

#define FEED(process, thread, symbol, ...)                                                                   \
    do {                                                                                                     \
        const struct tg_event fed = {                                                                        \
            .pid = (process), .tid = (thread), .kind = TG_EVENT_##symbol, __VA_ARGS__};                      \
        assert_null(tg_job_model_feed(model, &fed));                                                         \
    } while (0)

static void start(struct tg_job_model *model, int32_t pid, int64_t parent)
{
    FEED(pid, pid, PROCESS_START, .process_start = {.parent_pid = parent});
}

static void exec(struct tg_job_model *model, int32_t pid, const char *path)
{
    FEED(pid, pid, EXEC, .exec = {.path = path});
    FEED(pid, pid, PROGRAM, .program = {.path = path});
}

/* mpirun (100) with two ranks, each a process of ./app with threads. */
static void start_job(struct tg_job_model *model)
{
    start(model, 100, 1);
    FEED(100, 100, PROGRAM, .program = {.path = "/usr/bin/mpirun"});
    for (int32_t pid = 101; pid <= 102; pid++) {
        start(model, pid, 100);
        exec(model, pid, "/home/u/app");
        FEED(pid, pid, IDENTITY, .identity = {.rank = pid - 101});
        for (int32_t i = 1; i <= 2; i++)
            FEED(pid, pid * 10 + i, THREAD_START, .thread_start = {.parent_tid = pid});
    }
}

static void assert_groups(const struct tg_job_model *model, uint32_t dpid, uint32_t control, uint32_t workers,
                          uint32_t share)
{
    struct tg_process_groups groups;
    assert_true(tg_job_model_groups(model, dpid, &groups));
    assert_int_equal(groups.dpid, dpid);
    assert_int_equal(groups.control_group, control);
    assert_int_equal(groups.workers_group, workers);
    assert_int_equal(groups.share_group, share);
}

static void assert_unit(const struct tg_job_model *model, int32_t pid, int32_t tid, uint32_t dpid,
                        uint32_t dtid)
{
    struct tg_thread_id unit = {0};
    int32_t pid_again = 0, tid_again = 0;
    assert_true(tg_job_model_thread_id(model, pid, tid, &unit));
    assert_int_equal(unit.dpid, dpid);
    assert_int_equal(unit.dtid, dtid);
    assert_true(tg_job_model_name(model, unit, &pid_again, &tid_again));
    assert_int_equal(pid_again, pid);
    assert_int_equal(tid_again, tid);
}

static void numbers_follow_appearance(void **state)
{
    struct tg_job_model *model = *state;
    struct tg_thread_id unit;
    start_job(model);
    assert_unit(model, 100, 0, 1, 0);
    assert_unit(model, 101, 0, 2, 0);
    assert_unit(model, 102, 102, 3, 1);
    assert_unit(model, 102, 1022, 3, 3);
    FEED(102, 1021, THREAD_EXIT, .thread_exit = {0});
    assert_false(tg_job_model_thread_id(model, 102, 1021, &unit));
    FEED(102, 1021, THREAD_START, .thread_start = {0}); /* the kernel's number again, not ours */
    assert_unit(model, 102, 1021, 3, 4);
    assert_false(tg_job_model_thread_id(model, 103, 0, &unit));
}

static void groups_are_programs_with_what_they_start(void **state)
{
    struct tg_job_model *model = *state;
    start_job(model);
    assert_groups(model, 1, 1, 2, 3);
    assert_groups(model, 2, 5, 6, 7); /* ranks are apart from their launcher */
    assert_groups(model, 3, 5, 6, 7);
    start(model, 200, 1); /* another program that was launched or attached */
    FEED(200, 200, PROGRAM, .program = {.path = "/home/u/app"});
    assert_groups(model, 4, 8, 9, 10);
    start(model, 201, 200); /* a fork runs the same program */
    assert_groups(model, 5, 8, 9, 10);
    exec(model, 201, "/bin/true");
    assert_groups(model, 5, 8, 9, 11);
    exec(model, 201, "/home/u/app");
    assert_groups(model, 5, 8, 9, 10);
}

static void identify(struct tg_job_model *model, int32_t pid, int64_t rank, const char *job)
{
    FEED(pid, pid, IDENTITY, .identity = {.rank = rank, .job = job});
}

static int64_t rank_of(const struct tg_job_model *model, uint32_t dpid)
{
    int64_t rank = -1;
    return tg_job_model_rank(model, dpid, &rank) ? rank : -1;
}

/* Nobody of the session has started them: those of one job are together, whoever came first. */
static void attached_ranks_are_one_group_a_job(void **state)
{
    struct tg_job_model *model = *state;
    struct tg_process_groups groups;
    for (int32_t pid = 101; pid <= 104; pid++) {
        start(model, pid, 1);
        FEED(pid, pid, PROGRAM, .program = {.path = pid == 103 ? "/home/u/other" : "/home/u/app"});
        identify(model, pid, (pid - 101) % 3, pid == 104 ? "second" : "first");
    }
    assert_groups(model, 1, 1, 2, 3);
    assert_groups(model, 2, 1, 2, 3);
    assert_true(tg_job_model_groups(model, 3, &groups));
    assert_int_equal(groups.control_group, 1);
    assert_int_not_equal(groups.share_group, 3);
    assert_true(tg_job_model_groups(model, 4, &groups));
    assert_int_not_equal(groups.control_group, 1);
    assert_true(tg_job_model_is_of_ranks(model, 1));
    assert_true(tg_job_model_is_of_ranks(model, groups.control_group));
}

/* A shell that starts a rank is none, nor is what a rank starts, though all have its environment. */
static void who_serves_a_rank_is_none(void **state)
{
    static const struct {
        int32_t pid, parent;
        const char *program;
        int64_t rank, expected;
    } cases[] = {
        {101, 100, "/usr/bin/bash", 0, -1}, {102, 101, "/home/u/app", 0, 0},
        {103, 102, "/usr/bin/dash", 0, -1}, {104, 103, "/usr/bin/date", 0, -1},
        {105, 102, "/home/u/app", 1, 1}, /* another rank that a rank has begun is one */
    };
    struct tg_job_model *model = *state;
    struct tg_process_groups of_shell, of_rank;
    start(model, 100, 1);
    FEED(100, 100, PROGRAM, .program = {.path = "/usr/bin/mpirun"});
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        start(model, cases[i].pid, cases[i].parent);
        exec(model, cases[i].pid, cases[i].program);
        identify(model, cases[i].pid, cases[i].rank, "");
        assert_int_equal(rank_of(model, (uint32_t)i + 2), cases[i].expected);
    }
    assert_groups(model, 2, 1, 2, 4);
    assert_true(tg_job_model_groups(model, 2, &of_shell) && tg_job_model_groups(model, 3, &of_rank));
    assert_int_not_equal(of_shell.control_group, of_rank.control_group);
}

/* The documentation's numbers: control group 1, workers 2, share group 3. */
static void one_program_has_the_first_three_groups(void **state)
{
    struct tg_job_model *model = *state;
    start(model, 100, 1);
    FEED(100, 100, PROGRAM, .program = {.path = "/home/u/fork_loop"});
    start(model, 101, 100);
    assert_groups(model, 1, 1, 2, 3);
    assert_groups(model, 2, 1, 2, 3);
}

static void exec_leaves_one_thread(void **state)
{
    struct tg_job_model *model = *state;
    struct tg_thread_id unit;
    start_job(model);
    exec(model, 101, "/bin/sh");
    assert_unit(model, 101, 101, 2, 1);
    assert_false(tg_job_model_thread_id(model, 101, 1011, &unit));
    FEED(101, 1011, THREAD_START, .thread_start = {0});
    assert_unit(model, 101, 1011, 2, 4);
    /* also where the first thread had ended before another one called exec */
    FEED(102, 102, THREAD_EXIT, .thread_exit = {0});
    exec(model, 102, "/bin/sh");
    assert_unit(model, 102, 102, 3, 4);
}

static void a_number_of_the_kernel_can_come_again(void **state)
{
    struct tg_job_model *model = *state;
    int32_t pid, tid;
    start_job(model);
    FEED(101, 101, PROCESS_EXIT, .process_exit = {0});
    assert_false(tg_job_model_name(model, (struct tg_thread_id){2, 0}, &pid, &tid));
    start(model, 101, 100);
    assert_unit(model, 101, 101, 4, 1);
    start(model, 102, 100); /* the end of the former 102 was not seen */
    assert_unit(model, 102, 102, 5, 1);
    FEED(102, 102, DETACH, .detach = {.reason = ""});
    assert_false(tg_job_model_name(model, (struct tg_thread_id){5, 0}, &pid, &tid));
    FEED(102, 102, PROCESS_EXIT, .process_exit = {0}); /* nobody's */
}

static void say_state(void *context, struct tg_thread_id unit, struct tg_job_thread *thread)
{
    (void)context;
    thread->held = unit.dpid == 2 && unit.dtid == 0;
    thread->tag = unit.dpid * 10 + unit.dtid;
    if (unit.dtid == 1)
        thread->state = TG_JOB_BREAKPOINT;
}

static char *list_of(const struct tg_job_view *view, bool of_workers)
{
    TG_AUTO_JOB_SET struct tg_job_set set = {0};
    char *text = NULL;
    size_t size;
    assert_null(tg_job_set_init(&set, view));
    for (size_t p = 0; p < tg_job_view_count(view); p++) {
        const struct tg_job_process *process = tg_job_view_at(view, p);
        for (size_t i = 0; i < process->n_threads; i++)
            if (!of_workers || !tg_job_view_thread(view, process, i)->is_manager)
                tg_job_set_add(&set, process, i);
    }
    FILE *stream = open_memstream(&text, &size);
    assert_null(tg_job_list_print(view, &set, stream));
    fclose(stream);
    return text;
}

static void the_view_shows_all_of_it(void **state)
{
    struct tg_job_model *model = *state;
    struct tg_job_view *view = NULL;
    start_job(model);
    assert_true(tg_job_model_set_manager(model, 102, 1022, true));
    assert_false(tg_job_model_set_manager(model, 102, 9, true));
    FEED(101, 1012, THREAD_EXIT, .thread_exit = {0});
    start(model, 103, 100);
    FEED(103, 103, PROCESS_EXIT, .process_exit = {0});
    assert_null(tg_job_view_create(&view));
    assert_null(tg_job_model_view(model, say_state, NULL, view));
    char *everybody = list_of(view, false), *workers = list_of(view, true);
    assert_string_equal(everybody, "3:6[0.1-2, 1.1-3, p1.1]");
    assert_string_equal(workers, "3:5[0-1.1-2, p1.1]");
    assert_int_equal(tg_job_view_count(view), 4);
    assert_false(tg_job_view_process(view, 4)->info.exists);
    const struct tg_job_process *second = tg_job_view_process(view, 2);
    assert_true(second->info.held);
    assert_int_equal(second->info.tag, 20);
    assert_int_equal(tg_job_view_thread(view, second, 0)->state, TG_JOB_BREAKPOINT);
    assert_int_equal(tg_job_view_thread(view, second, 1)->state, TG_JOB_RUNNING);
    assert_int_equal(tg_job_view_thread(view, second, 1)->tag, 22);
    free(everybody);
    free(workers);
    tg_job_view_destroy(view);
}

static void assert_fails(struct tg_error *error, enum tg_error_code code)
{
    assert_non_null(error);
    assert_int_equal(tg_error_code(error), code);
    tg_error_destroy(error);
}

static void groups_can_have_names(void **state)
{
    struct tg_job_model *model = *state;
    uint32_t number = 0;
    start_job(model);
    assert_null(tg_job_model_add_group(model, "pair_1", &number));
    assert_int_equal(number, 8);
    assert_null(tg_job_model_join_group(model, "pair_1", (struct tg_thread_id){2, 0}));
    assert_null(tg_job_model_join_group(model, "pair_1", (struct tg_thread_id){3, 2}));
    assert_null(tg_job_model_join_group(model, "pair_1", (struct tg_thread_id){3, 2}));
    assert_fails(tg_job_model_add_group(model, "pair_1", &number), TG_ERROR_EXISTS);
    assert_fails(tg_job_model_add_group(model, "1", &number), TG_ERROR_USAGE);
    assert_fails(tg_job_model_add_group(model, "", &number), TG_ERROR_USAGE);
    assert_fails(tg_job_model_add_group(model, "a/b", &number), TG_ERROR_USAGE);
    assert_fails(tg_job_model_join_group(model, "pair", (struct tg_thread_id){2, 0}), TG_ERROR_NOT_FOUND);
    assert_fails(tg_job_model_join_group(model, "pair_1", (struct tg_thread_id){9, 0}), TG_ERROR_NOT_FOUND);
    assert_fails(tg_job_model_join_group(model, "pair_1", (struct tg_thread_id){2, 9}), TG_ERROR_NOT_FOUND);
    assert_fails(tg_job_model_leave_group(model, "pair_1", (struct tg_thread_id){2, 1}), TG_ERROR_NOT_FOUND);
    char *text = NULL;
    size_t size;
    FILE *stream = open_memstream(&text, &size);
    assert_null(tg_job_model_print_groups(model, stream));
    fclose(stream);
    assert_string_equal(text, "1 control: 1:1[p1.1]\n"
                              "2 workers: 1:1[p1.1]\n"
                              "3 share: 1:1[p1.1]\n"
                              "5 control: 2:6[0-1.1-3]\n"
                              "6 workers: 2:6[0-1.1-3]\n"
                              "7 share: 2:6[0-1.1-3]\n"
                              "8 pair_1: 2:4[0.1-3, 1.2]\n");
    free(text);
    assert_null(tg_job_model_leave_group(model, "pair_1", (struct tg_thread_id){2, 0}));
    assert_null(tg_job_model_delete_group(model, "pair_1"));
    assert_fails(tg_job_model_delete_group(model, "pair_1"), TG_ERROR_NOT_FOUND);
    assert_null(tg_job_model_add_group(model, "pair_1", &number));
    assert_int_equal(number, 9);
}

/* Nonsense does no harm. */
static void any_order_is_taken(void **state)
{
    struct tg_job_model *model = *state;
    FEED(7, 9, THREAD_EXIT, .thread_exit = {0});
    FEED(7, 9, PROCESS_EXIT, .process_exit = {0});
    FEED(0, 0, PROCESS_START, .process_start = {.parent_pid = INT64_MIN});
    FEED(-4, -4, PROGRAM, .program = {.path = "x"});
    FEED(7, 9, THREAD_START, .thread_start = {0}); /* a process whose start was not seen */
    assert_unit(model, 7, 7, 1, 1);
    assert_unit(model, 7, 9, 1, 2);
    FEED(7, 9, THREAD_START, .thread_start = {0});
    FEED(8, 8, PROCESS_START, .process_start = {.parent_pid = INT64_MAX});
    FEED(8, 8, PROCESS_START, .process_start = {.parent_pid = 8});
    assert_unit(model, 8, 8, 3, 1);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(numbers_follow_appearance),
        TEST(groups_are_programs_with_what_they_start),
        TEST(attached_ranks_are_one_group_a_job),
        TEST(who_serves_a_rank_is_none),
        TEST(one_program_has_the_first_three_groups),
        TEST(exec_leaves_one_thread),
        TEST(a_number_of_the_kernel_can_come_again),
        TEST(the_view_shows_all_of_it),
        TEST(groups_can_have_names),
        TEST(any_order_is_taken),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
