#include "format/image/outlined_bodies.h"

#include "format/base/hash.h"
#include "format/base/search.h"
#include "format/image/mangled_name.h"

#include <dwarf.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

enum {
    MAX_SCOPES = 256,
    MAX_LOOKED_AT = 1024,
    MAX_STEPS = 1 << 20,         /* of one search, as tg_debug_units_steps() counts them */
    MAX_STEPS_OF_ALL = 64 << 20, /* of one object's: seconds */
};

/* What the names of bodies have in them: alone (clang 14: .omp_outlined.), or behind the symbol of the function that they are
 * written in (since clang 16: _ZN4mesh5solveEi.omp_outlined; Fortran: solve_..omp_par). */
static const char mark[] = ".omp";

struct answer {
    const void *body; /* address of its DIE */
    UT_hash_handle hh;
    struct tg_outlined_owner owner;
    char *named; /* what the name of the body says of its owner, NULL nothing */
};

struct tg_outlined_bodies {
    struct answer *answers;
    uint64_t n_steps; /* of all that was looked for */
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
        free(answer->named);
        free(answer);
    }
    free(bodies);
}

bool tg_outlined_bodies_is_name(const char *name)
{
    return name != NULL && strstr(name, mark) != NULL;
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

/* Where BODY is declared: the file, as debug information names it, and the line. Of tasks clang says that no more since release
 * 16: they are copied to where they are. */
static const char *declaration_of(Dwarf_Die *body, int *line)
{
    Dwarf_Attribute attribute;
    Dwarf_Word at;
    const char *file;
    if (dwarf_attr_integrate(body, DW_AT_decl_line, &attribute) == NULL)
        return tg_debug_units_call_site(body, &file, line) ? file : NULL;
    if (dwarf_formudata(&attribute, &at) != 0 || at > INT_MAX)
        return NULL;
    *line = (int)at;
    return tg_debug_units_declaring_file(body);
}

/* The symbol of its owner that BODY's name begins with, for the caller to free; NULL: none. */
static char *named_owner(Dwarf_Die *body)
{
    const char *name = tg_debug_units_function_name(body);
    const char *end = name == NULL ? NULL : strstr(name, mark);
    while (end != NULL && end > name && end[-1] == '.')
        end--;
    return end != NULL && end > name ? strndup(name, (size_t)(end - name)) : NULL;
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

struct search {
    struct tg_debug_units *units;
    uint64_t begun; /* steps of UNITS before */
    uint64_t n_rows;
    const char *file;  /* of the body */
    int line;          /* of the body */
    const void *ended; /* DIE of a local function that ends in front of the body */
    const void *body;  /* DIE of what has the last row of another body */
    int body_line;
    int found_line; /* of the owner's last code; 0: none yet */
    bool are_several;
    struct tg_outlined_owner owner;
};

static uint64_t steps_of(const struct search *search)
{
    return tg_debug_units_steps(search->units) - search->begun + search->n_rows;
}

/* Whether FUNCTION has no code behind the body's line. Where that takes too long the search is over. */
static bool ends_before(struct search *search, Dwarf_Die *function)
{
    const uint64_t n_steps = steps_of(search);
    return n_steps < MAX_STEPS &&
           !tg_debug_units_reaches(search->units, function, search->file, search->line, MAX_STEPS - n_steps);
}

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
    } else if (row->line < search->line && is_local(&function) && ends_before(search, &function)) {
        search->ended = function.addr;
    } else {
        take(search, &function, name, row->line);
    }
    return true;
}

static struct tg_outlined_owner find_owner(struct search *search, Dwarf_Die *body, uint64_t address)
{
    const struct tg_debug_row *rows = NULL;
    size_t count = 0;
    int n_looked_at = 0;
    bool is_complete = true;
    search->file = declaration_of(body, &search->line);
    if (search->file != NULL) /* what that costs the first body of a file is for all of them */
        rows = tg_debug_units_rows_of(search->units, address, search->file, &count);
    search->begun = tg_debug_units_steps(search->units);
    for (size_t i = TG_PARTITION_POINT(count, at, rows[at].line > search->line); is_complete && i < count;
         i++) {
        if (search->found_line != 0 && rows[i].line != search->found_line)
            break;
        search->n_rows++;
        is_complete = look_at(search, &rows[i], &n_looked_at) && steps_of(search) < MAX_STEPS;
    }
    return is_complete && !search->are_several ? search->owner : (struct tg_outlined_owner){0};
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
    const uint64_t begun = tg_debug_units_steps(units);
    struct search search = {.units = units};
    struct tg_outlined_owner owner = {0};
    char *named = named_owner(body);
    if (named != NULL)
        owner = (struct tg_outlined_owner){.name = named, .symbol = named};
    else if (bodies->n_steps < MAX_STEPS_OF_ALL)
        owner = find_owner(&search, body, address);
    bodies->n_steps += tg_debug_units_steps(units) - begun + search.n_rows;
    answer = calloc(1, sizeof *answer);
    if (answer != NULL)
        *answer = (struct answer){.body = key, .owner = owner, .named = named};
    if (answer == NULL || TG_HASH_ADD(hh, bodies->answers, body, answer) != NULL) { /* no memory */
        free(answer);
        if (named != NULL)
            owner = (struct tg_outlined_owner){0};
        free(named);
    }
    return owner;
}

struct tg_outlined_owner tg_outlined_bodies_at(struct tg_outlined_bodies *bodies,
                                               struct tg_debug_units *units, uint64_t address)
{
    Dwarf_Die function;
    const char *name;
    const uint64_t begun = tg_debug_units_steps(units);
    if (bodies->n_steps >= MAX_STEPS_OF_ALL)
        return (struct tg_outlined_owner){0};
    bool is_body = innermost_at(units, address, &function, &name) && tg_outlined_bodies_is_name(name);
    bodies->n_steps += tg_debug_units_steps(units) - begun;
    return is_body ? tg_outlined_bodies_find(bodies, units, &function, address)
                   : (struct tg_outlined_owner){0};
}
