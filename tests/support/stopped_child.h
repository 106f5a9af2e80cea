/* A program that a test traces: it is stopped, runs to its next stop, or takes one step. */
#ifndef TG_TESTS_STOPPED_CHILD_H
#define TG_TESTS_STOPPED_CHILD_H

#include "recorder/dwarf/target.h"

#include <sys/types.h>

struct stopped_child {
    pid_t pid;
    pid_t tid;  /* of the stopped thread; 0: the program is over */
    int signal; /* cause of the stop */
};

/* Starts ARGV (ends with NULL) and stops it behind its exec. Its standard output is OUTPUT, -1: the test's.
 * Aborts where that fails. */
void stopped_child_start_writing(struct stopped_child *child, const char *const *argv, int output);
void stopped_child_start(struct stopped_child *child, const char *const *argv);

/* Lets all run to the next stop (of any thread) or the end; SIGNAL is delivered (0 none). */
void stopped_child_continue(struct stopped_child *child, int signal);

/* One instruction of the stopped thread; a signal that comes in between is delivered. */
void stopped_child_step(struct stopped_child *child);

struct stopped_child_target {
    uint64_t address;
    uint64_t rsp_at_least;
};

/* Runs the stopped thread, off its present address, to one of the targets (at most 16) with a stack
 * pointer of at least that; signals are delivered meanwhile. */
void stopped_child_run_to(struct stopped_child *child, const struct stopped_child_target *targets,
                          size_t n_targets);

void stopped_child_registers(const struct stopped_child *child, struct tg_registers *registers);

/* Wider registers: of the stopped thread, valid as long as CHILD. And where its thread-local storage
 * is. */
struct tg_inspect_wide_registers stopped_child_wide_registers(const struct stopped_child *child);
uint64_t stopped_child_fs_base(const struct stopped_child *child);

/* Of the child; without breakpoints: none is planted while it is stopped. */
struct tg_inspect_memory stopped_child_memory(const struct stopped_child *child);

void stopped_child_kill(struct stopped_child *child);

/* Lets go of it; it stays stopped (SIGSTOP), for another debugger. Kill it afterwards. */
void stopped_child_detach_stopped(struct stopped_child *child);

#endif
