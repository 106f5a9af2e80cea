/* A library's own search scope, as the dynamic loader makes it: the library, what it needs, what these need, each
 * once. No libc, async-signal-safe; nothing may be loaded or unloaded meanwhile. */
#ifndef TG_RECORDER_AGENT_SCOPE_H
#define TG_RECORDER_AGENT_SCOPE_H

#include <link.h>
#include <stdbool.h>
#include <stddef.h>

enum { TG_SCOPE_MAX_OBJECTS = 1024, TG_SCOPE_TEXT_BYTES = 4096 };

struct tg_agent_scope {
    size_t count; /* objects beyond the limit are left out */
    const struct link_map *maps[TG_SCOPE_MAX_OBJECTS];
};

/* The object of MAP's list that a DT_NEEDED of NAME stands for: it is called so, or its file, or its DT_SONAME says
 * so. NULL: none. */
const struct link_map *tg_agent_scope_named(const struct link_map *map, const char *name);

/* The scope of ROOT by its dynamic section as it is now. */
void tg_agent_scope_find(const struct link_map *root, struct tg_agent_scope *scope);

/* The names of its objects, one a line, "..." where more do not fit; without those of LEFT_OUT (N_LEFT_OUT of them,
 * NULLs among them). */
void tg_agent_scope_write(const struct tg_agent_scope *scope, const struct link_map *const *left_out,
                          size_t n_left_out, char text[TG_SCOPE_TEXT_BYTES]);

#endif
