/* What the agents of a recording still hold after their recorder was killed. */
#ifndef TG_RECORDER_AGENT_SALVAGE_H
#define TG_RECORDER_AGENT_SALVAGE_H

#include "format/error.h"
#include "format/event.h"

#include <stdbool.h>
#include <stdint.h>

struct tg_agent_salvage_stats {
    uint64_t events; /* handed on */
    uint64_t rings;
    uint64_t lost_events; /* as far as they were counted */
};

/*
 * Hands the events in the rings of the directory PATH (a trace's meta says it: agent.directory) to ADD in the
 * order of time, a loss event for what the recorder had taken and not yet written first, and then removes the
 * directory. STATS may be NULL. Errors: NOT_FOUND (no such directory: nothing to salvage), EXISTS (its
 * recorder lives), INPUT (not such a directory, or not of this user), UNSUPPORTED (another version's);
 * nothing was handed on then, and the directory is untouched.
 */
struct tg_error *tg_agent_salvage(const char *path, void (*add)(void *context, const struct tg_event *event),
                                  void *context, struct tg_agent_salvage_stats *stats);

#endif
