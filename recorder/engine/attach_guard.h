/* A process beside the tracer of attached processes. Where the tracer is killed they run on, with its int3s
 * in their code: the guard puts back what the files of that code have. (A thread that is in one at that very
 * moment it cannot save.) */
#ifndef TG_RECORDER_ENGINE_ATTACH_GUARD_H
#define TG_RECORDER_ENGINE_ATTACH_GUARD_H

#include "format/base/error.h"

#include <stddef.h>
#include <sys/types.h>

struct tg_attach_guard;

/* Errors: OS, NO_MEMORY. */
struct tg_error *tg_attach_guard_create(struct tg_attach_guard **guard);
/* The guard's process ends, too. NULL is accepted. */
void tg_attach_guard_destroy(struct tg_attach_guard *guard);

/* From now on PID may have breakpoints; until the place that is returned is given back. SIZE_MAX: it is one
 * too many. Both cheap, and known to the guard at once. */
size_t tg_attach_guard_add(struct tg_attach_guard *guard, pid_t pid);
/* The process at PLACE may have debug registers in use from now on. */
void tg_attach_guard_watched(struct tg_attach_guard *guard, size_t place);
void tg_attach_guard_remove(struct tg_attach_guard *guard, size_t place);

#endif
