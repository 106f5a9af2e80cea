/* GCC's OpenMP runtime in a process, as a library or linked statically: where its entry points are, and where it keeps a
 * thread's number. */
#ifndef TG_RECORDER_OPENMP_RUNTIME_H
#define TG_RECORDER_OPENMP_RUNTIME_H

#include "recorder/openmp/calls.h"
#include "recorder/process/image_cache.h"

/* Looks for the runtime in the process of THREAD, which is stopped, and plants breakpoints on its entry points. Does
 * nothing where it was found before, or looked for often enough. */
void tg_openmp_runtime_look(struct tg_openmp_calls *calls, struct tg_image_cache *images,
                            struct tg_thread *thread);

#endif
