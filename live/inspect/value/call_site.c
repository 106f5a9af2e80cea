#include "live/inspect/value/call_site.h"

#include "live/inspect/value/tail_call.h"

#include <dwarf.h>

/* The call site among the children of BLOCK, of OBJECT, that returns to PC. */
static bool find_call_site(const struct tg_scene_object *object, Dwarf_Die *block, uint64_t pc,
                           Dwarf_Die *site)
{
    Dwarf_Die child;
    for (int more = dwarf_child(block, &child); more == 0; more = dwarf_siblingof(&child, &child)) {
        int tag = dwarf_tag(&child);
        Dwarf_Attribute attribute;
        Dwarf_Addr address;
        if (tag != DW_TAG_call_site && tag != DW_TAG_GNU_call_site)
            continue;
        if (dwarf_attr(&child, (unsigned)(tag == DW_TAG_call_site ? DW_AT_call_return_pc : DW_AT_low_pc),
                       &attribute) != NULL &&
            dwarf_formaddr(&attribute, &address) == 0 && address + object->bias == pc) {
            *site = child;
            return true;
        }
    }
    return false;
}

/* The value that the caller passed in register NUMBER, by the parameters of its call site. */
static bool find_parameter(Dwarf_Die *site, unsigned number, Dwarf_Attribute *value)
{
    Dwarf_Die child;
    for (int more = dwarf_child(site, &child); more == 0; more = dwarf_siblingof(&child, &child)) {
        Dwarf_Attribute attribute;
        Dwarf_Op *ops;
        size_t n_ops;
        if (dwarf_attr(&child, DW_AT_location, &attribute) == NULL ||
            dwarf_getlocation(&attribute, &ops, &n_ops) != 0 || n_ops != 1)
            continue;
        bool is_it = ops[0].atom == DW_OP_regx ? ops[0].number == (Dwarf_Word)number
                                               : ops[0].atom >= DW_OP_reg0 && ops[0].atom <= DW_OP_reg31 &&
                                                     ops[0].atom - DW_OP_reg0 == (int)number;
        if (is_it)
            return dwarf_attr(&child, DW_AT_call_value, value) != NULL ||
                   dwarf_attr(&child, DW_AT_GNU_call_site_value, value) != NULL;
    }
    return false;
}

/* The value that the caller passed for PARAMETER, which need not be anywhere. */
static bool find_value_of(Dwarf_Die *site, const Dwarf_Die *parameter, Dwarf_Attribute *value)
{
    Dwarf_Die child, named;
    for (int more = dwarf_child(site, &child); more == 0; more = dwarf_siblingof(&child, &child)) {
        Dwarf_Attribute attribute;
        if ((dwarf_attr(&child, DW_AT_call_parameter, &attribute) != NULL ||
             dwarf_attr(&child, DW_AT_abstract_origin, &attribute) != NULL) &&
            dwarf_formref_die(&attribute, &named) != NULL && named.addr == parameter->addr)
            return dwarf_attr(&child, DW_AT_call_value, value) != NULL ||
                   dwarf_attr(&child, DW_AT_GNU_call_site_value, value) != NULL;
    }
    return false;
}

/* Whether SITE has called the function of SCENE's frame, which has its arguments: a jump from there to there would have brought
 * others. */
static bool is_of_frame(const struct tg_scene *scene, Dwarf_Die *site)
{
    const struct tg_scene_object *object;
    Dwarf_Die scopes[TG_SCENE_MAX_SCOPES], called;
    Dwarf_Attribute attribute;
    size_t n = tg_scene_scopes(scene, scene->frame, &object, scopes);
    return n > 0 && dwarf_tag(&scopes[n - 1]) == DW_TAG_subprogram &&
           (dwarf_attr(site, DW_AT_call_origin, &attribute) != NULL ||
            dwarf_attr(site, DW_AT_abstract_origin, &attribute) != NULL) &&
           dwarf_formref_die(&attribute, &called) != NULL &&
           tg_tail_call_is_only_entry(&called, &scopes[n - 1]);
}

/* The call site in CALLER that it is at, in *OBJECT; false also where it may be another call whose arguments the frame has. */
static bool find_site(const struct tg_scene *scene, const struct tg_frame *caller,
                      const struct tg_scene_object **object, Dwarf_Die *site)
{
    Dwarf_Die scopes[TG_SCENE_MAX_SCOPES];
    size_t n = tg_scene_scopes(scene, caller, object, scopes);
    for (size_t i = 0; i < n; i++)
        if (find_call_site(*object, &scopes[i], caller->registers.value[TG_RIP], site))
            return is_of_frame(scene, site);
    return false;
}

bool tg_call_site_parameter(const struct tg_scene *scene, const struct tg_frame *caller, unsigned number,
                            const struct tg_scene_object **object, Dwarf_Attribute *value)
{
    const struct tg_scene_object *of_caller;
    Dwarf_Die site;
    if (number > TG_XMM15 || !find_site(scene, caller, &of_caller, &site) ||
        !find_parameter(&site, number, value))
        return false;
    *object = of_caller;
    return true;
}

bool tg_call_site_value_of(const struct tg_scene *scene, const struct tg_frame *caller,
                           const Dwarf_Die *parameter, const struct tg_scene_object **object,
                           Dwarf_Attribute *value)
{
    const struct tg_scene_object *of_caller;
    Dwarf_Die site;
    if (!find_site(scene, caller, &of_caller, &site) || !find_value_of(&site, parameter, value))
        return false;
    *object = of_caller;
    return true;
}
