/* Going to the zones of an OpenMP program that runs: `opm start` and `opm next` of a live job. */
#ifndef TG_LIVE_COMMANDS_MOTION_LIVE_ZONES_H
#define TG_LIVE_COMMANDS_MOTION_LIVE_ZONES_H

#include "live/console/command.h"
#include "live/source/zone_counter.h"

/* Lets the processes in focus run to where the first worker comes to a zone of kind TARGET, before it is in
 * it; that worker becomes the thread in focus. USAGE error without a TARGET; NOT_FOUND where none came, or
 * where the runtime is not called for such zones. */
struct tg_error *tg_live_zone_go(struct tg_console *console, enum tg_zone_target target, const char *name,
                                 FILE *out);

#endif
