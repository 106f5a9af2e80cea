/* The ranks of launchers that are attached to, where these have no table of them. */
#ifndef TG_RECORDER_RECORD_ATTACHED_RANKS_H
#define TG_RECORDER_RECORD_ATTACHED_RANKS_H

#include "format/base/error.h"
#include "format/settings/command.h"
#include "recorder/record/options.h"

/* Adds the ranks of such launchers to the processes of OPTIONS, unless MPIR is off or they are not wanted. Only error:
 * NO_MEMORY. */
struct tg_error *tg_attached_ranks_add(struct tg_record_options *options,
                                       const struct tg_command_services *services);

#endif
