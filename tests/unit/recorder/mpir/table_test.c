#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "recorder/mpir/table.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PAGE = 4096, MAX_READ = 5000 };

static const uint64_t base = 0x7f0000000000;

/* Memory of a made-up starter: bytes from BASE on, some pages of which cannot be read. */
struct memory {
    uint8_t *bytes;
    size_t size;
    size_t bad_page; /* SIZE_MAX none */
    size_t used;
    size_t calls;
};

/* Results of a reading. */
struct told {
    size_t count;
    uint64_t next;
    char hosts[MAX_READ][64];
    char executables[MAX_READ][64];
    int64_t pids[MAX_READ];
    char problems[MAX_READ][128];
    size_t longest; /* of the executables */
};

static bool can_read(const struct memory *memory, const struct tg_memory_range *range)
{
    uint64_t offset = range->address - base;
    if (range->address < base || offset > memory->size || range->size > memory->size - offset)
        return false;
    size_t first = offset / PAGE, last = (offset + range->size - 1) / PAGE;
    return range->size == 0 || memory->bad_page < first || memory->bad_page > last;
}

static size_t read_memory(void *context, const struct tg_memory_range *ranges, size_t count)
{
    struct memory *memory = context;
    memory->calls++;
    for (size_t i = 0; i < count; i++) {
        if (!can_read(memory, &ranges[i]))
            return i;
        memcpy(ranges[i].buffer, memory->bytes + (ranges[i].address - base), ranges[i].size);
    }
    return count;
}

static void take(void *context, uint64_t first, const struct tg_mpir_entry *entries, size_t count)
{
    struct told *told = context;
    assert_int_equal(first, told->next);
    assert_in_range(count, 1, TG_MPIR_TABLE_BLOCK);
    for (size_t i = 0; i < count; i++, told->count++) {
        assert_int_equal(entries[i].rank, first + i);
        assert_in_range(told->count, 0, MAX_READ - 1);
        snprintf(told->hosts[told->count], 64, "%s", entries[i].host);
        snprintf(told->executables[told->count], 64, "%s", entries[i].executable);
        snprintf(told->problems[told->count], 128, "%s", entries[i].problem);
        told->pids[told->count] = entries[i].pid;
        size_t length = strlen(entries[i].executable);
        told->longest = length > told->longest ? length : told->longest;
    }
    told->next = first + count;
}

static void set_up(struct memory *memory, size_t size)
{
    *memory = (struct memory){.bytes = calloc(1, size), .size = size, .bad_page = SIZE_MAX};
    assert_non_null(memory->bytes);
}

/* The address of TEXT from now on. */
static uint64_t put(struct memory *memory, const char *text)
{
    size_t size = strlen(text) + 1;
    assert_true(size <= memory->size - memory->used);
    memcpy(memory->bytes + memory->used, text, size);
    memory->used += size;
    return base + memory->used - size;
}

static void put_entry(struct memory *memory, const struct tg_mpir_table_place *place, size_t i, uint64_t host,
                      uint64_t executable, int32_t pid)
{
    uint8_t *entry = memory->bytes + (place->address - base) + i * place->layout.stride_bytes;
    memcpy(entry + place->layout.host_offset, &host, place->layout.pointer_bytes);
    memcpy(entry + place->layout.executable_offset, &executable, place->layout.pointer_bytes);
    memcpy(entry + place->layout.pid_offset, &pid, sizeof pid);
}

static struct told *read_table(struct memory *memory, const struct tg_mpir_table_place *place,
                               char reason[TG_MPIR_TABLE_REASON_BYTES])
{
    struct told *told = calloc(1, sizeof *told);
    assert_non_null(told);
    const struct tg_mpir_memory reader = {.context = memory, .read = read_memory};
    const struct tg_mpir_table_sink sink = {.context = told, .block = take};
    memory->calls = 0;
    assert_null(tg_mpir_table_read(&reader, place, &sink, reason));
    return told;
}

/* A table of COUNT entries at the beginning, its strings behind it. */
static struct tg_mpir_table_place make_table(struct memory *memory, size_t count, size_t size)
{
    struct tg_mpir_table_place place = {
        .address = base, .size = (int64_t)count, .layout = tg_mpir_layout_of_class(64)};
    set_up(memory, size);
    memory->used = count * place.layout.stride_bytes;
    char text[64];
    for (size_t i = 0; i < count; i++) {
        snprintf(text, sizeof text, "node%zu", i / 4);
        uint64_t host = put(memory, text);
        snprintf(text, sizeof text, "/home/user/app.%zu", i);
        put_entry(memory, &place, i, host, put(memory, text), (int32_t)(1000 + i));
    }
    return place;
}

static void a_table_is_read_in_few_calls(void **state)
{
    (void)state;
    static const size_t counts[] = {1, 2, 100, TG_MPIR_TABLE_BLOCK, TG_MPIR_TABLE_BLOCK + 1, 4000};
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        struct memory memory;
        char reason[TG_MPIR_TABLE_REASON_BYTES], text[64];
        struct tg_mpir_table_place place = make_table(&memory, counts[i], 64 * PAGE + counts[i] * 80);
        struct told *told = read_table(&memory, &place, reason);
        assert_string_equal(reason, "");
        assert_int_equal(told->count, counts[i]);
        for (size_t j = 0; j < counts[i]; j++) {
            snprintf(text, sizeof text, "node%zu", j / 4);
            assert_string_equal(told->hosts[j], text);
            snprintf(text, sizeof text, "/home/user/app.%zu", j);
            assert_string_equal(told->executables[j], text);
            assert_string_equal(told->problems[j], "");
            assert_int_equal(told->pids[j], 1000 + j);
        }
        size_t blocks = (counts[i] + TG_MPIR_TABLE_BLOCK - 1) / TG_MPIR_TABLE_BLOCK;
        assert_in_range(memory.calls, 2 * blocks, 3 * blocks);
        free(told);
        free(memory.bytes);
    }
}

static void pointers_may_be_anything(void **state)
{
    (void)state;
    static const struct {
        uint64_t host, executable;
        const char *problem;
    } cases[] = {
        {0, 0, "host_name is NULL, executable_name is NULL"},
        {0x10, 1, "host_name cannot be read, executable_name cannot be read"},
        {UINT64_MAX, UINT64_MAX - PAGE, "host_name cannot be read, executable_name cannot be read"},
        {1, 0, "host_name cannot be read, executable_name is NULL"},
        {UINT64_C(1) << 63, UINT64_C(0xffff) << 47,
         "host_name cannot be read, executable_name cannot be read"},
    };
    struct memory memory;
    char reason[TG_MPIR_TABLE_REASON_BYTES];
    struct tg_mpir_table_place place = make_table(&memory, 7, 16 * PAGE);
    for (size_t i = 0; i < 5; i++)
        put_entry(&memory, &place, i, cases[i].host, cases[i].executable, -7);
    struct told *told = read_table(&memory, &place, reason);
    assert_string_equal(reason, "cannot read the names of 5 entries");
    assert_int_equal(told->count, 7);
    for (size_t i = 0; i < 5; i++) {
        assert_string_equal(told->problems[i], cases[i].problem);
        assert_string_equal(told->hosts[i], "");
        assert_int_equal(told->pids[i], -7);
    }
    assert_string_equal(told->executables[6], "/home/user/app.6");
    free(told);
    free(memory.bytes);
}

static void strings_cross_pages_and_end(void **state)
{
    (void)state;
    struct memory memory;
    char reason[TG_MPIR_TABLE_REASON_BYTES];
    struct tg_mpir_table_place place = make_table(&memory, 4, 8 * PAGE);
    char *bytes = (char *)memory.bytes;
    memset(bytes + PAGE, 'x', 4 * PAGE); /* no end in pages 1 to 4 */
    memcpy(bytes + 6 * PAGE - 5, "/a/crossing", 12);
    put_entry(&memory, &place, 0, base + 6 * PAGE - 5, base + PAGE, 1);
    bytes[2 * PAGE + 100] = '\0';
    put_entry(&memory, &place, 1, base + 6 * PAGE - 5, base + PAGE + 101, 2); /* the longest that is one */
    put_entry(&memory, &place, 2, base + 6 * PAGE - 5, base + PAGE + 100, 3); /* one longer */
    put_entry(&memory, &place, 3, base + 8 * PAGE - 1, base + 8 * PAGE - 1, 4);
    bytes[8 * PAGE - 1] = 'y'; /* the last byte that can be read is no NUL */
    struct told *told = read_table(&memory, &place, reason);
    assert_string_equal(told->hosts[0], "/a/crossing");
    assert_string_equal(told->problems[0], "executable_name does not end within 4096 bytes");
    assert_string_equal(told->problems[1], "");
    assert_string_equal(told->problems[2], "executable_name does not end within 4096 bytes");
    assert_string_equal(told->problems[3], "host_name runs into memory that cannot be read, executable_name "
                                           "runs into memory that cannot be read");
    assert_int_equal(told->longest, TG_MPIR_TABLE_MAX_STRING - 1);
    free(told);
    free(memory.bytes);
}

static void memory_may_end_within_the_table(void **state)
{
    (void)state;
    struct memory memory;
    char reason[TG_MPIR_TABLE_REASON_BYTES];
    struct tg_mpir_table_place place = make_table(&memory, 100, 4 * PAGE);
    place.size = 100000;
    memory.bad_page = 1;
    struct told *told = read_table(&memory, &place, reason);
    assert_int_equal(told->count, PAGE / place.layout.stride_bytes);
    assert_string_equal(reason, "only 170 of 100000 entries can be read");
    free(told);
    free(memory.bytes);
}

static void absurd_tables_are_refused(void **state)
{
    (void)state;
    static const struct {
        uint64_t address;
        int64_t size;
        unsigned bits;
        const char *reason; /* beginning of the reason */
    } cases[] = {
        {base, 0, 64, ""},
        {base, -1, 64, "MPIR_proctable_size is negative"},
        {base, INT32_MAX, 64, "MPIR_proctable_size is too large"},
        {base, TG_MPIR_TABLE_MAX_ENTRIES + 1, 64, "MPIR_proctable_size is too large"},
        {0, 3, 64, "MPIR_proctable is NULL"},
        {base, 3, 0, "the layout"},
        {UINT64_MAX - 10, 3, 64, "MPIR_proctable is not a valid"},
        {12345, 3, 32, "only 0 of 3"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct memory memory;
        char reason[TG_MPIR_TABLE_REASON_BYTES];
        set_up(&memory, PAGE);
        const struct tg_mpir_table_place place = {.address = cases[i].address,
                                                  .size = cases[i].size,
                                                  .layout = tg_mpir_layout_of_class(cases[i].bits)};
        struct told *told = read_table(&memory, &place, reason);
        assert_int_equal(told->count, 0);
        assert_memory_equal(reason, cases[i].reason, strlen(cases[i].reason));
        assert_int_equal(reason[0] == '\0', cases[i].reason[0] == '\0');
        free(told);
        free(memory.bytes);
    }
}

static void bad_pointers_are_given_up_in_the_end(void **state)
{
    (void)state;
    struct memory memory;
    char reason[TG_MPIR_TABLE_REASON_BYTES];
    struct tg_mpir_table_place place = make_table(&memory, 3000, 128 * PAGE);
    for (size_t i = 0; i < 3000; i++)
        put_entry(&memory, &place, i, (i + 1) * 3 * PAGE, (i + 7) << 40, (int32_t)i);
    struct told *told = read_table(&memory, &place, reason);
    assert_int_equal(told->count, 3000);
    assert_string_equal(reason, "cannot read the names of 3000 entries");
    assert_in_range(memory.calls, 0, 3 * 3 + 3 * TG_MPIR_TABLE_MAX_BAD_PAGES);
    free(told);
    free(memory.bytes);
}

static void layouts_differ(void **state)
{
    (void)state;
    struct memory memory;
    char reason[TG_MPIR_TABLE_REASON_BYTES];
    set_up(&memory, 4 * PAGE);
    struct tg_mpir_table_place place = {
        .address = base, .size = 2, .layout = {TG_MPIR_LAYOUT_DWARF, 8, 56, 48, 16, 8}};
    memory.used = PAGE;
    for (size_t i = 0; i < 2; i++) {
        uint64_t host = put(&memory, i == 0 ? "left" : "right");
        put_entry(&memory, &place, i, host, put(&memory, "program"), 77 + (int32_t)i);
    }
    struct told *told = read_table(&memory, &place, reason);
    assert_string_equal(told->hosts[1], "right");
    assert_string_equal(told->executables[0], "program");
    assert_int_equal(told->pids[1], 78);
    free(told);
    free(memory.bytes);
    static const struct tg_mpir_layout unsound[] = {
        {TG_MPIR_LAYOUT_DWARF, 8, 24, 0, 4, 16}, {TG_MPIR_LAYOUT_DWARF, 8, 24, 0, 8, 21},
        {TG_MPIR_LAYOUT_DWARF, 8, 24, 0, 8, 12}, {TG_MPIR_LAYOUT_DWARF, 5, 24, 0, 8, 16},
        {TG_MPIR_LAYOUT_DWARF, 8, 0, 0, 8, 16},  {TG_MPIR_LAYOUT_DWARF, 8, 5000, 0, 8, 16},
        {TG_MPIR_LAYOUT_DWARF, 8, 24, 17, 0, 8},
    };
    for (size_t i = 0; i < sizeof unsound / sizeof unsound[0]; i++)
        assert_false(tg_mpir_layout_is_sound(&unsound[i]));
    const struct tg_mpir_layout narrow = tg_mpir_layout_of_class(32), none = tg_mpir_layout_of_class(16);
    assert_true(tg_mpir_layout_is_sound(&narrow));
    assert_false(tg_mpir_layout_is_sound(&none));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_table_is_read_in_few_calls),
        cmocka_unit_test(pointers_may_be_anything),
        cmocka_unit_test(strings_cross_pages_and_end),
        cmocka_unit_test(memory_may_end_within_the_table),
        cmocka_unit_test(absurd_tables_are_refused),
        cmocka_unit_test(bad_pointers_are_given_up_in_the_end),
        cmocka_unit_test(layouts_differ),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
