/* Names of the bodies of tasks that clang makes functions of: those of the functions that they were written in. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "recorder/dwarf/debug_info.h"
#include "tests/support/temporary.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static void write_file(const struct temporary *temporary, const char *name, const char *text)
{
    char *path = temporary_path(temporary, name);
    temporary_write(path, text, strlen(text));
    free(path);
}

/* The library's task, which is the only one. */
static void check_task(struct tg_image *image, const char *expected)
{
    struct tg_debug_info *info;
    uint64_t address;
    assert_null(tg_debug_info_create(image, &info));
    assert_int_equal(tg_image_find_function(image, ".omp_task_entry.", &address, 1), 1);
    const struct tg_code_place *place = tg_debug_info_place(info, address);
    assert_non_null(place);
    for (size_t i = 0; i < place->count; i++)
        if (place->calls[i].name == NULL || strcmp(place->calls[i].name, expected) != 0)
            fail_msg("%s, not %s", place->calls[i].name, expected);
    tg_debug_info_unref(info);
}

/* Compiles "unit.cc". Skips where there is no clang. */
static void check(const struct temporary *temporary, const char *optimization, const char *expected)
{
    char command[512];
    struct tg_image *image;
    char *path = temporary_path(temporary, "unit.so");
    if (system("command -v clang++ >/dev/null") != 0)
        skip();
    snprintf(command, sizeof command,
             "cd %s && clang++ -g %s -fopenmp -fPIC -c unit.cc -o unit.o && ld -shared unit.o -o unit.so",
             temporary->directory, optimization);
    assert_int_equal(system(command), 0);
    assert_null(tg_image_open(path, &image));
    check_task(image, expected);
    tg_image_unref(image);
    free(path);
}

static void check_text(const char *text, const char *expected)
{
    struct temporary temporary;
    temporary_init(&temporary);
    write_file(&temporary, "unit.cc", text);
    check(&temporary, "-O0", expected);
    check(&temporary, "-O2", expected);
    temporary_deinit(&temporary);
}

#define BEGIN                                                                                                \
    "int g;\n"                                                                                               \
    "static void solve(int n)\n"                                                                             \
    "{\n"                                                                                                    \
    "#pragma omp parallel\n"                                                                                 \
    "  {\n"
#define TASK                                                                                                 \
    "#pragma omp task\n"                                                                                     \
    "    g += 2;\n"
#define END                                                                                                  \
    "  }\n"                                                                                                  \
    "}\n"                                                                                                    \
    "int run() { solve(3); return g; }\n"

/* In front of a task, in a region, whose own code has no name. */
static void functions_within_it_are_left_aside(void **state)
{
    (void)state;
    check_text(BEGIN "    auto twice = [&](int i) {\n      g += i;\n    };\n"
                     "    twice(n);\n" TASK END,
               "solve");
    check_text(BEGIN "    struct once { static __attribute__((noinline)) void add(int i) {\n"
                     "      g += i;\n    } };\n"
                     "    once::add(n);\n" TASK END,
               "solve");
}

static void a_lambda_has_its_own_tasks(void **state)
{
    (void)state;
    check_text("int g;\n"
               "void solve(int n)\n"
               "{\n"
               "  auto twice = [&](int i) __attribute__((noinline)) {\n"
               "    g += i;\n" TASK "    g += i;\n"
               "  };\n"
               "  twice(n);\n"
               "}\n",
               "solve::$_0::operator()");
}

/* Another file of that name has code at lines in front, too. */
static void files_are_told_by_their_directories(void **state)
{
    (void)state;
    struct temporary temporary;
    temporary_init(&temporary);
    char *first = temporary_path(&temporary, "first"), *second = temporary_path(&temporary, "second");
    assert_int_equal(mkdir(first, 0700), 0);
    assert_int_equal(mkdir(second, 0700), 0);
    write_file(&temporary, "first/kernel.h", BEGIN "\n\n" TASK END);
    write_file(&temporary, "second/kernel.h", "void other()\n{\n\n\n\n  g++;\n  g--;\n}\n");
    write_file(&temporary, "unit.cc", "#include \"first/kernel.h\"\n#include \"second/kernel.h\"\n");
    check(&temporary, "-O0", "solve");
    check(&temporary, "-O0 -gsplit-dwarf", "solve");
    free(first);
    free(second);
    temporary_deinit(&temporary);
}

/* With more rows in front of the task than are looked at, several of each line. */
static void a_long_region_is_gone_through(void **state)
{
    (void)state;
    enum { LINES = 300 };
    static const char line[] = "    { int v = f(g); g += f(v) + f(v + 1); if (g) f(v); }\n";
    struct temporary temporary;
    char *text = NULL;
    size_t size;
    FILE *stream = open_memstream(&text, &size);
    fputs("int f(int);\n" BEGIN, stream);
    for (int i = 0; i < LINES; i++)
        fputs(line, stream);
    fputs(TASK END, stream);
    fclose(stream);
    temporary_init(&temporary);
    write_file(&temporary, "unit.cc", text);
    check(&temporary, "-O0", "solve");
    temporary_deinit(&temporary);
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(functions_within_it_are_left_aside),
        cmocka_unit_test(a_lambda_has_its_own_tasks),
        cmocka_unit_test(files_are_told_by_their_directories),
        cmocka_unit_test(a_long_region_is_gone_through),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
