/* The value of what a name was found to be: variables, enumerators, variables shared with an OpenMP
 * region. */
#include "live/inspect/value/value.h"

#include <dwarf.h>
#include <inttypes.h>
#include <string.h>

/* Enumerator NAME of the enum that DIE is. */
static struct tg_error *enumerator_value(const struct tg_scene_object *object, const Dwarf_Die *die,
                                         const char *name, struct tg_value *value)
{
    Dwarf_Die type = *die, child;
    Dwarf_Attribute attribute;
    name = tg_name_index_simple(name);
    for (int more = dwarf_child(&type, &child); more == 0; more = dwarf_siblingof(&child, &child)) {
        const char *is = dwarf_diename(&child);
        if (is == NULL || strcmp(is, name) != 0 || dwarf_attr(&child, DW_AT_const_value, &attribute) == NULL)
            continue;
        *value = (struct tg_value){.type = tg_type_of_die(object, die)};
        return tg_value_set_constant(&attribute, value);
    }
    return tg_error_create(TG_ERROR_INPUT, "invalid debug information for an enumerator");
}

/* A variable that a region shares by the struct its parameter points to; itself, or a pointer to it. */
static struct tg_error *shared_value(const struct tg_scene *scene, const struct tg_found *found,
                                     const char *name, struct tg_value *value)
{
    struct tg_value shared;
    Dwarf_Die parameter = found->die;
    struct tg_error *error = tg_value_of_variable(scene, found->object, &parameter, &shared);
    if (error == NULL)
        error = tg_value_follow(scene, &shared);
    if (error == NULL && tg_type_kind(&shared.type) == TG_TYPE_POINTER)
        error = tg_value_dereference(scene, &shared, &shared);
    return error != NULL ? error : tg_value_member(scene, &shared, name, value);
}

struct tg_error *tg_value_of_found(const struct tg_scene *scene, const struct tg_found *found,
                                   const char *name, struct tg_value *value)
{
    Dwarf_Die die = found->die;
    switch (found->is) {
    case TG_FOUND_NAME:
        if (found->kind == TG_NAME_ENUMERATOR)
            return enumerator_value(found->object, &die, name, value);
        return tg_value_of_variable(scene, found->object, &die, value);
    case TG_FOUND_SHARED:
        return shared_value(scene, found, name, value);
    case TG_FOUND_SYMBOL:
        break;
    }
    return tg_error_create(TG_ERROR_USAGE, "'%s' has no debug information: cast it, as in *(int *)0x%" PRIx64,
                           name, found->address);
}
