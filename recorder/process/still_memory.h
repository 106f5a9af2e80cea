/* Memory of a process that stands still: pages that were read once are not read again. */
#ifndef TG_RECORDER_PROCESS_STILL_MEMORY_H
#define TG_RECORDER_PROCESS_STILL_MEMORY_H

#include "format/image/elf_object.h"

#include <sys/types.h>

struct tg_still_memory;

/* NULL without memory. PID as recorder/process/memory.h says. */
struct tg_still_memory *tg_still_memory_create(pid_t pid);
/* NULL is accepted. */
void tg_still_memory_destroy(struct tg_still_memory *memory);

/* Reads through MEMORY, which must outlive the result. */
struct tg_elf_memory tg_still_memory_reader(struct tg_still_memory *memory);

#endif
