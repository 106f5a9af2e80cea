/* Sequence diagrams for seqdiag(1). Its fragments are `loop` and `alt`, and a separator cannot be inside of
 * one: fragments are closed before a barrier and go on behind it. */
#include "analyzer/sequence/format.h"

#include "format/base/utf8.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_SELF_ARROWS = 8 };

struct open_fragment {
    size_t row;
    bool again; /* written before, and closed for a separator */
};

struct seqdiag {
    FILE *stream;
    const struct tg_sequence_rows *rows;
    struct open_fragment *open; /* the fragments around, the outermost first */
    size_t n_open;
    size_t n_written; /* how many of them are written */
};

/* seqdiag's own font has the characters of Latin 1, and its strings neither a quote nor a backslash in every
 * place. */
static void write_text(FILE *stream, const char *text)
{
    while (*text != '\0') {
        uint32_t code_point;
        size_t length = tg_utf8_decode(text, &code_point);
        if (length == 0 || code_point < 0x20)
            putc(*text == '\n' ? ' ' : '?', stream);
        else if (code_point == '"')
            putc('\'', stream);
        else if (code_point == '\\')
            putc('/', stream);
        else if (code_point == 0x2026) /* ellipsis */
            fputs("..", stream);
        else if (code_point == 0x2013) /* en dash */
            putc('-', stream);
        else if (code_point > 0xff)
            putc('?', stream);
        else
            fwrite(text, 1, length, stream);
        text += length == 0 ? 1 : length;
    }
}

/* Writes one line, up to its last character. */
static void write_separator(FILE *stream, const char *sign, const char *text)
{
    fprintf(stream, "%s ", sign);
    write_text(stream, text);
    fprintf(stream, " %s\n", sign);
}

static void indent(const struct seqdiag *seqdiag)
{
    fprintf(seqdiag->stream, "%*s", (int)(2 * (seqdiag->n_written + 1)), "");
}

static void begin_fragment(struct seqdiag *seqdiag, size_t level)
{
    const struct open_fragment *open = &seqdiag->open[level];
    const struct tg_sequence_row *row = &seqdiag->rows->items[open->row];
    bool is_loop = row->is_repeated || row->node->kind == TG_SEQUENCE_REGION;
    seqdiag->n_written = level;
    indent(seqdiag);
    fprintf(seqdiag->stream, "%s \"", is_loop ? "loop" : "alt");
    write_text(seqdiag->stream, row->label);
    fputs(open->again ? " (continued)\" {\n" : "\" {\n", seqdiag->stream);
    seqdiag->n_written = level + 1;
    seqdiag->open[level].again = true;
    if (row->n_lanes == 0)
        return;
    indent(seqdiag);
    for (size_t at = 0; at < row->n_lanes; at++)
        fprintf(seqdiag->stream, "%sw%u;", at == 0 ? "" : " ", row->lanes[at]);
    putc('\n', seqdiag->stream);
}

/* A fragment without anything in it is refused: each begins with the first thing in it. */
static void begin_fragments(struct seqdiag *seqdiag)
{
    while (seqdiag->n_written < seqdiag->n_open)
        begin_fragment(seqdiag, seqdiag->n_written);
}

static void end_fragment(struct seqdiag *seqdiag)
{
    seqdiag->n_written--;
    indent(seqdiag);
    fputs("}\n", seqdiag->stream);
}

static void write_edge(struct seqdiag *seqdiag, uint32_t from, const char *arrow, uint32_t to,
                       const char *options, const char *label)
{
    begin_fragments(seqdiag);
    indent(seqdiag);
    fprintf(seqdiag->stream, "w%u %s w%u [%slabel = \"", from, arrow, to, options);
    write_text(seqdiag->stream, label);
    fputs("\"];\n", seqdiag->stream);
}

/* A lane beside LANE, for an arrow that gets nowhere. */
static uint32_t beside(const struct seqdiag *seqdiag, uint32_t lane)
{
    const struct tg_sequence_rows *rows = seqdiag->rows;
    for (size_t i = 0; i < rows->n_columns; i++)
        if (rows->columns[i] == lane)
            return i + 1 < rows->n_columns ? rows->columns[i + 1] : i > 0 ? rows->columns[i - 1] : lane;
    return lane;
}

/* Where LANES are; they wait for TO unless that is NO_LANE. */
static void write_here(struct seqdiag *seqdiag, const uint32_t *lanes, size_t count, uint32_t to,
                       const char *options, const char *label)
{
    for (size_t i = 0; i < count; i++)
        write_edge(seqdiag, lanes[i], "->", to != TG_SEQUENCE_NO_LANE ? to : beside(seqdiag, lanes[i]),
                   options, label);
}

static void write_separated(struct seqdiag *seqdiag, const struct tg_sequence_row *row, const char *sign)
{
    while (seqdiag->n_written > 0)
        end_fragment(seqdiag);
    indent(seqdiag);
    write_separator(seqdiag->stream, sign, row->label);
}

static void write_bars(struct seqdiag *seqdiag, const struct tg_sequence_row *row)
{
    char label[48];
    if (row->n_lanes > MAX_SELF_ARROWS) {
        snprintf(label, sizeof label, "%zu of them", row->n_lifelines);
        write_edge(seqdiag, row->lanes[0], "-->", row->lanes[row->n_lanes - 1], "", label);
        return;
    }
    for (size_t i = 0; i < row->n_lanes; i++)
        write_edge(seqdiag, row->lanes[i], "->", row->lanes[i], "", "");
}

static void write_row(struct seqdiag *seqdiag, size_t i)
{
    const struct tg_sequence_row *row = &seqdiag->rows->items[i];
    uint32_t to = row->to != TG_SEQUENCE_NO_LANE ? row->to : beside(seqdiag, row->from);
    switch (row->kind) {
    case TG_ROW_OPEN:
        seqdiag->open[seqdiag->n_open++] = (struct open_fragment){.row = i};
        break;
    case TG_ROW_CLOSE:
        if (seqdiag->n_written == seqdiag->n_open)
            end_fragment(seqdiag);
        seqdiag->n_open--;
        break;
    case TG_ROW_BARS:
        write_bars(seqdiag, row);
        break;
    case TG_ROW_SELF:
        write_edge(seqdiag, row->to, row->style == TG_STYLE_BACK ? "<-" : "->", row->to, "", row->label);
        break;
    case TG_ROW_ARROW:
        write_edge(seqdiag, row->from, row->style == TG_STYLE_MESSAGE ? "->>" : "->", to, "", row->label);
        break;
    case TG_ROW_LOST:
        write_edge(seqdiag, row->from, "->>", to, "failed, ", row->label);
        break;
    case TG_ROW_HERE:
        write_here(seqdiag, row->lanes, row->n_lanes, row->to,
                   row->style == TG_STYLE_CYCLE ? "failed, color = red, " : "failed, ", row->label);
        break;
    case TG_ROW_BARRIER:
        write_here(seqdiag, row->waiting, row->n_waiting, TG_SEQUENCE_NO_LANE, "failed, ", "waits");
        write_separated(seqdiag, row, "===");
        break;
    case TG_ROW_ELIDED:
        write_separated(seqdiag, row, "...");
        break;
    }
}

static struct tg_error *write(const struct tg_sequence_drawing *drawing, FILE *stream)
{
    const struct tg_sequence_rows *rows = drawing->rows;
    struct seqdiag seqdiag = {.stream = stream, .rows = rows};
    char title[TG_SEQUENCE_HEAD_SIZE];
    seqdiag.open = calloc(rows->max_depth + 1, sizeof *seqdiag.open);
    if (seqdiag.open == NULL)
        return tg_error_no_memory();
    fputs("seqdiag {\n  // ", stream);
    write_text(stream, drawing->title);
    fputs("\n  activation = none;\n  default_fontsize = 11;\n", stream);
    for (size_t i = 0; i < rows->n_columns; i++) {
        tg_sequence_column_members(drawing->sequence, rows, rows->columns[i], title, sizeof title);
        fprintf(stream, "  w%u [label = \"", rows->columns[i]);
        write_text(stream, title);
        fputs("\"];\n", stream);
    }
    for (size_t i = 0; i < rows->count; i++)
        write_row(&seqdiag, i);
    fputs("}\n", stream);
    free(seqdiag.open);
    return NULL;
}

const struct tg_sequence_format tg_sequence_seqdiag = {
    .name = "seqdiag", .suffix = ".diag", .summary = "text for seqdiag", .write = write};
