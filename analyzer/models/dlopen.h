/* The dlopen model: what the dlopen filter made of each process's library events, and which libraries are
 * loaded there, handled or waiting to be. Of a live job it says what is now, of a trace what was. */
#ifndef TG_ANALYZER_MODELS_DLOPEN_H
#define TG_ANALYZER_MODELS_DLOPEN_H

#include "format/base/error.h"
#include "format/event/event.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    TG_DLOPEN_MAX_LIBRARIES = 4096, /* kept of a process; more are counted */
    TG_DLOPEN_MAX_RECENT = 16,      /* decisions kept */
};

/* Of one process, or of all. */
struct tg_dlopen_counts {
    uint64_t events;    /* dlopen events: loads, start-up and attach excepted */
    uint64_t libraries; /* brought by these events */
    uint64_t reported;  /* decisions on them, by enum tg_filter_decision */
    uint64_t deferred;
    uint64_t not_stopped;
    uint64_t by_agent;     /* events that the agent saw, without a decision */
    uint64_t in_process;   /* events that were decided about in the process, without a stop */
    uint64_t null_events;  /* loader stops at which no library came or went */
    uint64_t unloads;      /* unload events */
    uint64_t stop_ns;      /* the program stood so long for loader stops */
    uint64_t batches;      /* how often deferred libraries were handled together... */
    uint64_t handled_late; /* ...how many they were... */
    uint64_t largest_batch;
    uint64_t handle_ns;        /* ...and what handling took, that of reported ones included */
    uint64_t late_breakpoints; /* planted when their library had run already... */
    uint64_t worst_window_ns;  /* ...for so long at most */
    uint64_t waiting;          /* libraries that wait to be handled now */
    uint64_t cuda_missed;      /* events with a CUDA driver library that were not reported */
};

enum tg_dlopen_state {
    TG_DLOPEN_STARTUP, /* came with the program, or was there at attach: handled in every mode */
    TG_DLOPEN_HANDLED, /* reported, or handled by now */
    TG_DLOPEN_LATE,    /* handled by now, after it was deferred */
    TG_DLOPEN_WAITING, /* deferred, or not stopped for */
    TG_DLOPEN_SEEN,    /* by the agent */
};

/* A library that is loaded in a process. */
struct tg_dlopen_library {
    const char *path; /* lives as long as the model */
    uint64_t base;    /* load bias */
    uint64_t size_bytes;
    uint64_t link_map;
    uint64_t time_ns; /* of the event that showed it */
    enum tg_dlopen_state state;
};

struct tg_dlopen_process {
    struct tg_dlopen_counts counts;
    struct tg_dlopen_library *libraries; /* by time */
    size_t n_libraries;
    size_t capacity;
    bool has_decision_due; /* the latest load event is the one that the next decision is about... */
    size_t due;            /* ...whose libraries are from here to the end */
    uint64_t n_due;        /* number of those libraries, including any that are not kept */
    bool due_cuda;
    const char *due_path; /* of the first */
};

struct tg_dlopen_decision {
    uint64_t time_ns;
    size_t process;
    uint64_t decision; /* enum tg_filter_decision */
    uint64_t rule;     /* enum tg_filter_rule */
    const char *pattern;
    const char *library; /* the one that decided, or the event's first one */
    uint64_t n_libraries;
};

struct tg_dlopen_model;

struct tg_error *tg_dlopen_model_create(struct tg_dlopen_model **model);
void tg_dlopen_model_destroy(struct tg_dlopen_model *model); /* NULL is accepted */
/* A second one that says the same and goes on from there on its own. */
struct tg_error *tg_dlopen_model_copy(const struct tg_dlopen_model *model, struct tg_dlopen_model **copy);

/* Takes one event of the process with index PROCESS in the process model; PARENT is the index of the one that
 * it was forked from, SIZE_MAX none or not known. Only error: NO_MEMORY. */
struct tg_error *tg_dlopen_model_feed(struct tg_dlopen_model *model, const struct tg_event *event,
                                      size_t process, size_t parent);

/* Processes [0, count); those without library events are all zero. */
size_t tg_dlopen_model_count(const struct tg_dlopen_model *model);
const struct tg_dlopen_process *tg_dlopen_model_at(const struct tg_dlopen_model *model, size_t process);

/* Adds MORE to SUM; the largest of what is a maximum. */
void tg_dlopen_counts_add(struct tg_dlopen_counts *sum, const struct tg_dlopen_counts *more);

/* Decisions, the latest first: I in [0, the smaller of TG_DLOPEN_MAX_RECENT and all that there were); NULL
 * beyond. */
const struct tg_dlopen_decision *tg_dlopen_model_recent(const struct tg_dlopen_model *model, size_t i);

/* Whether PATH is a CUDA driver library: without its event, kernel launches are missed. */
bool tg_dlopen_is_cuda(const char *path);

#endif
