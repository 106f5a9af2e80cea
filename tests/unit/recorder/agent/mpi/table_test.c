#include "recorder/agent/mpi/table.h"

#include <pthread.h>
#include <stdlib.h>
/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
/* clang-format on */

enum { N_ENTRIES = 256, KEYS_PER_THREAD = 20, N_THREADS = 4, ROUNDS = 20000 };

static struct tg_mpi_entry entries[N_ENTRIES];
static struct tg_mpi_table table = {.entries = entries, .n_entries = N_ENTRIES};

static int empty(void **state)
{
    (void)state;
    for (size_t i = 0; i < N_ENTRIES; i++)
        entries[i] = (struct tg_mpi_entry){0};
    return 0;
}

static bool put(uint64_t key, uint64_t word, enum tg_mpi_when_full when_full)
{
    const uint64_t words[TG_MPI_TABLE_WORDS] = {word, [TG_MPI_TABLE_WORDS - 1] = ~word};
    return tg_mpi_table_put(&table, key, words, when_full);
}

static void finds_what_was_put(void **state)
{
    (void)state;
    uint64_t words[TG_MPI_TABLE_WORDS];
    assert_null(tg_mpi_table_find(&table, 0x44000000));
    assert_true(put(0x44000000, 1, TG_MPI_TABLE_REFUSES));
    assert_true(put(0x7f0012345678, 2, TG_MPI_TABLE_REFUSES));
    assert_int_equal(tg_mpi_table_find(&table, 0x44000000)->words[0], 1);
    assert_true(put(0x44000000, 3, TG_MPI_TABLE_REFUSES));
    assert_true(tg_mpi_table_take(&table, 0x44000000, words));
    assert_int_equal(words[0], 3);
    assert_int_equal(words[TG_MPI_TABLE_WORDS - 1], ~UINT64_C(3));
    assert_false(tg_mpi_table_take(&table, 0x44000000, words));
    assert_null(tg_mpi_table_find(&table, 0x44000000));
    assert_int_equal(tg_mpi_table_find(&table, 0x7f0012345678)->words[0], 2);
}

/* Places of what was taken out are used again, however often; what lies behind them is found. */
static void never_wears_out(void **state)
{
    (void)state;
    uint64_t words[TG_MPI_TABLE_WORDS];
    assert_true(put(5, 5, TG_MPI_TABLE_REFUSES));
    for (uint64_t key = 100; key < 100 + 50 * N_ENTRIES; key++) {
        assert_true(put(key, key, TG_MPI_TABLE_REFUSES));
        assert_non_null(tg_mpi_table_find(&table, key));
        assert_true(tg_mpi_table_take(&table, key, words));
        assert_int_equal(words[0], key);
    }
    assert_int_equal(tg_mpi_table_find(&table, 5)->words[0], 5);
}

static void refuses_or_replaces_when_full(void **state)
{
    (void)state;
    uint64_t key = 1000;
    while (put(key, key, TG_MPI_TABLE_REFUSES))
        key++;
    assert_in_range(key - 1000, N_ENTRIES / 2, N_ENTRIES);
    for (uint64_t old = 1000; old < key; old++)
        assert_int_equal(tg_mpi_table_find(&table, old)->words[0], old);
    assert_null(tg_mpi_table_find(&table, key));
    assert_true(put(key, 7, TG_MPI_TABLE_REPLACES));
    assert_int_equal(tg_mpi_table_find(&table, key)->words[0], 7);
    uint64_t lost = 0;
    for (uint64_t old = 1000; old < key; old++)
        lost += tg_mpi_table_find(&table, old) == NULL;
    assert_int_equal(lost, 1);
}

static void *put_find_take(void *first)
{
    uint64_t words[TG_MPI_TABLE_WORDS];
    for (uint64_t round = 0; round < ROUNDS; round++) {
        uint64_t key = (uint64_t)(uintptr_t)first + round % KEYS_PER_THREAD;
        if (!put(key, key ^ round, TG_MPI_TABLE_REFUSES))
            return "refused";
        struct tg_mpi_entry *entry = tg_mpi_table_find(&table, key);
        if (entry == NULL || entry->words[0] != (key ^ round))
            return "not found";
        if (round % 3 != 0 && (!tg_mpi_table_take(&table, key, words) || words[0] != (key ^ round)))
            return "not taken";
    }
    return NULL;
}

static void threads_do_not_disturb_each_other(void **state)
{
    (void)state;
    pthread_t threads[N_THREADS];
    for (uintptr_t i = 0; i < N_THREADS; i++)
        assert_int_equal(
            pthread_create(&threads[i], NULL, put_find_take, (void *)(0x1000 + i * KEYS_PER_THREAD)), 0);
    for (int i = 0; i < N_THREADS; i++) {
        void *problem;
        pthread_join(threads[i], &problem);
        if (problem != NULL)
            fail_msg("%s", (const char *)problem);
    }
}

static int compare(const void *left, const void *right)
{
    uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
    return (a > b) - (a < b);
}

/* The ids of communicators: the same for the same origin in every process and build, different for others. */
static void mixtures_differ(void **state)
{
    (void)state;
    enum { SIDE = 40, TOTAL = SIDE * SIDE * SIDE };
    static uint64_t mixed[TOTAL];
    size_t n = 0;
    for (uint64_t a = 0; a < SIDE; a++)
        for (uint64_t b = 0; b < SIDE; b++)
            for (uint64_t c = 0; c < SIDE; c++)
                mixed[n++] = tg_mpi_mix(a, b, c);
    assert_int_equal(mixed[0], tg_mpi_mix(0, 0, 0));
    qsort(mixed, n, sizeof mixed[0], compare);
    assert_true(mixed[0] >= 16);
    for (size_t i = 1; i < n; i++)
        assert_true(mixed[i - 1] != mixed[i]);
    /* numbers of a trace recorded elsewhere are the same */
    assert_int_equal(tg_mpi_mix(1, 1, 0), UINT64_C(0x92d6bd4c14227d38));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(finds_what_was_put, empty),
        cmocka_unit_test_setup(never_wears_out, empty),
        cmocka_unit_test_setup(refuses_or_replaces_when_full, empty),
        cmocka_unit_test_setup(threads_do_not_disturb_each_other, empty),
        cmocka_unit_test(mixtures_differ),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
