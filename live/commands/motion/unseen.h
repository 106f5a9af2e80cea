/* Zones of GCC's optimised code that its code calls nothing for, so that nobody who runs to the next one would be stopped there.
 * Where a thread may come to such a zone before it comes to one that is seen, the run is refused before anything runs; who goes
 * there nevertheless is stopped at the end of the region at the latest. */
#ifndef TG_LIVE_COMMANDS_MOTION_UNSEEN_H
#define TG_LIVE_COMMANDS_MOTION_UNSEEN_H

#include "live/console/command.h"
#include "live/source/zone_counter.h"

struct tg_unseen;

/* Constructs of kind TARGET in the programs of the processes in focus that have stopped threads; *UNSEEN NULL: all that may
 * come next are seen, or there are none. FORCE: NULL only where there are none. The caller's to destroy. Errors: NO_MEMORY,
 * and without FORCE NOT_FOUND, with their lines, where one that is not seen may come next, or nothing is known of that.
 * NAME is what TARGET is called; without AGENTS none of GCC's is seen. */
struct tg_error *tg_unseen_find(struct tg_console *console, enum tg_zone_target target, const char *name,
                                bool force, bool has_agents, struct tg_unseen **unseen);
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
