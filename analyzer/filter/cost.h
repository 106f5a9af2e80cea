/* The cost of stops to the traced program, from measurements alone: those in the trace, and the floor that
 * any stop pays on the machine (measured when recording began or ended, or by --calibrate). */
#ifndef TG_ANALYZER_FILTER_COST_H
#define TG_ANALYZER_FILTER_COST_H

#include "analyzer/filter/pace.h"
#include "format/settings/command.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum tg_cost_floor_source {
    TG_COST_FLOOR_NONE,
    TG_COST_FLOOR_RECORDED,   /* in the trace's meta section */
    TG_COST_FLOOR_CALIBRATED, /* measured on this machine now */
};

/* Libraries that breakpoints were looked for in, or that are to be. */
struct tg_cost_libraries {
    uint64_t count;
    uint64_t bytes; /* of those whose size is known */
};

/* How long it took. */
struct tg_cost_handling {
    uint64_t ns;
    struct tg_cost_libraries of;
};

/* The measurements that costs are computed from; filled before any tg_cost_ call, constant from then on. */
struct tg_cost_basis {
    enum tg_cost_floor_source floor_source;
    struct tg_stop_cost floor; /* meaningful where floor_source is not NONE */
    bool floor_is_of_end;      /* recorded when the job had ended, not when it began */
    uint64_t measured_stops;   /* loader stops whose time the trace has */
    uint64_t unmeasured_stops; /* loader events seen without a stop: costs come from the floor */
    struct tg_cost_handling dlopened,
        others;         /* tracer time for handling libraries that dlopen loaded, and those of programs */
    uint64_t stop_ns;   /* of all stops that the trace has... */
    uint64_t waited_ns; /* ...and how long the tracer waited for a processor meanwhile */
    bool no_search;     /* no breakpoint is wanted: handling a library takes no time at all */
};

/* A sum of costs. Estimates are kept apart from measurements so that a report can say what is which. Plain
 * data: zero-initialised it is no cost at all. */
struct tg_cost {
    uint64_t ns;               /* known cost, hidden parts and estimates included */
    uint64_t low_ns, high_ns;  /* the same with estimates at their lower and upper quartiles */
    uint64_t ceiling_ns;       /* no more: a measured stop hides at most what lies before it in its thread */
    uint64_t open_ns;          /* part of ns that has no ceiling: no measured stop */
    uint64_t estimated_ns;     /* part of ns that was not measured on the event itself */
    uint64_t modelled_ns;      /* part of that for stops of which nothing was measured */
    uint64_t priced_ns;        /* part of it for what never was, at the price of such on the machine */
    uint64_t unknown_stops;    /* stops for which there is neither a measurement nor a floor */
    uint64_t unknown_handles;  /* libraries whose handling was never measured */
    uint64_t unknown_readings; /* libraries that no tracer read, at no known price */
    bool is_partial;           /* stops are missing, because the recording could not see them */
};

/* What may be said of a sum. */
enum tg_cost_claim {
    TG_COST_UNKNOWN, /* a tenth or more of it was not measured at all */
    TG_COST_RANGE,   /* between low_ns and high_ns, which are further off, or a tenth or more was priced */
    TG_COST_FIGURE,  /* ns, within 10 % */
};
enum tg_cost_claim tg_cost_claim(const struct tg_cost *cost);

/* The part of a stop that a tracer cannot see (the way into it and back), 0 without a floor. SPARSE: the
 * tracer slept before it; where that was not measured, up to twice as much as otherwise. */
struct tg_quartiles tg_cost_hidden_ns(const struct tg_cost_basis *basis, bool sparse);

/* One stop, the latest one of PACE: STOP_NS as the trace has it, 0 where it was not measured. Then the floor is its price. */
void tg_cost_add_stop(const struct tg_cost_basis *basis, uint64_t stop_ns, const struct tg_pace *pace,
                      struct tg_cost *cost);

/* Time that was measured on the event itself. */
void tg_cost_add_ns(uint64_t ns, struct tg_cost *cost);

/* NS that the agent's observer of the loader took in the program to tell of LIBRARIES, as it measured itself. What is done around it, and the
 * caches that it displaces, take up to as much again. Where NS is far more than it can take, it waited for a processor: then
 * most of it is only the upper end. */
void tg_cost_add_agent(uint64_t ns, uint64_t libraries, struct tg_cost *cost);

/* Libraries that were read at loader stops of their own, in NS altogether. */
struct tg_cost_singly {
    uint64_t count, ns;
};

/* Reading libraries that are found together: TOGETHER_NS were measured there, and telling of them takes up to a
 * quarter more. Others were read SINGLY; found together, libraries have their dependencies sorted out as well, which a loader
 * stop tells by itself: what the floor says of that, else up to three times as long. */
void tg_cost_add_reading(const struct tg_cost_basis *basis, uint64_t together_ns,
                         const struct tg_cost_singly *singly, struct tg_cost *cost);

/* Reading COUNT libraries that no tracer has read, each at a stop of the loader of its own, or TOGETHER with others, which sorts
 * their dependencies out as well. */
void tg_cost_add_unread(const struct tg_cost_basis *basis, uint64_t count, bool together,
                        struct tg_cost *cost);

/* Handling of LIBRARIES of which it was not measured. Where the trace has many libraries that dlopen loaded and that were handled: their
 * mean. Otherwise what little there is says no more than a range: a library takes the longer the larger it is, but not in
 * proportion, and those that a program begins with are not like others. */
void tg_cost_add_handling(const struct tg_cost_basis *basis, const struct tg_cost_libraries *libraries,
                          struct tg_cost *cost);

/* Time that the job may have lost besides, because the machine was busy: widens the range, downwards by what was not measured
 * on the events themselves, upwards to the ceiling at most. LOOKED_NS: as struct tg_pace has it. Call it once. */
void tg_cost_add_waiting(const struct tg_cost_basis *basis, uint64_t looked_ns, struct tg_cost *cost);

/* Takes back what a stop would not have done: DONE_NS at most as much as was added. */
void tg_cost_subtract(uint64_t done_ns, struct tg_cost *cost);

void tg_cost_add(const struct tg_cost *other, struct tg_cost *cost);

/* Whether the sum is good enough to compare settings by: nothing in it is unknown for want of a floor. */
bool tg_cost_is_known(const struct tg_cost *cost);

/* Whether the floor says all that a stop of the loader takes: with what reading a library takes besides. */
bool tg_cost_has_price(const struct tg_cost_basis *basis);

/* One line on where the figures come from, or how to get them; cut to SIZE (500 is enough). */
void tg_cost_describe(const struct tg_cost_basis *basis, char *buffer, size_t size);

#endif
