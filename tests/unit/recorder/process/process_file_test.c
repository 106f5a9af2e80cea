#include "recorder/process/process_file.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

/* A child that has changed its root to /proc, where it may, and waits for its end. Returns 0 where it may not. */
static pid_t start_elsewhere(int end[2])
{
    int ready[2];
    char word = 0;
    assert_int_equal(pipe(ready), 0);
    assert_int_equal(pipe(end), 0);
    pid_t child = fork();
    if (child == 0) {
        close(end[1]);
        word = chroot("/proc") == 0;
        if (write(ready[1], &word, 1) != 1 || read(end[0], &word, 1) != 0)
            _exit(1);
        _exit(0);
    }
    assert_int_equal(read(ready[0], &word, 1), 1);
    close(ready[0]);
    close(ready[1]);
    close(end[0]);
    return word != 0 ? child : 0;
}

static void paths_are_those_of_here_where_the_root_is(void **state)
{
    (void)state;
    struct statx status;
    bool is_known =
        statx(AT_FDCWD, "/", 0, STATX_MNT_ID, &status) == 0 && (status.stx_mask & STATX_MNT_ID) != 0;
    assert_int_equal(tg_process_file_shares_root(getpid()), is_known);
    assert_false(tg_process_file_shares_root(INT32_MAX));
    int end[2];
    pid_t child = start_elsewhere(end);
    if (child != 0)
        assert_false(tg_process_file_shares_root(child));
    close(end[1]);
    while (wait(NULL) > 0)
        continue;
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(paths_are_those_of_here_where_the_root_is)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
