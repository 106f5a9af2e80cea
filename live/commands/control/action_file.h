/* Files of action points, as tg_action_points_save writes them: Tcl that can do nothing else than make
 * them. */
#ifndef TG_LIVE_COMMANDS_CONTROL_ACTION_FILE_H
#define TG_LIVE_COMMANDS_CONTROL_ACTION_FILE_H

#include "format/base/error.h"

#include <stddef.h>
#include <tcl.h>

enum { TG_ACTION_FILE_MAX = 1 << 20 }; /* bytes */

/* Runs the commands in the file at PATH: `dfocus SET dbreak ...`, `dfocus SET dbarrier ...`, both without a
 * focus, `ddisable N` with the number that one of them gave, `dactions -suppress`. They are checked here and
 * done by INTERP's commands of these names; no other command, of Tcl's or its own, is there for the file.
 * *MADE is how many action points came of it, also where it ends with an error: "PATH:LINE: message", INPUT;
 * OS and LIMIT of the file itself. */
struct tg_error *tg_action_file_load(Tcl_Interp *interp, const char *path, size_t *made);

#endif
