#include "format/image/debug_units.h"

#include "format/base/array.h"
#include "format/base/search.h"
#include "format/image/source_path.h"

#include <dwarf.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

enum {
    MAX_UNITS = 1 << 20,
    MAX_RANGES = 4 << 20, /* of all units, or of the functions of one */
    MAX_DEPTH = 256,      /* of nested DIEs that are looked into */
    MAX_DIES = 4 << 20,   /* of one unit */
    MAX_OVERLAP = 32,     /* ranges that are looked at for one address */
    MAX_SORTED = 8,       /* files whose rows by line are kept */
};

/* [start, end) belongs to what number OWNER stands for. */
struct range {
    uint64_t start, end;
    size_t owner;
};

struct ranges {
    struct range *items; /* by start */
    size_t count;
    size_t capacity;
};

struct row {
    uint64_t address;
    const char *file;  /* NULL: the end of a sequence */
    const char *given; /* the same as libdw names it, as it does where a function is declared */
    int line;
    bool is_stmt;
};

/* A file of a unit as libdw names it, and with the directory of the compilation in front. */
struct full_name {
    const char *given;
    char *full;
};

struct unit {
    Dwarf_Die die;   /* of the line table */
    Dwarf_Die split; /* with its functions: the same, or the split unit */
    bool functions_read;
    Dwarf_Die *functions;
    size_t n_functions;
    size_t functions_capacity;
    struct ranges function_ranges;
    bool rows_read;
    struct row *rows; /* by address, in the order of the table where that is equal */
    size_t n_rows;
    struct full_name *names; /* of files that libdw names from the directory of the compilation on */
    size_t n_names, names_capacity;
};

/* The rows of FILE in one unit, the last lines first. */
struct sorted {
    const struct unit *unit; /* NULL: none yet */
    const char *file;
    struct tg_debug_row *rows;
    size_t count;
};

struct tg_debug_units {
    Dwarf *dwarf;
    uint64_t delta;
    bool (*is_code)(void *context, uint64_t address);
    void *context;
    struct unit *units;
    size_t n_units;
    size_t capacity;
    struct ranges ranges;
    struct sorted sorted[MAX_SORTED];
    size_t next_sorted; /* takes the place of the oldest */
    uint64_t n_steps;
};

/* ---- ranges */

static bool add_range(struct ranges *ranges, struct range range)
{
    return ranges->count < MAX_RANGES &&
           TG_ARRAY_APPEND(ranges->items, ranges->count, ranges->capacity, range) == NULL;
}

static int compare_ranges(const void *a, const void *b)
{
    const struct range *x = a, *y = b;
    return x->start < y->start ? -1 : x->start > y->start;
}

static void sort_ranges(struct ranges *ranges)
{
    if (ranges->count > 1)
        qsort(ranges->items, ranges->count, sizeof *ranges->items, compare_ranges);
}

/* The range that holds ADDRESS and starts last; they overlap in broken files alone, so far back is not
 * looked. */
static const struct range *find_range(const struct ranges *ranges, uint64_t address)
{
    size_t low = TG_UPPER_BOUND(ranges->items, ranges->count, start, address);
    for (size_t n = 0; low > 0 && n < MAX_OVERLAP; n++)
        if (address < ranges->items[--low].end)
            return &ranges->items[low];
    return NULL;
}

/* Adds the code of DIE, without what the linker dropped. False: no memory, or beyond the bounds. */
static bool add_ranges_of(const struct tg_debug_units *units, Dwarf_Die *die, size_t owner,
                          struct ranges *ranges)
{
    Dwarf_Addr base, start, end;
    ptrdiff_t at = 0;
    while ((at = dwarf_ranges(die, at, &base, &start, &end)) > 0) {
        uint64_t address = start + units->delta;
        if (start >= end || !units->is_code(units->context, address))
            continue;
        if (!add_range(ranges, (struct range){address, end + units->delta, owner}))
            return false;
    }
    return true;
}

/* ---- units */

static bool add_unit(struct tg_debug_units *units, const Dwarf_Die *die, const Dwarf_Die *split)
{
    return TG_ARRAY_APPEND(units->units, units->n_units, units->capacity,
                           (struct unit){.die = *die, .split = *split}) == NULL;
}

/* The unit that the skeleton UNIT stands for, from the file that it names; *DIE stays where there is none. */
static void open_split(Dwarf_CU *unit, Dwarf_Die *die)
{
    Dwarf_Die split;
    if (dwarf_cu_info(unit, NULL, NULL, NULL, &split, NULL, NULL, NULL) == 0 && split.addr != NULL)
        *die = split;
}

static void list_units(struct tg_debug_units *units, enum tg_debug_units_files files)
{
    Dwarf_CU *cu = NULL;
    Dwarf_Die die, split;
    uint8_t type;
    while (units->n_units < MAX_UNITS &&
           dwarf_get_units(units->dwarf, cu, &cu, NULL, &type, &die, NULL) == 0) {
        if (type != DW_UT_compile && type != DW_UT_skeleton)
            continue;
        split = die;
        if (type == DW_UT_skeleton && files == TG_DEBUG_UNITS_NAMED_FILES)
            open_split(cu, &split);
        if (!add_unit(units, &die, &split) || !add_ranges_of(units, &die, units->n_units - 1, &units->ranges))
            break;
    }
    sort_ranges(&units->ranges);
}

struct tg_debug_units *tg_debug_units_create(Dwarf *dwarf, uint64_t delta,
                                             bool (*is_code)(void *context, uint64_t address), void *context,
                                             enum tg_debug_units_files files)
{
    struct tg_debug_units *units = calloc(1, sizeof *units);
    if (units == NULL)
        return NULL;
    *units = (struct tg_debug_units){.dwarf = dwarf, .delta = delta, .is_code = is_code, .context = context};
    list_units(units, files);
    return units;
}

void tg_debug_units_destroy(struct tg_debug_units *units)
{
    if (units == NULL)
        return;
    for (size_t i = 0; i < units->n_units; i++) {
        free(units->units[i].functions);
        free(units->units[i].function_ranges.items);
        free(units->units[i].rows);
        for (size_t k = 0; k < units->units[i].n_names; k++)
            free(units->units[i].names[k].full);
        free(units->units[i].names);
    }
    for (size_t i = 0; i < MAX_SORTED; i++)
        free(units->sorted[i].rows);
    free(units->units);
    free(units->ranges.items);
    free(units);
}

static struct unit *unit_at(struct tg_debug_units *units, uint64_t address)
{
    const struct range *range = find_range(&units->ranges, address);
    return range != NULL ? &units->units[range->owner] : NULL;
}

bool tg_debug_units_find(struct tg_debug_units *units, uint64_t address, Dwarf_Die *die)
{
    struct unit *unit = unit_at(units, address);
    if (unit != NULL)
        *die = unit->split;
    return unit != NULL;
}

/* ---- functions and blocks */

static bool is_block(int tag)
{
    return tag == DW_TAG_inlined_subroutine || tag == DW_TAG_lexical_block || tag == DW_TAG_try_block ||
           tag == DW_TAG_catch_block;
}

/* Whether a function definition can be inside of it. */
static bool can_hold_functions(int tag)
{
    return tag == DW_TAG_subprogram || tag == DW_TAG_lexical_block || tag == DW_TAG_namespace ||
           tag == DW_TAG_module || tag == DW_TAG_class_type || tag == DW_TAG_structure_type;
}

static bool add_function(struct tg_debug_units *units, struct unit *unit, Dwarf_Die *die)
{
    if (TG_ARRAY_APPEND(unit->functions, unit->n_functions, unit->functions_capacity, *die) != NULL)
        return false;
    return add_ranges_of(units, die, unit->n_functions - 1, &unit->function_ranges);
}

/* No recursion: how deep the tree is was the file's choice. */
static void read_functions(struct tg_debug_units *units, struct unit *unit)
{
    if (unit->functions_read)
        return;
    unit->functions_read = true;
    Dwarf_Die path[MAX_DEPTH];
    if (dwarf_child(&unit->split, &path[0]) != 0)
        return;
    size_t depth = 1;
    for (unsigned seen = 0; depth > 0 && seen < MAX_DIES; seen++) {
        Dwarf_Die *die = &path[depth - 1];
        int tag = dwarf_tag(die);
        if (tag == DW_TAG_subprogram &&
            (dwarf_hasattr(die, DW_AT_low_pc) || dwarf_hasattr(die, DW_AT_ranges)) &&
            !add_function(units, unit, die))
            break;
        if (can_hold_functions(tag) && depth < MAX_DEPTH && dwarf_child(die, &path[depth]) == 0) {
            depth++;
            continue;
        }
        while (depth > 0 && dwarf_siblingof(&path[depth - 1], &path[depth - 1]) != 0)
            depth--;
    }
    sort_ranges(&unit->function_ranges);
}

bool tg_debug_units_function_at(struct tg_debug_units *units, uint64_t address, Dwarf_Die *function)
{
    struct unit *unit = unit_at(units, address);
    if (unit == NULL)
        return false;
    read_functions(units, unit);
    const struct range *range = find_range(&unit->function_ranges, address);
    if (range != NULL)
        *function = unit->functions[range->owner];
    return range != NULL;
}

/* Whether DIE holds the ADDRESS (DWARF's): 1; 0: not; -1: it has no addresses of its own, look inside. */
static int holds(struct tg_debug_units *units, Dwarf_Die *die, uint64_t address)
{
    Dwarf_Addr base, start, end;
    if (!dwarf_hasattr(die, DW_AT_low_pc) && !dwarf_hasattr(die, DW_AT_ranges))
        return -1;
    for (ptrdiff_t at = 0; (at = dwarf_ranges(die, at, &base, &start, &end)) > 0; units->n_steps++)
        if (address >= start && address < end)
            return 1;
    return 0;
}

size_t tg_debug_units_scopes_at(struct tg_debug_units *units, uint64_t address, Dwarf_Die *scopes, size_t max)
{
    Dwarf_Die path[MAX_DEPTH];
    bool certain[MAX_DEPTH] = {true}; /* contains the address */
    if (max == 0 || !tg_debug_units_function_at(units, address, &path[0]))
        return 0;
    address -= units->delta;
    size_t depth = 0; /* path[depth] is the DIE in hand; depth 0 is the function */
    if (dwarf_child(&path[0], &path[1]) == 0)
        depth = 1;
    size_t innermost = 0;
    for (uint64_t begun = units->n_steps; depth > innermost && units->n_steps - begun < MAX_DIES;) {
        Dwarf_Die *die = &path[depth];
        units->n_steps++;
        int held = is_block(dwarf_tag(die)) ? holds(units, die, address) : 0;
        certain[depth] = held == 1;
        if (held == 1)
            innermost = depth; /* the siblings are of no interest any more */
        if (held != 0 && depth + 1 < MAX_DEPTH && dwarf_child(die, &path[depth + 1]) == 0) {
            depth++;
            continue;
        }
        while (depth > innermost && dwarf_siblingof(&path[depth], &path[depth]) != 0)
            depth--;
    }
    size_t count = 0;
    for (size_t i = innermost + 1; i-- > 0 && count < max;)
        if (certain[i])
            scopes[count++] = path[i];
    return count;
}

uint64_t tg_debug_units_steps(const struct tg_debug_units *units)
{
    return units->n_steps;
}

const char *tg_debug_units_function_name(Dwarf_Die *function)
{
    Dwarf_Attribute attribute;
    Dwarf_Attribute *name = dwarf_attr_integrate(function, DW_AT_name, &attribute);
    if (name == NULL)
        name = dwarf_attr_integrate(function, DW_AT_linkage_name, &attribute);
    return name != NULL ? dwarf_formstring(name) : NULL;
}

bool tg_debug_units_entry(const struct tg_debug_units *units, Dwarf_Die *function, uint64_t *address)
{
    Dwarf_Addr entry;
    if (dwarf_entrypc(function, &entry) != 0)
        return false;
    *address = entry + units->delta;
    return true;
}

const char *tg_debug_units_declaring_file(Dwarf_Die *die)
{
    Dwarf_Attribute attribute;
    Dwarf_Word number;
    Dwarf_Die unit;
    Dwarf_Files *files;
    size_t n_files;
    if (dwarf_attr_integrate(die, DW_AT_decl_file, &attribute) == NULL ||
        dwarf_formudata(&attribute, &number) != 0 ||
        dwarf_cu_die(attribute.cu, &unit, NULL, NULL, NULL, NULL, NULL, NULL) == NULL)
        return NULL;
    if (number == 0)
        return dwarf_diename(&unit);
    return dwarf_getsrcfiles(&unit, &files, &n_files) == 0 && number < n_files
               ? dwarf_filesrc(files, number, NULL, NULL)
               : NULL;
}

bool tg_debug_units_call_site(Dwarf_Die *inlined, const char **file, int *line)
{
    Dwarf_Attribute attribute;
    Dwarf_Word number, file_number;
    Dwarf_Die unit;
    Dwarf_Files *files;
    size_t n_files;
    if (dwarf_attr(inlined, DW_AT_call_line, &attribute) == NULL ||
        dwarf_formudata(&attribute, &number) != 0 || number == 0 || number > INT32_MAX ||
        dwarf_attr(inlined, DW_AT_call_file, &attribute) == NULL ||
        dwarf_formudata(&attribute, &file_number) != 0 || dwarf_diecu(inlined, &unit, NULL, NULL) == NULL ||
        dwarf_getsrcfiles(&unit, &files, &n_files) != 0 || file_number >= n_files)
        return false;
    const char *name = dwarf_filesrc(files, file_number, NULL, NULL);
    if (name == NULL)
        return false;
    *file = name;
    *line = (int)number;
    return true;
}

/* ---- lines */

/* FILE of UNIT, as libdw gives it: absolute, where the directory of the compilation is known. Of DWARF 5 libdw leaves relative
 * directories as they are. */
static const char *full_name(struct unit *unit, const char *file)
{
    enum { MAX_NAMES = 4096 };
    Dwarf_Attribute attribute;
    const char *directory =
        *file == '/' ? NULL : dwarf_formstring(dwarf_attr(&unit->die, DW_AT_comp_dir, &attribute));
    char joined[PATH_MAX];
    const char *const parts[3] = {directory, file, NULL};
    for (size_t i = 0; directory != NULL && i < unit->n_names; i++)
        if (unit->names[i].given == file)
            return unit->names[i].full;
    if (directory == NULL || *directory != '/' || unit->n_names >= MAX_NAMES ||
        !tg_source_path_join(parts, joined, sizeof joined))
        return file;
    struct full_name name = {.given = file, .full = strdup(joined)};
    if (name.full != NULL && TG_ARRAY_APPEND(unit->names, unit->n_names, unit->names_capacity, name) == NULL)
        return name.full;
    free(name.full);
    return file;
}

/* Rows as libdw has sorted them by address; code without a line goes to the row before it. */
static void read_rows(struct tg_debug_units *units, struct unit *unit)
{
    if (unit->rows_read)
        return;
    unit->rows_read = true;
    Dwarf_Lines *lines;
    size_t count;
    if (dwarf_getsrclines(&unit->die, &lines, &count) != 0 || count == 0)
        return;
    unit->rows = calloc(count, sizeof *unit->rows);
    for (size_t i = 0; unit->rows != NULL && i < count; i++) {
        Dwarf_Line *line = dwarf_onesrcline(lines, i);
        Dwarf_Addr address;
        int number = 0;
        bool end = false, is_stmt = false;
        if (line == NULL || dwarf_lineaddr(line, &address) != 0 || dwarf_lineendsequence(line, &end) != 0 ||
            (!end && (dwarf_lineno(line, &number) != 0 || dwarf_linebeginstatement(line, &is_stmt) != 0)))
            continue;
        if (!end && !units->is_code(units->context, address + units->delta))
            continue;
        struct row *last = unit->n_rows > 0 ? &unit->rows[unit->n_rows - 1] : NULL;
        if (!end && number <= 0 && last != NULL && last->file != NULL)
            continue;
        const char *file = end || number <= 0 ? NULL : dwarf_linesrc(line, NULL, NULL);
        const char *full = file != NULL && *file != '/' ? full_name(unit, file) : file;
        unit->rows[unit->n_rows++] = (struct row){address + units->delta, full, file, number, is_stmt};
    }
}

/* The first row behind ADDRESS. */
static size_t row_behind(const struct unit *unit, uint64_t address)
{
    return TG_UPPER_BOUND(unit->rows, unit->n_rows, address, address);
}

/* The last row that starts at or before ADDRESS, of the unit that becomes *OF; NULL: none. */
static const struct row *find_row(struct tg_debug_units *units, uint64_t address, const struct unit **of)
{
    struct unit *unit = unit_at(units, address);
    if (unit == NULL)
        return NULL;
    read_rows(units, unit);
    size_t behind = row_behind(unit, address);
    if (behind == 0 || behind == unit->n_rows || unit->rows[behind - 1].file == NULL)
        return NULL;
    *of = unit;
    return &unit->rows[behind - 1];
}

bool tg_debug_units_line_at(struct tg_debug_units *units, uint64_t address, const char **file, int *line)
{
    const struct unit *unit;
    const struct row *row = find_row(units, address, &unit);
    if (row == NULL)
        return false;
    *file = row->file;
    *line = row->line;
    return true;
}

bool tg_debug_units_row_at(struct tg_debug_units *units, uint64_t address, struct tg_debug_row *result)
{
    const struct unit *unit;
    const struct row *found = find_row(units, address, &unit), *last = found;
    if (found == NULL)
        return false;
    for (const struct row *row = found; !found->is_stmt && row > unit->rows; row--) {
        if (row[-1].address != found->address)
            break;
        if (row[-1].is_stmt && row[-1].file != NULL) {
            found = row - 1;
            break;
        }
    }
    *result = (struct tg_debug_row){
        .start = found->address,
        .end = last[1].address,
        .file = found->file,
        .line = found->line,
        .is_stmt = found->is_stmt,
    };
    return true;
}

static int compare_lines(const void *a, const void *b)
{
    const struct tg_debug_row *x = a, *y = b;
    return (x->line < y->line) - (x->line > y->line);
}

/* Whether both are names of one file: the same, or one without directories in front that the other has. */
static bool is_same_file(const char *a, const char *b)
{
    size_t a_length = strlen(a), b_length = strlen(b);
    if (a_length < b_length)
        return is_same_file(b, a);
    return strcmp(a + (a_length - b_length), b) == 0 &&
           (a_length == b_length || (*b != '/' && a[a_length - b_length - 1] == '/'));
}

static bool is_of_file(const struct row *row, const char *file)
{
    return is_same_file(row->file, file) || (row->given != row->file && is_same_file(row->given, file));
}

static bool is_code_row(const struct row *row)
{
    return row->file != NULL && row->line > 0 && row[1].address != row->address;
}

/* False: no memory. */
static bool sort_rows(const struct unit *unit, struct sorted *sorted)
{
    size_t capacity = 0;
    const char *last = NULL; /* file of the row before */
    bool is_same = false;
    for (size_t i = 0; i + 1 < unit->n_rows; i++) {
        const struct row *row = &unit->rows[i];
        if (!is_code_row(row))
            continue;
        if (row->file != last)
            is_same = is_of_file(row, sorted->file);
        last = row->file;
        struct tg_debug_row found = {.start = row->address,
                                     .end = row[1].address,
                                     .file = row->file,
                                     .line = row->line,
                                     .is_stmt = row->is_stmt};
        if (is_same && TG_ARRAY_APPEND(sorted->rows, sorted->count, capacity, found) != NULL)
            return false;
    }
    if (sorted->count > 0)
        qsort(sorted->rows, sorted->count, sizeof *sorted->rows, compare_lines);
    return true;
}

const struct tg_debug_row *tg_debug_units_rows_of(struct tg_debug_units *units, uint64_t address,
                                                  const char *file, size_t *count)
{
    const struct unit *unit;
    struct sorted *sorted = NULL;
    *count = 0;
    if (find_row(units, address, &unit) == NULL)
        return NULL;
    for (size_t i = 0; i < MAX_SORTED && sorted == NULL; i++)
        if (units->sorted[i].unit == unit && strcmp(units->sorted[i].file, file) == 0)
            sorted = &units->sorted[i];
    if (sorted == NULL) {
        sorted = &units->sorted[units->next_sorted];
        units->next_sorted = (units->next_sorted + 1) % MAX_SORTED;
        free(sorted->rows);
        *sorted = (struct sorted){.unit = unit, .file = file};
        units->n_steps += unit->n_rows;
        if (!sort_rows(unit, sorted)) {
            free(sorted->rows); /* of a part of them another function would follow */
            *sorted = (struct sorted){0};
        }
    }
    *count = sorted->count;
    return sorted->rows;
}

bool tg_debug_units_reaches(struct tg_debug_units *units, Dwarf_Die *function, const char *file, int line,
                            uint64_t max_steps)
{
    Dwarf_Addr base, start, end;
    const uint64_t begun = units->n_steps;
    const char *last = NULL; /* file of the row before */
    bool is_same = false;
    for (ptrdiff_t at = 0; (at = dwarf_ranges(function, at, &base, &start, &end)) > 0;) {
        struct unit *unit = unit_at(units, start + units->delta);
        units->n_steps++;
        if (unit != NULL)
            read_rows(units, unit);
        size_t i = unit == NULL ? 0 : TG_LOWER_BOUND(unit->rows, unit->n_rows, address, start + units->delta);
        for (; unit != NULL && i + 1 < unit->n_rows && unit->rows[i].address < end + units->delta; i++) {
            const struct row *row = &unit->rows[i];
            if (units->n_steps++ - begun >= max_steps)
                return false;
            if (row->line <= line || !is_code_row(row))
                continue;
            if (row->file != last)
                is_same = is_of_file(row, file);
            last = row->file;
            if (is_same)
                return true;
        }
        if (units->n_steps - begun >= max_steps)
            return false;
    }
    return false;
}
