#include "tests/unit/analyzer/where/looks.h"

enum { RANKS = 3 };

/* Ranks 0 to 2, in CALLS (NULL: outside of MPI), that nobody has left between two looks. */
struct job {
    struct tg_where_look look, before;
    struct tg_look_activity activities[RANKS];
    struct tg_look_requests requests[RANKS];
};

static void make_job(struct job *job, const char *const calls[RANKS])
{
    *job = (struct job){.look.n_requests = 0};
    make_look(&job->look, 7, calls);
    make_look(&job->before, 7, calls);
    for (int rank = 0; rank < RANKS; rank++) {
        add_world(&job->look, rank);
        job->activities[rank] = (struct tg_look_activity){
            .pid = 100 + rank, .tid = 100 + rank, .is_counted = calls[rank] != NULL, .sleeps = true};
        job->requests[rank] =
            (struct tg_look_requests){.pid = 100 + rank, .tid = 100 + rank, .needs_all = true, .count = 4};
    }
    job->look.activities = job->activities;
    job->look.n_activities = RANKS;
    job->look.requests = job->requests;
    job->look.n_requests = 0;
}

static void end_job(struct job *job)
{
    job->look.activities = NULL;
    job->look.requests = NULL;
    tg_where_look_deinit(&job->look);
    tg_where_look_deinit(&job->before);
}

static void add_message(struct job *job, int rank, bool sends, int peer, int tag)
{
    struct tg_look_requests *requests = &job->requests[rank];
    requests->messages[requests->n_messages++] = (struct tg_look_message){
        .sends = sends, .is_world = true, .is_small = true, .peer = peer, .rank = peer, .tag = tag};
    requests->n_pending++;
}

/* Requests of the first COUNT ranks are known. */
static void expect_of(struct job *job, size_t count, enum tg_where_kind kind, const char *wanted)
{
    job->look.n_requests = count;
    char *text = said(&job->look, &job->before, kind);
    if (strncmp(text, wanted, strlen(wanted)) != 0)
        assert_string_equal(text, wanted);
    free(text);
}

/* Whether nothing that is known of ranks 0 and 1 has changed; of the first COUNT ranks, requests are known. */
static void expect_same(struct job *job, size_t count, bool is_same)
{
    struct tg_where_threads threads;
    job->look.n_requests = count;
    assert_null(tg_where_threads_make(&job->look, &job->before, &threads));
    for (size_t rank = 0; rank < 2; rank++)
        assert_int_equal(threads.threads[rank].has_same_state, is_same);
    tg_where_threads_deinit(&threads);
}

/* Who waits for several messages waits for each of their ranks, or for who these wait for. */
static void test_missing(void **state)
{
    (void)state;
    static const char *const calls[] = {"MPI_Waitall", "MPI_Waitall", NULL};
    struct job job;
    make_job(&job, calls);
    add_message(&job, 0, false, 1, 10);
    add_message(&job, 1, false, 2, 10);
    add_message(&job, 1, true, 2, 11);
    job.requests[1].messages[1].is_world = false;
    job.requests[1].messages[1].peer = 0;
    expect_of(&job, 2, TG_WHERE_MISSING,
              "The others wait for rank 2, which is outside MPI: in solve (a.c:20), at the same place in "
              "both looks.\n"
              "  ranks 0-1 are in MPI_Waitall(MPI_COMM_WORLD), called from solve (a.c:10)\n"
              "    1 of 4 requests of rank 0 is not complete: receive from rank 1, tag 10\n"
              "    2 of 4 requests of rank 1 are not complete: receive from rank 2, tag 10; send to rank 2 "
              "(rank 0 of its "
              "communicator), tag 11\n");
    expect_of(&job, 1, TG_WHERE_UNKNOWN, "Who waits for whom is unknown"); /* of rank 1 nothing is known */
    job.requests[1].messages[0].rank = job.requests[1].messages[1].rank = -1;
    expect_of(&job, 2, TG_WHERE_UNKNOWN, "Who waits for whom is unknown");
    /* of several that are not known, some may be complete */
    job.requests[1].messages[0].rank = 2;
    expect_of(&job, 2, TG_WHERE_MISSING, "The others wait for rank 2");
    job.requests[1].needs_all = false;
    expect_of(&job, 2, TG_WHERE_UNKNOWN, "Who waits for whom is unknown");
    job.requests[1].messages[1].rank = 2;
    expect_of(&job, 2, TG_WHERE_MISSING, "The others wait for rank 2");
    end_job(&job);
}

/* A rank at the place of the one that is waited for, for whom nobody waits, is ahead, and not meant. */
static void test_ahead(void **state)
{
    (void)state;
    static const char *const calls[] = {NULL, NULL, "MPI_Waitall"};
    struct job job;
    make_job(&job, calls);
    add_message(&job, 2, false, 0, 10);
    expect_of(&job, RANKS, TG_WHERE_MISSING, "The others wait for rank 0, which");
    add_message(&job, 2, true, 1, 11);
    expect_of(&job, RANKS, TG_WHERE_MISSING, "The others wait for ranks 0-1");
    end_job(&job);
}

/* Of those whose partners are not known, whoever nobody waits for is not named. */
static void test_not_awaited(void **state)
{
    (void)state;
    static const char *const calls[] = {"MPI_Waitall", "MPI_Waitall", "MPI_Recv"};
    struct job job;
    make_job(&job, calls);
    add_message(&job, 0, false, 2, 10);
    expect_of(&job, 1, TG_WHERE_UNKNOWN,
              "Some wait for rank 2; whom that one waits for is not known.\n"
              "  ranks 0-1 are in MPI_Waitall(MPI_COMM_WORLD), called from solve (a.c:10)\n");
    end_job(&job);
}

/* What MPI_Sendrecv sends is known, whether or not it is on its way: it is not what a rank waits for that wants something else. */
static void test_exchange(void **state)
{
    (void)state;
    static const char *const calls[] = {"MPI_Waitall", "MPI_Sendrecv", NULL};
    static const struct {
        const char *name;
        int value;
    } arguments[] = {{"dest", 0}, {"tag", 10}, {"source", 2}, {"recvtag", 10}, {"receives", 1}};
    struct job job;
    make_job(&job, calls);
    struct tg_where_values *values = &job.look.values[1];
    for (size_t i = 0; i < sizeof arguments / sizeof *arguments; i++) {
        struct tg_where_value *value = &values->items[values->count++];
        *value = (struct tg_where_value){.value = arguments[i].value};
        snprintf(value->name, sizeof value->name, "%s", arguments[i].name);
    }
    add_message(&job, 0, false, 1, 11);
    expect_of(&job, 1, TG_WHERE_MISSING, "The others wait for rank 2");
    job.requests[0].messages[0].tag = 10;
    expect_of(&job, 1, TG_WHERE_UNKNOWN, "Who waits for whom is unknown");
    end_job(&job);
}

/* Who lacks what another one sends at this moment does not wait for those whom that one waits for. */
static void test_on_its_way(void **state)
{
    (void)state;
    static const char *const calls[] = {"MPI_Waitall", "MPI_Waitall", NULL};
    struct job job;
    make_job(&job, calls);
    add_message(&job, 0, false, 1, 10);
    add_message(&job, 1, true, 0, 10);
    add_message(&job, 1, false, 2, 10);
    expect_of(&job, 2, TG_WHERE_UNKNOWN, "Who waits for whom is unknown");
    job.requests[1].messages[0].tag = 11;
    expect_of(&job, 2, TG_WHERE_MISSING, "The others wait for rank 2");
    end_job(&job);
}

/* Of more ranks than are shown, the others are counted. */
static void test_many_ranks(void **state)
{
    (void)state;
    enum { MANY = 11 };
    struct tg_look_requests requests[MANY];
    struct tg_where_look look;
    assert_null(tg_where_look_create(&look));
    for (int rank = 0; rank <= MANY; rank++) {
        add_rank(&look, rank, MANY + 1);
        add_stack(&look, rank, 0, MPI, rank < MANY ? "MPI_Waitall" : NULL, rank < MANY ? 10 : 20, 5);
        if (rank < MANY)
            requests[rank] = (struct tg_look_requests){
                .pid = 100 + rank, .tid = 100 + rank, .needs_all = true, .count = 2, .n_pending = 1};
    }
    look.requests = requests;
    look.n_requests = MANY;
    char *text = said(&look, NULL, TG_WHERE_UNKNOWN);
    assert_non_null(strstr(text, "    1 of 2 requests of rank 7 is not complete\n"
                                 "    ... and 3 more ranks with requests that are not complete\n"));
    assert_null(strstr(text, "of rank 8"));
    free(text);
    look.requests = NULL;
    tg_where_look_deinit(&look);
}

#define DEADLOCK                                                                                             \
    "Deadlock: these ranks wait for each other, and none came back from its call between the looks:\n"

/* Ranks wait for each other for ever where what one lacks is not what the other one has for it. */
static void test_deadlock(void **state)
{
    (void)state;
    static const char *const calls[] = {"MPI_Waitall", "MPI_Waitall", "MPI_Win_lock"};
    struct job job;
    make_job(&job, calls);
    add_message(&job, 0, false, 1, 10);
    add_message(&job, 1, false, 0, 10);
    expect_of(
        &job, 2, TG_WHERE_DEADLOCK,
        DEADLOCK
        "  rank 0 waits for rank 1: it is in MPI_Waitall(MPI_COMM_WORLD), called from solve (a.c:10)\n"
        "  rank 1 waits for rank 0: it is in MPI_Waitall(MPI_COMM_WORLD), called from solve (a.c:10)\n");
    add_message(&job, 1, true, 0, 12); /* another tag */
    expect_of(&job, 2, TG_WHERE_DEADLOCK, DEADLOCK);
    job.requests[1].messages[1].tag = 10; /* that may be on its way */
    expect_of(&job, 2, TG_WHERE_UNKNOWN, "");
    job.requests[1].messages[1].tag = 12;
    job.requests[0].messages[0].is_small = false;
    expect_of(&job, 2, TG_WHERE_CYCLE, "These ranks wait for each other, and none came back");
    job.requests[0].messages[0].is_small = true;
    job.requests[1].n_pending++; /* of one more nothing is known: it may be for rank 0 */
    expect_of(&job, 2, TG_WHERE_UNKNOWN, "");
    job.requests[1].n_pending--;
    job.activities[1].returns = 1;
    expect_of(&job, 2, TG_WHERE_RUNS, "1 of 3 ranks came back");
    end_job(&job);
}

/* A send of which it is not known where it goes to may be what the other one waits for. */
static void test_unknown_beside_known(void **state)
{
    (void)state;
    static const char *const calls[] = {"MPI_Waitall", "MPI_Waitall", "MPI_Win_lock"};
    enum { UNKNOWN = -2 };
    struct job job;
    make_job(&job, calls);
    add_message(&job, 0, false, 1, 10);
    add_message(&job, 1, false, 0, 10);
    add_message(&job, 1, true, 2, 12);
    expect_of(&job, 2, TG_WHERE_DEADLOCK, DEADLOCK);
    struct tg_look_message *send = &job.requests[1].messages[1];
    send->rank = send->peer = send->tag = UNKNOWN;
    send->is_world = false;
    expect_of(&job, 2, TG_WHERE_UNKNOWN, "");
    send->rank = UNKNOWN; /* with a tag, as of another communicator: not the one */
    send->tag = 12;
    expect_of(&job, 2, TG_WHERE_DEADLOCK, DEADLOCK);
    end_job(&job);
}

#define OWN "Deadlock: rank 0 waits for itself, and did not come back from its call between the looks:\n"

/* A rank that waits for its own message does so for ever where that has no other end in the same call. */
static void test_own_messages(void **state)
{
    (void)state;
    static const char *const calls[] = {"MPI_Waitall", "MPI_Barrier", "MPI_Barrier"};
    struct job job;
    make_job(&job, calls);
    add_message(&job, 0, false, 0, 10);
    expect_of(&job, 1, TG_WHERE_DEADLOCK,
              OWN "  rank 0 is in MPI_Waitall(MPI_COMM_WORLD), called from solve (a.c:10)\n"
                  "  ranks 1-2 are in MPI_Barrier(MPI_COMM_WORLD)");
    add_message(&job, 0, true, 0, 10);
    expect_of(&job, 1, TG_WHERE_UNKNOWN,
              "The others wait in MPI_Barrier for rank 0, which waits for itself.\n");
    job.requests[0].messages[1].tag = 11;
    expect_of(&job, 1, TG_WHERE_DEADLOCK, OWN);
    job.requests[0].messages[0].is_small = job.requests[0].messages[1].is_small = false;
    expect_of(&job, 1, TG_WHERE_CYCLE, "Rank 0 waits for itself, and did not come back from its call");
    /* another thread of the rank may send it */
    add_stack(&job.look, 0, 1, LIBC, NULL, 30, 5);
    expect_of(&job, 1, TG_WHERE_UNKNOWN,
              "The others wait in MPI_Barrier for rank 0, which waits for itself.\n");
    add_message(&job, 0, false, -1, 12);
    expect_of(&job, 1, TG_WHERE_UNKNOWN,
              "The others wait in MPI_Barrier for rank 0; whom that one waits for is not known.\n");
    end_job(&job);
}

/* In MPI_COMM_SELF whoever a message is for is the rank itself. */
static void test_own_communicator(void **state)
{
    (void)state;
    static const char *const calls[] = {"MPI_Recv", "MPI_Recv", "MPI_Barrier"};
    struct job job;
    make_job(&job, calls);
    struct tg_where_values *values = &job.look.values[1];
    values->items[values->count++] = (struct tg_where_value){.name = "source", .text = "0", .value = 0};
    snprintf(values->items[0].text, sizeof values->items[0].text, "MPI_COMM_SELF");
    expect_of(&job, 0, TG_WHERE_CYCLE, "Rank 1 waits for itself, and did not come back from its call");
    end_job(&job);
}

/* A rank in a collective call of all waits for one that waits for it. */
static void test_collective(void **state)
{
    (void)state;
    static const char *const calls[] = {"MPI_Waitall", "MPI_Barrier", "MPI_Barrier"};
    struct job job;
    make_job(&job, calls);
    add_message(&job, 0, false, 2, 10);
    expect_of(
        &job, 1, TG_WHERE_DEADLOCK,
        DEADLOCK
        "  rank 0 waits for rank 2: it is in MPI_Waitall(MPI_COMM_WORLD), called from solve (a.c:10)\n"
        "  rank 2 waits for rank 0: it is in MPI_Barrier(MPI_COMM_WORLD), called from solve (a.c:20)\n");
    end_job(&job);
}

/* The same in another communicator, if the rank is one of its members. */
static void test_collective_of_some(void **state)
{
    (void)state;
    static const char *const calls[] = {"MPI_Waitall", "MPI_Recv", "MPI_Barrier"};
    int32_t members[] = {0, 2, 0, 2}, others[] = {1, 2, 1, 2};
    struct tg_where_comm comm = {.pid = 102, .tid = 102, .size = 2, .ranks = members};
    struct job job;
    make_job(&job, calls);
    add_message(&job, 0, false, 2, 10);
    *job.look.values[2].items[0].text = '\0';
    job.look.comms = &comm;
    job.look.n_comms = 1;
    expect_of(
        &job, 1, TG_WHERE_DEADLOCK,
        DEADLOCK
        "  rank 0 waits for rank 2: it is in MPI_Waitall(MPI_COMM_WORLD), called from solve (a.c:10)\n"
        "  rank 2 waits for rank 0: it is in MPI_Barrier of a communicator of ranks 0,2, called from solve "
        "(a.c:20)\n");
    comm.ranks = others;
    expect_of(&job, 1, TG_WHERE_UNKNOWN, "");
    job.look.comms = NULL;
    job.look.n_comms = 0;
    end_job(&job);
}

/* Where returns are not counted, other messages than in the look before are a sign that the job goes on. */
static void test_marks(void **state)
{
    (void)state;
    static const char *const calls[] = {"MPI_Waitall", "MPI_Waitall", NULL};
    struct job job;
    make_job(&job, calls);
    struct tg_look_requests before[2];
    add_message(&job, 0, false, 1, 10);
    add_message(&job, 1, false, 0, 10);
    memcpy(before, job.requests, sizeof before);
    job.before.requests = before;
    job.before.n_requests = 2;
    for (int rank = 0; rank < 2; rank++) {
        struct tg_where_look *looks[] = {&job.look, &job.before};
        job.activities[rank].is_counted = false;
        add_world(&job.before, rank);
        for (size_t i = 0; i < 2; i++) {
            struct tg_where_values *values = &looks[i]->values[rank];
            values->items[values->count++] = (struct tg_where_value){.name = "state", .value = 5};
        }
    }
    expect_of(&job, 2, TG_WHERE_CYCLE,
              "These ranks wait for each other, and nothing on their callers' stacks changed");
    job.requests[1].mark = 1;
    expect_of(&job, 2, TG_WHERE_UNKNOWN, "");
    job.requests[1].mark = 0;
    expect_of(&job, 2, TG_WHERE_CYCLE, "");
    job.before.n_requests = 1; /* those of rank 1 are known in one of the looks alone */
    expect_of(&job, 2, TG_WHERE_UNKNOWN, "");
    job.before.n_requests = 0;
    expect_same(&job, 2, false);
    expect_same(&job, 0, true);
    job.before.n_requests = 2;
    expect_same(&job, 2, true);
    expect_same(&job, 0, false);
    job.before.requests = NULL;
    end_job(&job);
}

static void add_value(struct job *job, int rank, const char *name, int64_t value)
{
    struct tg_where_values *values = &job->look.values[rank];
    struct tg_where_value *added = &values->items[values->count++];
    *added = (struct tg_where_value){.value = value};
    snprintf(added->name, sizeof added->name, "%s", name);
}

/* MPI_Sendrecv with two partners waits for its message, where that is known not to be there; else it may wait for either. */
static void test_receiving(void **state)
{
    static const char *const calls[] = {"MPI_Sendrecv", NULL, "MPI_Barrier"};
    struct job job;
    (void)state;
    for (int is_known = 0; is_known < 2; is_known++) {
        make_job(&job, calls);
        add_value(&job, 0, "dest", 2);
        add_value(&job, 0, "tag", 0);
        add_value(&job, 0, "source", 1);
        add_value(&job, 0, "recvtag", 0);
        if (is_known)
            add_value(&job, 0, "receives", 1);
        expect_of(&job, 0, is_known ? TG_WHERE_MISSING : TG_WHERE_UNKNOWN,
                  is_known ? "The others wait for rank 1, which is outside MPI"
                           : "Who waits for whom is unknown");
        end_job(&job);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_receiving),
        cmocka_unit_test(test_missing),
        cmocka_unit_test(test_unknown_beside_known),
        cmocka_unit_test(test_own_messages),
        cmocka_unit_test(test_many_ranks),
        cmocka_unit_test(test_ahead),
        cmocka_unit_test(test_not_awaited),
        cmocka_unit_test(test_exchange),
        cmocka_unit_test(test_on_its_way),
        cmocka_unit_test(test_deadlock),
        cmocka_unit_test(test_collective),
        cmocka_unit_test(test_collective_of_some),
        cmocka_unit_test(test_marks),
        cmocka_unit_test(test_own_communicator),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
