/* The source of the console's job: a trace, or an engine that traces a live job, with the same commands.
 *
 * To add a source: a struct that begins with struct tg_source, a const struct tg_source_ops, a function that
 * creates it. Operations that are NULL are told to be impossible, or not needed, as said with each.
 *
 * What a live job asks of this interface, and where it is:
 *   - Events come while the console waits for a command: `wake_fd` and `attend`. The moment that commands ask
 *     changes only inside of operations, all called by the console's one thread; an engine's own thread hands
 *     its events over and is never waited for.
 *   - There is no going back: `seek` and `landmark` are NULL, `step` waits for the next event of a job that
 *     runs, and says that it is at the end when nothing is left that could have one.
 *   - Moving is letting run: motions (`opm next`, `find`) are `begin`, steps, `end` around them. A trace
 * needs neither.
 *   - Who runs, is stopped or held is known to the engine alone: `view`, in which sets are found.
 *   - A diagram is drawn from the trace that is being written: `sync`. */
#ifndef TG_LIVE_SOURCE_SOURCE_H
#define TG_LIVE_SOURCE_SOURCE_H

#include "analyzer/job/set.h"
#include "analyzer/job/view.h"
#include "format/base/error.h"
#include "format/event/event.h"
#include "live/source/heap_wishes.h"
#include "live/source/moment.h"
#include "live/source/news.h"
#include "live/source/visitor.h"

#include <stdbool.h>
#include <stdint.h>

/* Destinations of a motion. */
enum tg_target_kind {
    TG_TO_EVENT, /* behind event NUMBER; 0: before the first; beyond the last one: to the end */
    TG_TO_TIME,  /* before the first event later than TIME_NS */
    TG_TO_END,
};

struct tg_target {
    enum tg_target_kind kind;
    uint64_t number;
    uint64_t time_ns; /* of the source's clock */
};

/* An event: COUNT of those with its time came up to it. */
struct tg_event_mark {
    uint64_t time_ns;
    uint64_t count;
};

/* Begins every source. Read-only for others; what it points to lives until the next operation. */
struct tg_source {
    const struct tg_source_ops *ops;
    const struct tg_moment *moment; /* after the event below */
    const struct tg_event *event;   /* the event taken last, NULL before the first */
    uint64_t number;                /* of that event, from 1; 0 before the first */
    uint64_t time_ns;               /* of that event; before the first the start */
    uint64_t moment_ns; /* the moment that was asked for: later than TIME_NS where nothing happened
                                         in between; 0: none was, or the events end before it */
    uint64_t start_ns;  /* times are told relative to it */
    uint64_t n_events;  /* in all, 0 not known (yet) */
    uint64_t file_position,
        file_size;          /* of a trace: bytes that were read up to here, and in all; 0 0: not known */
    const char *name;       /* of the trace or the command */
    const char *trace_path; /* of the trace that has these events, NULL: none */
    bool is_recording;      /* another process still writes the trace */
    bool is_untraced;       /* recorded without ptrace */
    int wake_fd;            /* readable: `attend` has something to do; -1: it never has */
    const struct tg_visitor *visitor; /* asks meanwhile, NULL nobody; the console's */
    struct tg_error *damage;          /* why events end early, NULL they do not; owned by the source */
};

enum { TG_SOURCE_GUARD_FAULTS = 100 };

/* What a look at guards found. */
struct tg_source_guards {
    uint64_t n_blocks;                                         /* live ones with guards */
    uint64_t n_wrong;                                          /* guards that were overwritten */
    uint64_t n_unread;                                         /* guards that could not be read */
    struct tg_event_heap_error faults[TG_SOURCE_GUARD_FAULTS]; /* the first n_faults of n_wrong */
    size_t n_faults;
};

struct tg_source_ops {
    void (*destroy)(struct tg_source *source);
    /* Takes the next event; of a live job waits for it. At the end source->event stays as it is and *AT_END
     * is true. An interrupt (live/source/interrupt.h) ends the waiting with a USAGE error. */
    struct tg_error *(*step)(struct tg_source *source, bool *at_end);
    /* Goes to TARGET, in either direction. An interrupt ends it with a USAGE error where it is then, a valid
     * place. NULL: the source goes forward only, by steps. */
    struct tg_error *(*seek)(struct tg_source *source, const struct tg_target *target);
    /* The last event up to NUMBER from where reading on begins at once; 0: the start. Who looks for something
     * backwards goes from one of these to the next. NULL: there is none but the start. */
    uint64_t (*landmark)(struct tg_source *source, uint64_t number);

    /* Fills VIEW, which is empty: processes, threads, groups and states at this moment. Of a process INFO.TAG
     * is the index in the process model, of a thread TAG is the index of its worker in the OpenMP model,
     * UINT64_MAX where it is none. NULL: tg_moment_view says it. */
    struct tg_error *(*view)(struct tg_source *source, struct tg_job_view *view);

    /* Before and after the steps of one motion: lets the threads of SET, over VIEW, run where nothing holds
     * them, and stops them again. `end` is called however the motion ended. NULL: steps need
     * neither. */
    struct tg_error *(*begin)(struct tg_source *source, const struct tg_job_view *view,
                              const struct tg_job_set *set);
    struct tg_error *(*end)(struct tg_source *source);

    /* Takes the events that came meanwhile, without waiting, and tells SINK what people should know of them:
     * a barrier is satisfied, a process has ended. Called before each command, and while the console waits
     * for one when wake_fd is readable. NULL: nothing happens by itself. */
    struct tg_error *(*attend)(struct tg_source *source, const struct tg_news_sink *sink);

    /* Marks the latest event that there is, whether it was taken or is on its way: who answers from the
     * moment what is so now takes events up to it first (tg_console_catch_up). NULL: what there is was
     * taken. */
    void (*mark)(struct tg_source *source, struct tg_event_mark *mark);
    /* Whether that was taken. */
    bool (*is_at)(struct tg_source *source, const struct tg_event_mark *mark);

    /* Makes the file at trace_path have all events up to the one taken last. NULL: it has. */
    struct tg_error *(*sync)(struct tg_source *source);

    /* The time now, of the same clock as its events' times. NULL: there is no time but theirs. */
    uint64_t (*now_ns)(struct tg_source *source);

    /* Has the stacks of all threads taken, which become events. Errors: UNSUPPORTED, stacks are not recorded; NOT_FOUND,
     * the job has ended. NULL: there are no threads. */
    struct tg_error *(*look)(struct tg_source *source);

    /* Searches the memory of process PID for pointers to the blocks of its heap; events of the trace say what was found.
     * Errors: UNSUPPORTED, heaps are not recorded; NOT_FOUND, that of this process is not, or it has ended; TARGET, it
     * runs; LIMIT. NULL: there are no processes. */
    struct tg_error *(*search_leaks)(struct tg_source *source, int64_t pid);

    /* Looks at the guards of the live blocks of process PID; events of the trace say what was found, too. Errors: UNSUPPORTED,
     * blocks are not checked; NOT_FOUND, those of this process are not, or it has ended; TARGET, it runs. NULL: there are no
     * processes. */
    struct tg_error *(*check_guards)(struct tg_source *source, int64_t pid, struct tg_source_guards *guards);

    /* What is wished of the heaps of all processes, of those that start later too; `wish` makes it WISHES, and the
     * trace says TEXT. Errors: UNSUPPORTED, the job was started without what it needs; NOT_FOUND, the job has
     * ended. NULL: what there is was recorded. */
    const struct tg_heap_wishes *(*heap_wishes)(const struct tg_source *source);
    struct tg_error *(*wish)(struct tg_source *source, const struct tg_heap_wishes *wishes,
                             enum tg_heap_wish_needs needs, const char *text);
};

/* The moment that SOURCE, a trace, is at: that of the event taken last, or a later one that was asked for. */
static inline uint64_t tg_source_moment_ns(const struct tg_source *source)
{
    return source->moment_ns > source->time_ns ? source->moment_ns : source->time_ns;
}

/* The source is where it was if STEP or SEEK fail with another error than an interrupt or NO_MEMORY. */
static inline void tg_source_destroy(struct tg_source *source)
{
    if (source != NULL)
        source->ops->destroy(source);
}

/* The file that has the events of SOURCE's trace now: it gets its name when the job has ended. The caller's;
 * NULL where there is no memory, or no trace. */
char *tg_source_trace_file(const struct tg_source *source);

/* The view at this moment; the caller's to destroy. */
struct tg_error *tg_source_view(struct tg_source *source, struct tg_job_view **view);

#endif
