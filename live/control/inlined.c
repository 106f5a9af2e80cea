#include "live/control/inlined.h"

#include <dwarf.h>
#include <string.h>

enum { MAX_LOOKED_AT = 500000 }; /* a name that is mistyped must not take long */

static bool is_inlined(Dwarf_Die *die, const char *name)
{
    const char *own = dwarf_tag(die) == DW_TAG_subprogram ? dwarf_diename(die) : NULL;
    return own != NULL && strcmp(own, name) == 0 && dwarf_func_inline(die) != 0;
}

bool tg_inlined_find(struct tg_module_scene *objects, const struct tg_inspect_memory *memory,
                     const char *name, char **file, int *line)
{
    const struct tg_scene *scene = tg_module_scene_of(objects, memory, NULL, NULL, NULL, 0);
    const struct tg_scene_object *program = tg_scene_object(scene, 0);
    Dwarf *dwarf = program == NULL ? NULL : program->dwarf;
    Dwarf_CU *unit = NULL;
    Dwarf_Die top, die;
    unsigned n_looked_at = 0;
    while (dwarf != NULL && dwarf_get_units(dwarf, unit, &unit, NULL, NULL, &top, NULL) == 0) {
        for (int more = dwarf_child(&top, &die); more == 0 && n_looked_at++ < MAX_LOOKED_AT;
             more = dwarf_siblingof(&die, &die)) {
            if (!is_inlined(&die, name))
                continue;
            const char *path = dwarf_decl_file(&die);
            *line = 0;
            (void)dwarf_decl_line(&die, line);
            const char *slash = path == NULL ? NULL : strrchr(path, '/');
            *file = path == NULL ? NULL : strdup(slash == NULL ? path : slash + 1);
            return *file != NULL && *line > 0;
        }
    }
    return false;
}
