/* The wrapper of statement S3 (docs/conformance.md): as the reader of library files has it, and as the dynamic loader does. */
#include "recorder/agent/deep/wrapper.h"

#include "recorder/agent/deep/library_file.h"

#include <dlfcn.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static unsigned char bytes[1 << 17];
static char path[64];

static size_t write_file(const char *const *needed, size_t n_needed, const char *runpath)
{
    memset(bytes, 0xaa, sizeof bytes);
    size_t size = tg_deep_wrapper_write(needed, n_needed, runpath, bytes, sizeof bytes);
    strcpy(path, "/tmp/tg_wrapper_XXXXXX");
    int fd = mkstemp(path);
    assert_true(size > 0 && fd >= 0 && write(fd, bytes, size) == (ssize_t)size);
    close(fd);
    return size;
}

static void expect(const char *const *needed, size_t n_needed, const char *runpath)
{
    struct tg_deep_library library;
    write_file(needed, n_needed, runpath);
    assert_true(tg_deep_library_open(path, &library));
    for (size_t i = 0; i < n_needed; i++)
        assert_string_equal(tg_deep_library_string(&library, DT_NEEDED, i), needed[i]);
    assert_null(tg_deep_library_string(&library, DT_NEEDED, n_needed));
    if (runpath != NULL)
        assert_string_equal(tg_deep_library_string(&library, DT_RUNPATH, 0), runpath);
    else
        assert_null(tg_deep_library_string(&library, DT_RUNPATH, 0));
    assert_null(tg_deep_library_string(&library, DT_SONAME, 0));
    assert_false(tg_deep_library_defines(&library, "malloc") || tg_deep_library_defines(&library, ""));
    tg_deep_library_close(&library);
    unlink(path);
}

static void s3_it_lists_what_is_needed_in_order(void **state)
{
    (void)state;
    expect((const char *const[]){"/lib/agent.so", "libtarget.so.1", "./with blanks, and commas.so"}, 3, NULL);
    expect((const char *const[]){"libtarget.so"}, 1, "$ORIGIN/lib:/opt/x");
    expect(NULL, 0, NULL);
    const char *many[TG_DEEP_WRAPPER_MAX_NEEDED];
    for (size_t i = 0; i < TG_DEEP_WRAPPER_MAX_NEEDED; i++)
        many[i] = i % 2 == 0 ? "libodd.so" : "";
    expect(many, TG_DEEP_WRAPPER_MAX_NEEDED, "x");
}

/* All sizes from 0 on: too little room is nothing written beyond it, and 0. */
static void room(void **state)
{
    (void)state;
    const char *const needed[] = {"liba.so", "libb.so"};
    size_t whole = tg_deep_wrapper_write(needed, 2, "/x", bytes, sizeof bytes);
    assert_true(whole > sizeof(ElfW(Ehdr)));
    for (size_t size = 0; size < whole; size++) {
        memset(bytes, 0x55, whole + 16);
        assert_int_equal(tg_deep_wrapper_write(needed, 2, "/x", bytes, size), 0);
        for (size_t i = size; i < whole + 16; i++)
            assert_int_equal(bytes[i], 0x55);
    }
    assert_int_equal(tg_deep_wrapper_write(needed, 2, "/x", bytes, whole), whole);
    const char *many[TG_DEEP_WRAPPER_MAX_NEEDED + 1];
    for (size_t i = 0; i <= TG_DEEP_WRAPPER_MAX_NEEDED; i++)
        many[i] = "x";
    assert_int_equal(tg_deep_wrapper_write(many, TG_DEEP_WRAPPER_MAX_NEEDED + 1, NULL, bytes, sizeof bytes),
                     0);
}

/* The loader takes it, and what it needs with it; the symbols are those of the library. */
static void s4_the_loader_takes_it(void **state)
{
    (void)state;
    write_file((const char *const[]){"libc.so.6"}, 1, NULL);
    void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    unlink(path);
    assert_non_null(handle);
    assert_ptr_equal(dlsym(handle, "getpagesize"), dlsym(RTLD_DEFAULT, "getpagesize"));
    assert_int_equal(dlclose(handle), 0);
    write_file((const char *const[]){"libthere_is_none.so.9"}, 1, NULL);
    assert_null(dlopen(path, RTLD_NOW));
    assert_non_null(strstr(dlerror(), "libthere_is_none.so.9"));
    unlink(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(s3_it_lists_what_is_needed_in_order),
        cmocka_unit_test(room),
        cmocka_unit_test(s4_the_loader_takes_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
