#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "recorder/process/own_tracee.h"
#include "recorder/process/proc_status.h"

#include <signal.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

static void test_traced_by_its_parent(void **state)
{
    (void)state;
    int status;
    pid_t parent = getpid(), child = fork();
    if (child == 0) {
        if (tg_own_tracee_begin(parent))
            raise(SIGSTOP);
        _exit(1);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSTOPPED(status)); /* without WUNTRACED only what is traced is told */
    kill(child, SIGKILL);
    assert_int_equal(waitpid(child, &status, 0), child);
}

/* Says over LINE whether it would be traced: its parent has died. */
static _Noreturn void begin_late(int line, pid_t parent)
{
    struct tg_proc_status status;
    alarm(30);
    while (getppid() == parent)
        usleep(100);
    bool began = tg_own_tracee_begin(parent);
    char answer = !began && tg_proc_status_read(getpid(), &status) && status.tracer == 0 ? 'y' : 'n';
    _exit(write(line, &answer, 1) == 1 ? 0 : 1);
}

static void test_not_traced_by_who_inherited_it(void **state)
{
    (void)state;
    int line[2], status;
    char answer = 0;
    assert_int_equal(pipe(line), 0);
    pid_t parent = fork();
    if (parent == 0) {
        pid_t self = getpid();
        if (fork() == 0)
            begin_late(line[1], self);
        _exit(0);
    }
    close(line[1]);
    assert_int_equal(waitpid(parent, &status, 0), parent);
    assert_int_equal(read(line[0], &answer, 1), 1);
    close(line[0]);
    assert_int_equal(answer, 'y');
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_traced_by_its_parent),
        cmocka_unit_test(test_not_traced_by_who_inherited_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
