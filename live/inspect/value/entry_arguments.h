/* Arguments of a function whose prologue has not run: where the calling convention has put them. */
#ifndef TG_LIVE_INSPECT_VALUE_ENTRY_ARGUMENTS_H
#define TG_LIVE_INSPECT_VALUE_ENTRY_ARGUMENTS_H

#include "live/inspect/value/location.h"

/* The debug information of code that is not optimized has arguments in stack slots, from the first
 * instruction on; they are stored there by the function's prologue. Where the frame asked about is before
 * that, and DIE, of OBJECT, is such an argument: true, with its LOCATION as the System V ABI has it (AMD64
 * supplement, 3.2.3), or an ERROR. False: DIE is where its own location says. Errors: TARGET (a kind of
 * argument that is not known here, memory that cannot be read). */
bool tg_entry_argument(const struct tg_scene *scene, const struct tg_scene_object *object, Dwarf_Die *die,
                       struct tg_location *location, struct tg_error **error);

#endif
