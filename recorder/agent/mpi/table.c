#include "recorder/agent/mpi/table.h"

enum { KEY_FREE, KEY_TAKEN_OUT, KEY_BEING_FILLED };

static uint64_t scramble(uint64_t x)
{
    x ^= x >> 33;
    x *= UINT64_C(0xff51afd7ed558ccd);
    x ^= x >> 33;
    x *= UINT64_C(0xc4ceb9fe1a85ec53);
    return x ^ x >> 33;
}

uint64_t tg_mpi_mix(uint64_t a, uint64_t b, uint64_t c)
{
    enum { SMALLEST = 16 };
    uint64_t mixed = scramble(a + UINT64_C(0x9e3779b97f4a7c15));
    mixed = scramble(mixed ^ (b + UINT64_C(0xbf58476d1ce4e5b9)));
    mixed = scramble(mixed ^ (c + UINT64_C(0x94d049bb133111eb)));
    return mixed < SMALLEST ? mixed + SMALLEST : mixed;
}

static struct tg_mpi_entry *place(const struct tg_mpi_table *table, uint64_t key, size_t i)
{
    return &table->entries[(tg_mpi_table_hash(key) + i) & (table->n_entries - 1)];
}

static uint64_t key_of(const struct tg_mpi_entry *entry)
{
    return __atomic_load_n(&entry->key, __ATOMIC_ACQUIRE);
}

static void write_words(struct tg_mpi_entry *entry, const uint64_t words[TG_MPI_TABLE_WORDS])
{
    for (size_t i = 0; i < TG_MPI_TABLE_WORDS; i++)
        __atomic_store_n(&entry->words[i], words[i], __ATOMIC_RELAXED);
}

static void read_words(const struct tg_mpi_entry *entry, uint64_t words[TG_MPI_TABLE_WORDS])
{
    for (size_t i = 0; i < TG_MPI_TABLE_WORDS; i++)
        words[i] = __atomic_load_n(&entry->words[i], __ATOMIC_RELAXED);
}

struct tg_mpi_entry *tg_mpi_table_look_for(const struct tg_mpi_table *table, uint64_t key)
{
    for (size_t i = 0; i < TG_MPI_TABLE_PROBES; i++) {
        struct tg_mpi_entry *entry = place(table, key, i);
        uint64_t found = key_of(entry);
        if (found == key)
            return entry;
        if (found == KEY_FREE)
            return NULL;
    }
    return NULL;
}

static bool claim(struct tg_mpi_entry *entry, uint64_t as_it_is)
{
    return __atomic_compare_exchange_n(&entry->key, &as_it_is, KEY_BEING_FILLED, false, __ATOMIC_ACQ_REL,
                                       __ATOMIC_RELAXED);
}

static void fill(struct tg_mpi_entry *entry, uint64_t key, const uint64_t words[TG_MPI_TABLE_WORDS])
{
    write_words(entry, words);
    __atomic_store_n(&entry->key, key, __ATOMIC_RELEASE);
}

bool tg_mpi_table_put(struct tg_mpi_table *table, uint64_t key, const uint64_t words[TG_MPI_TABLE_WORDS],
                      enum tg_mpi_when_full when_full)
{
    struct tg_mpi_entry *present = tg_mpi_table_find(table, key);
    if (present != NULL) {
        write_words(present, words);
        return true;
    }
    for (size_t i = 0; i < TG_MPI_TABLE_PROBES; i++) {
        struct tg_mpi_entry *entry = place(table, key, i);
        uint64_t found = key_of(entry);
        if ((found == KEY_FREE || found == KEY_TAKEN_OUT) && claim(entry, found)) {
            fill(entry, key, words);
            return true;
        }
    }
    for (size_t i = 0; when_full == TG_MPI_TABLE_REPLACES && i < TG_MPI_TABLE_PROBES; i++) {
        struct tg_mpi_entry *entry = place(table, key, i);
        uint64_t found = key_of(entry);
        if (found != KEY_BEING_FILLED && claim(entry, found)) {
            fill(entry, key, words);
            return true;
        }
    }
    return false;
}

bool tg_mpi_table_take(struct tg_mpi_table *table, uint64_t key, uint64_t words[TG_MPI_TABLE_WORDS])
{
    struct tg_mpi_entry *entry = tg_mpi_table_find(table, key);
    if (entry == NULL)
        return false;
    read_words(entry, words);
    return __atomic_compare_exchange_n(&entry->key, &key, KEY_TAKEN_OUT, false, __ATOMIC_ACQ_REL,
                                       __ATOMIC_RELAXED);
}
