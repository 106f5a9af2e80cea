/* Changing a setting as dset and dunset do. */
#ifndef TG_LIVE_COMMANDS_SESSION_DSET_H
#define TG_LIVE_COMMANDS_SESSION_DSET_H

#include "live/console/base.h"

/* Whether SETTING says anything to what the console is for: a job that runs, or a trace. */
bool tg_dset_is_of_use(const struct tg_console *console, const struct tg_setting *setting);

/* Sets SETTING to VALUE, NULL the initial one; a program that listens is told. Errors: those of
 * tg_console_settings_set. */
struct tg_error *tg_dset_change(struct tg_console *console, const struct tg_setting *setting,
                                const char *value);

#endif
