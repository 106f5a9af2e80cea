/* A program's account of itself while it runs, to be compared with what was recorded of it: one line for
 * each event, in the words of tests/e2e/openmp/gomp.py, thread by thread. No locks: each thread has its own
 * buffer. Written to the file that $OPENMP_LOG names when the program ends.
 *
 * @N names a team, #N a task, &N a lock: the program's own numbers (log_new), which stand for one of the
 * recorded ones each. */
#ifndef LOG_H
#define LOG_H

void tell(const char *format, ...) __attribute__((format(printf, 1, 2)));
long log_new(void);

/* A team's thread begins the body, at LEVEL; returns what counts its barriers. */
void tell_begin(long team, long parent);
/* A barrier of KIND ("barrier", "barrier_implicit") is behind the thread, number INSTANCE in the
 * team. */
void tell_barrier(const char *kind, int instance);
/* A construct that excludes others: before, inside at both ends. */
void tell_wait(const char *mutex, long lock);
void tell_enter(const char *mutex, long lock);
void tell_leave(const char *mutex, long lock);
/* A task begins and ends on this thread; what ran before is suspended meanwhile. */
void tell_task(long task);
void tell_task_end(long task, const char *how);
/* The task that runs, 0: an implicit one. */
long log_task(void);
/* In a new region no explicit task runs: returns what ran, for log_restore_task. */
long log_no_task(void);
void log_restore_task(long task);
/* For Fortran, which has no variable arguments. */
void tell_text(const char *text);
void tell_number(const char *format, long number);

#endif
