#include "recorder/stacks/signal_action.h"

#include "recorder/process/proc_status.h"

#include <signal.h>
#include <stdint.h>

bool tg_signal_is_fault(int signal)
{
    return signal == SIGSEGV || signal == SIGBUS || signal == SIGFPE || signal == SIGILL ||
           signal == SIGABRT || signal == SIGSYS || signal == SIGTRAP;
}

bool tg_signal_asks_to_end(int signal)
{
    return signal == SIGINT || signal == SIGTERM || signal == SIGHUP || signal == SIGQUIT ||
           signal == SIGXCPU;
}

bool tg_signal_can_end(int signal)
{
    return signal != SIGCHLD && signal != SIGCONT && signal != SIGURG && signal != SIGWINCH &&
           signal != SIGSTOP && signal != SIGTSTP && signal != SIGTTIN && signal != SIGTTOU;
}

enum tg_signal_action tg_signal_action_of(pid_t tid, int signal)
{
    uint64_t ignored, caught, bit = UINT64_C(1) << (signal - 1);
    if (!tg_signal_can_end(signal))
        return TG_SIGNAL_IGNORED;
    if (!tg_proc_status_signals(tid, &ignored, &caught))
        return TG_SIGNAL_ENDS;
    return (caught & bit) != 0 ? TG_SIGNAL_CAUGHT : (ignored & bit) != 0 ? TG_SIGNAL_IGNORED : TG_SIGNAL_ENDS;
}
