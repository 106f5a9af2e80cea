#include "recorder/agent/deep/pinned.h"

#include <elf.h>
#include <stddef.h>

/* The value of the entry TAG, an address as the loader has it. */
static uintptr_t address_of(const struct link_map *map, int64_t tag)
{
    for (const ElfW(Dyn) *entry = map->l_ld; entry->d_tag != DT_NULL; entry++)
        if (entry->d_tag == tag)
            return entry->d_un.d_ptr < map->l_addr ? map->l_addr + entry->d_un.d_ptr : entry->d_un.d_ptr;
    return 0;
}

static uint64_t number_of(const struct link_map *map, int64_t tag)
{
    for (const ElfW(Dyn) *entry = map->l_ld; entry->d_tag != DT_NULL; entry++)
        if (entry->d_tag == tag)
            return entry->d_un.d_val;
    return 0;
}

/* Whether RELOCATION refers to a unique variable of the object's own. */
static bool is_of_own_unique(const struct link_map *map, const ElfW(Sym) * symbols,
                             const ElfW(Rela) * relocation)
{
    const ElfW(Sym) *symbol = &symbols[ELF64_R_SYM(relocation->r_info)];
    uint64_t type = ELF64_R_TYPE(relocation->r_info);
    if ((type != R_X86_64_GLOB_DAT && type != R_X86_64_64) || symbol->st_shndx == SHN_UNDEF ||
        ELF64_ST_BIND(symbol->st_info) != STB_GNU_UNIQUE)
        return false;
    uint64_t own =
        map->l_addr + symbol->st_value + (type == R_X86_64_64 ? (uint64_t)relocation->r_addend : 0);
    return *(const uint64_t *)(map->l_addr + relocation->r_offset) == own; // NOLINT: an address
}

bool tg_deep_pinned_is(const struct link_map *map)
{
    if ((number_of(map, DT_FLAGS_1) & DF_1_NODELETE) != 0)
        return true;
    const ElfW(Sym) *symbols = (const ElfW(Sym) *)address_of(map, DT_SYMTAB);     // NOLINT: an address
    const ElfW(Rela) *relocations = (const ElfW(Rela) *)address_of(map, DT_RELA); // NOLINT: an address
    size_t count =
        symbols == NULL || relocations == NULL ? 0 : number_of(map, DT_RELASZ) / sizeof *relocations;
    for (size_t i = 0; i < count; i++)
        if (is_of_own_unique(map, symbols, &relocations[i]))
            return true;
    return false;
}
