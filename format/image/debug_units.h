/* Compilation units, functions, blocks and lines of an object's DWARF, by address. */
#ifndef TG_FORMAT_IMAGE_DEBUG_UNITS_H
#define TG_FORMAT_IMAGE_DEBUG_UNITS_H

#include <elfutils/libdw.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* An index of its own: .debug_aranges is not there for every unit (clang leaves it out), and libdw walks a
 * unit's whole tree for each question. Units are listed at creation, functions and lines of a unit at the
 * first question about it. Not thread-safe. DIEs and strings handed out are valid as long as the Dwarf. */
struct tg_debug_units;

enum tg_debug_units_files {
    TG_DEBUG_UNITS_OWN_FILE, /* of split units there is what the skeleton has: mostly the lines alone */
    TG_DEBUG_UNITS_NAMED_FILES, /* libdw opens what skeletons name, whatever that is: for programs of one's own that run */
};

/* Addresses asked for and answered are those of DWARF plus DELTA. Code whose address IS_CODE denies is left
 * out: functions that the linker dropped. DWARF must outlive the result. NULL: no memory. */
struct tg_debug_units *tg_debug_units_create(Dwarf *dwarf, uint64_t delta,
                                             bool (*is_code)(void *context, uint64_t address), void *context,
                                             enum tg_debug_units_files files);
void tg_debug_units_destroy(struct tg_debug_units *units);

/* The unit that has code at ADDRESS; of split DWARF the split unit, where files that DWARF names are opened. */
bool tg_debug_units_find(struct tg_debug_units *units, uint64_t address, Dwarf_Die *unit);

/* The function (DW_TAG_subprogram, not an inlined copy) that has code at ADDRESS. */
bool tg_debug_units_function_at(struct tg_debug_units *units, uint64_t address, Dwarf_Die *function);

/* The blocks that hold ADDRESS, innermost first: lexical blocks, inlined copies (DW_TAG_inlined_subroutine),
 * last the function itself. At most MAX, the outermost ones left out; returns how many. */
size_t tg_debug_units_scopes_at(struct tg_debug_units *units, uint64_t address, Dwarf_Die *scopes,
                                size_t max);

/* How much was looked at in UNITS for the questions whose cost is the file's choice: DIEs, ranges and rows. */
uint64_t tg_debug_units_steps(const struct tg_debug_units *units);

/* The name of a function or inlined copy, through its abstract origin: as the program has it (in C++ and
 * Fortran without its scopes). NULL where it has none. */
const char *tg_debug_units_function_name(Dwarf_Die *function);

/* The first instruction of FUNCTION; false where there is no code. */
bool tg_debug_units_entry(const struct tg_debug_units *units, Dwarf_Die *function, uint64_t *address);

/* The file that DIE, of a function or a variable, is declared in, as the unit's line table names it; NULL where that is not
 * known. (libdw's dwarf_decl_file() ends the process where the unit is one of split DWARF.) */
const char *tg_debug_units_declaring_file(Dwarf_Die *die);

/* Call site of an inlined copy: the file as the unit's line table names it, and the line. */
bool tg_debug_units_call_site(Dwarf_Die *inlined, const char **file, int *line);

/* The code from START up to END comes from one row of the line table. Code without a line (number 0) counts
 * to the row before it. */
struct tg_debug_row {
    uint64_t start, end;
    const char *file; /* absolute where the directory is known; one pointer for one file of one unit */
    int line;
    bool is_stmt; /* START is a recommended place for a breakpoint */
};

/* The row that holds ADDRESS; of several that start there the last one, but one that is_stmt before
 * others. */
bool tg_debug_units_row_at(struct tg_debug_units *units, uint64_t address, struct tg_debug_row *row);

/* The line that the code at ADDRESS, which may be within an instruction, comes from: of several rows that start at one place the
 * last one has the code, the others have none. */
bool tg_debug_units_line_at(struct tg_debug_units *units, uint64_t address, const char **file, int *line);

/* The rows of code in FILE, in the unit that has code at ADDRESS; the last lines first. FILE is as a declaration has it: where
 * that is relative, it is the end of what rows have; it must live as long as UNITS. *COUNT of them, valid until the next such
 * question; 0 also without memory. */
const struct tg_debug_row *tg_debug_units_rows_of(struct tg_debug_units *units, uint64_t address,
                                                  const char *file, size_t *count);

/* Whether FUNCTION, or inlined copy, has code in FILE behind LINE. False also where that is not found within
 * MAX_STEPS. */
bool tg_debug_units_reaches(struct tg_debug_units *units, Dwarf_Die *function, const char *file, int line,
                            uint64_t max_steps);

#endif
