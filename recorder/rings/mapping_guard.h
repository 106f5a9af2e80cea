/* Reading a mapped file that somebody else can cut short. Memory behind the end of such a file raises SIGBUS;
 * a guarded thread finds zeroes there instead. */
#ifndef TG_RECORDER_RINGS_MAPPING_GUARD_H
#define TG_RECORDER_RINGS_MAPPING_GUARD_H

#include <stdbool.h>
#include <stddef.h>

/* Sets the process's handler of SIGBUS, which acts only on guarded memory and otherwise leaves the signal's
 * default. To be called before the first guard; more often does no harm. The signal must not be blocked in
 * threads that guard. */
void tg_mapping_guard_install(void);

/* Until tg_mapping_guard_end, this thread may touch the mapping [START, START + SIZE), which begins at a
 * page. A page that is gone, and all behind it, is replaced by zeroes of this process's own. One guard at a
 * time. */
void tg_mapping_guard_begin(void *start, size_t size);

/* Returns false where something was replaced since the begin. */
bool tg_mapping_guard_end(void);

#endif
