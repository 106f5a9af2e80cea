/* Records that are still in rings after their recorder was killed. */
#ifndef TG_RECORDER_RINGS_SALVAGE_H
#define TG_RECORDER_RINGS_SALVAGE_H

#include "format/base/error.h"
#include "format/event/event.h"
#include "format/settings/command.h"

#include <stdbool.h>
#include <stdint.h>

/* Hands the events behind PLACE that are in the rings of the directory PATH (a trace's meta says it:
 * agent.directory) to ADD in the order of time, also those that the recorder had taken already, as far as
 * they were not overwritten since; a loss event where they were. Everything stays as it is there. STATS may
 * be NULL. Errors: NOT_FOUND (no such directory: nothing to salvage), EXISTS (its recorder lives), INPUT (not
 * such a directory, or not of this user), UNSUPPORTED (another version's); nothing was handed on then. */
struct tg_error *tg_agent_salvage(const char *path, struct tg_recovery_place place,
                                  void (*add)(void *context, const struct tg_event *event), void *context,
                                  struct tg_salvage_stats *stats);

/* Removes the directory and all in it. Errors as above. */
struct tg_error *tg_agent_salvage_discard(const char *path);

#endif
