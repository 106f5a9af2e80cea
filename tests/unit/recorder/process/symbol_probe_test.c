#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "format/image/image.h"
#include "recorder/process/symbol_probe.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PATH_BYTES = 512, MAX_FILE_BYTES = 1 << 20 };

/* Files of every make; those that this machine cannot build are not there. */
static const char *const files[] = {
    "plain.so",   "gnu.so",    "sysv.so", "nobuildid.so",  "versions.so", "compressed.so", "prelinked.so",
    "pie",        "nopie",     "static",  "static-pie",    "stripped.so", "split.so",      "crc.so",
    "nodebug.so", "zdebug.so", "tiny.so", "splitdwarf.so", "m32.so",      "m32gnu.so",
};
enum { N_FILES = sizeof files / sizeof *files };

static bool path_of(const char *file, char path[PATH_BYTES])
{
    snprintf(path, PATH_BYTES, TG_IMAGES "/%s", file);
    return access(path, R_OK) == 0;
}

static struct tg_image *open_image(const char *path)
{
    struct tg_image *image = NULL;
    struct tg_error *error = tg_image_open(path, &image);
    if (error != NULL)
        fail_msg("%s", tg_error_message(error));
    return image;
}

static bool lacks(const char *path, const char *build_id, const char *const *names, size_t n_names)
{
    struct tg_symbol_probe *probe = tg_symbol_probe_create();
    assert_non_null(probe);
    const struct tg_image_source source = {.pid = getpid(), .path = path, .build_id = build_id};
    bool result = tg_symbol_probe_lacks(probe, &source, names, n_names);
    tg_symbol_probe_destroy(probe);
    return result;
}

static bool lacks_one(const char *path, const char *build_id, const char *name)
{
    return lacks(path, build_id, &name, 1);
}

/* ---- answers */

static const char nowhere[] = "tollgate_function_of_no_library";

static void a_name_that_is_nowhere_is_lacking(void **state)
{
    (void)state;
    size_t seen = 0;
    for (size_t i = 0; i < N_FILES; i++) {
        char path[PATH_BYTES], command[PATH_BYTES + 64];
        if (!path_of(files[i], path))
            continue;
        struct tg_image *image = open_image(path);
        const char *build_id = tg_image_info(image)->build_id;
        snprintf(command, sizeof command, "readelf -SW %s | grep -q ' SYMTAB '", path);
        bool expected = build_id[0] != '\0' && system(command) == 0;
        if (lacks_one(path, build_id, nowhere) != expected)
            fail_msg("%s: %s", files[i], expected ? "not said to be lacking" : "said to be lacking");
        seen += expected;
        tg_image_unref(image);
    }
    assert_true(seen >= 8);
}

/* Symbols that `nm OPTIONS` shows of PATH, functions or not, are never said to be lacking. */
static size_t compare_with_nm(const char *path, const char *build_id, const char *options)
{
    char command[PATH_BYTES + 64], line[4096];
    snprintf(command, sizeof command, "nm %s --defined-only %s 2>/dev/null", options, path);
    FILE *nm = popen(command, "re");
    assert_non_null(nm);
    size_t count = 0;
    while (fgets(line, sizeof line, nm) != NULL) {
        char name[2048];
        if (sscanf(line, "%*x %*c %2047s", name) != 1)
            continue;
        if (lacks_one(path, build_id, name))
            fail_msg("%s: %s is there", path, name);
        const char *both[] = {nowhere, name};
        assert_false(lacks(path, build_id, both, 2));
        count++;
    }
    pclose(nm);
    return count;
}

static void no_symbol_is_lacking(void **state)
{
    (void)state;
    for (size_t i = 0; i < N_FILES; i++) {
        char path[PATH_BYTES];
        if (!path_of(files[i], path))
            continue;
        struct tg_image *image = open_image(path);
        const char *build_id = tg_image_info(image)->build_id;
        size_t count = compare_with_nm(path, build_id, "") + compare_with_nm(path, build_id, "-D");
        assert_true(count > 0 || strstr(files[i], "pie") != NULL || strcmp(files[i], "static") == 0);
        tg_image_unref(image);
    }
}

static void a_version_is_no_part_of_the_name(void **state)
{
    (void)state;
    char path[PATH_BYTES];
    assert_true(path_of("versions.so", path));
    struct tg_image *image = open_image(path);
    const char *build_id = tg_image_info(image)->build_id;
    assert_false(lacks_one(path, build_id, "tgm_line@NEW"));
    assert_false(lacks_one(path, build_id, "tgm_line@@NEW"));
    assert_true(lacks_one(path, build_id, "tollgate_function_of_no_library@NEW"));
    tg_image_unref(image);
}

static void what_cannot_be_told_is_not_lacking(void **state)
{
    (void)state;
    char path[PATH_BYTES];
    assert_true(path_of("plain.so", path));
    struct tg_image *image = open_image(path);
    const char *build_id = tg_image_info(image)->build_id;
    assert_true(lacks_one(path, build_id, nowhere));
    assert_false(lacks_one(path, "0123456789abcdef0123456789abcdef01234567", nowhere)); /* another file */
    assert_false(lacks_one(path, "", nowhere));
    assert_false(lacks_one(path, NULL, nowhere));
    assert_false(lacks_one(path, build_id, ""));
    assert_false(lacks_one("/nothing/here.so", build_id, nowhere));
    assert_false(lacks_one("linux-vdso.so.1", build_id, nowhere));
    assert_false(lacks_one("/dev/null", build_id, nowhere));
    assert_false(lacks(path, build_id, NULL, 0));
    const char *many[TG_SYMBOL_PROBE_MAX_NAMES + 1];
    for (size_t i = 0; i <= TG_SYMBOL_PROBE_MAX_NAMES; i++)
        many[i] = nowhere;
    assert_true(lacks(path, build_id, many, TG_SYMBOL_PROBE_MAX_NAMES));
    assert_false(lacks(path, build_id, many, TG_SYMBOL_PROBE_MAX_NAMES + 1));
    tg_image_unref(image);
}

static void a_fifo_is_not_waited_for(void **state)
{
    (void)state;
    char folder[] = "/tmp/tollgate-probe-XXXXXX", path[128];
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/fifo", folder);
    assert_int_equal(mkfifo(path, 0600), 0);
    assert_false(lacks_one(path, "00", nowhere));
    unlink(path);
    rmdir(folder);
}

/* ---- damage */

static size_t read_whole(const char *path, uint8_t *bytes)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    ssize_t n = read(fd, bytes, MAX_FILE_BYTES);
    close(fd);
    assert_true(n > 0 && n < MAX_FILE_BYTES);
    return (size_t)n;
}

/* Any answer will do; a sanitizer says whether it was read out of bounds. A present name may get lost. */
static void damaged_and_cut_files_do_no_harm(void **state)
{
    (void)state;
    char path[PATH_BYTES], scratch[] = "/tmp/tollgate-probe-XXXXXX";
    assert_true(path_of("tiny.so", path));
    struct tg_image *image = open_image(path);
    char build_id[129];
    snprintf(build_id, sizeof build_id, "%s", tg_image_info(image)->build_id);
    tg_image_unref(image);
    static uint8_t bytes[MAX_FILE_BYTES];
    size_t size = read_whole(path, bytes);
    int fd = mkostemp(scratch, O_CLOEXEC);
    assert_true(fd >= 0);
    assert_int_equal(pwrite(fd, bytes, size, 0), size);
    for (size_t at = 0; at < size; at++) {
        const uint8_t values[] = {0, 0xff, (uint8_t)(bytes[at] ^ 0x80)};
        for (size_t i = 0; i < sizeof values; i++) {
            assert_int_equal(pwrite(fd, &values[i], 1, (off_t)at), 1);
            (void)lacks_one(scratch, build_id, nowhere);
        }
        assert_int_equal(pwrite(fd, &bytes[at], 1, (off_t)at), 1);
    }
    assert_true(lacks_one(scratch, build_id, nowhere) || build_id[0] == '\0');
    for (size_t left = size; left-- > 0;) {
        assert_int_equal(ftruncate(fd, (off_t)left), 0);
        (void)lacks_one(scratch, build_id, nowhere);
    }
    close(fd);
    unlink(scratch);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_name_that_is_nowhere_is_lacking),
        cmocka_unit_test(no_symbol_is_lacking),
        cmocka_unit_test(a_version_is_no_part_of_the_name),
        cmocka_unit_test(what_cannot_be_told_is_not_lacking),
        cmocka_unit_test(a_fifo_is_not_waited_for),
        cmocka_unit_test(damaged_and_cut_files_do_no_harm),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
