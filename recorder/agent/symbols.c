#include "recorder/agent/symbols.h"

#include <elf.h>
#include <stddef.h>

enum { HIDDEN_VERSION = 0x8000 };

bool tg_agent_symbols_read(uintptr_t base, const ElfW(Dyn) * dynamic, struct tg_agent_symbols *symbols)
{
    *symbols = (struct tg_agent_symbols){.base = base, .dynamic = dynamic};
    for (const ElfW(Dyn) *entry = dynamic; entry != NULL && entry->d_tag != DT_NULL; entry++) {
        uintptr_t address = entry->d_un.d_ptr;
        if (address < base) /* the loader has not relocated this one: the vdso */
            address += base;
        if (entry->d_tag == DT_SYMTAB)
            symbols->table = (const ElfW(Sym) *)address; // NOLINT: an address
        else if (entry->d_tag == DT_STRTAB)
            symbols->names = (const char *)address; // NOLINT: an address
        else if (entry->d_tag == DT_VERSYM)
            symbols->versions = (const uint16_t *)address; // NOLINT: an address
        else if (entry->d_tag == DT_GNU_HASH)
            symbols->gnu_hash = (const uint32_t *)address; // NOLINT: an address
    }
    return symbols->table != NULL && symbols->names != NULL && symbols->gnu_hash != NULL;
}

bool tg_agent_symbols_hash_table(const struct tg_agent_symbols *symbols, struct tg_agent_hash_table *table)
{
    const uint32_t *words = symbols->gnu_hash;
    table->n_buckets = words[0];
    table->first = words[1];
    table->n_words = words[2];
    table->shift = words[3];
    table->bloom = (const uint64_t *)(const void *)(words + 4);
    table->buckets = (const uint32_t *)(const void *)(table->bloom + table->n_words);
    table->chain = table->buckets + table->n_buckets;
    return table->n_buckets != 0 && table->n_words != 0;
}

static bool is_same(const char *one, const char *other)
{
    while (*one != '\0' && *one == *other)
        one++, other++;
    return *one == *other;
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
           is_same(symbols->names + symbol->st_name, name);
}

uint32_t tg_agent_symbols_index(const struct tg_agent_symbols *symbols, const char *name, uint32_t hash)
{
    struct tg_agent_hash_table table;
    if (!tg_agent_symbols_hash_table(symbols, &table))
        return 0;
    uint64_t bits = UINT64_C(1) << hash % 64 | UINT64_C(1) << (hash >> table.shift) % 64;
    if ((table.bloom[hash / 64 & (table.n_words - 1)] & bits) != bits)
        return 0;
    uint32_t index = table.buckets[hash % table.n_buckets];
    if (index < table.first)
        return 0;
    for (;; index++) {
        uint32_t found = table.chain[index - table.first];
        if ((found | 1) == (hash | 1) && matches(symbols, index, name))
            return index;
        if ((found & 1) != 0)
            return 0;
    }
}
