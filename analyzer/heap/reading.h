/* The heap of a trace at a moment: the models that say it, fed with all events up to that. */
#ifndef TG_ANALYZER_HEAP_READING_H
#define TG_ANALYZER_HEAP_READING_H

#include "analyzer/models/heap/model.h"
#include "analyzer/models/process.h"
#include "analyzer/models/stacks.h"
#include "analyzer/output/code_names.h"
#include "analyzer/output/progress.h"
#include "analyzer/output/selection.h"
#include "format/trace/reader.h"

struct tg_heap_reading_request {
    const char *path;
    const struct tg_command_services *services; /* for names of code; NULL: addresses stay numbers */
    struct tg_selection *selection; /* ends at that moment; not started yet; NULL: all of the trace */
    uint64_t last_event;            /* number of the last event that counts, from 1; 0: all */
    bool keeps_blocks;              /* also of processes that have ended */
    /* Takes each event that counts, before the heap model does; PROCESS is NULL for the recorder's own. NULL: nobody
     * does. */
    void (*take)(void *context, const struct tg_event *event, const struct tg_process_entry *process);
    void *context;
    struct tg_progress *progress; /* NULL: none */
};

/* Caller's storage. */
struct tg_heap_reading {
    struct tg_process_model *processes;
    struct tg_heap_model *heap;
    struct tg_stack_model *stacks; /* for the names of code */
    struct tg_addresses *objects;
    struct tg_code_names *names; /* NULL: addresses stay numbers */
    struct tg_trace_summary summary;
    struct tg_error *damage;   /* why reading ended before the end of the trace, NULL: it did not */
    char *command;             /* what was recorded, "" unknown */
    uint64_t start_ns, end_ns; /* of the trace; time of the last event that counts */
};

/* Errors: those of the reader's open, USAGE of the selection, NO_MEMORY. */
struct tg_error *tg_heap_reading_make(const struct tg_heap_reading_request *request,
                                      struct tg_heap_reading *reading);
void tg_heap_reading_deinit(struct tg_heap_reading *reading);

#endif
