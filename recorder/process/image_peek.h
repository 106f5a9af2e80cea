/* Objects that are mapped in a process, told by their memory alone. */
#ifndef TG_RECORDER_PROCESS_IMAGE_PEEK_H
#define TG_RECORDER_PROCESS_IMAGE_PEEK_H

#include "format/image/elf_object.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* Build-id (lower-case hex, "" where none is found) and extent of the PT_LOADs of the object whose ELF header
 * is at HEADER in PID's memory, for the price of one or two reads. False where there is no ELF header. */
bool tg_image_peek(pid_t pid, uint64_t header, char build_id[TG_ELF_BUILD_ID_CHARS], uint64_t *size_bytes);
/* The same in MEMORY. */
bool tg_image_peek_memory(const struct tg_elf_memory *memory, uint64_t header,
                          char build_id[TG_ELF_BUILD_ID_CHARS], uint64_t *size_bytes);

#endif
