#include "format/image/debug_blocks.h"

#include "format/base/array.h"
#include "format/image/file.h"
#include "format/image/mangled_name.h"

#include <dwarf.h>
#include <elfutils/libdwelf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    MAX_DEPTH = 256,    /* of nested blocks that are looked into */
    MAX_DIES = 4 << 20, /* of one unit */
    MAX_UNITS = 1 << 20,
    MAX_BUILD_ID_BYTES = 64,
};
static const uint64_t MAX_DEBUG_BYTES = UINT64_C(512) << 20;
static const uint64_t MAX_INFLATION = 1100; /* deflate cannot do more than 1032 to 1 */

/* A piece of a copy of an inlined function. */
struct piece {
    uint64_t start, end;
    Dwarf_Off copy;
};

struct unit {
    uint64_t line_offset;
    Dwarf_Off die;
    bool has_pieces;      /* PIECES have been read */
    struct piece *pieces; /* pieces of a copy within a copy come after those of the outer one */
    size_t n_pieces;
};

struct tg_debug_blocks {
    Elf *elf;
    Dwarf *dwarf;
    struct tg_elf_object *shared; /* NULL: none; what the object's DWARF has in common with others' (dwz) */
    Elf *shared_elf;
    Dwarf *shared_dwarf;
    struct unit *units; /* by line_offset */
    size_t n_units;
};

bool tg_debug_blocks_is_moderate(struct tg_elf_object *object)
{
    uint64_t total = 0;
    for (uint32_t i = 0; i < TG_ELF_MAX_SECTIONS; i++) {
        const struct tg_elf_section *section = tg_elf_object_section_at(object, i);
        if (section == NULL && i >= object->n_sections)
            break;
        if (section == NULL || section->type != SHT_PROGBITS || (section->flags & SHF_ALLOC) != 0)
            continue;
        uint64_t size = section->size;
        uint8_t header[sizeof(Elf64_Chdr)];
        if ((section->flags & SHF_COMPRESSED) != 0 && size >= sizeof header &&
            tg_elf_object_read(object, section->offset, header, sizeof header)) {
            uint64_t inflated = object->header.bits == 64
                                    ? tg_elf_u64(header + offsetof(Elf64_Chdr, ch_size))
                                    : tg_elf_u32(header + offsetof(Elf32_Chdr, ch_size));
            if (inflated / MAX_INFLATION > size)
                return false;
            size = inflated;
        }
        if (size > MAX_DEBUG_BYTES - total)
            return false;
        total += size;
    }
    return true;
}

static int compare_units(const void *a, const void *b)
{
    const struct unit *x = a, *y = b;
    return x->line_offset < y->line_offset ? -1 : x->line_offset > y->line_offset;
}

static bool read_units(struct tg_debug_blocks *blocks)
{
    Dwarf_CU *cu = NULL;
    Dwarf_Die die;
    uint8_t type;
    size_t capacity = 0;
    while (blocks->n_units < MAX_UNITS &&
           dwarf_get_units(blocks->dwarf, cu, &cu, NULL, &type, &die, NULL) == 0) {
        Dwarf_Attribute attribute;
        Dwarf_Word value;
        if ((type != DW_UT_compile && type != DW_UT_skeleton) ||
            dwarf_attr(&die, DW_AT_stmt_list, &attribute) == NULL || dwarf_formudata(&attribute, &value) != 0)
            continue;
        const struct unit unit = {.line_offset = value, .die = dwarf_dieoffset(&die)};
        if (TG_ARRAY_APPEND(blocks->units, blocks->n_units, capacity, unit) != NULL)
            return false;
    }
    if (blocks->n_units > 0)
        qsort(blocks->units, blocks->n_units, sizeof *blocks->units, compare_units);
    return true;
}

/* The file that .gnu_debugaltlink names; -1: there is none that is as safe to open as other files are. */
static int open_shared(const char *name, const uint8_t *build_id, size_t n_build_id)
{
    char path[64 + 2 * MAX_BUILD_ID_BYTES];
    uint64_t size;
    if (n_build_id < 2 || n_build_id > MAX_BUILD_ID_BYTES)
        return -1;
    int length = snprintf(path, sizeof path, "/usr/lib/debug/.build-id/%02x/", build_id[0]);
    for (size_t i = 1; i < n_build_id; i++)
        length += snprintf(path + length, sizeof path - (size_t)length, "%02x", build_id[i]);
    snprintf(path + length, sizeof path - (size_t)length, ".debug");
    int place = tg_image_file_open_here(path);
    int fd = place < 0 ? -1 : tg_image_file_read(place);
    return fd >= 0 ? fd : tg_image_file_read_here(name, &size);
}

/* libdw would open the file that the object's DWARF shares with others by its name, whatever that is, and wait for a pipe.
 * False: there is such a name, and no such file. */
static bool find_shared(struct tg_debug_blocks *blocks)
{
    const char *name;
    const void *wanted, *found;
    ssize_t n_wanted = dwelf_dwarf_gnu_debugaltlink(blocks->dwarf, &name, &wanted);
    if (n_wanted <= 0)
        return true;
    int fd = open_shared(name, wanted, (size_t)n_wanted);
    if (fd < 0)
        return false;
    struct tg_error *error = tg_elf_object_open_fd(fd, &blocks->shared);
    if (error != NULL) {
        tg_error_destroy(error);
        blocks->shared = NULL;
        return false;
    }
    if (tg_elf_object_section(blocks->shared, ".gnu_debugaltlink") != NULL ||
        !tg_debug_blocks_is_moderate(blocks->shared))
        return false;
    blocks->shared_elf = elf_begin(blocks->shared->fd, ELF_C_READ, NULL);
    if (blocks->shared_elf == NULL || dwelf_elf_gnu_build_id(blocks->shared_elf, &found) != n_wanted ||
        memcmp(found, wanted, (size_t)n_wanted) != 0)
        return false;
    blocks->shared_dwarf = dwarf_begin_elf(blocks->shared_elf, DWARF_C_READ, NULL);
    if (blocks->shared_dwarf == NULL)
        return false;
    dwarf_setalt(blocks->dwarf, blocks->shared_dwarf);
    return true;
}

struct tg_debug_blocks *tg_debug_blocks_create(struct tg_elf_object *object)
{
    if (object->fd < 0 || !tg_debug_blocks_is_moderate(object))
        return NULL;
    struct tg_debug_blocks *blocks = calloc(1, sizeof *blocks);
    if (blocks == NULL)
        return NULL;
    (void)elf_version(EV_CURRENT);
    blocks->elf = elf_begin(object->fd, ELF_C_READ, NULL); /* pread, not mmap: format/image/elf_object.h */
    blocks->dwarf = blocks->elf == NULL ? NULL : dwarf_begin_elf(blocks->elf, DWARF_C_READ, NULL);
    if (blocks->dwarf == NULL || !find_shared(blocks) || !read_units(blocks)) {
        tg_debug_blocks_destroy(blocks);
        return NULL;
    }
    return blocks;
}

void tg_debug_blocks_destroy(struct tg_debug_blocks *blocks)
{
    if (blocks == NULL)
        return;
    dwarf_end(blocks->dwarf);
    elf_end(blocks->elf);
    dwarf_end(blocks->shared_dwarf);
    elf_end(blocks->shared_elf);
    tg_elf_object_destroy(blocks->shared);
    for (size_t i = 0; i < blocks->n_units; i++)
        free(blocks->units[i].pieces);
    free(blocks->units);
    free(blocks);
}

Dwarf *tg_debug_blocks_dwarf(const struct tg_debug_blocks *blocks)
{
    return blocks->dwarf;
}

static struct unit *unit_at(struct tg_debug_blocks *blocks, uint64_t line_offset)
{
    struct unit key = {.line_offset = line_offset};
    return blocks->n_units == 0
               ? NULL
               : bsearch(&key, blocks->units, blocks->n_units, sizeof *blocks->units, compare_units);
}

static bool find_unit(struct tg_debug_blocks *blocks, uint64_t line_offset, Dwarf_Die *die)
{
    const struct unit *unit = unit_at(blocks, line_offset);
    return unit != NULL && dwarf_offdie(blocks->dwarf, unit->die, die) != NULL;
}

const char *tg_debug_blocks_directory(struct tg_debug_blocks *blocks, uint64_t line_offset)
{
    Dwarf_Die unit;
    Dwarf_Attribute attribute;
    if (!find_unit(blocks, line_offset, &unit) || dwarf_attr(&unit, DW_AT_comp_dir, &attribute) == NULL)
        return NULL;
    return dwarf_formstring(&attribute);
}

static bool is_block(int tag)
{
    return tag == DW_TAG_subprogram || tag == DW_TAG_inlined_subroutine || tag == DW_TAG_lexical_block;
}

/* Whether a block or function definition can be inside of it. */
static bool can_hold_blocks(int tag)
{
    return is_block(tag) || tag == DW_TAG_namespace || tag == DW_TAG_module || tag == DW_TAG_class_type ||
           tag == DW_TAG_structure_type || tag == DW_TAG_try_block || tag == DW_TAG_catch_block;
}

/* Marks the addresses that DIE holds; a later call for a deeper DIE overwrites. Returns whether it holds any,
 * or has no addresses of its own (an abstract function, a namespace: look inside). */
static bool mark(Dwarf_Die *die, const uint64_t *addresses, uint64_t *innermost, size_t count)
{
    Dwarf_Addr base, start, end;
    ptrdiff_t at = 0;
    bool any_range = false, any = false;
    while ((at = dwarf_ranges(die, at, &base, &start, &end)) > 0) {
        any_range = true;
        for (size_t i = 0; i < count; i++) {
            if (addresses[i] >= start && addresses[i] < end) {
                innermost[i] = dwarf_dieoffset(die);
                any = true;
            }
        }
    }
    return any || !any_range;
}

void tg_debug_blocks_innermost(struct tg_debug_blocks *blocks, uint64_t line_offset,
                               const uint64_t *addresses, uint64_t *innermost, size_t count)
{
    memset(innermost, 0, count * sizeof *innermost);
    Dwarf_Die path[MAX_DEPTH]; /* from the unit down to the DIE in hand; no recursion: the depth is the file's
                                  choice */
    if (!find_unit(blocks, line_offset, &path[0]) || dwarf_child(&path[0], &path[1]) != 0)
        return;
    size_t depth = 1;
    for (unsigned seen = 0; depth > 0 && seen < MAX_DIES; seen++) {
        Dwarf_Die *die = &path[depth];
        int tag = dwarf_tag(die);
        bool inside = can_hold_blocks(tag) && (!is_block(tag) || mark(die, addresses, innermost, count));
        if (inside && depth + 1 < MAX_DEPTH && dwarf_child(die, &path[depth + 1]) == 0) {
            depth++;
            continue;
        }
        while (depth > 0 && dwarf_siblingof(&path[depth], &path[depth]) != 0)
            depth--;
    }
}

/* ---- copies of inlined functions */

enum { MAX_LOOKED_AT = 2000 * 1000, MAX_COPY_DEPTH = 64 }; /* a look must not take longer than a second */

struct copies {
    const char *name; /* of the function, as people write it */
    const char *last; /* last part of NAME */
    bool is_fortran;  /* the unit in hand, where procedures are inside of others */
    Dwarf_Off function;
    unsigned n_looked_at;
    struct tg_address_set *found;
};

/* Where a copy is come to. Compilers may say an instruction in front of it: then, or where they say none, that is where its
 * first piece begins. */
static bool entry_of(Dwarf_Die *copy, Dwarf_Addr *entry)
{
    Dwarf_Addr base, end;
    if (dwarf_entrypc(copy, entry) == 0 && dwarf_haspc(copy, *entry) == 1)
        return true;
    return dwarf_ranges(copy, 0, &base, entry, &end) > 0;
}

static void add_copy(const struct copies *copies, Dwarf_Die *die)
{
    Dwarf_Attribute attribute;
    Dwarf_Die origin;
    Dwarf_Addr entry;
    if (dwarf_tag(die) == DW_TAG_inlined_subroutine &&
        dwarf_attr(die, DW_AT_abstract_origin, &attribute) != NULL &&
        dwarf_formref_die(&attribute, &origin) != NULL && dwarf_dieoffset(&origin) == copies->function &&
        entry_of(die, &entry))
        tg_address_set_add(copies->found, entry);
}

static void search_copies(struct copies *copies, Dwarf_Die *parent, unsigned depth)
{
    Dwarf_Die die;
    for (int more = dwarf_child(parent, &die); more == 0 && copies->n_looked_at++ < MAX_LOOKED_AT;
         more = dwarf_siblingof(&die, &die)) {
        add_copy(copies, &die);
        if (depth < MAX_COPY_DEPTH && can_hold_blocks(dwarf_tag(&die)))
            search_copies(copies, &die, depth + 1);
    }
}

/* Whether DIE is what a compiler says once of the function whose code it has put into its callers. */
static bool is_inlined(const struct copies *copies, Dwarf_Die *die)
{
    Dwarf_Attribute attribute;
    struct tg_mangled_name mangled;
    if (dwarf_tag(die) != DW_TAG_subprogram || !dwarf_hasattr(die, DW_AT_inline))
        return false;
    const char *own = dwarf_diename(die);
    size_t length = strlen(copies->last);
    if (own == NULL)
        return false;
    if (strcmp(own, copies->name) == 0)
        return true;
    own += *own == '~';
    if (strncmp(own, copies->last, length) != 0 || (own[length] != '\0' && own[length] != '<'))
        return false; /* B<double> is found by B, too */
    const char *symbol = dwarf_attr_integrate(die, DW_AT_linkage_name, &attribute) == NULL
                             ? NULL
                             : dwarf_formstring(&attribute);
    return symbol != NULL && tg_mangled_name_parse(symbol, &mangled) &&
           tg_mangled_name_ends_with(&mangled, copies->name);
}

static void search_functions(struct copies *copies, Dwarf_Die *unit, Dwarf_Die *parent, unsigned depth)
{
    Dwarf_Die die;
    for (int more = dwarf_child(parent, &die); more == 0 && copies->n_looked_at++ < MAX_LOOKED_AT;
         more = dwarf_siblingof(&die, &die)) {
        int tag = dwarf_tag(&die);
        if (is_inlined(copies, &die)) {
            copies->function = dwarf_dieoffset(&die);
            search_copies(copies, unit, 0);
        }
        if (depth < MAX_COPY_DEPTH && (tag == DW_TAG_namespace || tag == DW_TAG_module ||
                                       (tag == DW_TAG_subprogram && copies->is_fortran)))
            search_functions(copies, unit, &die, depth + 1);
    }
}

static bool is_fortran(Dwarf_Die *unit)
{
    int language = dwarf_srclang(unit);
    return language == DW_LANG_Fortran77 || language == DW_LANG_Fortran90 || language == DW_LANG_Fortran95 ||
           language == DW_LANG_Fortran03 || language == DW_LANG_Fortran08;
}

void tg_debug_blocks_find_copies(struct tg_debug_blocks *blocks, const char *name,
                                 struct tg_address_set *found)
{
    struct copies copies = {.name = name, .last = tg_mangled_name_last(name), .found = found};
    for (size_t i = 0; i < blocks->n_units; i++) {
        Dwarf_Die unit;
        if (dwarf_offdie(blocks->dwarf, blocks->units[i].die, &unit) == NULL)
            continue;
        copies.is_fortran = is_fortran(&unit);
        search_functions(&copies, &unit, &unit, 0);
    }
}

/* ---- inlined functions at an address */

struct pieces {
    struct unit *unit;
    size_t capacity;
    unsigned n_looked_at;
};

/* Without memory fewer are known. */
static void add_pieces(struct pieces *pieces, Dwarf_Die *copy)
{
    Dwarf_Addr base, start, end;
    for (ptrdiff_t at = 0; (at = dwarf_ranges(copy, at, &base, &start, &end)) > 0;) {
        const struct piece piece = {.start = start, .end = end, .copy = dwarf_dieoffset(copy)};
        tg_error_destroy(
            TG_ARRAY_APPEND(pieces->unit->pieces, pieces->unit->n_pieces, pieces->capacity, piece));
    }
}

static void search_pieces(struct pieces *pieces, Dwarf_Die *parent, unsigned depth)
{
    Dwarf_Die die;
    for (int more = dwarf_child(parent, &die); more == 0 && pieces->n_looked_at++ < MAX_LOOKED_AT;
         more = dwarf_siblingof(&die, &die)) {
        if (dwarf_tag(&die) == DW_TAG_inlined_subroutine)
            add_pieces(pieces, &die);
        if (depth < MAX_COPY_DEPTH && can_hold_blocks(dwarf_tag(&die)) && !dwarf_hasattr(&die, DW_AT_inline))
            search_pieces(pieces, &die, depth + 1);
    }
}

/* The name of a copy's function as the linker has it, or as it is written. */
static const char *name_of_copy(Dwarf_Die *copy)
{
    Dwarf_Attribute attribute;
    const char *name = dwarf_attr_integrate(copy, DW_AT_linkage_name, &attribute) == NULL
                           ? NULL
                           : dwarf_formstring(&attribute);
    return name != NULL ? name : dwarf_diename(copy);
}

const char *tg_debug_blocks_inlined_at(struct tg_debug_blocks *blocks, uint64_t line_offset, uint64_t address,
                                       uint64_t *offset)
{
    struct unit *unit = unit_at(blocks, line_offset);
    Dwarf_Die die;
    if (unit == NULL)
        return NULL;
    if (!unit->has_pieces && dwarf_offdie(blocks->dwarf, unit->die, &die) != NULL) {
        struct pieces pieces = {.unit = unit};
        unit->has_pieces = true;
        search_pieces(&pieces, &die, 0);
    }
    for (size_t i = unit->n_pieces; i-- > 0;) {
        const struct piece *piece = &unit->pieces[i];
        if (address < piece->start || address >= piece->end ||
            dwarf_offdie(blocks->dwarf, piece->copy, &die) == NULL)
            continue;
        const char *name = name_of_copy(&die);
        if (name == NULL ||
            *name == '.') /* the body of a clang region in the function that the runtime calls */
            continue;
        *offset = address - piece->start;
        return name;
    }
    return NULL;
}
