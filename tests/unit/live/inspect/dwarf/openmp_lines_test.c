/* Directives of OpenMP in source text: which of them are static loops and master constructs. */
#include "live/inspect/dwarf/openmp_lines.h"

#include "tests/support/temporary.h"
#include "tests/support/trace_fixture.h"

#include <string.h>

static void check(void **state, const char *source, enum tg_openmp_construct expected, uint64_t last)
{
    const struct temporary *temporary = *state;
    char path[512];
    struct tg_source_lines *lines;
    const struct tg_source_text *text;
    uint64_t found_last = 0;
    snprintf(path, sizeof path, "%s/source", temporary->directory);
    FILE *file = fopen(path, "we");
    assert_non_null(file);
    assert_int_equal(fwrite(source, 1, strlen(source), file), strlen(source));
    assert_int_equal(fclose(file), 0);
    assert_fine(tg_source_lines_create(&lines));
    assert_fine(tg_source_lines_find(lines, path, NULL, &text));
    enum tg_openmp_construct found = tg_openmp_directive(text, 1, &found_last);
    if (found != expected || found_last != last)
        fail_msg("%s: %d and line %u, not %d and %u", source, found, (unsigned)found_last, expected,
                 (unsigned)last);
    tg_source_lines_destroy(lines);
}

static void test_static_loops(void **state)
{
    check(state, "#pragma omp for", TG_OPENMP_CONSTRUCT_STATIC_LOOP, 1);
    check(state, "  # pragma omp for schedule(static, 4) nowait\n", TG_OPENMP_CONSTRUCT_STATIC_LOOP, 1);
    check(state, "\t#pragma   omp   for simd schedule(static, 4) nowait\n", TG_OPENMP_CONSTRUCT_STATIC_LOOP,
          1);
    check(state, "#pragma omp for \\\n  private(x) \\\n nowait\nfor", TG_OPENMP_CONSTRUCT_STATIC_LOOP, 3);
    check(state, "!$omp do private(ordered_list)\n", TG_OPENMP_CONSTRUCT_STATIC_LOOP, 1);
    check(state, "  !$OMP DO &\n  !$OMP SCHEDULE(STATIC)\n", TG_OPENMP_CONSTRUCT_STATIC_LOOP, 2);
}

static void test_loops_that_call(void **state)
{
    check(state, "#pragma omp for schedule(dynamic)\n", TG_OPENMP_CONSTRUCT_NONE, 1);
    check(state, "#pragma omp for schedule(monotonic: guided, 4)\n", TG_OPENMP_CONSTRUCT_NONE, 1);
    check(state, "#pragma omp for \\\n schedule ( runtime )\n", TG_OPENMP_CONSTRUCT_NONE, 2);
    check(state, "#pragma omp for ordered\n", TG_OPENMP_CONSTRUCT_NONE, 1);
    check(state, "!$omp do schedule(dynamic)\n", TG_OPENMP_CONSTRUCT_NONE, 1);
}

static void test_others(void **state)
{
    check(state, "for (;;)\n", TG_OPENMP_CONSTRUCT_NONE, 1);
    check(state, "#pragma omp\n", TG_OPENMP_CONSTRUCT_NONE, 1);
    check(state, "#pragma once\n", TG_OPENMP_CONSTRUCT_NONE, 1);
    check(state, "#pragma omp parallel for\n", TG_OPENMP_CONSTRUCT_NONE, 1);
    check(state, "#pragma omp cancel for\n", TG_OPENMP_CONSTRUCT_NONE, 1);
    check(state, "#pragma omp cancellation point for\n", TG_OPENMP_CONSTRUCT_NONE, 1);
    check(state, "#pragma omp single private(for)\n", TG_OPENMP_CONSTRUCT_NONE, 1);
    check(state, "#pragma omp taskloop\n", TG_OPENMP_CONSTRUCT_NONE, 1);
    check(state, "!$omp end do\n", TG_OPENMP_CONSTRUCT_NONE, 1);
    check(state, "!$omp & do\n", TG_OPENMP_CONSTRUCT_NONE, 1);
    check(state, "#pragma omp for \\", TG_OPENMP_CONSTRUCT_STATIC_LOOP, 1);
}

static void test_master(void **state)
{
    check(state, "#pragma omp master\n", TG_OPENMP_CONSTRUCT_MASTER, 1);
    check(state, "#pragma omp masked filter(2)\n", TG_OPENMP_CONSTRUCT_MASTER, 1);
    check(state, "!$omp master\n", TG_OPENMP_CONSTRUCT_MASTER, 1);
    check(state, "!$omp end master\n", TG_OPENMP_CONSTRUCT_NONE, 1);
    check(state, "#pragma omp master taskloop\n", TG_OPENMP_CONSTRUCT_MASTER, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        trace_test(test_static_loops),
        trace_test(test_loops_that_call),
        trace_test(test_others),
        trace_test(test_master),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
