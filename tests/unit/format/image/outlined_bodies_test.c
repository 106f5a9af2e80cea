/* What a search for the function that a body is written in costs: a file can have many bodies, behind many functions. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "format/image/image.h"
#include "format/image/outlined_bodies.h"
#include "tests/support/temporary.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    LAMBDAS_BEFORE_TASK = 20,
    N_LAMBDAS = 600,
    N_TASKS = N_LAMBDAS / LAMBDAS_BEFORE_TASK,
    N_STATEMENTS = 2000
};

struct asked {
    struct tg_debug_units *units;
    struct tg_outlined_bodies *bodies;
    unsigned n_named;
};

/* Each task has lambdas in front that end there, and much of the function is behind. */
static void write_source(const char *path)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs("int g;\nvoid run(void)\n{\n  g = 1;\n", file);
    for (int i = 0; i < N_LAMBDAS; i++)
        fprintf(file, "  auto f%d = [] {\n    g++;\n  };\n%s", i,
                i % LAMBDAS_BEFORE_TASK == 0 ? "#pragma omp task\n  g += 2;\n" : "");
    for (int i = 0; i < N_LAMBDAS; i++)
        fprintf(file, "  f%d();\n", i);
    for (int i = 0; i < N_STATEMENTS; i++)
        fputs("  g++;\n", file);
    fputs("}\n", file);
    assert_int_equal(fclose(file), 0);
}

static bool is_code(void *context, uint64_t address)
{
    (void)context;
    (void)address;
    return true;
}

static void ask(void *context, const struct tg_image_symbol *symbol)
{
    struct asked *asked = context;
    const struct tg_outlined_owner owner =
        tg_outlined_bodies_at(asked->bodies, asked->units, symbol->address);
    asked->n_named += owner.name != NULL && strcmp(owner.name, "run") == 0;
}

static void many_bodies_behind_many_functions_are_cheap(void **state)
{
    (void)state;
    char command[1024];
    struct temporary temporary;
    struct tg_image *image;
    if (system("command -v clang++ >/dev/null") != 0)
        skip();
    temporary_init(&temporary);
    char *path = temporary_path(&temporary, "unit.so"), *source = temporary_path(&temporary, "unit.cc");
    write_source(source);
    snprintf(command, sizeof command,
             "cd %s && clang++ -g -O0 -fopenmp -fPIC -c unit.cc -o unit.o && ld -shared unit.o -o unit.so",
             temporary.directory);
    assert_int_equal(system(command), 0);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    (void)elf_version(EV_CURRENT);
    Elf *elf = elf_begin(fd, ELF_C_READ, NULL);
    Dwarf *dwarf = dwarf_begin_elf(elf, DWARF_C_READ, NULL);
    assert_non_null(dwarf);
    assert_null(tg_image_open(path, &image));
    struct asked asked = {.units = tg_debug_units_create(dwarf, 0, is_code, NULL, TG_DEBUG_UNITS_OWN_FILE),
                          .bodies = tg_outlined_bodies_create()};
    assert_non_null(asked.units);
    assert_non_null(asked.bodies);
    tg_image_each_symbol(image, ".omp_task_entry", true, ask, &asked);
    assert_true(asked.n_named >= N_TASKS);
    assert_true(tg_debug_units_steps(asked.units) < UINT64_C(100) * 1000);
    tg_image_unref(image);
    tg_outlined_bodies_destroy(asked.bodies);
    tg_debug_units_destroy(asked.units);
    dwarf_end(dwarf);
    elf_end(elf);
    close(fd);
    free(source);
    free(path);
    temporary_deinit(&temporary);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(many_bodies_behind_many_functions_are_cheap),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
