#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "recorder/dwarf/modules.h"
#include "tests/support/inspected_child.h"
#include "tests/support/temporary.h"

#include <dlfcn.h>
#include <dwarf.h>
#include <fcntl.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

/* The process that is looked at is this one: it maps what the tests need. */
struct fixture {
    struct inspected_caches caches;
    struct tg_modules *modules;
};

static int setup(void **state)
{
    struct fixture *f = calloc(1, sizeof *f);
    inspected_caches_create(&f->caches);
    assert_null(tg_modules_create(getpid(), f->caches.images, f->caches.debug, &f->modules));
    assert_null(tg_modules_refresh(f->modules));
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *f = *state;
    tg_modules_destroy(f->modules);
    inspected_caches_destroy(&f->caches);
    free(f);
    return 0;
}

static void finds_the_program_and_its_libraries(void **state)
{
    struct fixture *f = *state;
    const struct tg_module *program = tg_modules_find(f->modules, (uintptr_t)setup);
    assert_non_null(program);
    char path[4096];
    ssize_t n = readlink("/proc/self/exe", path, sizeof path - 1);
    assert_true(n > 0);
    path[n] = '\0';
    assert_string_equal(program->path, path);
    assert_true(program->start <= (uintptr_t)setup && (uintptr_t)setup < program->end);
    static int data;
    assert_ptr_equal(tg_modules_find(f->modules, (uintptr_t)&data), program);
    Dl_info libc;
    assert_true(dladdr(dlsym(RTLD_DEFAULT, "gnu_get_libc_version"), &libc));
    const struct tg_module *module = tg_modules_find(f->modules, (uintptr_t)libc.dli_saddr);
    assert_non_null(module);
    assert_int_equal(module->start, (uintptr_t)libc.dli_fbase);
    assert_non_null(strstr(module->path, "libc.so"));
    const char *name;
    uint64_t offset;
    assert_true(tg_modules_symbol_at(f->modules, (uintptr_t)libc.dli_saddr + 3, &name, &offset));
    assert_int_equal(offset, 3);
    assert_null(tg_modules_find(f->modules, 0));
    assert_null(tg_modules_find(f->modules, UINT64_MAX));
    assert_null(tg_modules_find(f->modules, (uintptr_t)&n)); /* the stack */
    for (size_t i = 1; i < tg_modules_count(f->modules); i++)
        assert_true(tg_modules_at(f->modules, i - 1)->end <= tg_modules_at(f->modules, i)->start);
}

static void keeps_what_stays(void **state)
{
    struct fixture *f = *state;
    const struct tg_module *before = tg_modules_find(f->modules, (uintptr_t)setup);
    uint64_t bias;
    struct tg_debug_info *info = tg_modules_debug_info(f->modules, before, &bias);
    assert_non_null(info);
    assert_null(tg_modules_refresh(f->modules));
    assert_ptr_equal(tg_modules_find(f->modules, (uintptr_t)setup), before);
    assert_ptr_equal(tg_modules_debug_info(f->modules, before, &bias), info);
}

static void shares_between_processes(void **state)
{
    struct fixture *f = *state;
    struct tg_modules *other;
    assert_null(tg_modules_create(getpid(), f->caches.images, f->caches.debug, &other));
    assert_null(tg_modules_refresh(other));
    uint64_t bias;
    struct tg_debug_info *info = tg_modules_debug_info_at(f->modules, (uintptr_t)setup, &bias);
    assert_non_null(info);
    assert_ptr_equal(tg_modules_debug_info_at(other, (uintptr_t)setup, &bias), info);
    assert_int_equal(tg_image_cache_stats(f->caches.images).opened, 1);
    tg_modules_destroy(other);
}

static void knows_the_vdso(void **state)
{
    struct fixture *f = *state;
    uint64_t address = getauxval(AT_SYSINFO_EHDR);
    if (address == 0)
        skip();
    const struct tg_module *vdso = tg_modules_find(f->modules, address);
    assert_non_null(vdso);
    assert_string_equal(vdso->path, "[vdso]");
    uint64_t bias;
    struct tg_debug_info *info = tg_modules_debug_info(f->modules, vdso, &bias);
    assert_non_null(info);
    uint64_t functions[4];
    assert_true(tg_image_find_function(tg_debug_info_image(info), "__vdso_clock_gettime", functions, 4) > 0);
    Dwarf_CFI *cfi = tg_debug_info_eh_frame(info);
    assert_non_null(cfi);
    Dwarf_Frame *frame;
    assert_int_equal(dwarf_cfi_addrframe(cfi, functions[0], &frame), 0);
    free(frame);
    assert_null(tg_debug_info_dwarf(info));
}

/* ---- the code of one object */

static inline __attribute__((always_inline)) uint64_t here(void)
{
    uint64_t address;
    __asm__ volatile("lea 0(%%rip), %0" : "=r"(address));
    return address; /* HERE */
}

static __attribute__((noinline)) uint64_t calls_here(volatile int *argument)
{
    uint64_t address = 0;
    for (int i = 0; i < *argument; i++) {
        int local = i;
        address = here() + (uint64_t)(local - i); /* CALL */
    }
    return address;
}

static int line_of(const char *mark)
{
    FILE *file = fopen(__FILE__, "re");
    assert_non_null(file);
    char line[512], comment[64];
    snprintf(comment, sizeof comment, "/* %s */", mark);
    int number = 1;
    while (fgets(line, sizeof line, file) != NULL && strstr(line, comment) == NULL)
        number++;
    assert_false(feof(file));
    fclose(file);
    return number;
}

static void knows_functions_scopes_and_lines(void **state)
{
    struct fixture *f = *state;
    int one = 1;
    uint64_t address = calls_here(&one) - 1, bias; /* of the instruction that tells it */
    struct tg_debug_info *info = tg_modules_debug_info_at(f->modules, address, &bias);
    assert_non_null(info);
    struct tg_debug_units *units = tg_debug_info_units(info);
    assert_non_null(units);
    Dwarf_Die unit, function, scopes[16];
    assert_true(tg_debug_units_find(units, address - bias, &unit));
    assert_true(strstr(dwarf_diename(&unit), "modules_test.c") != NULL);
    assert_true(tg_debug_units_function_at(units, address - bias, &function));
    assert_string_equal(tg_debug_units_function_name(&function), "calls_here");
    size_t n = tg_debug_units_scopes_at(units, address - bias, scopes, 16);
    assert_true(n >= 2 && n < 16);
    size_t i = 0;
    while (i < n && dwarf_tag(&scopes[i]) == DW_TAG_lexical_block)
        i++;
    assert_int_equal(dwarf_tag(&scopes[i]), DW_TAG_inlined_subroutine);
    assert_string_equal(tg_debug_units_function_name(&scopes[i]), "here");
    const char *file;
    int line;
    assert_true(tg_debug_units_call_site(&scopes[i], &file, &line));
    assert_string_equal(strrchr(file, '/'), "/modules_test.c");
    assert_int_equal(line, line_of("CALL"));
    assert_int_equal(dwarf_tag(&scopes[n - 1]), DW_TAG_subprogram);
    struct tg_debug_row row;
    assert_true(tg_modules_row_at(f->modules, address, &row));
    assert_string_equal(strrchr(row.file, '/'), "/modules_test.c");
    assert_in_range(row.line, line_of("HERE") - 2, line_of("HERE"));
    assert_true(row.start <= address && address < row.end);
    assert_false(tg_modules_row_at(f->modules, 1, &row));
    assert_int_equal(tg_debug_units_scopes_at(units, 1, scopes, 16), 0);
    assert_int_equal(tg_debug_units_scopes_at(units, address - bias, scopes, 1), 1);
}

/* Every function that the symbol table of this program knows is found by its addresses. */
struct walk {
    struct tg_debug_units *units;
    size_t n_functions, n_found;
};

static void check_symbol(void *context, const struct tg_image_symbol *symbol)
{
    struct walk *walk = context;
    Dwarf_Die function;
    if (symbol->size_bytes < 2 ||
        strstr(symbol->name, ".cold") != NULL || /* jumped into, within a statement */
        !tg_debug_units_function_at(walk->units, symbol->address + symbol->size_bytes / 2, &function))
        return;
    walk->n_functions++;
    const char *name = tg_debug_units_function_name(&function);
    walk->n_found += name != NULL && strncmp(name, symbol->name, strlen(name)) == 0;
    struct tg_debug_row row;
    assert_true(tg_debug_units_row_at(walk->units, symbol->address, &row));
    assert_int_equal(row.start, symbol->address);
    assert_true(row.is_stmt);
}

static void every_function_of_the_program(void **state)
{
    struct fixture *f = *state;
    uint64_t bias;
    struct tg_debug_info *info = tg_modules_debug_info_at(f->modules, (uintptr_t)setup, &bias);
    struct walk walk = {.units = tg_debug_info_units(info)};
    tg_image_each_symbol(tg_debug_info_image(info), "tg_debug_", false, check_symbol, &walk);
    assert_true(walk.n_functions >= 10);
    assert_int_equal(walk.n_found, walk.n_functions);
}

/* ---- files that are not what is mapped */

static void copy_file(const char *from, const char *to)
{
    char command[1024];
    snprintf(command, sizeof command, "cp %s %s", from, to);
    assert_int_equal(system(command), 0);
}

static void replaced_and_deleted_files(void **state)
{
    struct fixture *f = *state;
    struct temporary temporary;
    temporary_init(&temporary);
    char *path = temporary_path(&temporary, "lib.so");
    copy_file(TG_IMAGES "/plain.so", path);
    void *library = dlopen(path, RTLD_NOW);
    assert_non_null(library);
    assert_int_equal(unlink(path), 0);
    copy_file(TG_IMAGES "/gnu.so", path);
    assert_null(tg_modules_refresh(f->modules));
    const struct link_map *map = library;
    const struct tg_module *module = tg_modules_find(f->modules, (uintptr_t)map->l_ld);
    assert_non_null(module);
    assert_non_null(strstr(module->path, "(deleted)"));
    uint64_t bias;
    struct tg_debug_info *info = tg_modules_debug_info(f->modules, module, &bias);
    assert_non_null(info);
    assert_int_equal(bias, map->l_addr);
    struct tg_image *image = tg_debug_info_image(info);
    assert_string_equal(tg_image_info(image)->soname, "libplain.so.1");
    assert_non_null(tg_debug_info_eh_frame(info));
    dlclose(library);
    assert_null(tg_modules_refresh(f->modules));
    assert_null(tg_modules_find(f->modules, bias));
    free(path);
    temporary_deinit(&temporary);
}

static void separate_debug_files(void **state)
{
    (void)state;
    static const char *const names[] = {"plain.so",      "split.so",  "crc.so",
                                        "compressed.so", "clang5.so", "splitdwarf.so"};
    size_t n_tested = 0;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char path[512];
        snprintf(path, sizeof path, TG_IMAGES "/%s", names[i]);
        if (access(path, R_OK) != 0)
            continue;
        n_tested++;
        struct tg_image *image;
        struct tg_debug_info *info;
        assert_null(tg_image_open(path, &image));
        assert_null(tg_debug_info_create(image, &info));
        tg_image_unref(image);
        uint64_t address;
        assert_int_equal(tg_image_find_function(image, "tgm_exported", &address, 1), 1);
        struct tg_debug_units *units = tg_debug_info_units(info);
        assert_non_null(units);
        Dwarf_Die function;
        assert_true(tg_debug_units_function_at(units, address, &function));
        assert_string_equal(tg_debug_units_function_name(&function), "tgm_exported");
        struct tg_debug_row row;
        assert_true(tg_debug_units_row_at(units, address, &row));
        assert_string_equal(strrchr(row.file, '/'), "/image_material.c");
        tg_debug_info_unref(info);
    }
    assert_true(n_tested >= 5);
}

static void stays_bounded(void **state)
{
    struct fixture *f = *state;
    struct tg_debug_cache *cache;
    assert_null(tg_debug_cache_create(1, &cache));
    struct tg_image *images[2];
    struct tg_debug_info *infos[2];
    assert_null(tg_image_open(TG_IMAGES "/plain.so", &images[0]));
    assert_null(tg_image_open(TG_IMAGES "/gnu.so", &images[1]));
    for (size_t i = 0; i < 2; i++)
        assert_null(tg_debug_cache_get(cache, images[i], &infos[i]));
    for (size_t i = 0; i < 2; i++) {
        struct tg_debug_info *again;
        assert_null(tg_debug_cache_get(cache, images[i], &again));
        assert_ptr_equal(again, infos[i]);
        tg_debug_cache_put(cache, again);
        tg_debug_cache_put(cache, infos[i]);
    }
    /* the first one had to go; both can be had again */
    for (size_t i = 0; i < 2; i++) {
        assert_null(tg_debug_cache_get(cache, images[i], &infos[i]));
        assert_ptr_equal(tg_debug_info_image(infos[i]), images[i]);
    }
    tg_debug_cache_destroy(cache); /* in use: they live on */
    for (size_t i = 0; i < 2; i++) {
        assert_non_null(tg_debug_info_dwarf(infos[i]));
        tg_debug_info_unref(infos[i]);
        tg_image_unref(images[i]);
    }
    (void)f;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(finds_the_program_and_its_libraries, setup, teardown),
        cmocka_unit_test_setup_teardown(keeps_what_stays, setup, teardown),
        cmocka_unit_test_setup_teardown(shares_between_processes, setup, teardown),
        cmocka_unit_test_setup_teardown(knows_the_vdso, setup, teardown),
        cmocka_unit_test_setup_teardown(knows_functions_scopes_and_lines, setup, teardown),
        cmocka_unit_test_setup_teardown(every_function_of_the_program, setup, teardown),
        cmocka_unit_test_setup_teardown(replaced_and_deleted_files, setup, teardown),
        cmocka_unit_test_setup_teardown(separate_debug_files, setup, teardown),
        cmocka_unit_test_setup_teardown(stays_bounded, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
