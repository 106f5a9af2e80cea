/* A file whose debug information is compressed, as Debian's are, inflated by two threads: what libdw does by one, section
 * after section, takes 50 ms for libc. */
#ifndef TG_RECORDER_DWARF_INFLATED_FILE_H
#define TG_RECORDER_DWARF_INFLATED_FILE_H

#include <libelf.h>
#include <stdbool.h>
#include <stdint.h>

struct tg_inflated_file;

/* The file FD in memory, which is not used any more afterwards, with sections that are not compressed. NULL where that
 * gains nothing (one processor, little to inflate), where the file is not one that this is sure of, or without memory:
 * the file itself is to be used then. */
struct tg_inflated_file *tg_inflated_file_create(int fd);
/* The same of a file of any size and with any number of processors, until UNTIL_NS (CLOCK_MONOTONIC) at most; *IS_LATE: it
 * took longer, and there is none for that reason. */
struct tg_inflated_file *tg_inflated_file_create_until(int fd, uint64_t until_ns, bool *is_late);
void tg_inflated_file_destroy(struct tg_inflated_file *file); /* NULL is accepted */

/* Belongs to FILE. */
Elf *tg_inflated_file_elf(const struct tg_inflated_file *file);

#endif
