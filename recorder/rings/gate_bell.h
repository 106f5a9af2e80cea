/* The thread that tells of workers at gates: it sleeps until an agent says that one has come (recorder/agent/contract.h),
 * and has nothing else to do, so that nobody waits until a round of the drain is over. */
#ifndef TG_RECORDER_RINGS_GATE_BELL_H
#define TG_RECORDER_RINGS_GATE_BELL_H

#include "format/base/error.h"
#include "recorder/rings/directory.h"

struct tg_gate_bell;

/* From now on CALLED is called with CONTEXT whenever workers have come, on a thread of its own. DIRECTORY outlives it. */
struct tg_error *tg_gate_bell_create(const struct tg_agent_directory *directory,
                                     void (*called)(void *context), void *context,
                                     struct tg_gate_bell **bell);
/* CALLED is not called any more when this returns. NULL is accepted. */
void tg_gate_bell_destroy(struct tg_gate_bell *bell);

#endif
