/* Steps to functions, for commands that know which. */
#ifndef TG_LIVE_COMMANDS_CONTROL_STEP_H
#define TG_LIVE_COMMANDS_CONTROL_STEP_H

#include "analyzer/job/run_model.h"
#include "live/console/base.h"

/* Resumes the threads in focus until a worker of them comes to the beginning of one of FUNCTIONS, a
 * NULL-terminated list of which at most 8 count; its process is stopped then. *FOUND: that worker, dpid 0
 * where the threads have stopped or ended otherwise. NOT_FOUND where there are no such functions,
 * UNSUPPORTED where the programs have not begun, so that their libraries are not known. */
struct tg_error *tg_step_to(struct tg_console *console, const char *const *functions,
                            struct tg_thread_id *found, FILE *out);

#endif
