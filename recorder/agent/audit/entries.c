/* The loader finds a symbol by the hash in its object's DT_GNU_HASH, then compares names. A symbol whose hash
 * there is another one's is not found, and everything else is as it was; the table is a few pages of this
 * process's own copy. The other hash is the complement, so that no name is hashed to hide it: there are 1,700,
 * and every program that starts has them hidden. */
#include "recorder/agent/audit/entries.h"

#include "recorder/agent/audit/raw_system.h"
#include "recorder/agent/contract.h"
#include "recorder/agent/symbols.h"

enum {
    PAGE_BYTES = 4096,
    MAX_SYMBOLS = 1 << 16,
    BEGINNING_BYTES = 4, /* no name of the agent's is shorter */
    LAST_OF_BUCKET = 1,  /* in a hash of the table */
};

/* How the names of entries begin, none of the agent's others begins so: GOMP_, omp_, __kmpc_, MPI_, PMPI_, mpi_,
 * ompi_errhandler_, MPIR_Err_return_. */
static const char beginnings[][BEGINNING_BYTES] = {
    {'G', 'O', 'M', 'P'}, {'o', 'm', 'p', '_'}, {'_', '_', 'k', 'm'}, {'M', 'P', 'I', '_'},
    {'P', 'M', 'P', 'I'}, {'m', 'p', 'i', '_'}, {'o', 'm', 'p', 'i'}, {'M', 'P', 'I', 'R'}};

/* An object with none of these has no other entry either: most have none, and are not asked for each. */
static const char signs[][20] = {"GOMP_barrier", "MPI_Init",      "PMPI_Init",      "mpi_init_",
                                 "mpi_init__",   "mpi_init_f08_", "mpi_init_f08ts_"};

static struct {
    bool is_known;
    struct tg_agent_symbols symbols;
    struct tg_agent_hash_table table;
    uint32_t end; /* behind its last symbol */
} agent;

static uint32_t word_at(const char *text)
{
    uint32_t word;
    __builtin_memcpy(&word, text, sizeof word);
    return word;
}

/* All beginnings are compared, as the names come in no order: a branch for each would be guessed wrong mostly. */
static bool is_entry(const char *name)
{
    uint32_t begins = word_at(name);
    unsigned found = 0;
    for (size_t i = 0; i < sizeof beginnings / sizeof beginnings[0]; i++)
        found |= begins == word_at(beginnings[i]);
    return found != 0;
}

static const char *name_of(uint32_t index)
{
    return agent.symbols.names + agent.symbols.table[index].st_name;
}

/* ---- the agent's table */

static uint32_t find_end(const struct tg_agent_hash_table *table)
{
    uint32_t last = 0;
    for (uint32_t i = 0; i < table->n_buckets; i++)
        last = table->buckets[i] > last ? table->buckets[i] : last;
    if (last < table->first)
        return table->first;
    while ((table->chain[last - table->first] & LAST_OF_BUCKET) == 0 && last < MAX_SYMBOLS)
        last++;
    return last + 1;
}

/* Nothing else is in these pages but what nobody writes to (the agent is linked with separate code). */
static bool make_writable(bool writable)
{
    uintptr_t start = (uintptr_t)agent.table.chain & ~(uintptr_t)(PAGE_BYTES - 1);
    uintptr_t end = (uintptr_t)(agent.table.chain + (agent.end - agent.table.first));
    return tg_raw_protect(start, end - start, PROT_READ | (writable ? PROT_WRITE : 0)) == 0;
}

/* Other threads may be looking for symbols just now. */
static void set(uint32_t index, uint32_t hash)
{
    uint32_t *place = (uint32_t *)(uintptr_t)&agent.table.chain[index - agent.table.first];
    __atomic_store_n(place, (hash & ~(uint32_t)LAST_OF_BUCKET) | (*place & LAST_OF_BUCKET), __ATOMIC_RELAXED);
}

/* At the agent's opening: nobody else looks. */
static void hide_all(void)
{
    if (!make_writable(true))
        return; /* then they are there, as long as that may matter to somebody */
    uint32_t *chain = (uint32_t *)(uintptr_t)agent.table.chain;
    for (uint32_t i = agent.table.first; i < agent.end; i++)
        chain[i - agent.table.first] ^= is_entry(name_of(i)) ? ~(uint32_t)LAST_OF_BUCKET : 0;
    (void)make_writable(false);
}

static void show_those_of(const struct tg_agent_symbols *library)
{
    if (!make_writable(true))
        return;
    for (uint32_t i = agent.table.first; i < agent.end; i++) {
        uint32_t hash = is_entry(name_of(i)) ? tg_agent_symbols_hash(name_of(i)) : 0;
        if (hash != 0 && tg_agent_symbols_index(library, name_of(i), hash) != 0)
            set(i, hash);
    }
    (void)make_writable(false);
}

/* ---- objects */

static bool ends_with(const char *text, const char *end)
{
    const char *at = text, *from = end;
    while (*at != '\0')
        at++;
    while (*from != '\0')
        from++;
    while (from > end && at > text && from[-1] == at[-1])
        from--, at--;
    return from == end;
}

static bool has_entries(const struct tg_agent_symbols *library)
{
    for (size_t i = 0; i < sizeof signs / sizeof signs[0]; i++)
        if (tg_agent_symbols_index(library, signs[i], tg_agent_symbols_hash(signs[i])) != 0)
            return true;
    return false;
}

void tg_audit_entries_opened(const struct link_map *map)
{
    struct tg_agent_symbols symbols;
    if (!tg_agent_symbols_read(map->l_addr, map->l_ld, &symbols))
        return;
    if (agent.is_known) {
        if (has_entries(&symbols))
            show_those_of(&symbols);
    } else if (map->l_name != NULL && ends_with(map->l_name, "/" TG_AGENT_LIBRARY) &&
               tg_agent_symbols_hash_table(&symbols, &agent.table)) {
        agent.symbols = symbols;
        agent.end = find_end(&agent.table);
        agent.is_known = true;
        hide_all();
    }
}
