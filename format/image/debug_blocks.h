/* The blocks (functions, inlined copies, scopes) of an object's DWARF, through libdw. */
#ifndef TG_FORMAT_IMAGE_DEBUG_BLOCKS_H
#define TG_FORMAT_IMAGE_DEBUG_BLOCKS_H

#include "format/image/address_set.h"
#include "format/image/elf_object.h"

#include <elfutils/libdw.h>

struct tg_debug_blocks; /* not thread-safe */

/* NULL where OBJECT has no DWARF that libdw can read, or more than is worth reading (512 MiB: libdw reads it
 * all at once here, as nothing is mapped), or where the file that it shares with others (dwz) is not to be had. OBJECT must outlive it. */
struct tg_debug_blocks *tg_debug_blocks_create(struct tg_elf_object *object);
void tg_debug_blocks_destroy(struct tg_debug_blocks *blocks);

/* What BLOCKS are of; valid as long as they are. */
Dwarf *tg_debug_blocks_dwarf(const struct tg_debug_blocks *blocks);

/* Whether what libdw would read and decompress of OBJECT's DWARF stays within that bound. */
bool tg_debug_blocks_is_moderate(struct tg_elf_object *object);

/* DW_AT_comp_dir of the compilation unit whose line table is at LINE_OFFSET of .debug_line; NULL where there
 * is none. Valid as long as BLOCKS. */
const char *tg_debug_blocks_directory(struct tg_debug_blocks *blocks, uint64_t line_offset);

/* For each of the COUNT ADDRESSES the innermost block of that unit which holds it, as a number that is the
 * same for the same block; 0 where there is none. */
void tg_debug_blocks_innermost(struct tg_debug_blocks *blocks, uint64_t line_offset,
                               const uint64_t *addresses, uint64_t *innermost, size_t count);

/* Adds where the copies of functions NAME begin that compilers have put into their callers. NAME: f, or C::f as
 * tg_mangled_name_ends_with() has it. */
void tg_debug_blocks_find_copies(struct tg_debug_blocks *blocks, const char *name,
                                 struct tg_address_set *found);

/* The innermost function of that unit whose code a compiler has put into its caller at ADDRESS: its name as the linker has
 * it or, where it has none, as it is written; valid as long as BLOCKS. *OFFSET: from the start of that piece of code. NULL:
 * there is none. */
const char *tg_debug_blocks_inlined_at(struct tg_debug_blocks *blocks, uint64_t line_offset, uint64_t address,
                                       uint64_t *offset);

#endif
