#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "format/base/short_turns.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

struct attributes {
    uint32_t size, policy;
    uint64_t flags;
    int32_t nice;
    uint32_t priority;
    uint64_t runtime_ns, deadline_ns, period_ns;
};

static struct attributes get(void)
{
    struct attributes attributes = {0};
    assert_int_equal(syscall(SYS_sched_getattr, 0, &attributes, sizeof attributes, 0), 0);
    return attributes;
}

/* A thread's turns are short, or with an older Linux as they were; a child's are as if they had never been, and nothing else
 * of either has changed. */
static void children_have_what_there_was(void **state)
{
    (void)state;
    const struct attributes before = get();
    int status;
    tg_short_turns_begin();
    tg_short_turns_begin(); /* does not take the short ones for what there was */
    const struct attributes within = get();
    assert_true(within.runtime_ns == 100000 || within.runtime_ns == before.runtime_ns);
    assert_int_equal(within.policy, before.policy);
    assert_int_equal(within.nice, before.nice);
    int go[2];
    char byte;
    assert_int_equal(pipe2(go, O_CLOEXEC), 0);
    pid_t child = fork();
    if (child == 0) {
        if (read(go[0], &byte, 1) != 1)
            _exit(2);
        const struct attributes after = get();
        _exit(after.runtime_ns != before.runtime_ns || after.nice != before.nice ||
              after.policy != before.policy);
    }
    tg_short_turns_end_of(child);
    assert_int_equal(write(go[1], "", 1), 1);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    close(go[0]);
    close(go[1]);
    assert_int_equal(get().runtime_ns, within.runtime_ns);
    tg_short_turns_end_of(0);
    assert_int_equal(get().runtime_ns, before.runtime_ns);
}

/* Whoever was given precedence keeps it. */
static void other_policies_stay(void **state)
{
    (void)state;
    const struct sched_param none = {0};
    int status;
    pid_t child = fork();
    if (child == 0) {
        if (sched_setscheduler(0, SCHED_BATCH, &none) != 0)
            _exit(2);
        const struct attributes before = get();
        tg_short_turns_begin();
        _exit(get().policy != SCHED_BATCH || get().runtime_ns != before.runtime_ns);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(other_policies_stay), /* before this thread has begun */
        cmocka_unit_test(children_have_what_there_was),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
