/* Names of code addresses for people: functions, inlined ones too, files, lines. */
#ifndef TG_RECORDER_DWARF_CODE_PLACES_H
#define TG_RECORDER_DWARF_CODE_PLACES_H

#include "format/image/debug_units.h"
#include "format/image/image.h"

enum { TG_CODE_PLACE_MAX_CALLS = 32 };

/* One function, or one inlined copy of it. */
struct tg_code_call {
    bool has_function;
    Dwarf_Die function; /* DW_TAG_subprogram or DW_TAG_inlined_subroutine */
    const char *name;   /* NULL not known */
    uint64_t offset;    /* of the address in it; of an inlined copy: from its first instruction */
    const char *file;   /* NULL not known */
    int line;           /* in the innermost one that of the address, else that of the inlined call */
    bool is_inlined;
};

/* Innermost first; the last one is the function itself. At least one, of which nothing may be known. */
struct tg_code_place {
    size_t count;
    struct tg_code_call calls[];
};

/* Remembered by address, at most 16,384 of them. Not thread-safe. */
struct tg_code_places;

/* NULL: no memory. */
struct tg_code_places *tg_code_places_create(void);
void tg_code_places_destroy(struct tg_code_places *places);

/* Of ADDRESS in IMAGE, whose UNITS (NULL none) must outlive PLACES. Strings live as long as they do. Valid
 * until the next call; NULL: no memory. */
const struct tg_code_place *tg_code_places_find(struct tg_code_places *places, struct tg_debug_units *units,
                                                struct tg_image *image, uint64_t address);

#endif
