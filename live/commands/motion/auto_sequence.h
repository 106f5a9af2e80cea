/* `set opm opm-auto-sequence on`: the sequence diagram is drawn anew whenever the console has moved. */
#ifndef TG_LIVE_COMMANDS_MOTION_AUTO_SEQUENCE_H
#define TG_LIVE_COMMANDS_MOTION_AUTO_SEQUENCE_H

#include "live/console/base.h"

/* Makes Tcl's `set` of the console's interpreter understand `set opm NAME VALUE`; with one or two words it
 * stays Tcl's. Settling draws the diagram where that is switched on and the console shows another moment
 * than the last one; where it cannot be drawn that is switched off. */
extern const struct tg_console_state_kind tg_auto_sequence_kind;

#endif
