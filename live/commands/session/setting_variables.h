/* Settings as Tcl variables: $BARRIER_STOP_ALL, $TV::dlopen_always_recalculate. Reading one gives the setting's value,
 * writing it is `dset`, unsetting it `dunset`. */
#ifndef TG_LIVE_COMMANDS_SESSION_SETTING_VARIABLES_H
#define TG_LIVE_COMMANDS_SESSION_SETTING_VARIABLES_H

#include "live/console/base.h"

extern const struct tg_console_state_kind tg_setting_variables_kind;

#endif
