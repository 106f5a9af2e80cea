/* A table of bounded size from handles to a few words about them, for many threads at once and without locks
 * or memory from anywhere. What finds no place is not in it: nothing may depend on an entry being there.
 *
 * Zeroed storage is an empty table. */
#ifndef TG_RECORDER_AGENT_MPI_TABLE_H
#define TG_RECORDER_AGENT_MPI_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    TG_MPI_TABLE_PROBES = 32, /* places that a key may have */
    TG_MPI_TABLE_WORDS = 5,
};

struct tg_mpi_entry {
    uint64_t key; /* __atomic; 0 free, 1 taken out, 2 being filled */
    uint64_t words[TG_MPI_TABLE_WORDS];
};

struct tg_mpi_table {
    struct tg_mpi_entry *entries;
    size_t n_entries; /* a power of two */
};

enum tg_mpi_when_full {
    TG_MPI_TABLE_REFUSES,
    TG_MPI_TABLE_REPLACES, /* another key's entry */
};

/* Makes WORDS what is known of KEY (3 or more), in place of what was. False where there is no room. Only one
 * thread at a time may put a KEY; one that looks for it meanwhile finds either. */
bool tg_mpi_table_put(struct tg_mpi_table *table, uint64_t key, const uint64_t words[TG_MPI_TABLE_WORDS],
                      enum tg_mpi_when_full when_full);

/* Where the places of KEY begin. */
static inline uint64_t tg_mpi_table_hash(uint64_t key)
{
    enum { UPPER = 32 };
    return key * UINT64_C(0x9e3779b97f4a7c15) >> UPPER;
}

/* The slow half of what follows: KEY is not at its first place. */
struct tg_mpi_entry *tg_mpi_table_look_for(const struct tg_mpi_table *table, uint64_t key);

/* The entry of KEY, whose words may be changed with __atomic operations while it is in the table; NULL where
 * it is not. */
static inline struct tg_mpi_entry *tg_mpi_table_find(const struct tg_mpi_table *table, uint64_t key)
{
    struct tg_mpi_entry *first = &table->entries[tg_mpi_table_hash(key) & (table->n_entries - 1)];
    return __atomic_load_n(&first->key, __ATOMIC_ACQUIRE) == key ? first : tg_mpi_table_look_for(table, key);
}

/* Takes KEY out and tells what its words were; false: it was not in. */
bool tg_mpi_table_take(struct tg_mpi_table *table, uint64_t key, uint64_t words[TG_MPI_TABLE_WORDS]);

/* Mixes A, B and C into a number that hardly any other three give, never below 16. */
uint64_t tg_mpi_mix(uint64_t a, uint64_t b, uint64_t c);

#endif
