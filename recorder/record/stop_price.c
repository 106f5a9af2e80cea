#include "recorder/record/stop_price.h"

#include "recorder/record/calibrate.h"

void tg_stop_price_note(struct tg_stop_price *price, const struct tg_event *event)
{
    if (price->wanted && event->kind == TG_EVENT_LIBRARY_LOAD && event->library_load.found == TG_FOUND_AGENT)
        price->loads++;
}

bool tg_stop_price_measure(const struct tg_stop_price *price, uint64_t within_ns, struct tg_event *event)
{
    struct tg_stop_cost cost;
    if (!price->wanted || price->loads < TG_STOP_PRICE_LOADS)
        return false;
    struct tg_error *error = tg_calibrate_briefly(within_ns, &cost);
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
                       .read_high_ns = cost.read.high},
    };
    return true;
}
