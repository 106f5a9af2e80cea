/* Workers that are expected at gates, and the roll call: who has come is stopped there and then, so that little is left to be
 * done when the last one comes. On the tracer thread, but for its making. */
#ifndef TG_LIVE_CONTROL_GATE_ROLL_H
#define TG_LIVE_CONTROL_GATE_ROLL_H

#include "live/control/worker_gates.h"

struct tg_gate_roll;

/* Only error: NO_MEMORY, also of the next. */
struct tg_error *tg_gate_roll_create(struct tg_gate_roll **roll);
void tg_gate_roll_destroy(struct tg_gate_roll *roll); /* NULL is accepted */
/* Thread TID of process PID, which exists, is expected. */
struct tg_error *tg_gate_roll_add(struct tg_gate_roll *roll, int32_t pid, int32_t tid);

/* Returns how many threads wait at the gates NUMBERS, expected or not. Those who are expected rest there (tg_thread_rest). */
size_t tg_gate_roll_call(struct tg_gate_roll *roll, struct tg_engine_adapter *live, const uint32_t *numbers,
                         size_t n_numbers);
/* Has what they recorded looked for now, and not at the drain's next round. */
void tg_gate_roll_collect(const struct tg_engine_adapter *live);
/* Nobody rests any more: all go on waiting as they did. */
void tg_gate_roll_end_rests(struct tg_gate_roll *roll, struct tg_engine_adapter *live);

#endif
