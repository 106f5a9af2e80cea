/* The program's calls of dlopen with RTLD_DEEPBIND: brings the agent's libraries into the scope of what they open, so
 * that its calls of the heap, of OpenMP and of MPI are seen as those of all other libraries are.
 *
 * Two ways. The auditor changes what the library says that it needs (recorder/agent/audit/deep_bind.h); nothing else
 * changes. Or a wrapper, an ELF file that needs the library and, behind it, the agent's libraries, is opened first: it
 * stays open as long as the library does, as it is its scope by which the library binds. TVHEAP_DEEPBIND says which
 * (recorder/agent/deep/settings.h); where one cannot be, it is the other. */
#ifndef TG_RECORDER_AGENT_DEEP_DEEP_BIND_H
#define TG_RECORDER_AGENT_DEEP_DEEP_BIND_H

#include <stdbool.h>
#include <stdint.h>

/* Tells the auditor WHAT of enum tg_deep_bind_forbidden the program is about to forbid itself. */
void tg_deep_bind_forbid(unsigned what);

/* Whether the result of a dlopen with FLAGS matters here. */
bool tg_deep_bind_is_concerned(int flags);

/* dlopen(PATH, FLAGS) is about to be called, with its return address at FRAME; to be called for every dlopen, with PATH NULL
 * where it is for another namespace. True where what is opened binds past the agent. IS_OBSERVED: tg_deep_bind_returned will be
 * called. */
bool tg_deep_bind_before(const char *path, int flags, const uint64_t *frame, bool is_observed);

/* dlopen has returned HANDLE, NULL: it failed. */
void tg_deep_bind_returned(void *handle);

/* dlclose(HANDLE) has succeeded. CLOSE is libc's dlclose. */
void tg_deep_bind_closed(void *handle, int (*close)(void *handle));

#endif
