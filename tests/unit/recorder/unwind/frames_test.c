#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "recorder/unwind/frames.h"
#include "tests/support/inspected_child.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SOURCE TG_PROGRAMS "/stacks.c"

static const char *const programs[] = {"stacks-O0",       "stacks-O2",          "stacks-clang-O0",
                                       "stacks-clang-O2", "stacks-debug_frame", "stacks-static"};
enum { N_PROGRAMS = sizeof programs / sizeof *programs, MAX_CALLS = 64 };

/* False: the program was not built here. */
static bool start(struct inspected_child *target, const char *program, const char *what)
{
    char path[512];
    snprintf(path, sizeof path, TG_INSPECT "/%s", program);
    const char *const argv[] = {path, what, NULL};
    return inspected_child_start(target, &inspected_shared_caches, argv, -1);
}

static void run_to_stop(struct inspected_child *target)
{
    do
        stopped_child_continue(&target->child, target->child.signal == SIGFPE ? SIGFPE : 0);
    while (target->child.signal == SIGFPE);
    assert_int_not_equal(target->child.tid, 0);
    assert_null(tg_modules_refresh(target->modules));
}

static struct tg_frames read_frames(const struct inspected_child *target, size_t max)
{
    struct tg_registers registers;
    struct tg_frames frames;
    stopped_child_registers(&target->child, &registers);
    assert_null(tg_frames_read(target->modules, &target->memory, &registers, max, &frames));
    return frames;
}

static int line_of(const char *mark)
{
    return inspected_line_of(SOURCE, mark);
}

static void show(const char *program, const char *what, const struct tg_frames *frames)
{
    print_message("%s %s:\n", program, what);
    for (size_t i = 0; i < frames->count; i++) {
        const struct tg_call *call = &frames->calls[i];
        print_message("  #%zu %#" PRIx64 " %s+%#" PRIx64 " %s:%d %s%s%s\n", i,
                      call->frame.registers.value[TG_RIP], call->code.name ? call->code.name : "?",
                      call->code.offset, call->code.file ? call->code.file : "?", call->code.line,
                      call->code.is_inlined ? "inlined" : "", call->is_signal ? "signal" : "",
                      call->is_guessed ? "guessed" : "");
    }
    print_message("  %s\n", tg_frames_remark(frames));
}

/* ---- what gdb sees */

/* Frames deduced from tail calls are not on the stack. */
static const char gdb_script[] = "set debuginfod enabled off\n"
                                 "set backtrace past-main on\n"
                                 "python\n"
                                 "kinds = {gdb.INLINE_FRAME: 'inline', gdb.SIGTRAMP_FRAME: 'signal'}\n"
                                 "frame = gdb.newest_frame()\n"
                                 "while frame is not None:\n"
                                 "    if frame.type() != gdb.TAILCALL_FRAME:\n"
                                 "      print('FRAME', hex(frame.pc()), frame.name() or '?', "
                                 "frame.find_sal().line, kinds.get(frame.type(), 'normal'))\n"
                                 "    frame = frame.older()\n"
                                 "end\n";

/* Compares FRAMES with gdb's of the stopped thread, which is detached. Names of the
 * program's functions only: those of libc have several. */
static void compare_with_gdb(struct inspected_child *target, const struct tg_frames *frames)
{
    char script[] = "/tmp/frames_test.XXXXXX", command[512], line[1024];
    int fd = mkstemp(script);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, gdb_script, sizeof gdb_script - 1), sizeof gdb_script - 1);
    close(fd);
    stopped_child_detach_stopped(&target->child);
    snprintf(command, sizeof command, "gdb -nx -batch -p %d -x %s 2>/dev/null", (int)target->child.pid,
             script);
    FILE *gdb = popen(command, "re");
    assert_non_null(gdb);
    size_t n = 0;
    while (fgets(line, sizeof line, gdb) != NULL) {
        char name[512], kind[16];
        uint64_t pc;
        int number;
        if (sscanf(line, "FRAME %" SCNx64 " %511s %d %15s", &pc, name, &number, kind) != 4)
            continue;
        if (n >= frames->count || frames->calls[n].frame.registers.value[TG_RIP] != pc)
            show("as gdb has it", line, frames);
        assert_true(n < frames->count);
        const struct tg_call *call = &frames->calls[n++];
        assert_int_equal(call->frame.registers.value[TG_RIP], pc);
        assert_int_equal(call->code.is_inlined, strcmp(kind, "inline") == 0);
        assert_int_equal(call->is_signal, strcmp(kind, "signal") == 0);
        assert_int_equal(call->code.line, number);
        if (number > 0 && strstr(call->module->path, "/stacks-") != NULL)
            assert_string_equal(call->code.name, name);
    }
    assert_int_equal(pclose(gdb), 0);
    unlink(script);
    assert_int_equal(n, frames->count);
}

/* ---- stacks */

struct expected {
    const char *name;
    const char *mark; /* of its line, NULL any */
    bool is_inlined;
};

struct scenario {
    const char *what;
    struct expected calls[10]; /* in this order, others may be between them */
};

static const struct scenario scenarios[] = {
    {"recursion",
     {{"recurse", "recursion", false},
      {"recurse", "recursive call", false},
      {"recurse", "recursive call", false},
      {"recurse", "recursive call", false},
      {"recurse", "recursive call", false},
      {"main", NULL, false}}},
    {"inlined",
     {{"innermost_inline", "inlined", true},
      {"outer_inline", "inlined call", true},
      {"has_inlined", "outer inlined call", false},
      {"main", NULL, false}}},
    {"library", {{"compare", "compare", false}, {"sorts", "qsort", false}, {"main", NULL, false}}},
    {"handler", {{"on_signal", "handler", false}, {"interrupted", "division", false}, {"main", NULL, false}}},
    {"altstack",
     {{"on_signal", "handler", false}, {"interrupted", "division", false}, {"main", NULL, false}}},
    {"thread", {{"in_thread", "thread", false}}},
    {"null", {{"calls_null", "null", false}, {"main", NULL, false}}},
    {"guess",
     {{"called_by_framed", "framed", false},
      {"framed", NULL, false},
      {"guesses", "guess", false},
      {"main", NULL, false}}},
};

static void check(const char *program, const struct scenario *scenario, const struct tg_frames *frames)
{
    size_t i = 0, n_found = 0;
    for (; scenario->calls[n_found].name != NULL && i < frames->count; i++) {
        const struct expected *expected = &scenario->calls[n_found];
        const struct tg_code_call *code = &frames->calls[i].code;
        if (code->name == NULL || strcmp(code->name, expected->name) != 0)
            continue;
        if (expected->mark != NULL && code->line != line_of(expected->mark))
            continue;
        assert_int_equal(code->is_inlined, expected->is_inlined);
        n_found++;
    }
    if (scenario->calls[n_found].name != NULL || frames->end != TG_UNWIND_END) {
        show(program, scenario->what, frames);
        fail();
    }
    bool is_signal = false;
    for (i = 0; i < frames->count; i++)
        is_signal |= frames->calls[i].is_signal;
    assert_int_equal(is_signal,
                     strcmp(scenario->what, "handler") == 0 || strcmp(scenario->what, "altstack") == 0);
    assert_false(frames->is_cut);
    assert_string_equal(tg_frames_remark(frames), "");
}

static void stacks_of_every_make(void **state)
{
    (void)state;
    for (size_t p = 0; p < N_PROGRAMS; p++) {
        for (size_t i = 0; i < sizeof scenarios / sizeof *scenarios; i++) {
            struct inspected_child target;
            if (!start(&target, programs[p], scenarios[i].what))
                continue;
            run_to_stop(&target);
            struct tg_frames frames = read_frames(&target, MAX_CALLS);
            check(programs[p], &scenarios[i], &frames);
            tg_frames_deinit(&frames);
            inspected_child_finish(&target);
        }
    }
}

static void as_gdb_sees_them(void **state)
{
    (void)state;
    if (system("gdb -nx -batch -ex 'python print(1)' >/dev/null 2>&1") != 0) {
        print_message("gdb with Python is not installed\n");
        skip();
    }
    static const char *const what[] = {"inlined", "altstack"};
    for (size_t i = 0; i < sizeof what / sizeof *what; i++) {
        struct inspected_child target;
        assert_true(start(&target, "stacks-O2", what[i]));
        run_to_stop(&target);
        struct tg_frames frames = read_frames(&target, MAX_CALLS);
        compare_with_gdb(&target, &frames);
        tg_frames_deinit(&frames);
        inspected_child_finish(&target);
    }
}

static void is_cut_where_told(void **state)
{
    (void)state;
    struct inspected_child target;
    assert_true(start(&target, "stacks-O0", "recursion"));
    run_to_stop(&target);
    struct tg_frames whole = read_frames(&target, MAX_CALLS);
    assert_false(whole.is_cut);
    struct tg_frames cut = read_frames(&target, 3);
    assert_int_equal(cut.count, 3);
    assert_true(cut.is_cut);
    assert_memory_equal(&cut.calls[2].frame, &whole.calls[2].frame, sizeof cut.calls[2].frame);
    tg_frames_deinit(&cut);
    struct tg_frames exact = read_frames(&target, whole.count);
    assert_int_equal(exact.count, whole.count);
    assert_false(exact.is_cut);
    tg_frames_deinit(&exact);
    tg_frames_deinit(&whole);
    inspected_child_finish(&target);
}

/* ---- at every instruction */

struct shadow {
    uint64_t slot, code;
};

static uint64_t function_address(struct inspected_child *target, const char *name)
{
    struct tg_registers registers;
    stopped_child_registers(&target->child, &registers);
    uint64_t bias, address;
    for (size_t i = 0; i < tg_modules_count(target->modules); i++) {
        const struct tg_module *module = tg_modules_at(target->modules, i);
        struct tg_debug_info *info = tg_modules_debug_info(target->modules, module, &bias);
        if (info != NULL && tg_image_find_function(tg_debug_info_image(info), name, &address, 1) == 1)
            return address + bias;
    }
    fail();
    return 0;
}

/* A stack kept by watching calls and returns is what unwinding must find. */
static void check_against_shadow(const struct inspected_child *target, const struct tg_registers *registers,
                                 const struct shadow *shadow, size_t depth)
{
    struct tg_frame frame = tg_frame_innermost(registers), caller;
    struct tg_unwind_note note;
    for (size_t i = depth; i-- > 0;) {
        enum tg_unwind_result result =
            tg_unwind_caller(target->modules, &target->memory, &frame, &caller, &note);
        if (result != TG_UNWIND_CALLER || caller.registers.value[TG_RIP] != shadow[i].code ||
            frame.cfa != shadow[i].slot + 8) {
            struct tg_frames frames = read_frames(target, MAX_CALLS);
            print_message("at depth %zu of %zu: %#" PRIx64 " instead of %#" PRIx64 "\n", depth - i, depth,
                          caller.registers.value[TG_RIP], shadow[i].code);
            show("step", "by step", &frames);
            fail();
        }
        frame = caller;
    }
}

static void every_instruction_of(const char *program)
{
    enum { MAX_DEPTH = 256 };
    struct inspected_child target;
    if (!start(&target, program, "instructions"))
        return;
    assert_null(tg_modules_refresh(target.modules));
    struct stopped_child_target entry = {.address = function_address(&target, "instructions")};
    stopped_child_run_to(&target.child, &entry, 1);
    assert_null(tg_modules_refresh(target.modules)); /* the libraries have come */
    struct tg_registers now;
    stopped_child_registers(&target.child, &now);
    struct shadow shadow[MAX_DEPTH] = {{.slot = now.value[TG_RSP]}};
    assert_true(target.memory.read(target.memory.context, shadow[0].slot, &shadow[0].code, 8));
    size_t depth = 1, n_steps = 0, deepest = 0;
    while (depth > 0) {
        check_against_shadow(&target, &now, shadow, depth);
        struct tg_registers before = now;
        stopped_child_step(&target.child);
        assert_int_equal(target.child.signal, SIGTRAP);
        stopped_child_registers(&target.child, &now);
        uint64_t pushed, rsp = now.value[TG_RSP], length;
        if (rsp + 8 == before.value[TG_RSP] && target.memory.read(target.memory.context, rsp, &pushed, 8) &&
            (length = pushed - before.value[TG_RIP], length >= 2 && length <= 15) &&
            pushed != now.value[TG_RIP]) {
            assert_true(depth < MAX_DEPTH);
            shadow[depth++] = (struct shadow){.slot = rsp, .code = pushed};
        }
        while (depth > 0 && shadow[depth - 1].slot < rsp)
            depth--;
        deepest = depth > deepest ? depth : deepest;
        n_steps++;
    }
    assert_true(n_steps > 1000 && deepest > 4);
    inspected_child_finish(&target);
}

static void at_every_instruction(void **state)
{
    (void)state;
    every_instruction_of("stacks-O2");
    every_instruction_of("stacks-clang-O0");
}

/* ---- stacks that are broken */

static void broken_stacks_end_with_a_remark(void **state)
{
    (void)state;
    struct inspected_child target;
    assert_true(start(&target, "stacks-O0", "recursion"));
    run_to_stop(&target);
    struct tg_registers registers, broken;
    struct tg_frames frames;
    stopped_child_registers(&target.child, &registers);
    broken = registers;
    broken.value[TG_RBP] = 8; /* at -O0 the CFA is by it */
    assert_null(tg_frames_read(target.modules, &target.memory, &broken, MAX_CALLS, &frames));
    assert_int_equal(frames.count, 1);
    assert_string_equal(frames.calls[0].code.name, "recurse");
    assert_string_not_equal(tg_frames_remark(&frames), "");
    tg_frames_deinit(&frames);
    broken = registers;
    broken.value[TG_RIP] = 0x10; /* jumped to nowhere, and the stack is of no use */
    broken.value[TG_RSP] = 0x20;
    broken.value[TG_RBP] = 0x33;
    assert_null(tg_frames_read(target.modules, &target.memory, &broken, MAX_CALLS, &frames));
    assert_int_equal(frames.count, 1);
    assert_null(frames.calls[0].module);
    assert_string_not_equal(tg_frames_remark(&frames), "");
    tg_frames_deinit(&frames);
    /* a frame pointer that leads to itself */
    broken = registers;
    broken.known &= ~(1u << TG_RSP);
    broken.value[TG_RIP] = function_address(&target, "framed") + 8;
    assert_null(tg_frames_read(target.modules, &target.memory, &broken, 100000, &frames));
    assert_true(frames.count < 100);
    tg_frames_deinit(&frames);
    inspected_child_finish(&target);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(stacks_of_every_make),
        cmocka_unit_test(as_gdb_sees_them),
        cmocka_unit_test(is_cut_where_told),
        cmocka_unit_test(at_every_instruction),
        cmocka_unit_test(broken_stacks_end_with_a_remark),
    };
    return cmocka_run_group_tests(tests, inspected_shared_caches_create, inspected_shared_caches_destroy);
}
