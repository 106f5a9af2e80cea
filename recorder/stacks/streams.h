/* Streams (FILE) of glibc, which has all of them in one list: so the lock of one is told from what only looks like it. */
#ifndef TG_RECORDER_STACKS_STREAMS_H
#define TG_RECORDER_STACKS_STREAMS_H

#include "format/image/elf_object.h"
#include "recorder/dwarf/modules.h"

#include <stdbool.h>
#include <stdint.h>

/* Address of the variable with the first stream, in the process of MODULES; 0: not known. */
uint64_t tg_streams_find(struct tg_modules *modules);

/* Whether one of the streams behind the variable FIRST (0: not known), in MEMORY, has its lock at ADDRESS. */
bool tg_streams_have_lock(uint64_t first, const struct tg_elf_memory *memory, uint64_t address);

#endif
