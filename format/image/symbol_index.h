/* The functions of one ELF symbol table, indexed by name and by address. */
#ifndef TG_FORMAT_IMAGE_SYMBOL_INDEX_H
#define TG_FORMAT_IMAGE_SYMBOL_INDEX_H

#include "format/image/address_set.h"
#include "format/image/elf_object.h"

#include <stdbool.h>

/* Immutable but for an order by address that is made at the first question for one; not thread-safe. */
struct tg_symbol_index;

/* Reads the symbol table at file offset SYMBOLS_AT (COUNT entries) of OBJECT with its string table, and keeps
 * the functions. Which addresses are code is CODE's to say (a separate debug file has no contents), and DELTA
 * is added to every address first. Tables beyond 64 Mi entries or 1 GiB of names are a LIMIT error; what lies
 * outside of the file an INPUT error. */
struct tg_error *tg_symbol_index_create(const struct tg_elf_object *object, const struct tg_elf_object *code,
                                        uint64_t delta, uint64_t symbols_at, uint64_t count,
                                        uint64_t strings_at, uint64_t strings_size,
                                        struct tg_symbol_index **index);
/* NULL is accepted. */
void tg_symbol_index_destroy(struct tg_symbol_index *index);

/* Adds every function NAME: a symbol NAME@VERSION is found by its bare name, or (VERSION not NULL) by both;
 * the copies that compilers make (NAME.isra.0, .constprop, .part, .lto_priv), and functions that are inside
 * of others (NAME.0), are found by NAME. */
void tg_symbol_index_find(const struct tg_symbol_index *index, const char *name, const char *version,
                          struct tg_address_set *addresses);

/* Adds every C++ function, and procedure of a Fortran module, that NAME means: "f", "b::f", "a::b::f",
 * whatever its parameters and template arguments are, and whatever more is around it. */
void tg_symbol_index_find_mangled(const struct tg_symbol_index *index, const char *name, bool only_fortran,
                                  struct tg_address_set *addresses);

/* The function that holds ADDRESS (the nearest one below where sizes are unknown): its name (valid as long as
 * INDEX, with its version where it has one) and the offset in it. False where there is none. */
bool tg_symbol_index_at(struct tg_symbol_index *index, uint64_t address, const char **name, uint64_t *offset);

#endif
