#include "recorder/record/stop_price.h"

static void note_gap(struct tg_stop_price *price, const struct tg_event *event)
{
    size_t at = (uint32_t)event->tid % TG_STOP_PRICE_THREADS;
    uint64_t since_ns = price->latest[at].tid == event->tid ? price->latest[at].ns : UINT64_MAX;
    price->latest[at].tid = event->tid;
    price->latest[at].ns = event->time_ns;
    if (since_ns > event->time_ns)
        return;
    uint64_t gap = (event->time_ns - since_ns) / TG_STOP_PRICE_GAP_NS;
    price->gaps[gap < TG_STOP_PRICE_GAPS - 1 ? gap : TG_STOP_PRICE_GAPS - 1]++;
}

void tg_stop_price_note(struct tg_stop_price *price, const struct tg_event *event)
{
    if (!price->wanted || event->kind != TG_EVENT_LIBRARY_LOAD || event->library_load.found != TG_FOUND_AGENT)
        return;
    price->loads++;
    note_gap(price, event);
}

struct tg_load_pace tg_stop_price_pace(const struct tg_stop_price *price)
{
    const uint64_t most_work_ns = 120 * 1000; /* more of it is the program's */
    uint64_t total = 0, before = 0;
    size_t middle = 0;
    for (size_t i = 0; i < TG_STOP_PRICE_GAPS; i++)
        total += price->gaps[i];
    while (middle + 1 < TG_STOP_PRICE_GAPS && before + price->gaps[middle] <= total / 2)
        before += price->gaps[middle++];
    uint64_t gap_ns = middle * TG_STOP_PRICE_GAP_NS + TG_STOP_PRICE_GAP_NS / 2;
    return (struct tg_load_pace){.work_ns = gap_ns < most_work_ns ? gap_ns : most_work_ns,
                                 .is_sparse = gap_ns > most_work_ns};
}

bool tg_stop_price_measure(const struct tg_stop_price *price, uint64_t within_ns, struct tg_event *event)
{
    struct tg_stop_cost cost;
    const struct tg_load_pace pace = tg_stop_price_pace(price);
    if (!price->wanted || price->loads < TG_STOP_PRICE_LOADS)
        return false;
    struct tg_error *error = tg_calibrate_briefly(within_ns, &pace, &cost);
    bool measured = error == NULL;
    tg_error_destroy(error); /* a trace without it is as good as one of a job with few libraries */
    if (!measured)
        return false;
    *event = (struct tg_event){
        .kind = TG_EVENT_STOP_PRICE,
        .time_ns = tg_engine_now_ns(),
        .stop_price = {.samples = cost.samples,
                       .stop_low_ns = cost.stop.low,
                       .stop_median_ns = cost.stop.median,
                       .stop_high_ns = cost.stop.high,
                       .hidden_low_ns = cost.hidden.low,
                       .hidden_median_ns = cost.hidden.median,
                       .hidden_high_ns = cost.hidden.high,
                       .sparse_stop_low_ns = cost.sparse_stop.low,
                       .sparse_stop_median_ns = cost.sparse_stop.median,
                       .sparse_stop_high_ns = cost.sparse_stop.high,
                       .sparse_hidden_low_ns = cost.sparse_hidden.low,
                       .sparse_hidden_median_ns = cost.sparse_hidden.median,
                       .sparse_hidden_high_ns = cost.sparse_hidden.high,
                       .read_low_ns = cost.read.low,
                       .read_median_ns = cost.read.median,
                       .read_high_ns = cost.read.high,
                       .together_ns = cost.together_ns},
    };
    return true;
}
