#include "recorder/engine/forking.h"
#include "recorder/engine/parked.h"
#include "recorder/engine/process_table.h"
#include "recorder/engine/stop.h"
#include "recorder/engine/tracee.h"
#include "recorder/engine/wake.h"
#include "recorder/process/current_call.h"
#include "recorder/process/memory.h"
#include "recorder/process/proc_status.h"

#include <errno.h>
#include <linux/sched.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <time.h>

enum { CLONE = 56, FORK = 57, VFORK = 58, CLONE3 = 435 };

/* The number of the system call that TID is blocked in and its first argument; -1 and 0: in none, or not known. */
static long blocking_call(pid_t tid, uint64_t *argument)
{
    struct tg_current_call call;
    bool is_known = tg_current_call_read(tid, &call);
    *argument = is_known ? call.arguments[0] : 0;
    return is_known ? call.number : -1;
}

bool tg_forking_is_possible(pid_t tid)
{
    struct tg_proc_status status;
    uint64_t argument;
    if (!tg_proc_status_read(tid, &status) || tg_proc_status_is_dead(&status))
        return false; /* a SIGKILL can spare it its PTRACE_EVENT_EXIT */
    long number = blocking_call(tid, &argument);
    return number < 0 || number == CLONE || number == FORK || number == VFORK || number == CLONE3;
}

/* TID has its child, and waits for the child's end or exec: no interrupt reaches it. */
static bool is_in_vfork(pid_t tid)
{
    uint64_t argument, flags = 0;
    long number = blocking_call(tid, &argument);
    if (number == CLONE3 && !tg_memory_read(tid, argument, &flags, sizeof flags))
        return false;
    return number == VFORK || ((number == CLONE ? argument : flags) & CLONE_VFORK);
}

/* Handles STATUS of TRACEE when the attach is over. But one that ends is not kept from it: an exec may wait for its
 * end, and the next PTRACE_SEIZE for that exec. */
static void put_off(struct tg_tracee *tracee, int status)
{
    struct tg_engine *engine = tracee->thread.process->engine;
    if (!WIFSTOPPED(status))
        return; /* pruned */
    if (status >> 16 == PTRACE_EVENT_EXIT)
        ptrace(PTRACE_CONT, tracee->thread.tid, NULL, NULL);
    else if (!tg_parked_add(engine, tracee->thread.tid, status))
        tg_engine_fail(engine, tg_error_no_memory());
}

static void await_stop(struct tg_tracee *tracee, uint64_t until_ns)
{
    static const struct timespec moment = {.tv_nsec = 50 * 1000};
    pid_t tid = tracee->thread.tid;
    int status;
    for (;;) {
        pid_t stopped = waitpid(tid, &status, __WALL | WNOHANG);
        if (stopped == tid)
            put_off(tracee, status);
        if (stopped == tid || (stopped < 0 && errno != EINTR) || !tg_forking_is_possible(tid) ||
            is_in_vfork(tid) || tg_engine_now_ns() > until_ns)
            return;
        nanosleep(&moment, NULL);
    }
}

void tg_forking_await(struct tg_process *process)
{
    static const uint64_t longest_ns = UINT64_C(10) * 1000 * 1000 * 1000; /* a process of some 100 GiB */
    uint64_t until_ns = tg_engine_now_ns() + longest_ns;
    for (struct tg_thread *thread = process->threads; thread != NULL; thread = thread->hh.next) {
        struct tg_tracee *tracee = tg_tracee_of(thread);
        if (tracee->fork_unknown)
            tracee->fork_unknown = tg_forking_is_possible(thread->tid) && !is_in_vfork(thread->tid) &&
                                   ptrace(PTRACE_INTERRUPT, thread->tid, NULL, NULL) == 0;
    }
    for (struct tg_thread *thread = process->threads; thread != NULL; thread = thread->hh.next) {
        struct tg_tracee *tracee = tg_tracee_of(thread);
        if (tracee->fork_unknown)
            await_stop(tracee, until_ns);
        tracee->fork_unknown = false;
    }
}
