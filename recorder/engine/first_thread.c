#include "recorder/engine/first_thread.h"

#include "recorder/engine/process_table.h"
#include "recorder/process/proc_status.h"

#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Whether the sender meant the process, and is another one: who sends to a thread by its id, as if it were a process's, does so
 * within. */
static bool is_of_process(const struct tg_tracee *tracee, const siginfo_t *info)
{
    if (info->si_code == SI_USER)
        return info->si_pid != tracee->thread.process->pid;
    return info->si_code == SI_KERNEL && (info->si_signo == SIGINT || info->si_signo == SIGQUIT ||
                                          info->si_signo == SIGHUP || info->si_signo == SIGWINCH);
}

bool tg_first_thread_gets(struct tg_tracee *tracee, const siginfo_t *info)
{
    pid_t pid = tracee->thread.process->pid;
    uint64_t ignored, caught, blocked, pending, bit = UINT64_C(1) << (info->si_signo - 1);
    if (tracee->thread.tid == pid || !is_of_process(tracee, info))
        return false;
    struct tg_tracee *first = tg_tracee_find(tracee->thread.process->engine, pid);
    if (first == NULL || first->exiting ||
        (first->sent_on.si_signo != 0 && first->sent_on.si_signo != info->si_signo))
        return false;
    if (!tg_proc_status_signals(pid, &ignored, &caught) || (caught & bit) == 0 ||
        !tg_proc_status_waiting_signals(pid, &blocked, &pending) || (blocked & bit) != 0)
        return false;
    /* one that has this signal already, from us, has it for both */
    if ((pending & ~(first->sent_on.si_signo != 0 ? bit : 0)) != 0 ||
        syscall(SYS_tgkill, pid, pid, info->si_signo) != 0)
        return false;
    if (first->sent_on.si_signo == 0)
        first->sent_on = *info;
    return true;
}

void tg_first_thread_has_got(struct tg_tracee *tracee, siginfo_t *info)
{
    if (tracee->sent_on.si_signo == 0 || tracee->sent_on.si_signo != info->si_signo ||
        info->si_code != SI_TKILL || info->si_pid != getpid())
        return;
    *info = tracee->sent_on;
    tracee->sent_on.si_signo = 0;
    ptrace(PTRACE_SETSIGINFO, tracee->thread.tid, NULL, info);
}
