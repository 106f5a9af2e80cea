#include "recorder/process/own_tracee.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <unistd.h>

bool tg_own_tracee_begin(pid_t parent)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    return getppid() == parent && ptrace(PTRACE_TRACEME, 0, NULL, NULL) == 0;
}
