/* Library files that are not loaded: libc's own, and ones that somebody has broken, byte by byte. */
#include "recorder/agent/deep/library_file.h"

#include "recorder/agent/deep/wrapper.h"

#include <dlfcn.h>
#include <elf.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static char path[64];

static bool open_bytes(const unsigned char *bytes, size_t size, struct tg_deep_library *library)
{
    strcpy(path, "/tmp/tg_library_XXXXXX");
    int fd = mkstemp(path);
    assert_true(fd >= 0 && write(fd, bytes, size) == (ssize_t)size);
    close(fd);
    bool opened = tg_deep_library_open(path, library);
    unlink(path);
    return opened;
}

static void what_libc_says(void **state)
{
    (void)state;
    Dl_info info;
    struct tg_deep_library library;
    assert_true(dladdr((const void *)(uintptr_t)&getpagesize, &info) != 0 &&
                strstr(info.dli_fname, "libc.so") != NULL);
    assert_true(tg_deep_library_open(info.dli_fname, &library));
    assert_string_equal(tg_deep_library_string(&library, DT_SONAME, 0), "libc.so.6");
    assert_non_null(strstr(tg_deep_library_string(&library, DT_NEEDED, 0), "ld-linux"));
    assert_null(tg_deep_library_string(&library, DT_NEEDED, 5));
    assert_true(tg_deep_library_defines(&library, "malloc") &&
                tg_deep_library_defines(&library, "getpagesize"));
    assert_false(tg_deep_library_defines(&library, "mallo") ||
                 tg_deep_library_defines(&library, "no_such_function"));
    assert_false(tg_deep_library_defines(&library, "_dl_find_dso_for_object")); /* needs that of ld.so */
    tg_deep_library_close(&library);
    tg_deep_library_close(&library); /* twice is no harm */
}

static void what_is_no_library(void **state)
{
    (void)state;
    struct tg_deep_library library;
    static const char text[2000] = "#!/bin/sh\n";
    static const char *const paths[] = {"/proc/none", "/", "/dev/null", "/proc/self/maps", ""};
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++)
        assert_false(tg_deep_library_open(paths[i], &library));
    assert_false(open_bytes((const unsigned char *)text, sizeof text, &library));
    assert_false(open_bytes((const unsigned char *)"\177ELF", 4, &library));
    assert_int_equal(mkfifo("/tmp/tg_library_fifo", 0600) == 0 || access("/tmp/tg_library_fifo", F_OK) == 0,
                     1);
    assert_false(tg_deep_library_open("/tmp/tg_library_fifo", &library)); /* and does not wait */
    unlink("/tmp/tg_library_fifo");
}

/* Whatever one byte of the file is instead, and wherever the file ends: no answer leads out of it. */
static void broken_files(void **state)
{
    (void)state;
    static unsigned char whole[8192], broken[8192];
    static const unsigned char values[] = {0, 1, 0x7f, 0x80, 0xff};
    const char *const needed[] = {"liba.so", "libb.so"};
    size_t size = tg_deep_wrapper_write(needed, 2, "/x", whole, sizeof whole);
    struct tg_deep_library library;
    unsigned opened = 0, refused = 0;
    assert_true(open_bytes(whole, size, &library));
    tg_deep_library_close(&library);
    for (size_t i = 0; i < size + 100; i++)
        for (size_t k = 0; k < (i < size ? sizeof values : 1); k++) {
            size_t length = i < size ? size : size - (i - size) * size / 100;
            memcpy(broken, whole, size);
            if (i < size)
                broken[i] = values[k];
            if (!open_bytes(broken, length, &library)) {
                refused++;
                continue;
            }
            opened++;
            for (size_t which = 0; which < 4; which++) {
                const char *text = tg_deep_library_string(&library, DT_NEEDED, which);
                if (text != NULL)
                    assert_true(strlen(text) < size);
            }
            assert_false(tg_deep_library_defines(&library, "malloc"));
            tg_deep_library_close(&library);
        }
    assert_true(opened > 100 && refused > 100);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_libc_says),
        cmocka_unit_test(what_is_no_library),
        cmocka_unit_test(broken_files),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
