/* Finding the definition behind the agent's own, without the dynamic loader's help: dlsym would change what
 * dlerror says, and does not see what was opened with RTLD_LOCAL. */
#include "recorder/agent/next.h"

#include "recorder/agent/agent.h"

#include <elf.h>
#include <link.h>
#include <string.h>

enum { HIDDEN_VERSION = 0x8000 };

struct search {
    const char *name;
    uint32_t hash;
    bool behind_us;
    void *found;
};

static uint32_t gnu_hash(const char *name)
{
    uint32_t hash = 5381;
    for (const unsigned char *c = (const unsigned char *)name; *c != '\0'; c++)
        hash = hash * 33 + *c;
    return hash;
}

bool tg_agent_symbols_read(const struct dl_phdr_info *info, struct tg_agent_symbols *symbols)
{
    const ElfW(Dyn) *entry = NULL;
    for (int i = 0; i < info->dlpi_phnum; i++)
        if (info->dlpi_phdr[i].p_type == PT_DYNAMIC)
            entry = (const ElfW(Dyn) *)(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr);
    *symbols = (struct tg_agent_symbols){.base = info->dlpi_addr, .dynamic = entry};
    for (; entry != NULL && entry->d_tag != DT_NULL; entry++) {
        uintptr_t address = entry->d_un.d_ptr;
        if (address < info->dlpi_addr) /* the loader has not relocated this one: the vdso */
            address += info->dlpi_addr;
        if (entry->d_tag == DT_SYMTAB)
            symbols->table = (const ElfW(Sym) *)address;
        else if (entry->d_tag == DT_STRTAB)
            symbols->names = (const char *)address;
        else if (entry->d_tag == DT_VERSYM)
            symbols->versions = (const uint16_t *)address;
        else if (entry->d_tag == DT_GNU_HASH)
            symbols->gnu_hash = (const uint32_t *)address;
    }
    return symbols->table != NULL && symbols->names != NULL && symbols->gnu_hash != NULL;
}

/* A definition that a reference without a version would bind to. */
static bool matches(const struct tg_agent_symbols *symbols, uint32_t index, const char *name)
{
    const ElfW(Sym) *symbol = &symbols->table[index];
    unsigned type = ELF64_ST_TYPE(symbol->st_info), binding = ELF64_ST_BIND(symbol->st_info);
    return symbol->st_shndx != SHN_UNDEF && symbol->st_value != 0 &&
           (type == STT_FUNC || type == STT_OBJECT || type == STT_NOTYPE || type == STT_GNU_IFUNC) &&
           (binding == STB_GLOBAL || binding == STB_WEAK || binding == STB_GNU_UNIQUE) &&
           (symbols->versions == NULL || (symbols->versions[index] & HIDDEN_VERSION) == 0) &&
           strcmp(symbols->names + symbol->st_name, name) == 0;
}

static void *address_of(const struct tg_agent_symbols *symbols, uint32_t index)
{
    const ElfW(Sym) *symbol = &symbols->table[index];
    void *address = (void *)(symbols->base + symbol->st_value);
    if (ELF64_ST_TYPE(symbol->st_info) == STT_GNU_IFUNC)
        return ((void *(*)(void))(uintptr_t)address)();
    return address;
}

/* The table: number of buckets, index of the first symbol in it, words and shift of the bloom filter; the
 * filter, the buckets, and a chain of hashes whose last one in a bucket has its lowest bit set. */
static void *look_up(const struct tg_agent_symbols *symbols, const char *name, uint32_t hash)
{
    const uint32_t *table = symbols->gnu_hash;
    uint32_t n_buckets = table[0], first = table[1], n_words = table[2], shift = table[3];
    if (n_buckets == 0 || n_words == 0)
        return NULL;
    const uint64_t *bloom = (const uint64_t *)(const void *)(table + 4);
    uint64_t bits = UINT64_C(1) << hash % 64 | UINT64_C(1) << (hash >> shift) % 64;
    if ((bloom[hash / 64 & (n_words - 1)] & bits) != bits)
        return NULL;
    const uint32_t *buckets = (const uint32_t *)(const void *)(bloom + n_words);
    const uint32_t *chain = buckets + n_buckets;
    uint32_t index = buckets[hash % n_buckets];
    if (index < first)
        return NULL;
    for (;; index++) {
        uint32_t found = chain[index - first];
        if ((found | 1) == (hash | 1) && matches(symbols, index, name))
            return address_of(symbols, index);
        if ((found & 1) != 0)
            return NULL;
    }
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
    if (tg_agent_symbols_read(info, &symbols))
        search->found = look_up(&symbols, search->name, search->hash);
    return search->found != NULL;
}

void *tg_agent_symbols_find(const struct tg_agent_symbols *symbols, const char *name)
{
    return look_up(symbols, name, gnu_hash(name));
}

void *tg_agent_next(const char *name)
{
    struct search search = {.name = name, .hash = gnu_hash(name)};
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
        .search = {.name = name, .hash = gnu_hash(name), .behind_us = true},
    };
    dl_iterate_phdr(look_beside, &beside);
    return beside.search.found;
}
