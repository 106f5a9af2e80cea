#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <signal.h>
#include <string.h>

#include "analyzer/models/process.h"
#include "analyzer/report/process_shape.h"

static struct tg_process_entry *feed(struct tg_process_model *model, struct tg_event event)
{
    struct tg_process_entry *entry = NULL;
    assert_null(tg_process_model_feed(model, &event, &entry));
    return entry;
}

static struct tg_process_entry *start(struct tg_process_model *model, uint64_t time_ns, int32_t pid,
                                      int64_t parent_pid)
{
    return feed(model,
                (struct tg_event){.time_ns = time_ns,
                                  .pid = pid,
                                  .tid = pid,
                                  .kind = TG_EVENT_PROCESS_START,
                                  .process_start = {.origin = TG_ORIGIN_FORK, .parent_pid = parent_pid}});
}

static void exec(struct tg_process_model *model, uint64_t time_ns, int32_t pid, const char *path)
{
    feed(model, (struct tg_event){.time_ns = time_ns,
                                  .pid = pid,
                                  .tid = pid,
                                  .kind = TG_EVENT_EXEC,
                                  .exec = {.path = path, .former_tid = pid}});
}

static void identify(struct tg_process_model *model, uint64_t time_ns, int32_t pid, int64_t rank)
{
    feed(model,
         (struct tg_event){
             .time_ns = time_ns,
             .pid = pid,
             .tid = pid,
             .kind = TG_EVENT_IDENTITY,
             .identity = {.host = "node1", .job = "j", .source = "PMI_RANK", .rank = rank, .size = 64}});
}

static void end(struct tg_process_model *model, uint64_t time_ns, int32_t pid, uint64_t how, int64_t status)
{
    feed(model, (struct tg_event){.time_ns = time_ns,
                                  .pid = pid,
                                  .tid = pid,
                                  .kind = TG_EVENT_PROCESS_EXIT,
                                  .process_exit = {.how = how, .status = status}});
}

static void thread(struct tg_process_model *model, enum tg_event_kind kind, int32_t pid, int32_t tid)
{
    feed(model, (struct tg_event){.time_ns = 1, .pid = pid, .tid = tid, .kind = kind});
}

static struct tg_process_model *create(void)
{
    struct tg_process_model *model = NULL;
    assert_null(tg_process_model_create(&model));
    return model;
}

static void a_tree_grows_by_process_starts(void **state)
{
    (void)state;
    struct tg_process_model *model = create();
    struct tg_process_entry *mpirun = start(model, 10, 100, 99);
    exec(model, 11, 100, "/usr/bin/mpirun");
    struct tg_process_entry *rank = start(model, 20, 101, 100);
    assert_string_equal(tg_process_entry_name(rank), "mpirun");
    exec(model, 21, 101, "/home/u/app");
    identify(model, 22, 101, 3);
    end(model, 30, 101, TG_EXIT_SIGNAL, 11);
    assert_ptr_equal(rank->parent, mpirun);
    assert_ptr_equal(mpirun->first_child, rank);
    assert_string_equal(tg_process_entry_name(rank), "app");
    assert_int_equal(rank->rank, 3);
    assert_int_equal(rank->end, TG_PROCESS_KILLED);
    assert_int_equal(rank->status, 11);
    assert_int_equal(rank->start_ns, 20);
    assert_int_equal(rank->last_ns, 30);
    assert_int_equal(rank->last.kind, TG_EVENT_EXEC);
    assert_int_equal(mpirun->end, TG_PROCESS_RUNNING);
    assert_null(mpirun->parent);
    tg_process_model_destroy(model);
}

static void a_pid_that_is_used_again_is_another_process(void **state)
{
    (void)state;
    struct tg_process_model *model = create();
    start(model, 1, 100, 0);
    struct tg_process_entry *first = start(model, 10, 200, 100);
    end(model, 20, 200, TG_EXIT_STATUS, 0);
    struct tg_process_entry *second = start(model, 30, 200, 100);
    end(model, 40, 200, TG_EXIT_STATUS, 7);
    assert_ptr_not_equal(first, second);
    assert_int_equal(first->generation, 0);
    assert_int_equal(second->generation, 1);
    assert_int_equal(first->status, 0);
    assert_int_equal(second->status, 7);
    assert_int_equal(tg_process_model_count(model), 3);
    tg_process_model_destroy(model);
}

static void a_process_without_a_start_is_known_from_its_first_event(void **state)
{
    (void)state;
    struct tg_process_model *model = create();
    exec(model, 5, 300, "/bin/true");
    struct tg_process_entry *entry = start(model, 6, 300, 1);
    assert_int_equal(tg_process_model_count(model), 1);
    assert_true(entry->start_seen);
    assert_int_equal(entry->start_ns, 5);
    assert_int_equal(entry->parent_pid, 1);
    /* A process that is its own parent, or has one that cannot be: a root. */
    struct tg_process_entry *odd = start(model, 7, 400, 400);
    assert_null(odd->parent);
    assert_null(start(model, 7, 401, INT64_MAX)->parent);
    assert_null(start(model, 7, 402, -5)->parent);
    tg_process_model_destroy(model);
}

static void a_remark_makes_no_process(void **state)
{
    (void)state;
    struct tg_process_model *model = create();
    const struct tg_event note = {.pid = 5, .tid = 5, .kind = TG_EVENT_NOTE, .note = {"set-uid"}};
    assert_null(feed(model, note));
    assert_int_equal(tg_process_model_count(model), 0);
    struct tg_process_entry *entry = start(model, 1, 5, 0);
    assert_ptr_equal(feed(model, note), entry);
    assert_int_equal(entry->last.kind, 0);
    tg_process_model_destroy(model);
}

static void threads_are_counted(void **state)
{
    (void)state;
    struct tg_process_model *model = create();
    struct tg_process_entry *entry = start(model, 1, 100, 0);
    for (int32_t round = 0; round < 3; round++) {
        thread(model, TG_EVENT_THREAD_START, 100, 101 + round);
        thread(model, TG_EVENT_THREAD_EXIT, 100, 101 + round);
    }
    thread(model, TG_EVENT_THREAD_START, 100, 100); /* the first thread is no other */
    thread(model, TG_EVENT_THREAD_START, 100, 110);
    thread(model, TG_EVENT_THREAD_START, 100, 111);
    assert_int_equal(entry->threads_started, 6);
    assert_int_equal(entry->threads_peak, 3);
    assert_int_equal(entry->threads_alive, 3);
    exec(model, 2, 100, "/bin/true");
    assert_int_equal(entry->threads_alive, 1);
    for (int i = 0; i < 5; i++)
        thread(model, TG_EVENT_THREAD_EXIT, 100, 100);
    assert_int_equal(entry->threads_alive, 0);
    tg_process_model_destroy(model);
}

static void thread_exit(struct tg_process_model *model, uint64_t time_ns, int32_t pid, int32_t tid,
                        int64_t status)
{
    feed(model, (struct tg_event){.time_ns = time_ns,
                                  .pid = pid,
                                  .tid = tid,
                                  .kind = TG_EVENT_THREAD_EXIT,
                                  .thread_exit = {.status = status}});
}

static void a_process_ends_with_its_first_thread_to_go(void **state)
{
    (void)state;
    enum { KILLED = 9, DUMPED = 11 | 0x80, EXITED_3 = 3 << 8 };
    struct tg_process_model *model = create();
    struct tg_process_entry *killed = start(model, 10, 100, 99);
    thread_exit(model, 20, 100, 102, 0); /* of its own will */
    thread_exit(model, 30, 100, 101, KILLED);
    thread_exit(model, 40, 100, 100, KILLED);
    end(model, 50, 100, TG_EXIT_SIGNAL, KILLED);
    assert_int_equal(killed->ended_ns, 30);
    struct tg_process_entry *crashed = start(model, 10, 200, 99);
    thread_exit(model, 31, 200, 200, DUMPED);
    end(model, 50, 200, TG_EXIT_SIGNAL, 11);
    assert_int_equal(crashed->ended_ns, 31);
    struct tg_process_entry *exited = start(model, 10, 300, 99);
    thread_exit(model, 32, 300, 300, EXITED_3);
    end(model, 50, 300, TG_EXIT_STATUS, 3);
    assert_int_equal(exited->ended_ns, 32);
    struct tg_process_entry *well = start(model, 10, 400, 99); /* threads that were done long before */
    thread_exit(model, 20, 400, 401, 0);
    end(model, 50, 400, TG_EXIT_STATUS, 0);
    assert_int_equal(well->ended_ns, 50);
    struct tg_process_entry *replaced = start(model, 10, 500, 99); /* exec kills the other threads */
    thread_exit(model, 20, 500, 501, KILLED);
    exec(model, 21, 500, "/bin/other");
    thread_exit(model, 40, 500, 500, KILLED);
    end(model, 50, 500, TG_EXIT_SIGNAL, KILLED);
    assert_int_equal(replaced->ended_ns, 40);
    tg_process_model_destroy(model);
}

static void signal_of(struct tg_process_model *model, int32_t pid, int64_t number, int64_t sender,
                      uint64_t address)
{
    feed(model, (struct tg_event){.time_ns = 5,
                                  .pid = pid,
                                  .tid = pid,
                                  .kind = TG_EVENT_SIGNAL,
                                  .signal = {.signal = number,
                                             .code = sender == 0, /* a fault */
                                             .sender_pid = sender,
                                             .address = address,
                                             .sender = ""}});
}

static void a_handler_that_raises_its_signal_again_keeps_the_address(void **state)
{
    (void)state;
    struct tg_process_model *model = create();
    struct tg_process_entry *entry = start(model, 1, 100, 0);
    signal_of(model, 100, 11, 0, 0x8);
    signal_of(model, 100, 11, 100, 0);
    assert_int_equal(entry->last_signal_address, 0x8);
    signal_of(model, 100, 11, 7, 0); /* somebody else's */
    assert_int_equal(entry->last_signal_address, 0);
    signal_of(model, 100, 7, 0, 0x10);
    signal_of(model, 100, 6, 100, 0); /* another one: abort in the handler */
    assert_int_equal(entry->last_signal_address, 0);
    tg_process_model_destroy(model);
}

static void a_handler_that_raises_its_signal_again_keeps_the_sender(void **state)
{
    (void)state;
    struct tg_process_model *model = create();
    struct tg_process_entry *entry = start(model, 1, 100, 0);
    signal_of(model, 100, SIGSEGV, 7, 0);
    signal_of(model, 100, SIGSEGV, 100, 0);
    assert_int_equal(entry->last_signal_sender_pid, 7);
    assert_false(entry->last_signal_has_address);
    signal_of(model, 100, SIGABRT, 100, 0); /* another one */
    assert_int_equal(entry->last_signal_sender_pid, 100);
    signal_of(model, 100, SIGSEGV, 0, 0x8); /* its own access */
    signal_of(model, 100, SIGSEGV, 100, 0);
    assert_int_equal(entry->last_signal_sender_pid, 100);
    assert_int_equal(entry->last_signal_address, 0x8);
    signal_of(model, 100, SIGUSR1, 7, 0); /* says nothing of the program */
    signal_of(model, 100, SIGUSR1, 100, 0);
    assert_int_equal(entry->last_signal_sender_pid, 100);
    tg_process_model_destroy(model);
}

static void a_null_pointer_has_an_address(void **state)
{
    (void)state;
    struct tg_process_model *model = create();
    struct tg_process_entry *entry = start(model, 1, 100, 0);
    struct tg_event fault = {.time_ns = 5,
                             .pid = 100,
                             .tid = 100,
                             .kind = TG_EVENT_SIGNAL,
                             .signal = {.signal = SIGSEGV, .code = SEGV_MAPERR, .sender = ""}};
    feed(model, fault);
    assert_true(entry->last_signal_has_address);
    signal_of(model, 100, SIGSEGV, 100, 0); /* raised again */
    assert_true(entry->last_signal_has_address);
    fault.signal.code = SI_KERNEL; /* again by the kernel: there was no room for the handler's frame */
    feed(model, fault);
    assert_true(entry->last_signal_has_address);
    struct tg_event other = fault; /* a thread beside it faults in between */
    other.tid = 101;
    other.signal.code = SEGV_ACCERR;
    other.signal.address = 0x70;
    other.signal.overflowed = 4096;
    feed(model, other);
    assert_int_equal(entry->last_signal_overflowed, 4096);
    feed(model, fault);
    assert_true(entry->last_signal_has_address);
    assert_int_equal(entry->last_signal_address, 0);
    assert_int_equal(entry->last_signal_overflowed, 0);
    fault.signal.pc = 2; /* an address that no pointer can have: the kernel does not say which */
    feed(model, fault);
    assert_false(entry->last_signal_has_address);
    signal_of(model, 100, SIGSEGV, 7, 0); /* somebody else's */
    assert_false(entry->last_signal_has_address);
    tg_process_model_destroy(model);
}

static void the_last_thing_done_is_not_the_end(void **state)
{
    (void)state;
    struct tg_process_model *model = create();
    struct tg_process_entry *entry = start(model, 1, 100, 0);
    const struct tg_library libraries[] = {{.path = "/lib/libdep.so", .build_id = "", .dependency = 1},
                                           {.path = "/lib/libplug.so", .build_id = ""}};
    feed(model, (struct tg_event){.time_ns = 9,
                                  .stop_ns = 4,
                                  .pid = 100,
                                  .tid = 102,
                                  .kind = TG_EVENT_LIBRARY_LOAD,
                                  .library_load = {.libraries = {libraries, 2}}});
    thread(model, TG_EVENT_THREAD_EXIT, 100, 102);
    end(model, 12, 100, TG_EXIT_LOST, 0);
    char text[64];
    assert_string_equal(tg_event_headline_print(&entry->last, text, sizeof text), "load libplug.so (+1)");
    assert_int_equal(entry->last.tid, 102);
    assert_int_equal(entry->last.time_ns, 9);
    assert_int_equal(entry->last_ns, 13);
    assert_int_equal(entry->stop_ns, 4);
    assert_int_equal(entry->end, TG_PROCESS_LOST);
    tg_process_model_destroy(model);
}

static const char *load(struct tg_process_model *model, uint64_t time_ns, const struct tg_library *libraries,
                        uint64_t count)
{
    const struct tg_process_entry *entry =
        feed(model, (struct tg_event){.time_ns = time_ns,
                                      .pid = 100,
                                      .tid = 100,
                                      .kind = TG_EVENT_LIBRARY_LOAD,
                                      .library_load.libraries = {libraries, count}});
    static char text[80];
    return entry->last_library.kind == 0 ? ""
                                         : tg_event_headline_print(&entry->last_library, text, sizeof text);
}

static void the_agent_is_no_library_of_the_program(void **state)
{
    static const struct tg_library agent = {.path = "/lib/tollgate/tollgate-agent.so"};
    static const struct tg_library first[] = {{.path = "/lib/tollgate/tollgate-agent.so"},
                                              {.path = "/lib/libdl.so.2", .dependency = true},
                                              {.path = "/lib/libc.so.6"}};
    static const struct tg_library plugin = {.path = "/home/u/my-tollgate-agent.so"};
    (void)state;
    struct tg_process_model *model = create();
    start(model, 10, 100, 99);
    assert_string_equal(load(model, 20, &agent, 1), "");
    assert_string_equal(load(model, 30, first, 3), "load libc.so.6 (+1)");
    assert_string_equal(load(model, 40, &agent, 1), "load libc.so.6 (+1)");
    assert_string_equal(load(model, 50, &plugin, 1), "load my-tollgate-agent.so");
    tg_process_model_destroy(model);
}

/* Many events of few processes, two of which have one place among the recent ones, most of them of a runtime. */
static void runs_of_events_come_to_the_same_as_each_event(void **state)
{
    (void)state;
    enum { N = 3000 };
    static const enum tg_event_kind kinds[] = {TG_EVENT_OMP_ZONE_BEGIN,  TG_EVENT_MPI_ENTER,
                                               TG_EVENT_OMP_MUTEX_LEAVE, TG_EVENT_MPI_LEAVE,
                                               TG_EVENT_OMP_SYNC_END,    TG_EVENT_THREAD_START};
    static const int32_t pids[] = {100, 101, 164, 0};
    static struct tg_event events[N];
    struct tg_process_model *model = create(), *by_runs = create();
    start(model, 1, 100, 1);
    start(by_runs, 1, 100, 1);
    identify(model, 2, 100, 3);
    identify(by_runs, 2, 100, 3);
    uint64_t number = 1;
    for (size_t i = 0; i < N; i++) {
        number = number * UINT64_C(6364136223846793005) + 1442695040888963407u;
        unsigned draw = (unsigned)(number >> 40);
        events[i] = (struct tg_event){.time_ns = 1000 + i * 7 - draw % 50,
                                      .stop_ns = draw % 11 == 0 ? draw % 100 : 0,
                                      .pid = pids[draw % 97 == 0  ? 3
                                                  : draw % 2 == 0 ? 0
                                                                  : draw / 8 % 3],
                                      .tid = (int32_t)(draw % 5),
                                      .kind = kinds[draw % 89 == 0 ? 5 : draw / 2 % 5]};
        if (events[i].kind == TG_EVENT_MPI_ENTER || events[i].kind == TG_EVENT_MPI_LEAVE)
            events[i].mpi_enter.call = events[i].mpi_leave.call = draw % 3 == 0 ? "MPI_Send" : "MPI_Recv";
        feed(model, events[i]);
    }
    size_t n_runs = 0;
    for (size_t i = 0, taken; i<N; i += taken> 0 ? taken : 1) {
        size_t processes[TG_PROCESS_MAX_RUN];
        assert_null(tg_process_model_feed_run(by_runs, events + i, N - i, processes, &taken));
        assert_in_range(taken, 0, TG_PROCESS_MAX_RUN);
        n_runs += taken > 0;
        for (size_t n = 0; n < taken; n++)
            assert_int_equal(tg_process_model_at(by_runs, processes[n])->pid, events[i + n].pid);
        if (taken == 0)
            feed(by_runs, events[i]);
    }
    assert_in_range(n_runs, N / TG_PROCESS_MAX_RUN, N / 2);
    assert_int_equal(tg_process_model_count(by_runs), 3);
    for (size_t i = 0; i < 3; i++) {
        const struct tg_process_entry *a = tg_process_model_at(model, i),
                                      *b = tg_process_model_at(by_runs, i);
        char last_a[100], last_b[100];
        assert_int_equal(a->pid, b->pid);
        assert_int_equal(a->events, b->events);
        assert_int_equal(a->start_ns, b->start_ns);
        assert_int_equal(a->last_ns, b->last_ns);
        assert_int_equal(a->stops, b->stops);
        assert_int_equal(a->stop_ns, b->stop_ns);
        assert_int_equal(a->rank, b->rank);
        assert_int_equal(a->claim.evidence, b->claim.evidence);
        assert_int_equal(a->last.time_ns, b->last.time_ns);
        assert_int_equal(a->last.tid, b->last.tid);
        assert_string_equal(tg_event_headline_print(&a->last, last_a, sizeof last_a),
                            tg_event_headline_print(&b->last, last_b, sizeof last_b));
    }
    tg_process_model_destroy(by_runs);
    tg_process_model_destroy(model);
}

static void the_walk_is_in_preorder(void **state)
{
    (void)state;
    struct tg_process_model *model = create();
    start(model, 1, 1, 0);
    start(model, 2, 2, 1);
    start(model, 3, 3, 1);
    start(model, 4, 4, 2);
    start(model, 5, 5, 0);
    const int32_t expected[][2] = {{1, 0}, {2, 1}, {4, 2}, {3, 1}, {5, 0}};
    unsigned depth = 9;
    size_t n = 0;
    for (struct tg_process_entry *entry = tg_process_model_next(model, NULL, &depth); entry != NULL;
         entry = tg_process_model_next(model, entry, &depth), n++) {
        assert_int_equal(entry->pid, expected[n][0]);
        assert_int_equal(depth, expected[n][1]);
    }
    assert_int_equal(n, 5);
    tg_process_model_destroy(model);
}

static void a_very_deep_tree_needs_no_stack(void **state)
{
    (void)state;
    enum { DEPTH = 200000 };
    struct tg_process_model *model = create();
    for (int32_t pid = 1; pid <= DEPTH; pid++)
        start(model, (uint64_t)pid, pid, pid - 1);
    unsigned depth = 0, deepest = 0;
    for (struct tg_process_entry *entry = tg_process_model_next(model, NULL, &depth); entry != NULL;
         entry = tg_process_model_next(model, entry, &depth))
        deepest = depth > deepest ? depth : deepest;
    assert_int_equal(deepest, DEPTH - 1);
    tg_process_model_destroy(model);
}

static void equal_ranks_fold_and_the_odd_one_stands_out(void **state)
{
    (void)state;
    struct tg_process_model *model = create();
    start(model, 1, 1000, 0);
    for (int32_t rank = 0; rank < 64; rank++) {
        start(model, 10 + (uint64_t)rank, rank + 1, 1000);
        exec(model, 100, rank + 1, "/home/u/app");
        identify(model, 101, rank + 1, rank);
        start(model, 102, 3000 + rank, rank + 1);
        if (rank == 5) /* another child makes another shape, too */
            start(model, 102, 2000, rank + 1);
        end(model, 200 + (uint64_t)rank, rank + 1, rank == 17 ? TG_EXIT_SIGNAL : TG_EXIT_STATUS,
            rank == 17 ? 11 : 0);
    }
    enum { COUNT = 1 + 64 * 2 + 1 };
    size_t shapes[COUNT];
    struct tg_process_fold folds[COUNT];
    assert_int_equal(tg_process_model_count(model), COUNT);
    assert_null(tg_process_shapes(model, shapes));
    assert_null(tg_process_folds(model, shapes, 8, folds));
    size_t leaders = 0, followers = 0;
    for (size_t i = 0; i < COUNT; i++) {
        if (folds[i].leader != i) {
            followers++;
            assert_int_equal(folds[i].leader, 1);
            assert_true(tg_process_model_at(model, i)->rank >= 0);
        } else if (folds[i].members > 1) {
            leaders++;
            assert_int_equal(i, 1);
            assert_int_equal(folds[i].members, 62);
        }
    }
    assert_int_equal(leaders, 1);
    assert_int_equal(followers, 61); /* neither rank 5 nor rank 17 */
    assert_null(tg_process_folds(model, shapes, 63, folds));
    for (size_t i = 0; i < COUNT; i++)
        assert_int_equal(folds[i].leader, i);
    tg_process_model_destroy(model);
}

static void call_mpi(struct tg_process_model *model, uint64_t time_ns, int32_t pid)
{
    feed(model, (struct tg_event){.time_ns = time_ns,
                                  .pid = pid,
                                  .tid = pid,
                                  .kind = TG_EVENT_MPI_ENTER,
                                  .mpi_enter = {.call = "MPI_Init", .type = "", .from_type = "", .op = ""}});
}

/* What a rank starts has its environment. */
/* Open MPI's daemon of a process without others has the number that MPICH's launcher gave to that. */
static void a_helper_of_a_process_that_mpi_left_alone_is_no_rank(void **state)
{
    (void)state;
    struct tg_process_model *model = create();
    start(model, 1, 100, 0);
    struct tg_process_entry *rank = start(model, 2, 101, 100);
    identify(model, 3, 101, 1);
    feed(model, (struct tg_event){.time_ns = 4,
                                  .pid = 101,
                                  .tid = 101,
                                  .kind = TG_EVENT_MPI_COMM,
                                  .mpi_comm = {.comm = 1, .origin = TG_MPI_COMM_WORLD, .size = 1}});
    struct tg_process_entry *helper = start(model, 5, 102, 101);
    identify(model, 6, 102, 1);
    assert_int_equal(rank->rank, 0);
    assert_true(rank->launch.is_in_vain);
    assert_int_equal(helper->rank, -1);
    tg_process_model_destroy(model);
}

static void a_child_of_a_rank_is_none(void **state)
{
    (void)state;
    struct tg_process_model *model = create(), *copy = NULL;
    start(model, 1, 100, 0);
    struct tg_process_entry *rank = start(model, 2, 101, 100);
    identify(model, 3, 101, 0);
    call_mpi(model, 4, 101);
    struct tg_process_entry *shell = start(model, 5, 102, 101);
    identify(model, 6, 102, 0);
    struct tg_process_entry *tool = start(model, 7, 103, 102);
    identify(model, 8, 103, 0);
    struct tg_process_entry *other = start(model, 9, 104, 101); /* rank 1 started by rank 0: spawned */
    identify(model, 10, 104, 1);
    assert_int_equal(rank->rank, 0);
    assert_int_equal(shell->rank, -1);
    assert_int_equal(tool->rank, -1);
    assert_true(tool->claim.is_made);
    assert_int_equal(other->rank, 1);
    assert_null(tg_process_model_copy(model, &copy));
    identify(copy, 12, 103, 0);
    assert_int_equal(tg_process_model_at(copy, rank->index)->rank, 0);
    assert_int_equal(tg_process_model_at(copy, tool->index)->rank, -1);
    tg_process_model_destroy(copy);
    tg_process_model_destroy(model);
}

static void what_a_wrapper_starts_is_the_rank_once_it_calls_mpi(void **state)
{
    (void)state;
    struct tg_process_model *model = create();
    struct tg_process_entry *script = start(model, 2, 101, 0);
    identify(model, 3, 101, 5);
    struct tg_process_entry *before = start(model, 4, 102, 101);
    identify(model, 5, 102, 5);
    struct tg_process_entry *first = start(model, 6, 103, 101);
    identify(model, 7, 103, 5);
    assert_int_equal(script->rank, 5);
    assert_int_equal(first->rank, -1);
    call_mpi(model, 8, 103);
    struct tg_process_entry *after = start(model, 9, 104, 101);
    identify(model, 10, 104, 5);
    struct tg_process_entry *second = start(model, 11, 105, 101);
    identify(model, 12, 105, 5);
    call_mpi(model, 13, 105);
    identify(model, 14, 101, 5); /* the script executes something else */
    assert_int_equal(script->rank, -1);
    assert_int_equal(before->rank, -1);
    assert_int_equal(first->rank, 5);
    assert_int_equal(after->rank, -1);
    assert_int_equal(second->rank, 5);
    tg_process_model_destroy(model);
}

/* srun gives a daemon of mpirun its own number, and the ranks below have another. */
static void a_daemon_with_the_batch_systems_number_is_no_rank(void **state)
{
    (void)state;
    struct tg_process_model *model = create();
    struct tg_process_entry *daemon = start(model, 2, 101, 0);
    const struct tg_event_identity by_srun = {
        .host = "n", .job = "7.0", .source = "SLURM_PROCID", .rank = 1, .size = 2};
    feed(model, (struct tg_event){
                    .time_ns = 3, .pid = 101, .tid = 101, .kind = TG_EVENT_IDENTITY, .identity = by_srun});
    assert_int_equal(daemon->rank, 1);
    struct tg_process_entry *helper = start(model, 4, 102, 101);
    feed(model, (struct tg_event){
                    .time_ns = 5, .pid = 102, .tid = 102, .kind = TG_EVENT_IDENTITY, .identity = by_srun});
    struct tg_process_entry *rank = start(model, 6, 103, 101);
    identify(model, 7, 103, 3);
    feed(model, (struct tg_event){
                    .time_ns = 8, .pid = 102, .tid = 102, .kind = TG_EVENT_IDENTITY, .identity = by_srun});
    assert_int_equal(daemon->rank, -1);
    assert_int_equal(helper->rank, -1);
    assert_int_equal(rank->rank, 3);
    tg_process_model_destroy(model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_tree_grows_by_process_starts),
        cmocka_unit_test(a_pid_that_is_used_again_is_another_process),
        cmocka_unit_test(a_process_without_a_start_is_known_from_its_first_event),
        cmocka_unit_test(a_remark_makes_no_process),
        cmocka_unit_test(threads_are_counted),
        cmocka_unit_test(a_process_ends_with_its_first_thread_to_go),
        cmocka_unit_test(a_handler_that_raises_its_signal_again_keeps_the_address),
        cmocka_unit_test(a_handler_that_raises_its_signal_again_keeps_the_sender),
        cmocka_unit_test(a_null_pointer_has_an_address),
        cmocka_unit_test(the_last_thing_done_is_not_the_end),
        cmocka_unit_test(the_agent_is_no_library_of_the_program),
        cmocka_unit_test(runs_of_events_come_to_the_same_as_each_event),
        cmocka_unit_test(the_walk_is_in_preorder),
        cmocka_unit_test(a_very_deep_tree_needs_no_stack),
        cmocka_unit_test(a_child_of_a_rank_is_none),
        cmocka_unit_test(a_helper_of_a_process_that_mpi_left_alone_is_no_rank),
        cmocka_unit_test(what_a_wrapper_starts_is_the_rank_once_it_calls_mpi),
        cmocka_unit_test(a_daemon_with_the_batch_systems_number_is_no_rank),
        cmocka_unit_test(equal_ranks_fold_and_the_odd_one_stands_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
