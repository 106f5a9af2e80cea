/* Rows of a sequence diagram in languages that draw it themselves (Mermaid, PlantUML): what they have in
 * common. */
#ifndef TG_ANALYZER_SEQUENCE_MARKUP_H
#define TG_ANALYZER_SEQUENCE_MARKUP_H

#include "analyzer/sequence/row.h"

#include <stdio.h>

struct tg_sequence_markup {
    const struct tg_sequence_dialect *dialect;
    FILE *stream;
    const struct tg_sequence_rows *rows;
    unsigned depth; /* open fragments */
};

/* How a language writes things. Each function writes whole lines, indented. */
struct tg_sequence_dialect {
    unsigned indent;  /* levels of everything */
    const char *call; /* the arrows: to a lifeline itself, and between two */
    const char *back; /* dashed */
    const char *arrow, *message, *lost;
    void (*write_text)(FILE *stream, const char *text); /* whatever it contains */
    void (*write_message)(const struct tg_sequence_markup *markup, uint32_t from, const char *arrow,
                          uint32_t to, const char *label);
    /* A remark on the lifelines FROM to TO. */
    void (*write_note)(const struct tg_sequence_markup *markup, uint32_t from, uint32_t to,
                       const char *label);
    /* A barrier of the lanes of ROW, and rows that are left out. */
    void (*write_barrier)(const struct tg_sequence_markup *markup, const struct tg_sequence_row *row);
    void (*write_elided)(const struct tg_sequence_markup *markup, const struct tg_sequence_row *row);
    /* Where an arrow from LANE to nowhere points to. */
    uint32_t (*nowhere)(const struct tg_sequence_rows *rows, uint32_t lane);
};

void tg_sequence_markup_indent(const struct tg_sequence_markup *markup);

/* All rows. */
void tg_sequence_markup_write(const struct tg_sequence_dialect *dialect, const struct tg_sequence_rows *rows,
                              FILE *stream);

#endif
