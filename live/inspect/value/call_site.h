/* Arguments of a call by the debug information of its caller. */
#ifndef TG_LIVE_INSPECT_VALUE_CALL_SITE_H
#define TG_LIVE_INSPECT_VALUE_CALL_SITE_H

#include "live/inspect/target/scene.h"

/* The expression for what CALLER (NULL not known), a frame of SCENE, has passed in DWARF's register NUMBER to
 * the call that it waits for: VALUE, of OBJECT, to be evaluated in CALLER. False: that is not said. */
bool tg_call_site_parameter(const struct tg_scene *scene, const struct tg_frame *caller, unsigned number,
                            const struct tg_scene_object **object, Dwarf_Attribute *value);

/* The same of what it has passed for PARAMETER, one of the called function's that may have been removed. */
bool tg_call_site_value_of(const struct tg_scene *scene, const struct tg_frame *caller,
                           const Dwarf_Die *parameter, const struct tg_scene_object **object,
                           Dwarf_Attribute *value);

#endif
