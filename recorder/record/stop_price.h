/* The price of the loader's stops in a recording that has none: measured on the same machine, when the job has ended. */
#ifndef TG_RECORDER_RECORD_STOP_PRICE_H
#define TG_RECORDER_RECORD_STOP_PRICE_H

#include "recorder/engine/engine.h"
#include "recorder/record/calibrate.h"

#include <stdbool.h>

enum {
    TG_STOP_PRICE_LOADS = 32, /* jobs with fewer loads end without it */
    TG_STOP_PRICE_WITHIN_NS =
        3800 * 1000, /* then the child is ended; in all the end of a recording waits some 5 ms */
};

enum {
    TG_STOP_PRICE_THREADS = 64,
    TG_STOP_PRICE_GAPS = 33, /* of 8 us each; the last: all longer ones */
    TG_STOP_PRICE_GAP_NS = 8 * 1000,
};

/* Zero-initialised: it is not wanted. */
struct tg_stop_price {
    bool wanted;
    uint64_t loads; /* seen by agents */
    struct {
        int32_t tid;
        uint64_t ns;
    } latest[TG_STOP_PRICE_THREADS];   /* loads, by tid; of two threads that share a place, the latest */
    uint64_t gaps[TG_STOP_PRICE_GAPS]; /* how many loads came so long after the one before of their thread */
};

/* Takes note of an event that is written. */
void tg_stop_price_note(struct tg_stop_price *price, const struct tg_event *event);

/* By the median of the times between a thread's loads. */
struct tg_load_pace tg_stop_price_pace(const struct tg_stop_price *price);

/* Measures, if it is wanted and the job loaded that many libraries, as tg_calibrate_briefly does WITHIN_NS; *EVENT is then what
 * to write, with the time of now. False: nothing is to be written. Not while an engine runs. */
bool tg_stop_price_measure(const struct tg_stop_price *price, uint64_t within_ns, struct tg_event *event);

#endif
