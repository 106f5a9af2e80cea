/* The code that a thread of the focus is at. The tracer thread's. */
#ifndef TG_LIVE_COMMANDS_CONTROL_THREAD_PLACE_H
#define TG_LIVE_COMMANDS_CONTROL_THREAD_PLACE_H

#include "live/commands/focus/focus_call.h"

/* Modules at the pc of thread I of PROCESS, *PC as the modules know it; NULL: not known, as of a running
 * thread. */
struct tg_modules *tg_thread_place(const struct tg_request *control, const struct tg_job_process *process,
                                   size_t i, uint64_t *pc);

/* The source file that a line number alone refers to: where the thread of interest is stopped, else the
 * first stopped thread in focus; where that place has no source, the file of its program's main. NULL not
 * known; the caller's to free. */
char *tg_thread_place_file(const struct tg_request *control);

#endif
