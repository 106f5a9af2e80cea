/* The dynamic section of an ELF object: the names it gives and needs, and lookups by name through its hash
 * tables, which read the few words that they need and never the symbol table. (System V gABI, chapter 5; the
 * GNU hash section as binutils and glibc have it.) */
#ifndef TG_FORMAT_IMAGE_DYNAMIC_SECTION_H
#define TG_FORMAT_IMAGE_DYNAMIC_SECTION_H

#include "format/image/address_set.h"
#include "format/image/elf_object.h"

enum { TG_DYNAMIC_MAX_NEEDED = 4096 };

/* Filled by init; the caller's storage. Addresses are virtual, 0 where the object has no such table. */
struct tg_dynamic_section {
    uint64_t address;
    char *soname; /* NULL: none */
    char *rpath;
    char *runpath;
    char **needed;
    size_t n_needed;

    uint64_t strings_at, strings_size;
    uint64_t symbols_at;
    uint64_t hash_at, gnu_hash_at;
    uint64_t versions_at, version_definitions_at, n_version_definitions;

    /* header of the GNU hash section */
    uint32_t n_buckets, first_symbol, n_bloom, bloom_shift;
};

/* RELOCATED_BY: what the dynamic loader may have added to the addresses in the section (the load bias of a
 * copy from memory), 0 for a file. An object without a (sound) dynamic section gives an empty one. Error: no
 * memory. */
struct tg_error *tg_dynamic_section_init(struct tg_dynamic_section *dynamic,
                                         const struct tg_elf_object *object, uint64_t relocated_by);
void tg_dynamic_section_deinit(struct tg_dynamic_section *dynamic);

/* Adds the functions NAME (VERSION NULL: of every version) that OBJECT defines. OBJECT is that of init. */
void tg_dynamic_section_find(const struct tg_dynamic_section *dynamic, const struct tg_elf_object *object,
                             const char *name, const char *version, struct tg_address_set *addresses);

/* Number of entries of the symbol table as the hash tables tell it, 0 unknown. Walks a whole table: not for
 * hot paths. */
uint64_t tg_dynamic_section_symbol_count(const struct tg_dynamic_section *dynamic,
                                         const struct tg_elf_object *object);

/* Whether SYMBOL of OBJECT is something that a function breakpoint can be planted at. */
bool tg_symbol_is_function(const struct tg_elf_object *object, const struct tg_elf_symbol *symbol);

#endif
