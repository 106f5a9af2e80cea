/* The sequence diagram of the console's moment. */
#ifndef TG_LIVE_COMMANDS_MOTION_OPM_SEQUENCE_H
#define TG_LIVE_COMMANDS_MOTION_OPM_SEQUENCE_H

#include "live/console/base.h"

/* The files that a console has drawn into, and may replace. */
extern const struct tg_console_state_kind tg_opm_sequence_kind;

/* Draws it into a file named after the trace, whose name is written to OUT. An existing one that this console has not
 * drawn is not replaced. */
struct tg_error *tg_opm_sequence_draw(struct tg_console *console, FILE *out);

#endif
