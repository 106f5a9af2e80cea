#include "recorder/agent/audit/needs.h"

#include <elf.h>

static uint32_t hash_of(const char *name)
{
    uint32_t hash = 5381;
    for (const unsigned char *c = (const unsigned char *)name; *c != '\0'; c++)
        hash = hash * 33 + *c;
    return hash;
}

/* The loader relocates this address in place, but not where the section cannot be written to. */
static const char *strings_of(const struct link_map *map)
{
    for (const ElfW(Dyn) *entry = map->l_ld; entry != NULL && entry->d_tag != DT_NULL; entry++)
        if (entry->d_tag == DT_STRTAB)
            return (const char *)(entry->d_un.d_ptr < map->l_addr ? map->l_addr + entry->d_un.d_ptr
                                                                  : entry->d_un.d_ptr); // NOLINT: an address
    return NULL;
}

void tg_audit_needs_add(struct tg_audit_needs *needs, const struct link_map *map)
{
    const char *strings = strings_of(map);
    if (strings == NULL)
        return;
    for (const ElfW(Dyn) *entry = map->l_ld; entry->d_tag != DT_NULL; entry++)
        if (entry->d_tag == DT_NEEDED && needs->count < TG_AUDIT_MAX_NEEDS)
            needs->hashes[needs->count++] = hash_of(strings + entry->d_un.d_val);
}

static bool has(const struct tg_audit_needs *needs, const char *name)
{
    uint32_t hash = hash_of(name);
    for (size_t i = 0; i < needs->count; i++)
        if (needs->hashes[i] == hash)
            return true;
    return false;
}

bool tg_audit_needs_has(const struct tg_audit_needs *needs, const struct link_map *map)
{
    const char *last = map->l_name;
    for (const char *c = map->l_name; *c != '\0'; c++)
        if (*c == '/')
            last = c + 1;
    if (has(needs, last) || has(needs, map->l_name))
        return true;
    const char *strings = strings_of(map);
    for (const ElfW(Dyn) *entry = map->l_ld; strings != NULL && entry->d_tag != DT_NULL; entry++)
        if (entry->d_tag == DT_SONAME)
            return has(needs, strings + entry->d_un.d_val);
    return false;
}
