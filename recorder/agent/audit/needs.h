/* The libraries that DT_NEEDED entries of others name. No libc, async-signal-safe. */
#ifndef TG_RECORDER_AGENT_AUDIT_NEEDS_H
#define TG_RECORDER_AGENT_AUDIT_NEEDS_H

#include <link.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { TG_AUDIT_MAX_NEEDS = 4096 }; /* entries beyond count as needed by nobody */

struct tg_audit_needs {
    size_t count;
    uint32_t hashes[TG_AUDIT_MAX_NEEDS]; /* hashes of the names */
};

/* Adds what MAP needs. */
void tg_audit_needs_add(struct tg_audit_needs *needs, const struct link_map *map);

/* Whether MAP's soname, file name or path was added. */
bool tg_audit_needs_has(const struct tg_audit_needs *needs, const struct link_map *map);

#endif
