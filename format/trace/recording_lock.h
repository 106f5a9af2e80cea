/* The lock by which readers tell a trace that is still being recorded from one whose recorder is gone: a
 * record lock on the whole file. Such a lock belongs to the process: children do not inherit it, and it
 * ends with the process, whatever the end. It says nothing more than that: reading and writing go on as
 * without. */
#ifndef TG_FORMAT_TRACE_RECORDING_LOCK_H
#define TG_FORMAT_TRACE_RECORDING_LOCK_H

#include <stdbool.h>
#include <stdint.h>

/* Takes the lock on FD, which is open for writing, or takes it again: a process loses it with any
 * descriptor of the file that it closes. False where the file system has no locks, or another process
 * holds it. */
bool tg_recording_lock_take(int fd);

/* The process, another than this one, that holds the lock; 0: none. -1: one of another host, or of another
 * pid namespace. Any descriptor will do. */
int32_t tg_recording_lock_owner(int fd);

#endif
