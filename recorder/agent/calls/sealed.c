/* Programs that forbid themselves system calls (seccomp) while they run. Before they do the calling thread
 * gets its ring, all of it memory; from then on the agent makes no call of its own in this process: rings
 * of other threads become as short as they are memory (touch() in recorder/agent/ring.c), who waits for
 * room in a ring spins, nobody is woken (the recorder looks anyway), threads without a ring get none, and
 * what they record is counted as lost. In seccomp's strict mode the kernel forbids the thread the time stamp
 * counter too, as a program can by itself (PR_SET_TSC): then nothing more of it is recorded.
 *
 * Seen are calls of prctl and syscall (libseccomp's way); a `syscall` instruction of the program's own is
 * not. */
#include "recorder/agent/calls/backends.h"
#include "recorder/agent/deep/deep_bind.h"
#include "recorder/agent/deep_bind.h"
#include "recorder/agent/next.h"
#include "recorder/agent/record.h"

#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

/* For sealed_thunk.S: the real functions; NULL: not looked for yet. */
void *tg_sealed_prctl, *tg_sealed_syscall;

void tg_sealed_find(void);
void tg_sealed_begin(long number, long option, long value);

void tg_sealed_find(void)
{
    void *found = tg_agent_next("syscall");
    __atomic_store_n(&tg_sealed_prctl, tg_agent_next("prctl"), __ATOMIC_RELEASE);
    __atomic_store_n(&tg_sealed_syscall, found, __ATOMIC_RELEASE);
}

static void lose_calls(void)
{
    if (tg_agent.no_calls)
        return;
    tg_backends_before_sealing();
    if (tg_agent_take_ring()) {
        tg_agent_fill_ring();
        tg_agent_say(
            TG_RECORD_NOTE,
            "the program restricts its system calls (seccomp): from now on the agent makes none, and "
            "threads without events so far are not recorded");
    }
    tg_agent.no_calls = true;
    tg_deep_bind_forbid(TG_DEEP_BIND_NO_CALLS);
}

static void lose_clock(bool with_new_threads)
{
    if (tg_agent_take_ring())
        tg_agent_say(TG_RECORD_ASIDE,
                     "the program disables the time stamp counter (seccomp's strict mode or PR_SET_TSC): "
                     "this thread is not recorded any further");
    tg_agent_stop_thread(with_new_threads);
    tg_deep_bind_forbid(TG_DEEP_BIND_NO_CLOCK);
}

/* The thread is about to make the system call NUMBER, with OPTION and VALUE as its first arguments. */
void tg_sealed_begin(long number, long option, long value)
{
    if (!tg_agent_observes(0))
        return;
    bool is_tsc = number == SYS_prctl && option == PR_SET_TSC;
    bool is_strict = number == SYS_prctl ? option == PR_SET_SECCOMP && value == SECCOMP_MODE_STRICT
                                         : option == SECCOMP_SET_MODE_STRICT;
    if (is_tsc && value == PR_TSC_SIGSEGV)
        lose_clock(true);
    if (number == SYS_prctl && option != PR_SET_SECCOMP)
        return;
    if (number == SYS_seccomp && option != SECCOMP_SET_MODE_STRICT && option != SECCOMP_SET_MODE_FILTER)
        return; /* a question */
    lose_calls();
    if (is_strict)
        lose_clock(false);
}

static __attribute__((constructor(102))) void start(void)
{
    if (tg_sealed_syscall == NULL)
        tg_sealed_find();
}
