/* Whether threads come back from the calls that they are in, while they run: counted by the processor's debug registers, by
 * way of the kernel's perf events. Nothing in the process is changed, and the kernel takes the counters away when tollgate
 * ends, however it does. */
#ifndef TG_RECORDER_LOOK_RETURN_WATCH_H
#define TG_RECORDER_LOOK_RETURN_WATCH_H

#include "format/base/error.h"
#include "format/settings/command.h"

#include <sys/types.h>

/* At most so many threads at once as half of the files that may be open. Only error: NO_MEMORY. */
struct tg_error *tg_return_watch_create(struct tg_return_watch **watch);
/* NULL is accepted. */
void tg_return_watch_destroy(struct tg_return_watch *watch);

/* Counts from now on how often thread TID, which is stopped, executes ADDRESS. Where that cannot be counted nothing
 * happens. */
void tg_return_watch_add(struct tg_return_watch *watch, pid_t tid, uint64_t address);

/* What was counted of TID, which is stopped again, into RETURNS and RAN_NS of ACTIVITY; it is not counted any longer. False
 * where nothing was. */
bool tg_return_watch_take(struct tg_return_watch *watch, pid_t tid, struct tg_look_activity *activity);

/* Why threads could not be counted, a few words; NULL: none was refused. Valid until WATCH is destroyed. */
const char *tg_return_watch_refusal(const struct tg_return_watch *watch);

#endif
