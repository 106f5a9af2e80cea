/* DWARF line tables (.debug_line, versions 2 to 5): unit headers, file tables, and the line-number program,
 * decoded from untrusted bytes in memory. No I/O, no allocation.
 *
 * libdw has such a decoder, but it runs a unit's whole program before it tells the unit's files, and the
 * files are what decides here whether a program is looked at at all. (DWARF 5, section 6.2.) */
#ifndef TG_FORMAT_IMAGE_LINE_TABLE_H
#define TG_FORMAT_IMAGE_LINE_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Section contents, borrowed; each has a NUL behind its end. The strings may be missing (NULL, 0). */
struct tg_line_sections {
    const uint8_t *line; /* .debug_line */
    size_t line_size;
    const char *line_strings; /* .debug_line_str */
    size_t line_strings_size;
    const char *strings; /* .debug_str */
    size_t strings_size;
};

/* A unit's header. Pointers lead into the sections. */
struct tg_line_unit {
    uint64_t offset; /* in .debug_line: what DW_AT_stmt_list of its compilation unit says */
    uint64_t next;   /* offset of the next unit */
    bool understood; /* false: skip it; only OFFSET and NEXT are set */
    unsigned version;
    unsigned offset_bytes; /* 4 or 8 */
    unsigned address_bytes;
    unsigned instruction_bytes;
    bool default_is_stmt;
    int line_base;
    unsigned line_range;
    unsigned opcode_base;
    const uint8_t *opcode_lengths; /* of opcode i at [i - 1] */
    const uint8_t *directories;    /* the encoded tables */
    const uint8_t *files;
    const uint8_t *program; /* [program, end) */
    const uint8_t *end;
};

/* Decodes the header at OFFSET. False where there is no further unit (or its length is broken). */
bool tg_line_unit_decode(const struct tg_line_sections *sections, uint64_t offset, struct tg_line_unit *unit);

/* A walk over a unit's file table: zero it first. */
struct tg_line_file {
    uint64_t number;    /* as rows have it */
    const char *name;   /* absolute, or relative to its directory */
    uint64_t directory; /* for tg_line_unit_directory */
    /* the walk's own */
    const uint8_t *at, *table_at;
    uint64_t n_left;
    unsigned n_fields;
    bool started;
};
bool tg_line_unit_next_file(const struct tg_line_sections *sections, const struct tg_line_unit *unit,
                            struct tg_line_file *file);

/* Fills [directories, directories + max) with the directory table, from number 0 on, and returns how many
 * there are (which may be more than MAX). One that is not absolute is relative to number 0. NULL: not known;
 * number 0 before version 5 is the compilation directory, which then is in .debug_info alone. */
size_t tg_line_unit_directories(const struct tg_line_sections *sections, const struct tg_line_unit *unit,
                                const char **directories, size_t max);

/* Whether the unit's tables have strings in .debug_str (which is large, and seldom needed here). */
bool tg_line_unit_needs_strings(const struct tg_line_sections *sections, const struct tg_line_unit *unit);

struct tg_line_row {
    uint64_t address;
    uint64_t file;
    uint64_t line;
    bool is_stmt;
    bool end_sequence; /* ADDRESS is the first one behind the sequence; file and line mean nothing */
    bool first;        /* of its sequence */
};

/* Runs the unit's program; ROW gets every row in turn, false from it ends the run. Stops at what is
 * malformed. */
void tg_line_unit_run(const struct tg_line_unit *unit,
                      bool (*row)(void *context, const struct tg_line_row *row), void *context);

#endif
