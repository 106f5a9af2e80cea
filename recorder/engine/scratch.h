/* Room for displaced instructions: slots in memory of the program in which it never executes code. */
#ifndef TG_RECORDER_ENGINE_SCRATCH_H
#define TG_RECORDER_ENGINE_SCRATCH_H

#include "recorder/engine/address_space.h"
#include "recorder/engine/tracee.h"

/* A free slot for CODE of TRACEE's address space, marked as used. TG_NO_SLOT where all are in use (BUSY: one
 * may come free) or there is none that can be written. */
unsigned tg_scratch_take(struct tg_tracee *tracee, const uint8_t *code, bool *busy);
/* Marks SLOT as free; true where all were in use. */
bool tg_scratch_give_back(struct tg_address_space *space, unsigned slot);

#endif
