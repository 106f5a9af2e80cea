/* The definitions of an object in this process, read from its dynamic section. No libc, async-signal-safe;
 * the object must stay loaded meanwhile. */
#ifndef TG_RECORDER_AGENT_SYMBOLS_H
#define TG_RECORDER_AGENT_SYMBOLS_H

#include <link.h>
#include <stdbool.h>
#include <stdint.h>

/* An object's dynamic symbols. Valid as long as it is loaded. */
struct tg_agent_symbols {
    const ElfW(Sym) * table;
    const char *names;
    const uint16_t *versions; /* NULL: none */
    const uint32_t *gnu_hash;
    const ElfW(Dyn) * dynamic;
    uintptr_t base;
};

/* From the object of load bias BASE, whose dynamic section is DYNAMIC (NULL: none). False where it has no
 * symbols that can be searched: no DT_GNU_HASH. */
bool tg_agent_symbols_read(uintptr_t base, const ElfW(Dyn) * dynamic, struct tg_agent_symbols *symbols);

/* The hash that DT_GNU_HASH is searched by. */
static inline uint32_t tg_agent_symbols_hash(const char *name)
{
    uint32_t hash = 5381;
    for (const unsigned char *c = (const unsigned char *)name; *c != '\0'; c++)
        hash = hash * 33 + *c;
    return hash;
}

/* The index of the definition of NAME, whose hash is HASH, that a reference without a version would bind to;
 * 0: none. */
uint32_t tg_agent_symbols_index(const struct tg_agent_symbols *symbols, const char *name, uint32_t hash);

/* The parts of DT_GNU_HASH: a bloom filter, buckets, and for each symbol from FIRST on its hash, whose lowest
 * bit is set in the last one of its bucket instead. */
struct tg_agent_hash_table {
    const uint64_t *bloom;
    uint32_t n_words, shift; /* bloom filter's */
    const uint32_t *buckets;
    uint32_t n_buckets;
    const uint32_t *chain; /* hashes of symbol FIRST and those behind it */
    uint32_t first;
};

/* False where it is empty. */
bool tg_agent_symbols_hash_table(const struct tg_agent_symbols *symbols, struct tg_agent_hash_table *table);

#endif
