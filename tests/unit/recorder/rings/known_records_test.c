#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "recorder/rings/known_records.h"

#include <stdlib.h>
#include <string.h>

enum { WORDS = 4 };

static int set_up(void **state)
{
    return tg_known_records_create((struct tg_known_records **)state) == NULL ? 0 : -1;
}

static int tear_down(void **state)
{
    tg_known_records_destroy(*state);
    return 0;
}

/* The event of a record in TEAM, from what is known or made anew. */
static struct tg_event event_of(struct tg_known_records *known, const uint64_t *record, struct tg_team team,
                                bool *is_known)
{
    struct tg_known_record *room = NULL;
    const struct tg_event *found = tg_known_records_find(known, record, WORDS, team, &room);
    *is_known = found != NULL;
    if (found != NULL)
        return *found;
    struct tg_event event = {.kind = TG_EVENT_OMP_MUTEX_WAIT,
                             .omp_mutex_wait = {.team = team.id,
                                                .level = team.level,
                                                .thread_num = record[1] >> 20,
                                                .code = record[2],
                                                .lock = record[3]}};
    if (room != NULL)
        tg_known_records_keep(known, room, record, WORDS, team, &event, sizeof event.omp_mutex_wait);
    return event;
}

/* Whatever comes in whatever order: what is found is what it would become, and has the payload's number. */
static void what_is_found_is_what_came(void **state)
{
    enum { ROUNDS = 200000, IDS = 1 << 16 };
    struct tg_known_records *known = *state;
    static struct tg_event by_id[IDS];
    uint64_t random = 1, n_known = 0;
    for (uint64_t i = 0; i < ROUNDS; i++) {
        random = random * UINT64_C(6364136223846793005) + 1;
        uint64_t draw = random >> 40;
        const uint64_t record[WORDS] = {i, 7 | (draw & 3) << 20, draw >> 2 & 15, draw >> 6 & 7};
        const struct tg_team team = {draw >> 9 & 3, draw >> 11 & 1};
        bool is_known;
        struct tg_event event = event_of(known, record, team, &is_known);
        n_known += is_known;
        assert_int_equal(event.omp_mutex_wait.team, team.id);
        assert_int_equal(event.omp_mutex_wait.level, team.level);
        assert_int_equal(event.omp_mutex_wait.thread_num, draw & 3);
        assert_int_equal(event.omp_mutex_wait.code, draw >> 2 & 15);
        assert_int_equal(event.omp_mutex_wait.lock, draw >> 6 & 7);
        if (event.payload_id == 0)
            continue;
        assert_true(event.payload_id < IDS);
        struct tg_event *first = &by_id[event.payload_id];
        if (first->payload_id == 0)
            *first = event;
        assert_memory_equal(&first->omp_mutex_wait, &event.omp_mutex_wait, sizeof event.omp_mutex_wait);
    }
    assert_true(n_known > 0);
}

static void what_comes_again_is_known(void **state)
{
    bool is_known = false;
    for (uint64_t i = 0; i < 3; i++)
        event_of(*state, (uint64_t[]){i, 7, 1, 2}, (struct tg_team){1, 1}, &is_known);
    assert_true(is_known);
    event_of(*state, (uint64_t[]){3, 7, 1, 2}, (struct tg_team){1, 2}, &is_known);
    assert_false(is_known);
    event_of(*state, (uint64_t[]){4, 7, 2, 1}, (struct tg_team){1, 1}, &is_known);
    assert_false(is_known);
    struct tg_known_record *room = NULL;
    assert_null(
        tg_known_records_find(*state, (uint64_t[]){3, 7, 1, 2, 0, 0}, 6, (struct tg_team){1, 1}, &room));
}

static void records_of_a_kind_that_never_come_again_are_let_be(void **state)
{
    bool is_known;
    for (uint64_t i = 0; i < 300; i++)
        event_of(*state, (uint64_t[]){0, 7, i, 2}, (struct tg_team){0}, &is_known);
    for (uint64_t i = 0; i < 10; i++) {
        event_of(*state, (uint64_t[]){0, 7, 1, 2}, (struct tg_team){0}, &is_known);
        assert_false(is_known);
        event_of(*state, (uint64_t[]){0, 8, 1, 2}, (struct tg_team){0}, &is_known);
        assert_true(is_known == (i > 1)); /* of another kind */
    }
    for (uint64_t i = 0; i < 20000; i++)
        event_of(*state, (uint64_t[]){0, 7, 1, 2}, (struct tg_team){0}, &is_known);
    assert_true(is_known); /* not for ever */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(what_is_found_is_what_came, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_comes_again_is_known, set_up, tear_down),
        cmocka_unit_test_setup_teardown(records_of_a_kind_that_never_come_again_are_let_be, set_up,
                                        tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
