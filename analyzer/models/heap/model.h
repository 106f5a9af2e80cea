/* The heap model: events of the heap in; live blocks, peaks, call paths, errors and leaks of each process out. */
#ifndef TG_ANALYZER_MODELS_HEAP_MODEL_H
#define TG_ANALYZER_MODELS_HEAP_MODEL_H

#include "analyzer/models/addresses.h"
#include "analyzer/models/heap/call_paths.h"
#include "analyzer/models/heap/faults.h"
#include "analyzer/models/heap/process.h"
#include "format/base/error.h"
#include "format/event/event.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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
