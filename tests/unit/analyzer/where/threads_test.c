#include "tests/unit/analyzer/where/looks.h"

/* Threads of a process that wait for each other: teams of OpenMP, with and without MPI, and owners of locks. */

static void expect_of_team(const char *library, const char *call, const char *wanted)
{
    struct tg_where_look look;
    make_team(&look);
    add_stack(&look, 1, 0, library, call, 30, 5);
    add_stack(&look, 1, 1, library, NULL, 31, 5);
    add_stack(&look, 1, 2, library, call, 30, 5);
    expect(&look, NULL, TG_WHERE_MISSING, wanted);
    tg_where_look_deinit(&look);
}

/* A rank whose first thread waits for its team: the thread that does not is named. */
static void test_team(void **state)
{
    (void)state;
    expect_of_team(
        GOMP, "GOMP_barrier",
        "The others wait for rank 1, which is outside MPI: in GOMP_barrier, called from solve (a.c:30).\n"
        "There, thread 1101 is in solve (a.c:31).\n"
        "  rank 0 is in MPI_Barrier(MPI_COMM_WORLD), called from solve (a.c:10)\n");
    expect_of_team(
        LIBOMP, "__kmpc_fork_call",
        "The others wait for rank 1, which is outside MPI: in kmpc_fork_call, called from solve (a.c:30).\n"
        "There, thread 1101 is in solve (a.c:31).\n"
        "  rank 0 is in MPI_Barrier(MPI_COMM_WORLD), called from solve (a.c:10)\n");
}

/* All threads of the team wait in OpenMP, but not all at the same place. */
static void test_team_at_two_places(void **state)
{
    (void)state;
    static const struct frame elsewhere[] = {{GOMP, "GOMP_taskwait", 0}, {PROGRAM, "solve", 31}};
    struct tg_where_look look;
    make_team(&look);
    add_stack(&look, 1, 0, GOMP, "GOMP_barrier", 30, 5);
    add_thread_frames(&look, 1, 1, elsewhere, 2);
    add_stack(&look, 1, 2, GOMP, "GOMP_barrier", 30, 5);
    expect(&look, NULL, TG_WHERE_MISSING,
           "The others wait for rank 1, which is outside MPI: in GOMP_barrier, called from solve (a.c:30).\n"
           "There, thread 1101 is in GOMP_taskwait, called from solve (a.c:31).\n"
           "  rank 0 is in MPI_Barrier(MPI_COMM_WORLD), called from solve (a.c:10)\n");
    tg_where_look_deinit(&look);
}

static void add_wait(struct tg_where_look *look, enum tg_wait_what what, uint64_t address, int32_t tid,
                     int32_t owner)
{
    static struct tg_where_wait waits[8];
    if (look->waits == NULL)
        look->n_waits = 0;
    look->waits = waits;
    waits[look->n_waits++] = (struct tg_where_wait){
        .pid = 101, .tid = tid, .is = {.what = what, .address = address, .owner = owner}};
}

/* Those that wait in OpenMP do so for the thread that was just named: that nobody knew who wakes them is not said. */
static void test_team_at_one_futex(void **state)
{
    (void)state;
    struct tg_where_look look;
    make_team(&look);
    add_stack(&look, 1, 0, GOMP, "GOMP_barrier", 30, 5);
    add_stack(&look, 1, 1, GOMP, NULL, 31, 5);
    add_stack(&look, 1, 2, GOMP, "GOMP_barrier", 30, 5);
    add_wait(&look, TG_WAIT_FUTEX, 7, 101, 0);
    add_wait(&look, TG_WAIT_FUTEX, 7, 2101, 0);
    char *text = said(&look, NULL, TG_WHERE_MISSING);
    assert_non_null(strstr(text, "There, thread 1101 is in solve (a.c:31).\n"));
    assert_null(strstr(text, "who wakes them is not known"));
    free(text);
    look.waits = NULL;
    tg_where_look_deinit(&look);
    make_team(&look); /* all of them at the barrier: it is not known */
    for (int thread = 0; thread < 3; thread++)
        add_stack(&look, 1, thread, GOMP, "GOMP_barrier", 30, 5);
    add_wait(&look, TG_WAIT_FUTEX, 7, 101, 0);
    add_wait(&look, TG_WAIT_FUTEX, 7, 2101, 0);
    text = said(&look, NULL, TG_WHERE_MISSING);
    assert_non_null(strstr(text, "In rank 1, thread 101 and 1 more wait at the same futex, in GOMP_barrier, "
                                 "called from solve (a.c:30); who wakes them is not known.\n"));
    free(text);
    look.waits = NULL;
    tg_where_look_deinit(&look);
}

/* A thread that the program started beside its team is not in that, and nobody waits for it there. */
static void test_thread_beside_team(void **state)
{
    (void)state;
    static const struct frame heartbeat[] = {
        {LIBC, "poll", 0}, {PROGRAM, "heartbeat", 31}, {LIBC, "start_thread", 0}};
    struct tg_where_look look;
    make_team(&look);
    add_stack(&look, 1, 0, GOMP, "GOMP_barrier", 30, 5);
    add_thread_frames(&look, 1, 1, heartbeat, 3);
    add_stack(&look, 1, 2, GOMP, "GOMP_barrier", 30, 5);
    add_wait(&look, TG_WAIT_FUTEX, 7, 101, 0);
    add_wait(&look, TG_WAIT_FUTEX, 7, 2101, 0);
    char *text = said(&look, NULL, TG_WHERE_MISSING);
    assert_null(strstr(text, "thread 1101"));
    assert_non_null(strstr(text, "wait at the same futex"));
    free(text);
    look.waits = NULL;
    tg_where_look_deinit(&look);
}

/* Where not all partners of the others' calls are known, the threads of a rank outside of MPI are told as well. */
static void test_team_of_unknown(void **state)
{
    (void)state;
    struct tg_where_look look;
    make_team(&look);
    add_rank(&look, 2, 3);
    add_stack(&look, 2, 0, MPI, "MPI_Waitall", 12, 5);
    add_stack(&look, 1, 0, GOMP, "GOMP_parallel", 30, 5);
    add_stack(&look, 1, 1, GOMP, NULL, 31, 5);
    char *text = said(&look, NULL, TG_WHERE_UNKNOWN);
    assert_non_null(strstr(text, "Only rank 1 is outside MPI.\nThere, thread 1101 is in solve (a.c:31).\n"));
    free(text);
    tg_where_look_deinit(&look);
}

/* A process that is no rank; where its threads are is to be added. */
static void make_process(struct tg_where_look *look)
{
    assert_null(tg_where_look_create(look));
    feed(look, (struct tg_event){.kind = TG_EVENT_PROCESS_START, .pid = 100, .tid = 100});
}

/* Without MPI: workers in their runtime's pool, and the one thread that is still in the region. */
static void test_idle_workers(void **state)
{
    (void)state;
    static const struct frame stays[] = {
        {LIBC, "poll", 0}, {PROGRAM, "solve", 31}, {GOMP, "GOMP_parallel", 0}, {PROGRAM, "main", 9}};
    static const struct frame idle[] = {{GOMP, "", 0}, {LIBC, "start_thread", 0}};
    struct tg_where_look look;
    make_process(&look);
    add_thread_frames(&look, 0, 0, stays, 4);
    add_thread_frames(&look, 0, 1, idle, 2);
    add_thread_frames(&look, 0, 2, idle, 2);
    expect(&look, NULL, TG_WHERE_UNKNOWN,
           "In ? (process 100), 2 OpenMP workers wait for work; thread 100 is in poll, called from solve "
           "(a.c:31).\n");
    tg_where_look_deinit(&look);
}

/* Without MPI: threads that wait in OpenMP, and those of the same process that do not. */
static void test_team_without_ranks(void **state)
{
    (void)state;
    static const struct frame waits[] = {
        {GOMP, "", 0}, {GOMP, "GOMP_ordered_start", 0}, {PROGRAM, "solve", 30}, {GOMP, "", 0}};
    static const struct frame stays[] = {{LIBC, "sleep", 0}, {PROGRAM, "solve", 31}, {GOMP, "", 0}};
    struct tg_where_look look;
    make_process(&look);
    add_thread_frames(&look, 0, 0, waits, 4);
    add_thread_frames(&look, 0, 1, stays, 3);
    add_thread_frames(&look, 0, 2, waits, 4);
    expect(&look, NULL, TG_WHERE_UNKNOWN,
           "In ? (process 100), 2 threads wait in GOMP_ordered_start, called from solve (a.c:30); thread "
           "1100 is in sleep, called from solve (a.c:31).\n");
    tg_where_look_deinit(&look);
}

/* Who waits for a lock does not run, whether it spins or sleeps, and is told also where all of them wait for locks. */
static void test_locks_without_ranks(void **state)
{
    (void)state;
    static const struct frame barrier[] = {{GOMP, "GOMP_barrier", 0}, {PROGRAM, "solve", 30}, {GOMP, "", 0}};
    static const struct frame lock[] = {
        {LIBC, "syscall", 0}, {GOMP, "omp_set_lock", 0}, {PROGRAM, "solve", 31}, {GOMP, "", 0}};
    struct tg_where_look look;
    for (int n_locking = 1; n_locking <= 2; n_locking++) {
        make_process(&look);
        add_thread_frames(&look, 0, 1, lock, 4);
        if (n_locking == 1)
            add_thread_frames(&look, 0, 0, barrier, 3);
        else
            add_thread_frames(&look, 0, 0, lock, 4);
        expect(&look, NULL, TG_WHERE_UNKNOWN,
               n_locking == 1 ? "In ? (process 100), 1 thread waits in GOMP_barrier, called from solve "
                                "(a.c:30); thread 1100 is in omp_set_lock, called from solve (a.c:31). Who "
                                "has that lock is not known: the OpenMP runtime keeps no owner that could be "
                                "read, and no thread's "
                                "calls show one.\n"
                              : "In ? (process 100), thread 100 is in omp_set_lock, called from solve "
                                "(a.c:31); thread 1100 is in omp_set_lock, called from solve (a.c:31). Who "
                                "has these locks is not known: the OpenMP runtime keeps no owner that could "
                                "be read, and no thread's "
                                "calls show one.\n");
        tg_where_look_deinit(&look);
    }
}

/* A worker whose region has no frame of its own is in what that called, not at an address of the runtime. */
static void test_team_without_frame(void **state)
{
    (void)state;
    static const struct frame frames[] = {
        {GOMP, "", 0}, {GOMP, "omp_set_nest_lock", 0}, {GOMP, "", 0}, {LIBC, "start_thread", 0}};
    struct tg_where_look look;
    make_team(&look);
    add_stack(&look, 1, 0, GOMP, "GOMP_parallel", 30, 5);
    add_thread_frames(&look, 1, 1, frames, 4);
    expect(
        &look, NULL, TG_WHERE_MISSING,
        "The others wait for rank 1, which is outside MPI: in GOMP_parallel, called from solve (a.c:30).\n"
        "There, thread 1101 is in omp_set_nest_lock, called from an OpenMP region that has no frame of its "
        "own.\n"
        "  rank 0 is in MPI_Barrier(MPI_COMM_WORLD), called from solve (a.c:10)\n");
    tg_where_look_deinit(&look);
}

/* A runtime that is linked into the program is one all the same; so is the C library, in which a worker without work begins. */
static void test_static_runtime(void **state)
{
    (void)state;
    static const struct frame worker[] = {{PROGRAM, "solve._omp_fn.0", 31},
                                          {PROGRAM, "gomp_thread_start", 0},
                                          {LIBC, "start_thread", 0}},
                              idle[] = {{PROGRAM, "gomp_team_barrier_wait_end", 0},
                                        {PROGRAM, "gomp_thread_start", 0},
                                        {PROGRAM, "start_thread", 0}};
    struct tg_where_look look;
    make_team(&look);
    add_stack(&look, 1, 0, PROGRAM, "GOMP_parallel", 30, 5);
    add_thread_frames(&look, 1, 1, worker, 3);
    add_thread_frames(&look, 1, 2, idle, 3);
    expect(&look, NULL, TG_WHERE_MISSING,
           "The others wait for rank 1, which is outside MPI: in GOMP_parallel, called from solve (a.c:30).\n"
           "There, thread 1101 is in solve._omp_fn.0 (a.c:31).\n"
           "  rank 0 is in MPI_Barrier(MPI_COMM_WORLD), called from solve (a.c:10)\n");
    tg_where_look_deinit(&look);
}

/* A thread that ended with a mutex is told where the one that waits is in a function that locks one: what the mutex says alone
 * may be something else. */
static void test_left_mutex(void **state)
{
    (void)state;
    struct tg_where_look look;
    for (int locks = 0; locks < 2; locks++) {
        assert_null(tg_where_look_create(&look));
        for (int rank = 0; rank < 2; rank++)
            add_rank(&look, rank, 2);
        add_world(&look, 0);
        add_stack(&look, 0, 0, MPI, "MPI_Barrier", 10, 5);
        add_stack(&look, 1, 0, LIBC, locks ? "pthread_mutex_lock" : "syscall", 30, 5);
        add_wait(&look, TG_WAIT_LEFT_MUTEX, 101, 101, 77);
        char *text = said(&look, NULL, TG_WHERE_MISSING);
        bool is_told =
            strstr(text, "In rank 1, thread 101 waits for a mutex that thread 77 held when it ended.\n") !=
            NULL;
        assert_int_equal(is_told, locks);
        assert_int_equal(strstr(text, "thread 77") != NULL, locks);
        free(text);
        look.waits = NULL;
        tg_where_look_deinit(&look);
    }
}

/* Owners of mutexes are named; threads that wait for each other are a deadlock, those with a time limit are not. */
static void test_owners(void **state)
{
    (void)state;
    struct tg_where_look look;
    assert_null(tg_where_look_create(&look));
    for (int rank = 0; rank < 2; rank++)
        add_rank(&look, rank, 2);
    add_stack(&look, 0, 0, MPI, "MPI_Barrier", 10, 5);
    add_stack(&look, 1, 0, MPI, NULL, 30, 5);
    add_stack(&look, 1, 1, MPI, NULL, 31, 5);
    add_world(&look, 0);
    add_wait(&look, TG_WAIT_MUTEX, 101, 101, 1101);
    expect(&look, NULL, TG_WHERE_MISSING,
           "The others wait for rank 1, which is outside MPI: in solve (a.c:30).\n"
           "  rank 0 is in MPI_Barrier(MPI_COMM_WORLD), called from solve (a.c:10)\n"
           "In rank 1, thread 101 waits for a mutex that thread 1101 holds, which is in solve (a.c:31).\n");
    add_wait(&look, TG_WAIT_THREAD, 1101, 1101, 101);
    char *text = said(&look, NULL, TG_WHERE_MISSING);
    assert_non_null(strstr(text, "Deadlock in rank 1:\n"
                                 "  thread 101 waits for a mutex that thread 1101 holds; it is in solve "
                                 "(a.c:30)\n"
                                 "  thread 1101 waits for the end of thread 101; it is in solve (a.c:31)\n"));
    free(text);
    look.waits[1].is.what = TG_WAIT_FUTEX;
    text = said(&look, NULL, TG_WHERE_MISSING);
    assert_null(strstr(text, "Deadlock"));
    assert_non_null(strstr(text, "thread 1101 waits for a lock that thread 101 holds, which is in"));
    free(text);
    look.waits = NULL;
    tg_where_look_deinit(&look);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_team),
        cmocka_unit_test(test_team_at_two_places),
        cmocka_unit_test(test_team_at_one_futex),
        cmocka_unit_test(test_thread_beside_team),
        cmocka_unit_test(test_team_of_unknown),
        cmocka_unit_test(test_idle_workers),
        cmocka_unit_test(test_team_without_ranks),
        cmocka_unit_test(test_locks_without_ranks),
        cmocka_unit_test(test_team_without_frame),
        cmocka_unit_test(test_static_runtime),
        cmocka_unit_test(test_left_mutex),
        cmocka_unit_test(test_owners),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
