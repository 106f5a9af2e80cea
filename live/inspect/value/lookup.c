#include "live/inspect/value/lookup.h"

#include "format/image/debug_units.h"
#include "live/inspect/value/type.h"

#include <ctype.h>
#include <dwarf.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    MAX_LOCALS = 100000, /* DIEs of blocks that are looked through */
    MAX_COMPARED = 300000,
    MAX_SIMILAR = 3,
    MAX_NAME = 64, /* longer names are not compared */
    MAX_BASES = 24,
    MAX_LAYERS = 16, /* of a type */
    MAX_SCOPES = 24,
    MAX_QUALIFIED = 1024, /* bytes of a name with its scopes */
};

static bool is_variable(int tag)
{
    return tag == DW_TAG_variable || tag == DW_TAG_formal_parameter || tag == DW_TAG_constant;
}

static bool is_wanted(int tag, enum tg_wanted wanted)
{
    bool is_struct = tag == DW_TAG_structure_type || tag == DW_TAG_class_type || tag == DW_TAG_union_type ||
                     tag == DW_TAG_enumeration_type;
    switch (wanted) {
    case TG_WANTED_VALUE:
        return is_variable(tag) || tag == DW_TAG_enumerator;
    case TG_WANTED_TYPE:
        return tag == DW_TAG_typedef || tag == DW_TAG_base_type;
    case TG_WANTED_STRUCT:
        return is_struct;
    }
    return false;
}

/* The children of BLOCK: NAME as what is WANTED. Of several the last one that is not artificial (a region's
 * parameters). */
static bool find_in_block(Dwarf_Die *block, const char *name, enum tg_wanted wanted, Dwarf_Die *found)
{
    Dwarf_Die child, inner;
    bool any = false, any_natural = false;
    unsigned seen = 0;
    for (int more = dwarf_child(block, &child); more == 0 && ++seen < MAX_LOCALS;
         more = dwarf_siblingof(&child, &child)) {
        int tag = dwarf_tag(&child);
        if (tag == DW_TAG_enumeration_type && wanted == TG_WANTED_VALUE &&
            find_in_block(&child, name, wanted, &inner)) {
            *found = child;
            return true;
        }
        if (tag == DW_TAG_common_block && wanted == TG_WANTED_VALUE &&
            find_in_block(&child, name, wanted, &inner)) {
            *found = inner;
            return true;
        }
        const char *is = is_wanted(tag, wanted) ? dwarf_diename(&child) : NULL;
        if (is == NULL || strcmp(is, name) != 0 || dwarf_hasattr(&child, DW_AT_declaration))
            continue;
        bool is_natural = !dwarf_hasattr(&child, DW_AT_artificial);
        if (!any || is_natural || !any_natural)
            *found = child;
        any = true;
        any_natural = any_natural || is_natural;
    }
    return any;
}

/* Variables that a compiler has removed from a block are still told by the block's origin. */
static bool find_in_origin(Dwarf_Die *block, const char *name, enum tg_wanted wanted, Dwarf_Die *found)
{
    Dwarf_Attribute attribute;
    Dwarf_Die origin;
    return dwarf_attr(block, DW_AT_abstract_origin, &attribute) != NULL &&
           dwarf_formref_die(&attribute, &origin) != NULL && find_in_block(&origin, name, wanted, found);
}

/* The blocks of the frame asked about: without those of copies that are inlined further in. */
static size_t frame_scopes(const struct tg_scene *scene, const struct tg_scene_object **object,
                           Dwarf_Die scopes[TG_SCENE_MAX_SCOPES], size_t *end)
{
    size_t n = tg_scene_scopes(scene, scene->frame, object, scopes), first = 0;
    for (unsigned left = scene->inlined; left > 0 && first < n;)
        left -= dwarf_tag(&scopes[first++]) == DW_TAG_inlined_subroutine;
    *end = n;
    for (size_t i = first; i < n; i++) { /* the caller's of an inlined copy are another frame's */
        if (dwarf_tag(&scopes[i]) == DW_TAG_inlined_subroutine ||
            dwarf_tag(&scopes[i]) == DW_TAG_subprogram) {
            *end = i + 1;
            break;
        }
    }
    return first;
}

/* Whether TYPE, a struct, has a member NAME, also in its base classes. */
static bool has_member(const struct tg_type *type, const char *name, unsigned depth)
{
    struct tg_type of = tg_type_strip(type), base;
    Dwarf_Die member;
    unsigned seen = 0;
    if (depth == MAX_BASES || tg_type_kind(&of) != TG_TYPE_STRUCT)
        return false;
    for (int more = dwarf_child(&of.die, &member); more == 0 && ++seen < MAX_LOCALS;
         more = dwarf_siblingof(&member, &member)) {
        int tag = dwarf_tag(&member);
        const char *is = tag == DW_TAG_member ? dwarf_diename(&member) : NULL;
        if ((is != NULL && strcmp(is, name) == 0 && !dwarf_hasattr(&member, DW_AT_external)) ||
            (tag == DW_TAG_inheritance && tg_type_of(of.object, &member, &base) &&
             has_member(&base, name, depth + 1)))
            return true;
    }
    return false;
}

/* The parameter that points to a struct whose member NAME is: what a region shares (it may have no name), or
 * the object that a member function is of. */
static bool find_shared(Dwarf_Die *function, const struct tg_scene_object *object, const char *name,
                        Dwarf_Die *parameter)
{
    const char *called = dwarf_diename(function);
    bool is_region = called != NULL && strstr(called, "_omp_fn") != NULL;
    Dwarf_Die child;
    if (dwarf_child(function, &child) != 0)
        return false;
    do {
        struct tg_type type, target;
        const char *is = dwarf_tag(&child) == DW_TAG_formal_parameter ? dwarf_diename(&child) : "";
        if ((is_region ? is != NULL && *is == '\0' : is == NULL || strcmp(is, "this") != 0) ||
            !tg_type_of(object, &child, &type) || !tg_type_target(&type, &target) ||
            !has_member(&target, name, 0))
            continue;
        *parameter = child;
        return true;
    } while (dwarf_siblingof(&child, &child) == 0);
    return false;
}

static bool find_local(const struct tg_scene *scene, const char *name, enum tg_wanted wanted,
                       struct tg_found *found)
{
    Dwarf_Die scopes[TG_SCENE_MAX_SCOPES], die;
    size_t end, first = frame_scopes(scene, &found->object, scopes, &end);
    for (size_t i = first; i < end; i++) {
        if (!find_in_block(&scopes[i], name, wanted, &die) && !find_in_origin(&scopes[i], name, wanted, &die))
            continue;
        int tag = dwarf_tag(&die);
        found->is = TG_FOUND_NAME;
        found->kind = wanted == TG_WANTED_VALUE && tag == DW_TAG_enumeration_type ? TG_NAME_ENUMERATOR
                      : wanted == TG_WANTED_VALUE                                 ? TG_NAME_VARIABLE
                      : wanted == TG_WANTED_TYPE                                  ? TG_NAME_TYPE
                                                                                  : TG_NAME_STRUCT;
        found->die = die;
        return true;
    }
    if (wanted == TG_WANTED_VALUE && end > 0 &&
        find_shared(&scopes[end - 1], found->object, name, &found->die)) {
        found->is = TG_FOUND_SHARED;
        return true;
    }
    return false;
}

/* Addresses of DIEs that are the origins of a block's own. Free PLACES. */
struct origins {
    const void **places; /* sorted */
    size_t n, capacity;
};

static int compare_places(const void *a, const void *b)
{
    uintptr_t place = (uintptr_t) * (const void *const *)a, other = (uintptr_t) * (const void *const *)b;
    return place < other ? -1 : place > other;
}

static bool add_origin(struct origins *origins, const void *place)
{
    if (origins->n == origins->capacity) {
        size_t capacity = 2 * origins->capacity + 64;
        const void **places = realloc(origins->places, capacity * sizeof *places);
        if (places == NULL)
            return false;
        origins->places = places;
        origins->capacity = capacity;
    }
    origins->places[origins->n++] = place;
    return true;
}

/* Variables of which BLOCK has its own word. False: there are too many. *SEEN counts DIEs. */
static bool find_own(Dwarf_Die *block, unsigned *seen, struct origins *own)
{
    Dwarf_Die child, origin;
    Dwarf_Attribute attribute;
    for (int more = dwarf_child(block, &child); more == 0; more = dwarf_siblingof(&child, &child)) {
        if (++*seen >= MAX_LOCALS)
            return false;
        if (dwarf_attr(&child, DW_AT_abstract_origin, &attribute) != NULL &&
            dwarf_formref_die(&attribute, &origin) != NULL && !add_origin(own, origin.addr))
            return false;
    }
    if (own->n > 0)
        qsort(own->places, own->n, sizeof *own->places, compare_places);
    return true;
}

static bool has_own(const struct origins *own, const Dwarf_Die *variable)
{
    const void *place = variable->addr;
    return own->n > 0 && bsearch(&place, own->places, own->n, sizeof place, compare_places) != NULL;
}

/* The variables of BLOCK's origin that are where they are in every copy: static ones, and constants. False: enough. *SEEN counts
 * DIEs. */
static bool each_common(Dwarf_Die *block, const struct tg_scene_object *object, unsigned *seen,
                        bool (*take)(void *context, const struct tg_scene_object *object, Dwarf_Die *die),
                        void *context)
{
    Dwarf_Attribute attribute;
    Dwarf_Die origin, child;
    struct origins own = {0};
    bool do_more = true;
    if (dwarf_attr(block, DW_AT_abstract_origin, &attribute) == NULL ||
        dwarf_formref_die(&attribute, &origin) == NULL)
        return true;
    if (find_own(block, seen, &own))
        for (int more = dwarf_child(&origin, &child); more == 0 && do_more && ++*seen < MAX_LOCALS;
             more = dwarf_siblingof(&child, &child))
            if (dwarf_tag(&child) == DW_TAG_variable &&
                (dwarf_hasattr(&child, DW_AT_location) || dwarf_hasattr(&child, DW_AT_const_value)) &&
                !has_own(&own, &child))
                do_more = take(context, object, &child);
    free(own.places);
    return do_more;
}

void tg_lookup_each_local(const struct tg_scene *scene,
                          bool (*take)(void *context, const struct tg_scene_object *object, Dwarf_Die *die),
                          void *context)
{
    const struct tg_scene_object *object;
    Dwarf_Die scopes[TG_SCENE_MAX_SCOPES], child;
    size_t end, first = frame_scopes(scene, &object, scopes, &end);
    unsigned seen = 0;
    for (size_t i = first; i < end; i++) {
        for (int more = dwarf_child(&scopes[i], &child); more == 0 && ++seen < MAX_LOCALS;
             more = dwarf_siblingof(&child, &child))
            if (is_variable(dwarf_tag(&child)) && !take(context, object, &child))
                return;
        if (!each_common(&scopes[i], object, &seen, take, context))
            return;
    }
}

static bool matches(enum tg_name_kind kind, enum tg_wanted wanted)
{
    switch (wanted) {
    case TG_WANTED_VALUE:
        return kind == TG_NAME_VARIABLE || kind == TG_NAME_FUNCTION || kind == TG_NAME_ENUMERATOR;
    case TG_WANTED_TYPE:
        return kind == TG_NAME_TYPE || kind == TG_NAME_STRUCT;
    case TG_WANTED_STRUCT:
        return kind == TG_NAME_STRUCT;
    }
    return false;
}

static bool is_suffix(const char *path, const char *end)
{
    size_t length = path == NULL ? 0 : strlen(path), n = strlen(end);
    return length >= n && n > 0 && strcmp(path + length - n, end) == 0 &&
           (length == n || path[length - n - 1] == '/');
}

static bool is_of_file(Dwarf_Die *die, const char *file)
{
    Dwarf_Die unit;
    return is_suffix(tg_debug_units_declaring_file(die), file) ||
           (dwarf_diecu(die, &unit, NULL, NULL) != NULL && is_suffix(dwarf_diename(&unit), file));
}

/* How good a definition is: of the frame's unit, external, static elsewhere. */
enum rank {
    RANK_NONE,
    RANK_REMOVED, /* a variable that is nowhere */
    RANK_STATIC,
    RANK_EXTERNAL,
    RANK_HERE_EXTERNAL, /* in the frame's object */
    RANK_UNIT,
};

struct search {
    const char *file, *name;
    enum tg_wanted wanted;
    const struct tg_scene_object *here; /* the frame's object, NULL none */
    const void *unit;                   /* address of the DIE of the frame's, NULL none */
    enum rank best;
    unsigned n_best;
    Dwarf_Die second; /* another one, as good */
};

static enum rank rank_of(const struct search *search, const struct tg_scene_object *object, Dwarf_Die *die,
                         enum tg_name_kind kind)
{
    Dwarf_Die unit;
    Dwarf_Attribute attribute;
    bool external = false;
    if (kind == TG_NAME_VARIABLE && !dwarf_hasattr_integrate(die, DW_AT_location) &&
        !dwarf_hasattr_integrate(die, DW_AT_const_value))
        return RANK_REMOVED;
    if (search->unit != NULL && object == search->here && dwarf_diecu(die, &unit, NULL, NULL) != NULL &&
        unit.addr == search->unit)
        return RANK_UNIT;
    if (kind != TG_NAME_VARIABLE && kind != TG_NAME_FUNCTION)
        return object == search->here ? RANK_HERE_EXTERNAL : RANK_EXTERNAL;
    if (dwarf_attr_integrate(die, DW_AT_external, &attribute) != NULL)
        (void)dwarf_formflag(&attribute, &external);
    return !external ? RANK_STATIC : object == search->here ? RANK_HERE_EXTERNAL : RANK_EXTERNAL;
}

static bool is_constant(Dwarf_Die *die)
{
    Dwarf_Attribute attribute;
    Dwarf_Die type = *die;
    for (unsigned i = 0; i < MAX_LAYERS; i++) { /* an array of constants is one too */
        if (dwarf_attr_integrate(&type, DW_AT_type, &attribute) == NULL ||
            dwarf_formref_die(&attribute, &type) == NULL)
            return false;
        int tag = dwarf_tag(&type);
        if (tag != DW_TAG_array_type && tag != DW_TAG_volatile_type && tag != DW_TAG_typedef)
            return tag == DW_TAG_const_type;
    }
    return false;
}

static bool is_same_text(const char *a, const char *b)
{
    return a != NULL && b != NULL && strcmp(a, b) == 0;
}

/* Whether both come from one declaration, in a header: of functions and constants any copy will do, while
 * each unit has its own variable. */
static bool is_copy(Dwarf_Die *a, Dwarf_Die *b, enum tg_name_kind kind)
{
    int a_line, b_line;
    return is_same_text(tg_debug_units_declaring_file(a), tg_debug_units_declaring_file(b)) &&
           dwarf_decl_line(a, &a_line) == 0 && dwarf_decl_line(b, &b_line) == 0 && a_line == b_line &&
           (kind != TG_NAME_VARIABLE || is_constant(a));
}

static void search_object(struct search *search, const struct tg_scene_object *object, struct tg_found *found)
{
    size_t at = 0;
    enum tg_name_kind kind;
    Dwarf_Die die;
    while (tg_name_index_next(object->names, search->name, &at, &kind, &die)) {
        if (!matches(kind, search->wanted) || (search->file != NULL && !is_of_file(&die, search->file)))
            continue;
        enum rank rank = rank_of(search, object, &die, kind);
        /* a typedef is the same as a struct of that name; the first of types and externals counts */
        if (rank == search->best && rank == RANK_STATIC && !is_copy(&found->die, &die, kind)) {
            search->second = die;
            search->n_best++;
        }
        if (rank <= search->best)
            continue;
        search->best = rank;
        search->n_best = 1;
        *found = (struct tg_found){.is = TG_FOUND_NAME, .kind = kind, .object = object, .die = die};
    }
}

static bool find_global(const struct tg_scene *scene, struct search *search, struct tg_found *found)
{
    Dwarf_Die unit;
    if (scene->frame != NULL) {
        uint64_t place = tg_frame_place(scene->frame);
        search->here = tg_scene_object_at(scene, place);
        if (search->here != NULL && search->here->dwarf != NULL && scene->ops->unit_at != NULL &&
            scene->ops->unit_at(scene->context, search->here, place, &unit)) {
            search->unit = unit.addr;
        }
    }
    if (search->here != NULL && search->here->names != NULL)
        search_object(search, search->here, found);
    const struct tg_scene_object *object;
    for (size_t i = 0; search->best < RANK_EXTERNAL && (object = tg_scene_object(scene, i)) != NULL; i++)
        if (object != search->here && object->names != NULL)
            search_object(search, object, found);
    return search->best != RANK_NONE;
}

/* The declaration of the function that the frame asked about is in; *OBJECT: its object. False: there is none. */
static bool find_function(const struct tg_scene *scene, const struct tg_scene_object **object,
                          Dwarf_Die *function)
{
    Dwarf_Die scopes[TG_SCENE_MAX_SCOPES];
    Dwarf_Attribute attribute;
    size_t end;
    (void)frame_scopes(scene, object, scopes, &end);
    if (end == 0)
        return false;
    *function = scopes[end - 1];
    for (unsigned i = 0; i < MAX_LAYERS; i++)
        if ((dwarf_attr(function, DW_AT_abstract_origin, &attribute) == NULL &&
             dwarf_attr(function, DW_AT_specification, &attribute) == NULL) ||
            dwarf_formref_die(&attribute, function) == NULL)
            break;
    return true;
}

/* The same as find_global(), of the name in the classes, namespaces or the module around the frame's function,
 * innermost first. */
static bool find_around(const struct tg_scene *scene, struct search *search, struct tg_found *found)
{
    const struct tg_scene_object *object;
    const char *name = search->name, *around[MAX_SCOPES];
    char qualified[MAX_QUALIFIED];
    Dwarf_Die function, *scopes = NULL;
    size_t n_around = 0;
    bool is_found = false;
    if (!find_function(scene, &object, &function))
        return false;
    struct tg_type type = tg_type_of_die(object, &function);
    if (!tg_type_has_scopes(&type))
        return false;
    int n = dwarf_getscopes_die(&function, &scopes);
    for (int i = 1; i < n && n_around < MAX_SCOPES; i++) {
        int tag = dwarf_tag(&scopes[i]);
        bool is_scope = tag == DW_TAG_namespace || tag == DW_TAG_module || tag == DW_TAG_class_type ||
                        tag == DW_TAG_structure_type || tag == DW_TAG_union_type;
        if (is_scope && dwarf_diename(&scopes[i]) != NULL)
            around[n_around++] = dwarf_diename(&scopes[i]);
    }
    for (size_t first = 0; first < n_around && !is_found; first++) {
        size_t length = 0;
        for (size_t i = n_around; i-- > first && length < sizeof qualified;)
            length += (size_t)snprintf(qualified + length, sizeof qualified - length, "%s::", around[i]);
        if (length < sizeof qualified && (size_t)snprintf(qualified + length, sizeof qualified - length, "%s",
                                                          name) < sizeof qualified - length) {
            search->name = qualified;
            is_found = find_global(scene, search, found);
        }
    }
    free(scopes);
    search->name = name;
    return is_found;
}

struct similar {
    const char *names[MAX_SIMILAR];
    unsigned distances[MAX_SIMILAR];
    unsigned n, n_local; /* locals are first */
    const char *wanted;
    unsigned limit;
};

/* How many characters must be changed, put in or left out (Levenshtein); more than LIMIT is not told
 * exactly. */
static unsigned distance(const char *a, const char *b, unsigned limit)
{
    size_t n = strnlen(a, MAX_NAME), m = strnlen(b, MAX_NAME);
    unsigned row[MAX_NAME + 1];
    if (n >= MAX_NAME || m >= MAX_NAME || (n > m ? n - m : m - n) > limit)
        return limit + 1;
    for (size_t j = 0; j <= m; j++)
        row[j] = (unsigned)j;
    for (size_t i = 1; i <= n; i++) {
        unsigned diagonal = row[0];
        row[0] = (unsigned)i;
        for (size_t j = 1; j <= m; j++) {
            unsigned above = row[j], best = diagonal + (a[i - 1] != b[j - 1]);
            best = above + 1 < best ? above + 1 : best;
            row[j] = row[j - 1] + 1 < best ? row[j - 1] + 1 : best;
            diagonal = above;
        }
    }
    return row[m];
}

/* Of variables of the whole job the order does not depend on which library came first. */
static bool is_behind(const struct similar *similar, unsigned i, unsigned far, const char *name)
{
    if (similar->distances[i] != far)
        return similar->distances[i] > far;
    return i >= similar->n_local && strcmp(similar->names[i], name) > 0;
}

static void compare_name(struct similar *similar, const char *name)
{
    if (name == NULL)
        return;
    unsigned far = distance(similar->wanted, name, similar->limit);
    if (far > similar->limit)
        return;
    for (unsigned i = 0; i < similar->n; i++)
        if (strcmp(similar->names[i], name) == 0)
            return;
    unsigned at = similar->n;
    while (at > 0 && is_behind(similar, at - 1, far, name))
        at--;
    if (at == MAX_SIMILAR)
        return;
    unsigned last = similar->n < MAX_SIMILAR ? similar->n : MAX_SIMILAR - 1;
    for (unsigned i = last; i > at; i--) {
        similar->names[i] = similar->names[i - 1];
        similar->distances[i] = similar->distances[i - 1];
    }
    similar->names[at] = name;
    similar->distances[at] = far;
    similar->n = last + 1;
}

static bool compare_local(void *context, const struct tg_scene_object *object, Dwarf_Die *die)
{
    (void)object;
    compare_name(context, dwarf_diename(die));
    return true;
}

static struct tg_error *not_found(const struct tg_scene *scene, const struct search *search)
{
    struct similar similar = {.wanted = search->name};
    size_t length_wanted = strlen(search->name);
    /* of two letters everything is similar to something */
    similar.limit = length_wanted < 3 ? 0 : length_wanted < 6 ? 1 : length_wanted < 9 ? 2 : 3;
    tg_lookup_each_local(scene, compare_local, &similar);
    similar.n_local = similar.n;
    const struct tg_scene_object *object;
    size_t compared = 0;
    for (size_t i = 0; (object = tg_scene_object(scene, i)) != NULL; i++)
        for (size_t k = 0; object->names != NULL && k < tg_name_index_count(object->names); k++)
            if (compared++ < MAX_COMPARED)
                compare_name(&similar, tg_name_index_at(object->names, k));
    char names[4 * MAX_NAME] = "";
    size_t length = 0;
    for (unsigned i = 0; i < similar.n && length < sizeof names; i++)
        length += (size_t)snprintf(names + length, sizeof names - length, "%s%s",
                                   i == 0              ? "; similar: "
                                   : i + 1 < similar.n ? ", "
                                                       : " and ",
                                   similar.names[i]);
    const char *what = search->wanted == TG_WANTED_VALUE  ? "variable or function"
                       : search->wanted == TG_WANTED_TYPE ? "type"
                                                          : "struct, union, enum or class";
    if (search->file != NULL)
        return tg_error_create(TG_ERROR_NOT_FOUND, "no %s '%s' in file '%s'%s", what, search->name,
                               search->file, names);
    return tg_error_create(TG_ERROR_NOT_FOUND, "no %s '%s' here%s", what, search->name, names);
}

static const char *base_of(const char *file)
{
    const char *slash = file == NULL ? NULL : strrchr(file, '/');
    return file == NULL ? "?" : slash == NULL ? file : slash + 1;
}

static const char *unit_of(Dwarf_Die *die)
{
    Dwarf_Die unit;
    return base_of(dwarf_diecu(die, &unit, NULL, NULL) == NULL ? NULL : dwarf_diename(&unit));
}

/* Duplicates are told apart by the file of their declaration; where that is one header, by the file that is
 * compiled; by more of the paths where those are called the same. */
static struct tg_error *ambiguous(const char *name, Dwarf_Die *first, Dwarf_Die *second)
{
    const char *files[] = {base_of(tg_debug_units_declaring_file(first)),
                           base_of(tg_debug_units_declaring_file(second))};
    if (strcmp(files[0], files[1]) == 0) {
        files[0] = unit_of(first);
        files[1] = unit_of(second);
    }
    if (strcmp(files[0], files[1]) == 0 && tg_debug_units_declaring_file(first) != NULL &&
        tg_debug_units_declaring_file(second) != NULL) {
        files[0] = tg_debug_units_declaring_file(first);
        files[1] = tg_debug_units_declaring_file(second);
    }
    if (strcmp(files[0], files[1]) == 0)
        return tg_error_create(TG_ERROR_USAGE, "'%s' is ambiguous, all in '%s': write '%s'::%s for the first",
                               name, files[0], files[0], name);
    return tg_error_create(TG_ERROR_USAGE, "several files have a '%s': write '%s'::%s or '%s'::%s", name,
                           files[0], name, files[1], name);
}

/* The same as tg_lookup(), of the name as it is. */
static struct tg_error *look_up(const struct tg_scene *scene, const char *file, const char *name,
                                enum tg_wanted wanted, struct tg_found *found)
{
    struct search search = {.file = file, .name = name, .wanted = wanted};
    struct tg_found best = {0};
    bool is_qualified = strstr(name, "::") != NULL;
    if (file == NULL && !is_qualified && find_local(scene, name, wanted, &best)) {
        *found = best;
        return NULL;
    }
    if ((file == NULL && find_around(scene, &search, &best)) || find_global(scene, &search, &best)) {
        if (search.n_best > 1 && file == NULL)
            return ambiguous(name, &best.die, &search.second);
        *found = best;
        return NULL;
    }
    best = (struct tg_found){.is = TG_FOUND_SYMBOL};
    if (file == NULL && wanted == TG_WANTED_VALUE && scene->ops->symbol_named != NULL &&
        scene->ops->symbol_named(scene->context, name, &best.address, &best.size_bytes)) {
        *found = best;
        return NULL;
    }
    return not_found(scene, &search);
}

bool tg_lookup_is_fortran(const struct tg_scene *scene)
{
    Dwarf_Die unit;
    uint64_t place = scene->frame == NULL ? 0 : tg_frame_place(scene->frame);
    const struct tg_scene_object *object = place == 0 ? NULL : tg_scene_object_at(scene, place);
    if (object == NULL || object->dwarf == NULL || scene->ops->unit_at == NULL ||
        !scene->ops->unit_at(scene->context, object, place, &unit))
        return false;
    return tg_type_is_fortran(&(struct tg_type){.object = object, .die = unit});
}

/* The same as tg_lookup(), of a name in which small and large letters are the same. */
static struct tg_error *look_up_folded(const struct tg_scene *scene, const char *file, const char *name,
                                       enum tg_wanted wanted, struct tg_found *found)
{
    char lower[MAX_QUALIFIED];
    size_t n = 0;
    if (strlen(name) >= sizeof lower)
        return tg_error_create(TG_ERROR_NOT_FOUND, "no such name");
    do /* as compilers of Fortran write names */
        lower[n] = (char)tolower((unsigned char)name[n]);
    while (name[n++] != '\0');
    return look_up(scene, file, lower, wanted, found);
}

struct tg_error *tg_lookup(const struct tg_scene *scene, const char *file, const char *name,
                           enum tg_wanted wanted, struct tg_found *found)
{
    struct tg_found best;
    bool has_capitals = name[strcspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZ")] != '\0';
    if (has_capitals && tg_lookup_is_fortran(scene)) { /* another language's of this spelling is not meant */
        struct tg_error *folded = look_up_folded(scene, file, name, wanted, found);
        if (folded == NULL)
            return NULL;
        tg_error_destroy(folded);
    }
    struct tg_error *error = look_up(scene, file, name, wanted, found);
    if (error == NULL || tg_error_code(error) != TG_ERROR_NOT_FOUND || !has_capitals)
        return error;
    struct tg_error *second = look_up_folded(scene, file, name, wanted, &best);
    bool is_found = second == NULL && best.is != TG_FOUND_SYMBOL;
    tg_error_destroy(second);
    const struct tg_type type = is_found ? tg_type_of_die(best.object, &best.die) : (struct tg_type){0};
    if (!is_found || !tg_type_is_fortran(&type))
        return error;
    tg_error_destroy(error);
    *found = best;
    return NULL;
}

bool tg_lookup_has_type(const struct tg_scene *scene, const char *name)
{
    struct tg_found found = {0};
    struct search search = {.name = name, .wanted = TG_WANTED_TYPE};
    return find_local(scene, name, TG_WANTED_TYPE, &found) || find_global(scene, &search, &found);
}

bool tg_lookup_definition(const struct tg_scene *scene, const char *name, struct tg_found *found)
{
    struct search search = {.name = name, .wanted = TG_WANTED_STRUCT};
    return find_global(scene, &search, found);
}
