/* Whether a new file may take the place of what is there: the one answer of all commands that write files. */
#ifndef TG_FORMAT_BASE_REPLACE_H
#define TG_FORMAT_BASE_REPLACE_H

#include "format/base/error.h"

#include <stdbool.h>

/* Nothing at NAME (relative to the open directory DIRECTORY, or AT_FDCWD), or with FORCE a regular file: NULL.
 * Else an EXISTS error that names PATH. A device, a pipe, a directory or a symbolic link is never replaced:
 * no output is worth somebody's /dev/null, and of a link nobody can tell whether it or its file is meant. */
struct tg_error *tg_replace_check(int directory, const char *name, const char *path, bool force);

#endif
