/* One process in the filter model: what waits in each lane. For the files of the model alone. */
#ifndef TG_ANALYZER_FILTER_PROCESS_H
#define TG_ANALYZER_FILTER_PROCESS_H

#include "analyzer/filter/pending_log.h"
#include "analyzer/filter/simulation.h"
#include "format/event/event.h"

#include <uthash.h>

/* The libraries that wait in one lane of a process. */
struct tg_lane_wait {
    size_t first;          /* items of the log before this index do not wait in this lane */
    uint64_t events;       /* dlopen events deferred since the last handling */
    uint64_t libraries;    /* of theirs that are still loaded */
    uint64_t handle_ns;    /* measured time to handle them... */
    uint64_t unmeasured;   /* ...and libraries for which there is none */
    uint64_t read_ns;      /* fast: reading the link map happens with the handling */
    uint64_t overhead_ns;  /* cost since the last round trip that needed no client */
    uint64_t run_until_ns; /* the program's own running time at the last round trip */
    struct tg_timeline timeline;
};

/* The place of a breakpoint, to know whether a lane would have hit it. */
struct tg_planted {
    uint64_t address;
    uint64_t epoch; /* of the log */
    size_t item;    /* of the log */
    UT_hash_handle hh;
};

struct tg_filter_process {
    int32_t pid;
    int64_t rank;
    bool has_dlopens;
    bool by_agent; /* the loads of its program were seen without stops */
    int64_t threads;
    uint64_t start_ns, last_ns;  /* first and latest event */
    uint64_t stopped_ns;         /* how long the recording held it, hidden parts included */
    uint64_t stop_ns, before_ns; /* times of the latest stop and of the one before it, 0 none */
    int32_t stop_tid;
    bool other_stop; /* the latest stop was for another reason than the loader */
    enum tg_stop_trigger trigger;
    bool is_due; /* the lane that follows the recording handles what waits when all events of the stop were
                    seen */
    bool due_final;
    uint64_t due_ns; /* its time */
    enum tg_stop_trigger due_trigger;
    uint64_t loader_ns; /* latest loader stop, to count one with several events once */
    int32_t loader_tid;
    struct tg_pending_log log;
    struct tg_pending_log
        unloaded;      /* handled libraries that went since the last other stop; time_ns: their base */
    size_t load_first; /* items of the latest load event: from here to the log's end */
    uint64_t load_epoch;
    struct tg_planted *planted; /* uthash by address */
    UT_hash_handle hh;
    struct tg_lane_wait waits[]; /* one for each lane */
};

struct tg_filter_process *tg_filter_process_create(int32_t pid, size_t n_lanes, uint64_t time_ns);
void tg_filter_process_destroy(struct tg_filter_process *process, size_t n_lanes);

/* Forgets what belongs to a program image: breakpoints planted, the log. */
void tg_filter_process_forget_image(struct tg_filter_process *process);

/* How long the program itself has run until TIME_NS: stops taken out. */
uint64_t tg_filter_process_run_ns(const struct tg_filter_process *process, uint64_t time_ns);

/* Takes note that a stop at TIME_NS in TID was seen. */
void tg_filter_process_note_stop(struct tg_filter_process *process, uint64_t time_ns, int32_t tid);

/* When the libraries that a stop at TIME_NS shows first may have been loaded: the previous stop's time. */
uint64_t tg_filter_process_unseen_since(const struct tg_filter_process *process, uint64_t time_ns);

/* Remembers a breakpoint at ADDRESS in LIBRARY if the library is one of the latest load event's. */
struct tg_error *tg_filter_process_plant(struct tg_filter_process *process, uint64_t address,
                                         uint32_t library);
void tg_filter_process_unplant(struct tg_filter_process *process, uint64_t address);

/* Lanes (bits) in which the breakpoint at ADDRESS is not planted, because its library still waits. */
unsigned tg_filter_process_lanes_without(struct tg_filter_process *process, uint64_t address);

#endif
