#include "live/inspect/value/tail_call.h"

#include <dwarf.h>
#include <stddef.h>
#include <string.h>

enum {
    MAX_DIES = 50000, /* of one search */
    MAX_REACHED = 32, /* functions */
    MAX_ORIGINS = 8,  /* from a copy of a function to its declaration */
    MAX_DEPTH = 16,   /* of blocks in a function, of namespaces in a unit */
};

/* Functions that jumps lead to, as their declarations; the first is where the search began. */
struct search {
    Dwarf_Die reached[MAX_REACHED];
    size_t n_reached;
    unsigned n_dies;
    bool is_sure; /* nothing has been found that speaks against it */
};

static Dwarf_Die declaration_of(const Dwarf_Die *function)
{
    Dwarf_Die die = *function, next;
    Dwarf_Attribute attribute;
    for (unsigned i = 0; i < MAX_ORIGINS; i++) {
        if (dwarf_attr(&die, DW_AT_abstract_origin, &attribute) == NULL &&
            dwarf_attr(&die, DW_AT_specification, &attribute) == NULL)
            break;
        if (dwarf_formref_die(&attribute, &next) == NULL)
            break;
        die = next;
    }
    return die;
}

/* The name that all units know DECLARATION by; NULL: none. */
static const char *external_name(Dwarf_Die *declaration)
{
    Dwarf_Attribute attribute;
    if (!dwarf_hasattr(declaration, DW_AT_external))
        return NULL;
    return dwarf_attr(declaration, DW_AT_linkage_name, &attribute) != NULL ||
                   dwarf_attr(declaration, DW_AT_MIPS_linkage_name, &attribute) != NULL
               ? dwarf_formstring(&attribute)
               : dwarf_diename(declaration);
}

static bool is_same(Dwarf_Die *a, Dwarf_Die *b)
{
    const char *name = external_name(a), *other = external_name(b);
    return a->addr == b->addr || (name != NULL && other != NULL && strcmp(name, other) == 0);
}

/* Adds the target of SITE, a jump. */
static void reach(struct search *search, Dwarf_Die *site)
{
    Dwarf_Attribute attribute;
    Dwarf_Die target;
    bool is_known = (dwarf_attr(site, DW_AT_call_origin, &attribute) != NULL ||
                     dwarf_attr(site, DW_AT_abstract_origin, &attribute) != NULL) &&
                    dwarf_formref_die(&attribute, &target) != NULL;
    if (is_known)
        target = declaration_of(&target);
    if (!is_known || is_same(&target, &search->reached[0]) || search->n_reached == MAX_REACHED) {
        search->is_sure = false;
        return;
    }
    for (size_t i = 1; i < search->n_reached; i++)
        if (is_same(&target, &search->reached[i]))
            return;
    search->reached[search->n_reached++] = target;
}

static bool is_jump(Dwarf_Die *die)
{
    int tag = dwarf_tag(die);
    return (tag == DW_TAG_call_site && dwarf_hasattr(die, DW_AT_call_tail_call)) ||
           (tag == DW_TAG_GNU_call_site && dwarf_hasattr(die, DW_AT_GNU_tail_call));
}

/* The jumps in BLOCK and in those within. */
static void look_in_block(struct search *search, Dwarf_Die *block, unsigned depth)
{
    Dwarf_Die child;
    search->is_sure = search->is_sure && depth < MAX_DEPTH;
    if (!search->is_sure)
        return;
    for (int more = dwarf_child(block, &child); more == 0 && search->is_sure;
         more = dwarf_siblingof(&child, &child)) {
        int tag = dwarf_tag(&child);
        search->is_sure = ++search->n_dies < MAX_DIES;
        if (is_jump(&child))
            reach(search, &child);
        else if (tag == DW_TAG_lexical_block || tag == DW_TAG_inlined_subroutine)
            look_in_block(search, &child, depth + 1);
    }
}

static bool tells_all_jumps(Dwarf_Die *function)
{
    static const unsigned attributes[] = {
        DW_AT_call_all_calls,     DW_AT_call_all_source_calls,     DW_AT_call_all_tail_calls,
        DW_AT_GNU_all_call_sites, DW_AT_GNU_all_source_call_sites, DW_AT_GNU_all_tail_call_sites};
    for (size_t i = 0; i < sizeof attributes / sizeof *attributes; i++)
        if (dwarf_hasattr(function, attributes[i]))
            return true;
    return false;
}

/* The jumps of all code of FUNCTION, a declaration, among the children of PARENT: a compiler makes copies. *HAS_CODE: there is
 * some. */
static void look_for_code(struct search *search, Dwarf_Die *parent, Dwarf_Die *function, unsigned depth,
                          bool *has_code)
{
    Dwarf_Die child;
    search->is_sure = search->is_sure && depth < MAX_DEPTH;
    if (!search->is_sure)
        return;
    for (int more = dwarf_child(parent, &child); more == 0 && search->is_sure;
         more = dwarf_siblingof(&child, &child)) {
        int tag = dwarf_tag(&child);
        search->is_sure = ++search->n_dies < MAX_DIES;
        if (tag == DW_TAG_namespace || tag == DW_TAG_module)
            look_for_code(search, &child, function, depth + 1, has_code);
        if (tag != DW_TAG_subprogram ||
            (!dwarf_hasattr(&child, DW_AT_low_pc) && !dwarf_hasattr(&child, DW_AT_ranges)))
            continue;
        Dwarf_Die declaration = declaration_of(&child);
        if (!is_same(&declaration, function))
            continue;
        *has_code = true;
        search->is_sure = search->is_sure && tells_all_jumps(&child);
        look_in_block(search, &child, 0);
    }
}

bool tg_tail_call_is_only_entry(Dwarf_Die *called, Dwarf_Die *function)
{
    Dwarf_Die unit;
    struct search search = {.reached = {declaration_of(function)}, .n_reached = 1, .is_sure = true};
    Dwarf_Die declaration = declaration_of(called);
    if (!is_same(&declaration, &search.reached[0]) || dwarf_diecu(function, &unit, NULL, NULL) == NULL)
        return false;
    for (size_t i = 0; search.is_sure && i < search.n_reached; i++) {
        bool has_code = false;
        look_for_code(&search, &unit, &search.reached[i], 0, &has_code);
        search.is_sure = search.is_sure && has_code;
    }
    return search.is_sure;
}
