/* Starting a program in a child process that first waits for leave, so that it can be traced from its first
 * instruction on. */
#ifndef TG_RECORDER_PROCESS_SPAWN_H
#define TG_RECORDER_PROCESS_SPAWN_H

#include "format/base/error.h"

#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>

struct tg_spawn_options {
    char *const *environment;  /* NULL: the caller's */
    const sigset_t *mask;      /* signal mask of the program, NULL: the calling thread's */
    const sigset_t *ignored;   /* signals that it ignores, NULL: those that the caller does */
    const int *standard_input; /* NULL: the caller's */
    bool own_group;            /* a process group of its own */
};

/* Caller's storage: TG_SPAWN_NONE, then filled by tg_spawn_begin. */
struct tg_spawn {
    pid_t pid;
    int go, failure; /* ends of pipes */
    struct tg_spawn_plan *plan;
};

#define TG_SPAWN_NONE                                                                                        \
    {                                                                                                        \
        .go = -1, .failure = -1                                                                              \
    }
#define TG_AUTO_SPAWN __attribute__((cleanup(tg_spawn_deinit)))

/* Makes a child that is going to be ARGV (execvp rules), all signals blocked and the caller's handlers gone; ARGV and what
 * OPTIONS points to must live until it is. It ends if the caller does without having let it go. Error: OS. */
struct tg_error *tg_spawn_begin(char *const *argv, const struct tg_spawn_options *options,
                                struct tg_spawn *spawn);

/* Lets the child become the program. Error: OS. */
struct tg_error *tg_spawn_go(const struct tg_spawn *spawn, const char *name);

/* Waits until the child is the program, or has ended before: 0 or the errno of its exec. 0 also where it was
 * killed. */
int tg_spawn_failure(const struct tg_spawn *spawn);

/* When the child is the program, or has ended: before, it runs in the caller's memory. */
void tg_spawn_deinit(struct tg_spawn *spawn);

#endif
