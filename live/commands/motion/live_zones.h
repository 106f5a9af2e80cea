/* Going along the zones of an OpenMP program that runs: what the `opm` commands do in a live job. Where the process
 * has an agent, workers come to gates in it (gate_run.h); where it has none, `opm start` and `opm next` stop at
 * breakpoints on the runtime's functions, and the others are UNSUPPORTED. */
#ifndef TG_LIVE_COMMANDS_MOTION_LIVE_ZONES_H
#define TG_LIVE_COMMANDS_MOTION_LIVE_ZONES_H

#include "live/console/command.h"
#include "live/source/zone_counter.h"

/* Lets the processes in focus run to where the first worker comes to a zone of kind TARGET, before it is in
 * it; that worker becomes the thread in focus. USAGE error without a TARGET; NOT_FOUND where none came, or, before anything runs
 * and without FORCE, where one may come first that cannot be seen (unseen.h). */
struct tg_error *tg_live_zone_go(struct tg_console *console, enum tg_zone_target target, const char *name,
                                 bool force, FILE *out);

/* The same, and where nobody has come after SECONDS, 0 without end, it is a TARGET error: the gates are away then, and the
 * threads go on. */
struct tg_error *tg_live_zone_go_within(struct tg_console *console, enum tg_zone_target target,
                                        const char *name, double seconds, FILE *out);

/* The same for each process in focus: to where the first worker of every one has come. Those that have wait there. */
struct tg_error *tg_live_zone_go_each(struct tg_console *console, enum tg_zone_target target,
                                      const char *name, bool force, FILE *out);

/* To where WORKER enters its next zone; NULL: anybody in focus. One that tg_live_zone_go has brought to the beginning
 * of a zone, and that has not moved since, is inside of that one. */
struct tg_error *tg_live_zone_step(struct tg_console *console, const struct tg_openmp_worker *worker,
                                   FILE *out);

/* To where another worker enters the critical section at PLACE, which WORKER waits for or is inside of. */
struct tg_error *tg_live_zone_next_critical(struct tg_console *console, const struct tg_openmp_worker *worker,
                                            const struct tg_openmp_place *place, FILE *out);

/* To where every worker of the team that goes through PLACE, which WORKER is inside of, is out of it and is stopped
 * right behind: in the process of WORKER, and where more are in focus in those whose teams are at the same. NAME is
 * the command. The current worker stays. */
struct tg_error *tg_live_zone_leave(struct tg_console *console, const struct tg_openmp_worker *worker,
                                    const struct tg_openmp_place *place, const char *name, FILE *out);

/* To where all workers of each team in focus that is at a barrier are behind it. NOT_FOUND where none is. */
struct tg_error *tg_live_zone_pass_barrier(struct tg_console *console, FILE *out);

/* Makes WORKER's thread the one in focus. */
struct tg_error *tg_live_zone_look_at(struct tg_console *console, const struct tg_openmp_worker *worker);

/* Of the newest barrier that a team in focus, or the current worker's, is at: *INSTANCE, 0 none. */
struct tg_error *tg_live_zone_reached_barrier(struct tg_console *console, uint64_t *instance);

/* To the next section that WORKER begins, or behind the sections zone that it is in: *IS_OVER. No other thread
 * runs. */
struct tg_error *tg_live_zone_next_section(struct tg_console *console, const struct tg_openmp_worker *worker,
                                           bool *is_over, FILE *out);

#endif
