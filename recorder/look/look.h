/* Looks at running processes: where all of their threads are. */
#ifndef TG_RECORDER_LOOK_LOOK_H
#define TG_RECORDER_LOOK_LOOK_H

#include "format/settings/command.h"

/* As struct tg_command_services says. */
struct tg_error *tg_look(const struct tg_look_request *request, const struct tg_look_sink *sink);

#endif
