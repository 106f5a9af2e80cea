/* A thread that stands for its process. */
#ifndef TG_RECORDER_ENGINE_OWN_THREAD_H
#define TG_RECORDER_ENGINE_OWN_THREAD_H

#include "recorder/engine/engine.h"

/* A thread of PROCESS, and not one of the parent whose memory a child of vfork uses, preferably one that is stopped: events can
 * be about it, and the memory be read through it. NULL where none is left. */
struct tg_thread *tg_process_own_thread(const struct tg_process *process);

#endif
