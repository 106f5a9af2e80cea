/* The files of the agent's libraries, and the variables that make the dynamic loader load them. */
#ifndef TG_RECORDER_INJECT_FILES_H
#define TG_RECORDER_INJECT_FILES_H

#include "format/base/error.h"

#include <stdbool.h>
#include <stdint.h>

/* Absolute paths; the caller's storage. */
struct tg_agent_files {
    char *agent;
    char *audit;
    char *heap;
};

/* Looks where this program itself is (/proc/self/exe), in the build tree or as installed. NOT_FOUND where
 * they are not there; UNSUPPORTED where the dynamic loader cannot preload from such a path. */
struct tg_error *tg_agent_files_find(struct tg_agent_files *files);

/* The libraries in DIRECTORY (absolute). Errors as above. */
struct tg_error *tg_agent_files_find_in(const char *directory, struct tg_agent_files *files);

void tg_agent_files_deinit(struct tg_agent_files *files);

/* What else is in a program's LD_PRELOAD. */
struct tg_agent_preload {
    const char *first; /* a library that has to be in front of the agent's; NULL: none */
    const char *own;   /* what the variable was; NULL: not set */
    bool heap;         /* the heap's library too */
};

/* The value of LD_PRELOAD to set. Free with free; NULL without memory. */
char *tg_agent_files_preload(const struct tg_agent_files *files, const struct tg_agent_preload *preload);

/* NAME=VALUE, each to be freed; the caller's storage. */
struct tg_agent_variables {
    char *preload;
    char *audit;
    char *tunables;
    char *agent;
};

/* The variables that load the agent with its rings in DIRECTORY (absolute). TUNABLES is GLIBC_TUNABLES as the program has it
 * (NULL: not set): the loader takes them all, of the same tunable the last one, where of LD_PRELOAD it takes the last one alone.
 *
 * Where there are auditors, the loader fixes the size of the static thread-local storage before it maps the
 * program's libraries, which then have to share what it keeps for dlopen: less than two KiB, or the program
 * does not start. STATIC_TLS_BYTES are added to that. */
struct tg_error *tg_agent_variables_init(struct tg_agent_variables *variables,
                                         const struct tg_agent_files *files, const char *directory,
                                         const struct tg_agent_preload *preload, const char *tunables,
                                         uint64_t static_tls_bytes);
void tg_agent_variables_deinit(struct tg_agent_variables *variables);

#endif
