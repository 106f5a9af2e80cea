/* Conditions of a live job's breakpoints, decided where a thread has come to one. The tracer thread's. */
#ifndef TG_LIVE_CONTROL_CONDITIONS_H
#define TG_LIVE_CONTROL_CONDITIONS_H

#include "live/control/modules.h"

struct tg_point_conditions;

/* MODULES must outlive it. Only error: NO_MEMORY. */
struct tg_error *tg_point_conditions_create(struct tg_job_modules *modules,
                                            struct tg_point_conditions **conditions);
void tg_point_conditions_destroy(struct tg_point_conditions *conditions); /* NULL is accepted */

/* Whether TEXT, the condition of action point ID, holds for THREAD, which is in a stop. Where that cannot be
 * said it is true, and the error says why: a thread stops rather than that it is missed. */
bool tg_point_conditions_hold(struct tg_point_conditions *conditions, struct tg_thread *thread, uint32_t id,
                              const char *text, struct tg_error **error);

/* Whether the names in TEXT are known in PROCESS at ADDRESS. *IS_KNOWN: that could be told, for there is debug information.
 * NOT_FOUND errors. */
struct tg_error *tg_point_conditions_check(struct tg_point_conditions *conditions,
                                           const struct tg_process *process, uint64_t address,
                                           const char *text, bool *is_known);

#endif
