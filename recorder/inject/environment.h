/* The environment of a command that is started with the agent, for itself and for all that it starts. */
#ifndef TG_RECORDER_INJECT_ENVIRONMENT_H
#define TG_RECORDER_INJECT_ENVIRONMENT_H

#include "format/base/error.h"
#include "recorder/inject/files.h"

#include <limits.h>
#include <stdbool.h>

/* The environment of this process with the variables that load the agent added to those it has. DIRECTORY
 * is that of the rings; AUDIT and HEAP as tg_agent_injector_options. COMMAND (execvp's rules) says how much
 * thread-local storage is to be made room for; programs that it starts may need a little more. */
struct tg_error *tg_agent_environment_create(const struct tg_agent_files *files, const char *directory,
                                             bool audit, bool heap, const char *command, char ***environment);
/* The file that execvp would take for COMMAND, as it finds it; false where there is none. */
bool tg_agent_environment_find_command(const char *command, char path[PATH_MAX]);

void tg_agent_environment_destroy(char **environment); /* NULL is accepted */

#endif
