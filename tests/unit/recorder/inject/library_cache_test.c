#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "recorder/inject/library_cache.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_BYTES = 4096, HEADER_BYTES = 48, ENTRY_BYTES = 24, X86_64 = 0x0303 };

struct image {
    uint8_t bytes[MAX_BYTES];
    size_t size;
};

static void put32(uint8_t *at, uint32_t value)
{
    for (int i = 0; i < 4; i++)
        at[i] = (uint8_t)(value >> 8 * i);
}

static uint32_t put_string(struct image *image, const char *text)
{
    uint32_t at = (uint32_t)image->size;
    strcpy((char *)image->bytes + at, text);
    image->size += strlen(text) + 1;
    return at;
}

/* A cache as ldconfig would write it; entries are {name, path}. */
static void make(struct image *image, const char *const (*entries)[2], size_t count)
{
    memset(image, 0, sizeof *image);
    memcpy(image->bytes, "glibc-ld.so.cache1.1", 20);
    put32(image->bytes + 20, (uint32_t)count);
    image->size = HEADER_BYTES + count * ENTRY_BYTES;
    for (size_t i = 0; i < count; i++) {
        uint8_t *entry = image->bytes + HEADER_BYTES + i * ENTRY_BYTES;
        put32(entry, X86_64);
        put32(entry + 4, put_string(image, entries[i][0]));
        put32(entry + 8, put_string(image, entries[i][1]));
    }
}

static const char *const three[][2] = {
    {"libz.so.1", "/opt/libz.so.1"}, {"libc.so.6", "/lib/libc.so.6"}, {"libz.so.1", "/lib/libz.so.1"}};

static void names_give_paths_in_order(void **state)
{
    (void)state;
    struct image image;
    make(&image, three, 3);
    struct tg_library_cache *cache = tg_library_cache_parse(image.bytes, image.size);
    assert_non_null(cache);
    assert_string_equal(tg_library_cache_path(cache, "libz.so.1", 0), "/opt/libz.so.1");
    assert_string_equal(tg_library_cache_path(cache, "libz.so.1", 1), "/lib/libz.so.1");
    assert_null(tg_library_cache_path(cache, "libz.so.1", 2));
    assert_string_equal(tg_library_cache_path(cache, "libc.so.6", 0), "/lib/libc.so.6");
    assert_null(tg_library_cache_path(cache, "libz.so", 0));
    tg_library_cache_destroy(cache);
}

/* Of `three`, the first of which is another machine's. */
static struct tg_library_cache *parse_three_but_one(struct image *image)
{
    make(image, three, 3);
    put32(image->bytes + HEADER_BYTES, 0x0003); /* 32-bit */
    struct tg_library_cache *cache = tg_library_cache_parse(image->bytes, image->size);
    assert_non_null(cache);
    return cache;
}

/* The first lookups go through all entries, later ones have an index. */
static void many_lookups_find_the_same(void **state)
{
    (void)state;
    struct image image;
    struct tg_library_cache *cache = parse_three_but_one(&image);
    for (int i = 0; i < 40; i++) {
        assert_string_equal(tg_library_cache_path(cache, "libz.so.1", 0), "/lib/libz.so.1");
        assert_null(tg_library_cache_path(cache, "libz.so.1", 1));
        assert_string_equal(tg_library_cache_path(cache, "libc.so.6", 0), "/lib/libc.so.6");
        assert_null(tg_library_cache_path(cache, "libc.so", 0));
        assert_null(tg_library_cache_path(cache, "", 0));
    }
    tg_library_cache_destroy(cache);
}

static void names_that_no_file_has_are_left_out(void **state)
{
    (void)state;
    static char longest[257], longer[258];
    struct image image;
    memset(longest, 'n', sizeof longest - 2); /* 255 bytes: NAME_MAX */
    memset(longer, 'n', sizeof longer - 2);
    const char *const entries[][2] = {{longer, "/opt/longer"}, {longest, "/opt/longest"}};
    make(&image, entries, 2);
    struct tg_library_cache *cache = tg_library_cache_parse(image.bytes, image.size);
    assert_non_null(cache);
    assert_null(tg_library_cache_path(cache, longer, 0));
    assert_string_equal(tg_library_cache_path(cache, longest, 0), "/opt/longest");
    assert_null(tg_library_cache_path(cache, longest, 1));
    tg_library_cache_destroy(cache);
}

static void other_machines_are_left_out(void **state)
{
    (void)state;
    struct image image;
    struct tg_library_cache *cache = parse_three_but_one(&image);
    assert_string_equal(tg_library_cache_path(cache, "libz.so.1", 0), "/lib/libz.so.1");
    assert_null(tg_library_cache_path(cache, "libz.so.1", 1));
    tg_library_cache_destroy(cache);
}

/* Every byte changed, and every length: whatever is found lies in the file (the sanitizers look on). */
static void damage_is_survived(void **state)
{
    (void)state;
    struct image image;
    make(&image, three, 3);
    for (size_t i = 0; i < 2 * image.size; i++) {
        struct image damaged = image;
        if (i < image.size)
            damaged.bytes[i] ^= 0xff;
        else
            damaged.size = i - image.size;
        uint8_t *exact = malloc(damaged.size + 1);
        assert_non_null(exact);
        memcpy(exact, damaged.bytes, damaged.size);
        struct tg_library_cache *cache = tg_library_cache_parse(exact, damaged.size);
        assert_non_null(cache);
        for (size_t n = 0; n < 30; n++) {
            const char *path = tg_library_cache_path(cache, three[n % 3][0], 0);
            assert_true(path == NULL || strlen(path) < damaged.size);
        }
        tg_library_cache_destroy(cache);
        free(exact);
    }
}

static void that_of_this_machine_is_read(void **state)
{
    (void)state;
    FILE *file = fopen("/etc/ld.so.cache", "re");
    if (file == NULL)
        skip();
    static uint8_t bytes[8 << 20];
    size_t size = fread(bytes, 1, sizeof bytes, file);
    fclose(file);
    struct tg_library_cache *cache = tg_library_cache_parse(bytes, size);
    assert_non_null(cache);
    const char *path = tg_library_cache_path(cache, "libc.so.6", 0);
    assert_true(path != NULL && path[0] == '/' && strstr(path, "/libc.so.6") != NULL);
    tg_library_cache_destroy(cache);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_give_paths_in_order),
        cmocka_unit_test(many_lookups_find_the_same),
        cmocka_unit_test(names_that_no_file_has_are_left_out),
        cmocka_unit_test(other_machines_are_left_out),
        cmocka_unit_test(damage_is_survived),
        cmocka_unit_test(that_of_this_machine_is_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
