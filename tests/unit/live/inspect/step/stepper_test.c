#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "live/inspect/step/stepper.h"
#include "recorder/unwind/frames.h"
#include "tests/support/inspected_child.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SOURCE TG_PROGRAMS "/steps.c"

struct target {
    struct inspected_child of;
    unsigned n_ones, n_runs; /* orders carried out */
};

/* Starts PROGRAM and runs it to the entry of FUNCTION. False: it was not built here. */
static bool start(struct target *target, const char *program, const char *function)
{
    char path[512];
    snprintf(path, sizeof path, TG_INSPECT "/%s", program);
    const char *const argv[] = {path, NULL};
    *target = (struct target){0};
    if (!inspected_child_start(&target->of, &inspected_shared_caches, argv, -1))
        return false;
    inspected_child_run_to(&target->of, function);
    return true;
}

static void finish(struct target *target)
{
    inspected_child_finish(&target->of);
}

static int line_of(const char *mark)
{
    return inspected_line_of(SOURCE, mark);
}

/* ---- carrying orders out */

static enum tg_step_order_kind step(struct target *target, const struct tg_step_request *request)
{
    struct tg_registers registers;
    struct tg_stepper *stepper;
    struct tg_step_order order;
    stopped_child_registers(&target->of.child, &registers);
    assert_null(
        tg_stepper_begin(target->of.modules, &target->of.memory, request, &registers, &stepper, &order));
    while (order.kind == TG_STEP_ORDER_ONE || order.kind == TG_STEP_ORDER_RUN) {
        if (order.kind == TG_STEP_ORDER_ONE) {
            stopped_child_step(&target->of.child);
            target->n_ones++;
        } else {
            struct stopped_child_target targets[TG_STEP_MAX_TARGETS];
            for (size_t i = 0; i < order.n_targets; i++)
                targets[i] =
                    (struct stopped_child_target){order.targets[i].address, order.targets[i].rsp_at_least};
            stopped_child_run_to(&target->of.child, targets, order.n_targets);
            target->n_runs++;
        }
        if (target->of.child.tid == 0)
            break;
        stopped_child_registers(&target->of.child, &registers);
        tg_stepper_advance(stepper, &registers, &order);
    }
    tg_stepper_destroy(stepper);
    return order.kind;
}

struct place {
    char function[64];
    int line;
    uint64_t pc, cfa;
};

static struct place place_of(const struct target *target)
{
    struct tg_registers registers;
    struct tg_frames frames;
    stopped_child_registers(&target->of.child, &registers);
    assert_null(tg_frames_read(target->of.modules, &target->of.memory, &registers, 4, &frames));
    const struct tg_call *call = &frames.calls[0];
    struct place place = {.line = call->code.line, .pc = registers.value[TG_RIP], .cfa = call->frame.cfa};
    snprintf(place.function, sizeof place.function, "%s", call->code.name != NULL ? call->code.name : "?");
    tg_frames_deinit(&frames);
    return place;
}

/* ---- sequences of lines */

static void check_places(const char *program, enum tg_step_kind kind, const char *const *marks, size_t count)
{
    struct target target;
    if (!start(&target, program, "work"))
        return;
    for (size_t i = 0; i < count; i++) {
        struct tg_step_request request = {.kind = kind};
        assert_int_equal(step(&target, &request), TG_STEP_ORDER_DONE);
        struct place place = place_of(&target);
        if (place.line != line_of(marks[i]))
            fail_msg("%s, step %zu: %s:%d instead of %s", program, i, place.function, place.line, marks[i]);
    }
    finish(&target);
}

#define LENGTH(array) (sizeof(array) / sizeof *(array))

/* Loops, recursion, calls into libraries, inlined copies, a signal handler, longjmp within a callee and out
 * of one. */
static void steps_over_calls(void **state)
{
    (void)state;
    static const char *const marks[] = {"work 1",  "work 2",  "work 3",  "work 2",  "work 3", "work 2",
                                        "work 4",  "work 5",  "work 6",  "work 7",  "work 8", "work 9",
                                        "work 10", "work 11", "work 10", "work 12", "work 13"};
    check_places("steps-O0", TG_STEP_OVER_LINE, marks, LENGTH(marks));
    check_places("steps-clang-O0", TG_STEP_OVER_LINE, marks, LENGTH(marks));
}

static void steps_into_functions_with_lines(void **state)
{
    (void)state;
    static const char *const marks[] = {"work 1", "work 2", "work 3", "leaf 1",    "leaf 2",    "leaf end",
                                        "work 3", "work 2", "work 3", "leaf 1",    "leaf 2",    "leaf end",
                                        "work 3", "work 2", "work 4", "recurse 1", "recurse 3", "recurse 1"};
    check_places("steps-O0", TG_STEP_LINE, marks, LENGTH(marks));
}

/* One that comes while a line is stepped: its handler runs, and nothing is lost. */
static void a_signal_in_between(void **state)
{
    (void)state;
    struct target target;
    assert_true(start(&target, "steps-O0", "leaf"));
    struct tg_step_request request = {.kind = TG_STEP_LINE};
    struct place first = place_of(&target);
    assert_int_equal(kill(target.of.child.pid, SIGUSR1), 0);
    assert_int_equal(step(&target, &request), TG_STEP_ORDER_DONE);
    struct place place = place_of(&target);
    assert_int_equal(place.line, line_of("leaf 1"));
    assert_int_equal(place.cfa, first.cfa);
    assert_int_equal(target.n_runs, 1); /* the handler */
    finish(&target);
}

/* ---- beside gdb */

static const char gdb_script[] = "set debuginfod enabled off\n"
                                 "handle SIGUSR1 nostop noprint pass\n"
                                 "break *work\n"
                                 "run\n"
                                 "delete\n"
                                 "python\n"
                                 "for i in range(%d):\n"
                                 "    print('\\nAT', gdb.newest_frame().find_sal().line)\n"
                                 "    gdb.execute('%s', to_string=True)\n"
                                 "end\n"
                                 "kill\n";

static void check_beside_gdb(const char *program, enum tg_step_kind kind, const char *command, int count)
{
    struct target target;
    if (!start(&target, program, "work"))
        return;
    char script[] = "/tmp/stepper_test.XXXXXX", line[1024];
    int fd = mkstemp(script);
    assert_true(fd >= 0);
    dprintf(fd, gdb_script, count, command);
    close(fd);
    snprintf(line, sizeof line, "gdb -nx -batch -x %s " TG_INSPECT "/%s 2>/dev/null", script, program);
    FILE *gdb = popen(line, "re");
    assert_non_null(gdb);
    int n = 0, number;
    uint64_t before = 0; /* the frame */
    while (fgets(line, sizeof line, gdb) != NULL) {
        if (sscanf(line, "AT %d", &number) != 1)
            continue;
        struct place place = place_of(&target);
        if (place.line != number && place.cfa > before &&
            before != 0) { /* gdb 16 ends the line that it returns to */
            struct tg_step_request rest = {.kind = kind};
            assert_int_equal(step(&target, &rest), TG_STEP_ORDER_DONE);
            place = place_of(&target);
        }
        before = place.cfa;
        if (place.line != number)
            fail_msg("%s, %s %d: %s:%d, and gdb is at %d", program, command, n, place.function, place.line,
                     number);
        struct tg_step_request request = {.kind = kind};
        assert_int_equal(step(&target, &request), TG_STEP_ORDER_DONE);
        n++;
    }
    pclose(gdb);
    unlink(script);
    finish(&target);
    assert_int_equal(n, count);
}

static void as_gdb_steps(void **state)
{
    (void)state;
    if (system("gdb -nx -batch -ex 'python print(1)' >/dev/null 2>&1") != 0) {
        print_message("gdb with Python is not installed\n");
        skip();
    }
    check_beside_gdb("steps-O0", TG_STEP_LINE, "step", 36); /* to the call of memset */
    check_beside_gdb("steps-O1", TG_STEP_OVER_LINE, "next", 14);
}

/* ---- single instructions, out, until */

static void single_instructions(void **state)
{
    (void)state;
    struct target target;
    assert_true(start(&target, "steps-O0", "recurse"));
    struct place first = place_of(&target), before = first, place = first;
    struct tg_step_request request = {.kind = TG_STEP_INSTRUCTION};
    /* into the calls: down to where nothing is called any more */
    for (unsigned n = 0; n < 200 && place.line != line_of("recurse 2"); n++) {
        before = place;
        assert_int_equal(step(&target, &request), TG_STEP_ORDER_DONE);
        place = place_of(&target);
        assert_int_not_equal(place.pc, before.pc);
    }
    assert_int_equal(place.line, line_of("recurse 2"));
    assert_true(place.cfa < first.cfa);
    assert_int_equal(target.n_runs, 0);
    finish(&target);
    /* over them: never out of the frame */
    assert_true(start(&target, "steps-O0", "recurse"));
    request.kind = TG_STEP_OVER_INSTRUCTION;
    for (unsigned n = 0; n < 200; n++) {
        assert_int_equal(step(&target, &request), TG_STEP_ORDER_DONE);
        place = place_of(&target);
        if (strcmp(place.function, "recurse") != 0)
            break;
        assert_int_equal(place.cfa, first.cfa);
    }
    assert_string_equal(place.function, "work");
    assert_int_equal(target.n_runs, 1); /* of the three calls below only the first one was seen */
    finish(&target);
}

static void out_of_frames(void **state)
{
    (void)state;
    struct target target;
    assert_true(start(&target, "steps-O0", "recurse"));
    struct tg_step_request into = {.kind = TG_STEP_LINE}, out = {.kind = TG_STEP_OUT};
    struct place first = place_of(&target), place = first;
    while (place.line != line_of("recurse 2")) {
        assert_int_equal(step(&target, &into), TG_STEP_ORDER_DONE);
        place = place_of(&target);
    }
    uint64_t innermost = place.cfa;
    assert_int_equal(step(&target, &out), TG_STEP_ORDER_DONE);
    place = place_of(&target);
    assert_int_equal(place.line, line_of("recurse 3"));
    assert_true(place.cfa > innermost && place.cfa < first.cfa);
    out.level = 2; /* two more of it, and the first one */
    assert_int_equal(step(&target, &out), TG_STEP_ORDER_DONE);
    place = place_of(&target);
    assert_string_equal(place.function, "work");
    out.level = 50;
    assert_int_equal(step(&target, &out), TG_STEP_ORDER_IMPOSSIBLE);
    assert_int_equal(place_of(&target).pc, place.pc);
    finish(&target);
}

static void out_of_an_inlined_copy(void **state)
{
    (void)state;
    struct target target;
    assert_true(start(&target, "steps-O1", "work"));
    struct tg_step_request over = {.kind = TG_STEP_OVER_LINE}, into = {.kind = TG_STEP_LINE},
                           out = {.kind = TG_STEP_OUT};
    struct place place = place_of(&target);
    for (unsigned n = 0; n < 50 && place.line != line_of("work 6"); n++) {
        assert_int_equal(step(&target, &over), TG_STEP_ORDER_DONE);
        place = place_of(&target);
        assert_string_equal(place.function, "work"); /* never in a copy */
    }
    assert_int_equal(place.line, line_of("work 6"));
    uint64_t cfa = place.cfa;
    assert_int_equal(step(&target, &over), TG_STEP_ORDER_DONE);
    (void)step(&target, &into);
    place = place_of(&target);
    assert_int_equal(place.cfa, cfa);
    if (strcmp(place.function, "work") != 0) {
        assert_int_equal(step(&target, &out), TG_STEP_ORDER_DONE);
        place = place_of(&target);
        assert_string_equal(place.function, "work");
        assert_int_equal(place.cfa, cfa);
    }
    finish(&target);
}

static void until_a_place(void **state)
{
    (void)state;
    struct target target;
    assert_true(start(&target, "steps-O0", "recurse"));
    struct place first = place_of(&target);
    struct tg_step_request over = {.kind = TG_STEP_OVER_LINE}, until = {.kind = TG_STEP_UNTIL};
    assert_int_equal(step(&target, &over), TG_STEP_ORDER_DONE);
    uint64_t bias, address;
    struct tg_debug_info *info = tg_modules_debug_info_at(target.of.modules, first.pc, &bias);
    assert_int_equal(
        tg_image_find_line(tg_debug_info_image(info), "steps.c", (uint64_t)line_of("recurse 4"), &address, 1),
        1);
    address += bias;
    until.addresses = &address;
    until.n_addresses = 1;
    /* three calls of it are there before this one is */
    assert_int_equal(step(&target, &until), TG_STEP_ORDER_DONE);
    struct place place = place_of(&target);
    assert_int_equal(place.pc, address);
    assert_int_equal(place.cfa, first.cfa);
    /* not any more: out of the function */
    assert_int_equal(step(&target, &until), TG_STEP_ORDER_DONE);
    assert_string_equal(place_of(&target).function, "work");
    finish(&target);
    /* without a place: to the end of a loop */
    assert_true(start(&target, "steps-O0", "work"));
    while ((place = place_of(&target)).line != line_of("work 3"))
        assert_int_equal(step(&target, &over), TG_STEP_ORDER_DONE);
    until.n_addresses = 0;
    for (unsigned n = 0; n < 3 && place.line != line_of("work 4"); n++) {
        assert_int_equal(step(&target, &until), TG_STEP_ORDER_DONE);
        place = place_of(&target);
    }
    assert_int_equal(place.line, line_of("work 4"));
    finish(&target);
}

static void code_without_lines_is_left(void **state)
{
    (void)state;
    struct target target;
    assert_true(start(&target, "steps-O0", "_start"));
    struct tg_step_request request = {.kind = TG_STEP_OUT};
    assert_int_equal(step(&target, &request), TG_STEP_ORDER_IMPOSSIBLE);
    finish(&target);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(steps_over_calls),           cmocka_unit_test(steps_into_functions_with_lines),
        cmocka_unit_test(a_signal_in_between),        cmocka_unit_test(as_gdb_steps),
        cmocka_unit_test(single_instructions),        cmocka_unit_test(out_of_frames),
        cmocka_unit_test(out_of_an_inlined_copy),     cmocka_unit_test(until_a_place),
        cmocka_unit_test(code_without_lines_is_left),
    };
    return cmocka_run_group_tests(tests, inspected_shared_caches_create, inspected_shared_caches_destroy);
}
