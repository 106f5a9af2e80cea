/* Commands of the console that a live job carries out: the focus is evaluated and the work is done in one
 * call on the tracer thread, so that nothing changes between the two. */
#ifndef TG_LIVE_COMMANDS_FOCUS_FOCUS_CALL_H
#define TG_LIVE_COMMANDS_FOCUS_FOCUS_CALL_H

#include "analyzer/job/set.h"
#include "analyzer/job/view.h"
#include "live/console/command.h"
#include "live/control/request.h"
#include "live/sets/ptset.h"

#include <stdio.h>

/* Has WORK done for the console's focus; DEFAULTS say what it leaves out to the command. An error of the
 * focus points at the character. */
struct tg_error *tg_focus_call_run(struct tg_console *console, const struct tg_ptset_defaults *defaults,
                                   tg_request_work *work, void *context, FILE *out);

/* The same for SET, which somebody typed as TEXT: errors point into that. */
struct tg_error *tg_focus_call_run_in(struct tg_console *console, const struct tg_ptset *set,
                                      const char *text, tg_request_work *work, void *context, FILE *out);

/* The same for SET of another thread's or no focus: WORK gets everything that there is. */
struct tg_error *tg_focus_call_run_all(struct tg_console *console, tg_request_work *work, void *context,
                                       FILE *out);

/* ERROR with the console's focus below it and a mark below the byte POSITION; SIZE_MAX: as it is. Takes
 * ERROR; NULL is none. */
struct tg_error *tg_focus_call_point(const struct tg_console *console, struct tg_error *error,
                                     size_t position);

/* Makes REQUEST one for WORK about the console's focus as it is now, to be served when the tracer thread comes to it
 * (tg_request_serve), as long as there is *FOCUS, which is the caller's; NULL: it is about everybody. */
struct tg_error *tg_focus_call_prepare(const struct tg_console *console,
                                       const struct tg_ptset_defaults *defaults, tg_request_work *work,
                                       void *context, struct tg_request *request, struct tg_ptset **focus);

/* "p" and the control group, as go-like commands have it. Where nobody has set a focus in a job with ranks,
 * "g": they are about all ranks. */
extern const struct tg_ptset_defaults tg_focus_call_defaults;
/* The same, and "a" there: about the whole job. */
extern const struct tg_ptset_defaults tg_focus_call_whole_job;

/* Stops those in focus, as the interrupt key does. */
struct tg_error *tg_focus_call_halt(struct tg_console *console);

/* Waits, while events are taken, until IS_DONE, which is WORK that leaves *DONE true, says so. An interrupt
 * ends it with an error; so does SECONDS, negative: never. DEFAULTS NULL: about everything, not the focus.
 * A wait that lasts says from time to time who runs and who is stopped. */
struct tg_error *tg_focus_call_await(struct tg_console *console, const struct tg_ptset_defaults *defaults,
                                     tg_request_work *is_done, bool *done, double seconds, FILE *out);

/* A wait in one call or several. BEGUN and NEXT are 0 before the first. */
struct tg_focus_patience {
    double begun;    /* when the wait began */
    double next;     /* when people are next reminded that it lasts */
    bool were_there; /* the threads in focus, before: one that is missing at the first look has ended */
};
/* tg_focus_call_await with a PATIENCE, which is kept for the next call. */
struct tg_error *tg_focus_call_await_with(struct tg_console *console,
                                          const struct tg_ptset_defaults *defaults, tg_request_work *is_done,
                                          bool *done, double seconds, struct tg_focus_patience *patience,
                                          FILE *out);

#endif
