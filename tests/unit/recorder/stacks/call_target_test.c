#include "recorder/stacks/call_target.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

/* Calls that are never made; each returns to "NAME_pc". */
extern const char near_pc[], slot_pc[], register_pc[], none_pc[], stub_pc[], callee[];
__asm__(".text\n"
        "callee: ret\n"
        "calls: call callee\n near_pc:\n"
        "call *callee_slot(%rip)\n slot_pc:\n"
        "call *%rax\n register_pc:\n"
        "nop\n nop\n nop\n nop\n nop\n nop\n none_pc:\n"
        "call getppid@PLT\n stub_pc:\n"
        "ud2\n"
        ".data\n.balign 8\ncallee_slot: .quad callee\n.text\n");

static bool read_own(void *context, uint64_t address, void *buffer, size_t size)
{
    (void)context;
    memcpy(buffer, (const void *)address, size); /* NOLINT(performance-no-int-to-ptr) */
    return true;
}

static const struct tg_inspect_memory memory = {NULL, read_own};

static void test_targets(void **state)
{
    (void)state;
    struct tg_image_cache *images;
    struct tg_debug_cache *debug;
    struct tg_modules *modules;
    const char *name = "";
    uint64_t offset = 1;
    assert_true(getppid() > 0); /* where its stub leads to is known from the first call on */
    assert_null(tg_image_cache_create(16, &images));
    assert_null(tg_debug_cache_create(16, &debug));
    assert_null(tg_modules_create(getpid(), images, debug, &modules));
    assert_null(tg_modules_refresh(modules));
    assert_int_equal(tg_call_target_find(modules, &memory, (uint64_t)near_pc), (uint64_t)callee);
    assert_int_equal(tg_call_target_find(modules, &memory, (uint64_t)slot_pc), (uint64_t)callee);
    assert_int_equal(tg_call_target_find(modules, &memory, (uint64_t)register_pc), 0);
    assert_int_equal(tg_call_target_find(modules, &memory, (uint64_t)none_pc), 0);
    uint64_t target = tg_call_target_find(modules, &memory, (uint64_t)stub_pc);
    assert_true(target != 0 && tg_modules_symbol_at(modules, target, &name, &offset));
    assert_non_null(strstr(name, "getppid"));
    assert_int_equal(offset, 0);
    tg_modules_destroy(modules);
    tg_debug_cache_destroy(debug);
    tg_image_cache_destroy(images);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_targets),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
