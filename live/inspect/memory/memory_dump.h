/* Memory of a process as numbers, characters, strings and addresses. */
#ifndef TG_LIVE_INSPECT_MEMORY_MEMORY_DUMP_H
#define TG_LIVE_INSPECT_MEMORY_MEMORY_DUMP_H

#include "format/base/error.h"
#include "format/base/json_writer.h"
#include "live/inspect/dwarf/naming.h"
#include "recorder/dwarf/target.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum {
    TG_MEMORY_DUMP_MAX = 65536,       /* items at once */
    TG_MEMORY_DUMP_MAX_STRING = 4096, /* bytes of a string that are shown */
};

enum tg_memory_format_kind {
    TG_MEMORY_HEX = 'x',
    TG_MEMORY_SIGNED = 'd',
    TG_MEMORY_UNSIGNED = 'u',
    TG_MEMORY_OCTAL = 'o',
    TG_MEMORY_FLOAT = 'f', /* of 4 or 8 bytes */
    TG_MEMORY_CHARACTER = 'c',
    TG_MEMORY_STRING = 's',
    TG_MEMORY_ADDRESS = 'a',     /* with what is there */
    TG_MEMORY_INSTRUCTION = 'i', /* live/inspect/memory/disassembly.h shows these */
};

struct tg_memory_format {
    enum tg_memory_format_kind kind;
    unsigned size; /* of an item: 1, 2, 4 or 8; of strings and instructions without meaning */
    uint64_t count;
};

/* Reads what follows "/" in gdb's examine command: a count, a letter of the kinds above, a letter for the
 * size (b 1, h 2, w 4, g 8) in either order; each may be missing, *FORMAT has then what it had. USAGE errors
 * name the character. */
struct tg_error *tg_memory_format_parse(const char *text, struct tg_memory_format *format);
/* The name of a format: hex, decimal, unsigned, octal, float, double, char, string, address, instruction; and
 * the size that goes with it, where it says one. False: there is none. */
bool tg_memory_format_find(const char *name, struct tg_memory_format *format);
/* For completion; NULL-terminated. */
extern const char *const tg_memory_format_names[];

/* Lines of items from ADDRESS in columns, each line with its address and, where it is known, symbol+offset.
 * What cannot be read is said as a range, and is no error unless it is all: NOT_FOUND. *END is behind the
 * last item. Instructions are the caller's mistake: USAGE error. */
struct tg_error *tg_memory_dump_print(const struct tg_inspect_memory *memory,
                                      const struct tg_inspect_namer *namer, uint64_t address,
                                      const struct tg_memory_format *format, FILE *stream, uint64_t *end);
/* An object: address, format, size, values (null: cannot be read; 8 byte numbers as hex strings where they
 * are shown so, else numbers). */
struct tg_error *tg_memory_dump_json(const struct tg_inspect_memory *memory, uint64_t address,
                                     const struct tg_memory_format *format, struct tg_json *json,
                                     uint64_t *end);

#endif
