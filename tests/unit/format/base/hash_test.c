#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

/* Allocation of the table alone can be made to fail. */
static unsigned allocations_left = 1000000;
static void *table_memory(size_t size)
{
    return allocations_left == 0 ? NULL : (allocations_left--, malloc(size));
}
#define uthash_malloc(size) table_memory(size)

#include "format/base/hash.h"

struct key {
    int32_t pid, tid;
};

struct entry {
    struct key key;
    int value;
    const char *name;
    UT_hash_handle hh, by_name;
};

static struct entry *find(struct entry *table, struct key key)
{
    struct entry *found;
    HASH_FIND(hh, table, &key, sizeof key, found);
    return found;
}

static void destroy(struct entry *table)
{
    struct entry *entry, *next;
    HASH_ITER (hh, table, entry, next) {
        HASH_DELETE(hh, table, entry);
        free(entry);
    }
}

static void created_entries_are_found_by_their_keys(void **state)
{
    (void)state;
    struct entry *table = NULL;
    for (int32_t i = 0; i < 1000; i++) {
        struct entry *entry;
        assert_null(TG_HASH_CREATE(hh, table, key, (&(struct key){i, -i}), entry));
        assert_int_equal(entry->value, 0);
        entry->value = i;
    }
    for (int32_t i = 0; i < 1000; i++)
        assert_int_equal(find(table, (struct key){i, -i})->value, i);
    assert_null(find(table, (struct key){1, 1}));
    destroy(table);
}

static void an_entry_may_be_in_two_tables(void **state)
{
    (void)state;
    struct entry *table = NULL, *names = NULL, *found;
    struct entry *entry = calloc(1, sizeof *entry);
    assert_non_null(entry);
    *entry = (struct entry){.key = {3, 4}, .name = "three"};
    assert_null(TG_HASH_ADD(hh, table, key, entry));
    assert_null(TG_HASH_ADD_KEY(by_name, names, entry->name, 5, entry));
    HASH_FIND(by_name, names, "three", 5, found);
    assert_ptr_equal(found, entry);
    assert_ptr_equal(find(table, (struct key){3, 4}), entry);
    HASH_DELETE(by_name, names, entry);
    assert_null(names);
    destroy(table);
}

/* Every allocation of a table of 1000 entries fails once: the first two make it, others make it larger. */
static void without_memory_the_table_stays_as_it_was(void **state)
{
    (void)state;
    bool failed = true;
    unsigned failures = 0;
    for (unsigned good = 0; failed; good++) {
        struct entry *table = NULL;
        allocations_left = good;
        failed = false;
        for (int32_t i = 0; i < 1000; i++) {
            struct entry *entry;
            struct tg_error *error = TG_HASH_CREATE(hh, table, key, (&(struct key){i, i}), entry);
            if (error != NULL) {
                assert_ptr_equal(error, tg_error_no_memory());
                assert_null(entry);
                assert_null(find(table, (struct key){i, i}));
                assert_int_equal(HASH_COUNT(table), i);
                allocations_left = 1000000;
                failed = true;
                failures++;
                assert_null(TG_HASH_CREATE(hh, table, key, (&(struct key){i, i}), entry));
            }
            assert_ptr_equal(find(table, (struct key){i, i}), entry);
        }
        assert_int_equal(HASH_COUNT(table), 1000);
        destroy(table);
    }
    allocations_left = 1000000;
    assert_true(failures >= 3);
}

/* Of the 1,024 buckets that N keys choose, how many are chosen. */
static size_t count_buckets(size_t n_keys, void (*make_key)(size_t i, char *key, size_t *size))
{
    enum { BUCKETS = 1024 };
    static bool is_chosen[BUCKETS];
    size_t count = 0;
    memset(is_chosen, 0, sizeof is_chosen);
    for (size_t i = 0; i < n_keys; i++) {
        char key[64];
        size_t size;
        make_key(i, key, &size);
        bool *chosen = &is_chosen[tg_hash_bytes(key, size) % BUCKETS];
        count += !*chosen;
        *chosen = true;
    }
    return count;
}

/* A number of three digits that ends at byte 40, as at the end of a word; and one letter further on. */
static void make_text(size_t i, char *key, size_t *size)
{
    *size = (size_t)snprintf(key, 64, "%040zu", i);
}

static void make_longer_text(size_t i, char *key, size_t *size)
{
    *size = (size_t)snprintf(key, 64, "%040zux", i);
}

static void make_high_bits(size_t i, char *key, size_t *size)
{
    uint64_t number = (uint64_t)i << 54;
    *size = sizeof number;
    memcpy(key, &number, sizeof number);
}

static void make_low_bits(size_t i, char *key, size_t *size)
{
    uint64_t number = i;
    *size = sizeof number;
    memcpy(key, &number, sizeof number);
}

static void make_pages(size_t i, char *key, size_t *size)
{
    uint64_t number = UINT64_C(0x7f0000000000) + i * 4096;
    *size = sizeof number;
    memcpy(key, &number, sizeof number);
}

/* Chance gives 1,000 keys about 640 buckets of 1,024. */
static void keys_that_differ_in_one_place_are_spread(void **state)
{
    (void)state;
    enum { KEYS = 1000, ENOUGH = 550 };
    assert_in_range(count_buckets(KEYS, make_text), ENOUGH, KEYS);
    assert_in_range(count_buckets(KEYS, make_longer_text), ENOUGH, KEYS);
    assert_in_range(count_buckets(KEYS, make_high_bits), ENOUGH, KEYS);
    assert_in_range(count_buckets(KEYS, make_low_bits), ENOUGH, KEYS);
    assert_in_range(count_buckets(KEYS, make_pages), ENOUGH, KEYS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(created_entries_are_found_by_their_keys),
        cmocka_unit_test(an_entry_may_be_in_two_tables),
        cmocka_unit_test(without_memory_the_table_stays_as_it_was),
        cmocka_unit_test(keys_that_differ_in_one_place_are_spread),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
