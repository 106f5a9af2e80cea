/* Sequence diagrams for Mermaid. */
#include "analyzer/sequence/format.h"

#include "format/base/utf8.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

enum { MAX_SELF_ARROWS = 8 };

struct mermaid {
    FILE *stream;
    const struct tg_sequence_rows *rows;
    unsigned depth;
};

/* "end" would end a fragment wherever it stands as a word. */
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

static void indent(const struct mermaid *mermaid)
{
    fprintf(mermaid->stream, "%*s", (int)(2 * (mermaid->depth + 1)), "");
}

static void write_message(const struct mermaid *mermaid, uint32_t from, const char *arrow, uint32_t to,
                          const char *label)
{
    indent(mermaid);
    fprintf(mermaid->stream, "w%u%sw%u: ", from, arrow, to);
    write_text(mermaid->stream, *label == '\0' ? "\u00b7" : label); /* a message needs a text */
    putc('\n', mermaid->stream);
}

static void write_note(const struct mermaid *mermaid, uint32_t from, uint32_t to, const char *label)
{
    indent(mermaid);
    if (from == to)
        fprintf(mermaid->stream, "Note over w%u: ", from);
    else
        fprintf(mermaid->stream, "Note over w%u,w%u: ", from, to);
    write_text(mermaid->stream, label);
    putc('\n', mermaid->stream);
}

static void write_lost(const struct mermaid *mermaid, const uint32_t *lanes, size_t count, const char *label)
{
    for (size_t i = 0; i < count; i++)
        write_message(mermaid, lanes[i], "-x", lanes[i], label);
}

static void write_bars(const struct mermaid *mermaid, const struct tg_sequence_row *row)
{
    char label[48];
    if (row->n_lanes > MAX_SELF_ARROWS) {
        snprintf(label, sizeof label, "%zu of them", row->n_lifelines);
        write_note(mermaid, row->lanes[0], row->lanes[row->n_lanes - 1], label);
        return;
    }
    for (size_t i = 0; i < row->n_lanes; i++)
        write_message(mermaid, row->lanes[i], "->>", row->lanes[i], "");
}

static const char *keyword_of(const struct tg_sequence_row *row)
{
    if (row->is_repeated)
        return "loop";
    if (row->node->kind == TG_SEQUENCE_MUTEX)
        return "critical";
    return row->node->kind == TG_SEQUENCE_REGION ? "par" : "opt";
}

static void write_row(struct mermaid *mermaid, const struct tg_sequence_row *row)
{
    const struct tg_sequence_rows *rows = mermaid->rows;
    switch (row->kind) {
    case TG_ROW_OPEN:
        indent(mermaid);
        fprintf(mermaid->stream, "%s ", keyword_of(row));
        write_text(mermaid->stream, row->label);
        putc('\n', mermaid->stream);
        mermaid->depth++;
        break;
    case TG_ROW_CLOSE:
        mermaid->depth--;
        indent(mermaid);
        fputs("end\n", mermaid->stream);
        break;
    case TG_ROW_BARS:
        write_bars(mermaid, row);
        break;
    case TG_ROW_SELF:
        write_message(mermaid, row->to, row->style == TG_STYLE_PLAIN ? "->>" : "-->>", row->to, row->label);
        break;
    case TG_ROW_ARROW:
        write_message(mermaid, row->from, row->style == TG_STYLE_MESSAGE ? "-)" : "->>", row->to, row->label);
        break;
    case TG_ROW_LOST:
        write_message(mermaid, row->from, "-x", row->to == TG_SEQUENCE_NO_LANE ? row->from : row->to,
                      row->label);
        break;
    case TG_ROW_HERE:
        write_lost(mermaid, row->lanes, row->n_lanes, row->label);
        break;
    case TG_ROW_BARRIER:
        write_lost(mermaid, row->waiting, row->n_waiting, "waits");
        if (row->n_lanes > 0)
            write_note(mermaid, row->lanes[0], row->lanes[row->n_lanes - 1], row->label);
        break;
    case TG_ROW_ELIDED:
        if (rows->n_columns > 0)
            write_note(mermaid, rows->columns[0], rows->columns[rows->n_columns - 1], row->label);
        break;
    }
}

static struct tg_error *write(const struct tg_sequence_drawing *drawing, FILE *stream)
{
    struct mermaid mermaid = {.stream = stream, .rows = drawing->rows};
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
    for (size_t i = 0; i < drawing->rows->count; i++)
        write_row(&mermaid, &drawing->rows->items[i]);
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
