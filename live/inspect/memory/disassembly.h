/* Machine code of a process as assembly text, with the names of what it calls and the lines it is from. */
#ifndef TG_LIVE_INSPECT_MEMORY_DISASSEMBLY_H
#define TG_LIVE_INSPECT_MEMORY_DISASSEMBLY_H

#include "format/base/error.h"
#include "format/base/json_writer.h"
#include "live/inspect/dwarf/naming.h"
#include "live/inspect/dwarf/source_lines.h"
#include "recorder/dwarf/target.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum {
    TG_DISASSEMBLY_MAX = 65536,          /* instructions at once */
    TG_DISASSEMBLY_MAX_LEAD = 256 << 10, /* bytes of a function that are looked through for what is before */
};

struct tg_instruction {
    uint64_t address;
    uint8_t bytes[15];
    uint8_t size;     /* [1, 15] */
    bool is_known;    /* false: TEXT says only that it is not */
    const char *text; /* "call   0x401020", valid during the call */
    uint64_t target;  /* address that it jumps to, calls, or uses relative to rip; 0 none */
};

struct tg_disassembler; /* not thread-safe */

struct tg_error *tg_disassembler_create(struct tg_disassembler **disassembler);
void tg_disassembler_destroy(struct tg_disassembler *disassembler); /* NULL is accepted */

/* AT&T's syntax is what it begins with. */
void tg_disassembler_set_intel(struct tg_disassembler *disassembler, bool intel);

/* Start for N instructions before PC: found from the start of its function, as code cannot be read
 * backwards. PC itself where that is not known, further away than TG_DISASSEMBLY_MAX_LEAD, or does not lead
 * to it. */
uint64_t tg_disassembler_back(struct tg_disassembler *disassembler, const struct tg_inspect_memory *memory,
                              const struct tg_inspect_namer *namer, uint64_t pc, uint64_t n);

/* Code to show, and how. */
struct tg_disassembly {
    const struct tg_inspect_memory *memory;
    const struct tg_inspect_namer *namer; /* NULL: addresses stay numbers */
    struct tg_source_lines *sources;      /* NULL: no source lines between */
    const char *program;                  /* for sources, NULL not known */
    const uint64_t *marks;                /* addresses of action points, shown as 'b' */
    size_t n_marks;
    uint64_t pc; /* of the thread, marked '>' */
    bool shows_bytes;
};

/* A line each: "> 0x401136 <main+4>  call 0x401020 <puts>". NOT_FOUND where not one instruction can be
 * read. */
struct tg_error *tg_disassembly_print(struct tg_disassembler *disassembler,
                                      const struct tg_disassembly *disassembly, uint64_t address,
                                      uint64_t count, FILE *stream, uint64_t *end);
/* An array of objects: address, bytes, text, function, offset, file, line, target, target_function,
 * target_offset, current. */
struct tg_error *tg_disassembly_json(struct tg_disassembler *disassembler,
                                     const struct tg_disassembly *disassembly, uint64_t address,
                                     uint64_t count, struct tg_json *json, uint64_t *end);

#endif
