/* The sequence diagram of the console's moment. */
#ifndef TG_LIVE_COMMANDS_MOTION_OPM_SEQUENCE_H
#define TG_LIVE_COMMANDS_MOTION_OPM_SEQUENCE_H

#include "live/console/base.h"

/* Draws it into a file named after the trace, whose name is written to OUT. REPLACE: an existing one is
 * overwritten. */
struct tg_error *tg_opm_sequence_draw(struct tg_console *console, bool replace, FILE *out);

#endif
