/* Threads and processes whose creator was killed before it could report them. */
#ifndef TG_RECORDER_ENGINE_ADOPTION_H
#define TG_RECORDER_ENGINE_ADOPTION_H

#include "recorder/engine/engine_internal.h"
#include "recorder/engine/tracee.h"

/* PROCESS was killed: keeps what a child of it might need. */
void tg_adoption_keep_ghost(struct tg_process *process);
void tg_adoption_drop_ghosts(struct tg_engine *engine);
/* CREATOR ends: takes over the parked stops that it, or nobody, would have reported. */
void tg_adoption_creator_ends(struct tg_tracee *creator);
/* A stop of TID was parked: takes it over where nobody is left to report it. */
void tg_adoption_parked(struct tg_engine *engine, pid_t tid);
/* Looks again at stops that have been parked for long: dispatch the parked ones afterwards. Sees to it that
 * tg_engine_run wakes up for the next look where one is needed. */
void tg_adoption_look_again(struct tg_engine *engine);
/* Writes the original bytes into the memory of TID, parked, if it is a killed process's child. */
void tg_adoption_restore(struct tg_engine *engine, pid_t tid);

#endif
