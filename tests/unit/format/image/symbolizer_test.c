/* Names of the code of regions and tasks that clang makes functions of, as those who read a trace see them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "format/image/image.h"
#include "format/image/symbolizer.h"
#include "tests/support/temporary.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char text[] = "namespace mesh {\n"
                           "int g;\n"
                           "void call();\n"
                           "__attribute__((noinline)) void solve(int n)\n"
                           "{\n"
                           "#pragma omp parallel\n"
                           "  {\n"
                           "    g += n;\n"
                           "    call();\n"
                           "#pragma omp task\n"
                           "    g += 2;\n"
                           "  }\n"
                           "}\n"
                           "}\n"
                           "int run() { mesh::solve(3); return mesh::g; }\n";

struct names {
    struct tg_symbolizer *symbolizer;
    const char *path;
    const char *build_id;
    const char *function; /* of those named below; NULL: they keep the compiler's name */
    unsigned n_bodies;
};

static void check_symbol(void *context, const struct tg_image_symbol *symbol)
{
    struct names *names = context;
    struct tg_symbol found = {0};
    for (uint64_t at = 0; at < symbol->size_bytes; at++) {
        assert_true(tg_symbolizer_resolve(names->symbolizer, names->path, names->build_id,
                                          symbol->address + at, &found));
        if (found.function == NULL ||
            (names->function == NULL ? strstr(found.function, ".omp_") == NULL
                                     : strcmp(found.function, names->function) != 0))
            fail_msg("%s+%d is in %s", symbol->name, (int)at, found.function);
    }
    names->n_bodies++;
}

/* Skips where there is no clang. COMPILE: the command's end, which makes unit.o. FINISH: a command with which the library is as users
 * have it. */
static void check_compiled(const char *options, const char *compile, const char *finish, const char *function)
{
    char command[1024];
    struct temporary temporary;
    struct tg_image *image;
    if (system("command -v clang++ >/dev/null") != 0)
        skip();
    temporary_init(&temporary);
    char *path = temporary_path(&temporary, "unit.so"), *source = temporary_path(&temporary, "unit.cc");
    temporary_write(source, text, strlen(text));
    snprintf(command, sizeof command,
             "cd %s && clang++ %s -fopenmp -fPIC %s && ld -shared --build-id unit.o -o unit.so && %s",
             temporary.directory, options, compile, finish);
    assert_int_equal(system(command), 0);
    assert_null(tg_image_open(path, &image));
    struct names names = {.path = path, .build_id = tg_image_info(image)->build_id, .function = function};
    assert_null(tg_symbolizer_create(&names.symbolizer));
    tg_image_each_symbol(image, ".omp_", true, check_symbol, &names);
    tg_image_each_symbol(image, "_ZN4mesh5solveEi.omp_", true, check_symbol, &names);
    assert_true(names.n_bodies > 1);
    tg_symbolizer_destroy(names.symbolizer);
    tg_image_unref(image);
    free(source);
    free(path);
    temporary_deinit(&temporary);
}

static void check(const char *options, const char *finish, const char *function)
{
    check_compiled(options, "-c unit.cc", finish, function);
}

/* As clang names them since release 16; where tasks are declared it does not say. */
static void names_with_their_function_in_them(void **state)
{
    static const char compile[] =
        "-S unit.cc && sed -i -z 's/[.]omp_outlined[.]_debug__/_ZN4mesh5solveEi.omp_outlined_debug__/g;"
        "s/[.]omp_outlined[.][.]1/_ZN4mesh5solveEi.omp_outlined/g;"
        "s/59\\( *# DW_AT_decl_line\\n[^\\n]*\\n\\t[.]byte\\t32 *# DW_AT_inline\\)/90\\1/g' unit.s && "
        "clang++ -c unit.s 2>/dev/null";
    (void)state;
    check_compiled("-g -O0", compile, "true", "mesh::solve");
    check_compiled("-g -O2", compile, "true", "mesh::solve");
}

static void a_body_goes_by_its_function(void **state)
{
    (void)state;
    check("-g -O0", "true", "mesh::solve");
    check("-g -O2", "true", "mesh::solve");
    check("-g -O0",
          "objcopy --only-keep-debug unit.so unit.so.debug && objcopy -S "
          "--add-gnu-debuglink=unit.so.debug unit.so",
          "mesh::solve");
}

/* A trace may be anyone's, and so is what its objects name: a pipe would be waited for without end. */
static void files_that_debug_information_names_stay_closed(void **state)
{
    (void)state;
    (void)alarm(60);
    check("-g -O0 -gsplit-dwarf", "true", NULL);
    check("-g -O0 -gsplit-dwarf", "rm unit.dwo && mkfifo unit.dwo", NULL);
    check("-gdwarf-4 -O0 -gsplit-dwarf", "rm unit.dwo && mkfifo unit.dwo", NULL);
    if (system("command -v dwz >/dev/null") == 0) {
        const char *share = "cp unit.so other.so && dwz -m $PWD/shared.debug unit.so other.so";
        char broken[256];
        snprintf(broken, sizeof broken, "%s && rm shared.debug && mkfifo shared.debug", share);
        check("-g -gdwarf-4 -O0", share, "mesh::solve");
        check("-g -gdwarf-4 -O0", broken, NULL);
    }
    (void)alarm(0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_body_goes_by_its_function),
        cmocka_unit_test(names_with_their_function_in_them),
        cmocka_unit_test(files_that_debug_information_names_stay_closed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
