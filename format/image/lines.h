/* Addresses of source lines in one object. */
#ifndef TG_FORMAT_IMAGE_LINES_H
#define TG_FORMAT_IMAGE_LINES_H

#include "format/image/address_set.h"
#include "format/image/elf_object.h"

struct tg_image_lines; /* not thread-safe; remembers its answers */

/* Lines of the DWARF in OBJECT, which may be a separate debug file of CODE: DELTA takes its addresses to
 * CODE's. Both must outlive it. NULL: no memory. */
struct tg_image_lines *tg_image_lines_create(struct tg_elf_object *object, const struct tg_elf_object *code,
                                             uint64_t delta);
void tg_image_lines_destroy(struct tg_image_lines *lines);

/* Start of the function that holds ADDRESS, ADDRESS itself outside of functions. */
typedef uint64_t tg_function_start(void *context, uint64_t address);

/* As tg_image_find_line. FUNCTION_START stands in for blocks where there are none. */
void tg_image_lines_find(struct tg_image_lines *lines, const char *file, uint64_t line,
                         tg_function_start *function_start, void *context, struct tg_address_set *addresses);

/* As tg_image_line_at. */
bool tg_image_lines_at(struct tg_image_lines *lines, uint64_t address, char *path, size_t size,
                       uint64_t *line);

/* Lets go of the section contents that were read (not of the answers): nobody is asking just now. */
void tg_image_lines_trim(struct tg_image_lines *lines);

/* As tg_debug_blocks_find_copies(). */
void tg_image_lines_find_copies(struct tg_image_lines *lines, const char *name, struct tg_address_set *found);

/* The innermost function whose code a compiler has put into its caller at ADDRESS, as tg_debug_blocks_inlined_at() says;
 * valid until the next trim. */
const char *tg_image_lines_inlined_at(struct tg_image_lines *lines, uint64_t address, uint64_t *offset);

/* As tg_image_body_owner(). */
const char *tg_image_lines_body_owner(struct tg_image_lines *lines, uint64_t address);

#endif
