/* Going on until every thread of a team is out of a zone. */
#ifndef TG_LIVE_COMMANDS_MOTION_ZONE_EXIT_H
#define TG_LIVE_COMMANDS_MOTION_ZONE_EXIT_H

#include "live/console/command.h"

/* How the threads stood when the last one was out. */
struct tg_zone_exit {
    uint64_t out;     /* threads that went through it */
    uint64_t gone_on; /* of those: had done something else since */
};

/* Takes events until all that go through PLACE, which WORKER is inside of, are out of it: by leaving it, by
 * coming to a later barrier of the team, or by the end of the region. Of a construct that only one goes
 * through (a task, masked) that worker counts alone. WHAT names the end in the error where there is none;
 * otherwise as tg_motion_until. WORKER becomes the current one. *EXIT may be NULL. */
struct tg_error *tg_zone_exit_run(struct tg_console *console, const struct tg_openmp_worker *worker,
                                  const struct tg_openmp_place *place, const char *what,
                                  struct tg_zone_exit *exit);

/* Whether the arrival at the end of the region of TEAM of PROCESS, whose events are SEEN so, is an event of its own: with OMPT it
 * is, but for a team of one. */
bool tg_zone_exit_has_join(const struct tg_openmp_model *model, size_t process, uint64_t team, uint64_t seen);

#endif
