#include "recorder/dwarf/code_places.h"

#include "format/base/hash.h"
#include "format/image/mangled_name.h"

#include <dwarf.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_ENTRIES = 1 << 14, MAX_SCOPES = 256, MAX_LOOKED_AT = 1024 };

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

/* The function whose region or task clang made a function of its own of. */
struct outlined {
    const void *function; /* address of its DIE */
    UT_hash_handle hh;
    const char *name; /* NULL not known */
};

struct tg_code_places {
    struct entry *entries;
    struct outlined *outlined;
    struct entry *last;  /* the latest one where memory is short */
    struct words *words; /* by symbol; they outlive the entries */
};

struct tg_code_places *tg_code_places_create(void)
{
    return calloc(1, sizeof(struct tg_code_places));
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
    struct outlined *outlined, *next_outlined;
    HASH_ITER (hh, places->outlined, outlined, next_outlined) {
        HASH_DEL(places->outlined, outlined);
        free(outlined);
    }
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

/* The name of a function with the classes, namespaces or module that it is in, as its mangled name has them. GCC gives a parallel
 * region's body no other name than that (_ZN4mesh5solveEi._omp_fn.0). */
static const char *qualified_name(struct tg_code_places *places, struct tg_code_call *call)
{
    Dwarf_Attribute attribute;
    if (!call->has_function || call->name == NULL)
        return call->name;
    if (is_mangled(call->name))
        return words_of(places, call->name);
    if (dwarf_attr_integrate(&call->function, DW_AT_linkage_name, &attribute) == NULL)
        return call->name;
    const char *symbol = dwarf_formstring(&attribute);
    if (symbol == NULL || !is_mangled(symbol))
        return call->name;
    const char *words = words_of(places, symbol);
    return strncmp(words, "_Z", 2) == 0 || strstr(words, "::") == NULL || strstr(words, call->name) == NULL
               ? call->name
               : words;
}

/* ---- bodies of regions and tasks that clang makes functions of */

static const char outlined_beginning[] = ".omp";

static bool is_outlined(const char *name)
{
    return name != NULL && strncmp(name, outlined_beginning, strlen(outlined_beginning)) == 0;
}

/* The innermost function at ADDRESS. */
static bool innermost_at(struct tg_debug_units *units, uint64_t address, struct tg_code_call *call)
{
    Dwarf_Die scopes[MAX_SCOPES];
    size_t count = tg_debug_units_scopes_at(units, address, scopes, MAX_SCOPES);
    for (size_t i = 0; i < count; i++)
        if (dwarf_tag(&scopes[i]) == DW_TAG_inlined_subroutine ||
            dwarf_tag(&scopes[i]) == DW_TAG_subprogram) {
            *call = (struct tg_code_call){.has_function = true,
                                          .function = scopes[i],
                                          .name = tg_debug_units_function_name(&scopes[i])};
            return call->name != NULL;
        }
    return false;
}

/* Where FUNCTION is declared: the file, as debug information names it, and the line. dwarf_decl_file() ends the process where the
 * unit is one of split DWARF. */
static const char *declaration_of(Dwarf_Die *function, int *line)
{
    Dwarf_Attribute attribute;
    Dwarf_Word at, number;
    Dwarf_Die unit;
    Dwarf_Files *files;
    size_t n_files;
    if (dwarf_attr_integrate(function, DW_AT_decl_line, &attribute) == NULL ||
        dwarf_formudata(&attribute, &at) != 0 || at > INT_MAX ||
        dwarf_attr_integrate(function, DW_AT_decl_file, &attribute) == NULL ||
        dwarf_formudata(&attribute, &number) != 0 ||
        dwarf_cu_die(attribute.cu, &unit, NULL, NULL, NULL, NULL, NULL, NULL) == NULL)
        return NULL;
    *line = (int)at;
    if (number == 0)
        return dwarf_diename(&unit);
    return dwarf_getsrcfiles(&unit, &files, &n_files) == 0 && number < n_files
               ? dwarf_filesrc(files, number, NULL, NULL)
               : NULL;
}

/* Whether CALL's function is within another one: a lambda's, or that of a class in a function. */
static bool is_local(struct tg_code_call *call)
{
    Dwarf_Attribute attribute;
    if (dwarf_attr_integrate(&call->function, DW_AT_linkage_name, &attribute) == NULL)
        return false;
    const char *symbol = dwarf_formstring(&attribute);
    return symbol != NULL && strncmp(symbol, "_ZZ", 3) == 0;
}

static bool has_code_in(struct tg_debug_units *units, struct tg_code_call *call,
                        const struct tg_debug_row *rows, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (tg_debug_units_has_code(units, &call->function, rows[i].start))
            return true;
    return false;
}

/* The function that the construct is in which CALL is the body of: what has the last code in front of it, other such bodies left
 * aside, and functions within a function that end in front of it. Clang does not say. NULL: not known, or several. */
static const char *find_enclosing(struct tg_code_places *places, struct tg_debug_units *units,
                                  struct tg_code_call *call, uint64_t address)
{
    int line;
    struct tg_debug_row *rows = NULL;
    const char *file = declaration_of(&call->function, &line), *name = NULL, *found = NULL;
    size_t count = file != NULL ? tg_debug_units_rows_of(units, address, file, &rows) : 0, n_behind = 0;
    const void *ended = NULL; /* the DIE of a local function */
    const void *body = NULL;  /* the DIE of what has the last row of another body */
    int found_line = 0, body_line = 0, n_looked_at = 0;
    bool is_one = true;
    while (n_behind < count && rows[n_behind].line > line)
        n_behind++;
    for (size_t i = n_behind; i < count && (found == NULL || rows[i].line == found_line); i++) {
        struct tg_code_call other;
        Dwarf_Die function;
        if (!tg_debug_units_function_at(units, rows[i].start, &function) ||
            (function.addr == body && rows[i].line == body_line))
            continue; /* a line has several rows, and to look at one takes time */
        if (n_looked_at++ == MAX_LOOKED_AT) {
            found = NULL;
            break;
        }
        if (!innermost_at(units, rows[i].start, &other) || other.function.addr == ended)
            continue;
        if (is_outlined(other.name)) {
            body = function.addr;
            body_line = rows[i].line;
            continue;
        }
        if (rows[i].line < line && is_local(&other) && !has_code_in(units, &other, rows, n_behind)) {
            ended = other.function.addr;
            continue;
        }
        const char *qualified = qualified_name(places, &other);
        is_one &= name == NULL || strcmp(name, other.name) == 0;
        found = found == NULL || strcmp(found, qualified) == 0 ? qualified : other.name;
        name = other.name;
        found_line = rows[i].line;
    }
    free(rows);
    return is_one ? found : NULL;
}

/* The user's function in place of the one that clang made. */
static const char *name_of_body(struct tg_code_places *places, struct tg_debug_units *units,
                                struct tg_code_call *call, uint64_t address)
{
    struct outlined *outlined = NULL;
    if (!call->has_function || units == NULL)
        return call->name;
    const void *function = call->function.addr;
    HASH_FIND_PTR(places->outlined, &function, outlined);
    if (outlined == NULL) {
        outlined = calloc(1, sizeof *outlined);
        if (outlined == NULL)
            return call->name;
        outlined->function = function;
        outlined->name = find_enclosing(places, units, call, address);
        if (TG_HASH_ADD(hh, places->outlined, function, outlined) != NULL) {
            const char *name = outlined->name;
            free(outlined);
            return name != NULL ? name : call->name;
        }
    }
    return outlined->name != NULL ? outlined->name : call->name;
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
        calls[i].name = is_outlined(calls[i].name) ? name_of_body(places, units, &calls[i], address)
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
