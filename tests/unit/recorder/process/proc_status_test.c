#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "recorder/process/proc_status.h"

#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

static void this_process_is_described(void **state)
{
    (void)state;
    struct tg_proc_status status;
    prctl(PR_SET_NAME, "a name\n: 1");
    assert_true(tg_proc_status_read(getpid(), &status));
    assert_int_equal(status.tgid, getpid());
    assert_int_equal(status.parent, getppid());
    assert_int_equal(status.uid, getuid());
    assert_true(status.has_memory);
    assert_false(tg_proc_status_is_dead(&status));
    assert_string_equal(status.name, "a name\\n: 1"); /* one line, whatever the name is */
}

static void a_zombie_is_dead_and_a_reaped_process_is_gone(void **state)
{
    (void)state;
    struct tg_proc_status status;
    pid_t child = fork();
    if (child == 0)
        _exit(0);
    siginfo_t info;
    assert_int_equal(waitid(P_PID, (id_t)child, &info, WEXITED | WNOWAIT), 0);
    assert_true(tg_proc_status_read(child, &status));
    assert_true(tg_proc_status_is_dead(&status));
    assert_false(status.has_memory);
    assert_int_equal(status.parent, getpid());
    waitpid(child, NULL, 0);
    status.tgid = 5;
    assert_false(tg_proc_status_read(child, &status));
    assert_int_equal(status.tgid, 5); /* untouched */
}

static void a_forked_process_is_a_copy_until_it_executes_a_program(void **state)
{
    (void)state;
    int ends[2];
    char byte;
    assert_int_equal(pipe(ends), 0);
    assert_false(tg_proc_status_is_copy(getpid()));
    pid_t child = fork();
    if (child == 0) {
        byte = tg_proc_status_is_copy(getpid()) ? 'y' : 'n';
        if (write(ends[1], &byte, 1) == 1)
            pause();
        _exit(1);
    }
    assert_int_equal(read(ends[0], &byte, 1), 1);
    assert_int_equal(byte, 'y');
    assert_true(tg_proc_status_is_copy(child));
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    assert_true(tg_proc_status_is_copy(child)); /* not known */
    close(ends[0]);
    close(ends[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(this_process_is_described),
        cmocka_unit_test(a_zombie_is_dead_and_a_reaped_process_is_gone),
        cmocka_unit_test(a_forked_process_is_a_copy_until_it_executes_a_program),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
