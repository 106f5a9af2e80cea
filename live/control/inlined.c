#include "live/control/inlined.h"

#include <dwarf.h>
#include <string.h>

enum { MAX_LOOKED_AT = 500000, MAX_DEPTH = 64 }; /* a name that is mistyped must not take long */

static bool is_inlined(Dwarf_Die *die, const char *name)
{
    const char *own = dwarf_tag(die) == DW_TAG_subprogram ? dwarf_diename(die) : NULL;
    return own != NULL && strcmp(own, name) == 0 && dwarf_func_inline(die) != 0;
}

/* A search for the copies of a function in its unit. */
struct copies {
    Dwarf_Die unit;
    Dwarf_Off function;
    int from_line,
        line; /* the first line, from that of the declaration on, that a copy begins with; 0 none */
    unsigned n_looked_at;
};

static bool is_copy(const struct copies *copies, Dwarf_Die *die)
{
    Dwarf_Attribute attribute;
    Dwarf_Die origin;
    return dwarf_tag(die) == DW_TAG_inlined_subroutine &&
           dwarf_attr(die, DW_AT_abstract_origin, &attribute) != NULL &&
           dwarf_formref_die(&attribute, &origin) != NULL && dwarf_dieoffset(&origin) == copies->function;
}

static void take_copy(struct copies *copies, Dwarf_Die *copy)
{
    Dwarf_Addr entry;
    int line = 0;
    Dwarf_Line *row = dwarf_entrypc(copy, &entry) == 0 ? dwarf_getsrc_die(&copies->unit, entry) : NULL;
    if (row != NULL && dwarf_lineno(row, &line) == 0 && line >= copies->from_line &&
        (copies->line == 0 || line < copies->line))
        copies->line = line;
}

static void search_copies(struct copies *copies, Dwarf_Die *parent, unsigned depth)
{
    Dwarf_Die die;
    for (int more = dwarf_child(parent, &die); more == 0 && copies->n_looked_at++ < MAX_LOOKED_AT;
         more = dwarf_siblingof(&die, &die)) {
        if (is_copy(copies, &die))
            take_copy(copies, &die);
        if (depth < MAX_DEPTH)
            search_copies(copies, &die, depth + 1);
    }
}

/* The line that its copies begin with, else that of its declaration; 0: unknown. */
static int first_line(Dwarf_Die *unit, Dwarf_Die *function)
{
    struct copies copies = {.unit = *unit, .function = dwarf_dieoffset(function)};
    (void)dwarf_decl_line(function, &copies.from_line);
    search_copies(&copies, unit, 0);
    return copies.line > 0 ? copies.line : copies.from_line;
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
            *line = first_line(&top, &die);
            const char *slash = path == NULL ? NULL : strrchr(path, '/');
            *file = path == NULL ? NULL : strdup(slash == NULL ? path : slash + 1);
            return *file != NULL && *line > 0;
        }
    }
    return false;
}
