/* The entry points of GCC's OpenMP runtime that a compiled program calls, and what a call of each means. */
#ifndef TG_RECORDER_OPENMP_GOMP_ENTRY_H
#define TG_RECORDER_OPENMP_GOMP_ENTRY_H

#include "format/event/event.h"

#include <stdbool.h>
#include <stddef.h>

/* Events of a call: at its entry, at its return, or both. */
enum tg_gomp_call {
    TG_GOMP_PARALLEL,         /* a region: body and data are the first two arguments, threads the third */
    TG_GOMP_BARRIER,          /* a thread waits for its team */
    TG_GOMP_ZONE_START,       /* a worksharing zone begins */
    TG_GOMP_ZONE_END,         /* ends with a barrier */
    TG_GOMP_ZONE_END_NOWAIT,  /* ends without one */
    TG_GOMP_SECTION,          /* asks for the next section: returns its number, 0 for none */
    TG_GOMP_SINGLE_START,     /* returns whether this thread executes it */
    TG_GOMP_SINGLE_COPY,      /* waits for the values of who executes it; returns NULL to that one */
    TG_GOMP_SINGLE_COPY_DONE, /* by who executes it */
    TG_GOMP_MUTEX_ENTER,      /* waits until it may enter */
    TG_GOMP_MUTEX_LEAVE,
    TG_GOMP_MUTEX_TEST, /* returns 0 where another one is inside */
    TG_GOMP_TASK,       /* body is the first argument */
    TG_GOMP_TASKLOOP,   /* likewise, any number of tasks */
    TG_GOMP_WAIT,       /* for tasks */
    TG_GOMP_TASKGROUP_START,
    TG_GOMP_TASKGROUP_END,
};

struct tg_gomp_entry {
    const char *name;
    enum tg_gomp_call call;
    enum tg_omp_zone zone; /* of zone calls; of a parallel one: the zone that its body begins with */
    enum tg_omp_schedule schedule;
    enum tg_omp_sync sync;
    enum tg_omp_mutex mutex;
    bool combined; /* a parallel one whose body begins in ZONE */
    bool named;    /* a mutex one: the lock is the first argument */
    bool counted; /* a zone one: the count is the last of the integer arguments before data: the first, or, of
                     a combined one, the fourth */
};

/* For I in [0, tg_gomp_entry_count()). Constant. */
size_t tg_gomp_entry_count(void);
const struct tg_gomp_entry *tg_gomp_entry_at(size_t i);

#endif
