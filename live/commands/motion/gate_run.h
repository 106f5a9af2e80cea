/* Letting a job's OpenMP workers run to gates: those who come there wait behind what they were to do, and once
 * that is so the threads in focus are stopped. What is common to the `opm` commands of a live job. */
#ifndef TG_LIVE_COMMANDS_MOTION_GATE_RUN_H
#define TG_LIVE_COMMANDS_MOTION_GATE_RUN_H

#include "live/console/command.h"
#include "live/control/worker_gates.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A worker that a run is about. */
struct tg_gate_worker {
    size_t index; /* in the OpenMP model */
    int32_t pid, tid;
    bool is_out;  /* was there before: does not run */
    bool waits;   /* afterwards: at a gate */
    bool cannot;  /* afterwards: waits for somebody who has got there, or for ever */
    bool is_gone; /* while it is waited for: its process has ended, and with it whatever it had come to */
    /* the run's own, as they were at the last look */
    bool is_stuck; /* there was one */
    uint64_t before_ns;
    struct tg_gate_chance before;
};

struct tg_gate_run {
    struct tg_worker_gate *gates;
    size_t n_gates, max_gates;
    struct tg_gate_worker *workers; /* workers that are to come; none: whoever comes first ends the run */
    size_t n_workers, max_workers;
    size_t n_unknown; /* workers that are to come, too, and have not begun with their team yet */
    size_t n_staying; /* other members of teams at whose ends those who began the regions alone come out */
    bool alone;       /* only the workers run, nobody else in focus */
    bool of_each;     /* of a run without workers: it ends when the first has come to each gate, not to any */
    /* of a run without workers, with one gate for all processes (pid 0): the job runs, those in focus and those who are still
     * to come. Whoever has come is the focus then */
    bool of_job;
    /* of that: somebody has come; else the job stands, as where its ranks stop at their first instruction */
    bool has_begun;
    bool
        of_process; /* processes without a gate do not run: those that are further must not run past others */
    /* of a run without workers: whether who has come is meant, NULL: everybody is */
    bool (*is_meant)(void *context, const struct tg_openmp_worker *worker);
    /* of one who has not come to a gate: whether its last event says that it is about to, as one that is meant */
    bool (*is_arriving)(void *context, const struct tg_openmp_worker *worker);
    /* of one who has come and is not meant: whether it stays until one who is has come, which is about to */
    bool (*is_kept)(void *context, const struct tg_openmp_worker *worker);
    void *context;
    double
        seconds; /* of a run without workers: it ends after so long with an error, and the threads go on; 0: never */

    /* afterwards */
    size_t n_here;                        /* threads at its gates */
    size_t n_unplaced;                    /* threads that came there and could not be made to wait */
    bool is_there;                        /* all are at a gate, out, or cannot come; or the first has come */
    const struct tg_openmp_worker *first; /* of a run without workers: who has come; NULL nobody */
    uint32_t *numbers;                    /* the run's own */
    bool *have_come;                      /* the run's own: for each gate, whether its first has come */
    size_t n_keeping;                     /* the run's own: how often such as are kept have been waited for */
    uint64_t begun_ns;                    /* the run's own: of the last event before it */
    size_t n_stuck;                       /* the run's own: threads in the deadlock that it ended for */
};

/* All zero is an empty one. */
void tg_gate_run_deinit(struct tg_gate_run *run);

/* Only error: NO_MEMORY. A worker that is in several of the run's teams is one, and out where it is out in all. */
struct tg_error *tg_gate_run_add_gate(struct tg_gate_run *run, const struct tg_worker_gate *gate);
struct tg_error *tg_gate_run_add_worker(struct tg_gate_run *run, const struct tg_gate_worker *worker);

/* Whether NUMBER is of a gate of RUN. */
bool tg_gate_run_has(const struct tg_gate_run *run, uint32_t number);
/* Index of the worker that is thread TID of process PID; SIZE_MAX none. */
size_t tg_gate_run_find_worker(const struct tg_gate_run *run, uint64_t pid, uint64_t tid);
/* Gates to which the first has come. */
size_t tg_gate_run_count_come(const struct tg_gate_run *run);

/* The pid of the process with index PROCESS; 0 where it has none. */
int32_t tg_gate_run_pid(const struct tg_console *console, size_t process);

/* Makes the thread the one in focus; where that is about all ranks, or a group, it stays that. */
struct tg_error *tg_gate_run_look_at(struct tg_console *console, struct tg_thread_id thread);

/* Stops the threads in focus, and takes what has happened up to then. Where the ranks are the focus because nobody has
 * set one, they are from then on by name. */
struct tg_error *tg_gate_run_settle(struct tg_console *console, FILE *out);

/* The same, and the focus stays what it is. */
struct tg_error *tg_gate_run_halt(struct tg_console *console, FILE *out);

/* "worker 3: in the loop ...": where WORKER is. */
void tg_gate_run_tell_worker(const struct tg_console *console, const struct tg_openmp_worker *worker,
                             FILE *out);

/* Whether all processes in focus have an agent. */
struct tg_error *tg_gate_run_has_agents(struct tg_console *console, bool *has_agents);

#endif
