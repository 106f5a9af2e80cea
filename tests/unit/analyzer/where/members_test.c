/* Who has to make the collective call that others are in: members of its communicator, by what these have of it. */
#include "tests/unit/analyzer/where/looks.h"

/* RANK's call is of a communicator with NUMBER (0 unknown) of the COUNT ranks that follow. */
static void add_comm(struct tg_where_look *look, int rank, uint32_t number, int count, ...)
{
    struct tg_where_values values = {.pid = 100 + rank, .tid = 100 + rank, .count = 1};
    struct tg_where_comm comm = {.pid = 100 + rank, .tid = 100 + rank, .size = count, .number = number};
    va_list ranks;
    values.items[0] = (struct tg_where_value){.name = "comm", .text = ""};
    comm.ranks = calloc(2 * (size_t)count, sizeof *comm.ranks);
    va_start(ranks, count);
    for (int i = 0; i < count; i++)
        comm.ranks[i] = comm.ranks[count + i] = va_arg(ranks, int);
    va_end(ranks);
    look->values = realloc(look->values, (look->n_values + 1) * sizeof values);
    look->values[look->n_values++] = values;
    look->comms = realloc(look->comms, (look->n_comms + 1) * sizeof comm);
    look->comms[look->n_comms++] = comm;
}

static void add_all(struct tg_where_look *look, int count, int size, const char *const *calls)
{
    assert_null(tg_where_look_create(look));
    for (int rank = 0; rank < count; rank++) {
        add_rank(look, rank, size);
        add_stack(look, rank, 0, MPI, calls[rank], 10 + (uint64_t)rank, 5);
    }
}

/* A rank outside MPI that is no member is not waited for; one that is one is, whichever communicator that is. */
static void test_subset(void **state)
{
    static const char *const calls[] = {"MPI_Barrier", "MPI_Barrier", NULL, NULL};
    struct tg_where_look look;
    (void)state;
    add_all(&look, 4, 4, calls);
    add_comm(&look, 0, 0, 3, 0, 1, 2);
    add_comm(&look, 1, 0, 3, 0, 1, 2);
    expect(&look, NULL, TG_WHERE_MISSING,
           "The others wait for rank 2, which is outside MPI: in solve (a.c:12).\n"
           "  ranks 0-1 are in MPI_Barrier of a communicator of ranks 0-2, from different places\n"
           "  rank 3 is outside MPI: in solve (a.c:13)\n");
    tg_where_look_deinit(&look);
    add_all(&look, 4, 4, calls);
    add_comm(&look, 0, 0, 2, 0, 1);
    add_comm(&look, 1, 0, 2, 0, 1);
    char *text = said(&look, NULL, TG_WHERE_UNKNOWN);
    assert_null(strstr(text, "wait for rank"));
    free(text);
    tg_where_look_deinit(&look);
}

/* Ranks that wait for one who waits for a rank outside MPI wait for that one, in the end. */
static void test_chain(void **state)
{
    static const char *const calls[] = {"MPI_Barrier", "MPI_Barrier", NULL};
    struct tg_where_look look;
    (void)state;
    add_all(&look, 3, 3, calls);
    add_comm(&look, 0, 0, 2, 0, 1);
    add_comm(&look, 1, 0, 2, 1, 2);
    expect(&look, NULL, TG_WHERE_MISSING,
           "The others wait for rank 2, which is outside MPI: in solve (a.c:12).\n"
           "  rank 0 is in MPI_Barrier of a communicator of ranks 0-1, called from solve (a.c:10)\n"
           "  rank 1 is in MPI_Barrier of a communicator of ranks 1-2, called from solve (a.c:11)\n");
    tg_where_look_deinit(&look);
}

static void stay(struct tg_where_look *look, struct tg_look_activity *activities, size_t count)
{
    for (size_t i = 0; i < count; i++)
        activities[i] = (struct tg_look_activity){
            .pid = 100 + (int32_t)i, .tid = 100 + (int32_t)i, .is_counted = true, .sleeps = true};
    look->activities = activities;
    look->n_activities = count;
}

static void drop(struct tg_where_look *look)
{
    look->activities = NULL;
    tg_where_look_deinit(look);
}

/* Two communicators, and each rank is in the other one's call; a rank outside MPI is not what that is about. */
static void test_circle(void **state)
{
    static const char *const calls[] = {"MPI_Barrier", "MPI_Barrier", "MPI_Barrier", NULL};
    struct tg_look_activity activities[4];
    struct tg_where_look look, before;
    (void)state;
    for (int with_numbers = 0; with_numbers < 2; with_numbers++) {
        add_all(&look, 4, 4, calls);
        add_all(&before, 4, 4, calls);
        stay(&look, activities, 4);
        add_comm(&look, 0, with_numbers ? 7 : 0, 2, 0, 1);
        if (with_numbers)
            add_comm(&look, 1, 9, 2, 0, 1);
        else
            add_comm(&look, 1, 0, 3, 0, 1, 2);
        add_comm(&look, 2, 0, 2, 1, 2);
        char *text = said(&look, &before, TG_WHERE_DEADLOCK);
        assert_ptr_equal(
            strstr(
                text,
                "Deadlock: these ranks wait for each other in collective calls of different communicators, "
                "and none came back from its call between the looks:\n"
                "  rank 0 waits for rank 1: it is in MPI_Barrier of a communicator of ranks 0-1, "
                "called from solve (a.c:10)\n"
                "  rank 1 waits for rank 0: it is in MPI_Barrier of a communicator of ranks 0-"),
            text);
        assert_null(strstr(text, "rank 3, which"));
        free(text);
        activities[1].returns = 1; /* it goes on */
        text = said(&look, &before, TG_WHERE_RUNS);
        free(text);
        drop(&look);
        tg_where_look_deinit(&before);
    }
}

/* Partners of calls in other communicators are ranks of the job. */
static void test_partner(void **state)
{
    static const char *const calls[] = {NULL, "MPI_Recv"};
    struct tg_where_look look;
    (void)state;
    add_all(&look, 2, 2, calls);
    add_comm(&look, 1, 0, 2, 1, 0);
    look.comms[0].ranks[0] = 0;
    look.comms[0].ranks[1] = 1;
    look.values[0].items[0] = (struct tg_where_value){.name = "comm", .text = ""};
    look.values[0].items[1] = (struct tg_where_value){.name = "source", .text = "1", .value = 1};
    look.values[0].count = 2;
    expect(&look, NULL, TG_WHERE_MISSING,
           "The others wait for rank 0, which is outside MPI: in solve (a.c:10).\n"
           "  rank 1 is in MPI_Recv(source 1) of a communicator of ranks 0-1, called from solve (a.c:11)\n");
    tg_where_look_deinit(&look);
}

/* In a cycle as well, whose communicator is told with the ranks that it counts otherwise. */
static void test_cycle(void **state)
{
    static const char *const calls[] = {"MPI_Recv", "MPI_Recv"};
    struct tg_look_activity activities[2];
    struct tg_where_look look, before;
    (void)state;
    add_all(&look, 2, 2, calls);
    add_all(&before, 2, 2, calls);
    stay(&look, activities, 2);
    for (int rank = 0; rank < 2; rank++) {
        add_comm(&look, rank, 0, 2, 0, 1);
        look.comms[rank].ranks[2] = 1; /* by their ranks in it */
        look.comms[rank].ranks[3] = 0;
        look.values[rank].items[1] = (struct tg_where_value){.name = "source", .value = rank};
        look.values[rank].items[1].text[0] = (char)('0' + rank);
        look.values[rank].items[2] = (struct tg_where_value){.name = "small", .text = "", .value = 1};
        look.values[rank].count = 3;
    }
    char *text = said(&look, &before, TG_WHERE_DEADLOCK);
    assert_non_null(strstr(text,
                           "\n  rank 0 waits for rank 1: it is in MPI_Recv(source 0) of a communicator of "
                           "ranks 0-1, called from solve (a.c:10)\n"));
    free(text);
    drop(&look);
    tg_where_look_deinit(&before);
}

/* Fewer ranks than the job has: who is named may not be all, and who is not there may be the one. */
static void test_unseen(void **state)
{
    static const char *const calls[] = {"MPI_Barrier", "MPI_Barrier", NULL};
    struct tg_where_look look, before;
    (void)state;
    add_all(&look, 3, 5, calls);
    add_all(&before, 3, 5, calls);
    add_world(&look, 0);
    add_world(&look, 1);
    char *text = said(&look, &before, TG_WHERE_MISSING);
    assert_ptr_equal(strstr(text,
                            "The stacks of 3 of 5 ranks are known: others may wait for ranks 3-4 as well.\n"
                            "The others wait for rank 2, which is outside MPI"),
                     text);
    free(text);
    tg_where_look_deinit(&look);
    tg_where_look_deinit(&before);
    add_all(&look, 2, 3, calls);
    add_all(&before, 2, 3, calls);
    add_world(&look, 0);
    add_world(&look, 1);
    expect(&look, &before, TG_WHERE_UNSEEN,
           "The others wait in MPI_Barrier for rank 2, whose stack is not known.\n"
           "  ranks 0-1 are in MPI_Barrier(MPI_COMM_WORLD), from different places\n");
    tg_where_look_deinit(&look);
    tg_where_look_deinit(&before);
}

/* Processes that MPI has not joined are no ranks of one job: nobody waits for another one. */
static void test_apart(void **state)
{
    static const char *const calls[] = {"MPI_Barrier", NULL, "MPI_Barrier"};
    struct tg_where_look look;
    (void)state;
    add_all(&look, 3, 3, calls);
    for (int rank = 0; rank < 3; rank++)
        feed(&look, (struct tg_event){.kind = TG_EVENT_MPI_COMM,
                                      .pid = 100 + rank,
                                      .tid = 100 + rank,
                                      .mpi_comm = {.comm = 1, .origin = TG_MPI_COMM_WORLD, .size = 1}});
    add_world(&look, 0);
    add_world(&look, 2);
    char *text = said(&look, NULL, TG_WHERE_UNKNOWN);
    assert_ptr_equal(strstr(text,
                            "MPI has not joined the ranks that the launcher started: its ranks 0-2 of 3 "
                            "(s) are each rank 0 of an MPI_COMM_WORLD of their own."),
                     text);
    assert_null(strstr(text, "wait for"));
    assert_non_null(strstr(text, "\n  process 101 is outside MPI: in solve (a.c:11)\n"));
    free(text);
    tg_where_look_deinit(&look);
}

/* MPI says that the world is of two ranks, and the launcher that it is of four: how many are missing is not known. */
static void test_other_size(void **state)
{
    static const char *const calls[] = {"MPI_Barrier", "MPI_Barrier"};
    struct tg_where_look look, before;
    (void)state;
    add_all(&look, 2, 4, calls);
    add_all(&before, 2, 4, calls);
    for (int rank = 0; rank < 2; rank++) {
        add_world(&look, rank);
        feed(&look, (struct tg_event){
                        .kind = TG_EVENT_MPI_COMM,
                        .pid = 100 + rank,
                        .tid = 100 + rank,
                        .mpi_comm = {.comm = 1, .origin = TG_MPI_COMM_WORLD, .rank = rank, .size = 2}});
    }
    char *text = said(&look, &before, TG_WHERE_UNKNOWN);
    assert_null(strstr(text, "ranks 2-3"));
    free(text);
    tg_where_look_deinit(&look);
    tg_where_look_deinit(&before);
}

/* Of two members outside MPI one may have left a call that only the other's data is missing in; of one alone it is known. */
static void test_ends_early(void **state)
{
    static const char *const calls[] = {"MPI_Reduce", NULL, NULL};
    struct tg_where_look look;
    (void)state;
    add_all(&look, 3, 3, calls);
    add_comm(&look, 0, 0, 3, 0, 1, 2);
    char *text = said(&look, NULL, TG_WHERE_OUTSIDE);
    assert_null(strstr(text, "others wait for"));
    assert_non_null(strstr(text, "The others may wait for rank 1, which is outside MPI"));
    assert_non_null(strstr(text, "The others may wait for rank 2, which is outside MPI"));
    free(text);
    tg_where_look_deinit(&look);
    add_all(&look, 3, 3, calls);
    add_comm(&look, 0, 0, 2, 0, 2);
    text = said(&look, NULL, TG_WHERE_MISSING);
    assert_ptr_equal(strstr(text, "The others wait for rank 2, which is outside MPI"), text);
    free(text);
    tg_where_look_deinit(&look);
}

/* Ranks that wait for each other in different calls of one communicator do not wait for a rank that is no member. */
static void test_complete(void **state)
{
    static const char *const calls[] = {"MPI_Barrier", NULL, "MPI_Barrier", "MPI_Comm_dup"};
    struct tg_where_look look;
    (void)state;
    add_all(&look, 4, 4, calls);
    add_comm(&look, 0, 0, 2, 0, 1);
    add_comm(&look, 2, 0, 2, 2, 3);
    add_comm(&look, 3, 0, 2, 2, 3);
    char *text = said(&look, NULL, TG_WHERE_UNKNOWN);
    assert_null(strstr(text, "wait for rank 1"));
    free(text);
    tg_where_look_deinit(&look);
}

/* Two communicators of the same members, with a number each: who is in one waits for who is in the other, too. */
static void test_numbers(void **state)
{
    static const char *const calls[] = {"MPI_Barrier", "MPI_Barrier", NULL};
    struct tg_where_look look;
    (void)state;
    for (uint32_t other = 7; other <= 9; other += 2) {
        add_all(&look, 3, 3, calls);
        add_comm(&look, 0, 7, 3, 0, 1, 2);
        add_comm(&look, 1, other, 3, 0, 1, 2);
        char *text = said(&look, NULL, other == 7 ? TG_WHERE_MISSING : TG_WHERE_UNKNOWN);
        assert_int_equal(strstr(text, "The others wait for rank 2") == text, other == 7);
        free(text);
        tg_where_look_deinit(&look);
    }
}

/* The first thread waits for another one, which is in the very call. */
static void test_other_thread(void **state)
{
    static const char *const calls[] = {"MPI_Barrier", NULL};
    struct tg_where_look look;
    (void)state;
    add_all(&look, 2, 2, calls);
    add_stack(&look, 1, 1, MPI, "MPI_Barrier", 30, 5);
    add_world(&look, 0);
    char *text = said(&look, NULL, TG_WHERE_OUTSIDE);
    assert_ptr_equal(strstr(text, "The others may wait for rank 1, which is outside MPI"), text);
    free(text);
    tg_where_look_deinit(&look);
}

/* RANK's call is MPI_Wait, for COUNT requests of collective calls, and one more where HAS_MESSAGE. */
static void add_requests(struct tg_where_look *look, int rank, uint64_t count, bool has_message)
{
    struct tg_look_requests requests = {.pid = 100 + rank,
                                        .tid = 100 + rank,
                                        .needs_all = true,
                                        .count = count + has_message,
                                        .n_pending = count + has_message,
                                        .n_collective = count};
    look->requests = realloc(look->requests, (look->n_requests + 1) * sizeof requests);
    look->requests[look->n_requests++] = requests;
    for (size_t i = 0; i < look->n_values; i++) /* the call itself has no communicator */
        if (look->values[i].pid == 100 + rank)
            look->values[i].count = 0;
}

/* Who waits for the request of a collective call waits for the members that are elsewhere; of several, some may have made it. */
static void test_requests(void **state)
{
    static const char *const calls[] = {"MPI_Wait", "MPI_Wait", NULL, NULL};
    struct tg_where_look look;
    (void)state;
    for (int count = 3; count <= 4; count++) {
        add_all(&look, 4, 4, calls);
        for (int rank = 0; rank < 2; rank++) {
            add_comm(&look, rank, 7, count, 0, 1, 2, 3);
            add_requests(&look, rank, 1, false);
        }
        char *text = said(&look, NULL, count == 3 ? TG_WHERE_MISSING : TG_WHERE_OUTSIDE);
        assert_int_equal(strstr(text, "The others wait for rank 2, which is outside MPI") == text,
                         count == 3);
        assert_int_equal(strstr(text, "The others may wait for rank 2, which") == text, count == 4);
        assert_non_null(strstr(text, count == 3
                                         ? "\n    1 of 1 request of rank 0 is not complete: a collective "
                                           "call of a communicator of ranks 0-2\n"
                                         : " of a communicator of ranks 0-3\n"));
        free(text);
        tg_where_look_deinit(&look);
    }
    add_all(&look, 4, 4, calls);
    for (int rank = 0; rank < 2; rank++) {
        add_comm(&look, rank, 7, 3, 0, 1, 2);
        add_requests(&look, rank, 1, rank == 1); /* a message of which no more is known */
    }
    free(said(&look, NULL, TG_WHERE_UNKNOWN));
    tg_where_look_deinit(&look);
}

static void add_partner(struct tg_where_look *look, int rank, const char *name, int partner)
{
    struct tg_where_values *values = &look->values[look->n_values - 1];
    assert_int_equal(values->pid, 100 + rank);
    values->items[values->count++] = (struct tg_where_value){.name = "tag", .text = "7", .value = 7};
    values->items[values->count] = (struct tg_where_value){.text = "N", .value = partner};
    snprintf(values->items[values->count++].name, sizeof values->items[0].name, "%s", name);
    values->items[values->count++] = (struct tg_where_value){.name = "small", .value = 1};
}

/* A rank waits for a message of one who waits in a collective call for a rank outside MPI, but not where it has to make that call itself. */
static void test_message_and_call(void **state)
{
    static const char *const calls[] = {"MPI_Recv", "MPI_Barrier", NULL};
    struct tg_look_activity activities[3];
    struct tg_where_look look, before;
    (void)state;
    for (int from = 0; from <= 1; from++) {
        add_all(&look, 3, 3, calls);
        add_all(&before, 3, 3, calls);
        stay(&look, activities, 3);
        if (from == 1)
            add_comm(&look, 1, 0, 2, 1, 2);
        else
            add_comm(&look, 1, 0, 3, 0, 1, 2);
        add_world(&look, 0);
        add_partner(&look, 0, "source", 1);
        char *text = said(&look, &before, from == 1 ? TG_WHERE_MISSING : TG_WHERE_DEADLOCK);
        if (from == 1)
            assert_ptr_equal(strstr(text, "The others wait for rank 2, which is outside MPI"), text);
        else
            assert_non_null(strstr(text,
                                   "\n  rank 1 waits for rank 0: it is in MPI_Barrier of a communicator of "
                                   "ranks 0-2, called from solve (a.c:11)\n"));
        free(text);
        add_stack(&look, 1, 1, MPI, NULL, 30, 5); /* another thread of rank 1 may send it */
        add_stack(&before, 1, 1, MPI, NULL, 30, 5);
        free(said(&look, &before, TG_WHERE_UNKNOWN));
        drop(&look);
        tg_where_look_deinit(&before);
    }
}

/* Where one member alone is elsewhere, each call of the others waits for it; where two are, one that may be left early need not. */
static void test_only_lacking(void **state)
{
    static const char *const calls[] = {"MPI_Recv", "MPI_Bcast", "MPI_Bcast"}, *const fewer[] = {"MPI_Recv",
                                                                                                 "MPI_Bcast",
                                                                                                 "MPI_Probe"};
    struct tg_look_activity activities[3];
    struct tg_where_look look, before;
    (void)state;
    for (int is_only = 0; is_only <= 1; is_only++) {
        add_all(&look, 3, 3, is_only ? calls : fewer);
        add_all(&before, 3, 3, is_only ? calls : fewer);
        stay(&look, activities, 3);
        add_world(&look, 1);
        if (is_only)
            add_world(&look, 2);
        add_world(&look, 0);
        add_partner(&look, 0, "source", 1);
        free(said(&look, &before, is_only ? TG_WHERE_DEADLOCK : TG_WHERE_UNKNOWN));
        drop(&look);
        tg_where_look_deinit(&before);
    }
}

/* Whom one waits for that all others of a communicator wait for may be unknown: that they do is not. */
static void test_last(void **state)
{
    static const char *const calls[] = {"MPI_Bcast", "MPI_Scan", "MPI_Scan", "MPI_Probe"};
    struct tg_look_activity activities[4];
    struct tg_where_look look, before;
    (void)state;
    for (int others = 0; others <= 1; others++) {
        add_all(&look, 4, 4, calls);
        add_all(&before, 4, 4, calls);
        stay(&look, activities, 4);
        add_comm(&look, 0, 7, 2, 0, 3);
        for (int rank = 1; rank <= 2; rank++)
            if (others == 0)
                add_comm(&look, rank, 9, 3, 0, 1, 2);
            else
                add_comm(&look, rank, 9, 4, 0, 1, 2, 3);
        char *text = said(&look, &before, TG_WHERE_UNKNOWN);
        assert_int_equal(
            strstr(text, "Ranks 1-2 wait in MPI_Scan for rank 0; whom that one waits for is not known.\n") ==
                text,
            others == 0);
        free(text);
        drop(&look);
        tg_where_look_deinit(&before);
    }
}

/* All members of a communicator are in calls of it, which are not the same: whatever others do. */
static void test_mismatch(void **state)
{
    static const char *const calls[] = {"MPI_Barrier", "MPI_Comm_dup", NULL, "MPI_Barrier"};
    struct tg_look_activity activities[4];
    struct tg_where_look look, before;
    (void)state;
    for (uint32_t other = 7; other <= 9; other += 2) {
        add_all(&look, 4, 4, calls);
        add_all(&before, 4, 4, calls);
        stay(&look, activities, 4);
        add_comm(&look, 0, 7, 2, 0, 1);
        add_comm(&look, 1, other, 2, 0, 1);
        add_comm(&look, 3, 0, 3, 0, 2, 3);
        char *text = said(&look, &before, other == 7 ? TG_WHERE_DIFFERENT : TG_WHERE_DEADLOCK);
        assert_int_equal(strstr(text,
                                "Ranks 0-1 are in different collective calls of one communicator: they wait "
                                "for each other for ever.\n") == text,
                         other == 7);
        free(text);
        drop(&look);
        tg_where_look_deinit(&before);
    }
}

/* Of an intercommunicator, ranks are those of the other group, and both groups have to make its calls. */
static void test_intercommunicator(void **state)
{
    static const char *const calls[] = {"MPI_Recv", "MPI_Barrier", NULL, NULL};
    struct tg_where_look look;
    (void)state;
    add_all(&look, 4, 4, calls);
    add_comm(&look, 1, 0, 3, 0, 1, 2);
    look.comms[0].n_remote = 1;
    add_comm(&look, 0, 0, 3, 0, 1, 2);
    look.comms[1].n_remote = 1;
    look.comms[1].ranks[3] = 2;
    add_partner(&look, 0, "source", 0);
    expect(&look, NULL, TG_WHERE_MISSING,
           "The others wait for rank 2, which is outside MPI: in solve (a.c:12).\n"
           "  rank 0 is in MPI_Recv(tag 7, source N) of an intercommunicator of ranks 0-2, called from solve "
           "(a.c:10)\n"
           "  rank 1 is in MPI_Barrier of an intercommunicator of ranks 0-2, called from solve (a.c:11)\n"
           "  rank 3 is outside MPI: in solve (a.c:13)\n");
    tg_where_look_deinit(&look);
}

/* Jobs without names may be two, and their ranks have the same numbers. */
static void test_ambiguous(void **state)
{
    static const char *const calls[] = {"MPI_Barrier", NULL};
    struct tg_where_look look;
    (void)state;
    add_all(&look, 2, 2, calls);
    add_world(&look, 0);
    feed(&look, (struct tg_event){.kind = TG_EVENT_PROCESS_START, .pid = 104, .tid = 104});
    feed(&look,
         (struct tg_event){.kind = TG_EVENT_IDENTITY,
                           .pid = 104,
                           .tid = 104,
                           .identity = {.host = "h", .job = "j", .source = "s", .rank = 1, .size = 2}});
    add_stack(&look, 4, 0, MPI, NULL, 30, 5);
    char *text = said(&look, NULL, TG_WHERE_UNKNOWN);
    assert_null(strstr(text, "The others wait for"));
    free(text);
    tg_where_look_deinit(&look);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_requests),     cmocka_unit_test(test_message_and_call),
        cmocka_unit_test(test_only_lacking), cmocka_unit_test(test_mismatch),
        cmocka_unit_test(test_last),         cmocka_unit_test(test_intercommunicator),
        cmocka_unit_test(test_subset),       cmocka_unit_test(test_chain),
        cmocka_unit_test(test_circle),       cmocka_unit_test(test_partner),
        cmocka_unit_test(test_cycle),        cmocka_unit_test(test_unseen),
        cmocka_unit_test(test_apart),        cmocka_unit_test(test_other_size),
        cmocka_unit_test(test_ends_early),   cmocka_unit_test(test_complete),
        cmocka_unit_test(test_numbers),      cmocka_unit_test(test_other_thread),
        cmocka_unit_test(test_ambiguous),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
