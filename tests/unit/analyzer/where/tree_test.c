#include "tests/unit/analyzer/where/looks.h"

#include "analyzer/models/mpi_name.h"
#include "analyzer/where/tree.h"

/* Whatever a library calls a function of MPI. */
static void test_mpi_names(void **state)
{
    (void)state;
    static const char *const names[][2] = {
        {"PMPI_Barrier", "MPI_Barrier"},
        {"mpi_allreduce_", "MPI_Allreduce"},
        {"pmpi_comm_split__", "MPI_Comm_split"},
        {"MPI_Send_c", "MPI_Send"},
        {"mpi_bcast_f08_", "MPI_Bcast"},
        {"MPI_Bcast_f", "MPI_Bcast"},
        {"MPID_Progress_wait", ""},
        {"solve", ""},
        {"mpi_", ""},
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char name[64];
        assert_int_equal(tg_mpi_name(names[i][0], name, sizeof name), *names[i][1] != '\0');
        assert_string_equal(name, names[i][1]);
    }
}

/* Calls that threads have in common are in the tree once, the branch with the most threads first. */
static void test_tree(void **state)
{
    (void)state;
    static const char *const calls[] = {"MPI_Barrier", "MPI_Barrier", NULL};
    struct tg_where_look look;
    struct tg_where_threads threads;
    struct tg_where_node *root, *others;
    make_look(&look, 7, calls);
    assert_null(tg_where_threads_make(&look, NULL, &threads));
    assert_int_equal(threads.n_ranks, 3);
    assert_int_equal(threads.size, 3);
    tg_where_threads_deinit(&threads);
    add_stack(&look, 0, -1, MPI, NULL, 31, 5); /* a thread whose id is smaller than that of its process */
    assert_null(tg_where_threads_make(&look, NULL, &threads));
    assert_true(threads.threads[0].is_first && !threads.threads[1].is_first);
    assert_int_equal(threads.threads[1].stack->tid, -900);
    tg_where_threads_deinit(&threads);
    tg_where_look_deinit(&look);
    make_look(&look, 7, calls);
    assert_null(tg_where_threads_make(&look, NULL, &threads));
    assert_null(tg_where_tree_make(&threads, true, &root));
    assert_null(tg_where_tree_make(&threads, false, &others));
    assert_int_equal(root->n_threads, 3);
    assert_int_equal(others->n_threads, 0);
    assert_int_equal(root->n_children, 2);
    assert_string_equal(root->children[0]->text, "solve (a.c:10)");
    assert_int_equal(root->children[0]->n_threads, 2);
    assert_string_equal(root->children[0]->children[0]->text, "MPI_Barrier");
    assert_string_equal(root->children[1]->text, "solve (a.c:20)");
    assert_int_equal(root->n_ending, 0);
    assert_int_equal(root->children[1]->n_ending, 1);
    assert_int_equal(root->children[1]->ending[0], 2);
    assert_int_equal(root->children[0]->n_ending, 0);
    tg_where_tree_destroy(root);
    tg_where_tree_destroy(others);
    tg_where_threads_deinit(&threads);
    tg_where_look_deinit(&look);
}

/* A worker of LLVM's runtime whose innermost functions are CALLS, COUNT of them. */
static enum tg_thread_task task_of_worker(const char *const *calls, size_t count, char *steps, size_t size)
{
    static const char library[] = "/usr/lib/libomp.so.5";
    struct tg_where_look look;
    struct tg_where_threads threads;
    struct tg_stack_frame frames[4];
    assert_null(tg_where_look_create(&look));
    add_rank(&look, 0, 1);
    for (size_t i = 0; i < count; i++) {
        frames[i] = (struct tg_stack_frame){.module = library,
                                            .build_id = "",
                                            .function = "",
                                            .file = "",
                                            .address = 0x1000 + i,
                                            .pc = 0x1000 + i};
        name(&look, library, frames[i].address, calls[i], 0);
    }
    feed(&look, (struct tg_event){.kind = TG_EVENT_STACK,
                                  .pid = 100,
                                  .tid = 1100,
                                  .stack = {.reason = TG_STACK_LOOK,
                                            .end = TG_STACK_WHOLE,
                                            .frames = {.items = frames, .count = count}}});
    assert_null(tg_where_threads_make(&look, NULL, &threads));
    assert_int_equal(threads.count, 1);
    const struct tg_call_path *path = &threads.threads[0].path;
    snprintf(steps, size, "%s", path->count > 0 ? path->steps[path->count - 1] : "");
    enum tg_thread_task task = path->task;
    tg_where_threads_deinit(&threads);
    tg_where_look_deinit(&look);
    return task;
}

/* A region whose last call is a jump has no frame: its worker does not wait for work. */
static void test_jumps(void **state)
{
    (void)state;
    static const char *const idle[] = {"__kmp_wait_4", "__kmp_fork_barrier", "__kmp_launch_thread"};
    static const char *const locks[] = {"__kmp_wait_4", "__kmpc_set_lock", "__kmp_invoke_microtask",
                                        "__kmp_launch_thread"};
    static const char *const sleeps[] = {"pause", "__kmp_invoke_microtask", "__kmp_launch_thread"};
    char step[100];
    assert_int_equal(task_of_worker(idle, 3, step, sizeof step), TG_THREAD_OF_OPENMP);
    assert_int_equal(task_of_worker(locks, 4, step, sizeof step), TG_THREAD_OF_PROGRAM);
    assert_string_equal(step, "omp_set_lock");
    assert_int_equal(task_of_worker(sleeps, 3, step, sizeof step), TG_THREAD_OF_PROGRAM);
    assert_string_equal(step, "pause");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_mpi_names),
        cmocka_unit_test(test_tree),
        cmocka_unit_test(test_jumps),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
