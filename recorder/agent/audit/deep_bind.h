/* Libraries that are opened with RTLD_DEEPBIND: the agent's libraries come into their own scope. Nothing here may be
 * called by two threads at once: it is called under the loader's lock. No libc.
 *
 * When such a library has been mapped and before what it needs is looked at, its dynamic section is changed: what
 * DT_NEEDED names moves on by one entry, so that the agent's library stands right in front of libc (and of those of
 * the compiler's libraries that come before libc), behind everything else that the library needs: whoever has a
 * malloc of its own, or overrides a function of libc, comes first as it does without. When all objects are mapped
 * the section is made again what it was; nobody but the loader has looked at it meanwhile. */
#ifndef TG_RECORDER_AGENT_AUDIT_DEEP_BIND_H
#define TG_RECORDER_AGENT_AUDIT_DEEP_BIND_H

#include <link.h>
#include <stdbool.h>
#include <stdint.h>

/* The object of MAP has come into the first namespace. */
void tg_audit_deep_bind_opened(struct link_map *map);

/* All objects are there, or some go. RECORDS: there is a ring to tell it to, as thread TID. */
void tg_audit_deep_bind_mapped(bool records, int32_t tid);
void tg_audit_deep_bind_failed(void);

/* Bits of enum tg_deep_bind_forbidden. */
unsigned tg_audit_deep_bind_forbidden(void);

/* The program is about to run: the libraries that it starts with are all there. */
void tg_audit_deep_bind_started(const struct link_map *map);

#endif
