/* The engine's side of a live job: what ptrace tells becomes what the controller decides on, and its orders
 * are carried out. Everything here runs on the tracer thread, in callbacks of the engine or in calls that
 * were posted to it. */
#ifndef TG_LIVE_CONTROL_ENGINE_ADAPTER_H
#define TG_LIVE_CONTROL_ENGINE_ADAPTER_H

#include "format/base/error.h"
#include "format/event/event.h"
#include "live/control/controller.h"
#include "live/control/steps.h"
#include "live/control/stop_policy.h"
#include "live/control/watches.h"
#include "live/inspect/dwarf/module_scene.h"
#include "live/source/news.h"
#include "live/source/source.h"
#include "recorder/dwarf/modules.h"
#include "recorder/record/recording.h"

#include <stdbool.h>
#include <stdint.h>

struct tg_engine_adapter;

/* The owner's callbacks, which run on the tracer thread, and its settings. */
struct tg_engine_adapter_options {
    void *context;
    void (*tell)(void *context, const struct tg_news *news);
    void (*changed)(void *context);     /* somebody stops, runs or has ended */
    const struct tg_stop_policy *stops; /* threads to stop unasked; read at each of these moments */
};

/* Adds itself to the engine of PARTS as its last observer, before anything runs. Both must outlive its
 * use. */
struct tg_error *tg_engine_adapter_create(const struct tg_recording_parts *parts,
                                          const struct tg_engine_adapter_options *options,
                                          struct tg_engine_adapter **live);
/* After the recording has ended. NULL is accepted. */
void tg_engine_adapter_destroy(struct tg_engine_adapter *live);

/* Every event that the engine emits, see tg_recording_watch. */
void tg_engine_adapter_emitted(struct tg_engine_adapter *live, const struct tg_event *event);

/* News of the loader about the process of THREAD, see struct tg_loader_listener. */
void tg_engine_adapter_handled(struct tg_engine_adapter *live, const struct tg_thread *thread,
                               const struct tg_loader_handled *handled);
void tg_engine_adapter_unloaded(struct tg_engine_adapter *live, struct tg_thread *thread,
                                const struct tg_break_object *object);

/* The latest event that was emitted. */
struct tg_event_mark tg_engine_adapter_latest(const struct tg_engine_adapter *live);

/* The dlopen filter in force is its to set. */
struct tg_loader *tg_engine_adapter_loader(const struct tg_engine_adapter *live);

struct tg_controller *tg_engine_adapter_controller(struct tg_engine_adapter *live);

/* The thread that UNIT is called; NULL: it has ended. It is stopped where tg_thread_is_kept. */
struct tg_thread *tg_engine_adapter_thread(struct tg_engine_adapter *live, struct tg_thread_id thread_id);

/* The mapped objects of PROCESS, of which a thread is stopped; NULL without memory. Valid until it ends. */
struct tg_modules *tg_engine_adapter_modules(struct tg_engine_adapter *live,
                                             const struct tg_process *process);
/* The same of process PID; NULL also where it is none. */
struct tg_modules *tg_engine_adapter_modules_of(struct tg_engine_adapter *live, int32_t pid);

/* The objects of the process of THREAD, which is stopped at *PC. Who is in our agent is, for people, where
 * the program called it: *PC is then there. *CODE: where its code is looked up. */
struct tg_modules *tg_engine_adapter_look(struct tg_engine_adapter *live, struct tg_thread *thread,
                                          uint64_t *pc, uint64_t *code);

struct tg_gates;

/* The gates of its agents (recorder/rings/gates.h), NULL: there are none. They go when the session ends. */
struct tg_gates *tg_engine_adapter_gates(struct tg_engine_adapter *live);

/* Records EVENT of the whole job, whose time is now. */
void tg_engine_adapter_record(struct tg_engine_adapter *live, const struct tg_event *event);

/* Steps that threads take when they are resumed. */
struct tg_job_steps *tg_engine_adapter_steps(struct tg_engine_adapter *live);

enum { TG_PLACE_SIZE = 512 };

/* The addresses where action point ID is planted in process PID, at most MAX; returns how many there are. */
size_t tg_engine_adapter_places(const struct tg_engine_adapter *live, int32_t pid, uint32_t id,
                                uint64_t *addresses, size_t max);

/* "solve (solver.c#120)", "read+16", for PC in process PID, of which a thread is stopped; "" not known. PLACE
 * has room for TG_PLACE_SIZE bytes, which are whatever the files say. */
void tg_engine_adapter_place(struct tg_engine_adapter *live, int32_t pid, uint64_t pc, char *place);

/* Libraries whose threads are no workers, for threads that start from now on: see tg_manager_threads_set. */
struct tg_error *tg_engine_adapter_set_managers(struct tg_engine_adapter *live, const char *libraries);
/* The names of variables of these objects; the same lifetime. */
struct tg_module_scene *tg_engine_adapter_scene(struct tg_engine_adapter *live,
                                                const struct tg_process *process);

/* The source file where SPEC (format/settings/break_spec.h) is in process PID, 0: in any, for the caller to
 * free; NULL not known. */
char *tg_engine_adapter_file_of(struct tg_engine_adapter *live, int32_t pid, const char *spec);
/* The source file of main in process PID, for the caller to free; NULL not known. */
char *tg_engine_adapter_main_file(struct tg_engine_adapter *live, int32_t pid);

/* A thread that is stopped. */
struct tg_thread_stop {
    struct tg_thread_id thread;
    int32_t pid, tid;
    enum tg_job_state state;
    int signal;        /* cause of the stop, 0 none */
    uint32_t point;    /* the first action point that it came to, 0 none */
    uint64_t pc, code; /* of the innermost frame that is shown, and where its code is looked up */
    bool stepped;      /* at the end of its step */
};

/* Tells people TEXT. */
void tg_engine_adapter_note(struct tg_engine_adapter *live, const char *text);

/* Threads that have stopped since the last call and still are. Valid until one stops or resumes; there are
 * *COUNT. */
const struct tg_thread_stop *tg_engine_adapter_take_stops(struct tg_engine_adapter *live, size_t *count);

/* A thread's coming to a breakpoint that has a script. */
struct tg_script_hit {
    struct tg_thread_id thread;
    uint32_t point;
    uint64_t stop_number; /* tg_thread_stop_number: with another one the thread has run since */
    bool is_write;        /* at a watchpoint: the value was BEFORE, and is AFTER */
    char before[TG_WATCH_TEXT_SIZE], after[TG_WATCH_TEXT_SIZE];
};

/* Whether THREAD is at such a breakpoint, and that was not taken yet. */
bool tg_engine_adapter_has_script_hit(const struct tg_engine_adapter *live, struct tg_thread_id thread);

/* Hits since the last call; *COUNT of them, valid until a thread stops. */
const struct tg_script_hit *tg_engine_adapter_take_script_hits(struct tg_engine_adapter *live, size_t *count);

/* Takes everything of ours out of process PID, which runs on. */
void tg_engine_adapter_release(struct tg_engine_adapter *live, int32_t pid);

/* Traces process PID as well, which is stopped then where the session's start is. TARGET errors say why. */
struct tg_error *tg_engine_adapter_attach(struct tg_engine_adapter *live, int32_t pid);

/* Whether anything was ever let run. */
bool tg_engine_adapter_has_run(const struct tg_engine_adapter *live);

/* How many ranks the job is to have on this host, as the environments of those say that have come; 0 not
 * known. */
int64_t tg_engine_adapter_expected_ranks(const struct tg_engine_adapter *live);

/* The session is about to end by letting everything go. */
void tg_engine_adapter_leave(struct tg_engine_adapter *live);

/* SIGKILL to every process that the session started; they end by and by. Attached ones are let go. */
void tg_engine_adapter_kill(struct tg_engine_adapter *live);

#endif
