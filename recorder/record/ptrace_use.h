/* Programs that use ptrace themselves (debuggers, strace, checks whether one is being debugged, sanitizers that look for leaks).
 * A process has one tracer: natively theirs would succeed, so the engine makes way for it. An engine observer that
 * watches the C library's ptrace function, and the one by which LeakSanitizer stops the process; who makes the
 * system call itself gets EPERM, as under any tracer. Programs that were running when they were attached are not watched. */
#ifndef TG_RECORDER_RECORD_PTRACE_USE_H
#define TG_RECORDER_RECORD_PTRACE_USE_H

#include "format/base/error.h"
#include "recorder/engine/engine.h"
#include "recorder/loader/link_map.h"
#include "recorder/process/image_cache.h"

struct tg_ptrace_use;

/* Adds itself to ENGINE and must outlive it; IMAGES must outlive both. */
struct tg_error *tg_ptrace_use_create(struct tg_engine *engine, struct tg_image_cache *images,
                                      struct tg_ptrace_use **use);

/* LINK_MAPS gives the lists of a process' loader at its entry point, NULL where they are not known: then, or without this, the
 * libraries are looked for in /proc/PID/maps, which takes longer. */
void tg_ptrace_use_ask_loader(struct tg_ptrace_use *use,
                              const struct tg_link_maps *(*link_maps)(void *context,
                                                                      const struct tg_process *process),
                              void *context);
void tg_ptrace_use_destroy(struct tg_ptrace_use *use); /* NULL is accepted */

#endif
