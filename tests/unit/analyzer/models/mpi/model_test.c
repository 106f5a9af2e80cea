#include "analyzer/models/mpi/model.h"

#include <string.h>
/* clang-format off */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

enum { RANKS = 3, WORLD = 1 };

static struct tg_mpi_model *model;
static uint64_t now_ns;
static size_t n_received;
static struct tg_mpi_message last_received;

static struct tg_error *on_received(void *context, const struct tg_mpi_message *message, size_t process,
                                    uint64_t time_ns)
{
    (void)context;
    (void)process;
    assert_int_equal(time_ns, now_ns);
    n_received++;
    last_received = *message;
    return NULL;
}

static void feed(size_t process, struct tg_event event)
{
    event.pid = event.tid = (int32_t)(100 + process);
    event.time_ns = now_ns += 10;
    assert_null(tg_mpi_model_feed(model, &event, process));
}

#define FEED(process, symbol, member, ...)                                                                   \
    feed(process, (struct tg_event){.kind = TG_EVENT_##symbol, .member = {__VA_ARGS__}})
#define ENTER(process, name, ...)                                                                            \
    FEED(process, MPI_ENTER, mpi_enter, .call = (name), .comm = WORLD, __VA_ARGS__)
#define LEAVE(process, name, ...) FEED(process, MPI_LEAVE, mpi_leave, .call = (name), __VA_ARGS__)

static int set_up(void **state)
{
    static const struct tg_mpi_member members[RANKS] = {{0}, {1}, {2}};
    (void)state;
    now_ns = 0;
    n_received = 0;
    const struct tg_mpi_model_options options = {.received = on_received};
    if (tg_mpi_model_create(&options, &model) != NULL)
        return 1;
    for (size_t i = 0; i < RANKS; i++) {
        FEED(i, IDENTITY, identity, .host = "h", .job = "j", .source = "R", .rank = (int64_t)i,
             .size = RANKS);
        FEED(i, MPI_COMM, mpi_comm, .comm = WORLD, .origin = TG_MPI_COMM_WORLD, .rank = (int64_t)i,
             .size = RANKS, .members = {members, i == 0 ? RANKS : 0});
    }
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    tg_mpi_model_destroy(model);
    return 0;
}

struct seen {
    size_t count;
    struct tg_mpi_collective collective;
    struct tg_mpi_arrival arrivals[RANKS];
    struct tg_mpi_message message;
};

static struct tg_error *see_collective(void *context, const struct tg_mpi_collective *collective,
                                       const struct tg_mpi_arrival *arrivals, size_t n_arrivals)
{
    struct seen *seen = context;
    assert_int_equal(n_arrivals, RANKS);
    seen->collective = *collective;
    memcpy(seen->arrivals, arrivals, sizeof seen->arrivals);
    seen->count++;
    return NULL;
}

static struct tg_error *see_message(void *context, const struct tg_mpi_message *message)
{
    struct seen *seen = context;
    seen->message = *message;
    seen->count++;
    return NULL;
}

static struct seen collectives(void)
{
    struct seen seen = {0};
    assert_null(tg_mpi_model_visit_collectives(model, see_collective, &seen));
    return seen;
}

static struct seen sends(void)
{
    struct seen seen = {0};
    assert_null(tg_mpi_model_visit_sends(model, see_message, &seen));
    return seen;
}

static struct seen receives(void)
{
    struct seen seen = {0};
    assert_null(tg_mpi_model_visit_receives(model, see_message, &seen));
    return seen;
}

static struct seen first_mismatches(unsigned sought);

static void names_have_roles(void **state)
{
    (void)state;
    bool nonblocking, persistent;
    assert_int_equal(tg_mpi_call_role("MPI_Isend", &nonblocking, &persistent), TG_MPI_SEND);
    assert_true(nonblocking && !persistent);
    assert_int_equal(tg_mpi_call_role("MPI_Recv_init", &nonblocking, &persistent), TG_MPI_RECEIVE);
    assert_true(!nonblocking && persistent);
    assert_int_equal(tg_mpi_call_role("MPI_Ialltoallv_c", &nonblocking, &persistent), TG_MPI_COLLECTIVE);
    assert_true(nonblocking);
    assert_int_equal(tg_mpi_call_role("MPI_Iprobe", &nonblocking, &persistent), TG_MPI_PROBE);
    assert_false(nonblocking);
    assert_int_equal(tg_mpi_call_role("MPI_Init", &nonblocking, &persistent), TG_MPI_OTHER);
    assert_int_equal(tg_mpi_call_role("not MPI's", NULL, NULL), TG_MPI_OTHER);
    assert_int_equal(tg_mpi_call_role("MPI_", NULL, NULL), TG_MPI_OTHER);
}

static void datatypes_and_operators_of_a_collective_are_compared(void **state)
{
    (void)state;
    for (uint64_t i = 1; i <= 2; i++)
        for (size_t rank = 0; rank < RANKS; rank++)
            ENTER(rank, "MPI_Allreduce", .instance = i, .root = -3, .bytes = 8,
                  .type = i == 2 && rank == 1 ? "MPI_DOUBLE"
                          : rank == 2         ? "MPI_LONG_LONG_INT"
                                              : "MPI_INT64_T",
                  .op = i == 2 && rank == 2 ? "MPI_MAX" : "MPI_SUM");
    struct seen seen = first_mismatches(TG_MPI_CONFUSIONS);
    assert_int_equal(seen.count, 1);
    assert_int_equal(seen.collective.instance, 2); /* names of one representation are alike */
    assert_int_equal(seen.collective.differs, TG_MPI_DIFFERS_TYPE | TG_MPI_DIFFERS_OP);
    assert_string_equal(seen.arrivals[1].type, "MPI_DOUBLE");
    assert_string_equal(seen.arrivals[2].op, "MPI_MAX");
    assert_int_equal(first_mismatches(TG_MPI_MISTAKES).count, 0);
}

static void a_message_received_as_another_type_is_told_once_a_place(void **state)
{
    (void)state;
    for (int i = 0; i < 3; i++) {
        ENTER(0, "MPI_Send", .peer = 1, .tag = 5, .root = -3, .bytes = 16,
              .type = i < 2 ? "MPI_INT" : "MPI_BYTE");
        LEAVE(0, "MPI_Send", .peer = -3);
        ENTER(1, "MPI_Recv", .peer = 0, .tag = 5, .root = -3, .bytes = 32, .type = "MPI_DOUBLE",
              .code = 0x20);
        LEAVE(1, "MPI_Recv", .peer = 0, .tag = 5, .bytes = 16);
    }
    assert_int_equal(tg_mpi_model_mistyped_count(model), 1);
    const struct tg_mpi_mistyped *mistyped = tg_mpi_model_mistyped_at(model, 0);
    assert_int_equal(mistyped->count, 2); /* bytes are of any type */
    assert_string_equal(mistyped->sent.type, "MPI_INT");
    assert_int_equal(mistyped->receive.code, 0x20);
}

static void send_typed(const char *type)
{
    ENTER(0, "MPI_Send", .peer = 1, .tag = 5, .root = -3, .bytes = 16, .type = type);
    LEAVE(0, "MPI_Send", .peer = -3);
}

static void post_typed(const char *type, int64_t source, uint64_t request)
{
    ENTER(1, "MPI_Irecv", .peer = source, .tag = 5, .root = -3, .bytes = 16, .type = type);
    LEAVE(1, "MPI_Irecv", .peer = -3, .request = request);
}

static void complete_typed(uint64_t request)
{
    FEED(1, MPI_COMPLETE, mpi_complete, .request = request, .peer = 0, .tag = 5, .bytes = 16);
}

static void messages_come_in_the_order_of_posting_not_of_completion(void **state)
{
    (void)state;
    for (int i = 0; i < 3; i++) {
        post_typed("MPI_INT", 0, 7);
        post_typed("MPI_DOUBLE", 0, 8);
        send_typed("MPI_INT");
        send_typed("MPI_DOUBLE");
        complete_typed(8); /* waited for first */
        assert_string_equal(last_received.type, "MPI_DOUBLE");
        complete_typed(7);
        assert_string_equal(last_received.type, "MPI_INT");
    }
    assert_int_equal(n_received, 6);
    assert_int_equal(tg_mpi_model_mistyped_count(model), 0);
    struct tg_mpi_model *copy;
    post_typed("MPI_INT", 0, 7);
    post_typed("MPI_CHAR", 0, 8);
    assert_null(tg_mpi_model_copy(model, &copy));
    tg_mpi_model_destroy(model);
    model = copy;
    send_typed("MPI_INT");
    send_typed("MPI_DOUBLE");
    complete_typed(8);
    complete_typed(7);
    assert_int_equal(tg_mpi_model_mistyped_count(model), 1);
    assert_string_equal(tg_mpi_model_mistyped_at(model, 0)->receive.type, "MPI_CHAR");
    assert_string_equal(tg_mpi_model_mistyped_at(model, 0)->sent.type, "MPI_DOUBLE");
}

static void a_message_that_a_receive_from_anybody_may_have_taken_is_not_compared(void **state)
{
    (void)state;
    post_typed("MPI_INT", -1, 7);
    post_typed("MPI_DOUBLE", 0, 8);
    send_typed("MPI_INT");
    send_typed("MPI_DOUBLE");
    complete_typed(8); /* of 7 nobody knows yet what it got */
    complete_typed(7);
    assert_int_equal(tg_mpi_model_mistyped_count(model), 0);
    post_typed("MPI_INT", 0, 7);
    send_typed("MPI_DOUBLE");
    complete_typed(7);
    assert_int_equal(tg_mpi_model_mistyped_count(model), 1);
}

static void a_cancelled_send_is_not_on_its_way(void **state)
{
    (void)state;
    ENTER(0, "MPI_Isend", .peer = 1, .tag = 5, .root = -3);
    LEAVE(0, "MPI_Isend", .peer = -3, .request = 7);
    ENTER(0, "MPI_Isend", .peer = 1, .tag = 5, .root = -3);
    LEAVE(0, "MPI_Isend", .peer = -3, .request = 8);
    FEED(0, MPI_COMPLETE, mpi_complete, .request = 7, .peer = -3, .cancelled = 1);
    assert_int_equal(sends().count, 1);
    assert_int_equal(sends().message.id, 2);
    struct seen seen = {0};
    assert_null(tg_mpi_model_visit_requests(model, see_message, &seen));
    assert_int_equal(seen.count, 1); /* 8 is still to be waited for */
    assert_int_equal(seen.message.request, 8);
}

static void who_is_missing_in_a_collective(void **state)
{
    (void)state;
    ENTER(2, "MPI_Barrier", .instance = 1, .root = -3, .code = 0x20);
    uint64_t first_ns = now_ns;
    ENTER(0, "MPI_Barrier", .instance = 1, .root = -3);
    struct seen seen = collectives();
    assert_int_equal(seen.count, 1);
    assert_int_equal(seen.collective.first_ns, first_ns);
    assert_int_equal(seen.collective.n_entered, 2);
    assert_int_equal(seen.arrivals[0].standing, TG_MPI_WAITING);
    assert_int_equal(seen.arrivals[1].standing, TG_MPI_MISSING);
    assert_int_equal(seen.arrivals[1].world_rank, 1);
    assert_int_equal(seen.arrivals[1].process, 1);
    assert_int_equal(seen.arrivals[2].code, 0x20);
    ENTER(1, "MPI_Barrier", .instance = 1, .root = -3);
    LEAVE(1, "MPI_Barrier");
    assert_int_equal(collectives().arrivals[1].standing, TG_MPI_PASSED);
    LEAVE(0, "MPI_Barrier");
    LEAVE(2, "MPI_Barrier");
    assert_int_equal(collectives().count, 0);
    assert_int_equal(tg_mpi_model_impossible(model), 0);
}

static void different_collectives_are_a_mismatch(void **state)
{
    (void)state;
    ENTER(0, "MPI_Bcast", .instance = 1, .root = 0);
    ENTER(1, "MPI_Reduce", .instance = 1, .root = 0);
    assert_true(collectives().collective.differs);
    assert_string_equal(collectives().collective.name, "MPI_Bcast");
}

static void different_roots_are_a_mismatch(void **state)
{
    (void)state;
    ENTER(0, "MPI_Bcast", .instance = 1, .root = 0);
    LEAVE(0, "MPI_Bcast"); /* a root need not wait */
    ENTER(1, "MPI_Bcast", .instance = 1, .root = 1);
    struct seen seen = collectives();
    assert_true(seen.collective.differs);
    assert_int_equal(seen.arrivals[0].standing, TG_MPI_PASSED);
    assert_int_equal(seen.arrivals[1].root, 1);
    assert_string_equal(seen.arrivals[1].name, "MPI_Bcast");
    assert_null(seen.arrivals[2].name);
}

/* Of a job on many nodes a trace may hold some ranks alone: what these have left is over. */
static void ranks_that_are_not_there_are_not_waited_for(void **state)
{
    (void)state;
    for (size_t i = 0; i < 2; i++)
        FEED(i, MPI_COMM, mpi_comm, .comm = 9, .rank = (int64_t)i, .size = RANKS);
    for (uint64_t instance = 1; instance <= 3; instance++) {
        for (size_t i = 0; i < 2; i++)
            FEED(i, MPI_ENTER, mpi_enter, .call = "MPI_Barrier", .comm = 9, .instance = instance, .root = -3);
        assert_int_equal(collectives().count, 1);
        assert_int_equal(collectives().arrivals[2].process, SIZE_MAX);
        for (size_t i = 0; i < 2; i++)
            LEAVE(i, "MPI_Barrier");
        assert_int_equal(collectives().count, 0);
    }
}

/* A rank that was told of late finds the others gone, not missing. */
static void who_left_before_others_were_known_has_passed(void **state)
{
    (void)state;
    FEED(0, MPI_COMM, mpi_comm, .comm = 9, .rank = 0, .size = RANKS);
    FEED(0, MPI_ENTER, mpi_enter, .call = "MPI_Bcast", .comm = 9, .instance = 1);
    LEAVE(0, "MPI_Bcast");
    assert_int_equal(collectives().count, 0);
    FEED(1, MPI_COMM, mpi_comm, .comm = 9, .rank = 1, .size = RANKS);
    FEED(1, MPI_ENTER, mpi_enter, .call = "MPI_Bcast", .comm = 9, .instance = 1);
    struct seen seen = collectives();
    assert_int_equal(seen.count, 1);
    assert_int_equal(seen.arrivals[0].standing, TG_MPI_PASSED);
    assert_int_equal(seen.arrivals[1].standing, TG_MPI_WAITING);
    LEAVE(1, "MPI_Bcast");
    assert_int_equal(collectives().count, 0);
}

static void the_oldest_messages_make_room(void **state)
{
    (void)state;
    for (size_t i = 0; i < TG_MPI_MAX_KEPT + 3; i++) {
        ENTER(0, "MPI_Send", .peer = 1, .tag = (int64_t)(i % 1000));
        LEAVE(0, "MPI_Send");
    }
    assert_int_equal(tg_mpi_model_unkept(model), 3);
    assert_int_equal(sends().count, TG_MPI_MAX_KEPT);
    ENTER(1, "MPI_Recv", .peer = 0, .tag = 2);
    LEAVE(1, "MPI_Recv", .peer = 0, .tag = 2);
    assert_int_equal(n_received, 1);
    assert_int_equal(sends().count, TG_MPI_MAX_KEPT - 1);
}

/* More kinds of messages than are remembered after the last one of a kind was received. */
static void messages_of_many_kinds_find_each_other(void **state)
{
    (void)state;
    const int64_t tags = 700;
    for (size_t round = 0; round < 3; round++) {
        for (int64_t tag = 0; tag < tags; tag++) {
            ENTER(tag % 2 == 0 ? 0 : 1, "MPI_Send", .peer = tag % 2 == 0 ? 1 : 0, .tag = tag);
            LEAVE(tag % 2 == 0 ? 0 : 1, "MPI_Send");
        }
        assert_int_equal(sends().count, tags);
        for (int64_t tag = tags; tag-- > 0;) {
            ENTER(tag % 2 == 0 ? 1 : 0, "MPI_Recv", .peer = tag % 2 == 0 ? 0 : 1, .tag = tag);
            LEAVE(tag % 2 == 0 ? 1 : 0, "MPI_Recv", .peer = tag % 2 == 0 ? 0 : 1, .tag = tag);
            assert_int_equal(last_received.tag, tag);
            assert_int_equal(last_received.destination, tag % 2 == 0 ? 1 : 0);
        }
        assert_int_equal(n_received, (round + 1) * (size_t)tags);
        assert_int_equal(sends().count, 0);
    }
}

static void messages_find_each_other(void **state)
{
    (void)state;
    for (int64_t tag = 5; tag < 7; tag++) {
        ENTER(0, "MPI_Send", .peer = 1, .tag = tag, .bytes = 8);
        LEAVE(0, "MPI_Send");
    }
    assert_int_equal(sends().count, 2);
    ENTER(1, "MPI_Recv", .peer = -1, .tag = -1);
    struct seen waiting = receives();
    assert_int_equal(waiting.count, 1);
    assert_int_equal(waiting.message.destination, 1);
    assert_int_equal(waiting.message.source, -1);
    LEAVE(1, "MPI_Recv", .peer = 0, .tag = 6, .bytes = 8);
    assert_int_equal(receives().count, 0);
    assert_int_equal(n_received, 1);
    assert_int_equal(last_received.tag, 6);
    assert_int_equal(sends().count, 1);
    assert_int_equal(sends().message.tag, 5);
}

static void requests_complete_later(void **state)
{
    (void)state;
    ENTER(1, "MPI_Irecv", .peer = 0, .tag = 3);
    LEAVE(1, "MPI_Irecv", .request = 0xabc, .peer = -3);
    assert_int_equal(receives().count, 1);
    ENTER(0, "MPI_Isend", .peer = 1, .tag = 3);
    LEAVE(0, "MPI_Isend", .request = 0xdef);
    ENTER(1, "MPI_Waitall", .peer = -3);
    FEED(1, MPI_COMPLETE, mpi_complete, .request = 0xabc, .peer = 0, .tag = 3);
    LEAVE(1, "MPI_Waitall");
    assert_int_equal(n_received, 1);
    assert_int_equal(sends().count + receives().count, 0);
    /* a send's request is nobody's receive */
    FEED(0, MPI_COMPLETE, mpi_complete, .request = 0xdef, .peer = -3, .tag = -3);
    assert_int_equal(tg_mpi_model_impossible(model), 0);
}

static void persistent_requests_stay(void **state)
{
    (void)state;
    ENTER(1, "MPI_Recv_init", .peer = 0, .tag = 3);
    LEAVE(1, "MPI_Recv_init", .request = 0xabc, .peer = -3);
    for (int i = 0; i < 3; i++) {
        ENTER(0, "MPI_Send", .peer = 1, .tag = 3);
        LEAVE(0, "MPI_Send");
        FEED(1, MPI_COMPLETE, mpi_complete, .request = 0xabc, .peer = 0, .tag = 3);
    }
    assert_int_equal(n_received, 3);
    assert_int_equal(sends().count + receives().count, 0);
}

static void where_everybody_is(void **state)
{
    (void)state;
    ENTER(0, "MPI_Recv", .peer = 2, .tag = 1, .code = 0x77);
    ENTER(1, "MPI_Finalize", .peer = -3);
    LEAVE(1, "MPI_Finalize");
    const struct tg_mpi_thread *thread = tg_mpi_model_thread_at(model, 0);
    assert_true(thread->in_call);
    assert_string_equal(thread->call.name, "MPI_Recv");
    assert_int_equal(thread->call.code, 0x77);
    assert_true(tg_mpi_model_process(model, 1)->finalized);
    assert_false(tg_mpi_model_process(model, 0)->finalized);
    FEED(0, PROCESS_EXIT, process_exit, .how = TG_EXIT_SIGNAL, .status = 9);
    assert_false(tg_mpi_model_process(model, 0)->alive);
    assert_true(tg_mpi_model_thread_at(model, 0)->in_call); /* died in it */
    LEAVE(2, "MPI_Barrier");
    assert_int_equal(tg_mpi_model_impossible(model), 1);
}

static struct tg_error *see_first(void *context, const struct tg_mpi_collective *collective,
                                  const struct tg_mpi_arrival *arrivals, size_t n_arrivals)
{
    struct seen *seen = context;
    seen->collective = *collective;
    memcpy(seen->arrivals, arrivals, (n_arrivals < RANKS ? n_arrivals : RANKS) * sizeof *arrivals);
    seen->count++;
    return NULL;
}

static struct seen first_mismatches(unsigned sought)
{
    struct seen seen = {0};
    struct tg_mpi_model *copy;
    assert_null(tg_mpi_model_visit_mismatches(model, sought, see_first, &seen));
    assert_null(tg_mpi_model_copy(model, &copy));
    struct seen again = {0};
    assert_null(tg_mpi_model_visit_mismatches(copy, sought, see_first, &again));
    assert_int_equal(again.count, seen.count);
    for (size_t i = 0; i < RANKS; i++) {
        const struct tg_mpi_arrival *was = &seen.arrivals[i], *is = &again.arrivals[i];
        assert_int_equal(is->standing, was->standing);
        assert_int_equal(is->process, was->process);
        assert_int_equal(is->entered_ns, was->entered_ns);
        assert_int_equal(is->left_ns, was->left_ns);
        assert_int_equal(is->root, was->root);
        assert_int_equal(is->bytes, was->bytes);
        assert_ptr_equal(is->name, was->name);
        assert_ptr_equal(is->type, was->type);
        assert_ptr_equal(is->op, was->op);
    }
    tg_mpi_model_destroy(copy);
    return seen;
}

/* All ranks make a collective call and come back; rank ODD by its own NAME, root, bytes and code. */
static void all_call(uint64_t instance, size_t odd, struct tg_event_mpi_enter usual,
                     struct tg_event_mpi_enter own)
{
    for (size_t i = 0; i < RANKS; i++) {
        struct tg_event event = {.kind = TG_EVENT_MPI_ENTER, .mpi_enter = i == odd ? own : usual};
        event.mpi_enter.comm = WORLD;
        event.mpi_enter.instance = instance;
        event.mpi_enter.code += i << 12; /* wherever the program is mapped */
        feed(i, event);
    }
    for (size_t i = 0; i < RANKS; i++)
        LEAVE(i, i == odd ? own.call : usual.call);
}

static const struct tg_event_mpi_enter reduce_a = {
    .call = "MPI_Allreduce", .root = -3, .bytes = 16, .code = 0x10};
static const struct tg_event_mpi_enter reduce_b = {
    .call = "MPI_Allreduce", .root = -3, .bytes = 16, .code = 0x20};

static void the_first_mismatch_is_kept(void **state)
{
    (void)state;
    struct tg_event_mpi_enter large = reduce_a;
    large.bytes = 72;
    all_call(1, RANKS, reduce_a, reduce_a);
    assert_int_equal(first_mismatches(TG_MPI_MISTAKES).count, 0);
    all_call(2, 1, reduce_a, large);
    all_call(3, 2, reduce_a, large);
    assert_int_equal(collectives().count, 0);
    struct seen seen = first_mismatches(TG_MPI_MISTAKES);
    assert_int_equal(seen.count, 1);
    assert_int_equal(seen.collective.instance, 2);
    assert_int_equal(seen.collective.differs, TG_MPI_DIFFERS_BYTES);
    assert_int_equal(seen.arrivals[1].bytes, 72);
    assert_int_equal(seen.arrivals[2].bytes, 16);
    assert_int_equal(seen.arrivals[2].nth, 2);
}

static void bytes_that_may_differ_do_not(void **state)
{
    (void)state;
    struct tg_event_mpi_enter gatherv = {.call = "MPI_Gatherv", .root = 0, .bytes = 16};
    struct tg_event_mpi_enter more = gatherv, part = {.call = "MPI_Scatter", .root = 1, .bytes = 8},
                              whole = part;
    more.bytes = 99;
    whole.bytes = 8 * RANKS; /* the root's */
    all_call(1, 2, gatherv, more);
    all_call(2, 1, part, whole);
    struct tg_event_mpi_enter large = reduce_a;
    large.call = "MPI_Allreduce_c";
    all_call(3, 1, reduce_a, large);
    assert_int_equal(first_mismatches(TG_MPI_MISTAKES).count, 0);
    all_call(4, 2, part, whole);
    assert_int_equal(first_mismatches(TG_MPI_MISTAKES).collective.differs, TG_MPI_DIFFERS_BYTES);
}

static void a_shift_of_places_is_noticed(void **state)
{
    (void)state;
    for (uint64_t i = 1; i <= 6; i += 2) {
        all_call(i, RANKS, reduce_a, reduce_a);
        all_call(i + 1, RANKS, reduce_b, reduce_b);
    }
    all_call(7, 1, reduce_a, reduce_b); /* rank 1 left one out */
    all_call(8, 1, reduce_b, reduce_a);
    struct seen seen = first_mismatches(TG_MPI_DIFFERS_PLACE);
    assert_int_equal(seen.count, 1);
    assert_int_equal(seen.collective.instance, 7);
    assert_int_equal(first_mismatches(TG_MPI_MISTAKES).count, 0);
    bool is_whole;
    const struct tg_mpi_site *site = tg_mpi_model_site(model, seen.collective.job, WORLD, 1,
                                                       seen.arrivals[0].name, reduce_a.code, &is_whole);
    assert_int_equal(site->count, 4);
}

static void who_freed_the_communicator_has_passed(void **state)
{
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        ENTER(i, "MPI_Bcast", .instance = 1, .root = 0);
        LEAVE(i, "MPI_Bcast");
        FEED(i, MPI_COMM, mpi_comm, .comm = WORLD, .origin = TG_MPI_COMM_FREED, .rank = (int64_t)i,
             .size = RANKS);
    }
    ENTER(2, "MPI_Barrier", .instance = 1, .root = -3);
    struct seen seen = collectives();
    assert_int_equal(seen.arrivals[0].standing, TG_MPI_PASSED);
    assert_int_equal(seen.arrivals[1].standing, TG_MPI_PASSED);
    assert_int_equal(seen.arrivals[2].standing, TG_MPI_WAITING);
}

static void a_nonblocking_collective_ends_with_its_request(void **state)
{
    (void)state;
    for (size_t i = 0; i < RANKS; i++) {
        ENTER(i, "MPI_Ibarrier", .instance = 1, .root = -3);
        LEAVE(i, "MPI_Ibarrier", .request = 0x10 + i);
    }
    assert_int_equal(collectives().arrivals[1].standing, TG_MPI_WAITING);
    FEED(1, MPI_COMPLETE, mpi_complete, .request = 0x11, .peer = -3);
    assert_int_equal(collectives().arrivals[1].standing, TG_MPI_PASSED);
    assert_int_equal(collectives().arrivals[2].standing, TG_MPI_WAITING);
    FEED(0, MPI_COMPLETE, mpi_complete, .request = 0x10, .peer = -3);
    FEED(2, MPI_COMPLETE, mpi_complete, .request = 0x12, .peer = -3);
    assert_int_equal(collectives().count, 0);
}

static void calls_that_fail_are_kept(void **state)
{
    (void)state;
    ENTER(1, "MPI_Recv", .peer = 0, .tag = 3, .bytes = 40);
    FEED(1, MPI_ERROR, mpi_error, .call = "MPI_Recv", .error_class = "MPI_ERR_TRUNCATE", .code = 15,
         .text = "t");
    assert_int_equal(tg_mpi_model_fault_count(model), 1);
    const struct tg_mpi_fault *fault = tg_mpi_model_fault_at(model, 0);
    assert_string_equal(fault->error_class, "MPI_ERR_TRUNCATE");
    assert_true(fault->in_call && fault->call.bytes == 40 && fault->left_ns == 0);
    LEAVE(1, "MPI_Recv", .result = 15);
    assert_int_equal(tg_mpi_model_fault_at(model, 0)->left_ns, now_ns);
}

/* Rank 0 and ranks 1 to 2 with an intercommunicator between: who is rank 0 of the other group depends on who asks. */
static void groups_of_an_intercommunicator_are_apart(void **state)
{
    enum { INTER = 9, COPY = 10, SPAWNED = 11 };
    static const struct tg_mpi_member left[] = {{0}}, right[] = {{1}, {2}};
    (void)state;
    for (uint64_t comm = INTER; comm <= COPY; comm++) {
        uint64_t origin = comm == INTER ? TG_MPI_COMM_INTERCOMM : TG_MPI_COMM_DUP;
        uint64_t parent = comm == INTER ? WORLD : INTER;
        FEED(2, MPI_COMM, mpi_comm, .comm = comm, .parent = parent, .origin = origin, .rank = 1, .size = 2);
        FEED(0, MPI_COMM, mpi_comm, .comm = comm, .parent = parent, .origin = origin, .rank = 0, .size = 1,
             .members = {left, 1});
        FEED(1, MPI_COMM, mpi_comm, .comm = comm, .parent = parent, .origin = origin, .rank = 0, .size = 2,
             .members = {right, 2});
        const char *job = tg_mpi_model_process(model, 0)->job;
        assert_int_equal(tg_mpi_model_process_of(model, 0, job, comm, 0), 1);
        assert_int_equal(tg_mpi_model_process_of(model, 0, job, comm, 1), 2);
        assert_int_equal(tg_mpi_model_process_of(model, 0, job, comm, 2), SIZE_MAX);
        assert_int_equal(tg_mpi_model_process_of(model, 1, job, comm, 0), 0);
        assert_int_equal(tg_mpi_model_process_of(model, 2, job, comm, 0), 0);
        assert_int_equal(tg_mpi_model_process_of(model, 2, job, comm, 1), SIZE_MAX);
    }
    /* Both send to their rank 0 with one tag; each receives what the other sent, not its own. */
    for (size_t i = 0; i < 2; i++) {
        FEED(i, MPI_ENTER, mpi_enter, .call = "MPI_Send", .comm = INTER, .peer = 0, .tag = 5, .bytes = 4);
        LEAVE(i, "MPI_Send", .peer = -3);
    }
    for (size_t i = 0; i < 2; i++) {
        FEED(i, MPI_ENTER, mpi_enter, .call = "MPI_Recv", .comm = INTER, .peer = 0, .tag = 5, .bytes = 4);
        LEAVE(i, "MPI_Recv", .peer = 0, .tag = 5, .bytes = 4);
        assert_int_equal(n_received, i + 1);
        assert_int_equal(last_received.process, 1 - i);
    }
    assert_int_equal(sends().count, 0);
    /* Of spawned processes nothing is known: nobody's message, and nobody waits for itself. */
    FEED(0, MPI_COMM, mpi_comm, .comm = SPAWNED, .parent = WORLD, .origin = TG_MPI_COMM_SPAWN, .rank = 0,
         .size = 1, .members = {left, 1});
    FEED(0, MPI_ENTER, mpi_enter, .call = "MPI_Send", .comm = SPAWNED, .peer = 0, .tag = 5, .bytes = 4);
    LEAVE(0, "MPI_Send", .peer = -3);
    assert_int_equal(sends().count, 0);
    const char *job = tg_mpi_model_process(model, 0)->job;
    assert_int_equal(tg_mpi_model_process_of(model, 0, job, SPAWNED, 0), SIZE_MAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_have_roles),
        cmocka_unit_test_setup_teardown(datatypes_and_operators_of_a_collective_are_compared, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_message_received_as_another_type_is_told_once_a_place, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(messages_come_in_the_order_of_posting_not_of_completion, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_message_that_a_receive_from_anybody_may_have_taken_is_not_compared,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_cancelled_send_is_not_on_its_way, set_up, tear_down),
        cmocka_unit_test_setup_teardown(who_is_missing_in_a_collective, set_up, tear_down),
        cmocka_unit_test_setup_teardown(different_collectives_are_a_mismatch, set_up, tear_down),
        cmocka_unit_test_setup_teardown(different_roots_are_a_mismatch, set_up, tear_down),
        cmocka_unit_test_setup_teardown(ranks_that_are_not_there_are_not_waited_for, set_up, tear_down),
        cmocka_unit_test_setup_teardown(who_left_before_others_were_known_has_passed, set_up, tear_down),
        cmocka_unit_test_setup_teardown(the_oldest_messages_make_room, set_up, tear_down),
        cmocka_unit_test_setup_teardown(messages_of_many_kinds_find_each_other, set_up, tear_down),
        cmocka_unit_test_setup_teardown(messages_find_each_other, set_up, tear_down),
        cmocka_unit_test_setup_teardown(requests_complete_later, set_up, tear_down),
        cmocka_unit_test_setup_teardown(persistent_requests_stay, set_up, tear_down),
        cmocka_unit_test_setup_teardown(where_everybody_is, set_up, tear_down),
        cmocka_unit_test_setup_teardown(the_first_mismatch_is_kept, set_up, tear_down),
        cmocka_unit_test_setup_teardown(bytes_that_may_differ_do_not, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_shift_of_places_is_noticed, set_up, tear_down),
        cmocka_unit_test_setup_teardown(who_freed_the_communicator_has_passed, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_nonblocking_collective_ends_with_its_request, set_up, tear_down),
        cmocka_unit_test_setup_teardown(groups_of_an_intercommunicator_are_apart, set_up, tear_down),
        cmocka_unit_test_setup_teardown(calls_that_fail_are_kept, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
