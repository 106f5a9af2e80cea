/* A variable that a launcher has to find in its environment, so that speaking MPIR with it changes nothing
 * that the user sees: Open MPI 4.1 prints a banner about debuggers that do, unless OMPI_MPIR_DO_NOT_WARN is
 * set. */
#ifndef TG_RECORDER_MPIR_ENVIRONMENT_H
#define TG_RECORDER_MPIR_ENVIRONMENT_H

#include "recorder/engine/engine.h"
#include "recorder/process/image_cache.h"
#include "recorder/process/initial_stack.h"

/* The variable (NAME=VALUE, static) that the program which THREAD is about to run wants, NULL none. Known by
 * the libraries that it needs, as none is mapped yet. */
const char *tg_mpir_environment_wish(struct tg_image_cache *images, const struct tg_thread *thread,
                                     const struct tg_initial_stack *stack);

/* In program_loaded: gives that variable to THREAD's program, where nobody else
 * (tg_agent_injector_options.further) did. After an error the program is as it was, and prints its
 * banner. */
struct tg_error *tg_mpir_environment_add(struct tg_image_cache *images, struct tg_thread *thread);

#endif
