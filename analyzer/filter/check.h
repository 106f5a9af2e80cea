/* Whether what a trace recorded of its own filter is what the model makes of it, event by event. */
#ifndef TG_ANALYZER_FILTER_CHECK_H
#define TG_ANALYZER_FILTER_CHECK_H

#include "analyzer/filter/model.h"

/* Counts of pairs; a recorded event without a predicted one, or the other way round, is a difference as
 * well. */
struct tg_filter_check_result {
    uint64_t decisions; /* compared */
    uint64_t decisions_differ;
    uint64_t handlings;
    uint64_t handlings_differ;
    char first[400]; /* first difference, "" none; untrusted text */
};

struct tg_filter_check;

struct tg_error *tg_filter_check_create(struct tg_filter_check **check);
void tg_filter_check_destroy(struct tg_filter_check *check);

/* A prediction for the setting that the trace was recorded under. */
struct tg_error *tg_filter_check_predict(struct tg_filter_check *check,
                                         const struct tg_filter_prediction *prediction);

/* A recorded event, after the model has seen it. */
struct tg_error *tg_filter_check_add(struct tg_filter_check *check, const struct tg_event *event);

/* After the last event: what is still without a partner differs. */
void tg_filter_check_finish(struct tg_filter_check *check, struct tg_filter_check_result *result);

#endif
