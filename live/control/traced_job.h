/* A live job: a thread of its own traces it, records it, and has its controller decide. Whoever wants
 * something of it asks by calls that are made on that thread; what happened meanwhile is taken as events and
 * news. */
#ifndef TG_LIVE_CONTROL_TRACED_JOB_H
#define TG_LIVE_CONTROL_TRACED_JOB_H

#include "format/base/error.h"
#include "format/event/event.h"
#include "live/control/request.h"
#include "live/control/stop_policy.h"
#include "live/source/news.h"
#include "recorder/record/options.h"
#include "recorder/record/recording.h"
#include "recorder/record/recording_heap.h"

#include <stdbool.h>
#include <stdint.h>

struct tg_traced_job;

/* Starts the command of OPTIONS, or attaches; where STOPS says so the job is stopped when this returns.
 * OPTIONS must outlive it. TELLS_ALL: its news are a program's, not only for people. Errors of the trace
 * file, and TARGET errors that name command or process. */
struct tg_error *tg_traced_job_create(const struct tg_record_options *options,
                                      const struct tg_stop_policy *stops, bool tells_all,
                                      struct tg_traced_job **job);

/* Whether somebody is to be told of NEWS. */
bool tg_traced_job_wants(const struct tg_traced_job *job, const struct tg_news *news);

enum tg_job_end {
    TG_JOB_END_KILL,
    TG_JOB_END_DETACH, /* everything of ours is taken out of the processes, which run on */
};

/* Ends what still runs, so that no thread of it is stopped, and closes the trace. Does nothing where it has
 * ended. */
void tg_traced_job_end(struct tg_traced_job *job, enum tg_job_end how);

/* Runs its command once more, where it has ended, into TRACE; nothing of the former run is known any more. */
struct tg_error *tg_traced_job_restart(struct tg_traced_job *job, const char *trace);

/* After an end. NULL is accepted. */
void tg_traced_job_destroy(struct tg_traced_job *job);

/* Waits, two seconds at most, until the processes to attach to have come to their first stop: before that
 * nobody is there to be commanded. Any thread. */
void tg_traced_job_await_attached(struct tg_traced_job *job);

/* Where all ranks of an MPI job have ended, waits, five seconds at most, until what has started them ends as
 * well, unless it is stopped. */
void tg_traced_job_await_launchers(struct tg_traced_job *job);

/* Has REQUEST served by the tracer thread, and waits for that; its error. After the job's end what is
 * known of it still answers. Any thread. */
struct tg_error *tg_traced_job_ask(struct tg_traced_job *job, struct tg_request *request);
/* The same for WORK that is about nobody. */
struct tg_error *tg_traced_job_call(struct tg_traced_job *job, tg_request_work *work, void *context);

/* Somebody who waits for workers at gates, on the tracer thread; neither call waits for anything. */
struct tg_gate_attendant {
    /* Outside of stops, whenever workers have come, and whenever else requests are served. */
    void (*attend)(void *context, struct tg_engine_adapter *live);
    /* Whenever a thread was let go or has stopped: nobody may be told to stop or go by this. */
    void (*glance)(void *context, struct tg_engine_adapter *live);
    void *context;
};
/* Has ATTENDANT, whose storage stays the caller's, told of workers at gates, instead of who takes what happened. In a
 * request; NULL: nobody any more. */
void tg_traced_job_set_attendant(struct tg_traced_job *job, const struct tg_gate_attendant *attendant);

/* Whether it is a command's, which can be run once more. */
bool tg_traced_job_has_command(const struct tg_traced_job *job);

/* The trace of the first run, after which those of others are called. */
const char *tg_traced_job_first_trace(const struct tg_traced_job *job);
/* The trace that is written, valid until it is run once more. */
const char *tg_traced_job_trace(const struct tg_traced_job *job);

/* The threads that the session stops unasked; to be changed in requests. */
struct tg_stop_policy *tg_traced_job_stops(struct tg_traced_job *job);

/* ---- what happened: one thread takes it */

/* Readable when there is an event or news, or somebody stops, runs or has ended; until the next settle. */
int tg_traced_job_wake_fd(const struct tg_traced_job *job);
/* When the run began that events come from: moments are told relative to that, as in its trace. */
uint64_t tg_traced_job_start_ns(const struct tg_traced_job *job);
/* Says that everything that came so far is about to be taken. */
void tg_traced_job_settle(struct tg_traced_job *job);
/* But not all of it was. */
void tg_traced_job_unsettle(struct tg_traced_job *job);
/* The next event of the trace, NULL none yet. Valid until the next pop. */
const struct tg_event *tg_traced_job_first_event(struct tg_traced_job *job);
void tg_traced_job_pop_event(struct tg_traced_job *job);
/* How many events found no room because nobody took them, since the last call. They are in the trace. */
uint64_t tg_traced_job_take_missed(struct tg_traced_job *job);
/* Tells SINK of what happened that is no event, or more than one. */
void tg_traced_job_tell_news(struct tg_traced_job *job, const struct tg_news_sink *sink);

/* Whether it ended by being let go: what was left of it runs on. */
bool tg_traced_job_was_let_go(struct tg_traced_job *job);
/* Whether nothing is traced any more and the trace is closed; *STATUS is then the command's wait status. */
bool tg_traced_job_has_ended(struct tg_traced_job *job, int *status);
/* Waits until the file of the trace has all events that were handed out so far. LIMIT: the disk does not keep
 * up; USAGE: an interrupt ended the waiting. */
struct tg_error *tg_traced_job_sync(struct tg_traced_job *job);
/* Takes the stacks of all threads, see tg_recording_look. */
struct tg_error *tg_traced_job_look(struct tg_traced_job *job);
/* Searches process PID for leaks, see tg_recording_search_leaks. */
struct tg_error *tg_traced_job_search_leaks(struct tg_traced_job *job, int32_t pid);
/* Looks at the guards of process PID, see tg_recording_check_guards. */
struct tg_error *tg_traced_job_check_guards(struct tg_traced_job *job, int32_t pid,
                                            struct tg_guard_check *check);
/* How heaps are observed; valid as long as JOB. */
const struct tg_agent_heap *tg_traced_job_heap(const struct tg_traced_job *job);
/* Changes what is wished of heaps, see tg_recording_wish. */
struct tg_error *tg_traced_job_wish(struct tg_traced_job *job, const struct tg_agent_heap_wishes *wishes,
                                    const char *text);
/* Summary of the trace of a job that has ended. */
struct tg_recording_summary tg_traced_job_summary(struct tg_traced_job *job);

#endif
