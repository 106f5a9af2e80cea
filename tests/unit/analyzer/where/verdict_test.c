#include "tests/unit/analyzer/where/looks.h"

/* A rank outside MPI while all others are in a collective call is waited for; whether it runs, two looks tell. */
static void test_missing(void **state)
{
    (void)state;
    static const char *const calls[] = {"PMPI_Barrier", "mpi_barrier_", NULL};
    struct tg_where_look before, now;
    make_look(&before, 7, calls);
    make_look(&now, 7, calls);
    add_world(&now, 0); /* rank 1 may wait in a communicator that rank 2 is not in */
    expect(
        &now, NULL, TG_WHERE_OUTSIDE,
        "If rank 2 belongs to the communicator of these calls, the others wait for it. It is outside MPI: in "
        "solve (a.c:20).\n"
        "  ranks 0-1 are in MPI_Barrier, from different places\n");
    add_world(&now, 1);
    expect(&now, NULL, TG_WHERE_MISSING,
           "The others wait for rank 2, which is outside MPI: in solve (a.c:20).\n"
           "  ranks 0-1 are in MPI_Barrier(MPI_COMM_WORLD), from different places\n");
    expect(&now, &before, TG_WHERE_MISSING,
           "The others wait for rank 2, which is outside MPI: in solve (a.c:20), at the same place in both "
           "looks.\n"
           "  ranks 0-1 are in MPI_Barrier(MPI_COMM_WORLD), from different places\n");
    tg_where_look_deinit(&before);
    make_look(&before, 8, calls);
    char *text = said(&now, &before, TG_WHERE_MOVES);
    assert_non_null(strstr(text, "in solve (a.c:20); that runs.\nLook again later"));
    free(text);
    tg_where_look_deinit(&before);
    tg_where_look_deinit(&now);
}

static void set_sleeps(struct tg_where_look *look, struct tg_look_activity *activities, size_t count)
{
    for (size_t i = 0; i < count; i++)
        activities[i].pid = activities[i].tid = 100 + (int32_t)i;
    look->activities = activities;
    look->n_activities = count;
}

/* Two looks at three ranks in CALLS, none of which has come back from its call between the two. */
static void make_stayed(struct tg_where_look *look, struct tg_where_look *before, const char *const calls[3],
                        struct tg_look_activity activities[3])
{
    make_look(look, 7, calls);
    make_look(before, 7, calls);
    for (int rank = 0; rank < 3; rank++)
        activities[rank] = (struct tg_look_activity){.is_counted = true, .sleeps = true};
    set_sleeps(look, activities, 3);
}

/* A rank at one place runs, unless it was asleep in both looks, in one and the same call. */
static void test_moves(void **state)
{
    (void)state;
    static const char *const calls[] = {"PMPI_Barrier", "PMPI_Barrier", NULL};
    static const struct {
        struct tg_look_activity before, now;
        enum tg_where_kind kind;
    } cases[] = {
        {{0}, {0}, TG_WHERE_MOVES},
        {{.sleeps = true}, {0}, TG_WHERE_MOVES},
        {{.sleeps = true}, {.sleeps = true}, TG_WHERE_MISSING},
        {{.sleeps = true, .restarts = true},
         {.sleeps = true, .restarts = true, .is_restart = true},
         TG_WHERE_MISSING},
        {{.sleeps = true, .restarts = true}, {.sleeps = true, .restarts = true}, TG_WHERE_MOVES},
        {{.is_suspended = true}, {.is_suspended = true}, TG_WHERE_MISSING},
        {{.sleeps = true}, {.sleeps = true, .is_counted = true, .returns = 3}, TG_WHERE_MOVES},
    };
    struct tg_look_activity then[3] = {0}, there[3] = {0};
    struct tg_where_look before, now;
    make_look(&before, 7, calls);
    make_look(&now, 7, calls);
    add_world(&now, 0);
    add_world(&now, 1);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        then[2] = cases[i].before;
        there[2] = cases[i].now;
        set_sleeps(&before, then, 3);
        set_sleeps(&now, there, 3);
        char *text = said(&now, &before, cases[i].kind);
        assert_int_equal(strstr(text, ", at the same place in both looks.\n") != NULL,
                         cases[i].kind == TG_WHERE_MISSING);
        assert_null(strstr(text, "is unknown"));
        free(text);
    }
    snprintf(now.uncounted, sizeof now.uncounted, "not permitted");
    char *text = said(&now, &before, TG_WHERE_MOVES);
    assert_non_null(strstr(text,
                           "Whether the others came back from their calls between the looks is unknown: "
                           "not permitted.\n"));
    free(text);
    now.activities = before.activities = NULL;
    tg_where_look_deinit(&before);
    tg_where_look_deinit(&now);
}

/* A rank whose first thread waits for others of its own runs where those do. */
static void test_worked_for(void **state)
{
    (void)state;
    struct tg_where_look before, now, *both[] = {&before, &now};
    struct tg_look_activity activities[] = {
        {.pid = 100, .tid = 100}, {.pid = 101, .tid = 101, .sleeps = true}, {.pid = 101, .tid = 1101}};
    for (size_t i = 0; i < 2; i++) {
        struct tg_where_look *look = both[i];
        assert_null(tg_where_look_create(look));
        add_rank(look, 0, 2);
        add_rank(look, 1, 2);
        add_world(look, 0);
        add_stack(look, 0, 0, MPI, "MPI_Barrier", 10, 5);
        add_stack(look, 1, 0, GOMP, "GOMP_barrier", 30, 5);
        add_stack(look, 1, 1, GOMP, NULL, 31, 5);
        look->activities = activities;
        look->n_activities = 3;
    }
    expect(
        &now, &before, TG_WHERE_MOVES,
        "The others wait for rank 1, which is outside MPI: in GOMP_barrier, called from solve (a.c:30), at "
        "the same place in both looks, while other threads there run.\n"
        "There, thread 1101 is in solve (a.c:31).\n"
        "Look again later: if it is still in that function, it may be in an endless loop.\n"
        "  rank 0 is in MPI_Barrier(MPI_COMM_WORLD), called from solve (a.c:10)\n");
    activities[2].sleeps = true;
    free(said(&now, &before, TG_WHERE_MISSING));
    now.activities = before.activities = NULL;
    tg_where_look_deinit(&before);
    tg_where_look_deinit(&now);
}

/* Who polls comes back from its calls, and nobody knows what for: neither hung nor going on. */
static void test_polls(void **state)
{
    (void)state;
    static const char *const waiting[] = {"MPI_Barrier", "MPI_Barrier", "MPI_Iprobe"};
    static const char *const between[] = {"MPI_Barrier", "MPI_Barrier", NULL};
    static const char *const asking[] = {"MPI_Testall", "MPI_Testall", "MPI_Testall"};
    static const char *const clock[] = {"MPI_Barrier", "MPI_Barrier", "MPI_Wtime"};
    struct tg_where_look before, now;
    struct tg_look_activity activities[3] = {[2] = {.is_counted = true, .returns = 1000}};
    make_look(&before, 7, waiting);
    make_look(&now, 7, waiting);
    add_world(&now, 0);
    add_world(&now, 1);
    set_sleeps(&now, activities, 3);
    expect(&now, &before, TG_WHERE_POLLS,
           "The others wait for rank 2, which is polling: in MPI_Iprobe, called from solve (a.c:20).\n"
           "Who polls runs, whether or not that ever succeeds: look again later.\n"
           "  ranks 0-1 are in MPI_Barrier(MPI_COMM_WORLD), called from solve (a.c:10)\n");
    now.activities = NULL;
    tg_where_look_deinit(&now);
    make_look(&now, 7, between);
    add_world(&now, 0);
    add_world(&now, 1);
    char *text = said(&now, &before, TG_WHERE_POLLS);
    assert_non_null(strstr(text, "which is polling with MPI_Iprobe: in solve (a.c:20).\n"));
    free(text);
    tg_where_look_deinit(&now);
    make_look(&now, 7, clock);
    add_world(&now, 0);
    add_world(&now, 1);
    free(said(&now, &before, TG_WHERE_POLLS)); /* it polled in the look before */
    text = said(&now, NULL, TG_WHERE_MISSING);
    assert_non_null(strstr(text, "wait for rank 2, which is in MPI_Wtime, called from solve (a.c:20).\n"));
    free(text);
    tg_where_look_deinit(&now);
    make_look(&now, 7, asking);
    text = said(&now, NULL, TG_WHERE_POLLS);
    assert_ptr_equal(strstr(text, "No rank waits in MPI. Who polls runs"), text);
    free(text);
    tg_where_look_deinit(&now);
    tg_where_look_deinit(&before);
}

/* What MPI has called of the program is inside of MPI's call, and waits for nobody. */
static void test_callbacks(void **state)
{
    (void)state;
    static const struct frame itself[] = {{PROGRAM, "add", 40},
                                          {MPI, "ompi_op_reduce", 0},
                                          {MPI, "PMPI_Allreduce", 0},
                                          {PROGRAM, "solve", 41}},
                              deeper[] = {{LIBC, "usleep", 0},        {PROGRAM, "rest", 42},
                                          {PROGRAM, "add", 43},       {MPI, "PMPI_Allreduce", 0},
                                          {MPI, "mpi_allreduce_", 0}, {PROGRAM, "solve", 41}},
                              calling[] = {{MPI, "MPI_Recv", 0},
                                           {PROGRAM, "on_error", 44},
                                           {MPI, "MPI_Send", 0},
                                           {PROGRAM, "solve", 41}},
                              jumped[] = {{LIBC, "usleep", 0},
                                          {PROGRAM, "forget", 46},
                                          {MPI, "ompi_mpi_finalize", 0},
                                          {PROGRAM, "solve", 41}},
                              handler[] = {{PROGRAM, "on_alarm", 45},
                                           {NULL, "restore", 0},
                                           {MPI, "MPI_Recv", 0},
                                           {PROGRAM, "solve", 41}};
    static const struct {
        const struct frame *frames;
        size_t count;
        const char *said;
        const char *steps[4];
    } cases[] = {
        {itself,
         4,
         "rank 0 is in add (a.c:40), a callback of MPI_Allreduce\n",
         {"solve (a.c:41)", "MPI_Allreduce", "add (a.c:40)", NULL}},
        {deeper,
         6,
         "rank 0 is in usleep, called from rest (a.c:42), in the callback add of MPI_Allreduce\n",
         {"solve (a.c:41)", "MPI_Allreduce", "add (a.c:43)", "rest (a.c:42)"}},
        {calling,
         4,
         "rank 0 is in MPI_Recv, called from on_error (a.c:44), a callback of MPI_Send\n",
         {"solve (a.c:41)", "MPI_Send", "on_error (a.c:44)", "MPI_Recv"}},
        {jumped,
         4,
         "rank 0 is in usleep, called from forget (a.c:46), a callback of MPI_Finalize\n",
         {"solve (a.c:41)", "MPI_Finalize", "forget (a.c:46)", "usleep"}},
        {handler,
         4,
         "rank 0 is in on_alarm (a.c:45), which is a signal handler, during MPI_Recv\n",
         {"solve (a.c:41)", "MPI_Recv", "(signal handler)", "on_alarm (a.c:45)"}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct tg_where_look look;
        struct tg_where_threads threads;
        assert_null(tg_where_look_create(&look));
        add_rank(&look, 0, 1);
        add_frames(&look, 0, cases[i].frames, cases[i].count);
        char *text = said(&look, NULL, cases[i].frames == calling ? TG_WHERE_UNKNOWN : TG_WHERE_BUSY);
        assert_non_null(strstr(text, cases[i].said));
        assert_null(strstr(text, "No rank is in MPI."));
        free(text);
        assert_null(tg_where_threads_make(&look, NULL, &threads));
        for (size_t k = 0; k < 4 && cases[i].steps[k] != NULL; k++)
            assert_string_equal(threads.threads[0].path.steps[k], cases[i].steps[k]);
        tg_where_threads_deinit(&threads);
        tg_where_look_deinit(&look);
    }
}

/* An interpreter that calls MPI_Finalize at its end has no code of the program's own on its stack any more. */
static void test_end_of_interpreter(void **state)
{
    (void)state;
    static const struct frame frames[] = {{LIBC, "sched_yield", 0},
                                          {MPI, "PMPI_Finalize", 0},
                                          {"/usr/bin/python3.11", "Py_FinalizeEx", 0},
                                          {LIBC, "__libc_start_main", 0}};
    struct tg_where_look look = {.n_requests = 0};
    assert_null(tg_process_model_create(&look.own_processes));
    assert_null(tg_stack_model_create(&look.own_stacks));
    look.processes = look.own_processes;
    look.stacks = look.own_stacks;
    add_rank(&look, 0, 2);
    add_rank(&look, 1, 2);
    add_stack(&look, 0, 0, MPI, "MPI_Recv", 10, 5);
    add_frames(&look, 1, frames, 4);
    char *text = said(&look, NULL, TG_WHERE_UNKNOWN);
    assert_non_null(strstr(text, "  rank 1 is in MPI_Finalize\n"));
    free(text);
    tg_where_look_deinit(&look);
}

/* Stacks do not have partners: nobody is blamed. */
static void test_unknown(void **state)
{
    (void)state;
    static const char *const received[] = {"MPI_Barrier", "MPI_Recv", NULL};
    static const char *const different[] = {"MPI_Barrier", "MPI_Allreduce", "MPI_Barrier"};
    static const char *const busy[] = {NULL, NULL, NULL};
    struct tg_where_look look;
    make_look(&look, 7, received);
    char *text = said(&look, NULL, TG_WHERE_UNKNOWN);
    assert_null(strstr(text, "wait for rank"));
    assert_non_null(strstr(text, "rank 1 is in MPI_Recv, called from solve (a.c:10)\n"));
    free(text);
    tg_where_look_deinit(&look);
    make_look(&look, 7, different);
    text = said(&look, NULL, TG_WHERE_DIFFERENT);
    assert_non_null(strstr(text, "If these are of one communicator"));
    free(text);
    tg_where_look_deinit(&look);
    make_look(&look, 7, busy);
    expect(&look, NULL, TG_WHERE_BUSY,
           "No rank is in MPI.\n  ranks 0-1 are outside MPI: in solve (a.c:10)\n"
           "  rank 2 is outside MPI: in solve (a.c:20)\n");
    tg_where_look_deinit(&look);
}

/* Ranks of jobs that MPI_Comm_spawn joined have the same numbers. */
static void test_two_jobs(void **state)
{
    (void)state;
    struct tg_where_look look;
    assert_null(tg_where_look_create(&look));
    add_rank(&look, 0, 1);
    add_rank(&look, 1, 1);
    feed(&look,
         (struct tg_event){.kind = TG_EVENT_IDENTITY,
                           .pid = 101,
                           .tid = 101,
                           .identity = {.host = "h", .job = "k", .source = "s", .rank = 0, .size = 1}});
    add_stack(&look, 0, 0, MPI, "MPI_Recv", 10, 5);
    add_stack(&look, 1, 0, MPI, "MPI_Recv", 20, 5);
    char *text = said(&look, NULL, TG_WHERE_UNKNOWN);
    assert_non_null(
        strstr(text, "\n  rank 0 of job j and rank 0 of job k are in MPI_Recv, from different places\n"));
    free(text);
    tg_where_look_deinit(&look);
}

/* What MPI's own components call to each other is no callback of the program's; nor is what they call while MPI starts. */
static void test_components(void **state)
{
    (void)state;
    static const struct frame starting[] = {{LIBC, "close", 0},
                                            {"/usr/lib/libudev.so.1", "", 0},
                                            {"/usr/lib/libudev.so.1", "udev_device_get_property_value", 0},
                                            {"/usr/lib/libhwloc.so.15", "hwloc_topology_load", 0},
                                            {MPI, "PMPI_Init_thread", 0},
                                            {PROGRAM, "main", 21}};
    static const struct frame frames[] = {
        {MPI, "ompi_coll_base_barrier_intra_basic_linear", 0},
        {"/usr/lib/libmca_common_ompio.so.41", "mca_common_ompio_file_close", 0},
        {MPI, "PMPI_File_close", 0},
        {PROGRAM, "solve", 20}};
    struct tg_where_look look;
    make_team(&look);
    add_thread_frames(&look, 1, 0, frames, 4);
    char *text = said(&look, NULL, TG_WHERE_DIFFERENT);
    assert_non_null(strstr(text, "rank 1 is in MPI_File_close, called from solve (a.c:20)"));
    free(text);
    tg_where_look_deinit(&look);
    make_team(&look);
    add_thread_frames(&look, 1, 0, starting, 6);
    text = said(&look, NULL, TG_WHERE_DIFFERENT);
    assert_non_null(strstr(text, "rank 1 is in MPI_Init_thread, called from main (a.c:21)\n"));
    assert_null(strstr(text, "callback"));
    free(text);
    tg_where_look_deinit(&look);
}

static void add_values(struct tg_where_look *look, int rank, const char *name, int partner, int tag)
{
    struct tg_where_values values = {.pid = 100 + rank, .tid = 100 + rank};
    if (name != NULL) {
        values.items[values.count] = (struct tg_where_value){.value = partner};
        snprintf(values.items[values.count].name, sizeof values.items[0].name, "%s", name);
        snprintf(values.items[values.count++].text, sizeof values.items[0].text, "%d", partner);
        values.items[values.count] = (struct tg_where_value){.name = "tag", .value = tag};
        snprintf(values.items[values.count++].text, sizeof values.items[0].text, "%d", tag);
    }
    values.items[values.count++] = (struct tg_where_value){.name = "comm", .text = "MPI_COMM_WORLD"};
    values.items[values.count++] = (struct tg_where_value){.name = "state", .value = 5};
    values.items[values.count++] = (struct tg_where_value){.name = "small", .value = 1};
    look->values = realloc(look->values, (look->n_values + 1) * sizeof values);
    look->values[look->n_values++] = values;
}

static void make_messages(struct tg_where_look *look, const char *of_1, const char *name, int partner,
                          int tag)
{
    assert_null(tg_where_look_create(look));
    for (int rank = 0; rank < 2; rank++)
        add_rank(look, rank, 2);
    add_stack(look, 0, 0, MPI, "MPI_Recv", 10, 5);
    add_stack(look, 1, 0, MPI, of_1, 20, 5);
    add_values(look, 0, "source", 1, 7);
    add_values(look, 1, name, partner, tag);
}

/* RANK, at line 10, is in MPI_Sendrecv with rank OTHER, to which it sends TAG, and from SOURCE, of whom it expects tag 7. */
static void add_exchange(struct tg_where_look *look, int rank, int other, int tag, int source)
{
    add_stack(look, rank, 0, MPI, "MPI_Sendrecv", 10, 5);
    add_values(look, rank, "dest", other, tag);
    struct tg_where_values *values = &look->values[look->n_values - 1];
    values->items[values->count++] = (struct tg_where_value){.name = "source", .value = source};
    values->items[values->count++] = (struct tg_where_value){.name = "recvtag", .value = 7};
}

/* Two that exchange messages wait for each other where one of these is not what the other one expects, and each is with one
 * other rank. */
static void test_exchanges(void **state)
{
    (void)state;
    static const struct {
        int tag, source;
        enum tg_where_kind kind;
    } cases[] = {{8, 1, TG_WHERE_CYCLE}, {7, 1, TG_WHERE_UNKNOWN}, {8, 0, TG_WHERE_UNKNOWN}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct tg_where_look looks[2];
        for (size_t k = 0; k < 2; k++) {
            assert_null(tg_where_look_create(&looks[k]));
            for (int rank = 0; rank < 2; rank++)
                add_rank(&looks[k], rank, 2);
            add_exchange(&looks[k], 0, 1, cases[i].tag, cases[i].source);
            add_exchange(&looks[k], 1, 0, 7, 0);
        }
        free(said(&looks[1], &looks[0], cases[i].kind));
        for (size_t k = 0; k < 2; k++)
            tg_where_look_deinit(&looks[k]);
    }
}

/* Rank 0 sends to rank 1, that one to rank 2, which is in a call whose partner is not known. */
static void test_led(void **state)
{
    (void)state;
    static const char *const calls[] = {"MPI_Send", "MPI_Send", "MPI_Wait"};
    struct tg_where_look look, before;
    struct tg_look_activity activities[3];
    make_stayed(&look, &before, calls, activities);
    add_values(&look, 0, "dest", 1, 7);
    add_values(&look, 1, "dest", 2, 7);
    char *text = said(&look, &before, TG_WHERE_UNKNOWN);
    assert_ptr_equal(strstr(text, "The others wait for rank 2; whom that one waits for is not known.\n"),
                     text);
    free(text);
    look.activities = NULL;
    tg_where_look_deinit(&look);
    tg_where_look_deinit(&before);
}

/* Ranks that wait for messages of each other are told: after two looks between which nothing changed, where nobody else
 * could send, and where what one sends is not what the other one receives. */
static void test_messages(void **state)
{
    (void)state;
    struct tg_where_look look, before;
    make_messages(&look, "MPI_Barrier", NULL, 0, 0);
    make_messages(&before, "MPI_Barrier", NULL, 0, 0);
    expect(
        &look, &before, TG_WHERE_CYCLE,
        "These ranks wait for each other, and nothing on their callers' stacks changed between the "
        "looks:\n"
        "  rank 0 waits for rank 1: it is in MPI_Recv(source 1, tag 7, MPI_COMM_WORLD), called from solve "
        "(a.c:10)\n"
        "  rank 1 waits for rank 0: it is in MPI_Barrier(MPI_COMM_WORLD), called from solve (a.c:20)\n"
        "That is a deadlock, unless they run a loop that leaves no mark on their stacks. Whether they came "
        "back from these calls meanwhile is unknown.\n"
        "  rank 0 is in MPI_Recv(source 1, tag 7, MPI_COMM_WORLD), called from solve (a.c:10)\n"
        "  rank 1 is in MPI_Barrier(MPI_COMM_WORLD), called from solve (a.c:20)\n");
    free(said(&look, NULL, TG_WHERE_UNKNOWN));
    look.values[1].items[1].value = 6; /* of rank 1: its loop goes round */
    free(said(&look, &before, TG_WHERE_UNKNOWN));
    look.values[1].items[1].value = 5;
    add_stack(&look, 1, 1, MPI, NULL, 31, 5);
    free(said(&look, &before, TG_WHERE_UNKNOWN));
    tg_where_look_deinit(&look);
    static const struct {
        const char *call, *name;
        int partner, tag;
        enum tg_where_kind kind;
    } cases[] = {
        {"MPI_Recv", "source", 0, 7, TG_WHERE_CYCLE},    {"MPI_Send", "dest", 0, 8, TG_WHERE_CYCLE},
        {"MPI_Send", "dest", 0, 7, TG_WHERE_UNKNOWN},    {"MPI_Recv", "source", 1, 7, TG_WHERE_CYCLE},
        {"MPI_Recv", "source", -1, 7, TG_WHERE_UNKNOWN}, {"MPI_Isend", "dest", 0, 8, TG_WHERE_UNKNOWN},
        {"MPI_Allreduce", NULL, 0, 0, TG_WHERE_CYCLE}, /* there, no other rank is missing */
        {"MPI_Finalize", NULL, 0, 0, TG_WHERE_CYCLE},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tg_where_look_deinit(&before);
        make_messages(&look, cases[i].call, cases[i].name, cases[i].partner, cases[i].tag);
        make_messages(&before, cases[i].call, cases[i].name, cases[i].partner, cases[i].tag);
        free(said(&look, &before, cases[i].kind));
        tg_where_look_deinit(&look);
    }
    tg_where_look_deinit(&before);
}

static void set_activities(struct tg_where_look *look, struct tg_look_activity of_0)
{
    static struct tg_look_activity both[2];
    both[0] = of_0;
    both[0].pid = both[0].tid = 100;
    both[1] =
        (struct tg_look_activity){.pid = 101, .tid = 101, .is_counted = of_0.is_counted, .sleeps = true};
    look->activities = both;
    look->n_activities = 2;
}

/* Where all others are in one call of all ranks, for whom they wait is known, if not for whom that one does. */
static void test_pending(void **state)
{
    (void)state;
    struct tg_where_look look, before, *looks[] = {&look, &before};
    for (size_t i = 0; i < 2; i++) {
        assert_null(tg_where_look_create(looks[i]));
        for (int rank = 0; rank < 2; rank++)
            add_rank(looks[i], rank, 2);
        add_stack(looks[i], 0, 0, MPI, "MPI_Barrier", 10, 5);
        add_stack(looks[i], 1, 0, MPI, "MPI_Win_lock", 20, 5);
        add_values(looks[i], 0, NULL, 0, 0);
    }
    set_activities(&look, (struct tg_look_activity){.is_counted = true, .sleeps = true});
    expect(&look, &before, TG_WHERE_UNKNOWN,
           "Rank 0 waits in MPI_Barrier for rank 1; whom that one waits for is not known.\n"
           "  rank 0 is in MPI_Barrier(MPI_COMM_WORLD), called from solve (a.c:10)\n"
           "  rank 1 is in MPI_Win_lock, called from solve (a.c:20)\n");
    set_activities(&look, (struct tg_look_activity){.is_counted = true, .ran_ns = 1000});
    char *text = said(&look, &before, TG_WHERE_UNKNOWN);
    assert_ptr_equal(strstr(text, "Who waits for whom is unknown"), text);
    free(text);
    look.activities = NULL;
    tg_where_look_deinit(&look);
    tg_where_look_deinit(&before);
}

/* Three ranks in collective calls, with communicators as COMMS says ("": another one) and roots, and nobody comes back. How much
 * MPI_Alltoallv moves is not known. */
static void expect_of_calls(const char *const calls[3], const char *const comms[3], const int64_t roots[3],
                            enum tg_where_kind kind, const char *wanted)
{
    struct tg_where_look look, before;
    struct tg_look_activity activities[3];
    make_look(&look, 7, calls);
    make_look(&before, 7, calls);
    for (int rank = 0; rank < 3; rank++) {
        add_world(&look, rank);
        struct tg_where_values *values = &look.values[rank];
        snprintf(values->items[0].text, sizeof values->items[0].text, "%s", comms[rank]);
        values->items[values->count] = (struct tg_where_value){.name = "root", .value = roots[rank]};
        snprintf(values->items[values->count++].text, sizeof values->items[0].text, "%d", (int)roots[rank]);
        if (strcmp(calls[rank], "MPI_Init") != 0 && strcmp(calls[rank], "MPI_Alltoallv") != 0)
            values->items[values->count++] = (struct tg_where_value){.name = "count", .value = 1};
        activities[rank] = (struct tg_look_activity){.is_counted = true, .sleeps = true};
    }
    set_sleeps(&look, activities, 3);
    expect(&look, &before, kind, wanted);
    look.activities = NULL;
    tg_where_look_deinit(&look);
    tg_where_look_deinit(&before);
}

/* Rank 1 waits for a message of rank 2, which is outside MPI, and rank 0, if it has a CALL, for all or somebody else. */
static void expect_of_awaited(const char *call, const char *comm, int64_t source, enum tg_where_kind kind,
                              const char *wanted)
{
    const char *const calls[] = {call, "MPI_Recv", NULL};
    struct tg_where_look look;
    make_look(&look, 7, calls);
    add_world(&look, 0);
    add_world(&look, 1);
    snprintf(look.values[1].items[0].text, sizeof look.values[1].items[0].text, "%s", comm);
    look.values[1].items[look.values[1].count++] =
        (struct tg_where_value){.name = "source", .value = source, .text = "N"};
    char *text = said(&look, NULL, kind);
    if (strncmp(text, wanted, strlen(wanted)) != 0)
        assert_string_equal(text, wanted);
    free(text);
    tg_where_look_deinit(&look);
}

/* Who waits for a message of one that is outside MPI waits for that one as others do in a collective call. */
static void test_awaited(void **state)
{
    (void)state;
    expect_of_awaited("MPI_Barrier", "MPI_COMM_WORLD", 2, TG_WHERE_MISSING,
                      "The others wait for rank 2, which is outside MPI: in solve (a.c:20).\n"
                      "  rank 0 is in MPI_Barrier(MPI_COMM_WORLD), called from solve (a.c:10)\n"
                      "  rank 1 is in MPI_Recv(MPI_COMM_WORLD, source N), called from solve (a.c:10)\n");
    static const char unknown[] =
        "Who waits for whom is unknown: one look does not show what moves, or not all "
        "partners of these calls are known. Only rank 2 is outside MPI.\n";
    expect_of_awaited("MPI_Barrier", "MPI_COMM_WORLD", 0, TG_WHERE_UNKNOWN, unknown);
    expect_of_awaited("MPI_Barrier", "", 2, TG_WHERE_UNKNOWN, unknown);
    expect_of_awaited("MPI_Waitall", "MPI_COMM_WORLD", 2, TG_WHERE_UNKNOWN, unknown);
    /* nobody is known to wait for rank 0 */
    expect_of_awaited(NULL, "MPI_COMM_WORLD", 2, TG_WHERE_MISSING,
                      "The others wait for rank 2, which is outside MPI: in solve (a.c:20).\n"
                      "  rank 0 is outside MPI: in solve (a.c:10)\n"
                      "  rank 1 is in MPI_Recv(MPI_COMM_WORLD, source N), called from solve (a.c:10)\n");
}

/* One function of MPI may be several calls: of other communicators, in which nobody is missing whom the others wait for, or
 * with other roots. */
static void test_calls_of_one_function(void **state)
{
    (void)state;
    static const char *const bcasts[] = {"MPI_Bcast", "MPI_Bcast", "MPI_Bcast"};
    static const char *const world[] = {"MPI_COMM_WORLD", "MPI_COMM_WORLD", "MPI_COMM_WORLD"};
    static const char *const other[] = {"MPI_COMM_WORLD", "", "MPI_COMM_WORLD"};
    static const char *const mixed[] = {"MPI_Bcast", "MPI_Allreduce", "MPI_Bcast"};
    static const char *const ended[] = {"MPI_Bcast", "MPI_Bcast", "MPI_Finalize"};
    static const int64_t roots[] = {0, 1, 0}, same[] = {0, 0, 0};
    expect_of_calls(bcasts, world, same, TG_WHERE_UNKNOWN,
                    "Who waits for whom is unknown: not all partners of these calls are known.\n"
                    "  ranks 0-2 are in MPI_Bcast(MPI_COMM_WORLD, root 0), from different places\n");
    expect_of_calls(bcasts, world, roots, TG_WHERE_DIFFERENT,
                    "Ranks are in MPI_Bcast with different roots: they wait for each other for ever.\n"
                    "  ranks 0,2 are in MPI_Bcast(MPI_COMM_WORLD, root 0), from different places\n"
                    "  rank 1 is in MPI_Bcast(MPI_COMM_WORLD, root 1), called from solve (a.c:10)\n");
    expect_of_calls(mixed, world, same, TG_WHERE_DIFFERENT,
                    "Ranks are in different collective calls of MPI_COMM_WORLD: they wait for each other "
                    "for ever.\n"
                    "  ranks 0,2 are in MPI_Bcast(MPI_COMM_WORLD, root 0), from different places\n"
                    "  rank 1 is in MPI_Allreduce(MPI_COMM_WORLD, root 0), called from solve (a.c:10)\n");
    /* what may be large, or begins later, may end yet */
    for (size_t i = 0; i < 2; i++) {
        const char *const late[] = {"MPI_Bcast", i == 0 ? "MPI_Alltoallv" : "MPI_Init", "MPI_Bcast"};
        char wanted[512];
        snprintf(wanted, sizeof wanted,
                 "Ranks are in different collective calls of MPI_COMM_WORLD. If nobody comes back from "
                 "them, they wait for each other for ever.\n"
                 "  ranks 0,2 are in MPI_Bcast(MPI_COMM_WORLD, root 0), from different places\n"
                 "  rank 1 is in %s(MPI_COMM_WORLD, root 0), called from solve (a.c:10)\n",
                 late[1]);
        expect_of_calls(late, world, same, TG_WHERE_DIFFERENT, wanted);
    }
    expect_of_calls(ended, other, same, TG_WHERE_UNKNOWN,
                    "The others wait in collective calls of all ranks for rank 1; whom that one waits for is "
                    "not known.\n"
                    "  rank 0 is in MPI_Bcast(MPI_COMM_WORLD, root 0), called from solve (a.c:10)\n"
                    "  rank 1 is in MPI_Bcast(root 0) of another communicator, called from solve (a.c:10)\n"
                    "  rank 2 is in MPI_Finalize(MPI_COMM_WORLD, root 0), called from solve (a.c:20)\n");
    expect_of_calls(bcasts, other, same, TG_WHERE_UNKNOWN,
                    "The others wait in MPI_Bcast for rank 1; whom that one waits for is not known.\n"
                    "  ranks 0,2 are in MPI_Bcast(MPI_COMM_WORLD, root 0), from different places\n"
                    "  rank 1 is in MPI_Bcast(root 0) of another communicator, called from solve (a.c:10)\n");
}

/* Two ranks are in calls that no rank leaves before all have made them: whatever the third one does, these two do not fit. */
static void test_contradiction(void **state)
{
    (void)state;
    static const char *const ends[] = {"MPI_Finalize", "MPI_Allreduce", "MPI_Bcast"};
    for (size_t i = 0; i < 3; i++) {
        const char *const calls[] = {"MPI_Barrier", "MPI_Wait", ends[i]};
        struct tg_where_look look, before;
        struct tg_look_activity activities[3];
        make_stayed(&look, &before, calls, activities);
        add_world(&look, 0);
        add_world(&look, 2);
        char *text = said(&look, &before, TG_WHERE_UNKNOWN);
        bool is_told = strncmp(text, "The others wait", strlen("The others wait")) == 0;
        assert_int_equal(is_told, strcmp(ends[i], "MPI_Bcast") == 0);
        free(text);
        look.activities = NULL;
        tg_where_look_deinit(&look);
        tg_where_look_deinit(&before);
    }
}

/* A thread that stayed in its call all the time, and had a processor or slept, hangs; one that came back from it does
 * not; of one that was not counted, or did not run, nothing is certain. */
static void test_counted(void **state)
{
    (void)state;
    static const struct {
        struct tg_look_activity activity;
        enum tg_where_kind kind;
        const char *said;
    } cases[] = {
        {{.is_counted = true, .sleeps = true},
         TG_WHERE_DEADLOCK,
         "Deadlock: these ranks wait for each other, and none came back from its call between the looks:\n"},
        {{.is_counted = true, .ran_ns = 1000000}, TG_WHERE_DEADLOCK, "Deadlock: "},
        {{.is_counted = true, .ran_ns = 1000}, TG_WHERE_UNKNOWN, "Who waits for whom is unknown"},
        {{.is_counted = true, .ran_ns = 1000000, .copies = true},
         TG_WHERE_UNKNOWN,
         "Who waits for whom is unknown"},
        {{.is_counted = true, .sleeps = true, .returns = 1},
         TG_WHERE_RUNS,
         "1 of 2 ranks came back from a call of MPI between the looks: the job goes on.\n"},
        {{.is_suspended = true, .is_counted = true, .sleeps = true},
         TG_WHERE_SUSPENDED,
         "Rank 0 is stopped by a signal, and continues when it gets SIGCONT: kill -CONT 100\n"},
        {{.is_suspended = true}, TG_WHERE_SUSPENDED, "Rank 0 is stopped"},
        {{.sleeps = true}, TG_WHERE_CYCLE, "These ranks wait for each other, and nothing on"},
    };
    struct tg_where_look look, before;
    make_messages(&look, "MPI_Barrier", NULL, 0, 0);
    make_messages(&before, "MPI_Barrier", NULL, 0, 0);
    snprintf(look.uncounted, sizeof look.uncounted, "not permitted");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        set_activities(&look, cases[i].activity);
        char *text = said(&look, &before, cases[i].kind);
        assert_ptr_equal(strstr(text, cases[i].said), text);
        assert_int_equal(strstr(text, "meanwhile is unknown: not permitted.\n") != NULL,
                         cases[i].kind == TG_WHERE_CYCLE);
        free(text);
    }
    look.activities = NULL;
    tg_where_look_deinit(&look);
    tg_where_look_deinit(&before);
}

/* A message that may be large, and one of which data is moving, may still come. */
static void test_large(void **state)
{
    (void)state;
    struct tg_where_look look, before;
    make_messages(&look, "MPI_Barrier", NULL, 0, 0);
    make_messages(&before, "MPI_Barrier", NULL, 0, 0);
    set_activities(&look, (struct tg_look_activity){.is_counted = true, .sleeps = true});
    free(said(&look, &before, TG_WHERE_DEADLOCK));
    look.values[0].count--; /* "small" */
    char *text = said(&look, &before, TG_WHERE_CYCLE);
    assert_non_null(strstr(
        text, "These ranks wait for each other, and none came back from its call between the looks:\n"));
    assert_non_null(strstr(text, "That is a deadlock, unless a large message is still on its way.\n"));
    free(text);
    look.values[0].count++;
    struct tg_look_activity then[2] = {{.pid = 100, .tid = 100, .io_bytes = 10000},
                                       {.pid = 101, .tid = 101, .io_bytes = 10000}};
    before.activities = then;
    before.n_activities = 2;
    for (uint64_t bytes = 10000; bytes < 100000; bytes += 40000) {
        set_activities(&look,
                       (struct tg_look_activity){.is_counted = true, .sleeps = true, .io_bytes = bytes});
        free(said(&look, &before, bytes == 10000 ? TG_WHERE_DEADLOCK : TG_WHERE_UNKNOWN));
    }
    look.activities = before.activities = NULL;
    tg_where_look_deinit(&look);
    tg_where_look_deinit(&before);
}

/* Ranks that go round between collective calls are not in different ones for ever. */
static void test_rounds(void **state)
{
    (void)state;
    static const char *const calls[] = {"MPI_Barrier", "MPI_Allreduce", "MPI_Barrier"};
    struct tg_where_look look, before;
    make_look(&look, 7, calls);
    make_look(&before, 7, calls);
    free(said(&look, &before, TG_WHERE_DIFFERENT));
    set_activities(&look, (struct tg_look_activity){.is_counted = true, .returns = 7});
    free(said(&look, &before, TG_WHERE_RUNS));
    look.activities = NULL;
    tg_where_look_deinit(&look);
    tg_where_look_deinit(&before);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_missing),
        cmocka_unit_test(test_moves),
        cmocka_unit_test(test_worked_for),
        cmocka_unit_test(test_polls),
        cmocka_unit_test(test_callbacks),
        cmocka_unit_test(test_unknown),
        cmocka_unit_test(test_end_of_interpreter),
        cmocka_unit_test(test_two_jobs),
        cmocka_unit_test(test_components),
        cmocka_unit_test(test_exchanges),
        cmocka_unit_test(test_led),
        cmocka_unit_test(test_messages),
        cmocka_unit_test(test_pending),
        cmocka_unit_test(test_awaited),
        cmocka_unit_test(test_calls_of_one_function),
        cmocka_unit_test(test_contradiction),
        cmocka_unit_test(test_counted),
        cmocka_unit_test(test_large),
        cmocka_unit_test(test_rounds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
