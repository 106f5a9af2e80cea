#include "live/inspect/value/type.h"

#include "format/base/printable.h"

#include <dwarf.h>
#include <inttypes.h>
#include <string.h>

enum {
    MAX_WRAPS = 64, /* typedefs of typedefs: a loop ends here */
    MAX_NAME_DEPTH = 16,
    MAX_PARAMETERS = 32,
};

static const struct {
    const char *name;
    unsigned size_bytes;
    enum tg_type_kind kind;
} basics[] = {
#define X(name, text, size, kind) {text, size, TG_TYPE_##kind},
    TG_BASIC_TYPES(X)
#undef X
};

struct tg_type tg_type_basic(enum tg_basic_type basic)
{
    return (struct tg_type){.basic = basic};
}

struct tg_type tg_type_pointer_to(const struct tg_type *type)
{
    struct tg_type pointer = *type;
    pointer.pointers++;
    return pointer;
}

struct tg_type tg_type_of_die(const struct tg_scene_object *object, const Dwarf_Die *die)
{
    return (struct tg_type){.object = object, .die = *die};
}

bool tg_type_of(const struct tg_scene_object *object, Dwarf_Die *die, struct tg_type *type)
{
    Dwarf_Attribute attribute;
    Dwarf_Die target;
    if (dwarf_attr_integrate(die, DW_AT_type, &attribute) == NULL) {
        *type = tg_type_basic(TG_BASIC_VOID);
        return true;
    }
    if (dwarf_formref_die(&attribute, &target) == NULL)
        return false;
    *type = tg_type_of_die(object, &target);
    return true;
}

static bool is_wrapper(int tag)
{
    return tag == DW_TAG_typedef || tag == DW_TAG_const_type || tag == DW_TAG_volatile_type ||
           tag == DW_TAG_restrict_type || tag == DW_TAG_atomic_type || tag == DW_TAG_immutable_type ||
           tag == DW_TAG_template_alias || tag == DW_TAG_packed_type || tag == DW_TAG_shared_type;
}

struct tg_type tg_type_strip(const struct tg_type *type)
{
    struct tg_type stripped = *type;
    for (unsigned i = 0; i < MAX_WRAPS && stripped.pointers == 0 && stripped.die.addr != NULL &&
                         is_wrapper(dwarf_tag(&stripped.die));
         i++) {
        struct tg_type inner;
        if (!tg_type_of(stripped.object, &stripped.die, &inner))
            break;
        stripped = inner;
    }
    return stripped;
}

static enum tg_type_kind base_kind(Dwarf_Die *die)
{
    Dwarf_Attribute attribute;
    Dwarf_Word encoding = 0;
    if (dwarf_attr(die, DW_AT_encoding, &attribute) != NULL)
        (void)dwarf_formudata(&attribute, &encoding);
    switch (encoding) {
    case DW_ATE_boolean:
        return TG_TYPE_BOOL;
    case DW_ATE_signed_char:
        return TG_TYPE_CHAR;
    case DW_ATE_unsigned_char:
    case DW_ATE_UTF:
        return TG_TYPE_UNSIGNED_CHAR;
    case DW_ATE_signed:
        return TG_TYPE_SIGNED;
    case DW_ATE_unsigned:
    case DW_ATE_address:
        return TG_TYPE_UNSIGNED;
    case DW_ATE_float:
        return TG_TYPE_FLOAT;
    case DW_ATE_complex_float:
        return TG_TYPE_COMPLEX;
    default:
        return TG_TYPE_OTHER;
    }
}

enum tg_type_kind tg_type_kind(const struct tg_type *type)
{
    struct tg_type stripped = tg_type_strip(type);
    if (stripped.pointers > 0)
        return TG_TYPE_POINTER;
    if (stripped.die.addr == NULL)
        return basics[stripped.basic].kind;
    switch (dwarf_tag(&stripped.die)) {
    case DW_TAG_base_type:
        return base_kind(&stripped.die);
    case DW_TAG_enumeration_type:
        return TG_TYPE_ENUM;
    case DW_TAG_pointer_type:
        return TG_TYPE_POINTER;
    case DW_TAG_reference_type:
    case DW_TAG_rvalue_reference_type:
        return TG_TYPE_REFERENCE;
    case DW_TAG_structure_type:
    case DW_TAG_class_type:
    case DW_TAG_interface_type:
        return TG_TYPE_STRUCT;
    case DW_TAG_union_type:
        return TG_TYPE_UNION;
    case DW_TAG_array_type:
        return TG_TYPE_ARRAY;
    case DW_TAG_string_type:
        return TG_TYPE_STRING;
    case DW_TAG_subroutine_type:
    case DW_TAG_subprogram:
        return TG_TYPE_FUNCTION;
    case DW_TAG_subrange_type:
        return TG_TYPE_SIGNED;
    default:
        return TG_TYPE_OTHER;
    }
}

bool tg_type_is_scalar(enum tg_type_kind kind)
{
    return (kind >= TG_TYPE_BOOL && kind <= TG_TYPE_FLOAT) || kind == TG_TYPE_ENUM || kind == TG_TYPE_POINTER;
}

bool tg_type_target(const struct tg_type *type, struct tg_type *target)
{
    struct tg_type stripped = tg_type_strip(type);
    if (stripped.pointers > 0) {
        *target = stripped;
        target->pointers--;
        return true;
    }
    return stripped.die.addr != NULL && tg_type_of(stripped.object, &stripped.die, target);
}

bool tg_type_constant(Dwarf_Attribute *attribute, int64_t *number)
{
    unsigned form = dwarf_whatform(attribute);
    Dwarf_Sword is_signed;
    Dwarf_Word word;
    if (form == DW_FORM_exprloc || form == DW_FORM_block1)
        return false;
    if (form == DW_FORM_sdata || form == DW_FORM_implicit_const) {
        if (dwarf_formsdata(attribute, &is_signed) != 0)
            return false;
        *number = is_signed;
        return true;
    }
    if (dwarf_formudata(attribute, &word) != 0)
        return false;
    *number = (int64_t)word;
    return true;
}

/* How many elements the constant bounds of an array say. */
static bool constant_count(Dwarf_Die *array, uint64_t *count)
{
    Dwarf_Die child;
    *count = 1;
    for (int more = dwarf_child(array, &child); more == 0; more = dwarf_siblingof(&child, &child)) {
        Dwarf_Attribute attribute;
        Dwarf_Word n;
        int64_t upper, lower = 0;
        if (dwarf_tag(&child) != DW_TAG_subrange_type)
            continue;
        if (dwarf_attr(&child, DW_AT_lower_bound, &attribute) != NULL &&
            !tg_type_constant(&attribute, &lower))
            return false;
        if (dwarf_attr(&child, DW_AT_count, &attribute) != NULL) {
            if (dwarf_formudata(&attribute, &n) != 0)
                return false;
        } else if (dwarf_attr(&child, DW_AT_upper_bound, &attribute) != NULL) {
            if (!tg_type_constant(&attribute, &upper))
                return false;
            n = upper < lower ? 0 : (uint64_t)upper - (uint64_t)lower + 1;
        } else {
            return false;
        }
        if (n != 0 && *count > INT64_MAX / n)
            return false;
        *count *= n;
    }
    return true;
}

bool tg_type_size(const struct tg_type *type, uint64_t *size_bytes)
{
    uint64_t total = 1;
    struct tg_type stripped = tg_type_strip(type);
    for (unsigned i = 0; i < MAX_WRAPS; i++) {
        enum tg_type_kind kind = tg_type_kind(&stripped);
        Dwarf_Attribute attribute;
        Dwarf_Word size;
        uint64_t count;
        if (kind == TG_TYPE_POINTER || kind == TG_TYPE_REFERENCE)
            size = 8;
        else if (stripped.die.addr == NULL)
            size = basics[stripped.basic].size_bytes;
        else if (kind == TG_TYPE_FUNCTION)
            size = 1;
        else if (dwarf_attr_integrate(&stripped.die, DW_AT_byte_size, &attribute) != NULL) {
            if (dwarf_formudata(&attribute, &size) != 0)
                return false;
        } else if (kind == TG_TYPE_ARRAY && constant_count(&stripped.die, &count)) {
            struct tg_type element;
            if ((count != 0 && total > INT64_MAX / count) || !tg_type_target(&stripped, &element))
                return false;
            total *= count;
            stripped = tg_type_strip(&element);
            continue;
        } else {
            return false;
        }
        if (size != 0 && total > INT64_MAX / size)
            return false;
        *size_bytes = total * size;
        return true;
    }
    return false;
}

static int language(const Dwarf_Die *die)
{
    Dwarf_Die copy = *die, unit;
    return dwarf_diecu(&copy, &unit, NULL, NULL) == NULL ? 0 : dwarf_srclang(&unit);
}

bool tg_type_is_fortran(const struct tg_type *type)
{
    if (type->die.addr == NULL)
        return false;
    int is = language(&type->die);
    return is == DW_LANG_Fortran77 || is == DW_LANG_Fortran90 || is == DW_LANG_Fortran95 ||
           is == DW_LANG_Fortran03 || is == DW_LANG_Fortran08;
}

static bool is_c(int language)
{
    return language == DW_LANG_C || language == DW_LANG_C89 || language == DW_LANG_C99 ||
           language == DW_LANG_C11;
}

bool tg_type_has_scopes(const struct tg_type *type)
{
    return type->die.addr != NULL && !is_c(language(&type->die));
}

static void print_left(const struct tg_type *type, FILE *out, unsigned depth);
static void print_right(const struct tg_type *type, FILE *out, unsigned depth);

/* "struct NAME" in C, NAME in other languages. */
static void print_tagged(Dwarf_Die *die, const char *word, FILE *out)
{
    const char *name = dwarf_diename(die);
    if (name == NULL) {
        fprintf(out, "%s {...}", word);
        return;
    }
    if (is_c(language(die)))
        fprintf(out, "%s ", word);
    tg_printable_write(out, name);
}

/* A pointer's star follows a blank, but not another star; in parentheses before [] and (). */
static void print_star(const struct tg_type *target, const char *star, FILE *out, unsigned depth)
{
    bool is_direct = target->pointers == 0 && target->die.addr != NULL;
    int tag = is_direct ? dwarf_tag((Dwarf_Die *)&target->die) : 0;
    bool is_pointer = target->pointers > 0 || tag == DW_TAG_pointer_type;
    bool wraps = tag == DW_TAG_array_type || tag == DW_TAG_subroutine_type || tag == DW_TAG_subprogram;
    print_left(target, out, depth);
    fprintf(out, "%s%s%s", is_pointer ? "" : " ", wraps ? "(" : "", star);
}

static void print_qualified(const struct tg_type *type, const char *word, FILE *out, unsigned depth)
{
    struct tg_type inner;
    if (!tg_type_of(type->object, (Dwarf_Die *)&type->die, &inner))
        return;
    if (inner.die.addr != NULL && dwarf_tag(&inner.die) == DW_TAG_pointer_type) {
        print_left(&inner, out, depth);
        fprintf(out, " %s", word);
    } else {
        fprintf(out, "%s ", word);
        print_left(&inner, out, depth);
    }
}

/* Types that lead to another one: a star, a qualifier, or nothing where the rest is on the right. False:
 * TAG is none of these. */
static bool print_derived(const struct tg_type *type, int tag, FILE *out, unsigned depth)
{
    static const struct {
        int tag;
        const char *star, *qualifier;
    } table[] = {
        {DW_TAG_pointer_type, "*", NULL},
        {DW_TAG_reference_type, "&", NULL},
        {DW_TAG_rvalue_reference_type, "&&", NULL},
        {DW_TAG_ptr_to_member_type, "::*", NULL},
        {DW_TAG_const_type, NULL, "const"},
        {DW_TAG_volatile_type, NULL, "volatile"},
        {DW_TAG_restrict_type, NULL, "restrict"},
        {DW_TAG_atomic_type, NULL, "_Atomic"},
        {DW_TAG_array_type, NULL, NULL},
        {DW_TAG_subroutine_type, NULL, NULL},
        {DW_TAG_subprogram, NULL, NULL},
    };
    Dwarf_Die die = type->die;
    struct tg_type target;
    size_t i = 0, n = sizeof table / sizeof *table;
    while (i < n && table[i].tag != tag)
        i++;
    if (i == n)
        return false;
    if (table[i].qualifier != NULL)
        print_qualified(type, table[i].qualifier, out, depth);
    else if (!tg_type_of(type->object, &die, &target))
        return true;
    else if (table[i].star != NULL)
        print_star(&target, table[i].star, out, depth);
    else
        print_left(&target, out, depth);
    return true;
}

static void print_left(const struct tg_type *type, FILE *out, unsigned depth)
{
    if (depth == MAX_NAME_DEPTH) {
        fputs("...", out);
        return;
    }
    if (type->pointers > 0) {
        struct tg_type target = *type;
        target.pointers--;
        print_star(&target, "*", out, depth + 1);
        return;
    }
    if (type->die.addr == NULL) {
        fputs(basics[type->basic].name, out);
        return;
    }
    Dwarf_Die die = type->die;
    int tag = dwarf_tag(&die);
    if (print_derived(type, tag, out, depth + 1))
        return;
    const char *name = dwarf_diename(&die);
    if (tag == DW_TAG_structure_type || tag == DW_TAG_union_type || tag == DW_TAG_enumeration_type)
        print_tagged(&die,
                     tag == DW_TAG_structure_type ? "struct"
                     : tag == DW_TAG_union_type   ? "union"
                                                  : "enum",
                     out);
    else if (tag == DW_TAG_string_type)
        fputs("character", out);
    else
        tg_printable_write(out, name == NULL ? "<unnamed type>" : name);
}

/* "[3][4]" of the constant bounds of an array; "[]" where they are not. */
static void print_bounds(Dwarf_Die *array, FILE *out)
{
    Dwarf_Die child;
    for (int more = dwarf_child(array, &child); more == 0; more = dwarf_siblingof(&child, &child)) {
        Dwarf_Attribute attribute;
        Dwarf_Word n;
        int64_t upper;
        if (dwarf_tag(&child) != DW_TAG_subrange_type)
            continue;
        if (dwarf_attr(&child, DW_AT_count, &attribute) != NULL && dwarf_formudata(&attribute, &n) == 0)
            fprintf(out, "[%" PRIu64 "]", n);
        else if (dwarf_attr(&child, DW_AT_upper_bound, &attribute) != NULL &&
                 tg_type_constant(&attribute, &upper))
            fprintf(out, "[%" PRIu64 "]", (uint64_t)upper + 1);
        else
            fputs("[]", out);
    }
}

static void print_parameters(const struct tg_type *function, FILE *out, unsigned depth)
{
    Dwarf_Die die = function->die, child;
    unsigned n = 0;
    fputc('(', out);
    for (int more = dwarf_child(&die, &child); more == 0; more = dwarf_siblingof(&child, &child)) {
        int tag = dwarf_tag(&child);
        struct tg_type type;
        if (tag != DW_TAG_formal_parameter && tag != DW_TAG_unspecified_parameters)
            continue;
        if (n++ > 0)
            fputs(", ", out);
        if (tag == DW_TAG_unspecified_parameters || n > MAX_PARAMETERS) {
            fputs("...", out);
            break;
        }
        if (tg_type_of(function->object, &child, &type)) {
            print_left(&type, out, depth);
            print_right(&type, out, depth);
        }
    }
    fputs(n == 0 ? "void)" : ")", out);
}

static void print_right(const struct tg_type *type, FILE *out, unsigned depth)
{
    struct tg_type target;
    if (depth == MAX_NAME_DEPTH)
        return;
    if (type->pointers > 0) {
        target = *type;
        target.pointers--;
    } else if (type->die.addr == NULL || !tg_type_of(type->object, (Dwarf_Die *)&type->die, &target)) {
        return;
    }
    int tag = type->pointers > 0 ? DW_TAG_pointer_type : dwarf_tag((Dwarf_Die *)&type->die);
    if (tag == DW_TAG_pointer_type || tag == DW_TAG_reference_type || tag == DW_TAG_rvalue_reference_type) {
        int of = target.pointers > 0 || target.die.addr == NULL ? 0 : dwarf_tag(&target.die);
        if (of == DW_TAG_array_type || of == DW_TAG_subroutine_type || of == DW_TAG_subprogram)
            fputc(')', out);
    } else if (tag == DW_TAG_array_type) {
        print_bounds((Dwarf_Die *)&type->die, out);
    } else if (tag == DW_TAG_subroutine_type || tag == DW_TAG_subprogram) {
        print_parameters(type, out, depth + 1);
    } else if (tag == DW_TAG_typedef || !is_wrapper(tag)) {
        return;
    }
    print_right(&target, out, depth + 1);
}

void tg_type_print(const struct tg_type *type, FILE *out)
{
    print_left(type, out, 0);
    struct tg_type array = *type;
    int tag = array.pointers > 0 || array.die.addr == NULL ? 0 : dwarf_tag(&array.die);
    if (tag == DW_TAG_array_type || tag == DW_TAG_subroutine_type || tag == DW_TAG_subprogram)
        fputc(' ', out);
    print_right(type, out, 0);
}
