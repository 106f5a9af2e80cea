/* Classes of processes that look alike, by which a report of many ranks is folded into a few lines. */
#ifndef TG_ANALYZER_REPORT_PROCESS_SHAPE_H
#define TG_ANALYZER_REPORT_PROCESS_SHAPE_H

#include "analyzer/models/process.h"

/* Writes to SHAPES (room for tg_process_model_count) a number per process index: two processes have the same
 * number exactly when they and all that they started are alike: program, ends, numbers of threads, kinds and
 * objects of last events, children in order. Times, pids and ranks (but whether there is one) do not count.
 * Only error: NO_MEMORY. */
struct tg_error *tg_process_shapes(const struct tg_process_model *model, size_t *shapes);

/* How a process is shown among siblings: on its own line, or in the line of the first one of its shape. */
struct tg_process_fold {
    size_t leader;  /* index of the process whose line stands for this one; its own where it has a line */
    size_t members; /* for a leader: processes in its line, itself included */
};

/* Writes to FOLDS (room for tg_process_model_count): siblings of one shape share a line where they are at
 * least LEAST. SHAPES is from tg_process_shapes. Only error: NO_MEMORY. */
struct tg_error *tg_process_folds(const struct tg_process_model *model, const size_t *shapes, size_t least,
                                  struct tg_process_fold *folds);

#endif
