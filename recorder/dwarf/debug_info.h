/* Debug information of one object: its DWARF, its unwind tables, its symbols. */
#ifndef TG_RECORDER_DWARF_DEBUG_INFO_H
#define TG_RECORDER_DWARF_DEBUG_INFO_H

#include "format/image/debug_units.h"
#include "format/image/image.h"
#include "recorder/dwarf/code_places.h"
#include "recorder/dwarf/name_index.h"
#include "recorder/dwarf/unwind_rules.h"

#include <elfutils/libdw.h>

/* Of one image, for all processes that map it (they come from a cache: recorder/dwarf/debug_cache.h).
 * Everything is read at the first question; not thread-safe. Addresses are the image's own: those of memory
 * less the load bias. The files are untrusted: what is too large or broken is as if it were not there. */
struct tg_debug_info;

/* Takes one more reference to IMAGE. The caller owns one reference to the result. */
struct tg_error *tg_debug_info_create(struct tg_image *image, struct tg_debug_info **info);
struct tg_debug_info *tg_debug_info_ref(struct tg_debug_info *info);
/* NULL is accepted. */
void tg_debug_info_unref(struct tg_debug_info *info);

/* Symbols, lines to addresses and the like. Valid as long as INFO. */
struct tg_image *tg_debug_info_image(const struct tg_debug_info *info);

/* The DWARF of the file itself, or of its separate debug file (build-id directory, .gnu_debuglink), with
 * .gnu_debugaltlink followed as libdw does; never over the network. NULL where there is none, or more than
 * 512 MiB of it. Valid as long as INFO. */
Dwarf *tg_debug_info_dwarf(struct tg_debug_info *info);

/* Opens the DWARF, if it is not open; what is compressed is inflated until UNTIL_NS (CLOCK_MONOTONIC) at most. Where that is not
 * enough, INFO has none from then on: its symbols remain. */
void tg_debug_info_open_until(struct tg_debug_info *info, uint64_t until_ns);

/* Difference between addresses of that DWARF and of the image: seldom other than 0 (prelink). */
uint64_t tg_debug_info_delta(const struct tg_debug_info *info);

/* Units, functions and lines by address; NULL where there is no DWARF. Valid as long as INFO. */
struct tg_debug_units *tg_debug_info_units(struct tg_debug_info *info);

/* The names of its variables, functions and types; NULL where there is no DWARF. Valid as long as INFO. */
struct tg_name_index *tg_debug_info_names(struct tg_debug_info *info);

/* The unwind table of .eh_frame, as it is mapped; NULL where there is none. Valid as long as INFO. */
Dwarf_CFI *tg_debug_info_eh_frame(struct tg_debug_info *info);

/* Unwind rules at ADDRESS; NULL where there are none. Valid until the next call. */
const struct tg_unwind_rules *tg_debug_info_unwind_rules(struct tg_debug_info *info, uint64_t address);

/* Whether ADDRESS is in an executable segment, and whether it is in a procedure linkage table. */
bool tg_debug_info_is_code(const struct tg_debug_info *info, uint64_t address);
bool tg_debug_info_is_plt(struct tg_debug_info *info, uint64_t address);

/* The name at ADDRESS: of a function, a stub of procedure linkage ("puts@plt"), a variable. NAME is valid
 * as long as INFO. */
bool tg_debug_info_symbol_at(struct tg_debug_info *info, uint64_t address, const char **name,
                             uint64_t *offset);

/* Address of the variable NAME by the symbols of the file itself; 0: it has none. Reads whole symbol tables. */
uint64_t tg_debug_info_variable(const struct tg_debug_info *info, const char *name);

/* Addresses of longjmp and its like, at most MAX; returns how many. */
size_t tg_debug_info_longjmps(struct tg_debug_info *info, uint64_t *addresses, size_t max);
/* The same of what handlers of C++ exceptions call first, the ABI's __cxa_begin_catch. */
size_t tg_debug_info_catches(struct tg_debug_info *info, uint64_t *addresses, size_t max);

/* Functions, inlined ones too, and lines of ADDRESS. Valid until the next call; NULL: no memory. */
const struct tg_code_place *tg_debug_info_place(struct tg_debug_info *info, uint64_t address);

#endif
