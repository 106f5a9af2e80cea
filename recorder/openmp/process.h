/* OpenMP in one process that is watched by breakpoints. Internal to
 * recorder/openmp/. */
#ifndef TG_RECORDER_OPENMP_PROCESS_H
#define TG_RECORDER_OPENMP_PROCESS_H

#include "recorder/engine/engine.h"
#include "recorder/openmp/gomp_entry.h"

#include <stdbool.h>
#include <stdint.h>

enum {
    TG_OPENMP_MAX_CALLS = 64,   /* nested calls of one thread */
    TG_OPENMP_MAX_FRAMES = 32,  /* nested regions of one thread */
    TG_OPENMP_MAX_ZONES = 8,    /* nested zones of one frame */
    TG_OPENMP_MAX_OPEN = 65536, /* regions, and tasks that have not begun, of one process */
};

/* A region, or an explicit task that has not begun yet. */
struct tg_openmp_work {
    uint64_t id; /* team or task */
    uint64_t body;
    uint64_t code;  /* address behind the call that it comes from */
    uint64_t data;  /* a region's; the bodies get the same */
    uint64_t owner; /* a region's: the thread pointer of who met it */
    uint64_t parent;
    uint64_t level;
    const struct tg_gomp_entry *entry;
    uint64_t count; /* sections, 0 unknown */
};

struct tg_openmp_works {
    struct tg_openmp_work *items;
    size_t count;
    size_t capacity;
};

/* A call that has not returned. */
struct tg_openmp_call {
    const struct tg_gomp_entry *entry; /* NULL: the body of a region or task */
    uint64_t return_address;
    uint64_t sp; /* the stack pointer there */
    uint64_t id; /* the region or task that it is about; a barrier's instance */
    uint64_t body;
    uint64_t lock;
    uint64_t sync; /* enum tg_omp_sync */
    bool is_task;  /* a body: of a task */
    bool waits;    /* the return from there ends a wait */
};

/* An implicit task. */
struct tg_openmp_frame {
    uint64_t team;
    uint64_t thread_num;
    uint64_t level;
    uint64_t instances; /* of barriers met */
    enum tg_omp_zone zones[TG_OPENMP_MAX_ZONES];
    size_t n_zones;
};

struct tg_openmp_thread {
    pid_t tid;
    struct tg_openmp_call calls[TG_OPENMP_MAX_CALLS];
    size_t n_calls;
    struct tg_openmp_frame frames[TG_OPENMP_MAX_FRAMES]; /* the first is outside of all regions */
    size_t n_frames;
    uint64_t tested;  /* the lock that it tested last, 0: it was inside of it since */
    uint64_t tests;   /* of that in vain, one after the other */
    uint64_t told_ns; /* when one was told */
    UT_hash_handle hh;
};

/* An entry point where it is loaded. */
struct tg_openmp_site {
    uint64_t address;
    const struct tg_gomp_entry *entry;
    UT_hash_handle hh;
};

struct tg_openmp_process {
    bool wanted;
    unsigned looks; /* for a runtime that was not there yet */
    bool knows_thread_num;
    int64_t thread_num_offset; /* distance of the thread number from the thread pointer */
    uint64_t runtime_start;    /* [start, end): where calls are the runtime's own */
    uint64_t runtime_end;
    uint64_t last_team;
    uint64_t last_task;
    struct tg_openmp_site *sites;
    struct tg_openmp_thread *threads;
    struct tg_openmp_works regions;
    struct tg_openmp_works tasks;
};

struct tg_openmp_process *tg_openmp_process_create(void); /* NULL without memory */
/* A copy for a forked child: the thread FROM alone goes on, as TO. NULL without memory. */
struct tg_openmp_process *tg_openmp_process_copy(const struct tg_openmp_process *process, pid_t from,
                                                 pid_t to);
void tg_openmp_process_destroy(struct tg_openmp_process *process); /* NULL is accepted */

/* NULL without memory. */
struct tg_openmp_site *tg_openmp_process_add_site(struct tg_openmp_process *process, uint64_t address,
                                                  const struct tg_gomp_entry *entry);
const struct tg_openmp_site *tg_openmp_process_site(const struct tg_openmp_process *process,
                                                    uint64_t address);

/* The state of TID, made where it is new; NULL without memory. */
struct tg_openmp_thread *tg_openmp_process_thread(struct tg_openmp_process *process, pid_t tid);
void tg_openmp_process_end_thread(struct tg_openmp_process *process, pid_t tid);

/* Calls that were left by a jump or an exception return no more: those whose place on the stack is free at
 * SP. Frames of such bodies go with them. */
void tg_openmp_thread_unwind(struct tg_openmp_thread *thread, uint64_t sp);
/* The innermost call if it returns to ADDRESS with stack pointer SP, taken off; false where it does not. */
bool tg_openmp_thread_return(struct tg_openmp_thread *thread, uint64_t address, uint64_t sp,
                             struct tg_openmp_call *call);

/* False where the bound is reached or there is no memory. */
bool tg_openmp_works_add(struct tg_openmp_works *works, const struct tg_openmp_work *work);
/* Takes out the one with ID (any: 0) and BODY, the oldest; false where there is none. */
bool tg_openmp_works_take(struct tg_openmp_works *works, uint64_t id, uint64_t body,
                          struct tg_openmp_work *work);

#endif
