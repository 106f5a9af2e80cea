/* Definitions in loaded objects, found without the dynamic loader's help: dlsym would change what dlerror
 * says, and does not see what was opened with RTLD_LOCAL. Async-signal-safe, but for the lock of
 * dl_iterate_phdr. */
#ifndef TG_RECORDER_AGENT_NEXT_H
#define TG_RECORDER_AGENT_NEXT_H

#include "recorder/agent/symbols.h"

/* The definition of NAME that comes after the agent in the search order of the calling program, NULL where
 * there is none (yet: a library may still arrive, ask again later). Never changes what dlerror says. */
void *tg_agent_next(const char *name);

/* The definition of NAME in the program or library that OBJECT, an address, is in; NULL: none there. */
void *tg_agent_beside(const void *object, const char *name);

/* False where the object has no symbols that can be searched. */
bool tg_agent_object_symbols(const struct dl_phdr_info *info, struct tg_agent_symbols *symbols);

/* The definition of NAME that a reference without a version would bind to; NULL: none. */
void *tg_agent_symbols_find(const struct tg_agent_symbols *symbols, const char *name);

/* Whether ADDRESS is in one of the object's segments. */
bool tg_agent_object_holds(const struct dl_phdr_info *info, uintptr_t address);

#endif
