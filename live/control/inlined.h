/* Functions that have no code of their own, because the compiler has put it where they are called. */
#ifndef TG_LIVE_CONTROL_INLINED_H
#define TG_LIVE_CONTROL_INLINED_H

#include "live/inspect/dwarf/module_scene.h"

/* Whether the program of OBJECTS has a function NAME (of C, or outside of namespaces) that is inlined everywhere, as far as
 * its debug information says: *FILE (the caller's to free) and *LINE are where its copies begin. MEMORY: the process's. */
bool tg_inlined_find(struct tg_module_scene *objects, const struct tg_inspect_memory *memory,
                     const char *name, char **file, int *line);

#endif
