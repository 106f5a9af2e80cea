/* Interned strings: each distinct text once, numbered in order of first use; 0 is "". */
#ifndef TG_FORMAT_TRACE_STRING_TABLE_H
#define TG_FORMAT_TRACE_STRING_TABLE_H

#include "format/base/byte_buffer.h"

/* Caller's storage; all zero is an empty table. */
struct tg_string_table {
    struct tg_byte_buffer text;   /* every string with its end NUL, in order of id from 1 */
    uint32_t *offsets;            /* in TEXT of string id at [id - 1] */
    uint32_t count;               /* of strings, without "" */
    size_t capacity;              /* of OFFSETS */
    struct tg_string_slot *slots; /* open addressing, a power of two */
    uint32_t n_slots;
};

void tg_string_table_deinit(struct tg_string_table *table);

/* Forgets the strings, keeps the memory. */
void tg_string_table_clear(struct tg_string_table *table);

/* Room for N more strings of together TEXT_BYTES bytes (without NULs). False where memory is short. */
bool tg_string_table_reserve(struct tg_string_table *table, size_t n, size_t text_bytes);

/* The id of the LENGTH bytes at TEXT (no NUL among them). Needs room reserved. */
uint32_t tg_string_table_intern(struct tg_string_table *table, const char *text, size_t length);

/* The string ID, not 0; valid until another one is interned. */
static inline const char *tg_string_table_at(const struct tg_string_table *table, uint32_t id)
{
    return (const char *)table->text.data + table->offsets[id - 1];
}

/* Bytes of memory held. */
size_t tg_string_table_memory(const struct tg_string_table *table);

#endif
