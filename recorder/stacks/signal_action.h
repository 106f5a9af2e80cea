/* Consequences of a signal for a process. */
#ifndef TG_RECORDER_STACKS_SIGNAL_ACTION_H
#define TG_RECORDER_STACKS_SIGNAL_ACTION_H

#include <stdbool.h>
#include <sys/types.h>

enum tg_signal_action {
    TG_SIGNAL_IGNORED,
    TG_SIGNAL_CAUGHT,
    TG_SIGNAL_ENDS, /* the process */
};

/* Signals of the program's own doing: SIGSEGV and the like, SIGABRT. */
bool tg_signal_is_fault(int signal);

/* Signals by which people, launchers and batch systems ask for an end: SIGINT, SIGTERM, SIGHUP, SIGQUIT,
 * SIGXCPU. */
bool tg_signal_asks_to_end(int signal);

/* Whether SIGNAL ends a process that has no handler for it. */
bool tg_signal_can_end(int signal);

/* The consequence of SIGNAL, which is about to be delivered to thread TID, by the kernel's own account
 * (/proc/TID/status); where that cannot be read, TG_SIGNAL_ENDS if it can. */
enum tg_signal_action tg_signal_action_of(pid_t tid, int signal);

#endif
