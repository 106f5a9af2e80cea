/* What memory of one place, of one size or of a process is in use, now and at peaks. */
#ifndef TG_ANALYZER_MODELS_HEAP_USE_H
#define TG_ANALYZER_MODELS_HEAP_USE_H

#include "analyzer/models/heap/amount.h"

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

/* What USE has been since the latest peaks, whose numbers are PEAK and JOB_PEAK, is what it was then. To be said before USE
 * changes, and before its amounts at peaks are read. */
void tg_heap_use_settle(struct tg_heap_use *use, uint64_t peak, uint64_t job_peak);
void tg_heap_use_gain(struct tg_heap_use *use, const struct tg_heap_amount *amount);
void tg_heap_use_lose(struct tg_heap_use *use, const struct tg_heap_amount *amount);

#endif
