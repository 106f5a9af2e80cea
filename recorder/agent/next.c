#include "recorder/agent/next.h"

#include <elf.h>
#include <link.h>
#include <string.h>

struct search {
    const char *name;
    uint32_t hash;
    bool behind_us;
    void *found;
};

bool tg_agent_object_symbols(const struct dl_phdr_info *info, struct tg_agent_symbols *symbols)
{
    const ElfW(Dyn) *dynamic = NULL;
    for (int i = 0; i < info->dlpi_phnum; i++)
        if (info->dlpi_phdr[i].p_type == PT_DYNAMIC)
            dynamic = (const ElfW(Dyn) *)(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr);
    return tg_agent_symbols_read(info->dlpi_addr, dynamic, symbols);
}

static void *look_up(const struct tg_agent_symbols *symbols, const char *name, uint32_t hash)
{
    uint32_t index = tg_agent_symbols_index(symbols, name, hash);
    if (index == 0)
        return NULL;
    const ElfW(Sym) *symbol = &symbols->table[index];
    void *address = (void *)(symbols->base + symbol->st_value);
    if (ELF64_ST_TYPE(symbol->st_info) == STT_GNU_IFUNC)
        return ((void *(*)(void))(uintptr_t)address)();
    return address;
}

bool tg_agent_object_holds(const struct dl_phdr_info *info, uintptr_t address)
{
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *header = &info->dlpi_phdr[i];
        if (header->p_type == PT_LOAD && address - (info->dlpi_addr + header->p_vaddr) < header->p_memsz)
            return true;
    }
    return false;
}

static int look_into(struct dl_phdr_info *info, size_t size, void *context)
{
    (void)size;
    struct search *search = context;
    if (!search->behind_us) {
        search->behind_us = tg_agent_object_holds(info, (uintptr_t)&tg_agent_next);
        return 0;
    }
    struct tg_agent_symbols symbols;
    if (tg_agent_object_symbols(info, &symbols))
        search->found = look_up(&symbols, search->name, search->hash);
    return search->found != NULL;
}

void *tg_agent_symbols_find(const struct tg_agent_symbols *symbols, const char *name)
{
    return look_up(symbols, name, tg_agent_symbols_hash(name));
}

void *tg_agent_next(const char *name)
{
    struct search search = {.name = name, .hash = tg_agent_symbols_hash(name)};
    dl_iterate_phdr(look_into, &search);
    return search.found;
}

struct beside {
    const void *object;
    struct search search;
};

static int look_beside(struct dl_phdr_info *info, size_t size, void *context)
{
    struct beside *beside = context;
    if (!tg_agent_object_holds(info, (uintptr_t)beside->object))
        return 0;
    look_into(info, size, &beside->search);
    return 1;
}

void *tg_agent_beside(const void *object, const char *name)
{
    struct beside beside = {
        .object = object,
        .search = {.name = name, .hash = tg_agent_symbols_hash(name), .behind_us = true},
    };
    dl_iterate_phdr(look_beside, &beside);
    return beside.search.found;
}
