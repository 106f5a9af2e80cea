/* The engine's state, which its files share and nobody else includes. Lower files first:
 *
 * tracee.c         a traced thread, its registers
 * observers.c      telling observers
 * stop.c           the stop in progress and its events
 * wake.c           waking the loop: timers, requests of other threads
 * process_table.c  processes and threads by id
 * parked.c         stops that came too early
 * address_space.c  breakpoint sites, their copies in children
 * restart.c        system calls that a tracer must not interrupt
 * watch.c          debug registers
 * keep.c resume.c  a stopped thread goes on, or is kept
 * scratch.c        room for displaced instructions
 * step.c           a hit: handlers, and how the thread gets past the instruction
 * thread_control.c orders: halt, step, go
 * pause.c          a look at many threads
 * rest.c           threads that are stopped before somebody asks
 * removal.c        threads and processes leave the tables
 * detach.c         processes are detached
 * program.c        a new program image: auxiliary vector, entry stop
 * lineage.c        births: fork, clone, first stops, exec
 * adoption.c       children whose creator was killed before it reported them
 * ending.c         deaths
 * dispatch.c       one wait status -> what happened
 * launch.c attach.c
 * loop.c           life of the engine, event loop */
#ifndef TG_RECORDER_ENGINE_ENGINE_INTERNAL_H
#define TG_RECORDER_ENGINE_ENGINE_INTERNAL_H

#include "recorder/engine/engine.h"
#include "recorder/engine/stop_events.h"
#include "recorder/engine/stop_wait.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <time.h>

enum { TG_MAX_EARLY = 1024 };

/* A wait status that was collected while the tracer could not handle it. */
struct tg_early_status {
    pid_t tid;
    int status;
};

enum { TG_MAX_GHOSTS = 8 };

/* Facts about a process that was killed: a child whose fork it could not report any more may
 * show up later, with a copy of its breakpoints. */
struct tg_ghost {
    struct tg_process facts;
    struct tg_address_space *space; /* a reference, NULL: none here */
};

/* A signal that this process has passed on, and who asked for it. */
struct tg_passed_on {
    bool is_set;
    pid_t sender;
    char name[32];
};

struct tg_engine {
    struct tg_event_sink sink;
    void (*hold)(void *context, uint64_t from_ns);
    void (*emitted)(void *context, const struct tg_event *event);
    void (*serve)(void *context);
    bool kill_on_exit;
    bool own_group;
    const int *standard_input;
    const struct tg_observer **observers;
    size_t n_observers, observers_capacity;
    struct tg_process *processes; /* uthash by pid */
    struct tg_tracee *tracees;    /* uthash by tid */
    struct tg_parked_stop *parked;
    struct tg_insn_decoder *decoder;
    unsigned n_memories;           /* files that address spaces keep */
    uint64_t n_watches;            /* made and removed so far */
    bool can_watch;                /* debug registers were tried */
    struct tg_attach_guard *guard; /* NULL: nothing was attached, or there can be none */

    struct tg_stop_wait stop_wait;
    bool in_stop;
    uint64_t stop_time_ns;
    uint64_t resume_time_ns;               /* end of the stop in progress, 0 not yet */
    struct tg_ghost ghosts[TG_MAX_GHOSTS]; /* processes killed last */
    unsigned n_ghosts;         /* so far; the next one replaces ghosts[n_ghosts % TG_MAX_GHOSTS] */
    struct tg_error *failure;  /* why tg_engine_run has to end, NULL nothing */
    struct tg_tracee *current; /* the thread whose stop is being handled, NULL none or gone */
    struct tg_stop_events stop_events;

    sigset_t launch_mask;    /* signal mask of the time of creation, and the signals that were ignored when */
    sigset_t launch_ignored; /* the tool was started: launched programs get these */
    bool has_wake_action;
    timer_t wake_timer;
    bool has_wake_timer;
    volatile sig_atomic_t seizing; /* in PTRACE_SEIZE: the timer's signal handler collects early statuses */
    volatile sig_atomic_t n_early;
    struct tg_early_status early[TG_MAX_EARLY];
    bool looking_again; /* the timer runs for tg_adoption_look_again */
    uint64_t looked_again_ns;
    atomic_bool stop_requested;
    pthread_mutex_t request_lock; /* of the two that follow together */
    atomic_bool has_requests;     /* of other threads: tg_engine_wake */
    timer_t request_timer;        /* as wake_timer, until the loop has seen that */
    bool has_request_timer;
    struct tg_passed_on passed_on[NSIG]; /* under request_lock */
    bool detach_in_progress;             /* some process is being detached */
    bool has_rests;                      /* since the last tg_engine_end_rests */
    pid_t *interrupted; /* threads that were interrupted to be kept, their stops not collected yet */
    size_t n_interrupted, interrupted_capacity;
    struct tg_early_status *paused; /* stops to be handled, from next_paused on: pause.h */
    size_t next_paused, n_paused, paused_capacity;
    pid_t launched_pid;
    int launched_status;
    bool launched_is_apart; /* way was, or is being, made for another tracer of it: its end is waited for */
};

#endif
