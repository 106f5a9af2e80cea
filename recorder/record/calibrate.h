/* The cost of a stop on this machine. */
#ifndef TG_RECORDER_RECORD_CALIBRATE_H
#define TG_RECORDER_RECORD_CALIBRATE_H

#include "format/settings/command.h"

/* Forks a child that imitates a dynamic loader: it adds objects to a list and runs into a trap at each change, some
 * right behind each other, as in a loop of dlopens, some far apart, as where a program computes between them. At each trap
 * what the engine does is done (where the thread is, a look at the list, continue), and each is timed, with some work of
 * the program behind it, against calls without the trap. Some ten milliseconds. OS error where a child cannot be forked
 * or traced, TARGET where it ends early. Must not be called while an engine runs in this process. */
struct tg_error *tg_calibrate_stop_cost(struct tg_stop_cost *cost);

/* How a job loads its libraries. */
struct tg_load_pace {
    uint64_t work_ns; /* what a load takes by itself */
    bool is_sparse;   /* most are further apart than the tracer looks for the next stop */
};

/* The same in some four milliseconds, with fewer samples, and WITHIN_NS at most (UINT64_MAX: however long it takes). Stops that
 * are far apart may then be missing (all zero). TARGET too where that was not enough for anything. The child has been reaped
 * then, or, where within ten more milliseconds there was no processor for it to end on, killed. */
struct tg_error *tg_calibrate_briefly(uint64_t within_ns, const struct tg_load_pace *pace,
                                      struct tg_stop_cost *cost);

#endif
