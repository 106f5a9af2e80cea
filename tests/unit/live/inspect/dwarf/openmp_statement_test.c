/* Statements of OpenMP directives in source text: where they end, and the loops around them. */
#include "live/inspect/dwarf/openmp_statement.h"

#include "tests/support/temporary.h"
#include "tests/support/trace_fixture.h"

#include <stdlib.h>
#include <string.h>

/* SOURCE has a directive that counts in line NUMBER. */
static void check(void **state, const char *source, uint64_t number, const char *expected,
                  enum tg_openmp_rounds rounds)
{
    char *path = temporary_path(*state, "source"), found[128] = "none";
    struct tg_source_lines *lines;
    const struct tg_source_text *text;
    struct tg_openmp_directive directive;
    struct tg_openmp_statement statement;
    struct tg_openmp_text *parts;
    temporary_write(path, source, strlen(source));
    assert_fine(tg_source_lines_create(&lines));
    assert_fine(tg_source_lines_find(lines, path, NULL, &text));
    assert_true(tg_openmp_directive_read(text, number, &directive));
    assert_fine(tg_openmp_text_create(text, directive.is_fortran, &parts));
    if (tg_openmp_text_statement(parts, &directive, &statement))
        snprintf(found, sizeof found, "%d:%d %d:%d", (int)statement.header.line,
                 statement.header.column == TG_SOURCE_LAST_COLUMN ? -1 : (int)statement.header.column,
                 (int)statement.end.line,
                 statement.end.column == TG_SOURCE_LAST_COLUMN ? -1 : (int)statement.end.column);
    enum tg_openmp_rounds around = tg_openmp_text_rounds(parts, number);
    if (strcmp(found, expected) != 0 || around != rounds)
        fail_msg("%s: %s and rounds %d, not %s and %d", source, found, around, expected, rounds);
    tg_openmp_text_destroy(parts);
    tg_source_lines_destroy(lines);
    free(path);
}

static void statements_of_c_end_where_they_do(void **state)
{
    check(state, "#pragma omp master\nx = f(\";\", '}', 1'000); y;", 1, "1:-1 2:23", TG_OPENMP_ONCE);
    check(state, "#pragma omp masked filter(2)\n/* { */ { if (x) { y; }\n} // }\n", 1, "1:-1 3:1",
          TG_OPENMP_ONCE);
    check(state, "#pragma omp master\nif (a)\n b;\nelse { c; }\nd;\n", 1, "1:-1 4:11", TG_OPENMP_ONCE);
    check(state, "#pragma omp master\nauto f = [&] { return 1; }; g;\n", 1, "1:-1 2:27", TG_OPENMP_ONCE);
    check(state, "#pragma omp master\ndo x++; while (x < (3));\ny;\n", 1, "1:-1 2:24", TG_OPENMP_ONCE);
    check(state, "#pragma omp for\nfor (int i = 0; i < n; i++)\n  for (;;)\n#pragma omp critical\n    x++;\n",
          1, "2:27 5:8", TG_OPENMP_ONCE);
    check(state,
          "#pragma omp for \\\n  collapse(2)\nfor (int i = 0; i < n; i++) {\n  for (int k = 0; k < n; k++) "
          "x++;\n}\n",
          1, "4:29 5:1", TG_OPENMP_ONCE);
    check(state, "#pragma omp for\n#ifdef X\n;}\n#endif\nLOOP(i) x;\n", 1, "none", TG_OPENMP_ONCE);
    check(state, "#pragma omp master\n{ x; ", 1, "none", TG_OPENMP_ONCE);
}

static void loops_around_are_found_in_c(void **state)
{
    check(state, "void f() { for (;;) { }\n#pragma omp master\nx; while (1); }\n", 2, "2:-1 3:2",
          TG_OPENMP_ONCE);
    check(state, "void f() { for (;;) {\n#pragma omp master\nx; } }\n", 2, "2:-1 3:2", TG_OPENMP_AGAIN);
    check(state, "void f() { do\n#pragma omp master\nx; while (1); }\n", 2, "2:-1 3:2", TG_OPENMP_AGAIN);
    check(state, "void f() { while (a) { if (b) {\n#pragma omp master\nx; }\n#pragma omp barrier\n} }\n", 2,
          "2:-1 3:2", TG_OPENMP_WITH_BARRIER);
    check(state,
          "void f() { while (a) { if (b) {\n#pragma omp master\nx; }\n#pragma omp for nowait\nfor(;;); } }\n",
          2, "2:-1 3:2", TG_OPENMP_AGAIN);
    check(state, "void f() { again:\n#pragma omp master\nx; goto again; }\n", 2, "2:-1 3:2",
          TG_OPENMP_WITH_BARRIER);
}

static void fortran_is_read(void **state)
{
    check(state,
          "do k = 1, 3 ! rounds\n  !$omp do\n  outer: do i = 1, &\n    n\n    do j = 1, 2\n    end do\n  end "
          "do outer\n"
          "  !$omp end do nowait\nend do\n",
          2, "4:-1 7:-1", TG_OPENMP_AGAIN);
    check(state,
          "DO WHILE (x)\n  !$OMP DO COLLAPSE(2)\n  do i = 1, n\n    do j = 1, 2\n    enddo\n  ENDDO\n  !$omp "
          "end do\nend do\n",
          2, "4:-1 6:-1", TG_OPENMP_WITH_BARRIER);
    check(state, "do i = 1, 2\nend do\n!$omp master\ndone = 1\n!$omp end master\n", 3, "3:-1 5:-1",
          TG_OPENMP_ONCE);
    check(state,
          "subroutine f\ndo i = 1, 2\nend subroutine\n!$omp master\nif (x) goto 10\n!$omp end master\n", 4,
          "4:-1 6:-1", TG_OPENMP_ONCE);
    check(state, "10 x = 1\nif (x) goto 10\n!$omp master\n!$omp end master\n", 3, "3:-1 4:-1",
          TG_OPENMP_WITH_BARRIER);
    check(state, "!$omp workshare\na = b\n!$omp end workshare nowait\n", 1, "1:-1 3:-1", TG_OPENMP_ONCE);
    check(state, "!$omp master\nx = 1\n", 1, "none", TG_OPENMP_ONCE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        trace_test(statements_of_c_end_where_they_do),
        trace_test(loops_around_are_found_in_c),
        trace_test(fortran_is_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
