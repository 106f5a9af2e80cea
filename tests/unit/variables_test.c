/* What programs of every compiler here say of their own variables is what is read of them. */
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
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include "live/inspect/expression.h"
#include "live/inspect/module_scene.h"
#include "live/inspect/unwind.h"
#include "live/inspect/value_text.h"
#include "recorder/memory.h"

/* A program that stands at its breakpoint instruction. */
struct child {
    pid_t pid;
    FILE *output;
    struct tg_image_cache *images;
    struct tg_debug_cache *debug;
    struct tg_modules *modules;
    struct tg_module_scene *scenes;
    struct tg_inspect_memory memory;
    struct tg_frame frame, caller;
    bool has_caller;
    uint64_t fs_base;
};

static bool read_memory(void *context, uint64_t address, void *buffer, size_t size)
{
    const struct child *child = context;
    return tg_memory_read(child->pid, address, buffer, size);
}

static void take_registers(struct child *child)
{
    struct user_regs_struct user;
    assert_int_equal(ptrace(PTRACE_GETREGS, child->pid, NULL, &user), 0);
    const struct tg_registers registers = {.value = {[TG_RAX] = user.rax,
                                                     [TG_RDX] = user.rdx,
                                                     [TG_RCX] = user.rcx,
                                                     [TG_RBX] = user.rbx,
                                                     [TG_RSI] = user.rsi,
                                                     [TG_RDI] = user.rdi,
                                                     [TG_RBP] = user.rbp,
                                                     [TG_RSP] = user.rsp,
                                                     [TG_R8] = user.r8,
                                                     [TG_R9] = user.r9,
                                                     [TG_R10] = user.r10,
                                                     [TG_R11] = user.r11,
                                                     [TG_R12] = user.r12,
                                                     [TG_R13] = user.r13,
                                                     [TG_R14] = user.r14,
                                                     [TG_R15] = user.r15,
                                                     [TG_RIP] = user.rip - 1},
                                           .known = (1U << TG_REGISTER_COUNT) - 1};
    struct tg_unwind_note note;
    child->fs_base = user.fs_base;
    child->frame = tg_frame_innermost(&registers);
    child->has_caller = tg_unwind_caller(child->modules, &child->memory, &child->frame, &child->caller,
                                         &note) == TG_UNWIND_CALLER;
}

static void start(struct child *child, const char *program, const char *argument)
{
    int ends[2], status;
    assert_int_equal(pipe(ends), 0);
    child->pid = fork();
    assert_true(child->pid >= 0);
    if (child->pid == 0) {
        dup2(ends[1], STDOUT_FILENO);
        close(ends[0]);
        close(ends[1]);
        if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) == 0)
            execl(program, program, argument, (char *)NULL);
        _exit(127);
    }
    close(ends[1]);
    assert_int_equal(fcntl(ends[0], F_SETFL, O_NONBLOCK), 0); /* what it says is there when it stops */
    child->output = fdopen(ends[0], "r");
    assert_int_equal(waitpid(child->pid, &status, 0), child->pid); /* of exec */
    assert_true(WIFSTOPPED(status));
    assert_int_equal(ptrace(PTRACE_SETOPTIONS, child->pid, NULL, PTRACE_O_EXITKILL), 0);
    assert_int_equal(ptrace(PTRACE_CONT, child->pid, NULL, NULL), 0);
    assert_int_equal(waitpid(child->pid, &status, 0), child->pid);
    assert_true(WIFSTOPPED(status) && WSTOPSIG(status) == SIGTRAP);
    child->memory = (struct tg_inspect_memory){.context = child, .read = read_memory};
    assert_null(tg_image_cache_create(0, &child->images));
    assert_null(tg_debug_cache_create(0, &child->debug));
    assert_null(tg_modules_create(child->pid, child->images, child->debug, &child->modules));
    assert_null(tg_modules_refresh(child->modules));
    assert_null(tg_module_scene_create(child->modules, &child->memory, &child->scenes));
    take_registers(child);
}

static void finish(struct child *child)
{
    tg_module_scene_destroy(child->scenes);
    tg_modules_destroy(child->modules);
    tg_debug_cache_destroy(child->debug);
    tg_image_cache_destroy(child->images);
    kill(child->pid, SIGKILL);
    assert_int_equal(waitpid(child->pid, NULL, 0), child->pid);
    fclose(child->output);
}

static const struct tg_scene *scene_of(struct child *child)
{
    return tg_module_scene_of(child->scenes, &child->frame, child->has_caller ? &child->caller : NULL,
                              child->fs_base);
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
            bool is_missing =
                strstr(text, "optimized out") != NULL || strstr(text, "not known in this frame") != NULL;
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

enum { LINES = 66, LINES_INLINED = 54 };

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

int main(int argc, char **argv)
{
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
        cmocka_unit_test(test_gcc),
        cmocka_unit_test(test_clang),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
