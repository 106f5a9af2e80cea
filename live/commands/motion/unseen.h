/* Zones of GCC's optimised code that its code calls nothing for, so that nobody who runs to the next one is sure to be
 * stopped there: such a run ends with the region at the latest. */
#ifndef TG_LIVE_COMMANDS_MOTION_UNSEEN_H
#define TG_LIVE_COMMANDS_MOTION_UNSEEN_H

#include "live/console/command.h"
#include "live/source/zone_counter.h"

struct tg_unseen;

/* Constructs of kind TARGET in the programs of the processes in focus that have stopped threads; *UNSEEN NULL: there are
 * none. The caller's to destroy. Only error: NO_MEMORY. */
struct tg_error *tg_unseen_find(struct tg_console *console, enum tg_zone_target target,
                                struct tg_unseen **unseen);
void tg_unseen_destroy(struct tg_unseen *unseen); /* NULL is accepted */

/* The team that WORKER is through with the body of, if there may be such zones in that; NULL. */
const struct tg_openmp_team *tg_unseen_team(const struct tg_unseen *unseen, const struct tg_console *console,
                                            const struct tg_openmp_worker *worker);

/* Tells that WORKER has come to the end of TEAM's body: a NOT_FOUND error with the lines. */
struct tg_error *tg_unseen_tell(const struct tg_unseen *unseen, const struct tg_console *console,
                                const struct tg_openmp_team *team, const char *name);

/* Where such zones may have been passed by WORKER's team on its way to where it is now, since BEGUN_NS: a line that says so. */
void tg_unseen_note(const struct tg_unseen *unseen, const struct tg_console *console,
                    const struct tg_openmp_worker *worker, uint64_t begun_ns, FILE *out);

#endif
