/* A thread that feeds one model, so that models with much to do work beside each other. */
#ifndef TG_ANALYZER_OUTPUT_FEEDER_H
#define TG_ANALYZER_OUTPUT_FEEDER_H

#include "format/base/error.h"
#include "format/event/event.h"

struct tg_feeder;

/* Takes COUNT events, each of its process of PROCESSES. */
typedef struct tg_error *tg_feeder_take(void *model, const struct tg_event *events, const size_t *processes,
                                        size_t count);

/* TAKE feeds MODEL, which nobody else may touch until the feeder has settled. */
struct tg_error *tg_feeder_create(tg_feeder_take *take, void *model, struct tg_feeder **feeder);
void tg_feeder_destroy(struct tg_feeder *feeder); /* NULL is accepted */

/* Has the model take COUNT events, each of its process of PROCESSES, after those before them, now or later. Lists are copied;
 * strings must stay until the feeder has settled. The thread starts when there is enough to do for it; where none can be started,
 * everything is done at once. Errors of the model may come only when the feeder settles; it takes no other events then. */
struct tg_error *tg_feeder_feed(struct tg_feeder *feeder, const struct tg_event *events,
                                const size_t *processes, size_t count);

/* Returns when the model has taken all events. The error is the model's, once. */
struct tg_error *tg_feeder_settle(struct tg_feeder *feeder);

#endif
