/* Settings files that are read though nobody named them. */
#ifndef TG_RECORDER_RECORD_SETTINGS_FILES_H
#define TG_RECORDER_RECORD_SETTINGS_FILES_H

#include "format/base/error.h"
#include "format/settings/settings.h"

#include <stdbool.h>

/* Adds to SETTINGS what $HOME/.tvdrc, $HOME/.tollgaterc and .tollgaterc here say, in this order and each once, as far as they are
 * there; or what NAMED says instead of these; with NO_RC and NULL nothing. Errors: those of tg_settings_read. */
struct tg_error *tg_settings_files_read(const char *named, bool no_rc, struct tg_settings *settings);

#endif
