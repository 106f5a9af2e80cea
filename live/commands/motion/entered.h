/* A zone that `opm next` went to, and that nobody stepped into since: `opm step` says that the worker is inside of it. */
#ifndef TG_LIVE_COMMANDS_MOTION_ENTERED_H
#define TG_LIVE_COMMANDS_MOTION_ENTERED_H

#include "live/console/base.h"
#include "live/source/zone_counter.h"

/* State of a console: which zone that is. */
extern const struct tg_console_state_kind tg_entered_kind;

/* WORKER has come to the beginning of a zone of kind TARGET. A critical section, a section of sections, a region's body and a
 * task begin later: of these nothing is kept. */
void tg_entered_note(const struct tg_console *console, enum tg_zone_target target,
                     const struct tg_openmp_worker *worker);

/* Whether WORKER (NULL: nobody) was brought into a zone, and has not moved since; true once. */
bool tg_entered_take(const struct tg_console *console, const struct tg_openmp_worker *worker);

#endif
