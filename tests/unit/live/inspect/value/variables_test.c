/* Values that programs of every compiler here print of their own variables are those read from them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tcl.h>
#include <time.h>
#include <unistd.h>

#include "live/inspect/dwarf/module_scene.h"
#include "live/inspect/expression/condition.h"
#include "live/inspect/expression/expression.h"
#include "live/inspect/value/text.h"
#include "recorder/unwind/unwind.h"
#include "tests/support/inspected_child.h"

/* A program that is stopped at its breakpoint instruction. */
struct child {
    struct inspected_child of;
    FILE *output;
    struct tg_module_scene *scenes;
    struct tg_frame frame, caller;
    bool has_caller;
    uint64_t fs_base;
    struct tg_inspect_wide_registers wide;
};

/* BACK: bytes that the pc has gone too far. */
static void take_registers(struct child *child, uint64_t back)
{
    struct tg_registers registers;
    struct tg_unwind_note note;
    stopped_child_registers(&child->of.child, &registers);
    registers.value[TG_RIP] -= back;
    child->fs_base = stopped_child_fs_base(&child->of.child);
    child->wide = stopped_child_wide_registers(&child->of.child);
    child->frame = tg_frame_innermost(&registers);
    child->has_caller = tg_unwind_caller(child->of.modules, &child->of.memory, &child->frame, &child->caller,
                                         &note) == TG_UNWIND_CALLER;
}

static void start(struct child *child, const char *program, const char *argument)
{
    int ends[2];
    const char *const argv[] = {program, argument, NULL};
    assert_int_equal(pipe(ends), 0);
    assert_int_equal(fcntl(ends[0], F_SETFL, O_NONBLOCK), 0); /* output of the child is there when it stops */
    assert_true(inspected_child_start(&child->of, &inspected_shared_caches, argv, ends[1]));
    close(ends[1]);
    child->output = fdopen(ends[0], "r");
    stopped_child_continue(&child->of.child, 0);
    assert_int_equal(child->of.child.signal, SIGTRAP);
    assert_null(tg_modules_refresh(child->of.modules));
    assert_null(tg_module_scene_create(child->of.modules, &child->scenes));
    take_registers(child, 1); /* over the breakpoint instruction */
}

static void finish(struct child *child)
{
    tg_module_scene_destroy(child->scenes);
    inspected_child_finish(&child->of);
    if (child->output != NULL)
        fclose(child->output);
}

static const struct tg_scene *scene_of(struct child *child)
{
    return tg_module_scene_of(child->scenes, &child->of.memory, &child->wide, &child->frame,
                              child->has_caller ? &child->caller : NULL, child->fs_base);
}

/* The text of EXPRESSION in SCENE, or of its error; the caller's. */
static char *shown(const struct tg_scene *scene, const char *text)
{
    char *result = NULL;
    size_t size, position = 0;
    FILE *out = open_memstream(&result, &size);
    struct tg_expression *expression = NULL;
    struct tg_value value;
    struct tg_error *error = tg_expression_parse(text, &expression, &position);
    if (error == NULL)
        error = tg_expression_evaluate(expression, scene, &value, &position);
    if (error == NULL)
        error = tg_value_print(scene, &value, &tg_value_style_default, out);
    if (error != NULL)
        fprintf(out, "%zu: %s", position, tg_error_message(error));
    tg_error_destroy(error);
    tg_expression_destroy(expression);
    fclose(out);
    return result;
}

/* Compares all that the program said. What an optimizing compiler has removed may be missing, but not more
 * than MAX_MISSING of them. */
static void compare(const char *program, const char *argument, unsigned max_missing, unsigned min_lines)
{
    struct child child;
    char line[512];
    unsigned lines = 0, missing = 0, wrong = 0;
    start(&child, program, argument);
    const struct tg_scene *scene = scene_of(&child);
    /* the program has written all before it stopped: an end of what is there ends the loop */
    while (lines < min_lines && fgets(line, sizeof line, child.output) != NULL) {
        char *tab = strchr(line, '\t');
        assert_non_null(tab);
        *tab = '\0';
        tab[1 + strcspn(tab + 1, "\n")] = '\0';
        char *text = shown(scene, line);
        lines++;
        if (strcmp(text, tab + 1) != 0) {
            bool is_missing = strstr(text, "optimized out") != NULL ||
                              strstr(text, "not known in this frame") != NULL ||
                              strstr(text, "its size is not known") != NULL; /* clang 19 */
            missing += is_missing;
            wrong += !is_missing;
            if (!is_missing || max_missing == 0)
                print_error("%s: %s is '%s', read as '%s'\n", program, line, tab + 1, text);
        }
        free(text);
    }
    finish(&child);
    assert_int_equal(lines, min_lines);
    assert_int_equal(wrong, 0);
    assert_true(missing <= max_missing);
}

enum { LINES = 68, LINES_INLINED = 56 };

static void test_gcc(void **state)
{
    (void)state;
    compare(VARIABLES_FOLDER "/variables_gcc_O0", "x", 0, LINES);
    compare(VARIABLES_FOLDER "/variables_gcc_O2", "x", 6, LINES);
    compare(VARIABLES_FOLDER "/variables_gcc_O0", "inlined", 0, LINES_INLINED);
    compare(VARIABLES_FOLDER "/variables_gcc_O2", "inlined", 0, LINES_INLINED);
}

static void test_clang(void **state)
{
    (void)state;
    if (access(VARIABLES_FOLDER "/variables_clang_O0", X_OK) != 0)
        skip();
    compare(VARIABLES_FOLDER "/variables_clang_O0", "x", 0, LINES);
    compare(VARIABLES_FOLDER "/variables_clang_O2", "x", 8, LINES);
    compare(VARIABLES_FOLDER "/variables_clang_O0", "inlined", 0, LINES_INLINED);
    compare(VARIABLES_FOLDER "/variables_clang_O2", "inlined", 2, LINES_INLINED);
}

/* In registers of every kind. */
static void test_reals(void **state)
{
    (void)state;
    enum { REALS = 9 };
    static const struct {
        const char *program;
        unsigned max_missing; /* variables that the compiler has removed */
    } programs[] = {{"reals_gcc_O0", 0},       {"reals_gcc_O1", 4},   {"reals_gcc_O2", 3},
                    {"reals_clang_O0", 0},     {"reals_clang_O1", 2}, {"reals_clang_O2", 2},
                    {"reals_clang_spilled", 2}};
    for (size_t i = 0; i < sizeof programs / sizeof *programs; i++) {
        char path[512];
        snprintf(path, sizeof path, VARIABLES_FOLDER "/%s", programs[i].program);
        if (access(path, X_OK) == 0)
            compare(path, "x", programs[i].max_missing, REALS);
    }
}

static void test_classes(void **state)
{
    (void)state;
    enum { CLASSES = 33 };
    if (access(VARIABLES_FOLDER "/classes_gcc", X_OK) != 0)
        skip();
    compare(VARIABLES_FOLDER "/classes_gcc", "x", 0, CLASSES);
    compare(VARIABLES_FOLDER "/classes_gcc_4", "x", 0, CLASSES);
}

/* What is in libstdc++'s containers; also in damaged ones, which must end and say so. */
static void test_containers(void **state)
{
    (void)state;
    enum { CONTAINERS = 45 };
    static const char *const programs[] = {VARIABLES_FOLDER "/containers_gcc",
                                           VARIABLES_FOLDER "/containers_gcc_4",
                                           VARIABLES_FOLDER "/containers_clang"};
    for (size_t i = 0; i < sizeof programs / sizeof *programs; i++)
        if (access(programs[i], X_OK) == 0)
            compare(programs[i], "x", 0, CONTAINERS);
}

static void check_text(struct child *child, const char *expression, const char *expected)
{
    char *text = shown(scene_of(child), expression);
    assert_string_equal(text, expected);
    free(text);
}

/* Runs PROGRAM to the first instruction of FUNCTION. */
static void start_at(struct child *child, const char *program, const char *function)
{
    const char *const argv[] = {program, "x", NULL};
    int quiet = open("/dev/null", O_WRONLY | O_CLOEXEC);
    assert_true(inspected_child_start(&child->of, &inspected_shared_caches, argv, quiet));
    close(quiet);
    child->output = NULL;
    inspected_child_run_to(&child->of, function);
    assert_null(tg_module_scene_create(child->of.modules, &child->scenes));
    take_registers(child, 0);
}

/* Arguments before the prologue has stored them; in between, and behind. */
static void test_entry(void **state)
{
    (void)state;
    static const char *const programs[] = {VARIABLES_FOLDER "/variables_gcc_O0",
                                           VARIABLES_FOLDER "/variables_clang_O0",
                                           VARIABLES_FOLDER "/variables_gcc_O2"};
    for (size_t i = 0; i < sizeof programs / sizeof *programs; i++) {
        struct child child;
        if (access(programs[i], X_OK) != 0)
            continue;
        start_at(&child, programs[i], "look");
        for (unsigned steps = 0; steps < 3; steps++) {
            check_text(&child, "argument", "3");
            check_text(&child, "real", "8.25");
            check_text(&child, "node->at.x", "3");
            check_text(&child, "size", "7");
            stopped_child_step(&child.of.child);
            take_registers(&child, 0);
        }
        finish(&child);
    }
}

/* Bounds, strides, what is allocated and what is not. */
static void test_fortran(void **state)
{
    (void)state;
    struct child child;
    if (access(VARIABLES_FOLDER "/arrays", X_OK) != 0)
        skip();
    start_at(&child, VARIABLES_FOLDER "/arrays", "__arrays_MOD_stop_here");
    assert_true(child.has_caller);
    struct tg_unwind_note note;
    child.frame = child.caller; /* the call of that frame */
    child.has_caller = tg_unwind_caller(child.of.modules, &child.of.memory, &child.frame, &child.caller,
                                        &note) == TG_UNWIND_CALLER;
    child.wide.read = NULL;
    check_text(&child, "n", "2");
    check_text(&child, "a", "{{42, 0}, {0, 0}, {0, 0}}");
    check_text(&child, "a(1,0)", "42");
    check_text(&child, "assumed", "{{1, 2, 3}, {4, 5, 6}, {7, 8, 9}}");
    check_text(&child, "assumed(2:3,3)", "{5, 6}");
    check_text(&child, "text", "\"hello\"");
    check_text(&child, "z", "1 + 2i");
    check_text(&child, "flag", "true");
    check_text(&child, "local(-1)", "1.5");
    check_text(&child, "local(0:2)", "{3, 4.5, 6}");
    check_text(&child, "every_other", "{10, 8, 6, 4, 2}");
    check_text(&child, "every_other(2)", "8");
    check_text(&child, "never", "0: not allocated");
    check_text(&child, "who", "{point = {x = 3, y = 4}, name = \"bob \", data = {1, 2}, next = 0x0}");
    check_text(&child, "who%y", "4");
    check_text(&child, "who%name", "\"bob \"");
    check_text(&child, "2*who%y", "8");
    check_text(&child, "WHO%Y / 2 + N**3", "10");
    check_text(&child, "-n**2", "-4");
    check_text(&child, "2**3**2", "512");
    check_text(&child, "2.0**(-1)", "0.5");
    check_text(&child, "n /= 2", "0");
    check_text(&child, "flag .eqv. n == 2 .and. flag .neqv. .false.", "1");
    check_text(&child, "n % 2", "0"); /* no member can be called 2 */
    check_text(&child, "*deferred", "\"late\"");
    check_text(&child, "global(2,3)", "7");
    check_text(&child, "arrays::counter", "17");
    finish(&child);
}

/* Errors point at the character, and name what is similar. */
static void test_errors(void **state)
{
    struct child child;
    (void)state;
    start(&child, VARIABLES_FOLDER "/variables_gcc_O0", "x");
    check_text(&child, "1 + countre", "4: no variable or function 'countre' here; similar: counter");
    check_text(&child, "zq", "0: no variable or function 'zq' here");
    check_text(&child, "counter +", "9: expected a name, a number or '(', found the end");
    check_text(&child, "all.node.wrong",
               "8: no member 'wrong'; members are next, name, at, narrow, negative, flag");
    check_text(&child, "node.at", "4: this is a pointer: use '->' for its members");
    check_text(&child, "counter = 3", "8: assignment is not supported: '==' compares");
    check_text(&child, "counter++", "7: assignment is not supported");
    check_text(&child, "counter /= 2", "8: assignment is not supported");
    check_text(&child, "counter**2", "8: not a pointer");
    check_text(&child, "add(1, 2)", "3: function calls are not supported");
    check_text(&child, "grid[0:5]", "4: 0:5 is outside its bounds 0:1");
    check_text(&child, "grid[1][2][3]", "10: not an array");
    check_text(&child, "*counter", "0: not a pointer");
    check_text(&child, "counter / 0", "8: division by 0");
    check_text(&child, "$xyz",
               "0: no register 'xyz' here; registers are rax to rdx, rsi, rdi, rbp, rsp, r8 to r15, rip, and "
               "their parts such as eax");
    check_text(&child, "'other.c'::hidden",
               "0: no variable or function 'hidden' in file 'other.c'; "
               "similar: hidden");
    check_text(&child, "(struct poin)1", "0: no struct, union, enum or class 'poin' here; similar: point");
    check_text(&child, "*(int *)16", "<error: cannot read memory at 0x10>");
    check_text(&child, "(char *)16", "0x10 <error: cannot read memory at 0x10>");
    check_text(&child, "*opaque", "<incomplete type>");
    check_text(&child, "&all.node.narrow", "0: a bit-field has no address");
    check_text(&child, "greeting[0:17]", "\"hello \\\"you\\\"\\n\\e[31m\"");
    finish(&child);
}

/* "1", "0", or what is wrong. */
static char *decided(struct child *child, const char *text)
{
    struct tg_condition *condition = NULL;
    bool holds = false;
    char *result = NULL;
    struct tg_error *error = tg_condition_create(text, &condition, NULL);
    if (error == NULL)
        error = tg_condition_decide(condition, scene_of(child), &holds);
    if (error == NULL) /* once more, compiled and remembered */
        error = tg_condition_decide(condition, scene_of(child), &holds);
    result = strdup(error == NULL ? (holds ? "1" : "0") : tg_error_message(error));
    tg_error_destroy(error);
    tg_condition_destroy(condition);
    return result;
}

static void check_condition(struct child *child, const char *condition, const char *expected)
{
    char *text = decided(child, condition);
    if (strstr(text, expected) == NULL || (strlen(expected) == 1 && strlen(text) != 1))
        fail_msg("{%s}: '%s', expected '%s'", condition, text, expected);
    free(text);
}

/* Values that would keep the tracing thread busy for long, or for ever. */
static void test_conditions_in_bounds(void **state)
{
    static const char *const refused[] = {
        "[while 1 {}]",
        "[catch {while 1 {set x 1}}] || 1",
        "[exec touch x]",
        "[open /etc/passwd]",
        "[expr {2 ** 999999999}]",
        "[string length [expr {1 << 999999999}]]",
        "[eval {string length x}]",
        "[{*}{expr 1}]",
        "[::string length x]",
        "[set x 1; string length x]",
        "[$counter]",
        "\"[while 1 {}]\" eq {}",
    };
    struct child child;
    (void)state;
    start(&child, VARIABLES_FOLDER "/variables_gcc_O0", "x");
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++)
        check_condition(&child, refused[i], "a condition can only use the commands string ");
    check_condition(&child, "[string repeat x 999999999] eq {}",
                    "unknown or ambiguous subcommand \"repeat\"");
    check_condition(&child, "[string map {x y} x] eq {y}", "unknown or ambiguous subcommand \"map\"");
    check_condition(&child, "$counter ** 999999999", "is not supported in conditions");
    check_condition(&child, "1 + (2 * -$counter ** 3)", "is not supported in conditions");
    check_condition(&child, "1 << 999999999", "conditions shift by 0 to 63");
    check_condition(&child, "1 << $counter << (60 + 1 << 4) << 2", "conditions shift by 0 to 63");
    check_condition(&child, "(1 << (($counter - 40) * 2 + abs(-1)) << -(1 - 2)) == 16 << 60 >> 60", "1");
    check_condition(&child, "1<<-1", "conditions shift by 0 to 63");
    check_condition(&child, "1 << 63 << 63 == pow(2, 126) && 1 << (1 << 2) == 16", "1");
    check_condition(&child, "{1 << 999999999} eq \"<<\" || 1 << [string length $buffer] == 8", "1");
    check_condition(&child, "[string match *a*a*a*a*a*a*a*a*a*a*a*a*a*a*b [string range $buffer 0 end]]",
                    "0");
    check_condition(
        &child,
        "[string first c $buffer] == 2 && [string is alpha $buffer] && [string toupper $buffer] eq {ABC}",
        "1");
    finish(&child);
}

static void test_conditions(void **state)
{
    struct child child;
    char text[128];
    (void)state;
    start(&child, VARIABLES_FOLDER "/variables_gcc_O0", "x");
    check_condition(&child, "$counter > 40 && $argument == 3", "1");
    check_condition(&child, "$counter > 41", "0");
    snprintf(text, sizeof text, "$rsp == %llu && $rip != 0",
             (unsigned long long)child.frame.registers.value[TG_RSP]);
    check_condition(&child, text, "1");
    check_condition(&child, "${all.points[1].y} == 4 && ${node->at.x} == 3", "1");
    check_condition(&child, "${grid[1][2]} + $hidden == -1", "1");
    check_condition(&child, "$wide > 18364758544493064719", "1");
    check_condition(&child, "$real > 8.2", "1");
    check_condition(&child, "$buffer eq \"abc\"", "1");
    check_condition(&child, "[string match {a*} $buffer] && $per_thread == 77", "1");
    check_condition(&child, "$opaque != 0 && ${opaque->x} == 1", "0"); /* not asked for */
    check_condition(&child, "${opaque->x} == 1", "$opaque->x: ");
    check_condition(&child, "$countre > 1", "similar: counter");
    check_condition(&child, "$counter >", "not a valid Tcl expression");
    check_condition(&child, "counter >", "; a variable is written ${EXPRESSION}, as in ${p->n}, or $counter");
    /* as C has it */
    check_condition(&child, "counter > 40 && argument == 3", "1");
    check_condition(&child, "all.points[1].y == 4 && node->at.x == 3 && counter*2 > 80", "1");
    check_condition(&child, "!(counter > 41) && -hidden != counter && buffer eq {abc}", "1");
    check_condition(&child, "abs(hidden) >= 0 && counter > 0x10", "1");
    check_condition(&child, "countre > 1", "similar: counter");
    check_condition(&child, "${counter +} > 1", "found the end");
    check_condition(&child, "$counter ** 999999999", "is not supported in conditions");
    check_condition(&child, "\"$counter\"", "1");
    check_condition(&child, "\"some\"", "expected boolean value");
    finish(&child);
}

/* CONDITION decided COUNT times: what one costs. */
static int measure(const char *program, const char *text, long count)
{
    struct child child;
    struct tg_condition *condition = NULL;
    struct timespec from, to;
    bool holds;
    start(&child, program, "x");
    struct tg_error *error = tg_condition_create(text, &condition, NULL);
    clock_gettime(CLOCK_MONOTONIC, &from);
    for (long i = 0; error == NULL && i < count; i++)
        error = tg_condition_decide(condition, scene_of(&child), &holds);
    clock_gettime(CLOCK_MONOTONIC, &to);
    double ns = (double)(to.tv_sec - from.tv_sec) * 1e9 + (double)(to.tv_nsec - from.tv_nsec);
    printf("{%s}: %s %.2f us each\n", text, error == NULL ? "" : tg_error_message(error),
           ns / 1e3 / (double)count);
    tg_error_destroy(error);
    tg_condition_destroy(condition);
    finish(&child);
    return 0;
}

int main(int argc, char **argv)
{
    Tcl_FindExecutable(argv[0]);
    if (argc > 2) /* by hand, below */
        inspected_caches_create(&inspected_shared_caches);
    if (argc == 4 && strcmp(argv[2], "-condition") == 0) /* PROGRAM -condition TEXT: to measure one by hand */
        return measure(argv[1], argv[3], 100000);
    if (argc > 2) { /* PROGRAM EXPRESSION...: to look into one by hand */
        struct child child;
        start(&child, argv[1], "x");
        for (int i = 2; i < argc; i++) {
            char *text = shown(scene_of(&child), argv[i]);
            printf("%s = %s\n", argv[i], text);
            free(text);
        }
        finish(&child);
        return 0;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_gcc),        cmocka_unit_test(test_clang),
        cmocka_unit_test(test_reals),      cmocka_unit_test(test_classes),
        cmocka_unit_test(test_containers), cmocka_unit_test(test_entry),
        cmocka_unit_test(test_fortran),    cmocka_unit_test(test_errors),
        cmocka_unit_test(test_conditions), cmocka_unit_test(test_conditions_in_bounds),
    };
    return cmocka_run_group_tests(tests, inspected_shared_caches_create, inspected_shared_caches_destroy);
}
