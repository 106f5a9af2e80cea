/* Names in split debug information, each unit of which is in a file of its own. */
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

static void write_file(const struct temporary *temporary, const char *name, const char *text)
{
    char *path = temporary_path(temporary, name);
    temporary_write(path, text, strlen(text));
    free(path);
}

/* Both variables of that name are found, each with its file. */
static void check_twins(struct tg_image *image)
{
    struct tg_debug_info *info;
    size_t at = 0;
    enum tg_name_kind kind;
    Dwarf_Die die;
    unsigned found = 0;
    assert_null(tg_debug_info_create(image, &info));
    while (tg_name_index_next(tg_debug_info_names(info), "twin", &at, &kind, &die)) {
        const char *file = tg_debug_units_declaring_file(&die);
        assert_int_equal(kind, TG_NAME_VARIABLE);
        assert_non_null(file);
        found |= strstr(file, "one.c") != NULL ? 1 : strstr(file, "two.c") != NULL ? 2 : 4;
    }
    assert_int_equal(found, 3);
    at = 0;
    assert_true(tg_name_index_next(tg_debug_info_names(info), "pair", &at, &kind, &die));
    assert_int_equal(kind, TG_NAME_STRUCT);
    tg_debug_info_unref(info);
}

static void check(const char *compiler, const char *options)
{
    char command[1024];
    struct temporary temporary;
    struct tg_image *image;
    snprintf(command, sizeof command, "command -v %s >/dev/null", compiler);
    if (system(command) != 0)
        return;
    temporary_init(&temporary);
    char *path = temporary_path(&temporary, "both.so");
    write_file(&temporary, "one.c", "static int twin = 1;\nint first(void) { return twin++; }\n");
    write_file(&temporary, "two.c",
               "struct pair { int a, b; };\nstatic struct pair twin = {1, 2};\n"
               "int second(void) { return twin.a++; }\n");
    snprintf(command, sizeof command,
             "cd %s && %s %s -gsplit-dwarf -fPIC -c one.c && %s %s -gsplit-dwarf -fPIC -c two.c && "
             "ld -shared one.o two.o -o both.so",
             temporary.directory, compiler, options, compiler, options);
    assert_int_equal(system(command), 0);
    assert_null(tg_image_open(path, &image));
    check_twins(image);
    tg_image_unref(image);
    free(path);
    temporary_deinit(&temporary);
}

static void names_of_split_units_are_found(void **state)
{
    (void)state;
    check("gcc", "-gdwarf-4");
    check("gcc", "-gdwarf-5");
    check("clang", "-gdwarf-4");
    check("clang", "-gdwarf-5");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_of_split_units_are_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
