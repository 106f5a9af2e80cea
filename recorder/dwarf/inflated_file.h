/* A file whose debug information is compressed, as Debian's are, inflated by two threads: what libdw does by one, section
 * after section, takes 50 ms for libc. */
#ifndef TG_RECORDER_DWARF_INFLATED_FILE_H
#define TG_RECORDER_DWARF_INFLATED_FILE_H

#include <libelf.h>

struct tg_inflated_file;

/* The file FD in memory, which is not used any more afterwards, with sections that are not compressed. NULL where that
 * gains nothing (one processor, little to inflate), where the file is not one that this is sure of, or without memory:
 * the file itself is to be used then. */
struct tg_inflated_file *tg_inflated_file_create(int fd);
void tg_inflated_file_destroy(struct tg_inflated_file *file); /* NULL is accepted */

/* Belongs to FILE. */
Elf *tg_inflated_file_elf(const struct tg_inflated_file *file);

#endif
