#include "analyzer/models/heap/use.h"

void tg_heap_use_settle(struct tg_heap_use *use, uint64_t peak, uint64_t job_peak)
{
    if (use->peak != peak) {
        use->at_peak = use->live;
        use->peak = peak;
    }
    if (use->job_peak != job_peak) {
        use->at_job_peak = use->live;
        use->job_peak = job_peak;
    }
}

void tg_heap_use_gain(struct tg_heap_use *use, const struct tg_heap_amount *amount)
{
    tg_heap_amount_add(&use->allocated, amount);
    tg_heap_amount_add(&use->live, amount);
}

void tg_heap_use_lose(struct tg_heap_use *use, const struct tg_heap_amount *amount)
{
    tg_heap_amount_subtract(&use->live, amount);
}
