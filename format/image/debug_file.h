/* The separate debug file of a stripped ELF object, as gdb and Debian's -dbg packages lay them out. */
#ifndef TG_FORMAT_IMAGE_DEBUG_FILE_H
#define TG_FORMAT_IMAGE_DEBUG_FILE_H

#include "format/image/elf_object.h"

/* Looks for /usr/lib/debug/.build-id/xx/rest.debug, then for the name in .gnu_debuglink in the directory of
 * PATH, in its .debug/ and below /usr/lib/debug. A file counts only if it has OBJECT's build-id, or, where
 * OBJECT has none, the checksum that .gnu_debuglink gives. PATH: the file's absolute path or NULL. NULL where
 * there is none. The caller owns the result. */
struct tg_elf_object *tg_debug_file_open(struct tg_elf_object *object, const char *path);

#endif
