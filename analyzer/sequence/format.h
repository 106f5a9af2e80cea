/* Formats of sequence diagrams. */
#ifndef TG_ANALYZER_SEQUENCE_FORMAT_H
#define TG_ANALYZER_SEQUENCE_FORMAT_H

#include "analyzer/sequence/rows.h"

#include <stdio.h>

/* Input of a format. */
struct tg_sequence_drawing {
    const struct tg_sequence *sequence;
    const struct tg_sequence_rows *rows;
    const char *title; /* printable */
    const char *note;  /* printable; what is not in the diagram, "" nothing */
};

/* A format. To add one: fill the struct in analyzer/sequence/NAME.c, declare it below, put it into the table in
 * analyzer/sequence/format.c; --format, its completion and the manual page follow that table (tests compare
 * them). */
struct tg_sequence_format {
    const char *name;   /* argument of --format */
    const char *suffix; /* suffix of a file named after the trace, with the dot */
    const char *summary;
    uint64_t max_characters; /* limit of the program that reads the format, 0: none */
    const char *how_more;    /* how that program is told to take more, NULL */
    /* Errors of the stream are the caller's to find. NO_MEMORY. */
    struct tg_error *(*write)(const struct tg_sequence_drawing *drawing, FILE *stream);
};

extern const struct tg_sequence_format tg_sequence_svg, tg_sequence_html, tg_sequence_seqdiag,
    tg_sequence_mermaid, tg_sequence_plantuml;

/* Writes, and tells how many characters it was, as UTF-16 counts them. *N_CHARACTERS is 0 where FORMAT has no
 * limit. */
struct tg_error *tg_sequence_format_write(const struct tg_sequence_format *format,
                                          const struct tg_sequence_drawing *drawing, FILE *stream,
                                          uint64_t *n_characters);

/* For I in [0, count); the first is the default. */
size_t tg_sequence_format_count(void);
const struct tg_sequence_format *tg_sequence_format_at(size_t i);
/* NULL: there is none of that name. */
const struct tg_sequence_format *tg_sequence_format_find(const char *name);

#endif
