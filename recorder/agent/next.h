/* Definitions in loaded objects. Internal to the agent. Async-signal-safe, but for dl_iterate_phdr itself,
 * whose lock they are to be looked for under. */
#ifndef TG_RECORDER_AGENT_NEXT_H
#define TG_RECORDER_AGENT_NEXT_H

#include "recorder/agent/symbols.h"

/* False where the object has no symbols that can be searched. */
bool tg_agent_object_symbols(const struct dl_phdr_info *info, struct tg_agent_symbols *symbols);

/* The definition of NAME that a reference without a version would bind to; NULL: none. */
void *tg_agent_symbols_find(const struct tg_agent_symbols *symbols, const char *name);

/* Whether ADDRESS is in one of the object's segments. */
bool tg_agent_object_holds(const struct dl_phdr_info *info, uintptr_t address);

#endif
