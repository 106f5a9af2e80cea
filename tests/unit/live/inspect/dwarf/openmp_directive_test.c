/* Directives of OpenMP in source text: which of them are static loops and master constructs. */
#include "live/inspect/dwarf/openmp_directive.h"

#include "tests/support/temporary.h"
#include "tests/support/trace_fixture.h"

#include <stdlib.h>
#include <string.h>

static void check_read(void **state, const char *source, struct tg_openmp_directive *directive)
{
    char *path = temporary_path(*state, "source");
    struct tg_source_lines *lines;
    const struct tg_source_text *text;
    temporary_write(path, source, strlen(source));
    assert_fine(tg_source_lines_create(&lines));
    assert_fine(tg_source_lines_find(lines, path, NULL, &text));
    (void)tg_openmp_directive_read(text, 1, directive);
    tg_source_lines_destroy(lines);
    free(path);
}

static void check(void **state, const char *source, enum tg_openmp_construct expected, uint64_t last)
{
    struct tg_openmp_directive directive;
    check_read(state, source, &directive);
    if (directive.construct != expected || directive.last != last)
        fail_msg("%s: %d and line %u, not %d and %u", source, directive.construct, (unsigned)directive.last,
                 expected, (unsigned)last);
}

static void test_static_loops(void **state)
{
    check(state, "#pragma omp for", TG_OPENMP_CONSTRUCT_STATIC_LOOP, 1);
    check(state, "  # pragma omp for schedule(static, 4) nowait\n", TG_OPENMP_CONSTRUCT_STATIC_LOOP, 1);
    check(state, "\t#pragma   omp   for simd schedule(static, 4) nowait\n", TG_OPENMP_CONSTRUCT_STATIC_LOOP,
          1);
    check(state, "#pragma omp for \\\n  private(x) \\\n nowait\nfor", TG_OPENMP_CONSTRUCT_STATIC_LOOP, 3);
    check(state, "#pragma omp parallel for num_threads(2)\n", TG_OPENMP_CONSTRUCT_STATIC_LOOP, 1);
    check(state, "!$omp workshare\n", TG_OPENMP_CONSTRUCT_STATIC_LOOP, 1);
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
    check(state, "#pragma omp parallel\n", TG_OPENMP_CONSTRUCT_NONE, 1);
    check(state, "#pragma omp parallel for schedule(guided)\n", TG_OPENMP_CONSTRUCT_NONE, 1);
    check(state, "#pragma omp parallel sections\n", TG_OPENMP_CONSTRUCT_NONE, 1);
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

static void what_else_counts_is_read(void **state)
{
    static const struct {
        const char *source;
        unsigned n_loops;
        int filter;
        bool has_barrier;
    } cases[] = {
        {"#pragma omp for collapse(3)", 3, 0, true},
        {"#pragma omp for collapse(N) nowait", 1, 0, false},
        {"#pragma omp masked filter( 2 )", 1, 2, false},
        {"#pragma omp masked filter(n)", 1, -1, false},
        {"#pragma omp barrier", 1, 0, true},
        {"#pragma omp single copyprivate(a)", 1, 0, true},
        {"#pragma omp cancel for", 1, 0, false},
        {"#pragma omp parallel for", 1, 0, false},
        {"!$omp do", 1, 0, false},
        {"!$omp end do", 1, 0, true},
        {"!$omp end do nowait", 1, 0, false},
        {"!$omp barrier", 1, 0, true},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct tg_openmp_directive found;
        check_read(state, cases[i].source, &found);
        if (found.n_loops != cases[i].n_loops || found.filter != cases[i].filter ||
            found.has_barrier != cases[i].has_barrier)
            fail_msg("%s: %u loops, filter %d, barrier %d", cases[i].source, found.n_loops, found.filter,
                     found.has_barrier);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        trace_test(test_static_loops), trace_test(test_loops_that_call),     trace_test(test_others),
        trace_test(test_master),       trace_test(what_else_counts_is_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
