/* A profile of the heap: what each call path, library, process or size of blocks has of it, over all processes. */
#ifndef TG_ANALYZER_HEAP_PROFILE_H
#define TG_ANALYZER_HEAP_PROFILE_H

#include "analyzer/heap/path_names.h"
#include "analyzer/models/heap/model.h"
#include "analyzer/models/process.h"
#include "analyzer/output/selection.h"

enum tg_heap_by { TG_HEAP_BY_STACK, TG_HEAP_BY_LIBRARY, TG_HEAP_BY_RANK, TG_HEAP_BY_SIZE };

/* The quantity that rows are ordered by and pictures show. */
enum tg_heap_cost {
    TG_HEAP_COST_PEAK,      /* bytes that were live at the peak */
    TG_HEAP_COST_LIVE,      /* bytes that are live */
    TG_HEAP_COST_BYTES,     /* bytes that were allocated */
    TG_HEAP_COST_CALLS,     /* blocks that were allocated */
    TG_HEAP_COST_TEMPORARY, /* blocks that were freed at once */
};

struct tg_heap_row {
    uint32_t path;          /* by stack */
    const char *module;     /* by library: the model's; "" not known */
    unsigned size_class;    /* by size */
    size_t process;         /* by rank: index in the process model; else the one that has most of COST */
    struct tg_heap_use use; /* of all processes; at_peak: at the peak of the profile */
    struct tg_heap_amount of_process; /* what PROCESS has of AT_PEAK */
    size_t n_processes;
    int64_t *ranks; /* sorted, of the processes that are ranks */
    size_t n_ranks;
    uint64_t peak_ns; /* by rank */
};

/* Caller's storage. */
struct tg_heap_profile {
    enum tg_heap_by by;
    enum tg_heap_cost cost;
    bool is_job_peak; /* the peak is that of the job; else each process's own: only some were asked for */
    struct tg_heap_row *rows; /* most of COST first; equals in the order of the trace */
    size_t count;
    struct tg_heap_use all; /* as a row's */
    uint64_t recorded, freed, unknown_frees, missed_frees;
    struct tg_heap_amount inherited,
        inherited_live; /* by forked processes, and not freed by them; no part of ALL */
    size_t n_forked;    /* processes that had such */
    uint64_t peak_ns;   /* of the job's peak, or of the only process */
    size_t n_processes;
    bool is_sampled;
};

/* SELECTION, NULL or resolved: which processes. Only error: NO_MEMORY. */
struct tg_error *tg_heap_profile_make(const struct tg_heap_model *heap,
                                      const struct tg_process_model *processes,
                                      const struct tg_selection *selection, enum tg_heap_by by,
                                      enum tg_heap_cost cost, struct tg_heap_profile *profile);
/* A profile by stack with one row for all paths of one place, as tg_heap_path_place has it. Only error: NO_MEMORY. */
struct tg_error *tg_heap_profile_merge_places(const struct tg_heap_profile *profile,
                                              const struct tg_heap_call_paths *paths,
                                              const struct tg_heap_path_names *names,
                                              struct tg_heap_profile *merged);
void tg_heap_profile_deinit(struct tg_heap_profile *profile);

/* What USE has of COST. */
uint64_t tg_heap_cost_of(const struct tg_heap_use *use, enum tg_heap_cost cost);

/* "peak", ...; the name of value COST; NULL beyond the last. "bytes" of all but CALLS and TEMPORARY. */
const char *tg_heap_cost_name(enum tg_heap_cost cost);
bool tg_heap_cost_is_bytes(enum tg_heap_cost cost);

#endif
