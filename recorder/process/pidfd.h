/* File descriptors of processes (pidfd_open(2), pidfd_send_signal(2)), which glibc has functions for from 2.36 on. */
#ifndef TG_RECORDER_PROCESS_PIDFD_H
#define TG_RECORDER_PROCESS_PIDFD_H

#include <stddef.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

/* A file descriptor of process PID, the caller's to close; -1 with errno: no process has that number, or no descriptor is left. */
static inline int tg_pidfd_open(pid_t pid)
{
    return (int)syscall(SYS_pidfd_open, pid, 0);
}

static inline int tg_pidfd_send_signal(int fd, int signal)
{
    return (int)syscall(SYS_pidfd_send_signal, fd, signal, NULL, 0);
}

#endif
