/* How an entry of a starter's MPIR_proctable (MPIR_PROCDESC) lies in memory. */
#ifndef TG_RECORDER_MPIR_LAYOUT_H
#define TG_RECORDER_MPIR_LAYOUT_H

#include "format/event/event.h"
#include "format/image/image.h"

#include <stdbool.h>
#include <stdint.h>

enum { TG_MPIR_LAYOUT_MAX_STRIDE = 512 };

/* All zero: not known. Offsets are of the members of one entry. */
struct tg_mpir_layout {
    enum tg_mpir_layout_source source;
    unsigned pointer_bytes; /* 8 or 4 */
    uint32_t stride_bytes;
    uint32_t host_offset;
    uint32_t executable_offset;
    uint32_t pid_offset; /* offset of an int of four bytes */
};

/* As every compiler lays it out for a word size of BITS (64 or 32; anything else: not known). */
struct tg_mpir_layout tg_mpir_layout_of_class(unsigned bits);

/* Whether every member lies inside of an entry of bearable size, and none in another. */
bool tg_mpir_layout_is_sound(const struct tg_mpir_layout *layout);

/* From the DWARF of IMAGE or its separate debug file: the type that its variable MPIR_proctable points to, or
 * the one called MPIR_PROCDESC. False where there is no such thing, or it is not sound. Reads the names of
 * all that the units have at their top: for objects that have the symbol only. */
bool tg_mpir_layout_from_dwarf(struct tg_image *image, struct tg_mpir_layout *layout);

#endif
