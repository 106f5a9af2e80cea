/* Errors of the heap, and calls of it that were not recorded: each different one once. */
#ifndef TG_ANALYZER_MODELS_HEAP_FAULTS_H
#define TG_ANALYZER_MODELS_HEAP_FAULTS_H

#include "format/base/error.h"
#include "format/base/string_pool.h"
#include "format/event/event.h"

#include <stddef.h>
#include <stdint.h>

/* An error, and all that are alike in its process. */
struct tg_heap_fault {
    size_t process;
    int32_t pid, tid;
    uint64_t time_ns;                          /* of the first */
    struct tg_event_heap_error is;             /* the string in it is the model's; stacks are the event's */
    uint32_t path, allocated_path, freed_path; /* 0 unknown */
    unsigned allocated_by; /* one more than the enum tg_heap_call of what gave the block; 0: unknown */
    uint64_t count;
};

/* Calls of a heap that are not recorded. */
struct tg_heap_gap {
    size_t process;
    const char *module, *reason;
};

/* Caller's storage; zero-initialised is empty. At most TG_HEAP_MAX_FAULTS of each are kept. */
enum { TG_HEAP_MAX_FAULTS = 1000 };
struct tg_heap_faults {
    struct tg_heap_fault *faults;
    size_t n_faults, fault_capacity;
    uint64_t more_faults; /* different from those that are kept */
    struct tg_heap_gap *gaps;
    size_t n_gaps, gap_capacity;
};

void tg_heap_faults_deinit(struct tg_heap_faults *faults);

/* Counts FAULT, whose count is 1. Strings are kept in STRINGS. Only error, here and below: NO_MEMORY. */
struct tg_error *tg_heap_faults_add(struct tg_heap_faults *faults, struct tg_string_pool *strings,
                                    struct tg_heap_fault fault);
/* Notes that calls of MODULE in PROCESS are not recorded, because of REASON. */
struct tg_error *tg_heap_faults_add_gap(struct tg_heap_faults *faults, struct tg_string_pool *strings,
                                        size_t process, const char *module, const char *reason);

#endif
