#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "format/image/image.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MAX = 64 };

#define SOURCE TG_IMAGE_SOURCES "/image_material.c"

/* The number of the line of image_material.c that has "LINE MARK" in a comment. */
static uint64_t line_of(const char *mark)
{
    char line[512], comment[128];
    snprintf(comment, sizeof comment, "/* LINE %s */", mark);
    FILE *file = fopen(SOURCE, "re");
    assert_non_null(file);
    uint64_t number = 1;
    while (fgets(line, sizeof line, file) != NULL && strstr(line, comment) == NULL)
        number++;
    assert_false(feof(file));
    fclose(file);
    return number;
}

static struct tg_image *open_image(const char *file)
{
    char path[512];
    snprintf(path, sizeof path, TG_IMAGES "/%s", file);
    if (access(path, R_OK) != 0)
        return NULL;
    struct tg_image *image = NULL;
    assert_null(tg_image_open(path, &image));
    return image;
}

/* The rows of image_material.c that begin a statement, as objdump decodes them. */
struct rows {
    uint64_t lines[1024];
    uint64_t addresses[1024];
    size_t count;
};

static void read_rows(const char *file, struct rows *rows)
{
    char command[1024], line[1024];
    snprintf(command, sizeof command, "objdump --dwarf=decodedline " TG_IMAGES "/%s 2>/dev/null", file);
    FILE *objdump = popen(command, "re");
    assert_non_null(objdump);
    rows->count = 0;
    while (fgets(line, sizeof line, objdump) != NULL && rows->count < 1024) {
        char name[512];
        uint64_t number, address;
        size_t length = strcspn(line, "\n");
        if (sscanf(line, "%511s %" SCNu64 " 0x%" SCNx64, name, &number, &address) == 3 && address != 0 &&
            strstr(name, "image_material.c") != NULL && length > 0 && line[length - 1] == 'x') {
            rows->lines[rows->count] = number;
            rows->addresses[rows->count++] = address;
        }
    }
    assert_int_equal(pclose(objdump), 0);
    assert_true(rows->count > 15);
}

static bool has_row(const struct rows *rows, uint64_t line, uint64_t address)
{
    for (size_t i = 0; i < rows->count; i++)
        if (rows->lines[i] == line && (address == 0 || rows->addresses[i] == address))
            return true;
    return false;
}

static const char *const files[] = {"plain.so", "gnu.so",    "sysv.so",   "compressed.so", "prelinked.so",
                                    "pie",      "nopie",     "static",    "m32.so",        "split.so",
                                    "crc.so",   "clang4.so", "clang5.so", "zdebug.so",     "splitdwarf.so"};

/* For every line of the source: what is found are rows of that line, or of the next one that has any. */
static void every_line_makes_the_round_trip(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        struct tg_image *image = open_image(files[i]);
        if (image == NULL)
            continue;
        struct rows rows;
        const char *reference = strcmp(files[i], "split.so") == 0 ? "split.so.debug"
                                : strcmp(files[i], "crc.so") == 0 ? "crc.so.debug"
                                                                  : files[i];
        read_rows(reference, &rows);
        uint64_t last = 0;
        for (size_t k = 0; k < rows.count; k++)
            last = rows.lines[k] > last ? rows.lines[k] : last;
        for (uint64_t line = 1; line <= last; line++) {
            uint64_t expected = line, found[MAX];
            while (!has_row(&rows, expected, 0))
                expected++;
            size_t n = tg_image_find_line(image, "image_material.c", line, found, MAX);
            assert_int_not_equal(n, 0);
            for (size_t k = 0; k < n; k++)
                if (!has_row(&rows, expected, found[k]))
                    fail_msg("%s: 0x%" PRIx64 " begins no statement of line %" PRIu64, files[i], found[k],
                             expected);
        }
        assert_int_equal(tg_image_find_line(image, "image_material.c", last + 1, &(uint64_t){0}, 1), 0);
        tg_image_unref(image);
    }
}

static void a_line_has_one_address_in_each_block(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        struct tg_image *image = open_image(files[i]);
        if (image == NULL)
            continue;
        uint64_t found[MAX];
        /* inlined into two functions */
        assert_int_equal(tg_image_find_line(image, "image_material.c", line_of("inlined"), found, MAX), 2);
        assert_true(found[0] < found[1]);
        const char *name;
        uint64_t offset;
        assert_true(tg_image_symbol_at(image, found[0], &name, &offset));
        assert_string_equal(name, "tgm_line");
        assert_true(tg_image_symbol_at(image, found[1], &name, &offset));
        assert_string_equal(name, "tgm_other");
        /* Copies are found by their name, also when they are asked for once more; not where an array has no room for them. */
        for (int turn = 0; turn < 2; turn++) {
            uint64_t copies[MAX] = {0};
            size_t n = tg_image_find_copies(image, "tgm_inlined", copies, MAX);
            if (n > 0) { /* libdw reads this DWARF */
                assert_int_equal(n, 2);
                assert_string_equal(tg_image_inlined_at(image, found[turn], &offset), "tgm_inlined");
                uint64_t around;
                assert_int_equal(tg_image_find_line(image, "image_material.c", line_of("after"), &around, 1),
                                 1);
                assert_null(tg_image_inlined_at(image, around, &offset));
                assert_int_equal(copies[0] + copies[1], found[0] + found[1]);
                assert_int_equal(tg_image_find_copies(image, "tgm_inlined", copies, 1), 1);
            }
            assert_int_equal(tg_image_find_copies(image, "tgm_static", copies, MAX), 0);
        }
        /* several rows, one place */
        assert_int_equal(tg_image_find_line(image, "image_material.c", line_of("call two"), found, MAX), 1);
        assert_int_equal(tg_image_find_line(image, "image_material.c", line_of("after"), found, MAX), 1);
        tg_image_unref(image);
    }
}

static void a_line_without_code_means_the_next_one_with(void **state)
{
    (void)state;
    struct tg_image *image = open_image("plain.so");
    uint64_t without[MAX], after[MAX];
    assert_int_equal(tg_image_find_line(image, "image_material.c", line_of("without code"), without, MAX), 1);
    assert_int_equal(tg_image_find_line(image, "image_material.c", line_of("after"), after, MAX), 1);
    assert_int_equal(without[0], after[0]);
    assert_int_equal(tg_image_find_line(image, "image_material.c", 100000, after, MAX), 0);
    tg_image_unref(image);
}

static size_t count_in(const char *file, const char *name)
{
    struct tg_image *image = open_image(file);
    uint64_t found[MAX];
    size_t n = tg_image_find_line(image, name, line_of("after"), found, MAX);
    tg_image_unref(image);
    return n;
}

static void files_are_named_whole_or_by_their_last_components(void **state)
{
    (void)state;
    static const char *const images[] = {"plain.so", "gnu.so", "clang4.so", "clang5.so"}; /* DWARF 5 and 4 */
    for (size_t i = 0; i < sizeof images / sizeof *images; i++) {
        char path[512];
        snprintf(path, sizeof path, TG_IMAGES "/%s", images[i]);
        if (strncmp(images[i], "clang", 5) == 0 && access(path, R_OK) != 0)
            continue;
        assert_int_equal(count_in(images[i], "image_material.c"), 1);
        assert_int_equal(count_in(images[i], SOURCE), 1);
        assert_int_equal(count_in(images[i], "programs/image_material.c"), 1);
        assert_int_equal(count_in(images[i], "./programs/../programs//image_material.c"), 1);
        assert_int_equal(count_in(images[i], "material.c"), 0);
        assert_int_equal(count_in(images[i], "rograms/image_material.c"), 0);
        assert_int_equal(count_in(images[i], "/image_material.c"), 0);
        assert_int_equal(count_in(images[i], "x/image_material.c"), 0);
        assert_int_equal(count_in(images[i], "no_such.c"), 0);
        assert_int_equal(count_in(images[i], ""), 0);
        assert_int_equal(count_in(images[i], "/"), 0);
    }
    /* compiled by a relative name: the directory is elsewhere */
    assert_int_equal(count_in("relative4.so", SOURCE), 1);
    assert_int_equal(count_in("relative5.so", SOURCE), 1);
    assert_int_equal(count_in("relative4.so", "programs/image_material.c"), 1);
    assert_int_equal(count_in("relative5.so", "programs/image_material.c"), 1);
    assert_int_equal(count_in("relative4.so", "/elsewhere/image_material.c"), 0);
}

static void an_object_without_lines_has_none(void **state)
{
    (void)state;
    assert_int_equal(count_in("nodebug.so", "image_material.c"), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_line_makes_the_round_trip),
        cmocka_unit_test(a_line_has_one_address_in_each_block),
        cmocka_unit_test(a_line_without_code_means_the_next_one_with),
        cmocka_unit_test(files_are_named_whole_or_by_their_last_components),
        cmocka_unit_test(an_object_without_lines_has_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
