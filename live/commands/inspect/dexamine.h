/* Position of dexamine. */
#ifndef TG_LIVE_COMMANDS_INSPECT_DEXAMINE_H
#define TG_LIVE_COMMANDS_INSPECT_DEXAMINE_H

#include "live/console/base.h"

extern const struct tg_console_state_kind tg_examination_kind;

#endif
