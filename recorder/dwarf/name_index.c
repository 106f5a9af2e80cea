#include "recorder/dwarf/name_index.h"

#include "format/base/array.h"
#include "format/base/search.h"

#include <dwarf.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum {
    MAX_NAMES = 8 << 20,
    MAX_DIES = 64 << 20,
    MAX_DEPTH = 24, /* of namespaces and classes */
};

static const uint32_t NO_PARENT = UINT32_MAX;

struct entry {
    const char *name;
    Dwarf_Off die;
    uint32_t hash;
    uint32_t parent; /* the entry number (before sorting) of the namespace or class around it */
    uint32_t number; /* before sorting */
    uint32_t file;   /* DIE is an offset of this one of the index's files */
    uint8_t kind;
    bool is_scope;   /* a namespace: there for its children's sake */
    bool is_clear;   /* members can be named without it: an inline namespace, an enum */
    bool is_outside; /* defined outside of where it is declared: the scopes around it are the declaration's */
    bool is_in_types; /* DIE is an offset of .debug_types */
};

struct tg_name_index {
    Dwarf **files; /* the object's, then those of split units */
    size_t n_files, files_capacity;
    uint32_t file;         /* the one that is being read */
    struct entry *entries; /* by hash */
    uint32_t *places;      /* of each entry number */
    size_t n, capacity;
    size_t n_dies;
    bool in_types;
};

static uint32_t hash_name(const char *name, size_t length)
{
    uint32_t hash = 2166136261U;
    for (size_t i = 0; i < length; i++)
        hash = (hash ^ (uint8_t)name[i]) * 16777619U;
    return hash;
}

static bool add(struct tg_name_index *index, Dwarf_Die *die, const char *name, enum tg_name_kind kind,
                uint32_t parent, bool is_scope)
{
    int tag = dwarf_tag(die);
    if (index->n == MAX_NAMES)
        return true;
    if (TG_ARRAY_RESERVE(index->entries, index->capacity, index->n + 1) != NULL)
        return false;
    index->entries[index->n] =
        (struct entry){.name = name,
                       .die = dwarf_dieoffset(die),
                       .hash = hash_name(name, strlen(name)),
                       .parent = parent,
                       .number = (uint32_t)index->n,
                       .file = index->file,
                       .kind = (uint8_t)kind,
                       .is_scope = is_scope,
                       .is_clear = (tag == DW_TAG_enumeration_type && kind != TG_NAME_ENUMERATOR) ||
                                   (is_scope && dwarf_hasattr(die, DW_AT_export_symbols)),
                       .is_outside = dwarf_hasattr(die, DW_AT_specification),
                       .is_in_types = index->in_types};
    index->n++;
    return true;
}

/* Whether DIE is what defines its name, and as what. */
static bool is_definition(Dwarf_Die *die, int tag, enum tg_name_kind *kind)
{
    switch (tag) {
    case DW_TAG_variable:
        *kind = TG_NAME_VARIABLE;
        return !dwarf_hasattr(die, DW_AT_declaration) || dwarf_hasattr(die, DW_AT_const_value);
    case DW_TAG_member:   /* before DWARF 5 */
    case DW_TAG_constant: /* a named constant of Fortran */
        *kind = TG_NAME_VARIABLE;
        return dwarf_hasattr(die, DW_AT_const_value);
    case DW_TAG_subprogram:
        *kind = TG_NAME_FUNCTION;
        return dwarf_hasattr(die, DW_AT_low_pc) || dwarf_hasattr(die, DW_AT_ranges);
    case DW_TAG_structure_type:
    case DW_TAG_class_type:
    case DW_TAG_union_type:
    case DW_TAG_enumeration_type:
        *kind = TG_NAME_STRUCT;
        return !dwarf_hasattr(die, DW_AT_declaration);
    case DW_TAG_typedef:
    case DW_TAG_base_type:
        *kind = TG_NAME_TYPE;
        return true;
    case DW_TAG_enumerator:
        *kind = TG_NAME_ENUMERATOR;
        return true;
    default:
        return false;
    }
}

static bool read_children(struct tg_name_index *index, Dwarf_Die *parent, uint32_t parent_number,
                          unsigned depth)
{
    Dwarf_Die child;
    if (depth == MAX_DEPTH)
        return true;
    for (int more = dwarf_child(parent, &child); more == 0; more = dwarf_siblingof(&child, &child)) {
        if (++index->n_dies > MAX_DIES)
            return true;
        int tag = dwarf_tag(&child);
        enum tg_name_kind kind = TG_NAME_TYPE;
        bool is_scope = tag == DW_TAG_namespace || tag == DW_TAG_module;
        const char *name = is_scope || is_definition(&child, tag, &kind) ? dwarf_diename(&child) : NULL;
        uint32_t number = parent_number;
        if (name != NULL) {
            Dwarf_Die *is = tag == DW_TAG_enumerator ? parent : &child;
            if (!add(index, is, name, is_scope ? TG_NAME_TYPE : kind, parent_number, is_scope))
                return false;
            number = (uint32_t)index->n - 1;
        }
        bool has_names = is_scope || tag == DW_TAG_enumeration_type || tag == DW_TAG_structure_type ||
                         tag == DW_TAG_class_type || tag == DW_TAG_common_block;
        if (has_names && dwarf_haschildren(&child) > 0 && !read_children(index, &child, number, depth + 1))
            return false;
    }
    return true;
}

static int compare_entries(const void *a, const void *b)
{
    const struct entry *x = a, *y = b;
    if (x->hash != y->hash)
        return x->hash < y->hash ? -1 : 1;
    return x->number < y->number ? -1 : x->number > y->number;
}

static bool add_file(struct tg_name_index *index, Dwarf *file)
{
    return TG_ARRAY_APPEND(index->files, index->n_files, index->files_capacity, file) == NULL;
}

/* The units of DWARF. A split unit is in a file of its own, which libdw opens for this. */
static bool read_units(struct tg_name_index *index, Dwarf *dwarf)
{
    Dwarf_CU *cu = NULL;
    Dwarf_Die die, split;
    uint8_t type;
    bool fine = add_file(index, dwarf);
    while (fine && dwarf_get_units(dwarf, cu, &cu, NULL, &type, &die, &split) == 0) {
        bool is_split = type == DW_UT_skeleton && split.addr != NULL;
        index->in_types = type == DW_UT_type;
        index->file = 0;
        if (is_split) {
            fine = add_file(index, dwarf_cu_getdwarf(split.cu));
            index->file = (uint32_t)index->n_files - 1;
        }
        fine = fine && read_children(index, is_split ? &split : &die, NO_PARENT, 0);
    }
    return fine;
}

struct tg_error *tg_name_index_create(Dwarf *dwarf, struct tg_name_index **result)
{
    struct tg_name_index *index = calloc(1, sizeof *index);
    if (index == NULL)
        return tg_error_no_memory();
    bool fine = read_units(index, dwarf);
    index->places = fine ? calloc(index->n + 1, sizeof *index->places) : NULL;
    if (index->places == NULL) {
        tg_name_index_destroy(index);
        return tg_error_no_memory();
    }
    if (index->n > 0)
        qsort(index->entries, index->n, sizeof *index->entries, compare_entries);
    for (size_t i = 0; i < index->n; i++)
        index->places[index->entries[i].number] = (uint32_t)i;
    *result = index;
    return NULL;
}

void tg_name_index_destroy(struct tg_name_index *index)
{
    if (index == NULL)
        return;
    free(index->files);
    free(index->entries);
    free(index->places);
    free(index);
}

size_t tg_name_index_count(const struct tg_name_index *index)
{
    return index->n;
}

const char *tg_name_index_at(const struct tg_name_index *index, size_t i)
{
    return index->entries[i].name;
}

/* Takes NAME off the end of the *LENGTH bytes at QUALIFIER, "a::b". False: it is not there. */
static bool take_scope(const char *name, const char *qualifier, size_t *length)
{
    size_t n = strlen(name);
    if (n > *length || memcmp(name, qualifier + *length - n, n) != 0)
        return false;
    size_t left = *length - n;
    if (left != 0 && (left < 3 || memcmp(qualifier + left - 2, "::", 2) != 0))
        return false;
    *length = left == 0 ? 0 : left - 2;
    return true;
}

static Dwarf_Die *die_of(const struct tg_name_index *index, const struct entry *entry, Dwarf_Die *die)
{
    Dwarf *file = index->files[entry->file];
    return entry->is_in_types ? dwarf_offdie_types(file, entry->die, die)
                              : dwarf_offdie(file, entry->die, die);
}

/* The same as is_inside, of the scopes around what ENTRY specifies. */
static bool is_declared_inside(const struct tg_name_index *index, const struct entry *entry,
                               const char *qualifier, size_t length)
{
    Dwarf_Die die, declaration, *scopes = NULL;
    Dwarf_Attribute attribute;
    if (die_of(index, entry, &die) == NULL || dwarf_attr(&die, DW_AT_specification, &attribute) == NULL ||
        dwarf_formref_die(&attribute, &declaration) == NULL)
        return false;
    int n = dwarf_getscopes_die(&declaration, &scopes);
    bool matches = true;
    for (int i = 1; matches && length > 0 && i < n; i++) {
        int tag = dwarf_tag(&scopes[i]);
        const char *name = tag == DW_TAG_compile_unit ? NULL : dwarf_diename(&scopes[i]);
        if (name != NULL && !take_scope(name, qualifier, &length))
            matches = dwarf_hasattr(&scopes[i], DW_AT_export_symbols);
    }
    free(scopes);
    return matches && length == 0;
}

/* Whether the scopes around ENTRY are called as the LENGTH bytes at QUALIFIER, "a::b", innermost last. */
static bool is_inside(const struct tg_name_index *index, const struct entry *entry, const char *qualifier,
                      size_t length)
{
    if (length > 0 && entry->is_outside)
        return is_declared_inside(index, entry, qualifier, length);
    while (length > 0) {
        if (entry->parent == NO_PARENT)
            return false;
        entry = &index->entries[index->places[entry->parent]];
        if (!take_scope(entry->name, qualifier, &length) && !entry->is_clear)
            return false;
    }
    return true;
}

static size_t first_of(const struct tg_name_index *index, uint32_t hash)
{
    return TG_LOWER_BOUND(index->entries, index->n, hash, hash);
}

const char *tg_name_index_simple(const char *name)
{
    const char *simple = name;
    unsigned nested = 0; /* in template arguments, which may be qualified as well */
    for (const char *at = name; *at != '\0'; at++) {
        nested += *at == '<';
        nested -= *at == '>' && nested > 0;
        if (nested == 0 && at[0] == ':' && at[1] == ':')
            simple = at + 2;
    }
    return simple;
}

bool tg_name_index_next(const struct tg_name_index *index, const char *name, size_t *at,
                        enum tg_name_kind *kind, Dwarf_Die *die)
{
    const char *simple = tg_name_index_simple(name);
    size_t qualifier = simple == name ? 0 : (size_t)(simple - name) - 2;
    uint32_t hash = hash_name(simple, strlen(simple));
    size_t i = *at == 0 ? first_of(index, hash) : *at - 1;
    for (; i < index->n && index->entries[i].hash == hash; i++) {
        const struct entry *entry = &index->entries[i];
        if (entry->is_scope || strcmp(entry->name, simple) != 0 || !is_inside(index, entry, name, qualifier))
            continue;
        if (die_of(index, entry, die) == NULL)
            continue;
        *kind = (enum tg_name_kind)entry->kind;
        *at = i + 2;
        return true;
    }
    *at = i + 1;
    return false;
}
