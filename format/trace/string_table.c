#include "format/trace/string_table.h"

#include "format/base/array.h"

#include <stdlib.h>
#include <xxhash.h>

struct tg_string_slot {
    uint32_t hash;
    uint32_t id; /* 0: free */
};

void tg_string_table_deinit(struct tg_string_table *table)
{
    tg_byte_buffer_deinit(&table->text);
    free(table->offsets);
    free(table->slots);
    *table = (struct tg_string_table){0};
}

void tg_string_table_clear(struct tg_string_table *table)
{
    table->text.size = 0;
    table->count = 0;
    if (table->n_slots > 0)
        memset(table->slots, 0, table->n_slots * sizeof *table->slots);
}

static void insert_slot(struct tg_string_slot *slots, uint32_t mask, struct tg_string_slot slot)
{
    uint32_t i = slot.hash & mask;
    while (slots[i].id != 0)
        i = (i + 1) & mask;
    slots[i] = slot;
}

static bool grow_slots(struct tg_string_table *table, size_t wanted)
{
    uint32_t n = table->n_slots == 0 ? 256 : table->n_slots;
    while (n < wanted * 2)
        n *= 2;
    if (n == table->n_slots)
        return true;
    struct tg_string_slot *slots = calloc(n, sizeof *slots);
    if (slots == NULL)
        return false;
    for (uint32_t i = 0; i < table->n_slots; i++)
        if (table->slots[i].id != 0)
            insert_slot(slots, n - 1, table->slots[i]);
    free(table->slots);
    table->slots = slots;
    table->n_slots = n;
    return true;
}

bool tg_string_table_reserve(struct tg_string_table *table, size_t n, size_t text_bytes)
{
    size_t wanted = table->count + n;
    if (wanted > UINT32_MAX / 8 || table->text.size + text_bytes + n > UINT32_MAX)
        return false;
    return TG_ARRAY_RESERVE(table->offsets, table->capacity, wanted) == NULL && grow_slots(table, wanted) &&
           tg_byte_buffer_reserve(&table->text, text_bytes + n);
}

uint32_t tg_string_table_intern(struct tg_string_table *table, const char *text, size_t length)
{
    if (length == 0)
        return 0;
    uint32_t hash = (uint32_t)XXH3_64bits(text, length);
    uint32_t mask = table->n_slots - 1;
    for (uint32_t i = hash & mask; table->slots[i].id != 0; i = (i + 1) & mask) {
        if (table->slots[i].hash != hash)
            continue;
        uint32_t offset = table->offsets[table->slots[i].id - 1];
        const char *known = (const char *)table->text.data + offset;
        if (length < table->text.size - offset && memcmp(known, text, length) == 0 && known[length] == '\0')
            return table->slots[i].id;
    }
    table->offsets[table->count++] = (uint32_t)table->text.size;
    insert_slot(table->slots, mask, (struct tg_string_slot){hash, table->count});
    tg_byte_buffer_put(&table->text, text, length);
    table->text.data[table->text.size++] = '\0';
    return table->count;
}

size_t tg_string_table_memory(const struct tg_string_table *table)
{
    return table->text.capacity + table->capacity * sizeof *table->offsets +
           table->n_slots * sizeof *table->slots;
}
