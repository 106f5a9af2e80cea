/* Going through a sections zone section by section: `opm sections step-by-step` and the `dcont` behind it. */
#ifndef TG_LIVE_COMMANDS_MOTION_SECTION_STEPS_H
#define TG_LIVE_COMMANDS_MOTION_SECTION_STEPS_H

#include "live/commands/motion/catches.h"
#include "live/console/command.h"

#include <stdio.h>

/* Stepping begins, through the zone at PLACE that WORKER is in; says how far the zone is. */
void tg_section_steps_start(struct tg_console *console, const struct tg_openmp_worker *worker,
                            const struct tg_openmp_place *place, FILE *out);

/* What `dcont` stopped at: section NUMBER (0 unknown) begins, or all of the zone is over. */
void tg_section_steps_tell_section(uint64_t number, FILE *out);
void tg_section_steps_tell_end(const struct tg_section_steps *steps, bool is_live, FILE *out);

/* In a live job: to the next section of the zone, or its end. One worker runs at a time, and is the current one
 * then: whoever is current, until it finds no more sections, and then those that have some, by their numbers in the
 * team. */
struct tg_error *tg_section_steps_go(struct tg_console *console, struct tg_section_steps *steps, FILE *out);

#endif
