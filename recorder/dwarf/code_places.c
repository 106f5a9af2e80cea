#include "recorder/dwarf/code_places.h"

#include "format/base/hash.h"
#include "format/image/mangled_name.h"
#include "format/image/outlined_bodies.h"

#include <dwarf.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_ENTRIES = 1 << 14, MAX_SCOPES = 256 };

struct entry {
    uint64_t address;
    UT_hash_handle hh;
    struct tg_code_place place;
};

/* A mangled name of the image's, as people write it. */
struct words {
    const char *symbol;
    UT_hash_handle hh;
    char *text;
};

struct tg_code_places {
    struct entry *entries;
    struct tg_outlined_bodies *bodies;
    struct entry *last;  /* the latest one where memory is short */
    struct words *words; /* by symbol; they outlive the entries */
};

struct tg_code_places *tg_code_places_create(void)
{
    struct tg_code_places *places = calloc(1, sizeof *places);
    if (places != NULL && (places->bodies = tg_outlined_bodies_create()) == NULL) {
        free(places);
        return NULL;
    }
    return places;
}

static void clear(struct tg_code_places *places)
{
    struct entry *entry, *next;
    HASH_ITER (hh, places->entries, entry, next) {
        HASH_DEL(places->entries, entry);
        free(entry);
    }
    free(places->last);
    places->last = NULL;
}

void tg_code_places_destroy(struct tg_code_places *places)
{
    struct words *words, *next;
    if (places == NULL)
        return;
    clear(places);
    tg_outlined_bodies_destroy(places->bodies);
    HASH_ITER (hh, places->words, words, next) {
        HASH_DEL(places->words, words);
        free(words->text);
        free(words);
    }
    free(places);
}

/* The functions among the blocks that hold ADDRESS. */
static size_t read_calls(struct tg_debug_units *units, uint64_t address, struct tg_code_call *calls)
{
    Dwarf_Die scopes[MAX_SCOPES];
    size_t n_scopes = tg_debug_units_scopes_at(units, address, scopes, MAX_SCOPES), count = 0;
    for (size_t i = 0; i < n_scopes; i++) {
        int tag = dwarf_tag(&scopes[i]);
        if (tag != DW_TAG_inlined_subroutine && tag != DW_TAG_subprogram)
            continue;
        if (count == TG_CODE_PLACE_MAX_CALLS)
            count--; /* nested deeper than anyone wants to see: the outermost one counts */
        struct tg_code_call *call = &calls[count++];
        *call = (struct tg_code_call){
            .has_function = true,
            .function = scopes[i],
            .name = tg_debug_units_function_name(&scopes[i]),
            .is_inlined = tag == DW_TAG_inlined_subroutine,
        };
        uint64_t start;
        if (tg_debug_units_entry(units, &scopes[i], &start) && address >= start)
            call->offset = address - start;
        if (count > 1 && calls[count - 2].is_inlined)
            (void)tg_debug_units_call_site(&calls[count - 2].function, &call->file, &call->line);
    }
    return count;
}

/* Of a Fortran program debug information has the name that people gave it, which no symbol has, nor a breakpoint: it goes by the
 * compiler's, as with stacks whose debug information is not read. */
static bool is_fortran_program(const char *symbol)
{
    return strcmp(symbol, "MAIN__") == 0 || strcmp(symbol, "MAIN_") == 0 || strcmp(symbol, "_QQmain") == 0;
}

static size_t read_place(struct tg_debug_units *units, struct tg_image *image, uint64_t address,
                         struct tg_code_call *calls)
{
    calls[0] = (struct tg_code_call){0};
    size_t count = units != NULL ? read_calls(units, address, calls) : 0;
    struct tg_debug_row row;
    if (count == 0)
        count = 1;
    if (units != NULL && tg_debug_units_row_at(units, address, &row)) {
        calls[0].file = row.file;
        calls[0].line = row.line;
        if (address != row.start) /* as a caller's is, which is within its call */
            (void)tg_debug_units_line_at(units, address, &calls[0].file, &calls[0].line);
    }
    struct tg_code_call *outermost = &calls[count - 1];
    const char *name;
    uint64_t offset;
    if (tg_image_symbol_at(image, address, &name, &offset)) {
        if (outermost->name == NULL || is_fortran_program(name))
            outermost->name = name;
        if (!outermost->is_inlined)
            outermost->offset = offset;
    }
    return count;
}

/* A name from the image's symbol table, as people write it; without memory as it is. */
static const char *words_of(struct tg_code_places *places, const char *symbol)
{
    struct words *words = NULL;
    if (symbol == NULL || *symbol != '_')
        return symbol;
    HASH_FIND_PTR(places->words, &symbol, words);
    if (words != NULL)
        return words->text;
    words = calloc(1, sizeof *words);
    if (words == NULL)
        return symbol;
    words->symbol = symbol;
    words->text = tg_mangled_name_words(symbol);
    if (words->text == NULL || TG_HASH_ADD(hh, places->words, symbol, words) != NULL) { /* memory was short */
        free(words->text);
        free(words);
        return symbol;
    }
    return words->text;
}

/* Whether it can be that of a C++ function, or of one in a Fortran module. */
static bool is_mangled(const char *symbol)
{
    return strncmp(symbol, "_Z", 2) == 0 || strncmp(symbol, "__", 2) == 0;
}

/* The function NAME with the classes, namespaces or module that it is in, as its mangled name SYMBOL (NULL none) has them. GCC
 * gives a parallel region's body no other name than that (_ZN4mesh5solveEi._omp_fn.0). */
static const char *qualify(struct tg_code_places *places, const char *name, const char *symbol)
{
    if (is_mangled(name))
        return words_of(places, name);
    if (symbol == NULL || !is_mangled(symbol))
        return name;
    const char *words = words_of(places, symbol);
    return strncmp(words, "_Z", 2) == 0 || strstr(words, "::") == NULL || strstr(words, name) == NULL ? name
                                                                                                      : words;
}

static const char *qualified_name(struct tg_code_places *places, struct tg_code_call *call)
{
    Dwarf_Attribute attribute;
    if (!call->has_function || call->name == NULL)
        return call->name;
    return qualify(places, call->name,
                   dwarf_attr_integrate(&call->function, DW_AT_linkage_name, &attribute) == NULL
                       ? NULL
                       : dwarf_formstring(&attribute));
}

/* The user's function in place of the one that clang made of a region or a task. */
static const char *name_of_body(struct tg_code_places *places, struct tg_debug_units *units,
                                struct tg_code_call *call, uint64_t address)
{
    if (!call->has_function || units == NULL)
        return call->name;
    const struct tg_outlined_owner owner =
        tg_outlined_bodies_find(places->bodies, units, &call->function, address);
    return owner.name != NULL ? qualify(places, owner.name, owner.symbol) : qualified_name(places, call);
}

const struct tg_code_place *tg_code_places_find(struct tg_code_places *places, struct tg_debug_units *units,
                                                struct tg_image *image, uint64_t address)
{
    struct entry *entry = NULL;
    HASH_FIND(hh, places->entries, &address, sizeof address, entry);
    if (entry != NULL)
        return &entry->place;
    if (HASH_COUNT(places->entries) >= MAX_ENTRIES)
        clear(places);
    struct tg_code_call calls[TG_CODE_PLACE_MAX_CALLS];
    size_t count = read_place(units, image, address, calls);
    if (!calls[count - 1].has_function)
        calls[count - 1].name = words_of(places, calls[count - 1].name);
    for (size_t i = 0; i < count; i++)
        calls[i].name = tg_outlined_bodies_is_name(calls[i].name)
                            ? name_of_body(places, units, &calls[i], address)
                            : qualified_name(places, &calls[i]);
    entry = calloc(1, sizeof *entry + count * sizeof *calls);
    if (entry == NULL)
        return NULL;
    entry->address = address;
    entry->place.count = count;
    memcpy(entry->place.calls, calls, count * sizeof *calls);
    if (TG_HASH_ADD(hh, places->entries, address, entry) != NULL) {
        free(places->last);
        places->last = entry;
    }
    return &entry->place;
}
