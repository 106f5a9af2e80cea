/* Planting of action points in the processes that they are meant for, and the news of it. */
#ifndef TG_LIVE_CONTROL_PLANTING_H
#define TG_LIVE_CONTROL_PLANTING_H

#include "live/control/decisions.h"

#include <stdbool.h>
#include <stdint.h>

/* Whether POINT is meant for PROCESS: for its share group, for ranks, or for it alone. */
bool tg_planting_is_meant(const struct tg_action_point *point, const struct tg_controlled_process *process);

/* Plants action point ID in PROCESS where it is enabled, not suppressed, and meant for it. IS_NEW: that
 * its place was found is no news. Errors: those of planting, NOT_FOUND. */
struct tg_error *tg_planting_plant(struct tg_controller *controller,
                                   const struct tg_controlled_process *process, uint32_t id, bool is_new);
struct tg_error *tg_planting_plant_everywhere(struct tg_controller *controller, uint32_t id, bool is_new);
void tg_planting_unplant_everywhere(struct tg_controller *controller, uint32_t id);

/* A barrier that is there from now on, at LOCATION. */
struct tg_error *tg_planting_begin_barrier(struct tg_controller *controller,
                                           const struct tg_barrier_definition *definition,
                                           const char *location);

/* News of KIND about action point ID, 0: all of them; WHAT became of it; PROCESS, which may be NULL, is
 * where. */
void tg_planting_tell(const struct tg_controller *controller, enum tg_news_kind kind, uint32_t id,
                      const char *what, const struct tg_controlled_process *process);
/* Where the ranks run several programs: in which of them new action point ID is. */
struct tg_error *tg_planting_tell_programs(const struct tg_controller *controller, uint32_t id);

#endif
