#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "recorder/stacks/code_table.h"
#include "tests/support/inspected_child.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

struct told {
    char modules[200]; /* of the names that were told, in their order */
};

static void take(void *context, const struct tg_event *event)
{
    struct told *told = context;
    assert_int_equal(event->kind, TG_EVENT_CODE_NAME);
    size_t used = strlen(told->modules);
    snprintf(told->modules + used, sizeof told->modules - used, "%s ", event->code_name.module);
}

/* The program's own code is named before that of the system's packages, however early these were noted: on a busy machine
 * the time for names was gone when the C library's were read. */
static void the_programs_own_code_is_named_first(void **state)
{
    (void)state;
    struct inspected_caches caches;
    struct tg_modules *modules;
    struct tg_code_table *table;
    uint64_t bias;
    inspected_caches_create(&caches);
    assert_null(tg_modules_create(getpid(), caches.images, caches.debug, &modules));
    assert_null(tg_modules_refresh(modules));
    assert_null(tg_code_table_create(&table));
    struct tg_debug_info *info = tg_modules_debug_info_at(modules, (uintptr_t)take, &bias);
    assert_non_null(info);
    static const char *const paths[] = {"/usr/bin/orterun", "/lib/x86_64-linux-gnu/libc.so.6",
                                        "[vdso]",           "/usr/local/lib/own.so",
                                        "/home/ann/solve",  "/library/x"};
    for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++) {
        const struct tg_module module = {.path = paths[i], .build_id = ""};
        tg_code_table_add(table, &module, info, (uintptr_t)take - bias + i); /* each once */
    }
    struct told told = {""};
    assert_int_equal(tg_code_table_tell(table, 0, true, take, &told), 6);
    assert_string_equal(told.modules, "");
    assert_int_equal(tg_code_table_tell(table, UINT64_MAX, true, take, &told), 0);
    assert_string_equal(told.modules, "/usr/local/lib/own.so /home/ann/solve /library/x "
                                      "/usr/bin/orterun /lib/x86_64-linux-gnu/libc.so.6 [vdso] ");
    tg_code_table_destroy(table);
    tg_modules_destroy(modules);
    inspected_caches_destroy(&caches);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(the_programs_own_code_is_named_first)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
