/* Looks at processes that core files hold: where all of their threads were. */
#ifndef TG_RECORDER_LOOK_CORE_LOOK_H
#define TG_RECORDER_LOOK_CORE_LOOK_H

#include "format/settings/command.h"

/* As struct tg_command_services says. */
struct tg_error *tg_core_look(const struct tg_core_request *request, const struct tg_look_sink *sink);

#endif
