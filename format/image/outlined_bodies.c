#include "format/image/outlined_bodies.h"

#include "format/base/hash.h"
#include "format/image/mangled_name.h"

#include <dwarf.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_SCOPES = 256, MAX_LOOKED_AT = 1024 };

static const char beginning[] = ".omp";

struct answer {
    const void *body; /* address of its DIE */
    UT_hash_handle hh;
    struct tg_outlined_owner owner;
};

struct tg_outlined_bodies {
    struct answer *answers;
};

struct tg_outlined_bodies *tg_outlined_bodies_create(void)
{
    return calloc(1, sizeof(struct tg_outlined_bodies));
}

void tg_outlined_bodies_destroy(struct tg_outlined_bodies *bodies)
{
    struct answer *answer, *next;
    if (bodies == NULL)
        return;
    HASH_ITER (hh, bodies->answers, answer, next) {
        HASH_DEL(bodies->answers, answer);
        free(answer);
    }
    free(bodies);
}

bool tg_outlined_bodies_is_name(const char *name)
{
    return name != NULL && strncmp(name, beginning, strlen(beginning)) == 0;
}

/* The innermost function at ADDRESS, with its name. */
static bool innermost_at(struct tg_debug_units *units, uint64_t address, Dwarf_Die *function,
                         const char **name)
{
    Dwarf_Die scopes[MAX_SCOPES];
    size_t count = tg_debug_units_scopes_at(units, address, scopes, MAX_SCOPES);
    for (size_t i = 0; i < count; i++)
        if (dwarf_tag(&scopes[i]) == DW_TAG_inlined_subroutine ||
            dwarf_tag(&scopes[i]) == DW_TAG_subprogram) {
            *function = scopes[i];
            *name = tg_debug_units_function_name(&scopes[i]);
            return *name != NULL;
        }
    return false;
}

/* Where FUNCTION is declared: the file, as debug information names it, and the line. */
static const char *declaration_of(Dwarf_Die *function, int *line)
{
    Dwarf_Attribute attribute;
    Dwarf_Word at;
    if (dwarf_attr_integrate(function, DW_AT_decl_line, &attribute) == NULL ||
        dwarf_formudata(&attribute, &at) != 0 || at > INT_MAX)
        return NULL;
    *line = (int)at;
    return tg_debug_units_declaring_file(function);
}

static const char *symbol_of(Dwarf_Die *function)
{
    Dwarf_Attribute attribute;
    return dwarf_attr_integrate(function, DW_AT_linkage_name, &attribute) == NULL
               ? NULL
               : dwarf_formstring(&attribute);
}

/* Whether FUNCTION is within another one: a lambda's, or that of a class in a function. */
static bool is_local(Dwarf_Die *function)
{
    const char *symbol = symbol_of(function);
    return symbol != NULL && strncmp(symbol, "_ZZ", 3) == 0;
}

static bool has_code_in(struct tg_debug_units *units, Dwarf_Die *function, const struct tg_debug_row *rows,
                        size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (tg_debug_units_has_code(units, function, rows[i].start))
            return true;
    return false;
}

struct search {
    struct tg_debug_units *units;
    int line;                  /* of the body */
    struct tg_debug_row *rows; /* of its file, the last lines first */
    size_t count, n_behind;    /* of them behind the body's line, or at it: see has_code_in() */
    const void *ended;         /* DIE of a local function that ends in front of the body */
    const void *body;          /* DIE of what has the last row of another body */
    int body_line;
    int found_line; /* of the owner's last code; 0: none yet */
    bool are_several;
    struct tg_outlined_owner owner;
};

/* Whether people write both symbols alike, as those of instances of a template may be. Without memory they are not. */
static bool are_alike(const char *a, const char *b)
{
    if (a == NULL || b == NULL || strcmp(a, b) == 0)
        return a != NULL && b != NULL;
    char *a_words = tg_mangled_name_words(a), *b_words = tg_mangled_name_words(b);
    bool are = a_words != NULL && b_words != NULL && strcmp(a_words, b_words) == 0;
    free(a_words);
    free(b_words);
    return are;
}

/* FUNCTION is an owner; others at the same line are taken before. */
static void take(struct search *search, Dwarf_Die *function, const char *name, int line)
{
    const char *symbol = symbol_of(function);
    struct tg_outlined_owner *owner = &search->owner;
    search->are_several |= owner->name != NULL && strcmp(owner->name, name) != 0;
    owner->symbol = owner->name == NULL || are_alike(owner->symbol, symbol) ? symbol : NULL;
    owner->name = name;
    search->found_line = line;
}

/* False: enough have been looked at, in vain. */
static bool look_at(struct search *search, const struct tg_debug_row *row, int *n_looked_at)
{
    Dwarf_Die function;
    const char *name;
    if (!tg_debug_units_function_at(search->units, row->start, &function) ||
        (function.addr == search->body && row->line == search->body_line))
        return true; /* a line has several rows, and to look at one takes time */
    const void *outer = function.addr;
    if ((*n_looked_at)++ == MAX_LOOKED_AT)
        return false;
    if (!innermost_at(search->units, row->start, &function, &name) || function.addr == search->ended)
        return true;
    if (tg_outlined_bodies_is_name(name)) {
        search->body = outer;
        search->body_line = row->line;
    } else if (row->line < search->line && is_local(&function) &&
               !has_code_in(search->units, &function, search->rows, search->n_behind)) {
        search->ended = function.addr;
    } else {
        take(search, &function, name, row->line);
    }
    return true;
}

static struct tg_outlined_owner find_owner(struct tg_debug_units *units, Dwarf_Die *body, uint64_t address)
{
    struct search search = {.units = units};
    int n_looked_at = 0;
    bool is_complete = true;
    const char *file = declaration_of(body, &search.line);
    if (file != NULL)
        search.count = tg_debug_units_rows_of(units, address, file, &search.rows);
    while (search.n_behind < search.count && search.rows[search.n_behind].line > search.line)
        search.n_behind++;
    for (size_t i = search.n_behind; is_complete && i < search.count; i++) {
        if (search.found_line != 0 && search.rows[i].line != search.found_line)
            break;
        is_complete = look_at(&search, &search.rows[i], &n_looked_at);
    }
    free(search.rows);
    return is_complete && !search.are_several ? search.owner : (struct tg_outlined_owner){0};
}

struct tg_outlined_owner tg_outlined_bodies_find(struct tg_outlined_bodies *bodies,
                                                 struct tg_debug_units *units, Dwarf_Die *body,
                                                 uint64_t address)
{
    struct answer *answer = NULL;
    const void *key = body->addr;
    HASH_FIND_PTR(bodies->answers, &key, answer);
    if (answer != NULL)
        return answer->owner;
    const struct tg_outlined_owner owner = find_owner(units, body, address);
    answer = calloc(1, sizeof *answer);
    if (answer != NULL) {
        *answer = (struct answer){.body = key, .owner = owner};
        if (TG_HASH_ADD(hh, bodies->answers, body, answer) != NULL) /* no memory: it is looked for again */
            free(answer);
    }
    return owner;
}

struct tg_outlined_owner tg_outlined_bodies_at(struct tg_outlined_bodies *bodies,
                                               struct tg_debug_units *units, uint64_t address)
{
    Dwarf_Die function;
    const char *name;
    return innermost_at(units, address, &function, &name) && tg_outlined_bodies_is_name(name)
               ? tg_outlined_bodies_find(bodies, units, &function, address)
               : (struct tg_outlined_owner){0};
}
