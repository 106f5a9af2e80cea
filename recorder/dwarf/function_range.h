/* Where functions begin, also those without a symbol: by the search table of the unwind tables (.eh_frame_hdr). */
#ifndef TG_RECORDER_DWARF_FUNCTION_RANGE_H
#define TG_RECORDER_DWARF_FUNCTION_RANGE_H

#include "format/image/elf_object.h"

/* Addresses are the object's own. END is where the next one begins: there may be padding before it. A part that a compiler
 * moved away from its function has a range of its own. */
struct tg_function_range {
    uint64_t start, end;
};

/* The range of the function with ADDRESS; false where OBJECT has no table of the usual form, or none begins before. */
bool tg_function_range_find(const struct tg_elf_object *object, uint64_t address,
                            struct tg_function_range *range);

#endif
