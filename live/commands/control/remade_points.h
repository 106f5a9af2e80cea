/* Action points of a run that is over, to be made again in the next one: each as soon as those are there whom
 * it is about. Ranks, for which most are made, come long after their starter. */
#ifndef TG_LIVE_COMMANDS_CONTROL_REMADE_POINTS_H
#define TG_LIVE_COMMANDS_CONTROL_REMADE_POINTS_H

#include "live/console/base.h"

/* State: a struct tg_remade_points. Attending makes waiting points whose time has come, and tells the
 * sink. */
extern const struct tg_console_state_kind tg_remade_points_kind;

struct tg_remade_points {
    char **commands; /* waiting, in their order */
    size_t count;
    bool is_at_it; /* commands attend, too; nothing is made meanwhile */
};

/* Makes those of SCRIPT, a command a line, that can be made; of the others OUT is told, whether they wait for
 * somebody or have failed. SCRIPT is destroyed. */
void tg_remade_points_begin(struct tg_console *console, char *script, FILE *out);

#endif
