/* The agent's entry points of runtimes (MPI_, GOMP_, ...) as the rest of the process finds them: each is
 * there if and only if a library behind the agent has one of that name. A program that takes the address of a
 * weak reference for a sign of whether there is an MPI, or an OpenMP, runtime sees what it would see without
 * the agent. */
#ifndef TG_RECORDER_AGENT_AUDIT_ENTRIES_H
#define TG_RECORDER_AGENT_AUDIT_ENTRIES_H

#include <link.h>

/* The object of MAP has come into the first namespace, and nothing is bound to it yet. The agent's entries
 * are hidden when it comes itself, and shown, name by name, when a library comes that has them. They stay so
 * when that goes again. Not thread-safe, no libc. */
void tg_audit_entries_opened(const struct link_map *map);

#endif
