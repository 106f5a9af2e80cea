/* Scenes of a process whose objects recorder/dwarf/modules.h knows. */
#ifndef TG_LIVE_INSPECT_DWARF_MODULE_SCENE_H
#define TG_LIVE_INSPECT_DWARF_MODULE_SCENE_H

#include "live/inspect/target/scene.h"
#include "recorder/dwarf/modules.h"

/* Names of the objects of one process, kept for all questions about it. Not thread-safe. */
struct tg_module_scene;

/* MODULES must outlive it. Only error: NO_MEMORY. */
struct tg_error *tg_module_scene_create(struct tg_modules *modules, struct tg_module_scene **scene);
/* NULL is accepted. */
void tg_module_scene_destroy(struct tg_module_scene *scene);

/* To be called after tg_modules_refresh: scenes and what was found in them are void. Only error:
 * NO_MEMORY. */
struct tg_error *tg_module_scene_refresh(struct tg_module_scene *scene);

/* The scene of FRAME (NULL none), which CALLER (NULL not known) is returned to, of the thread that has
 * MEMORY, and whose fs_base is FS_BASE (0 not known: its thread-local variables cannot be shown). WIDE: the
 * registers in FRAME, NULL where calls further in have lost them. Valid until the next of this process; the
 * frames must outlive it. */
struct tg_scene *tg_module_scene_of(struct tg_module_scene *scene, const struct tg_inspect_memory *memory,
                                    const struct tg_inspect_wide_registers *wide,
                                    const struct tg_frame *frame, const struct tg_frame *caller,
                                    uint64_t fs_base);

#endif
