/* What loaded objects define, read from their dynamic sections. Internal to the agent. Async-signal-safe, but
 * for dl_iterate_phdr itself, whose lock they are to be read under. */
#ifndef TG_RECORDER_AGENT_NEXT_H
#define TG_RECORDER_AGENT_NEXT_H

#include <link.h>
#include <stdbool.h>
#include <stdint.h>

/* An object's dynamic symbols. Valid as long as it is loaded. */
struct tg_agent_symbols {
    const ElfW(Sym) * table;
    const char *names;
    const uint16_t *versions; /* NULL: none */
    const uint32_t *gnu_hash;
    const ElfW(Dyn) * dynamic;
    uintptr_t base;
};

/* False where the object has none that can be searched. */
bool tg_agent_symbols_read(const struct dl_phdr_info *info, struct tg_agent_symbols *symbols);

/* The definition of NAME that a reference without a version would bind to; NULL: none. */
void *tg_agent_symbols_find(const struct tg_agent_symbols *symbols, const char *name);

/* Whether ADDRESS is in one of the object's segments. */
bool tg_agent_object_holds(const struct dl_phdr_info *info, uintptr_t address);

#endif
