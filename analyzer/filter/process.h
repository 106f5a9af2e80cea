/* One process in the filter model: what waits in each lane. For the files of the model alone. */
#ifndef TG_ANALYZER_FILTER_PROCESS_H
#define TG_ANALYZER_FILTER_PROCESS_H

#include "analyzer/filter/cost.h"
#include "analyzer/filter/pending_log.h"
#include "analyzer/filter/simulation.h"
#include "format/base/hash.h"
#include "format/event/event.h"

/* The libraries that wait in one lane of a process. */
struct tg_lane_wait {
    size_t first;                        /* items of the log before this index do not wait in this lane */
    uint64_t events;                     /* dlopen events deferred since the last handling */
    uint64_t libraries;                  /* of theirs that are still loaded */
    uint64_t handle_ns;                  /* measured time to handle them... */
    struct tg_cost_libraries unmeasured; /* ...and libraries for which there is none */
    uint64_t read_ns;                    /* fast: reading the link map happens with the handling... */
    struct tg_cost_singly read_at_loads; /* ...of this, what was measured at loader stops... */
    uint64_t untold_ns;                  /* ...what at other stops, without telling of what was read... */
    uint64_t unread;                     /* ...and libraries of which that was not measured */
    uint64_t overhead_ns;                /* cost since the last round trip that needed no client */
    uint64_t run_until_ns;               /* the program's own running time at the last round trip */
    struct tg_timeline timeline;
};

/* The newest item of a library in the log. */
struct tg_newest {
    uint32_t library;
    uint64_t epoch; /* of the log */
    size_t item;    /* of the log */
    UT_hash_handle hh;
};

/* The place of a breakpoint, to know whether a lane would have hit it. */
struct tg_planted {
    uint64_t address;
    uint64_t epoch; /* of the log */
    size_t item;    /* of the log */
    unsigned blind; /* lanes (bits) that never plant it there */
    UT_hash_handle hh;
};

/* How much a process looks like a rank of an MPI job. */
enum tg_process_role {
    TG_ROLE_OTHER,
    TG_ROLE_RANKED, /* the environment says so, which children of a rank inherit */
    TG_ROLE_MPI,    /* made MPI calls; with a rank or, started by itself, without */
};

struct tg_filter_process {
    int32_t pid;
    int64_t rank;
    bool has_dlopens;
    bool made_mpi_calls;
    bool by_agent; /* the loads of its program were seen without stops */
    bool started;  /* the libraries that its program starts with are there */
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
    uint64_t due_ns; /* time of the stop that is due */
    enum tg_stop_trigger due_trigger;
    uint64_t loader_ns; /* latest loader stop, to count one with several events once */
    int32_t loader_tid;
    struct tg_pending_log log;
    struct tg_pending_log
        unloaded;             /* handled libraries that went since the last other stop; time_ns: their base */
    struct tg_newest *newest; /* uthash by library */
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

enum tg_process_role tg_filter_process_role(const struct tg_filter_process *process);

/* LIBRARY was loaded; ITEM of the log is its, SIZE_MAX none: no lane has it waiting. */
struct tg_error *tg_filter_process_note_load(struct tg_filter_process *process, uint32_t library,
                                             size_t item);

/* The child of a fork has its parent's breakpoints. */
struct tg_error *tg_filter_process_inherit(struct tg_filter_process *child,
                                           const struct tg_filter_process *parent);

/* A breakpoint at ADDRESS in LIBRARY: lanes in which the library waits do not have it yet. */
struct tg_error *tg_filter_process_plant(struct tg_filter_process *process, uint64_t address,
                                         uint32_t library);
void tg_filter_process_unplant(struct tg_filter_process *process, uint64_t address);

/* Lanes (bits) in which the breakpoint at ADDRESS is not planted: its library still waits, or is not seen. */
unsigned tg_filter_process_lanes_without(struct tg_filter_process *process, uint64_t address);

#endif
