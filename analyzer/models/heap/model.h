/* The heap model: events of the heap in; live blocks, peaks, call paths, errors and leaks of each process out. */
#ifndef TG_ANALYZER_MODELS_HEAP_MODEL_H
#define TG_ANALYZER_MODELS_HEAP_MODEL_H

#include "analyzer/models/addresses.h"
#include "analyzer/models/heap/blocks.h"
#include "analyzer/models/heap/call_paths.h"
#include "analyzer/models/heap/growth.h"
#include "format/base/error.h"
#include "format/event/event.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Blocks. Where a sample was recorded: an estimate of all by the sampled ones. */
struct tg_heap_amount {
    uint64_t parts;  /* number of blocks, in 1 / TG_HEAP_PARTS: see tg_heap_amount_blocks */
    uint64_t bytes;  /* as asked for */
    double variance; /* of BYTES as an estimate; 0 where all blocks were recorded */
};
enum { TG_HEAP_PARTS = 1 << 12 };

static inline uint64_t tg_heap_amount_blocks(const struct tg_heap_amount *amount)
{
    return (amount->parts + TG_HEAP_PARTS / 2) / TG_HEAP_PARTS;
}
/* The standard error of the bytes. */
uint64_t tg_heap_amount_error(const struct tg_heap_amount *amount);
void tg_heap_amount_add(struct tg_heap_amount *sum, const struct tg_heap_amount *more);

/* Blocks of one place in the program, or of one size, in one process. */
struct tg_heap_use {
    struct tg_heap_amount allocated; /* in all: every call that gave a block or another size */
    struct tg_heap_amount live;
    struct tg_heap_amount at_peak;     /* live when the process had most */
    struct tg_heap_amount at_job_peak; /* live when the job had most */
    uint64_t
        temporary; /* blocks that their thread freed before it allocated another one; of those recorded */
    uint64_t peak, job_peak; /* the model's: of which peaks the former are */
};

/* A call path in one process. */
struct tg_heap_site {
    uint32_t path; /* number in the call paths */
    struct tg_heap_use use;
};

enum { TG_HEAP_SIZE_CLASSES = 65 }; /* class I: sizes of I bits, [2^(I-1), 2^I); 0: empty blocks */

/* Blocks that a search found unreachable. */
struct tg_heap_leak {
    uint64_t kind; /* enum tg_heap_leak_kind */
    uint32_t path;
    uint64_t blocks, bytes;
    uint64_t address;
};

struct tg_heap_scan {
    uint64_t time_ns;
    struct tg_event_heap_leak_scan is; /* its string is the model's */
    struct tg_heap_leak *leaks;
    size_t n_leaks;
};

/* The heap of one process. Strings are the model's. */
struct tg_heap_process {
    size_t process; /* index in the process model */
    int32_t pid;
    bool is_started, is_late; /* a heap_start was seen; blocks from before are not known */
    bool has_ended;           /* exited: what was live then is still counted as live */
    uint64_t mode;            /* enum tg_heap_mode */
    uint64_t sample_bytes;    /* 0: all blocks are recorded */
    uint64_t depth;
    const char *allocator; /* "" unknown */
    uint64_t guard_bytes, hoard_bytes;
    bool paints, red_zones;

    struct tg_heap_use use; /* at_peak: the peak itself */
    uint64_t peak_ns;       /* when, 0: there was no block */
    uint64_t recorded;      /* allocations that are in the trace, new sizes included */
    uint64_t freed;         /* blocks, of those that are in the trace */
    uint64_t resized;       /* blocks that got another size, moved or not */
    uint64_t unknown_frees; /* of blocks from before */
    struct tg_heap_amount inherited,
        inherited_live;            /* of a forked process: its parent's blocks that it began with, and
                                                      * those that it has not freed. No part of USE: they were allocated,
                                                      * and are counted, in the parent */
    uint64_t missed_frees;         /* blocks whose address was given out again without a free between */
    struct tg_heap_growth *growth; /* of the live bytes; NULL: there was no block */
    struct tg_heap_use *by_size;   /* TG_HEAP_SIZE_CLASSES; NULL likewise */

    struct tg_heap_site *sites; /* block->site is an index here */
    size_t n_sites;
    struct tg_heap_blocks blocks; /* live ones; empty after the end unless they are kept */
    struct tg_heap_scan scan;     /* the latest; scan.time_ns 0: none */
};

/* An error, and all that are alike in its process. */
struct tg_heap_fault {
    size_t process;
    int32_t pid, tid;
    uint64_t time_ns;                          /* of the first */
    struct tg_event_heap_error is;             /* its string is the model's; stacks are those of the event */
    uint32_t path, allocated_path, freed_path; /* 0 unknown */
    uint64_t count;
};

/* Calls of a heap that are not recorded. */
struct tg_heap_gap {
    size_t process;
    const char *module, *reason;
};

struct tg_heap_options {
    bool keeps_blocks; /* of processes that have ended */
};

struct tg_heap_model;

struct tg_error *tg_heap_model_create(const struct tg_heap_options *options, struct tg_heap_model **model);
/* NULL is accepted. */
void tg_heap_model_destroy(struct tg_heap_model *model);

/* Takes one event of the process with index PROCESS in the process model, in the order of the trace; PARENT is the
 * index of its parent, SIZE_MAX none. Other events than those of the heap, of forks, programs and ends are ignored.
 * OBJECTS, fed with the events up to it, finds the objects of stacks that name none; NULL: they stay addresses. Only
 * error: NO_MEMORY. Memory follows live blocks, call paths and processes. */
struct tg_error *tg_heap_model_feed(struct tg_heap_model *model, const struct tg_event *event, size_t process,
                                    size_t parent, const struct tg_addresses *objects);

/* Processes that have a heap here, in order of their first event of it. */
size_t tg_heap_model_count(const struct tg_heap_model *model);
const struct tg_heap_process *tg_heap_model_at(const struct tg_heap_model *model, size_t i);
/* The heap of the process with index PROCESS in the process model, NULL none. */
const struct tg_heap_process *tg_heap_model_find(const struct tg_heap_model *model, size_t process);

/* The call path of STACK, a number in the events of PROCESS; 0 where it is not known. */
uint32_t tg_heap_model_path_of(const struct tg_heap_model *model, size_t process, uint64_t stack);
const struct tg_heap_call_paths *tg_heap_model_paths(const struct tg_heap_model *model);

/* USE with its amounts at the peaks as they are: in the structs they are behind until the next change. JOB and
 * process: those of the model and of USE's process. */
struct tg_heap_use tg_heap_model_use(const struct tg_heap_model *model, const struct tg_heap_process *process,
                                     const struct tg_heap_use *use);

/* All processes together: live, and most at once. */
struct tg_heap_job {
    struct tg_heap_amount live, peak;
    uint64_t peak_ns; /* 0: there was no block */
};
struct tg_heap_job tg_heap_model_job(const struct tg_heap_model *model);
/* Of the live bytes of all processes; NULL: there was no block. */
const struct tg_heap_growth *tg_heap_model_growth(const struct tg_heap_model *model);

/* In the order of the trace; at most 1,000 different ones of each are kept, further ones are counted. */
size_t tg_heap_model_fault_count(const struct tg_heap_model *model);
const struct tg_heap_fault *tg_heap_model_fault_at(const struct tg_heap_model *model, size_t i);
uint64_t tg_heap_model_more_faults(const struct tg_heap_model *model);
size_t tg_heap_model_gap_count(const struct tg_heap_model *model);
const struct tg_heap_gap *tg_heap_model_gap_at(const struct tg_heap_model *model, size_t i);

#endif
