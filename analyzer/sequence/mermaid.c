/* Sequence diagrams for Mermaid. */
#include "analyzer/sequence/format.h"
#include "analyzer/sequence/markup.h"

#include "format/base/utf8.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

/* "end" would end a fragment wherever it is a word. */
static bool is_end(const char *text, char before)
{
    return strncasecmp(text, "end", 3) == 0 && !isalnum((unsigned char)before) &&
           !isalnum((unsigned char)text[3]);
}

/* Whatever is not plain is written as Mermaid's entity of it: #35; */
static void write_text(FILE *stream, const char *text)
{
    char before = ' ';
    while (*text != '\0') {
        uint32_t code_point;
        size_t length = tg_utf8_decode(text, &code_point);
        if (length == 0 || code_point == '\n')
            putc(length == 0 ? '?' : ' ', stream);
        else if (is_end(text, before) || code_point < 0x20 ||
                 (code_point < 0x80 && !isalnum(*text) && strchr(" _.,/()@+*=-", *text) == NULL))
            fprintf(stream, "#%u;", (unsigned)code_point);
        else
            fwrite(text, 1, length, stream);
        before = *text;
        text += length == 0 ? 1 : length;
    }
}

static void write_message(const struct tg_sequence_markup *markup, uint32_t from, const char *arrow,
                          uint32_t to, const char *label)
{
    tg_sequence_markup_indent(markup);
    fprintf(markup->stream, "w%u%sw%u: ", from, arrow, to);
    write_text(markup->stream, *label == '\0' ? "\u00b7" : label); /* a message needs a text */
    putc('\n', markup->stream);
}

static void write_note(const struct tg_sequence_markup *markup, uint32_t from, uint32_t to, const char *label)
{
    tg_sequence_markup_indent(markup);
    if (from == to)
        fprintf(markup->stream, "Note over w%u: ", from);
    else
        fprintf(markup->stream, "Note over w%u,w%u: ", from, to);
    write_text(markup->stream, label);
    putc('\n', markup->stream);
}

static void write_barrier(const struct tg_sequence_markup *markup, const struct tg_sequence_row *row)
{
    if (row->n_lanes > 0)
        write_note(markup, row->lanes[0], row->lanes[row->n_lanes - 1], row->label);
}

static void write_elided(const struct tg_sequence_markup *markup, const struct tg_sequence_row *row)
{
    const struct tg_sequence_rows *rows = markup->rows;
    if (rows->n_columns > 0)
        write_note(markup, rows->columns[0], rows->columns[rows->n_columns - 1], row->label);
}

static uint32_t nowhere(const struct tg_sequence_rows *rows, uint32_t lane)
{
    (void)rows;
    return lane;
}

static const struct tg_sequence_dialect dialect = {
    .indent = 1,
    .call = "->>",
    .back = "-->>",
    .arrow = "->>",
    .message = "-)",
    .lost = "-x",
    .write_text = write_text,
    .write_message = write_message,
    .write_note = write_note,
    .write_barrier = write_barrier,
    .write_elided = write_elided,
    .nowhere = nowhere,
};

static struct tg_error *write(const struct tg_sequence_drawing *drawing, FILE *stream)
{
    char title[TG_SEQUENCE_HEAD_SIZE];
    fputs("sequenceDiagram\n  title ", stream);
    write_text(stream, drawing->title);
    putc('\n', stream);
    for (size_t i = 0; i < drawing->rows->n_columns; i++) {
        uint32_t lane = drawing->rows->columns[i];
        tg_sequence_column_members(drawing->sequence, drawing->rows, lane, title, sizeof title);
        fprintf(stream, "  participant w%u as ", lane);
        write_text(stream, title);
        putc('\n', stream);
    }
    tg_sequence_markup_write(&dialect, drawing->rows, stream);
    return NULL;
}

const struct tg_sequence_format tg_sequence_mermaid = {
    .name = "mermaid",
    .suffix = ".mmd",
    .summary = "text for Mermaid",
    .max_characters = 50000,
    .how_more = "Mermaid needs a larger maxTextSize for that",
    .write = write,
};
