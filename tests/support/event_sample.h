/* Made-up events of every kind, the same for the same seed, and their comparison. */
#ifndef TG_TESTS_EVENT_SAMPLE_H
#define TG_TESTS_EVENT_SAMPLE_H

#include "format/event/event.h"

#include <stdbool.h>
#include <stdint.h>

struct event_sample; /* owns what its current event points to */

struct event_sample *event_sample_create(uint64_t seed);
void event_sample_destroy(struct event_sample *sample);

/* Event I: kinds take turns, values are small, huge and extreme in turn, lists from empty to some. Valid
 * until the next call. */
const struct tg_event *event_sample_at(struct event_sample *sample, uint64_t i);

/* Whether all fields of the schema are equal; strings by text, NULL is "". */
bool event_equal(const struct tg_event *a, const struct tg_event *b);

#endif
