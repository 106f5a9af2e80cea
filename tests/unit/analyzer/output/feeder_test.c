/* A feeder hands a model what it would get without one: all events, in order, with all that they hold. */
#include "analyzer/output/feeder.h"

#include "tests/support/trace_fixture.h"

#include <stdlib.h>
#include <string.h>

enum { N = 100000, MANY_ITEMS = 10000 };

/* A model that knows what comes next. */
struct expectation {
    uint64_t next;
    uint64_t fails_at; /* 0: never */
    uint64_t wrong;
};

static const struct tg_mpi_request_item *make_items(uint64_t count)
{
    static struct tg_mpi_request_item items[MANY_ITEMS];
    for (size_t i = 0; i < count; i++)
        items[i].request = count + i;
    return items;
}

static uint64_t count_items(uint64_t i)
{
    return i % 1000 == 999 ? MANY_ITEMS : i % 7;
}

/* Event I; its lists are overwritten by the next one. */
static struct tg_event make_event(uint64_t i)
{
    static const char *const calls[] = {"MPI_Send", "MPI_Recv", "MPI_Barrier"};
    struct tg_event event = {.time_ns = i, .pid = 7, .tid = (int32_t)(i % 5)};
    switch (i % 3) {
    case 0:
        event.kind = TG_EVENT_MPI_ENTER;
        event.mpi_enter = (struct tg_event_mpi_enter){
            .call = calls[i / 3 % 3], .bytes = i, .type = "", .from_type = "", .op = "MPI_SUM"};
        break;
    case 1:
        event.kind = TG_EVENT_OMP_MUTEX_LEAVE;
        event.omp_mutex_leave.lock = i * 3;
        break;
    default:
        event.kind = TG_EVENT_MPI_REQUESTS;
        event.mpi_requests.requests = (struct tg_list){make_items(count_items(i)), count_items(i)};
    }
    return event;
}

static bool has_items(const struct tg_list *list, uint64_t count)
{
    const struct tg_mpi_request_item *items = list->items;
    for (uint64_t i = 0; list->count == count && i < count; i++)
        if (items[i].request != count + i)
            return false;
    return list->count == count;
}

static bool is_as_made(const struct tg_event *event, uint64_t i)
{
    if (event->time_ns != i || event->tid != (int32_t)(i % 5) || event->pid != 7)
        return false;
    if (i % 3 == 0)
        return event->kind == TG_EVENT_MPI_ENTER && event->mpi_enter.bytes == i &&
               strcmp(event->mpi_enter.op, "MPI_SUM") == 0 && strncmp(event->mpi_enter.call, "MPI_", 4) == 0;
    if (i % 3 == 1)
        return event->kind == TG_EVENT_OMP_MUTEX_LEAVE && event->omp_mutex_leave.lock == i * 3;
    return event->kind == TG_EVENT_MPI_REQUESTS && has_items(&event->mpi_requests.requests, count_items(i));
}

static struct tg_error *take(void *model, const struct tg_event *events, const size_t *processes,
                             size_t count)
{
    struct expectation *expectation = model;
    for (size_t n = 0; n < count; n++) {
        uint64_t i = expectation->next++;
        expectation->wrong += processes[n] != i * 2 || !is_as_made(&events[n], i);
        if (expectation->fails_at != 0 && i == expectation->fails_at)
            return tg_error_create(TG_ERROR_LIMIT, "event %d", (int)i);
    }
    return NULL;
}

/* Feeds event I. */
static struct tg_error *feed(struct tg_feeder *feeder, uint64_t i)
{
    struct tg_event event = make_event(i);
    size_t process = i * 2;
    return tg_feeder_feed(feeder, &event, &process, 1);
}

static void everything_comes_in_order(void **state)
{
    (void)state;
    struct expectation model = {0};
    struct tg_feeder *feeder = NULL;
    assert_fine(tg_feeder_create(take, &model, &feeder));
    for (uint64_t i = 0; i < N; i++) {
        assert_fine(feed(feeder, i));
        if (i % 4999 == 0 || i == 100) {
            assert_fine(tg_feeder_settle(feeder));
            assert_int_equal(model.next, i + 1);
        }
    }
    assert_fine(tg_feeder_settle(feeder));
    assert_int_equal(model.next, N);
    assert_int_equal(model.wrong, 0);
    tg_feeder_destroy(feeder);
}

/* Runs of all lengths, with lists that fit nowhere among them. */
static void runs_come_as_their_events_would(void **state)
{
    (void)state;
    enum { LONGEST = 700, FEW_ITEMS = 6 };
    static struct tg_event events[LONGEST];
    static size_t processes[LONGEST];
    static struct tg_mpi_request_item items[LONGEST][FEW_ITEMS];
    struct expectation model = {0};
    struct tg_feeder *feeder = NULL;
    assert_fine(tg_feeder_create(take, &model, &feeder));
    for (uint64_t i = 0, length = 1; i < N; length = length * 5 % (LONGEST - 1) + 1) {
        uint64_t n = 0;
        for (; n < length && i < N && (count_items(i) <= FEW_ITEMS || n == 0); i++, n++) {
            events[n] = make_event(i);
            processes[n] = i * 2;
            if (events[n].kind == TG_EVENT_MPI_REQUESTS && count_items(i) <= FEW_ITEMS)
                events[n].mpi_requests.requests.items =
                    memcpy(items[n], make_items(count_items(i)), sizeof items[n]);
            if (count_items(i) > FEW_ITEMS)
                length = 1;
        }
        assert_fine(tg_feeder_feed(feeder, events, processes, n));
    }
    assert_fine(tg_feeder_settle(feeder));
    assert_int_equal(model.next, N);
    assert_int_equal(model.wrong, 0);
    tg_feeder_destroy(feeder);
}

static void an_error_is_told_once_and_ends_the_feeding(void **state)
{
    (void)state;
    const uint64_t places[] = {3, 511, 512, 20000};
    for (size_t p = 0; p < sizeof places / sizeof *places; p++) {
        struct expectation model = {.fails_at = places[p]};
        struct tg_feeder *feeder = NULL;
        struct tg_error *error = NULL;
        assert_fine(tg_feeder_create(take, &model, &feeder));
        for (uint64_t i = 0; error == NULL && i < N; i++) {
            error = feed(feeder, i);
        }
        if (error == NULL)
            error = tg_feeder_settle(feeder);
        expect_error(error, TG_ERROR_LIMIT, "event ");
        assert_int_equal(model.next, places[p] + 1);
        assert_fine(tg_feeder_settle(feeder));
        tg_feeder_destroy(feeder);
    }
}

static void one_may_be_destroyed_at_any_time(void **state)
{
    (void)state;
    for (uint64_t n = 0; n < 20000; n += 611) {
        struct expectation model = {0};
        struct tg_feeder *feeder = NULL;
        assert_fine(tg_feeder_create(take, &model, &feeder));
        for (uint64_t i = 0; i < n; i++) {
            assert_fine(feed(feeder, i));
        }
        tg_feeder_destroy(feeder);
        assert_in_range(model.next, 0, n);
        assert_int_equal(model.wrong, 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(everything_comes_in_order),
        cmocka_unit_test(runs_come_as_their_events_would),
        cmocka_unit_test(an_error_is_told_once_and_ends_the_feeding),
        cmocka_unit_test(one_may_be_destroyed_at_any_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
