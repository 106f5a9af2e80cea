/* Bodies of OpenMP regions and tasks that clang makes functions of, and the functions that they are written in. */
#ifndef TG_FORMAT_IMAGE_OUTLINED_BODIES_H
#define TG_FORMAT_IMAGE_OUTLINED_BODIES_H

#include "format/image/debug_units.h"

/* Whether the compiler's function NAME is such a body. NULL is none. */
bool tg_outlined_bodies_is_name(const char *name);

/* The bodies of one object, with the answers about them. Not thread-safe. */
struct tg_outlined_bodies;

/* NULL: no memory. */
struct tg_outlined_bodies *tg_outlined_bodies_create(void);
/* NULL is accepted. */
void tg_outlined_bodies_destroy(struct tg_outlined_bodies *bodies);

struct tg_outlined_owner {
    const char *name;   /* as it is written; NULL: not known, or several */
    const char *symbol; /* the linker's; NULL: none, or several that people do not write alike */
};

/* The function that the code of BODY (a subprogram or a copy of one) at ADDRESS is written in. Newer compilers name the body
 * after it. Where they do not, debug information does not say: what has the last code in front of it, other bodies left aside,
 * and functions within a function that end in front of it. Strings are valid as long as BODIES, and the Dwarf of UNITS must
 * outlive these. */
struct tg_outlined_owner tg_outlined_bodies_find(struct tg_outlined_bodies *bodies,
                                                 struct tg_debug_units *units, Dwarf_Die *body,
                                                 uint64_t address);

/* The same of the innermost function at ADDRESS; none where that is no such body. */
struct tg_outlined_owner tg_outlined_bodies_at(struct tg_outlined_bodies *bodies,
                                               struct tg_debug_units *units, uint64_t address);

#endif
