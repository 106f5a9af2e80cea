/* Commands of the console that a live job carries out: the focus is evaluated and the work is done in one
 * call on the tracer thread, so that nothing changes between the two. */
#ifndef TG_LIVE_COMMANDS_FOCUS_CALL_H
#define TG_LIVE_COMMANDS_FOCUS_CALL_H

#include "analyzer/job/set.h"
#include "analyzer/job/view.h"
#include "live/console/command.h"
#include "live/control/engine_adapter.h"
#include "live/sets/ptset.h"

#include <stdio.h>

/* What WORK has to go on. */
struct tg_control {
    struct tg_live_engine *engine;
    struct tg_controller *controller;
    const struct tg_ptset *focus;   /* complete */
    const struct tg_job_view *view; /* tags: pid of processes, tid of threads */
    const struct tg_job_set *set;   /* whom the focus means */
    FILE *out;
    void *context;
};

typedef struct tg_error *tg_control_work(const struct tg_control *control);

/* Has WORK done for the console's focus; DEFAULTS say what it leaves out to the command. An error of the
 * focus points at the character. */
struct tg_error *tg_control_run(struct tg_console *console, const struct tg_ptset_defaults *defaults,
                                tg_control_work *work, void *context, FILE *out);

/* The same for SET, which somebody typed as TEXT: errors point into that. */
struct tg_error *tg_control_run_in(struct tg_console *console, const struct tg_ptset *set, const char *text,
                                   tg_control_work *work, void *context, FILE *out);

/* The same for SET of another thread's or no focus: WORK gets everything that there is. */
struct tg_error *tg_control_run_all(struct tg_console *console, tg_control_work *work, void *context,
                                    FILE *out);

/* ERROR with the console's focus below it and a mark below the byte POSITION; SIZE_MAX: as it is. Takes
 * ERROR; NULL is none. */
struct tg_error *tg_control_point(const struct tg_console *console, struct tg_error *error, size_t position);

/* The source file that a line number without one means: where the thread of interest stands, else the first
 * one in focus that stands; where that place has no source that of its main. NULL not known; the caller's to
 * free. */
char *tg_control_file(const struct tg_control *control);

/* "p" and the control group, as go-like commands have it. */
extern const struct tg_ptset_defaults tg_control_defaults;

/* Stops those in focus, as the interrupt key does. */
struct tg_error *tg_control_halt(struct tg_console *console);

/* Lets those in focus run until a worker of them comes to the beginning of one of FUNCTIONS, a
 * NULL-terminated list of which at most 8 count; its process stands then. *FOUND: who that is, dpid 0 where
 * they have stopped or ended otherwise. NOT_FOUND where there are no such functions, UNSUPPORTED where the
 * programs have not begun, so that their libraries are not known. */
struct tg_error *tg_control_step_to(struct tg_console *console, const char *const *functions,
                                    struct tg_thread_id *found, FILE *out);

/* dgo. */
struct tg_error *tg_control_go(struct tg_console *console, FILE *out);

/* What the settings say that the job has to know, from now on: while CONSOLE is there. */
void tg_control_watch(struct tg_console *console);

/* dgo, then dwait: dcont of a live job. */
struct tg_error *tg_control_continue(struct tg_console *console, FILE *out);

/* Waits, while events are taken, until IS_DONE, which is WORK that leaves *DONE true, says so. An interrupt
 * ends it with an error; so does SECONDS, negative: never. DEFAULTS NULL: about everything, not the focus. */
struct tg_error *tg_control_await(struct tg_console *console, const struct tg_ptset_defaults *defaults,
                                  tg_control_work *is_done, bool *done, double seconds, FILE *out);

#endif
